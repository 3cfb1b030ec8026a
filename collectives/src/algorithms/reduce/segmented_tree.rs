//! Reduction of segments up a tree.
//!
//! A rank with children receives a segment from one child after the other and has two receives in
//! progress: that of the next child, or of the next segment, is posted before it waits for one. As
//! soon as all children's parts of a segment are reduced, it sends the segment to its parent by a
//! blocking send. Ranks without children send one segment after the other.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, generic reduction.

use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Call, Operand, Part, Slot, Steps};

/// A tree with ranks relative to `root`, and the segments that go up along it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentedTree {
    pub(super) tree: Tree,
    /// The rank that has number 0 in the tree.
    pub(super) root: u32,
    pub(super) segments: Segments,
}

impl SegmentedTree {
    /// A tree that begins at the root of the call.
    pub(super) fn new(tree: Tree, call: &Call, segment: u64) -> Self {
        Self {
            tree,
            root: call.root,
            segments: Segments::of(call, segment),
        }
    }

    /// Returns the memory of a rank in bytes: two segments if it has children.
    pub(super) fn temp(self, call: &Call) -> u64 {
        match self.children(call) {
            0 => 0,
            _ => 2 * self.segments.longest(),
        }
    }

    /// Returns the number of rounds: one for each receive, or for each segment of a rank without
    /// children.
    pub(super) fn rounds(self, call: &Call) -> u32 {
        match self.children(call) {
            _ if call.size == 1 => 0,
            0 => self.segments.count(),
            children => children.saturating_mul(self.segments.count()) + 1,
        }
    }

    /// Makes the steps of a round.
    pub(super) fn round(self, call: &Call, round: u32, steps: &mut dyn Steps) {
        let children = self.children(call);
        let parent = self.tree.parent(self.number(call), call.size);
        if children == 0 {
            if let Some(parent) = parent {
                steps.send(self.rank(parent, call), self.part(round));
            }
            return;
        }
        // Receives are numbered by segment, then by child.
        if round < children.saturating_mul(self.segments.count()) {
            let child = self
                .tree
                .child(self.number(call), call.size, round % children);
            if let Some(child) = child {
                let into = self.incoming(round, round / children);
                steps.irecv_in(slot(round), self.rank(child, call), into);
            }
        }
        let Some(before) = round.checked_sub(1) else {
            return;
        };
        let part = self.part(before / children);
        steps.wait(slot(before));
        steps.reduce(
            self.incoming(before, before / children),
            part,
            Operand::Left,
        );
        if before % children == children - 1
            && let Some(parent) = parent
        {
            steps.send(self.rank(parent, call), part);
        }
    }

    const fn number(self, call: &Call) -> u32 {
        call.relative_to(self.root)
    }

    const fn rank(self, number: u32, call: &Call) -> u32 {
        call.absolute_to(self.root, number)
    }

    fn children(self, call: &Call) -> u32 {
        let children = self.tree.children(self.number(call), call.size).count();
        u32::try_from(children).unwrap_or(u32::MAX)
    }

    fn part(self, segment: u32) -> Part {
        let (offset, length) = self.segments.range(segment);
        Part::recv(offset, length)
    }

    /// Returns the place of a receive in the area `Temp`.
    fn incoming(self, receive: u32, segment: u32) -> Part {
        let (_, length) = self.segments.range(segment);
        let place = u64::from(receive % 2);
        Part::temp(place * self.segments.longest(), length)
    }
}

/// Returns the slot of a receive.
const fn slot(receive: u32) -> Slot {
    if receive.is_multiple_of(2) { 1 } else { 2 }
}
