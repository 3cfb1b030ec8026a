//! Algorithms of Intel MPI 4.1, of which the manual describes no messages: names after the manual
//! (`I_MPI_ADJUST_…`), and the algorithm of ours that comes nearest.
//!
//! *Shumilin's* and *Plum's* algorithms are not published. The rules of MPICH stand for Shumilin's
//! broadcast and reduction, a binomial tree for the gather and the scatter, a ring for the
//! allreduce, a pairwise exchange for Plum's. Forms that are aware of the topology (`topology_…`)
//! stand for what they do with one rank on each node.

use super::Alias;
use crate::Call;
use crate::Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Reduce,
    ReduceScatter, ReduceScatterBlock, Scatter,
};
use crate::Requirement::ElementPerPowerOfTwo;

pub(super) const ALL: &[&[Alias]] = &[ROOTED, ALL_RANKS];

const ROOTED: &[Alias] = &[
    Alias::plain(Bcast, "binomial", "binomial"),
    RECURSIVE_DOUBLING_BCAST,
    Alias::plain(Bcast, "ring", "scatter_ring_allgather"),
    Alias::plain(Bcast, "topology_binomial", "binomial"),
    Alias {
        name: "topology_recursive_doubling",
        ..RECURSIVE_DOUBLING_BCAST
    },
    Alias::plain(Bcast, "topology_ring", "scatter_ring_allgather"),
    Alias {
        choose: Some(shumilin_bcast),
        ..Alias::plain(Bcast, "shumilin", "binomial")
    },
    Alias {
        choose: Some(shumilin_reduce),
        ..Alias::plain(Reduce, "shumilin", "binomial")
    },
    Alias::plain(Reduce, "binomial", "binomial"),
    Alias {
        choose: Some(shumilin_reduce),
        ..Alias::plain(Reduce, "topology_shumilin", "binomial")
    },
    Alias::plain(Gather, "binomial", "binomial"),
    Alias::plain(Gather, "topology_binomial", "binomial"),
    Alias::plain(Gather, "shumilin", "binomial"),
    Alias::plain(Scatter, "binomial", "binomial_halving"),
    Alias::plain(Scatter, "topology_binomial", "binomial_halving"),
    Alias::plain(Scatter, "shumilin", "binomial_halving"),
];

const ALL_RANKS: &[Alias] = &[
    Alias::plain(Barrier, "dissemination", "dissemination"),
    Alias::plain(Barrier, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Barrier, "topology_dissemination", "dissemination"),
    Alias::plain(Barrier, "topology_recursive_doubling", "recursive_doubling"),
    Alias::plain(Barrier, "gather_scatter", "tree"),
    Alias::plain(Barrier, "topology_gather_scatter", "tree"),
    Alias::plain(Allreduce, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allreduce, "rabenseifner", "rabenseifner"),
    Alias::plain(Allreduce, "reduce_bcast", "reduce_bcast"),
    Alias::plain(Allreduce, "topology_reduce_bcast", "reduce_bcast"),
    Alias::plain(Allreduce, "gather_scatter", "binomial"),
    Alias::plain(Allreduce, "topology_gather_scatter", "binomial"),
    Alias::plain(Allreduce, "shumilin_ring", "ring"),
    Alias::plain(Allreduce, "ring", "ring"),
    Alias::plain(Allgather, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allgather, "bruck", "bruck"),
    Alias::plain(Allgather, "ring", "ring"),
    Alias::plain(Allgather, "topology_gatherv_bcast", "gather_bcast"),
    Alias::plain(Allgatherv, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allgatherv, "bruck", "bruck"),
    Alias::plain(Allgatherv, "ring", "ring"),
    Alias::plain(Allgatherv, "topology_gatherv_bcast", "gather_bcast"),
    Alias::plain(Alltoall, "bruck", "bruck"),
    Alias::plain(Alltoall, "isend_irecv", "linear"),
    Alias::plain(Alltoall, "pairwise", "pairwise"),
    Alias::plain(Alltoall, "plum", "pairwise"),
    Alias::plain(Alltoallv, "isend_irecv", "linear"),
    Alias::plain(Alltoallv, "plum", "pairwise"),
    Alias::plain(ReduceScatter, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatter, "pairwise", "pairwise"),
    Alias::plain(ReduceScatter, "recursive_doubling", "recursive_doubling"),
    Alias::plain(ReduceScatter, "reduce_scatterv", "reduce_scatterv"),
    Alias::plain(ReduceScatter, "topology_reduce_scatterv", "reduce_scatterv"),
    Alias::plain(ReduceScatterBlock, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatterBlock, "pairwise", "pairwise"),
    Alias::plain(
        ReduceScatterBlock,
        "recursive_doubling",
        "recursive_doubling",
    ),
    Alias::plain(ReduceScatterBlock, "reduce_scatterv", "reduce_scatterv"),
    Alias::plain(
        ReduceScatterBlock,
        "topology_reduce_scatterv",
        "reduce_scatterv",
    ),
];

const RECURSIVE_DOUBLING_BCAST: Alias = Alias::plain(
    Bcast,
    "recursive_doubling",
    "scatter_recursive_doubling_allgather",
);

const fn shumilin_bcast(call: &Call) -> &'static str {
    if call.bytes < 12_288 || call.size < 8 {
        "binomial"
    } else if call.bytes < 512 << 10 && call.size.is_power_of_two() {
        "scatter_recursive_doubling_allgather"
    } else {
        "scatter_ring_allgather"
    }
}

fn shumilin_reduce(call: &Call) -> &'static str {
    if call.bytes > 2048 && ElementPerPowerOfTwo.holds(call) && call.commutative {
        "rabenseifner"
    } else {
        "binomial"
    }
}
