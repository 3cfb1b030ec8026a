//! Broadcast of segments along a tree.
//!
//! The root starts the sends of a segment to all children and waits for them. Other ranks have two
//! receives in progress; as soon as one is over, they pass the segment on in the same manner.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, generic broadcast.

use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Call, Part, Slot, Steps};

/// Makes the steps of a round, which is one segment.
pub(super) fn round(
    tree: Tree,
    segments: Segments,
    call: &Call,
    round: u32,
    steps: &mut dyn Steps,
) {
    let rank = call.relative();
    let part = |index| {
        let (offset, length) = segments.range(index);
        Part::recv(offset, length)
    };
    if let Some(parent) = tree.parent(rank, call.size) {
        let parent = call.absolute(parent);
        if round == 0 {
            steps.irecv_in(slot(0), parent, part(0));
        }
        if round + 1 < segments.count() {
            steps.irecv_in(slot(round + 1), parent, part(round + 1));
        }
        steps.wait(slot(round));
    }
    for child in tree.children(rank, call.size) {
        steps.isend(call.absolute(child), part(round));
    }
    steps.wait_all();
}

/// Returns the slot of the receive of a segment.
const fn slot(segment: u32) -> Slot {
    if segment.is_multiple_of(2) { 1 } else { 2 }
}
