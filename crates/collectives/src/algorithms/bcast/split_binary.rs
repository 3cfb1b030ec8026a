//! Broadcast of two halves along the two subtrees of a complete binary tree, in segments; then each
//! rank exchanges halves with its partner in the other subtree.
//!
//! If half the message is shorter than a segment, the message goes along one chain. If the number
//! of ranks is even, the partner of the last rank is the root, which ends first: the half from the
//! root can arrive before the last segments, and delays them.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, split binary tree.

use super::segmented_tree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Slot, Steps};

pub(crate) static SPLIT_BINARY: Algorithm = Algorithm {
    name: "split_binary",
    collectives: &[Collective::Bcast],
    about: "halves along the subtrees of a binary tree in segments, then exchange of halves",
    time: "(k + 2 L − 4) (α + S β) + α + n β with k > 1 segments of S bytes",
    rounds,
    round,
    ..Algorithm::BASE
};

/// Segments of the first and of the second half of a message.
type Halves = [Segments; 2];

/// Returns the segments of both halves; `None` if the message is too short.
fn halves(call: &Call) -> Option<Halves> {
    let element = call.element.max(1);
    let segment = segment(call).max(element);
    let first = (call.bytes.div_ceil(element).div_ceil(2) * element).min(call.bytes);
    let second = call.bytes - first;
    if second == 0 || segment > second {
        return None;
    }
    let length = segment / element * element;
    Some([
        Segments::exact(0, first, length),
        Segments::exact(first, second, length),
    ])
}

const fn segment(call: &Call) -> u64 {
    match call.segment {
        0 if call.bytes < 370_728 => 1024,
        0 => 8192,
        segment => segment,
    }
}

fn message_segments(call: &Call) -> Segments {
    Segments::new(call.bytes, call.element, segment(call))
}

/// Returns the half that a rank receives from its parent: the first half in the left subtree, which
/// consists of the odd ranks.
const fn side(rank: u32) -> usize {
    if rank.is_multiple_of(2) { 1 } else { 0 }
}

fn rounds(call: &Call) -> u32 {
    if call.size == 1 {
        return 0;
    }
    let Some(halves) = halves(call) else {
        return message_segments(call).count();
    };
    match call.relative() {
        0 => halves[0].count() + 1,
        rank => halves[side(rank)].count() + 1,
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let Some(halves) = halves(call) else {
        return segmented_tree::round(Tree::Chains(1), message_segments(call), call, round, steps);
    };
    let rank = call.relative();
    if round + 1 == rounds(call) {
        return exchange_halves(call, halves, steps);
    }
    let Some(parent) = Tree::Levels(2).parent(rank, call.size) else {
        for (child, half) in Tree::Levels(2).children(rank, call.size).zip(halves) {
            if round < half.count() {
                steps.send(call.absolute(child), segment_part(half, round));
            }
        }
        return;
    };
    let (parent, half) = (call.absolute(parent), halves[side(rank)]);
    if Tree::Levels(2).child(rank, call.size, 0).is_none() {
        return steps.recv(parent, segment_part(half, round));
    }
    if round == 0 {
        steps.irecv_in(receive_slot(0), parent, segment_part(half, 0));
    }
    if round + 1 < half.count() {
        steps.irecv_in(
            receive_slot(round + 1),
            parent,
            segment_part(half, round + 1),
        );
    }
    steps.wait(receive_slot(round));
    for child in Tree::Levels(2).children(rank, call.size) {
        steps.send(call.absolute(child), segment_part(half, round));
    }
}

/// Exchanges halves with the partner in the other subtree; if the number of ranks is even, the
/// partner of the last rank is the root.
fn exchange_halves(call: &Call, halves: Halves, steps: &mut dyn Steps) {
    let (rank, last) = (call.relative(), call.size - 1);
    let half = |side: usize| {
        let (offset, _) = halves[side].range(0);
        let length = if side == 0 {
            halves[1].range(0).0
        } else {
            call.bytes - offset
        };
        Part::recv(offset, length)
    };
    let is_even = call.size.is_multiple_of(2);
    match rank {
        0 if is_even => steps.send(call.absolute(last), half(1)),
        0 => {}
        _ if is_even && rank == last => steps.recv(call.root, half(1)),
        _ => {
            let side = side(rank);
            let partner = if side == 0 { rank + 1 } else { rank - 1 };
            let partner = call.absolute(partner);
            steps.exchange(partner, half(side), partner, half(1 - side));
        }
    }
}

fn segment_part(half: Segments, index: u32) -> Part {
    let (offset, length) = half.range(index);
    Part::recv(offset, length)
}

/// Returns the slot of the receive of a segment.
const fn receive_slot(segment: u32) -> Slot {
    if segment.is_multiple_of(2) { 1 } else { 2 }
}
