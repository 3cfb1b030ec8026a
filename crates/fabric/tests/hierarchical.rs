//! Promise: collectives of ranks that share hosts have the results of any others, in all
//! communicators, and take the hierarchical algorithms of their selector.

use std::sync::Arc;

use crate::common::{DONE, Notes, ranks};
use mpi::{Placement, Selector, Settings, prelude::*};

const SELECTORS: [&str; 6] = [
    "nccl",
    "mpich-5.1",
    "mvapich2",
    "openmpi-5.0",
    "smpi-mpich",
    "smpi-mvapich2",
];

fn settings(selector: &str, hosts: &[u32], node_setup: bool) -> Settings {
    Settings {
        collectives: Selector::built_in(selector).cloned().map(Arc::new),
        placement: Placement::new(hosts),
        node_setup,
        ..Settings::new(10_000)
    }
}

fn numbers(values: impl IntoIterator<Item = f64>) -> Buffer {
    let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
    Buffer::from(bytes)
}

fn values(buffer: &Buffer) -> Vec<f64> {
    let bytes = buffer.bytes().expect("real data");
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| f64::from_le_bytes(*word)).collect()
}

/// The numbers of a rank: as many as there are, and different ones.
fn own(rank: usize, count: usize) -> Vec<f64> {
    (0..count).map(|at| (rank * 100 + at) as f64).collect()
}

async fn perform_all(comm: &Comm, count: usize) -> Result<()> {
    let (rank, size, op) = (comm.rank(), comm.size(), Op::sum::<f64>());
    let root = size - 1;
    let sum = |ranks: usize| -> Vec<f64> {
        let of = |at: usize| (0..ranks).map(|rank| own(rank, count)[at]).sum();
        (0..count).map(of).collect()
    };
    let all: Vec<f64> = (0..size).flat_map(|rank| own(rank, count)).collect();
    comm.barrier().await?;
    let mut data = numbers(own(if rank == root { 7 } else { rank }, count));
    comm.bcast(&mut data, root).await?;
    assert_eq!(values(&data), own(7, count));
    let contribution = numbers(own(rank, count));
    let reduced = comm.allreduce(&contribution, &op).await?;
    assert_eq!(values(&reduced), sum(size));
    let reduced = comm.reduce(&contribution, &op, root).await?;
    assert_eq!(
        reduced.map(|sum| values(&sum)),
        (rank == root).then(|| sum(size))
    );
    assert_eq!(values(&comm.scan(&contribution, &op).await?), sum(rank + 1));
    let gathered = comm.gather(&contribution, root).await?;
    assert_eq!(
        gathered.map(|all| values(&all)),
        (rank == root).then(|| all.clone())
    );
    assert_eq!(values(&comm.allgather(&contribution).await?), all);
    let mut block = numbers(vec![0.0; count]);
    let everything = numbers(all);
    comm.scatter(Some(&everything), &mut block, root).await?;
    assert_eq!(values(&block), own(rank, count));
    let started = comm.allreduce(contribution, &op).start()?.wait().await?;
    assert_eq!(values(&started.buffer), sum(size));
    DONE
}

#[test]
fn results_are_right_in_all_communicators() {
    for hosts in [
        &[0, 0, 0, 0, 1, 1, 1, 1][..],
        &[0, 1, 0, 1, 0, 1],
        &[2, 2, 0, 1, 1, 0, 3, 2, 1],
        &[1, 1, 1],
    ] {
        for selector in SELECTORS {
            let node_setup = selector.starts_with("smpi");
            let settings = settings(selector, hosts, node_setup);
            let run = ranks(1).on_hosts(hosts).with_settings(settings);
            let program = |world: Comm, _: Notes| async move {
                perform_all(&world, 3).await?;
                // A part of a node, a part of each node, and all in the reverse order.
                let rank = u32::try_from(world.rank()).expect("few ranks");
                for (colour, key) in [(rank / 3, 0), (rank % 2, 0), (0, -rank.cast_signed())] {
                    let part = world.split(Some(colour), key).await?;
                    let part = part.expect("a colour");
                    perform_all(&part, 300).await?;
                }
                DONE
            };
            run.run(program).finished();
        }
    }
}

/// Returns the date at which the last of 16 ranks on four hosts leaves an allreduce of 8 bytes.
fn allreduce(selector: &str, hosts: &[u32], with_placement: bool) -> f64 {
    const FOUR: &str = r#"
version = 1
network = { model = "raw", loopback = { latency = "0s", bandwidth = "1000GBps" } }
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;
    let mut settings = settings(selector, hosts, false);
    settings.placement = settings.placement.filter(|_| with_placement);
    let runner = ranks(1).on_platform(FOUR).on_hosts(hosts);
    let run = runner
        .with_settings(settings)
        .run(|world, notes| async move {
            world.allreduce(world.buffer(8), &Op::sum::<f64>()).await?;
            notes.add(&world, "");
            DONE
        });
    let dates = run.finished().notes.into_iter().map(|(date, _, _)| date);
    dates.fold(0.0, f64::max)
}

#[test]
fn only_leaders_pay_the_latency_of_the_network() {
    let hosts: Vec<u32> = (0..16).map(|rank| rank % 4).collect();
    // Recursive doubling of 16 ranks, of which every fourth is on the same host: two rounds leave
    // the host, and two do not; that of four leaders has two rounds.
    let message = 2e-6 + 8e-9;
    let found = allreduce("mpich-5.1", &hosts, true);
    assert!((found - 2.0 * message).abs() < 1e-9, "{found}");
    // In turn the other way round.
    let blocks: Vec<u32> = (0..16).map(|rank| rank / 4).collect();
    let found = allreduce("mpich-5.1", &blocks, true);
    assert!((found - 2.0 * message).abs() < 1e-9, "{found}");
}

#[test]
fn messages_that_find_out_the_nodes_are_paid_once() {
    let hosts = [0, 0, 1, 1];
    let dates = |node_setup| {
        let settings = settings("smpi-mpich", &hosts, node_setup);
        let run = ranks(1).on_hosts(&hosts).with_settings(settings);
        let run = run.run(|world: Comm, notes: Notes| async move {
            for _ in 0..2 {
                world.allreduce(numbers([1.0]), &Op::sum::<f64>()).await?;
                world.barrier().await?;
                notes.add(&world, "");
            }
            DONE
        });
        let mut dates: Vec<f64> = run.finished().notes.iter().map(|note| note.0).collect();
        dates.sort_by(f64::total_cmp);
        (dates[3], dates[7] - dates[3])
    };
    let ((known, second), (found_out, second_then)) = (dates(false), dates(true));
    assert!(found_out > known + 1e-6, "{known} {found_out}");
    assert!(
        (second - second_then).abs() < 1e-7,
        "{second} {second_then}"
    );
}
