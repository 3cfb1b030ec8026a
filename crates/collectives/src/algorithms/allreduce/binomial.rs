//! Allreduce along a binomial tree to rank 0 and back, in segments: the reduction of a segment
//! comes before the broadcast of the segment before. So each segment pays the whole way up and
//! down.
//!
//! Source: P. Patarasuk, X. Yuan, in SMPI `allreduce-smp-binomial-pipeline.cpp`, with one rank on
//! each node; there, elements behind the last whole segment are left out.

use super::elements;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Allreduce],
    about: "binomial tree to rank 0 and back, in segments (0: none)",
    time: "2 L (k α + n β) + L n γ with k segments",
    ordered: true,
    temp: |call| segment(call, 0).length,
    rounds: |call| segments(call) + 1,
    round,
    ..Algorithm::BASE
};

/// Returns the number of elements of a segment.
fn segment_elements(call: &Call) -> u64 {
    match call.segment / call.element {
        0 => call.count().max(1),
        elements => elements.min(call.count()).max(1),
    }
}

fn segments(call: &Call) -> u32 {
    let count = call.count().div_ceil(segment_elements(call)).max(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn segment(call: &Call, number: u32) -> Part {
    let first = u64::from(number) * segment_elements(call);
    elements(
        call,
        first,
        segment_elements(call).min(call.count() - first),
    )
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round < segments(call) {
        let segment = segment(call, round);
        let temp = Part::temp(0, segment.length);
        for child in Tree::InOrder.children(call.rank, call.size) {
            steps.recv(child, temp);
            steps.reduce(temp, segment, Operand::Right);
        }
        if let Some(parent) = Tree::InOrder.parent(call.rank, call.size) {
            steps.send(parent, segment);
        }
    }
    if let Some(number) = round.checked_sub(1) {
        let segment = segment(call, number);
        if let Some(parent) = Tree::Halving.parent(call.rank, call.size) {
            steps.recv(parent, segment);
        }
        for child in Tree::Halving.children(call.rank, call.size) {
            steps.send(child, segment);
        }
    }
}
