//! Promise: schedules compute what the operation means, for all numbers of ranks and lengths, with
//! eager and with rendezvous sends.

mod common;

use collectives::{Algorithm, Call, Collective, find, named};
use common::{Job, Protocol, compose};

const PROTOCOLS: [Protocol; 2] = [Protocol::Eager, Protocol::Rendezvous];

/// The contribution of a rank: different bytes for each rank and position.
fn pattern(rank: u32, length: u64) -> Vec<u8> {
    let byte = |at: u64| {
        let mixed = (u64::from(rank) * 131 + at * 7 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.to_le_bytes()[6]
    };
    (0..length).map(byte).collect()
}

fn call(kind: Collective, rank: u32, size: u32, bytes: u64) -> Call {
    let mut call = Call::new(kind, rank, size, bytes);
    call.element = 8;
    call
}

/// Ends calls of which an algorithm executes only some.
fn suited(algorithm: &'static Algorithm, calls: &[Call]) -> bool {
    calls.iter().all(|call| algorithm.suits(call))
}

const SIZES: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 33];

#[test]
fn broadcasts() {
    for algorithm in named(Collective::Bcast) {
        for size in SIZES {
            for (bytes, segment) in [(0, 0), (8, 0), (1000, 0), (4096, 64), (100, 8)] {
                for root in [0, size / 2, size - 1] {
                    for protocol in PROTOCOLS {
                        let calls = (0..size).map(|rank| Call {
                            root,
                            segment,
                            ..call(Collective::Bcast, rank, size, bytes)
                        });
                        let calls: Vec<Call> = calls.collect();
                        if !suited(algorithm, &calls) {
                            continue;
                        }
                        let data = pattern(99, bytes);
                        let buffer = |rank| match rank {
                            rank if rank == root => data.clone(),
                            _ => vec![0; data.len()],
                        };
                        let buffers = (0..size).map(|rank| (Vec::new(), buffer(rank))).collect();
                        let found = Job::new(algorithm, calls, buffers, protocol).run();
                        let name = algorithm.name;
                        assert!(
                            found.iter().all(|own| *own == data),
                            "{name} {size} {bytes} {root}"
                        );
                    }
                }
            }
        }
    }
}

fn reduced(size: u32, bytes: u64) -> Vec<u8> {
    let mut all = pattern(size - 1, bytes);
    for rank in (0..size - 1).rev() {
        compose(&pattern(rank, bytes), &mut all);
    }
    all
}

#[test]
fn reductions_to_all() {
    for algorithm in named(Collective::Allreduce).filter(|one| one.ordered && one.parts.is_empty())
    {
        for size in SIZES {
            for bytes in [0, 8, 800, 1600] {
                for protocol in PROTOCOLS {
                    let calls =
                        (0..size).map(|rank| call(Collective::Allreduce, rank, size, bytes));
                    let calls: Vec<Call> = calls.collect();
                    if !suited(algorithm, &calls) {
                        continue;
                    }
                    let buffers = (0..size)
                        .map(|rank| (Vec::new(), pattern(rank, bytes)))
                        .collect();
                    let found = Job::new(algorithm, calls, buffers, protocol).run();
                    let expected = reduced(size, bytes);
                    let name = algorithm.name;
                    assert!(
                        found.iter().all(|own| *own == expected),
                        "{name} {size} {bytes}"
                    );
                }
            }
        }
    }
}

#[test]
fn barriers_end() {
    for algorithm in named(Collective::Barrier) {
        for size in SIZES {
            for protocol in PROTOCOLS {
                let calls = (0..size).map(|rank| call(Collective::Barrier, rank, size, 0));
                let calls: Vec<Call> = calls.collect();
                if suited(algorithm, &calls) {
                    let buffers = (0..size).map(|_| Default::default()).collect();
                    Job::new(algorithm, calls, buffers, protocol).run();
                }
            }
        }
    }
    assert!(find(Collective::Barrier, "dissemination").is_some());
}
