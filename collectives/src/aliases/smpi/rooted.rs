//! Barriers and operations with a root.
//!
//! Algorithms that are aware of nodes and not in `nodes.rs` are listed as they work with one rank
//! on each node.

use super::nodes::mpich_bcast;
use crate::Call;
use crate::Collective::{Barrier, Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
use crate::aliases::Alias;

pub(super) const ALL: &[Alias] = &[
    Alias::plain(Barrier, "default", "linear"),
    Alias::plain(Barrier, "ompi_basic_linear", "linear"),
    Alias::plain(Barrier, "ompi_bruck", "dissemination"),
    Alias::plain(Barrier, "ompi_doublering", "double_ring"),
    Alias::plain(Barrier, "ompi_recursivedoubling", "recursive_doubling"),
    Alias::plain(Barrier, "ompi_tree", "tree"),
    Alias::plain(Barrier, "ompi_two_procs", "two_proc"),
    Alias::plain(Barrier, "mvapich2_pair", "recursive_doubling"),
    Alias::plain(Bcast, "default", "binomial"),
    Alias::plain(Bcast, "binomial_tree", "binomial"),
    Alias::plain(Bcast, "flattree", "linear"),
    Alias::plain(Bcast, "flattree_pipeline", "linear_segmented"),
    Alias::plain(Bcast, "NTSB", "preposted_heap"),
    Alias::plain(Bcast, "NTSL", "preposted_chain"),
    Alias::plain(Bcast, "NTSL_Isend", "preposted_chain"),
    Alias::asking(Bcast, "SMP_binary", "preposted_heap_blocking"),
    Alias::asking(Bcast, "SMP_linear", "preposted_chain"),
    Alias {
        choose: Some(bcast_intra_node),
        ..Alias::asking(Bcast, "mvapich2_intra_node", "binomial")
    },
    Alias::asking(Bcast, "mvapich2_knomial_intra_node", "knomial"),
    Alias {
        adjust: bcast_pipeline,
        ..Alias::plain(Bcast, "ompi_pipeline", "pipeline")
    },
    Alias::plain(Bcast, "ompi_split_bintree", "split_binary"),
    Alias::plain(Bcast, "scatter_LR_allgather", "scatter_ring_allgather"),
    Alias::plain(
        Bcast,
        "scatter_rdb_allgather",
        "scatter_recursive_doubling_allgather",
    ),
    Alias::plain(Gather, "default", "linear_nb"),
    Alias::plain(Gather, "ompi_basic_linear", "linear"),
    Alias::plain(Gather, "ompi_binomial", "binomial"),
    Alias::plain(Gather, "ompi_linear_sync", "linear_sync"),
    Alias::plain(Gatherv, "default", "linear_nb"),
    Alias::plain(Scatter, "default", "linear_nb"),
    Alias::plain(Scatter, "ompi_basic_linear", "linear"),
    Alias::plain(Scatter, "ompi_binomial", "binomial"),
    Alias::plain(Scatter, "ompi_linear_nb", "linear_nb"),
    Alias::plain(Scatterv, "default", "linear_nb"),
    Alias {
        choose: Some(reduce_default),
        ..Alias::plain(Reduce, "default", "linear_nb")
    },
    Alias::plain(Reduce, "NTSL", "preposted_chain"),
    Alias::plain(Reduce, "binomial", "binomial"),
    Alias::plain(Reduce, "flat_tree", "linear"),
    Alias::plain(Reduce, "mvapich2_knomial", "knomial"),
    Alias::plain(Reduce, "ompi_basic_linear", "linear"),
    Alias {
        adjust: |call| call.segment = 32 << 10,
        ..Alias::plain(Reduce, "ompi_binary", "binary")
    },
    Alias {
        adjust: reduce_binomial,
        ..Alias::plain(Reduce, "ompi_binomial", "binomial_segmented")
    },
    Alias {
        adjust: reduce_chain,
        ..Alias::plain(Reduce, "ompi_chain", "chain")
    },
    Alias::plain(Reduce, "ompi_in_order_binary", "in_order_binary"),
    Alias {
        adjust: reduce_pipeline,
        ..Alias::plain(Reduce, "ompi_pipeline", "pipeline")
    },
    Alias::plain(Reduce, "rab", "rabenseifner_halves"),
    Alias::plain(Reduce, "scatter_gather", "rabenseifner_padded"),
];

/// Returns true if the number of ranks is below a linear function of the bytes.
#[expect(
    clippy::cast_precision_loss,
    reason = "the limits are sums of a few small numbers"
)]
fn ranks_below(call: &Call, factor: f64, constant: f64) -> bool {
    f64::from(call.size) < factor * call.bytes as f64 + constant
}

/// Returns true if the number of ranks is above a linear function of the bytes.
#[expect(
    clippy::cast_precision_loss,
    reason = "the limits are sums of a few small numbers"
)]
fn ranks_above(call: &Call, factor: f64, constant: f64) -> bool {
    f64::from(call.size) > factor * call.bytes as f64 + constant
}

fn bcast_pipeline(call: &mut Call) {
    call.segment = if ranks_below(call, 1.6134e-6, 2.1102) {
        128 << 10
    } else if ranks_below(call, 2.3679e-6, 1.1787) {
        64 << 10
    } else if ranks_below(call, 3.2118e-6, 8.7936) {
        16 << 10
    } else {
        128 << 10
    };
}

const fn bcast_intra_node(call: &Call) -> &'static str {
    if call.size > 64 || (call.bytes > 16 << 10 && call.bytes < 512 << 10) {
        mpich_bcast(call)
    } else if call.bytes <= 16 << 10 {
        "binomial"
    } else {
        "scatter_ring_allgather"
    }
}

const fn reduce_default(call: &Call) -> &'static str {
    if call.commutative {
        "linear_nb"
    } else {
        "linear"
    }
}

fn reduce_pipeline(call: &mut Call) {
    call.segment = if ranks_above(call, 0.0410 / 1024.0, 9.7128) {
        1024
    } else if ranks_above(call, 0.0033 / 1024.0, 1.6761) {
        32 << 10
    } else {
        64 << 10
    };
}

fn reduce_binomial(call: &mut Call) {
    let is_short = (call.size < 8 && call.bytes < 20_480) || call.bytes < 2048;
    if !is_short && call.count() > 1 && ranks_above(call, 0.6016 / 1024.0, 1.3496) {
        call.segment = 1024;
    }
}

fn reduce_chain(call: &mut Call) {
    call.segment = 64 << 10;
    call.radix = (call.size / 2).clamp(1, 32);
}
