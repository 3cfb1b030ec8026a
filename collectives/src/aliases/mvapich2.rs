//! Names of MVAPICH2 1.9, without `MPIR_`, the operation and `_MV2`.
//!
//! Forms for nodes are hierarchical where ranks share nodes (`two_level`), or stand for what they
//! do with one rank on each node (`shm`, `Comm`). Those that need multicast (`mcst`) stand for what
//! is taken without it.
//!
//! Source: the tables in SMPI 4.1, `src/smpi/colls/smpi_mvapich2_selector_stampede.hpp`.

use super::Alias;
use crate::Call;
use crate::Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Reduce,
    ReduceScatter, ReduceScatterBlock, Scatter,
};

pub(super) const ALL: &[&[Alias]] = &[&[
    Alias::plain(Barrier, "pairwise", "recursive_doubling"),
    // Radix in the rows. The memory that MVAPICH2 registers makes no difference in messages.
    Alias::plain(Bcast, "Pipelined_Zcpy", "knomial"),
    // A k-nomial tree with the radix 4; MVAPICH2 cuts the message in segments of 8 KiB.
    Alias::plain(Bcast, "Pipelined", "knomial"),
    Alias::plain(Bcast, "binomial", "binomial"),
    Alias::plain(Bcast, "scatter_ring_allgather", "scatter_ring_allgather"),
    Alias::plain(
        Bcast,
        "scatter_ring_allgather_shm",
        "scatter_ring_allgather",
    ),
    Alias::plain(
        Bcast,
        "scatter_doubling_allgather",
        "scatter_recursive_doubling_allgather",
    ),
    Alias::plain(Reduce, "binomial", "binomial"),
    Alias::plain(Reduce, "inter_knomial_wrapper", "knomial"),
    Alias::plain(Reduce, "redscat_gather", "rabenseifner"),
    Alias::plain(Allreduce, "pt2pt_rd", "recursive_doubling"),
    Alias::plain(Allreduce, "pt2pt_rs", "rabenseifner"),
    // The reduction that the selector selects, and a broadcast.
    Alias::plain(Allreduce, "reduce_p2p", "reduce_bcast"),
    Alias::plain(
        Allreduce,
        "mcst_reduce_two_level_helper",
        "recursive_doubling",
    ),
    Alias::plain(Gather, "Direct", "linear"),
    Alias::plain(Gather, "intra", "binomial"),
    Alias {
        choose: Some(|call| if_shared(call, "linear")),
        ..Alias::plain(Gather, "two_level_Direct", "linear")
    },
    Alias::plain(Scatter, "Direct", "linear"),
    Alias::plain(Scatter, "Binomial", "binomial_halving"),
    Alias {
        choose: Some(|call| if_shared(call, "linear")),
        ..Alias::plain(Scatter, "two_level_Direct", "linear")
    },
    Alias {
        choose: Some(|call| if_shared(call, "binomial_halving")),
        ..Alias::plain(Scatter, "two_level_Binomial", "binomial_halving")
    },
    Alias::plain(Allgather, "RD", "recursive_doubling"),
    Alias::plain(Allgather, "RD_Allgather_Comm", "recursive_doubling"),
    Alias::plain(Allgather, "Ring", "ring"),
    Alias {
        choose: Some(|call| {
            if call.size.is_power_of_two() {
                "recursive_doubling"
            } else {
                "bruck"
            }
        }),
        ..Alias::plain(Allgatherv, "Rec_Doubling", "recursive_doubling")
    },
    Alias::plain(Allgatherv, "Ring", "pipelined_ring"),
    Alias::plain(Alltoall, "RD", "recursive_doubling"),
    Alias::plain(Alltoall, "bruck", "bruck"),
    Alias {
        adjust: |call| call.radix = 4,
        ..Alias::plain(Alltoall, "Scatter_dest", "scattered")
    },
    Alias::plain(Alltoall, "pairwise", "pairwise"),
    Alias::plain(Alltoallv, "pairwise", "pairwise"),
    Alias::plain(ReduceScatter, "Basic", "reduce_scatterv"),
    Alias::plain(ReduceScatter, "Rec_Halving", "recursive_halving"),
    Alias::plain(ReduceScatter, "Pair_Wise", "pairwise"),
    Alias::plain(ReduceScatter, "non_comm", "mirror"),
    Alias::plain(ReduceScatterBlock, "Basic", "reduce_scatterv"),
    Alias::plain(ReduceScatterBlock, "Rec_Halving", "recursive_halving"),
    Alias::plain(ReduceScatterBlock, "Pair_Wise", "pairwise"),
    Alias::plain(ReduceScatterBlock, "non_comm", "mirror"),
]];

/// Returns the hierarchical algorithm if ranks share nodes.
const fn if_shared(call: &Call, flat: &'static str) -> &'static str {
    if call.nodes.is_some() {
        "two_level"
    } else {
        flat
    }
}
