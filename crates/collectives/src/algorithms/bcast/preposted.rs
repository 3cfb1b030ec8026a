//! Broadcasts of segments along a tree from rank 0 with all receives posted at the beginning.
//!
//! If the root is another rank, the root first sends the message to rank 0, and then receives it
//! like the other ranks. A message of at most one segment uses blocking calls; so does the rest
//! behind the last whole segment, which is a separate broadcast.
//!
//! Source: P. Patarasuk, A. Faraj, X. Yuan, "Pipelined broadcast on Ethernet switched clusters",
//! IPDPS 2006; SimGrid 4.1, `src/smpi/colls/bcast/bcast-NTSL.cpp`, `bcast-NTSB.cpp` and
//! `bcast-SMP-binary.cpp` with one rank on each node.

use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Slot, Steps};

pub(crate) static CHAIN: Algorithm = Algorithm {
    name: "preposted_chain",
    collectives: &[Collective::Bcast],
    about: "one chain from rank 0, receives of all segments posted at first",
    time: "(k + p − 2) (α + S β) with k segments of S bytes",
    rounds: Preposted::rounds,
    round: |call, round, steps| along(Tree::Chains(1), false).round(call, round, steps),
    ..Algorithm::BASE
};

pub(crate) static HEAP: Algorithm = Algorithm {
    name: "preposted_heap",
    about: "binary heap from rank 0, receives of all segments posted at first",
    time: "2 (k + L − 2) (α + S β) with k segments of S bytes",
    round: |call, round, steps| along(Tree::Heap, false).round(call, round, steps),
    ..CHAIN
};

pub(crate) static HEAP_BLOCKING: Algorithm = Algorithm {
    name: "preposted_heap_blocking",
    about: "binary heap from rank 0, receives posted at first, blocking sends",
    round: |call, round, steps| along(Tree::Heap, true).round(call, round, steps),
    ..HEAP
};

/// Slot of the receives of all segments.
const RECEIVES: Slot = 1;

/// Length of a segment in bytes unless the call sets a length.
const SEGMENT: u64 = 8192;

/// A tree, and the kind of the sends along the tree.
#[derive(Clone, Copy, Debug)]
struct Preposted {
    tree: Tree,
    /// Segments are sent by blocking sends.
    is_blocking: bool,
}

const fn along(tree: Tree, is_blocking: bool) -> Preposted {
    Preposted { tree, is_blocking }
}

/// Sends the data from the root to rank 0.
pub(super) fn to_rank_0(call: &Call, part: Part, steps: &mut dyn Steps) {
    if call.root == 0 {
        return;
    }
    if call.is_root() {
        steps.send(0, part);
    } else if call.rank == 0 {
        steps.recv(call.root, part);
    }
}

/// Returns the segments that are pipelined, and the first byte behind them.
fn cut_segments(call: &Call) -> (Option<Segments>, u64) {
    let element = call.element.max(1);
    let segment = match call.segment {
        0 => SEGMENT,
        segment => segment,
    };
    let length = (segment / element).max(1) * element;
    if call.bytes <= length {
        return (None, 0);
    }
    let whole = call.bytes / length * length;
    (Some(Segments::exact(0, whole, length)), whole)
}

impl Preposted {
    /// Returns the number of rounds.
    fn rounds(call: &Call) -> u32 {
        match cut_segments(call).0 {
            _ if call.size == 1 => 0,
            Some(segments) => 2 + segments.count() + 2,
            None => 2,
        }
    }

    /// Makes the steps of a round.
    fn round(self, call: &Call, round: u32, steps: &mut dyn Steps) {
        let (segments, whole) = cut_segments(call);
        let Some(segments) = segments else {
            return self.simple(call, round, Part::recv(0, call.bytes), steps);
        };
        let rest = Part::recv(whole, call.bytes - whole);
        let count = segments.count();
        match round {
            0 => to_rank_0(call, Part::recv(0, call.bytes), steps),
            1 => self.post_receives(call, segments, steps),
            _ if round < 2 + count => self.pass(call, segments, round - 2, steps),
            _ => {
                if round == 2 + count {
                    steps.wait_all();
                }
                if rest.length > 0 {
                    self.simple(call, round - 2 - count, rest, steps);
                }
            }
        }
    }

    /// Sends a message along the tree as one segment, in two rounds.
    fn simple(self, call: &Call, round: u32, part: Part, steps: &mut dyn Steps) {
        if round == 0 {
            return to_rank_0(call, part, steps);
        }
        if let Some(parent) = self.tree.parent(call.rank, call.size) {
            steps.recv(parent, part);
        }
        for child in self.tree.children(call.rank, call.size) {
            steps.send(child, part);
        }
    }

    fn post_receives(self, call: &Call, segments: Segments, steps: &mut dyn Steps) {
        let Some(parent) = self.tree.parent(call.rank, call.size) else {
            return;
        };
        for index in 0..segments.count() {
            let (offset, length) = segments.range(index);
            steps.irecv_in(RECEIVES, parent, Part::recv(offset, length));
        }
    }

    fn pass(self, call: &Call, segments: Segments, index: u32, steps: &mut dyn Steps) {
        let (offset, length) = segments.range(index);
        let part = Part::recv(offset, length);
        if self.tree.parent(call.rank, call.size).is_some() {
            steps.wait_first(RECEIVES);
        }
        for child in self.tree.children(call.rank, call.size) {
            if self.is_blocking {
                steps.send(child, part);
            } else {
                steps.isend(child, part);
            }
        }
    }
}
