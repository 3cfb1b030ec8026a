//! Promise: operations with a root compute the right results, for all roots, for blocks of
//! different lengths, and with segments that do not divide the message.

use std::rc::Rc;

use crate::common::{add, check, compose, suits};
use collectives::{Algorithm, Block, Blocks, Call, Collective, aliases, messages, named};

const SIZES: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 33];
const ROOTED: [Collective; 6] = [
    Collective::Bcast,
    Collective::Reduce,
    Collective::Gather,
    Collective::Gatherv,
    Collective::Scatter,
    Collective::Scatterv,
];

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

#[test]
fn reductions_to_a_root() {
    for algorithm in named(Collective::Reduce) {
        for size in SIZES {
            for root in roots(size) {
                for (bytes, segment) in [(0, 0), (8, 0), (40, 0), (800, 0), (800, 64), (168, 16)] {
                    let mut calls = calls(Collective::Reduce, size, root, bytes, segment);
                    if !suits(algorithm, &calls) {
                        continue;
                    }
                    check(algorithm, &calls, add);
                    calls.iter_mut().for_each(|call| call.commutative = false);
                    if algorithm.ordered {
                        check(algorithm, &calls, compose);
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
fn broadcasts() {
    for algorithm in named(Collective::Bcast) {
        for size in SIZES {
            for root in roots(size) {
                for (bytes, segment) in [
                    (0, 0),
                    (8, 0),
                    (1000, 0),
                    (20_000, 0),
                    (100, 8),
                    (4096, 64),
                    (4136, 64),
                    (64, 64),
                    (128, 64),
                    (129, 64),
                ] {
                    let calls = calls(Collective::Bcast, size, root, bytes, segment);
                    if suits(algorithm, &calls) {
                        check(algorithm, &calls, add);
                    }
                }
            }
        }
    }
}

#[test]
fn barriers_end() {
    for algorithm in named(Collective::Barrier) {
        for size in SIZES {
            let calls = calls(Collective::Barrier, size, 0, 0, 0);
            if suits(algorithm, &calls) {
                check(algorithm, &calls, add);
            }
        }
    }
}

/// Blocks in descending order with a gap between them; every third one is empty.
fn uneven(size: u32) -> Vec<Block> {
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
    blocks
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

#[test]
fn gathers_and_scatters() {
    for (kind, segment) in [
        (Collective::Gather, 0),
        (Collective::Gather, 16),
        (Collective::Scatter, 0),
    ] {
        for algorithm in named(kind).filter(|one| one.levels.is_empty()) {
            for size in SIZES {
                for root in roots(size) {
                    for bytes in [0, 8, 1000, 1032] {
                        check(algorithm, &calls(kind, size, root, bytes, segment), add);
                    }
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
                    let mut calls = calls(kind, size, root, 0, 0);
                    list(&mut calls, &uneven(size));
                    check(algorithm, &calls, add);
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
                for (kind, name) in [
                    (Collective::Bcast, "ompi_pipeline"),
                    (Collective::Bcast, "ompi_split_bintree"),
                    (Collective::Bcast, "mvapich2_intra_node"),
                    (Collective::Bcast, "SMP_linear"),
                    (Collective::Reduce, "default"),
                    (Collective::Reduce, "ompi_pipeline"),
                    (Collective::Reduce, "ompi_binomial"),
                    (Collective::Reduce, "ompi_binary"),
                    (Collective::Reduce, "ompi_chain"),
                    (Collective::Reduce, "mvapich2_two_level"),
                    (Collective::Reduce, "scatter_gather"),
                    (Collective::Reduce, "NTSL"),
                ] {
                    let mut calls = calls(kind, size, root, bytes, 0);
                    let algorithm = applied(name, &mut calls);
                    check(algorithm, &calls, add);
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
                assert!(suits(algorithm, &calls), "{name} of {size} ranks");
            }
        }
        let mut calls = calls(Collective::Reduce, size, 0, 8, 0);
        let algorithm = applied("scatter_gather", &mut calls);
        assert!(suits(algorithm, &calls));
        check(algorithm, &calls, add);
        let alias = aliases::find(Collective::Barrier, "smpi:ompi_two_procs");
        let mut call = Call::new(Collective::Barrier, 0, size, 0);
        let algorithm = alias
            .expect("the name is in the table")
            .apply_parameters(&mut call);
        assert_eq!(algorithm.suits(&call), size == 2);
        assert_eq!(algorithm.needs.in_words(), "two ranks");
    }
}

/// Applies an alias of SMPI to the calls of all ranks.
fn applied(name: &str, calls: &mut [Call]) -> &'static Algorithm {
    let alias = aliases::find(calls[0].collective, &format!("smpi:{name}"));
    let alias = alias.expect("the name is in the table");
    let mut found = calls
        .iter_mut()
        .map(|call| alias.apply_parameters(call).name);
    let first = found.next().expect("there are ranks");
    assert!(found.all(|name| name == first), "all ranks choose alike");
    let mut all = named(calls[0].collective);
    all.find(|algorithm| algorithm.name == first)
        .expect("it exists")
}
