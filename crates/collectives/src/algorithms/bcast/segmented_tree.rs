//! Broadcasts of segments along a tree: an algorithm for each tree.
//!
//! The root starts the sends of a segment to all children and waits for them. Other ranks have two
//! receives in progress; as soon as one is over, they pass the segment on in the same manner.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, generic broadcast.

use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Slot, Steps};

/// The properties of all; messages are one segment if the call does not tell the length.
const ALONG_TREE: Algorithm = Algorithm {
    collectives: &[Collective::Bcast],
    rounds: |call| Segments::from_call(call, 0).count(),
    ..Algorithm::BASE
};

pub(crate) static BINOMIAL_DOUBLING: Algorithm = Algorithm {
    name: "binomial_doubling",
    about: "binomial tree, the smallest distance first, in segments",
    time: "k L (α + S β) with k segments of S bytes",
    round: |call, number, steps| {
        round(
            Tree::Doubling,
            Segments::from_call(call, 0),
            call,
            number,
            steps,
        );
    },
    ..ALONG_TREE
};

pub(crate) static PIPELINE: Algorithm = Algorithm {
    name: "pipeline",
    about: "one chain of all ranks, in segments of 128 KiB or as told",
    time: "(k + p − 2) (α + S β) with k segments of S bytes",
    rounds: |call| Segments::from_call(call, 128 << 10).count(),
    round: |call, number, steps| {
        round(
            Tree::Chains(1),
            Segments::from_call(call, 128 << 10),
            call,
            number,
            steps,
        );
    },
    ..ALONG_TREE
};

pub(crate) static CHAIN: Algorithm = Algorithm {
    name: "chain",
    about: "4 chains or as told, in segments",
    time: "(F k + (p − 1) / F − 1) (α + S β) with k segments of S bytes, F chains",
    round: |call, number, steps| {
        let chains = if call.radix == 0 { 4 } else { call.radix };
        round(
            Tree::Chains(chains),
            Segments::from_call(call, 0),
            call,
            number,
            steps,
        );
    },
    ..ALONG_TREE
};

pub(crate) static BINARY: Algorithm = Algorithm {
    name: "binary",
    about: "complete binary tree, in segments",
    time: "2 (k + L − 2) (α + S β) with k segments of S bytes",
    round: |call, number, steps| {
        round(
            Tree::Levels(2),
            Segments::from_call(call, 0),
            call,
            number,
            steps,
        );
    },
    ..ALONG_TREE
};

pub(crate) static KNOMIAL_SEGMENTED: Algorithm = Algorithm {
    name: "knomial_segmented",
    about: "k-nomial tree of radix 4 or as told, all children at once, in segments",
    time: "k D (α + S β) with k segments of S bytes, D children of the root",
    round: |call, number, steps| {
        let radix = if call.radix < 2 { 4 } else { call.radix };
        let segments = Segments::from_call(call, 0);
        round(Tree::Knomial(radix), segments, call, number, steps);
    },
    ..ALONG_TREE
};

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
            steps.irecv_in(receive_slot(0), parent, part(0));
        }
        if round + 1 < segments.count() {
            steps.irecv_in(receive_slot(round + 1), parent, part(round + 1));
        }
        steps.wait(receive_slot(round));
    }
    for child in tree.children(rank, call.size) {
        steps.isend(call.absolute(child), part(round));
    }
    steps.wait_all();
}

/// Returns the slot of the receive of a segment.
const fn receive_slot(segment: u32) -> Slot {
    if segment.is_multiple_of(2) { 1 } else { 2 }
}
