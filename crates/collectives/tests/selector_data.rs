//! Promise: an algorithm chosen by a selector computes the results of the operation, with the
//! parameters and the parts that the selector sets, and all ranks select the same algorithm.

use crate::common;
use crate::common::{add, compose};
use collectives::{Call, Collective, Facts, Selector};

const SIZES: [u32; 6] = [1, 2, 3, 6, 8, 17];

/// Bytes of a contribution or block. The long ones with few ranks only: they take long.
const LENGTHS: [u64; 6] = [0, 8, 504, 4096, 20_000, 131_072];

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
    let reduce = if template.commutative { add } else { compose };
    common::check(algorithm, &calls, reduce);
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
                    if kind.has_root() && size > 1 {
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
