//! Promise: noise stretches computations and latencies by its distributions, each source with
//! separate random streams, the same for the same seed; without noise, all results stay the same.

use crate::common::{on_ranks, simulated};
use mpi::prelude::*;
use run::{Options, Run};
use sim_core::Outcome;

/// 1 µs per link, so 2 µs between hosts; 1e9 flop/s.
const PLATFORM: &str = r#"
version = 1
[network]
loopback = { bandwidth = "10GBps", latency = "1us" }
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
cores = 2
bandwidth = "100Gbps"
latency = "1us"
"#;

fn run<Fut>(noise: &str, ranks: u32, seed: u64, program: fn(Comm) -> Fut) -> Run
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let options = Options {
        ranks: Some(ranks),
        seed,
        ..Options::default()
    };
    let text = format!("{PLATFORM}{noise}");
    let run = simulated(&text, &on_ranks(program), &options);
    assert_eq!(run.report.outcome, Outcome::Finished);
    run
}

fn seconds(run: &Run) -> f64 {
    run.report.time.as_secs()
}

/// Rank after rank computes for one second, three times round: without noise this takes 3 s for
/// each rank and 2 µs for each message.
async fn ring(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for round in 0..3 {
        if rank + round > 0 {
            let before = (rank + size - 1) % size;
            world.recv(&mut Buffer::zeroed(0), before, 0).await?;
        }
        world.compute(1e9).await;
        if rank + 1 < size || round < 2 {
            world.send(&Buffer::zeroed(0), (rank + 1) % size, 0).await?;
        }
    }
    Ok(())
}

/// Rank 0 sends 2000 empty messages to rank 1, each after the answer to the one before.
async fn pingpong(world: Comm) -> Result<()> {
    let (rank, mut buffer) = (world.rank(), Buffer::zeroed(0));
    for _ in 0..1000 {
        if rank == 0 {
            world.send(&buffer, 1, 0).await?;
            world.recv(&mut buffer, 1_usize, 0).await?;
        } else {
            world.recv(&mut buffer, 0_usize, 0).await?;
            world.send(&buffer, 0, 0).await?;
        }
    }
    Ok(())
}

async fn computation(world: Comm) -> Result<()> {
    world.compute(1e8).await;
    Ok(())
}

#[test]
fn without_noise_nothing_is_drawn() {
    let plain = run("", 8, 0, ring);
    assert!((seconds(&plain) - (24.0 + 23.0 * 2e-6)).abs() < 1e-9);
    let zero =
        "[noise]\ncompute = { period = \"1ms\", detour = \"0s\" }\nlinks = { latency = \"0s\" }";
    let zero = run(zero, 8, 0, ring);
    assert_eq!((plain.draws, zero.draws), (Some(0), Some(0)));
    assert_eq!(plain.report.digest, zero.report.digest);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let noise = "[noise]\ncompute = { period = \"7ms\", detour = \"1ms\", variation = 0.2 }\n\
                 links = { latency = \"1us\" }";
    let runs = [1, 1, 2].map(|seed| run(noise, 8, seed, ring));
    assert_eq!(runs[0].report.digest, runs[1].report.digest);
    assert_ne!(seconds(&runs[0]), seconds(&runs[2]));
    // A phase for each host, and two numbers of the polar method for each of 24 factors at least;
    // a number for each of two links of 23 messages.
    assert!(runs[0].draws >= Some(8 + 48 + 46), "{:?}", runs[0].draws);
}

#[test]
fn detours_slow_a_ring_by_their_share() {
    // 10 % of each period: computations of 1 s take 1 s / 0.9, but for part of a detour.
    let noise = "[noise.compute]\nperiod = \"10ms\"\ndetour = \"1ms\"";
    let run = run(noise, 8, 5, ring);
    let expected = 24.0 / 0.9 + 23.0 * 2e-6;
    assert!(
        (seconds(&run) - expected).abs() <= 24.0 * 1e-3,
        "{}",
        seconds(&run)
    );
    assert_eq!(run.draws, Some(8));
}

#[test]
fn ranks_that_wait_for_each_other_suffer_more_than_one() {
    // Of 0.1 s each, the longest of 8 independent factors counts: the mean of the largest of eight
    // normal numbers is 1.4236 (H. Harter, Biometrika 48, 1961), and the factors are nearly normal.
    let noise = "[noise.compute]\nvariation = 0.01";
    let times = (0..200).map(|seed| seconds(&run(noise, 8, seed, computation)));
    let mean = times.sum::<f64>() / 200.0;
    assert!(
        (mean - 0.1 * (1.0 + 0.014_236)).abs() < 0.1 * 0.01 * 0.2,
        "{mean}"
    );
}

#[test]
fn latencies_of_links_have_the_mean_and_variance_of_their_distribution() {
    // 2000 messages over two links each, with 1 µs more per link on average: a sum of 4000
    // exponential numbers has the standard deviation 1 µs · √4000.
    let noise = "[noise.links]\nlatency = \"1us\"";
    let plain = seconds(&run("", 2, 0, pingpong));
    let more: Vec<f64> = (0..20)
        .map(|seed| seconds(&run(noise, 2, seed, pingpong)) - plain)
        .collect();
    let mean = more.iter().sum::<f64>() / 20.0;
    let deviation = 1e-6 * 4000_f64.sqrt();
    assert!(
        (mean - 4000e-6).abs() < 4.0 * deviation / 20_f64.sqrt(),
        "{mean}"
    );
    let variance = more.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / 19.0;
    let ratio = variance / (deviation * deviation);
    // The 0.1 % and 99.9 % quantiles of chi-square with 19 degrees of freedom, divided by 19.
    assert!((0.285..2.31).contains(&ratio), "{ratio}");
    // Within a host there are no links.
    let local = run(noise, 1, 0, |world: Comm| async move {
        world.send(&Buffer::zeroed(0), 0, 0).await?;
        world.recv(&mut Buffer::zeroed(0), 0_usize, 0).await?;
        Ok(())
    });
    assert_eq!(local.draws, Some(0));
}

#[test]
fn a_second_source_does_not_move_the_draws_of_the_first() {
    let compute = "[noise.compute]\nvariation = 0.3\n";
    let both = format!("{compute}[noise.links]\nlatency = \"1ns\"");
    let alone = run(compute, 8, 3, computation);
    let beside = run(&both, 8, 3, computation);
    assert_eq!(alone.report.time, beside.report.time);
    let period = format!("{compute}period = \"1000s\"\ndetour = \"1ns\"");
    let detours = run(&period, 8, 3, computation);
    assert!((seconds(&detours) - seconds(&alone)).abs() <= 1e-9);
    // Of fewer hosts, the same hosts have the same noise.
    let few = run(compute, 4, 3, computation);
    assert!(few.report.time <= alone.report.time);
    assert!(few.draws < alone.draws);
}
