//! Promise: operations with a root compute what they mean, for all roots, for blocks of different
//! lengths, and with segments that do not divide the message.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::rc::Rc;

use collectives::{Algorithm, Block, Blocks, Call, Collective, aliases, messages, named};
use common::{Job, Protocol, Reduce, add, compose};

const PROTOCOLS: [Protocol; 2] = [Protocol::Eager, Protocol::Rendezvous];
const SIZES: [u32; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17];
const ROOTED: [Collective; 6] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Gather,
    Collective::Gatherv,
    Collective::Scatter,
    Collective::Scatterv,
];

/// The contribution of a rank: different bytes for each rank and position.
fn pattern(rank: u32, length: u64) -> Vec<u8> {
    let byte = |at: u64| {
        let mixed = (u64::from(rank) * 131 + at * 7 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.to_le_bytes()[6]
    };
    (0..length).map(byte).collect()
}

fn roots(size: u32) -> Vec<u32> {
    let mut roots = vec![0, 1 % size, size / 2, size - 1];
    roots.dedup();
    roots
}

/// Calls of all ranks.
fn calls(kind: Collective, size: u32, root: u32, bytes: u64, segment: u64) -> Vec<Call> {
    let call = |rank| {
        let mut call = Call::new(kind, rank, size, bytes);
        (call.root, call.segment, call.element) = (root, segment, 8);
        call
    };
    (0..size).map(call).collect()
}

fn suited(algorithm: &Algorithm, calls: &[Call]) -> bool {
    calls.iter().all(|call| algorithm.suits(call))
}

fn reduced(size: u32, bytes: u64, reduce: Reduce) -> Vec<u8> {
    let mut all = pattern(size - 1, bytes);
    for rank in (0..size - 1).rev() {
        reduce(&pattern(rank, bytes), &mut all);
    }
    all
}

fn check_reduction(algorithm: &'static Algorithm, calls: Vec<Call>, reduce: Reduce) {
    let (size, root, bytes) = (calls[0].size, calls[0].root, calls[0].bytes);
    let expected = reduced(size, bytes, reduce);
    for protocol in PROTOCOLS {
        let own = |rank| (Vec::new(), pattern(rank, bytes));
        let buffers = (0..size).map(own).collect();
        let job = Job::new(algorithm, calls.clone(), buffers, protocol);
        let found = job.reducing(reduce).run();
        assert!(
            found[root as usize] == expected,
            "{} {size} {bytes} to {root} {protocol:?}",
            algorithm.name
        );
    }
}

#[test]
fn reductions_to_a_root() {
    for algorithm in named(Collective::Reduce) {
        for size in SIZES {
            for root in roots(size) {
                for (bytes, segment) in [(0, 0), (8, 0), (40, 0), (800, 0), (800, 64), (168, 16)] {
                    let mut calls = calls(Collective::Reduce, size, root, bytes, segment);
                    if !suited(algorithm, &calls) {
                        continue;
                    }
                    check_reduction(algorithm, calls.clone(), add);
                    calls.iter_mut().for_each(|call| call.commutative = false);
                    if algorithm.ordered {
                        check_reduction(algorithm, calls, compose);
                    } else {
                        assert!(
                            !algorithm.suits(&calls[0]),
                            "{} has an order",
                            algorithm.name
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn broadcasts_with_a_rest() {
    for algorithm in named(Collective::Bcast) {
        for size in SIZES {
            for root in roots(size) {
                for (bytes, segment) in [(4136, 64), (20_000, 0), (64, 64), (128, 64), (129, 64)] {
                    let calls = calls(Collective::Bcast, size, root, bytes, segment);
                    if !suited(algorithm, &calls) {
                        continue;
                    }
                    let data = pattern(99, bytes);
                    for protocol in PROTOCOLS {
                        let own = |rank| match rank {
                            rank if rank == root => (Vec::new(), data.clone()),
                            _ => (Vec::new(), vec![0; data.len()]),
                        };
                        let buffers = (0..size).map(own).collect();
                        let found = Job::new(algorithm, calls.clone(), buffers, protocol).run();
                        assert!(
                            found.iter().all(|own| *own == data),
                            "{} {size} {bytes} from {root} {protocol:?}",
                            algorithm.name
                        );
                    }
                }
            }
        }
    }
}

/// Blocks in descending order with a gap between them; every third one is empty.
fn uneven(size: u32) -> (Vec<Block>, u64) {
    let mut offset = 0;
    let mut blocks: Vec<Block> = (0..size)
        .rev()
        .map(|rank| {
            let length = if rank % 3 == 1 {
                0
            } else {
                u64::from(rank * 5 % 37 + 1)
            };
            offset += length + 3;
            Block {
                offset: offset - length,
                length,
            }
        })
        .collect();
    blocks.reverse();
    (blocks, offset)
}

fn even(size: u32, bytes: u64) -> (Vec<Block>, u64) {
    let block = |rank| Block {
        offset: u64::from(rank) * bytes,
        length: bytes,
    };
    ((0..size).map(block).collect(), u64::from(size) * bytes)
}

/// Makes calls of blocks of different lengths, which the root alone knows.
fn list(calls: &mut [Call], blocks: &[Block]) {
    for call in calls {
        call.bytes = blocks[call.rank as usize].length;
        call.element = 1;
        if call.is_root() {
            let mut listed = Blocks::default();
            match call.collective {
                Collective::Gatherv => listed.recv = blocks.to_vec(),
                _ => listed.send = blocks.to_vec(),
            }
            call.blocks = Some(Rc::new(listed));
        }
    }
}

fn range(block: Block) -> std::ops::Range<usize> {
    let start = usize::try_from(block.offset).unwrap();
    start..start + usize::try_from(block.length).unwrap()
}

fn check_gather(algorithm: &'static Algorithm, calls: &[Call], blocks: &[Block], total: u64) {
    let (size, root) = (calls[0].size, calls[0].root);
    let total = usize::try_from(total).unwrap();
    for protocol in PROTOCOLS {
        let own = |rank: u32| {
            let block = pattern(rank, blocks[rank as usize].length);
            (block, vec![0; if rank == root { total } else { 0 }])
        };
        let buffers = (0..size).map(own).collect();
        let found = Job::new(algorithm, calls.to_vec(), buffers, protocol).run();
        for rank in 0..size {
            let block = blocks[rank as usize];
            assert!(
                found[root as usize][range(block)] == pattern(rank, block.length),
                "{} {size} to {root}: block {rank} {protocol:?}",
                algorithm.name
            );
        }
    }
}

fn check_scatter(algorithm: &'static Algorithm, calls: &[Call], blocks: &[Block], total: u64) {
    let (size, root) = (calls[0].size, calls[0].root);
    let all = pattern(99, total);
    for protocol in PROTOCOLS {
        let own = |rank: u32| {
            let length = usize::try_from(blocks[rank as usize].length).unwrap();
            let send = if rank == root {
                all.clone()
            } else {
                Vec::new()
            };
            (send, vec![0; length])
        };
        let buffers = (0..size).map(own).collect();
        let found = Job::new(algorithm, calls.to_vec(), buffers, protocol).run();
        for (block, found) in blocks.iter().zip(found) {
            let name = algorithm.name;
            assert!(
                found == all[range(*block)],
                "{name} {size} from {root} {protocol:?}"
            );
        }
    }
}

#[test]
fn gathers() {
    for (kind, segment) in [(Collective::Gather, 0), (Collective::Gather, 16)] {
        for algorithm in named(kind).filter(|one| one.levels.is_empty()) {
            for size in SIZES {
                for root in roots(size) {
                    for bytes in [0, 8, 1000, 1032] {
                        let calls = calls(kind, size, root, bytes, segment);
                        let (blocks, total) = even(size, bytes);
                        check_gather(algorithm, &calls, &blocks, total);
                    }
                }
            }
        }
    }
}

#[test]
fn scatters() {
    for algorithm in named(Collective::Scatter).filter(|one| one.levels.is_empty()) {
        for size in SIZES {
            for root in roots(size) {
                for bytes in [0, 8, 1000] {
                    let calls = calls(Collective::Scatter, size, root, bytes, 0);
                    let (blocks, total) = even(size, bytes);
                    check_scatter(algorithm, &calls, &blocks, total);
                }
            }
        }
    }
}

#[test]
fn blocks_of_different_lengths() {
    for kind in [Collective::Gatherv, Collective::Scatterv] {
        assert!(named(kind).count() > 0);
        for algorithm in named(kind) {
            for size in SIZES {
                for root in roots(size) {
                    let (blocks, total) = uneven(size);
                    let mut calls = calls(kind, size, root, 0, 0);
                    list(&mut calls, &blocks);
                    if kind == Collective::Gatherv {
                        check_gather(algorithm, &calls, &blocks, total);
                    } else {
                        check_scatter(algorithm, &calls, &blocks, total);
                    }
                }
            }
        }
    }
}

#[test]
fn one_rank_sends_nothing() {
    for kind in ROOTED.into_iter().chain([Collective::Barrier]) {
        for algorithm in named(kind) {
            let call = &calls(kind, 1, 0, 20_000, 0)[0];
            if !algorithm.suits(call) {
                continue;
            }
            assert_eq!(messages(algorithm, call), [], "{kind} {}", algorithm.name);
        }
    }
}

#[test]
fn fallbacks_execute_the_calls_of_their_algorithms() {
    for kind in ROOTED {
        for algorithm in named(kind).filter(|algorithm| !algorithm.fallback.is_empty()) {
            let fallback = named(kind).find(|other| other.name == algorithm.fallback);
            let fallback = fallback.expect("a fallback is in the table");
            for size in SIZES {
                for bytes in [0, 8, 80] {
                    let call = &calls(kind, size, 0, bytes, 0)[0];
                    assert!(algorithm.suits(call) || fallback.suits(call));
                }
            }
        }
    }
}

/// Names of SMPI with parameters that depend on lengths.
#[test]
fn aliases_with_parameters_reduce_and_broadcast() {
    for size in [2, 7, 8] {
        for root in [0, size - 1] {
            for bytes in [8, 1024, 30_000] {
                for name in [
                    "ompi_pipeline",
                    "ompi_split_bintree",
                    "mvapich2_intra_node",
                    "SMP_linear",
                ] {
                    let mut calls = calls(Collective::Bcast, size, root, bytes, 0);
                    let algorithm = applied(name, &mut calls);
                    let data = pattern(7, bytes);
                    let own = |rank| match rank {
                        rank if rank == root => (Vec::new(), data.clone()),
                        _ => (Vec::new(), vec![0; data.len()]),
                    };
                    let buffers = (0..size).map(own).collect();
                    let found = Job::new(algorithm, calls, buffers, Protocol::Rendezvous).run();
                    assert!(
                        found.iter().all(|own| *own == data),
                        "{name} {size} {bytes}"
                    );
                }
                for name in [
                    "default",
                    "ompi_pipeline",
                    "ompi_binomial",
                    "ompi_binary",
                    "ompi_chain",
                    "mvapich2_two_level",
                    "scatter_gather",
                    "NTSL",
                ] {
                    let mut calls = calls(Collective::Reduce, size, root, bytes, 0);
                    let algorithm = applied(name, &mut calls);
                    check_reduction(algorithm, calls, add);
                }
            }
        }
    }
}

#[test]
fn calls_that_smpi_aborts_work_or_are_refused() {
    for size in [2, 3, 7, 8] {
        for bytes in [8, 1024, 20_000] {
            for name in ["SMP_linear", "ompi_split_bintree"] {
                let mut calls = calls(Collective::Bcast, size, size - 1, bytes, 0);
                let algorithm = applied(name, &mut calls);
                assert!(suited(algorithm, &calls), "{name} of {size} ranks");
            }
        }
        let mut calls = calls(Collective::Reduce, size, 0, 8, 0);
        let algorithm = applied("scatter_gather", &mut calls);
        assert!(suited(algorithm, &calls));
        check_reduction(algorithm, calls, add);
        let alias = aliases::find(Collective::Barrier, "smpi:ompi_two_procs");
        let mut call = Call::new(Collective::Barrier, 0, size, 0);
        let algorithm = alias.expect("the name is in the table").apply(&mut call);
        assert_eq!(algorithm.suits(&call), size == 2);
        assert_eq!(algorithm.needs.words(), "two ranks");
    }
}

/// Applies an alias of SMPI to the calls of all ranks.
fn applied(name: &str, calls: &mut [Call]) -> &'static Algorithm {
    let alias = aliases::find(calls[0].collective, &format!("smpi:{name}"));
    let alias = alias.expect("the name is in the table");
    let mut found = calls.iter_mut().map(|call| alias.apply(call).name);
    let first = found.next().expect("there are ranks");
    assert!(found.all(|name| name == first), "all ranks choose alike");
    let mut all = named(calls[0].collective);
    all.find(|algorithm| algorithm.name == first)
        .expect("it exists")
}
