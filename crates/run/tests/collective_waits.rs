//! Promise: under a model checker a rank leaves a collective when the ranks have called that send
//! data to this rank, and not before.
//!
//! One rank calls a collective and sends to another, which calls only after the receive: a
//! deadlock if, and only if, the first one waits for the call of the other (MPI 5.0, 6.1 and 6.14;
//! the definitions of the operations in chapter 6).

use std::rc::Rc;

use mpi::{Blocks, InterRoot, prelude::*};
use run::Program;

use crate::common::{explored, on_ranks};
use explore::{FindingKind, Report};

const RANKS: usize = 3;

/// A collective with a root and lengths.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    root: usize,
    /// Length of a contribution or block in bytes.
    bytes: u64,
    is_started: bool,
}

/// The collectives of intracommunicators without blocks of their own lengths.
const NAMES: [&str; 11] = [
    "barrier",
    "bcast",
    "scatter",
    "gather",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "scan",
    "exscan",
];

async fn call(world: &Comm, case: Case) -> Result<()> {
    let (root, op) = (case.root, Op::sum::<u8>());
    let (mut block, all) = (
        world.buffer(case.bytes),
        world.buffer(case.bytes * RANKS as u64),
    );
    let is_root = world.rank() == root;
    macro_rules! called {
        ($call:expr) => {
            match case.is_started {
                true => drop($call.start()?.wait().await?),
                false => drop($call.await?),
            }
        };
    }
    match case.name {
        "barrier" => called!(world.barrier()),
        "bcast" => called!(world.bcast(&mut block, root)),
        "scatter" => called!(world.scatter(is_root.then_some(&all), &mut block, root)),
        "gather" => called!(world.gather(block, root)),
        "reduce" => called!(world.reduce(block, &op, root)),
        "allreduce" => called!(world.allreduce(block, &op)),
        "allgather" => called!(world.allgather(block)),
        "alltoall" => called!(world.alltoall(all)),
        "reduce_scatter" => called!(world.reduce_scatter_block(all, &op)),
        "scan" => called!(world.scan(block, &op)),
        _ => called!(world.exscan(block, &op)),
    }
    Ok(())
}

/// Returns true if the rank gets data of the other one.
fn gets(case: Case, rank: usize, other: usize) -> bool {
    match case.name {
        "barrier" => true,
        _ if case.bytes == 0 => false,
        "bcast" | "scatter" => other == case.root,
        "gather" | "reduce" => rank == case.root,
        "scan" | "exscan" => other < rank,
        _ => true,
    }
}

/// `first` calls, then sends to `second`, which receives, then calls.
fn ordered<Fut: Future<Output = Result<()>> + 'static>(
    (first, second): (usize, usize),
    call: impl Fn(Comm) -> Fut + Copy + 'static,
) -> Rc<dyn Program> {
    on_ranks(move |world: Comm| async move {
        let mut token = world.buffer(1);
        if world.rank() == second {
            world.recv(&mut token, first, 0).await?;
        }
        call(world.clone()).await?;
        if world.rank() == first {
            world.send(&token, second, 0).await?;
        }
        Ok(())
    })
}

/// Returns true if the only execution of the program is a deadlock, and false if that is so only
/// where a rank waits for all others, which each of these programs may do.
#[track_caller]
fn is_stuck(report: &Report) -> bool {
    assert_eq!(report.statistics.executions, 1, "{report:?}");
    match &report.findings[0].kind {
        FindingKind::Deadlock(_) => true,
        FindingKind::ConditionalDeadlock(deadlock) => {
            assert_eq!(deadlock.only_if.len(), 1, "{deadlock:?}");
            assert!(deadlock.only_if[0].ends_with("waits for all ranks"));
            false
        }
        other => panic!("{other:?}"),
    }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..RANKS).flat_map(|first| (0..RANKS).map(move |second| (first, second)));
    all.filter(|(first, second)| first != second)
}

#[test]
fn a_rank_waits_for_the_ranks_whose_data_it_gets() {
    let cases = NAMES.into_iter().flat_map(|name| {
        (0..RANKS).flat_map(move |root| {
            [(0, false), (8, false), (0, true), (8, true)].map(|(bytes, is_started)| Case {
                name,
                root,
                bytes,
                is_started,
            })
        })
    });
    for case in cases {
        for pair in pairs() {
            let program = ordered(pair, move |world| async move { call(&world, case).await });
            let report = explored(3, &program);
            let is_expected = gets(case, pair.0, pair.1);
            assert_eq!(is_stuck(&report), is_expected, "{case:?} {pair:?}");
        }
    }
}

/// Constructors may synchronise the ranks or not (MPI 5.0, 7.4.2): only a deadlock needs the wait.
#[test]
fn a_rank_does_not_wait_for_the_calls_of_constructors() {
    for pair in pairs() {
        for name in ["dup", "idup", "create", "create_group"] {
            let program = ordered(pair, move |world| async move {
                let made = match name {
                    "dup" => world.dup().await?,
                    "idup" => {
                        let done = world.idup()?.wait().await?;
                        world.duplicated(&done)
                    }
                    "create" => world.create(&world.group()).await?.expect("a member"),
                    _ => {
                        let made = world.create_group(&world.group(), 1).await?;
                        made.expect("a member")
                    }
                };
                assert_ne!(made.identity(), world.identity());
                Ok(())
            });
            let report = explored(3, &program);
            assert!(!is_stuck(&report), "{name} {pair:?}");
        }
    }
}

/// Communicators that ranks derive by themselves keep their messages apart.
#[test]
fn derived_communicators_differ() {
    let program = on_ranks(|world: Comm| async move {
        let (rank, peer) = (world.rank(), 1 - world.rank());
        let first = world.dup().await?;
        let group = world.group();
        let made = [
            world.dup().await?,
            first.dup().await?,
            world.create_group(&group, 1).await?.expect("a member"),
            world.create_group(&group, 2).await?.expect("a member"),
            world.create_group(&group, 2).await?.expect("a member"),
            world.split(Some(0), 0).await?.expect("a colour"),
            first,
        ];
        for (number, one) in made.iter().enumerate() {
            if rank == 0 {
                one.send(&world.buffer(number as u64), peer, 0).await?;
            }
        }
        for (number, one) in made.iter().enumerate().rev() {
            if rank == 1 {
                let status = one.recv(&mut world.buffer(9), peer, 0).await?;
                assert_eq!(status.length, number as u64);
            }
        }
        Ok(())
    });
    let report = explored(2, &program);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| matches!(finding.kind, FindingKind::ConditionalDeadlock(_))),
        "{report:?}"
    );
}

/// Lengths of the blocks that each rank sends to each other, in bytes.
const LENGTHS: [[u64; RANKS]; RANKS] = [[0, 8, 0], [0, 0, 8], [8, 8, 8]];

#[test]
fn a_rank_does_not_wait_for_empty_blocks() {
    for pair @ (first, second) in pairs() {
        let program = ordered(pair, |world| async move {
            let own = world.rank();
            let send = Blocks::packed(LENGTHS[own]);
            let recv = Blocks::packed(LENGTHS.map(|row| row[own]));
            let data = world.buffer(LENGTHS[own].iter().sum());
            world.alltoall_v(data, send, recv).await.map(drop)
        });
        let report = explored(3, &program);
        assert_eq!(is_stuck(&report), LENGTHS[second][first] > 0, "{pair:?}");

        let lengths = [8, 0, 8];
        let program = ordered(pair, move |world| async move {
            let blocks = Blocks::packed(lengths);
            let data = world.buffer(lengths[world.rank()]);
            world.allgather_v(data, blocks).await.map(drop)
        });
        let report = explored(3, &program);
        assert_eq!(is_stuck(&report), lengths[second] > 0, "{pair:?}");
    }
}

/// Rank 0 broadcasts to ranks 1 and 2.
#[test]
fn ranks_of_an_intercommunicator_wait_for_the_root() {
    for pair @ (first, second) in pairs() {
        let program = on_ranks(move |world: Comm| async move {
            let is_upper = world.rank() > 0;
            let half = world.split(Some(is_upper.into()), 0).await?;
            let half = half.expect("each rank has a colour");
            let other = usize::from(!is_upper);
            let between = half.intercomm_create(0, &world, other, 1).await?;
            let mut token = world.buffer(1);
            if world.rank() == second {
                world.recv(&mut token, first, 0).await?;
            }
            let root = match is_upper {
                true => InterRoot::Remote(0),
                false => InterRoot::Root,
            };
            between.bcast(world.buffer(8), root).await?;
            if world.rank() == first {
                world.send(&token, second, 0).await?;
            }
            Ok(())
        });
        let report = explored(3, &program);
        assert_eq!(is_stuck(&report), second == 0, "{pair:?}");
    }
}
