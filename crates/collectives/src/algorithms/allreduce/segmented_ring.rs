//! Allreduce along a ring in phases: in each phase, one segment of each block passes through all
//! ranks and is reduced on the way; then whole blocks pass through all ranks.
//!
//! Source: Open MPI, `coll_base_allreduce.c` (`ring_segmented`).

use super::ring::{gathering, passing};
use super::{elements, even_split};
use crate::segments::Segments;
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static SEGMENTED_RING: Algorithm = Algorithm {
    name: "segmented_ring",
    quadratic: true,
    collectives: &[Collective::Allreduce],
    about: "ring whose reduction is in phases, one segment of each block in each (0: 1 MiB)",
    time: "(p − 1) (1 + k) α + 2 n (p − 1) / p β + n (p − 1) / p γ with k phases",
    needs: Requirement::SegmentPerRank,
    fallback: "ring",
    temp_buffers: 2,
    temp: |call| 2 * longest_block(call),
    rounds: |call| call.size * phases(call) + call.size,
    round,
    ..Algorithm::BASE
};

/// Returns the number of phases.
fn phases(call: &Call) -> u32 {
    let segment = Segments::from_call(call, 1 << 20).longest() / call.element;
    let elements = segment.saturating_mul(u64::from(call.size)).max(1);
    let (whole, rest) = (call.count() / elements, call.count() % elements);
    let more = rest >= u64::from(call.size) && rest > elements / 2;
    u32::try_from(whole + u64::from(more)).unwrap_or(u32::MAX)
}

fn longest_block(call: &Call) -> u64 {
    let (_, block) = even_split(call.count(), call.size, 0);
    even_split(block, phases(call).max(1), 0).1 * call.element
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (phase, round) = (round / call.size, round % call.size);
    let split = |number| even_split(call.count(), call.size, number);
    if phase < phases(call) {
        let part = |number| {
            let (first, count) = split(number);
            let (offset, count) = even_split(count, phases(call), phase);
            elements(call, first + offset, count)
        };
        passing(call, round, longest_block(call), &part, steps);
    } else if round > 0 {
        let block = |number| {
            let (first, count) = split(number);
            elements(call, first, count)
        };
        gathering(call, round, 1, &block, steps);
    }
}
