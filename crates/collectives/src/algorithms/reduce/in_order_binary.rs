//! Reduction along a binary tree that keeps the order of operands, in segments.
//!
//! The tree ends at the last rank, which sends the result to the root.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, in-order binary tree.

use super::segmented_tree::SegmentedTree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static IN_ORDER_BINARY: Algorithm = Algorithm {
    name: "in_order_binary",
    collectives: &[Collective::Reduce],
    about: "binary tree in the order of the ranks, in segments, then to the root",
    time: "2 (k + L − 2) (α + S β) + L S γ + α + n β with k segments of S bytes",
    ordered: true,
    temp_buffers: 2,
    temp: |call| tree(call).temp(call),
    rounds: |call| tree(call).rounds(call) + 1,
    round,
    ..Algorithm::BASE
};

fn tree(call: &Call) -> SegmentedTree {
    SegmentedTree {
        tree: Tree::InOrderBinary,
        root: 0,
        segments: Segments::from_call(call, 0),
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let tree = tree(call);
    if round < tree.rounds(call) {
        return tree.round(call, round, steps);
    }
    let (last, all) = (call.size - 1, Part::recv(0, call.bytes));
    if call.root == last {
        return;
    }
    if call.rank == last {
        steps.send(call.root, all);
    } else if call.is_root() {
        steps.recv(last, all);
    }
}
