//! Programs of ranks, as `simrun` runs them, on a crossbar under the model `smpi`. The size is the
//! number of ranks. Twins: `cpp/mpi_ring.c` and `cpp/mpi_alltoall.c`.

use std::rc::Rc;
use std::sync::Arc;

use mpi::{Comm, Error, Result, waitall};
use run::{LogFilter, Options, Output, RankProgram, Stream, simulate};
use sim_core::Outcome;

use crate::workload::{Goal, Metric, Side, Workload, WorkloadRow};

const BYTES: u64 = 1024;
const ROUNDS: u64 = 100;
/// The number of messages in the workload of unexpected messages, at most.
const UNEXPECTED: u64 = 100_000;

const fn workload(
    name: &'static str,
    size: u64,
    ours: fn(u64) -> u64,
    side: Side,
    rows: &'static [WorkloadRow],
) -> Workload {
    Workload {
        name,
        size,
        quick_size: 16,
        repetitions: 1,
        ours,
        side,
        model: "SMPI",
        rows,
    }
}

const fn row(title: &'static str, metric: Metric, goal: Goal) -> WorkloadRow {
    WorkloadRow {
        title,
        metric,
        goal,
        limit: None,
    }
}

impl WorkloadRow {
    const fn limited_by(self, limit: &'static str) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }
}

/// See `results/message-path.md`.
const RING_LIMIT: &str = "the [instructions](instructions.md) of a message are spread over \
    five records of its transfer, two calls, two polls and two passages of the device";
const IN_FLIGHT_LIMIT: &str = "a million messages in flight at once, each with two operations and \
    two requests (270 bytes), an activity of the kernel and one of the model (256), a flow (180), \
    and a place in two tables of the device (176)";
const WAITING_LIMIT: &str = "its process (416 bytes), its future (310), its operation (88), its \
    actor (80), its channel and its end of the device (70)";

const RING: Side = Side::Smpi("mpi_ring", ROUNDS);
const ALLTOALL: Side = Side::Smpi("mpi_alltoall", 1);

/// All of them, in the order of the table.
pub(crate) const ALL: &[Workload] = &[
    Workload {
        repetitions: 20,
        ..workload(
            "smpi-ring-64",
            64,
            ring,
            RING,
            &[row(
                "messages, ring of 64 ranks, 100 rounds",
                Metric::PerSecond,
                Goal::Times(25.0),
            )
            .limited_by(RING_LIMIT)],
        )
    },
    Workload {
        repetitions: 3,
        ..workload(
            "smpi-ring-1024",
            1024,
            ring,
            RING,
            &[row(
                "messages, ring of 1024 ranks, 100 rounds",
                Metric::PerSecond,
                Goal::Times(50.0),
            )
            .limited_by(RING_LIMIT)],
        )
    },
    workload(
        "smpi-ring-4096",
        4096,
        ring,
        RING,
        &[row(
            "messages, ring of 4096 ranks, 100 rounds",
            Metric::PerSecond,
            Goal::Times(60.0),
        )
        .limited_by(RING_LIMIT)],
    ),
    workload(
        "smpi-ring-1e6",
        1_000_000,
        one_round,
        Side::None,
        &[
            row(
                "ring of 1e6 ranks, one round",
                Metric::Seconds,
                Goal::AtMost(1.0),
            ),
            row("its memory", Metric::Gigabytes, Goal::AtMost(1.0)),
        ],
    ),
    workload(
        "smpi-alltoall-256",
        256,
        simulate_alltoall,
        ALLTOALL,
        &[row(
            "alltoall of 256 ranks, all at once",
            Metric::Seconds,
            Goal::Times(20.0),
        )],
    ),
    workload(
        "smpi-alltoall-1024",
        1024,
        simulate_alltoall,
        ALLTOALL,
        &[
            row(
                "alltoall of 1024 ranks, all at once",
                Metric::Seconds,
                Goal::AtMost(1.0),
            ),
            row("its memory", Metric::Gigabytes, Goal::AtMost(0.5)).limited_by(IN_FLIGHT_LIMIT),
        ],
    ),
    workload(
        "smpi-waiting-1e6",
        1_000_000,
        waiting,
        Side::None,
        &[row(
            "memory of a rank that waits in recv, 1e6 ranks",
            Metric::BytesEach,
            Goal::AtMost(400.0),
        )
        .limited_by(WAITING_LIMIT)],
    ),
    workload(
        "smpi-unexpected-1e4",
        UNEXPECTED / 10,
        unexpected,
        Side::None,
        &[row(
            "1e4 unexpected messages, received in reverse order of tags",
            Metric::Nanoseconds,
            Goal::None,
        )],
    ),
    workload(
        "smpi-unexpected-1e5",
        UNEXPECTED,
        unexpected,
        Side::None,
        &[row(
            "1e5 unexpected messages, received in reverse order of tags",
            Metric::Nanoseconds,
            Goal::AtMost(400.0),
        )],
    ),
];

fn run_to_end<F, Fut>(ranks: u64, program: F)
where
    F: Fn(Comm) -> Fut + 'static,
    Fut: Future<Output = Result<()>> + 'static,
{
    let platform = Arc::new(super::crossbar::crossbar_platform(ranks, "smpi"));
    let options = Options {
        ranks: Some(u32::try_from(ranks).expect("ranks are counted in 32 bits")),
        phantom: true,
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Stderr, false, LogFilter::default()));
    let run = simulate(&platform, &RankProgram::new(program), &options, &output);
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.report.outcome, Outcome::Finished, "a workload finishes");
}

fn ring_of(ranks: u64, rounds: u64) -> u64 {
    run_to_end(ranks, move |world| async move {
        let (rank, size) = (world.rank(), world.size());
        let word = world.buffer(BYTES);
        let mut room = world.buffer(BYTES);
        for _ in 0..rounds {
            world.send(&word, (rank + 1) % size, 0).await?;
            world.recv(&mut room, (rank + size - 1) % size, 0).await?;
        }
        Ok(())
    });
    ranks * rounds
}

fn ring(ranks: u64) -> u64 {
    ring_of(ranks, ROUNDS)
}

fn one_round(ranks: u64) -> u64 {
    ring_of(ranks, 1)
}

fn simulate_alltoall(ranks: u64) -> u64 {
    run_to_end(ranks, |world| async move {
        let (rank, size) = (world.rank(), world.size());
        let block = world.buffer(BYTES);
        let mut requests = Vec::with_capacity(2 * (size - 1));
        for distance in 1..size {
            requests.push(world.irecv(block.clone(), (rank + size - distance) % size, 0)?);
        }
        for distance in 1..size {
            requests.push(world.isend(block.clone(), (rank + distance) % size, 0)?);
        }
        waitall(&mut requests).await.map(drop)
    });
    ranks * (ranks - 1)
}

/// All ranks wait at once: the token of rank 0 goes round.
fn waiting(ranks: u64) -> u64 {
    run_to_end(ranks, |world| async move {
        let (rank, size) = (world.rank(), world.size());
        let mut token = world.buffer(BYTES);
        if rank > 0 {
            world.recv(&mut token, rank - 1, 0).await?;
        }
        if rank + 1 < size {
            world.send(&token, rank + 1, 0).await?;
        }
        Ok(())
    });
    ranks
}

fn unexpected(messages: u64) -> u64 {
    let count = u32::try_from(messages).expect("tags have 32 bits");
    run_to_end(2, move |world| async move {
        let mut token = world.buffer(BYTES);
        if world.rank() == 0 {
            for tag in 0..count {
                world.send(&token, 1, tag).await?;
            }
            return world.send(&token, 1, count).await;
        }
        for tag in (0..=count).rev() {
            world.recv(&mut token, 0, tag).await?;
        }
        Ok::<(), Error>(())
    });
    messages
}
