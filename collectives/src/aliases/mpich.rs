//! Names of MPICH, 3 to 5.1.
//!
//! Source: `src/mpi/coll`. The forms for nodes (`smp`) stand for what they do with one rank on each
//! node.

use super::Alias;
use crate::Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Bcast, Exscan,
    Gather, Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter, Scatterv,
};

pub(super) const ALL: &[&[Alias]] = &[&[
    Alias::plain(Barrier, "k_dissemination", "dissemination"),
    Alias::plain(Barrier, "smp", "dissemination"),
    Alias::plain(Bcast, "binomial", "binomial"),
    Alias::plain(Bcast, "smp", "binomial"),
    Alias::plain(
        Bcast,
        "scatter_recursive_doubling_allgather",
        "scatter_recursive_doubling_allgather",
    ),
    Alias::plain(Bcast, "scatter_ring_allgather", "scatter_ring_allgather"),
    Alias::plain(Reduce, "binomial", "binomial"),
    Alias::plain(Reduce, "smp", "binomial"),
    Alias::plain(Reduce, "reduce_scatter_gather", "rabenseifner"),
    Alias::plain(Allreduce, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allreduce, "smp", "recursive_doubling"),
    Alias::plain(Allreduce, "reduce_scatter_allgather", "rabenseifner"),
    Alias::plain(Gather, "binomial", "binomial"),
    Alias::plain(Gatherv, "linear", "linear_nb"),
    Alias::plain(Scatter, "binomial", "binomial_halving"),
    Alias::plain(Scatterv, "linear", "linear_nb"),
    Alias::plain(Allgather, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allgather, "brucks", "bruck"),
    Alias::plain(Allgather, "ring", "ring"),
    Alias::plain(Allgatherv, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Allgatherv, "brucks", "bruck"),
    Alias::plain(Allgatherv, "ring", "pipelined_ring"),
    Alias::plain(Alltoall, "brucks", "bruck"),
    Alias::plain(Alltoall, "scattered", "scattered"),
    Alias::plain(Alltoall, "pairwise", "pairwise"),
    Alias::plain(Alltoallv, "scattered", "scattered"),
    Alias::plain(Alltoallw, "scattered", "scattered"),
    Alias::plain(ReduceScatter, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatter, "pairwise", "pairwise"),
    Alias::plain(ReduceScatter, "noncommutative", "mirror"),
    Alias::plain(ReduceScatter, "recursive_doubling", "recursive_doubling"),
    Alias::plain(ReduceScatterBlock, "recursive_halving", "recursive_halving"),
    Alias::plain(ReduceScatterBlock, "pairwise", "pairwise"),
    Alias::plain(ReduceScatterBlock, "noncommutative", "mirror"),
    Alias::plain(
        ReduceScatterBlock,
        "recursive_doubling",
        "recursive_doubling",
    ),
    Alias::plain(Scan, "recursive_doubling", "recursive_doubling"),
    Alias::plain(Scan, "smp", "recursive_doubling"),
    Alias::plain(Exscan, "recursive_doubling", "recursive_doubling"),
]];
