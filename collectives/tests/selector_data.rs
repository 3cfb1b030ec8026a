//! Promise: what a selector selects computes what the operation means, with the parameters and the
//! parts that it sets, and all ranks select the same.

mod common;

use std::ops::Range;

use collectives::{Call, Collective, Facts, Selector};
use common::{Job, Protocol, add, compose};

const SIZES: [u32; 6] = [1, 2, 3, 6, 8, 17];

/// Bytes of a contribution or block. The long ones with few ranks only: they take long.
const LENGTHS: [u64; 6] = [0, 8, 504, 4096, 20_000, 131_072];

fn pattern(rank: u32, length: u64) -> Vec<u8> {
    let byte = |at: u64| {
        let mixed = (u64::from(rank) << 32 | at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed.to_be_bytes()[1]
    };
    (0..length).map(byte).collect()
}

/// Returns the bytes of a block of a pattern.
fn block(all: &[u8], number: u32, length: u64) -> Vec<u8> {
    let range = |number: u32| usize::try_from(u64::from(number) * length).expect("a place");
    all[range(number)..range(number + 1)].to_vec()
}

/// Reduces the contributions of consecutive ranks.
fn reduced(ranks: Range<u32>, bytes: u64, commutative: bool) -> Vec<u8> {
    let reduce = if commutative { add } else { compose };
    let mut ranks = ranks.rev();
    let mut all = pattern(ranks.next().expect("a rank"), bytes);
    for rank in ranks {
        reduce(&pattern(rank, bytes), &mut all);
    }
    all
}

/// The areas `Send` and `Recv` of a rank.
type Areas = (Vec<u8>, Vec<u8>);

/// Returns what a rank has in `Send` and `Recv` before a call, and the result; `None` where there
/// is none.
fn buffers(call: &Call) -> (Areas, Option<Vec<u8>>) {
    let (rank, size, bytes) = (call.rank, call.size, call.bytes);
    let all = u64::from(size) * bytes;
    let room = |length: u64| vec![0; usize::try_from(length).expect("a length")];
    let reduced = |ranks, bytes| reduced(ranks, bytes, call.commutative);
    let gathered = || (0..size).flat_map(|rank| pattern(rank, bytes)).collect();
    match call.collective {
        Collective::Barrier => ((Vec::new(), Vec::new()), None),
        Collective::Bcast => {
            let data = pattern(call.root, bytes);
            let own = if call.is_root() {
                data.clone()
            } else {
                room(bytes)
            };
            ((Vec::new(), own), Some(data))
        }
        Collective::Reduce => {
            let result = call.is_root().then(|| reduced(0..size, bytes));
            ((Vec::new(), pattern(rank, bytes)), result)
        }
        Collective::Allreduce => {
            let result = reduced(0..size, bytes);
            ((Vec::new(), pattern(rank, bytes)), Some(result))
        }
        Collective::Scan => {
            let result = reduced(0..rank + 1, bytes);
            ((Vec::new(), pattern(rank, bytes)), Some(result))
        }
        Collective::Exscan => {
            let result = (rank > 0).then(|| reduced(0..rank, bytes));
            ((pattern(rank, bytes), room(bytes)), result)
        }
        Collective::Gather | Collective::Gatherv => {
            let recv = if call.is_root() { all } else { 0 };
            let result = call.is_root().then(gathered);
            ((pattern(rank, bytes), room(recv)), result)
        }
        Collective::Scatter | Collective::Scatterv => {
            let data = pattern(call.root, all);
            let result = block(&data, rank, bytes);
            let send = if call.is_root() { data } else { Vec::new() };
            ((send, room(bytes)), Some(result))
        }
        Collective::Allgather | Collective::Allgatherv => {
            ((pattern(rank, bytes), room(all)), Some(gathered()))
        }
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
            let from = |source| block(&pattern(source, all), rank, bytes);
            let result = (0..size).flat_map(from).collect();
            ((pattern(rank, all), room(all)), Some(result))
        }
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            let result = block(&reduced(0..size, all), rank, bytes);
            ((pattern(rank, all), room(bytes)), Some(result))
        }
    }
}

fn check(selector: &Selector, template: &Call) {
    let ranks = 0..template.size;
    let mut calls: Vec<Call> = ranks
        .map(|rank| Call {
            rank,
            ..template.clone()
        })
        .collect();
    let mut names = Vec::new();
    for call in &mut calls {
        let algorithm = selector.select(call, Facts::default());
        names.push(algorithm.expect("an algorithm"));
    }
    let algorithm = names[0];
    assert!(names.iter().all(|other| other.name == algorithm.name));
    let (before, after): (Vec<_>, Vec<_>) = calls.iter().map(buffers).unzip();
    let reduce = if template.commutative { add } else { compose };
    for protocol in [Protocol::Eager, Protocol::Rendezvous] {
        let job = Job::new(algorithm, calls.clone(), before.clone(), protocol);
        let found = job.reducing(reduce).run();
        for (call, (found, expected)) in calls.iter().zip(found.into_iter().zip(&after)) {
            assert!(
                expected.as_ref().is_none_or(|expected| found == *expected),
                "{} {} {protocol:?}: {call:?}",
                selector.name(),
                algorithm.name
            );
        }
    }
}

fn check_all(name: &str) {
    let selector = Selector::built_in(name).expect("a selector");
    for kind in Collective::ALL {
        for size in SIZES {
            for bytes in LENGTHS {
                // Blocks of all pairs of ranks are no more than half a MiB.
                if bytes * u64::from(size * size) > 1 << 19 {
                    continue;
                }
                for commutative in [true, false] {
                    if !kind.has_operation() && !commutative {
                        continue;
                    }
                    let mut call = Call::new(kind, 0, size, bytes);
                    call.commutative = commutative;
                    call.element = if commutative { 1 } else { 8 };
                    check(selector, &call);
                    let has_root = matches!(
                        kind,
                        Collective::Bcast
                            | Collective::Reduce
                            | Collective::Gather
                            | Collective::Gatherv
                            | Collective::Scatter
                            | Collective::Scatterv
                    );
                    if has_root && size > 1 {
                        call.root = size - 1;
                        check(selector, &call);
                    }
                }
            }
        }
    }
}

#[test]
fn open_mpi() {
    check_all("openmpi-4.1");
}

#[test]
fn mpich() {
    check_all("mpich");
    check_all("mpich-5.1");
}

#[test]
fn mvapich2() {
    check_all("mvapich2");
}

#[test]
fn intel() {
    check_all("intel");
}

#[test]
fn nccl() {
    check_all("nccl");
}

#[test]
fn smpi() {
    for name in Selector::names().filter(|name| name.starts_with("smpi-")) {
        check_all(name);
    }
}
