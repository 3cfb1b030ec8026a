//! Promise: whole programs under the model `smpi` end at the dates of the reference simulator
//! (SimGrid v4.1, replay of its example traces on a part of its small platform; computation at the
//! speed of the host, collectives with its default algorithms).

use crate::common;
use crate::common::{DONE, Run, ranks};
use mpi::{Settings, prelude::*};

/// Ranks 0, 1, 2 run on Tremblay, Jupiter, Fafard.
const SMALL_PLATFORM: &str = r#"
version = 1
network = { model = "smpi" }
[hosts]
Tremblay = { speed = "98.095Mf" }
Jupiter = { speed = "76.296Mf" }
Fafard = { speed = "76.296Mf" }
[links]
0 = { bandwidth = "41.279125MBps", latency = "59.904us" }
1 = { bandwidth = "34.285625MBps", latency = "514.433us" }
2 = { bandwidth = "118.6825MBps", latency = "136.931us" }
3 = { bandwidth = "34.285625MBps", latency = "514.433us" }
4 = { bandwidth = "10.099625MBps", latency = "479.78us" }
8 = { bandwidth = "8.158MBps", latency = "270.544us" }
9 = { bandwidth = "7.20975MBps", latency = "1.461517ms" }
[[routes]]
from = "Tremblay"
to = "Jupiter"
links = ["9"]
[[routes]]
from = "Tremblay"
to = "Fafard"
links = ["4", "3", "2", "0", "1", "8"]
[[routes]]
from = "Jupiter"
to = "Fafard"
links = ["9", "4", "3", "2", "0", "1", "8"]
"#;

/// Runs the program of each rank, and returns the run with the notes of the programs.
fn replay<F, Fut>(count: u32, program: F) -> Run
where
    F: Fn(Comm, common::Notes) -> Fut,
    Fut: Future<Output = Result<()>> + 'static,
{
    let settings = Settings {
        phantom: true,
        async_small_threshold: 0,
        envelope: 16,
        ..Settings::new(65_536)
    };
    let runner = ranks(count)
        .on_platform(SMALL_PLATFORM)
        .with_settings(settings);
    runner.run(program).finished()
}

/// Asserts a date to the six decimals that the reference prints.
#[track_caller]
fn dated(run: &Run, rank: usize, what: &str, date: f64) {
    let is_it = |note: &&(f64, usize, String)| note.1 == rank && note.2 == what;
    let found = run.notes.iter().find(is_it).map(|note| note.0);
    let found = found.unwrap_or_else(|| panic!("rank {rank} did not note {what}"));
    assert!(
        (found - date).abs() < 1e-6,
        "rank {rank}, {what}: {found}, not {date}"
    );
}

/// Broadcasts by a binomial tree from rank 0, which sends to the last of three ranks first.
async fn broadcast(world: &Comm, bytes: u64) -> Result<()> {
    let mut buffer = world.buffer(bytes);
    if world.rank() > 0 {
        return world.recv(&mut buffer, 0, 0).await.map(drop);
    }
    for destination in [2, 1] {
        world.send(&buffer, destination, 0).await?;
    }
    DONE
}

/// Linear: rank 0 has posted all receives, and computes when all have come.
async fn reduce(world: &Comm, bytes: u64, flops: f64) -> Result<()> {
    if world.rank() > 0 {
        world.send(&world.buffer(bytes), 0, 0).await?;
    } else {
        let mut requests = Vec::new();
        for source in 1..world.size() {
            requests.push(world.irecv(world.buffer(bytes), source, 0)?);
        }
        waitall(&mut requests).await?;
    }
    world.compute(flops).await;
    DONE
}

/// `smpi/replay` with the trace `actions_bcast`: broadcasts of 5e4 bytes, computations, a
/// reduction.
#[test]
fn broadcasts_and_a_reduction() {
    let run = replay(3, |world, notes| async move {
        let flops = [5e8, 2e8, 5e8][world.rank()];
        for round in ["first", "second"] {
            broadcast(&world, 50_000).await?;
            notes.add(&world, round);
            world.compute(flops).await;
        }
        reduce(&world, 50_000, 5e8).await?;
        notes.add(&world, "end");
        DONE
    });
    dated(&run, 1, "first", 0.015536);
    dated(&run, 2, "first", 0.016118);
    dated(&run, 2, "end", 19.692506);
    assert_eq!(run.report.messages, 6);
    assert!((run.report.time.as_secs() - 19.692506).abs() < 1e-6);
}

/// `smpi/replay` with the traces `actions0` and `actions1`: messages of 1e6 bytes by rendezvous.
#[test]
fn sends_and_receives() {
    let run = replay(2, |world, notes| async move {
        let mut buffer = world.buffer(1_000_000);
        if world.rank() == 0 {
            world.send(&buffer, 1, 0).await?;
            notes.add(&world, "sent");
            world.recv(&mut buffer, 1, 0).await?;
            world.send(&buffer, 1, 0).await?;
        } else {
            world.recv(&mut buffer, 0, 0).await?;
            world.compute(1e9).await;
            let mut requests = [
                world.isend(world.buffer(1_000_000), 0, 0)?,
                world.irecv(buffer, 0, 0)?,
            ];
            waitall(&mut requests).await?;
        }
        notes.add(&world, "end");
        DONE
    });
    dated(&run, 0, "sent", 0.171838);
    dated(&run, 0, "end", 13.622360);
    dated(&run, 1, "end", 13.622360);
}
