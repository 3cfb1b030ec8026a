//! Names of Open MPI 4.1 and 5.0, as its fixed decisions use them: without segments, and with a
//! fan-out of 1.
//!
//! Source: `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c` and `ompi/mca/coll/base`. Operations
//! that the component `tuned` leaves to `basic` are among them.

use super::Alias;
use crate::Call;
use crate::Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Bcast, Exscan,
    Gather, Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};
use crate::Requirement::ElementPerPowerOfTwo;

pub(super) const ALL: &[&[Alias]] = &[ROOTED, ALL_RANKS];

const ROOTED: &[Alias] = &[
    Alias::plain(Bcast, "basic_linear", "linear"),
    Alias {
        adjust: one_chain,
        ..Alias::plain(Bcast, "chain", "chain")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Bcast, "pipeline", "pipeline")
    },
    Alias {
        adjust: halves,
        ..Alias::plain(Bcast, "split_binary_tree", "split_binary")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Bcast, "binary_tree", "binary")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Bcast, "binomial", "binomial_doubling")
    },
    // Open MPI waits for the sends to all children together, this one after each level.
    Alias::plain(Bcast, "knomial", "knomial"),
    Alias {
        choose: Some(|call| {
            if call.count() < u64::from(call.size) {
                "linear"
            } else {
                "scatter_recursive_doubling_allgather"
            }
        }),
        ..Alias::plain(
            Bcast,
            "scatter_allgather",
            "scatter_recursive_doubling_allgather",
        )
    },
    Alias::plain(Bcast, "scatter_allgather_ring", "scatter_ring_allgather"),
    Alias::plain(Reduce, "linear", "linear"),
    Alias {
        adjust: one_chain,
        ..Alias::plain(Reduce, "chain", "chain")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Reduce, "pipeline", "pipeline")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Reduce, "binary", "binary")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Reduce, "binomial", "binomial_segmented")
    },
    Alias {
        adjust: without_segments,
        ..Alias::plain(Reduce, "in_order_binary", "in_order_binary")
    },
    Alias {
        choose: Some(|call| {
            if ElementPerPowerOfTwo.holds(call) && call.commutative {
                "rabenseifner"
            } else {
                "linear"
            }
        }),
        ..Alias::plain(Reduce, "rabenseifner", "rabenseifner")
    },
    Alias::plain(Gather, "basic_linear", "linear"),
    Alias::plain(Gather, "binomial", "binomial"),
    Alias::plain(Gather, "linear_sync", "linear_sync"),
    Alias::plain(Gatherv, "basic_linear", "linear"),
    Alias::plain(Scatter, "basic_linear", "linear"),
    Alias::plain(Scatter, "binomial", "binomial"),
    Alias::plain(Scatter, "linear_nb", "linear_nb"),
    Alias::plain(Scatterv, "basic_linear", "linear"),
];

const ALL_RANKS: &[Alias] = &[
    Alias::plain(Barrier, "linear", "linear"),
    Alias::plain(Barrier, "double_ring", "double_ring"),
    Alias::plain(Barrier, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Barrier, "bruck", "dissemination"),
    Alias::plain(Barrier, "two_proc", "two_proc"),
    Alias::plain(Barrier, "tree", "tree"),
    Alias {
        parts: &["linear", "linear"],
        ..Alias::plain(Allreduce, "basic_linear", "reduce_bcast")
    },
    // The reduction and the broadcast that the selector selects.
    Alias::plain(Allreduce, "nonoverlapping", "reduce_bcast"),
    Alias::plain(Allreduce, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allreduce, "ring", "ring"),
    // Without segments, Open MPI takes the ring.
    Alias {
        adjust: without_segments,
        ..Alias::plain(Allreduce, "segmented_ring", "segmented_ring")
    },
    Alias {
        choose: Some(|call| {
            if ElementPerPowerOfTwo.holds(call) && call.commutative {
                "rabenseifner"
            } else {
                "reduce_bcast"
            }
        }),
        parts: &["linear", "linear"],
        ..Alias::plain(Allreduce, "rabenseifner", "rabenseifner")
    },
    Alias {
        choose: Some(|call| {
            if call.size.is_power_of_two() {
                "recursive_doubling"
            } else {
                "bruck"
            }
        }),
        ..Alias::plain(Allgather, "recursive_doubling", "recursive_doubling")
    },
    Alias::plain(Allgather, "bruck", "bruck"),
    Alias::plain(Allgather, "ring", "ring"),
    Alias::plain(Allgather, "neighbor", "neighbor_exchange"),
    Alias::plain(Allgather, "two_proc", "pair"),
    // The gather and the broadcast that the selector selects.
    Alias::plain(Allgatherv, "default", "gather_bcast"),
    Alias::plain(Allgatherv, "bruck", "bruck"),
    Alias::plain(Allgatherv, "ring", "ring"),
    Alias::plain(Allgatherv, "neighbor", "neighbor_exchange"),
    Alias::plain(Allgatherv, "two_proc", "pair"),
    Alias::plain(Alltoall, "linear", "linear"),
    Alias::plain(Alltoall, "pairwise", "shift"),
    Alias::plain(Alltoall, "modified_bruck", "bruck"),
    Alias::plain(Alltoall, "linear_sync", "linear_sync"),
    Alias::plain(Alltoall, "two_proc", "two_proc"),
    Alias::plain(Alltoallv, "basic_linear", "linear_nonempty"),
    Alias::plain(Alltoallv, "pairwise", "shift"),
    Alias::plain(Alltoallw, "basic_linear", "linear_nonempty"),
    Alias::plain(ReduceScatter, "non_overlapping", "reduce_scatterv"),
    Alias::plain(ReduceScatter, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatter, "ring", "ring"),
    Alias::plain(ReduceScatter, "butterfly", "butterfly"),
    Alias::plain(ReduceScatterBlock, "basic_linear", "reduce_scatterv"),
    Alias::plain(
        ReduceScatterBlock,
        "recursive_doubling",
        "recursive_doubling",
    ),
    Alias::plain(ReduceScatterBlock, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatterBlock, "butterfly", "butterfly"),
    Alias::plain(Scan, "linear", "chain"),
    Alias::plain(Exscan, "linear", "chain"),
];

const fn without_segments(call: &mut Call) {
    call.segment = u64::MAX;
}

const fn one_chain(call: &mut Call) {
    (call.segment, call.radix) = (u64::MAX, 1);
}

/// Makes a segment of each half of a message.
fn halves(call: &mut Call) {
    let element = call.element.max(1);
    call.segment = (call.bytes / element / 2 * element).max(1);
}
