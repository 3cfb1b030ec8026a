//! Reduction of segments along one chain with all receives posted at the beginning.
//!
//! A message of at most one segment is received and sent by blocking calls. The bytes behind the
//! last whole segment are a linear reduction of their own.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/reduce/reduce-NTSL.cpp`.

use super::linear_nb::linear;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Operand, Part, Slot, Steps};

pub(crate) static PREPOSTED_CHAIN: Algorithm = Algorithm {
    name: "preposted_chain",
    collectives: &[Collective::Reduce],
    about: "one chain in segments of 8 KiB or as told, all receives posted at first",
    time: "(k + p − 2) (α + S β) + (p − 1) S γ with k segments of S bytes",
    temp: |call| {
        let rest = call.bytes - cut_segments(call).1;
        let others = u64::from(call.is_root()) * u64::from(call.size - 1);
        call.bytes.max(rest * others)
    },
    rounds: |call| match cut_segments(call).0 {
        _ if call.size == 1 => 0,
        Some(segments) => segments.count() + 2,
        None => 1,
    },
    round,
    ..Algorithm::BASE
};

/// Slot of the receives of all segments.
const RECEIVES: Slot = 1;

/// Returns the segments that are pipelined, and the first byte behind them.
fn cut_segments(call: &Call) -> (Option<Segments>, u64) {
    let element = call.element.max(1);
    let segment = match call.segment {
        0 => 8192,
        segment => segment,
    };
    let length = (segment / element).max(1) * element;
    if call.bytes <= length {
        return (None, call.bytes);
    }
    let whole = call.bytes / length * length;
    (Some(Segments::exact(0, whole, length)), whole)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (rank, size) = (call.relative(), call.size);
    let below = Tree::Chains(1).child(rank, size, 0);
    let below = below.map(|rank| call.absolute(rank));
    let above = Tree::Chains(1).parent(rank, size);
    let above = above.map(|rank| call.absolute(rank));
    let (segments, whole) = cut_segments(call);
    let Some(segments) = segments else {
        let (own, other) = (Part::recv(0, call.bytes), Part::temp(0, call.bytes));
        if let Some(below) = below {
            steps.recv(below, other);
            steps.reduce(other, own, Operand::Left);
        }
        if let Some(above) = above {
            steps.send(above, own);
        }
        return;
    };
    if round == 0 {
        if let Some(below) = below {
            for index in 0..segments.count() {
                let (offset, length) = segments.range(index);
                steps.irecv_in(RECEIVES, below, Part::temp(offset, length));
            }
        }
    } else if round <= segments.count() {
        let (offset, length) = segments.range(round - 1);
        let own = Part::recv(offset, length);
        if below.is_some() {
            steps.wait_first(RECEIVES);
            steps.reduce(Part::temp(offset, length), own, Operand::Left);
        }
        if let Some(above) = above {
            steps.isend(above, own);
        }
    } else {
        steps.wait_all();
        if whole < call.bytes {
            linear(call, Part::recv(whole, call.bytes - whole), steps);
        }
    }
}
