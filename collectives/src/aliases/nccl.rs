//! Names of NCCL 2.30: the algorithms of its cost model, and groups of sends and receives.
//!
//! *Not modelled*: algorithms that reduce in switches (`CollNet`, `NVLS`). `pat` has the messages
//! of other algorithms with as many rounds; NCCL divides long blocks into more rounds.
//!
//! Source: `src/include/nccl_tuner.h`, `src/device`.

use super::Alias;
use crate::Collective::{
    Allgather, Allreduce, Alltoall, Alltoallv, Bcast, Gather, Reduce, ReduceScatterBlock, Scatter,
};

pub(super) const ALL: &[&[Alias]] = &[&[
    Alias::plain(Allreduce, "tree", "double_tree"),
    Alias::plain(Allreduce, "ring", "chunked_ring"),
    Alias::plain(Bcast, "ring", "pipeline"),
    Alias::plain(Reduce, "ring", "pipeline"),
    Alias::plain(Allgather, "ring", "ring"),
    Alias::plain(Allgather, "pat", "bruck"),
    Alias::plain(ReduceScatterBlock, "ring", "ring"),
    Alias::plain(ReduceScatterBlock, "pat", "recursive_halving"),
    Alias::plain(Gather, "p2p", "linear_nb"),
    Alias::plain(Scatter, "p2p", "linear_nb"),
    Alias::plain(Alltoall, "p2p", "linear"),
    Alias::plain(Alltoallv, "p2p", "linear"),
]];
