//! Promise: schedules of operations without a root compute what the operation means, for all
//! numbers of ranks, lengths and places of blocks, with eager and with rendezvous sends.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::rc::Rc;

use collectives::{
    Algorithm, Block, Blocks, Call, Collective, Group, Level, Plan, Plans, aliases, find, messages,
    named,
};
use common::{Job, Protocol, Reduce, add, compose};

const SIZES: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 32, 37];

/// Numbers of elements of a contribution or block and of a segment; calls with segments have
/// scattered blocks.
const COUNTS: [(u64, u64); 5] = [(0, 0), (1, 0), (7, 3), (99, 4), (160, 0)];

/// Bytes that no operation writes.
const UNTOUCHED: u8 = 0xaa;

fn index(value: u64) -> usize {
    usize::try_from(value).unwrap()
}

fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Different bytes for each rank and position.
fn pattern(rank: u32, length: u64) -> Vec<u8> {
    let byte = |at: u64| mixed(u64::from(rank) << 40 | at).to_le_bytes()[0];
    (0..length).map(byte).collect()
}

/// An operation with the length of its elements.
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

/// The buffers of all ranks before and after a call.
struct Case<'a> {
    calls: Vec<Call>,
    reduce: Reduce,
    send: &'a dyn Fn(u32) -> Vec<u8>,
    recv: &'a dyn Fn(u32) -> Vec<u8>,
    expected: &'a dyn Fn(u32) -> Vec<u8>,
}

/// Executes a call with some combinations of parts, if the algorithm can execute it. Returns true
/// if it can.
fn check(algorithm: &'static Algorithm, case: &Case<'_>) -> bool {
    let mut executed = false;
    for choice in 0..3 {
        let mut calls = case.calls.clone();
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
                let part = level.call(call)?;
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
        if !calls.iter().all(|call| algorithm.suits(call)) {
            continue;
        }
        executed = true;
        for protocol in [Protocol::Eager, Protocol::Rendezvous] {
            let buffers = calls
                .iter()
                .map(|call| ((case.send)(call.rank), (case.recv)(call.rank)));
            let job = Job::new(algorithm, calls.clone(), buffers.collect(), protocol);
            let found = job.reducing(case.reduce).run();
            for (rank, found) in (0..).zip(found) {
                let expected = (case.expected)(rank);
                assert!(
                    found == expected,
                    "{} at rank {rank}, {protocol:?}: {:?}",
                    algorithm.name,
                    calls[rank as usize]
                );
            }
        }
        if algorithm.parts.is_empty() && algorithm.levels.is_empty() {
            break;
        }
    }
    executed
}

/// Reduces the contributions of consecutive ranks.
fn reduced(operation: Operation, ranks: std::ops::Range<u32>, bytes: u64) -> Vec<u8> {
    let mut ranks = ranks.rev();
    let mut all = pattern(ranks.next().unwrap(), bytes);
    for rank in ranks {
        (operation.reduce)(&pattern(rank, bytes), &mut all);
    }
    all
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
/// number of elements of a segment. It returns true if the algorithm can execute such a call: each
/// can execute some.
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
fn reductions_to_all_ranks() {
    for_each(
        Collective::Allreduce,
        |algorithm, size, operation, count, segment| {
            let bytes = count * operation.element;
            let mut calls = calls(Collective::Allreduce, size, bytes, operation);
            for call in &mut calls {
                call.segment = segment * operation.element;
            }
            let result = reduced(operation, 0..size, bytes);
            check(
                algorithm,
                &Case {
                    calls,
                    reduce: operation.reduce,
                    send: &|_| Vec::new(),
                    recv: &|rank| pattern(rank, bytes),
                    expected: &|_| result.clone(),
                },
            )
        },
    );
}

#[test]
fn inclusive_scans() {
    for_each(Collective::Scan, |algorithm, size, operation, count, _| {
        let bytes = count * operation.element;
        check(
            algorithm,
            &Case {
                calls: calls(Collective::Scan, size, bytes, operation),
                reduce: operation.reduce,
                send: &|_| Vec::new(),
                recv: &|rank| pattern(rank, bytes),
                expected: &|rank| reduced(operation, 0..rank + 1, bytes),
            },
        )
    });
}

#[test]
fn exclusive_scans() {
    for_each(
        Collective::Exscan,
        |algorithm, size, operation, count, _| {
            let bytes = count * operation.element;
            let untouched = vec![UNTOUCHED; index(bytes)];
            check(
                algorithm,
                &Case {
                    calls: calls(Collective::Exscan, size, bytes, operation),
                    reduce: operation.reduce,
                    send: &|rank| pattern(rank, bytes),
                    recv: &|_| untouched.clone(),
                    expected: &|rank| match rank {
                        0 => untouched.clone(),
                        rank => reduced(operation, 0..rank, bytes),
                    },
                },
            )
        },
    );
}

/// Blocks with gaps, in another order than that of the ranks; some are empty.
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

fn end(blocks: &[Block]) -> u64 {
    let ends = blocks.iter().map(|block| block.offset + block.length);
    ends.max().unwrap_or(0)
}

fn place(area: &mut [u8], block: Block, bytes: &[u8]) {
    let start = index(block.offset);
    area[start..start + index(block.length)].copy_from_slice(bytes);
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
            let first = calls[0].clone();
            let ends = (0..size).map(|rank| first.send_block(rank));
            let bytes = end(&ends.collect::<Vec<Block>>());
            let result = reduced(operation, 0..size, bytes);
            let sent: Vec<Vec<u8>> = (0..size).map(|rank| pattern(rank, bytes)).collect();
            check(
                algorithm,
                &Case {
                    calls,
                    reduce: operation.reduce,
                    send: &|rank| sent[rank as usize].clone(),
                    recv: &|rank| vec![UNTOUCHED; index(first.send_block(rank).length)],
                    expected: &|rank| {
                        let block = first.send_block(rank);
                        let start = index(block.offset);
                        result[start..start + index(block.length)].to_vec()
                    },
                },
            )
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
            let first = calls[0].clone();
            let blocks: Vec<Block> = (0..size).map(|rank| first.recv_block(rank)).collect();
            let before = vec![UNTOUCHED; index(end(&blocks))];
            let mut after = before.clone();
            for (rank, block) in (0..).zip(&blocks) {
                place(&mut after, *block, &pattern(rank, block.length));
            }
            check(
                algorithm,
                &Case {
                    calls,
                    reduce: add,
                    send: &|rank| pattern(rank, blocks[rank as usize].length),
                    recv: &|_| before.clone(),
                    expected: &|_| after.clone(),
                },
            )
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
            let area =
                |blocks: &dyn Fn(u32) -> Block| end(&(0..size).map(blocks).collect::<Vec<Block>>());
            let sent = |call: &Call| pattern(call.rank, area(&|peer| call.send_block(peer)));
            let sent: Vec<Vec<u8>> = calls.iter().map(sent).collect();
            let before = |call: &Call| vec![UNTOUCHED; index(area(&|peer| call.recv_block(peer)))];
            let before: Vec<Vec<u8>> = calls.iter().map(before).collect();
            let mut after = before.clone();
            for call in &calls {
                for peer in &calls {
                    let block = peer.send_block(call.rank);
                    let start = index(block.offset);
                    let bytes = &sent[peer.rank as usize][start..start + index(block.length)];
                    let into = call.recv_block(peer.rank);
                    place(&mut after[call.rank as usize], into, bytes);
                }
            }
            check(
                algorithm,
                &Case {
                    calls,
                    reduce: add,
                    send: &|rank| sent[rank as usize].clone(),
                    recv: &|rank| before[rank as usize].clone(),
                    expected: &|rank| after[rank as usize].clone(),
                },
            )
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
                let algorithm = alias.apply(&mut call);
                let works = algorithm.suits(&call);
                let refused = name == "2dmesh" && size == 7;
                assert_eq!(works, !refused, "{kind} {name} of {size} ranks");
            }
        }
    }
}
