//! Promise: schedules of operations without a root compute the results of the operation, for all
//! numbers of ranks, lengths and places of blocks, with eager and with rendezvous sends.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;
use std::rc::Rc;

use crate::common::{Reduce, add, compose, mixed, suits};
use collectives::{
    Algorithm, Block, Blocks, Call, Collective, Group, Level, Plan, Plans, aliases, find, messages,
    named,
};

const SIZES: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 32, 37];

/// Numbers of elements of a contribution or block and of a segment; calls with segments have
/// scattered blocks.
const COUNTS: [(u64, u64); 5] = [(0, 0), (1, 0), (7, 3), (99, 4), (160, 0)];

/// An operation with the length of an element.
#[derive(Clone, Copy)]
struct Operation {
    reduce: Reduce,
    element: u64,
    commutes: bool,
}

const OPERATIONS: [Operation; 2] = [
    Operation {
        reduce: compose,
        element: 8,
        commutes: false,
    },
    Operation {
        reduce: add,
        element: 1,
        commutes: true,
    },
];

/// Executes a call with some combinations of parts. Returns true if the algorithm can execute the
/// call.
fn check(algorithm: &'static Algorithm, case: &[Call], reduce: Reduce) -> bool {
    let mut executed = false;
    for choice in 0..3 {
        let mut calls = case.to_vec();
        for call in &mut calls {
            for (number, kind) in algorithm.parts.iter().enumerate() {
                let large = Call::new(*kind, 0, call.size, 1 << 30);
                let ordered = call.commutative || !kind.has_operation();
                let suiting = |part: &&Algorithm| {
                    part.parts.is_empty() && part.suits(&large) && (ordered || part.ordered)
                };
                let all: Vec<_> = named(*kind).filter(suiting).collect();
                call.parts[number] = Some(all[(5 * choice + number) % all.len()]);
            }
            let plan = |level: &Level| {
                let part = level.group_call(call)?;
                let suiting = |one: &&Algorithm| {
                    one.parts.is_empty() && one.levels.is_empty() && one.suits(&part)
                };
                let all: Vec<_> = named(level.collective).filter(suiting).collect();
                Some(Plan {
                    algorithm: all[5 * choice % all.len()],
                    segment: 0,
                    radix: 0,
                    parts: [None; 5],
                    levels: None,
                })
            };
            let mut levels = algorithm.levels.iter().map(plan);
            let plans: Plans = std::array::from_fn(|_| levels.next().flatten());
            call.levels = Some(Rc::new(plans));
        }
        if !suits(algorithm, &calls) {
            continue;
        }
        executed = true;
        common::check(algorithm, &calls, reduce);
        if algorithm.parts.is_empty() && algorithm.levels.is_empty() {
            break;
        }
    }
    executed
}

fn calls(kind: Collective, size: u32, bytes: u64, operation: Operation) -> Vec<Call> {
    let call = |rank| Call {
        element: operation.element,
        commutative: operation.commutes,
        ..Call::new(kind, rank, size, bytes)
    };
    (0..size).map(call).collect()
}

/// Calls `body` for each algorithm of a kind, number of ranks, operation, number of elements and
/// number of elements of a segment. `body` returns true if the algorithm can execute such a call;
/// each algorithm must execute at least one call.
fn for_each(
    kind: Collective,
    mut body: impl FnMut(&'static Algorithm, u32, Operation, u64, u64) -> bool,
) {
    let operations = if kind.has_operation() { 2 } else { 1 };
    // Hierarchical ones need nodes: see two_level.rs.
    let flat = named(kind)
        .filter(|algorithm| (algorithm.levels.iter()).all(|level| level.group == Group::All));
    for algorithm in flat {
        let mut executed = false;
        for size in SIZES {
            for operation in &OPERATIONS[..operations] {
                for (count, segment) in COUNTS {
                    // Long messages of many ranks take long, and show nothing more.
                    if size > 16 && count > 10 {
                        continue;
                    }
                    executed |= body(algorithm, size, *operation, count, segment);
                }
            }
        }
        assert!(executed, "{} was not executed", algorithm.name);
    }
}

#[test]
fn reductions_and_scans() {
    for kind in [Collective::Allreduce, Collective::Scan, Collective::Exscan] {
        for_each(kind, |algorithm, size, operation, count, segment| {
            let mut calls = calls(kind, size, count * operation.element, operation);
            for call in &mut calls {
                call.segment = segment * operation.element;
            }
            check(algorithm, &calls, operation.reduce)
        });
    }
}

#[test]
fn reductions_of_many_elements_on_more_ranks_than_powers_of_two() {
    let flat = named(Collective::Allreduce)
        .filter(|algorithm| (algorithm.levels.iter()).all(|level| level.group == Group::All));
    let mut executed = 0;
    for algorithm in flat {
        for (size, count) in [(17, 100), (33, 200)] {
            let kind = Collective::Allreduce;
            let calls = calls(kind, size, count * OPERATIONS[0].element, OPERATIONS[0]);
            executed += u32::from(check(algorithm, &calls, OPERATIONS[0].reduce));
        }
    }
    assert!(executed >= 18, "{executed} calls");
}

/// Returns blocks with gaps, not in the order of the ranks; some blocks are empty.
fn scattered(size: u32, seed: u64, unit: u64, length: impl Fn(u32) -> u64) -> Vec<Block> {
    let mut blocks = vec![Block::default(); size as usize];
    let mut offset = 0;
    for number in 0..size {
        // All numbers of ranks are prime to 41.
        let rank = u32::try_from(u64::from(number) * 41 % u64::from(size)).unwrap();
        offset += mixed(seed ^ u64::from(number)) % 3 * unit;
        blocks[rank as usize] = Block {
            offset,
            length: length(rank),
        };
        offset += length(rank);
    }
    blocks
}

fn some_length(seed: u64, unit: u64) -> u64 {
    match mixed(seed) % 5 {
        0 => 0,
        1 => unit * 37,
        other => unit * other,
    }
}

#[test]
fn results_with_scattered_blocks() {
    for kind in [Collective::ReduceScatter, Collective::ReduceScatterBlock] {
        for_each(kind, |algorithm, size, operation, count, segment| {
            let unit = operation.element;
            let mut calls = calls(kind, size, count * unit, operation);
            if kind == Collective::ReduceScatter && segment > 0 {
                let length = |rank: u32| some_length(u64::from(rank) ^ count, unit);
                let send = scattered(size, count, unit, length);
                let blocks = Rc::new(Blocks {
                    send,
                    recv: Vec::new(),
                });
                for call in &mut calls {
                    call.blocks = Some(Rc::clone(&blocks));
                }
            }
            check(algorithm, &calls, operation.reduce)
        });
    }
}

#[test]
fn gathered_by_all() {
    for kind in [Collective::Allgather, Collective::Allgatherv] {
        for_each(kind, |algorithm, size, operation, count, segment| {
            let mut calls = calls(kind, size, count, operation);
            if kind == Collective::Allgatherv && segment > 0 {
                let length = |rank: u32| some_length(u64::from(rank) ^ count, 3);
                let blocks = Rc::new(Blocks {
                    send: Vec::new(),
                    recv: scattered(size, count, 5, length),
                });
                for call in &mut calls {
                    call.segment = segment;
                    call.blocks = Some(Rc::clone(&blocks));
                }
            }
            check(algorithm, &calls, add)
        });
    }
}

#[test]
fn exchanged_between_all() {
    for kind in [
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
    ] {
        for_each(kind, |algorithm, size, operation, count, segment| {
            let bytes = count;
            let mut calls = calls(kind, size, bytes, operation);
            for call in &mut calls {
                call.radix = u32::try_from(segment).unwrap();
                if kind != Collective::Alltoall && segment > 0 {
                    let between = |source: u32, destination: u32| {
                        some_length(u64::from(source) << 20 ^ u64::from(destination) ^ count, 2)
                    };
                    let own = call.rank;
                    let seed = u64::from(own) << 10;
                    call.blocks = Some(Rc::new(Blocks {
                        send: scattered(size, seed, 3, |peer| between(own, peer)),
                        recv: scattered(size, seed + 1, 3, |peer| between(peer, own)),
                    }));
                }
            }
            check(algorithm, &calls, add)
        });
    }
}

const WITHOUT_ROOT: [Collective; 10] = [
    Collective::Allreduce,
    Collective::Allgather,
    Collective::Allgatherv,
    Collective::Alltoall,
    Collective::Alltoallv,
    Collective::Alltoallw,
    Collective::ReduceScatter,
    Collective::ReduceScatterBlock,
    Collective::Scan,
    Collective::Exscan,
];

#[test]
fn one_rank_sends_nothing() {
    for kind in WITHOUT_ROOT {
        for algorithm in named(kind).filter(|algorithm| algorithm.parts.is_empty()) {
            let call = &calls(kind, 1, 20_000, OPERATIONS[1])[0];
            if algorithm.suits(call) {
                assert_eq!(messages(algorithm, call), [], "{kind} {}", algorithm.name);
            }
        }
    }
}

#[test]
fn names_and_fallbacks_are_in_the_table() {
    for kind in WITHOUT_ROOT {
        for algorithm in named(kind) {
            let name = algorithm.name;
            let same = named(kind).filter(|other| other.name == name).count();
            assert_eq!(same, 1, "{kind} {name}");
            assert!(!algorithm.about.is_empty() && !algorithm.time.is_empty());
            let mut fallback = algorithm;
            while !fallback.fallback.is_empty() {
                fallback = find(kind, fallback.fallback).expect("a fallback is in the table");
                assert_ne!(fallback.name, name, "{kind} has a cycle of fallbacks");
            }
        }
    }
}

/// Names under which SMPI 3.32 aborts for some numbers of ranks: all work here, but for meshes.
#[test]
fn restricted_names_of_smpi_work_or_are_refused() {
    let names = [
        (Collective::Allgather, "pair"),
        (Collective::Allgather, "rhv"),
        (Collective::Allgather, "2dmesh"),
        (Collective::Allgather, "3dmesh"),
        (Collective::Allgatherv, "pair"),
        (Collective::Allreduce, "rab1"),
        (Collective::Allreduce, "smp_rsag_rab"),
        (Collective::Alltoall, "pair"),
        (Collective::Alltoall, "pair_one_barrier"),
        (Collective::Alltoall, "pair_mpi_barrier"),
        (Collective::Alltoall, "pair_light_barrier"),
        (Collective::Alltoall, "2dmesh"),
        (Collective::Alltoall, "3dmesh"),
        (Collective::Alltoallv, "pair"),
        (Collective::Alltoallv, "pair_one_barrier"),
        (Collective::Alltoallv, "pair_mpi_barrier"),
        (Collective::Alltoallv, "pair_light_barrier"),
        (Collective::ReduceScatter, "mpich_noncomm"),
    ];
    for (kind, name) in names {
        for size in [2, 3, 7] {
            for bytes in [8, 1024] {
                let mut call = calls(kind, size, bytes, OPERATIONS[1]).remove(0);
                let alias = aliases::find(kind, &format!("smpi:{name}")).expect("a known name");
                let algorithm = alias.apply_parameters(&mut call);
                let works = algorithm.suits(&call);
                let refused = name == "2dmesh" && size == 7;
                assert_eq!(works, !refused, "{kind} {name} of {size} ranks");
            }
        }
    }
}
