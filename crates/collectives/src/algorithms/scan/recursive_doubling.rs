//! Scan by recursive doubling: partners at distances 1, 2, 4, … exchange the reductions of their
//! subtrees; the reductions of lower ranks are also part of the result.
//!
//! Source: MPICH, `MPIR_Scan_intra_recursive_doubling` and `MPIR_Exscan_intra_recursive_doubling`.

use super::{contribution, result};
use crate::partners::log2_ceil;
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::Scan, Collective::Exscan],
    about: "partners at distances 1, 2, 4, … exchange the reductions of their subtrees",
    time: "L (α + n (β + 2 γ))",
    ordered: true,
    temp: |call| 2 * call.bytes,
    rounds: |call| 1 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let subtree = Part::temp(0, call.bytes);
    if round == 0 {
        return steps.copy(contribution(call), subtree);
    }
    let mask = 1 << (round - 1);
    let peer = call.rank ^ mask;
    if peer >= call.size {
        return;
    }
    let arrived = Part::temp(call.bytes, call.bytes);
    steps.exchange(peer, subtree, peer, arrived);
    if peer > call.rank {
        return steps.reduce(arrived, subtree, Operand::Right);
    }
    let is_first = call.rank & (mask - 1) == 0;
    if call.collective == Collective::Exscan && is_first {
        steps.copy(arrived, result(call));
    } else {
        steps.reduce(arrived, result(call), Operand::Left);
    }
    steps.reduce(arrived, subtree, Operand::Left);
}
