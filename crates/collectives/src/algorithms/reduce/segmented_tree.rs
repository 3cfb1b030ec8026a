//! Reduction of segments up a tree.
//!
//! A rank with children receives a segment from one child after the other and has two receives in
//! progress: before the rank waits, it posts the receive from the next child, or of the next
//! segment. As soon as the parts of all children in a segment are reduced, the segment goes to the
//! parent by a blocking send. Ranks without children send one segment after the other.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, generic reduction.

use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Operand, Part, Slot, Steps};

/// The algorithm of a tree that ends at the root: the name, the messages, the time, the length of a
/// segment in bytes unless the call sets a length (0: one segment), and the tree.
macro_rules! along {
    ($name:literal, $about:literal, $time:literal, $segment:expr, |$call:ident| $tree:expr) => {
        Algorithm {
            name: $name,
            collectives: &[Collective::Reduce],
            about: $about,
            time: $time,
            temp_buffers: 2,
            temp: |$call| SegmentedTree::new($tree, $call, $segment).temp($call),
            rounds: |$call| SegmentedTree::new($tree, $call, $segment).rounds($call),
            round: |$call, round, steps| {
                SegmentedTree::new($tree, $call, $segment).round($call, round, steps);
            },
            ..Algorithm::BASE
        }
    };
}

pub(crate) static BINOMIAL: Algorithm = along!(
    "binomial_segmented",
    "binomial tree, the smallest subtree first, in segments",
    "k L (α + S β) + L S γ with k segments of S bytes",
    0,
    |call| Tree::InOrder
);

pub(crate) static PIPELINE: Algorithm = along!(
    "pipeline",
    "one chain of all ranks, in segments of 64 KiB or as told",
    "(k + p − 2) (α + S β) + (p − 1) S γ with k segments of S bytes",
    64 << 10,
    |call| Tree::Chains(1)
);

pub(crate) static CHAIN: Algorithm = along!(
    "chain",
    "4 chains or as told, in segments",
    "(F k + (p − 1) / F − 1) (α + S β) + (p − 1) / F S γ with k segments of S bytes, F chains",
    0,
    |call| Tree::Chains(if call.radix == 0 { 4 } else { call.radix })
);

pub(crate) static BINARY: Algorithm = along!(
    "binary",
    "complete binary tree, in segments",
    "2 (k + L − 2) (α + S β) + L S γ with k segments of S bytes",
    0,
    |call| Tree::Levels(2)
);

/// A tree with ranks relative to `root`, and the segments that go up the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentedTree {
    pub(super) tree: Tree,
    /// The rank that has number 0 in the tree.
    pub(super) root: u32,
    pub(super) segments: Segments,
}

impl SegmentedTree {
    /// A tree that begins at the root of the call.
    fn new(tree: Tree, call: &Call, segment: u64) -> Self {
        Self {
            tree,
            root: call.root,
            segments: Segments::from_call(call, segment),
        }
    }

    /// Returns the memory of a rank in bytes: two segments if the rank has children.
    pub(super) fn temp(self, call: &Call) -> u64 {
        match self.child_count(call) {
            0 => 0,
            _ => 2 * self.segments.longest(),
        }
    }

    /// Returns the number of rounds: one for each receive, or for each segment of a rank without
    /// children.
    pub(super) fn rounds(self, call: &Call) -> u32 {
        match self.child_count(call) {
            _ if call.size == 1 => 0,
            0 => self.segments.count(),
            children => children.saturating_mul(self.segments.count()) + 1,
        }
    }

    /// Makes the steps of a round.
    pub(super) fn round(self, call: &Call, round: u32, steps: &mut dyn Steps) {
        let children = self.child_count(call);
        let parent = self.tree.parent(self.tree_rank(call), call.size);
        if children == 0 {
            if let Some(parent) = parent {
                steps.send(self.rank(parent, call), self.segment_part(round));
            }
            return;
        }
        // Receives are numbered by segment, then by child.
        if round < children.saturating_mul(self.segments.count()) {
            let child = self
                .tree
                .child(self.tree_rank(call), call.size, round % children);
            if let Some(child) = child {
                let into = self.incoming(round, round / children);
                steps.irecv_in(receive_slot(round), self.rank(child, call), into);
            }
        }
        let Some(before) = round.checked_sub(1) else {
            return;
        };
        let part = self.segment_part(before / children);
        steps.wait(receive_slot(before));
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

    const fn tree_rank(self, call: &Call) -> u32 {
        call.relative_to(self.root)
    }

    const fn rank(self, number: u32, call: &Call) -> u32 {
        call.absolute_to(self.root, number)
    }

    fn child_count(self, call: &Call) -> u32 {
        let children = self.tree.children(self.tree_rank(call), call.size).count();
        u32::try_from(children).unwrap_or(u32::MAX)
    }

    fn segment_part(self, segment: u32) -> Part {
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
const fn receive_slot(receive: u32) -> Slot {
    if receive.is_multiple_of(2) { 1 } else { 2 }
}
