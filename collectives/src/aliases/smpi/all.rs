//! Operations without a root.
//!
//! Names of algorithms for nodes with several ranks stand for what they do with one rank on each
//! node.

use crate::Collective::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Bcast, Exscan, Reduce,
    ReduceScatter, ReduceScatterBlock, Scan,
};
use crate::algorithms::allreduce::alltoall_allgather;
use crate::aliases::Alias;
use crate::{Call, Collective, Requirement, find};

pub(super) const ALL: &[Alias] = &[
    // Allgather.
    Alias::plain(Allgather, "default", "linear"),
    Alias::plain(Allgather, "spreading_simple", "spread"),
    Alias::plain(Allgather, "NTSLR", "ring"),
    Alias::plain(Allgather, "NTSLR_NB", "non_blocking_ring"),
    Alias::asking(Allgather, "SMP_NTS", "forwarding_ring"),
    Alias::asking(Allgather, "loosely_lr", "overlapped_ring"),
    Alias::asking(Allgather, "smp_simple", "spread"),
    Alias::plain(Allgather, "ring", "shift"),
    Alias::plain(Allgather, "rdb", "recursive_doubling"),
    Alias::plain(Allgather, "bruck", "bruck"),
    NEIGHBOR_EXCHANGE,
    Alias::plain(Allgather, "pair", "pair"),
    Alias::plain(Allgather, "rhv", "recursive_halving"),
    Alias {
        parts: &["linear_nb", "binomial"],
        ..Alias::plain(Allgather, "GB", "gather_bcast")
    },
    Alias::plain(Allgather, "2dmesh", "mesh"),
    Alias::plain(Allgather, "3dmesh", "square_mesh"),
    // Allgatherv.
    Alias::plain(Allgatherv, "default", "linear"),
    Alias::plain(Allgatherv, "ring", "shift"),
    Alias::plain(Allgatherv, "mpich_rdb", "recursive_doubling"),
    Alias {
        adjust: |call| call.segment = 256 * 1024,
        ..Alias::plain(Allgatherv, "mpich_ring", "pipelined_ring")
    },
    Alias::plain(Allgatherv, "ompi_bruck", "bruck"),
    Alias {
        collective: Allgatherv,
        ..NEIGHBOR_EXCHANGE
    },
    Alias::plain(Allgatherv, "pair", "pair"),
    Alias {
        parts: &["linear_nb", "binomial"],
        ..Alias::plain(Allgatherv, "GB", "gather_bcast")
    },
    // Allreduce.
    Alias {
        name: "default",
        ..REDUCE_BCAST
    },
    REDUCE_BCAST,
    Alias::plain(Allreduce, "rdb", "recursive_doubling"),
    Alias::plain(Allreduce, "rab_rdb", "rabenseifner_empty_blocks"),
    Alias::plain(Allreduce, "mvapich2_rs", "rabenseifner"),
    Alias::plain(Allreduce, "rab", "rabenseifner_halves"),
    Alias {
        parts: &["linear"],
        ..Alias::plain(Allreduce, "rab1", "halving_allgather")
    },
    Alias {
        adjust: |call| {
            let block = alltoall_allgather::block(call);
            call.parts[0] = find(Alltoall, ompi_alltoall(call.size, block));
            call.parts[1] = find(Allgather, "linear");
        },
        ..Alias::plain(Allreduce, "rab2", "alltoall_allgather")
    },
    Alias {
        adjust: parts_of_short,
        ..Alias::plain(Allreduce, "lr", "ring_remainder")
    },
    Alias {
        choose: Some(|call| {
            if Requirement::SegmentPerRank.holds(call) {
                "segmented_ring"
            } else {
                "ring_remainder"
            }
        }),
        adjust: parts_of_short,
        ..Alias::plain(Allreduce, "ompi_ring_segmented", "ring_remainder")
    },
    Alias {
        adjust: |call| call.segment = 4096 * call.element,
        ..Alias::asking(Allreduce, "smp_binomial_pipeline", "binomial")
    },
    // Alltoall.
    Alias {
        choose: Some(|call| ompi_alltoall(call.size, call.bytes)),
        ..Alias::plain(Alltoall, "default", "linear")
    },
    Alias::plain(Alltoall, "basic_linear", "linear"),
    Alias {
        adjust: |call| call.radix = 4,
        ..Alias::plain(Alltoall, "mvapich2_scatter_dest", "scattered")
    },
    Alias::plain(Alltoall, "pair", "pair"),
    Alias::plain(Alltoall, "ring", "shift"),
    Alias::plain(Alltoall, "bruck", "bruck"),
    Alias::plain(Alltoall, "rdb", "recursive_doubling"),
    Alias::plain(Alltoall, "2dmesh", "mesh"),
    Alias::plain(Alltoall, "3dmesh", "square_mesh"),
    with_barrier(Alltoall, "pair_one_barrier", "pair_one_barrier"),
    with_barrier(Alltoall, "pair_mpi_barrier", "pair_barriers"),
    Alias::plain(Alltoall, "pair_light_barrier", "pair_light_barrier"),
    with_barrier(Alltoall, "ring_one_barrier", "shift_one_barrier"),
    with_barrier(Alltoall, "ring_mpi_barrier", "shift_barriers"),
    Alias::plain(Alltoall, "ring_light_barrier", "shift_light_barrier"),
    // Alltoallv, alltoallw.
    Alias::plain(Alltoallv, "default", "linear_by_rank"),
    Alias::plain(Alltoallv, "ompi_basic_linear", "linear_by_rank"),
    Alias {
        adjust: |call| call.radix = 4,
        ..Alias::plain(Alltoallv, "bruck", "scattered")
    },
    Alias::plain(Alltoallv, "pair", "pair"),
    Alias::plain(Alltoallv, "ring", "shift"),
    with_barrier(Alltoallv, "pair_one_barrier", "pair_one_barrier"),
    with_barrier(Alltoallv, "pair_mpi_barrier", "pair_barriers"),
    Alias::plain(Alltoallv, "pair_light_barrier", "pair_light_barrier"),
    with_barrier(Alltoallv, "ring_one_barrier", "shift_one_barrier"),
    with_barrier(Alltoallv, "ring_mpi_barrier", "shift_barriers"),
    Alias::plain(Alltoallv, "ring_light_barrier", "shift_light_barrier"),
    Alias::plain(Alltoallw, "default", "linear_by_rank"),
    // Reduce-scatter.
    REDUCE_SCATTERV,
    Alias {
        collective: ReduceScatterBlock,
        ..REDUCE_SCATTERV
    },
    Alias::plain(ReduceScatter, "mpich_pair", "pairwise"),
    Alias::plain(ReduceScatterBlock, "mpich_pair", "pairwise"),
    Alias::plain(ReduceScatter, "mpich_rdb", "recursive_doubling"),
    Alias::plain(ReduceScatterBlock, "mpich_rdb", "recursive_doubling"),
    Alias::plain(ReduceScatter, "mpich_noncomm", "mirror"),
    Alias::plain(ReduceScatterBlock, "mpich_noncomm", "mirror"),
    Alias::plain(
        ReduceScatter,
        "ompi_basic_recursivehalving",
        "recursive_halving",
    ),
    Alias::plain(
        ReduceScatterBlock,
        "ompi_basic_recursivehalving",
        "recursive_halving",
    ),
    Alias::plain(ReduceScatter, "ompi_ring", "ring"),
    Alias::plain(ReduceScatterBlock, "ompi_ring", "ring"),
    Alias::plain(ReduceScatter, "ompi_butterfly", "butterfly"),
    Alias::plain(ReduceScatterBlock, "ompi_butterfly", "butterfly"),
    // Scans.
    Alias::plain(Scan, "default", "linear"),
    Alias::plain(Exscan, "default", "linear"),
];

const NEIGHBOR_EXCHANGE: Alias = Alias {
    choose: Some(|call| {
        if call.size.is_multiple_of(2) {
            "neighbor_exchange"
        } else {
            "shift"
        }
    }),
    ..Alias::plain(Allgather, "ompi_neighborexchange", "neighbor_exchange")
};

/// Sets the parts of the reduction and broadcast that stands for a ring if there is not an element
/// for each rank.
fn parts_of_short(call: &mut Call) {
    if !Requirement::ElementPerRank.holds(call) {
        call.parts[0] = find(Reduce, "linear_nb");
        call.parts[1] = find(Bcast, "binomial");
    }
}

const REDUCE_BCAST: Alias = Alias {
    parts: &["linear_nb", "binomial"],
    ..Alias::plain(Allreduce, "redbcast", "reduce_bcast")
};

const REDUCE_SCATTERV: Alias = Alias {
    choose: Some(reduce_scatter_default),
    parts: &["linear_nb", "linear_nb"],
    ..Alias::plain(ReduceScatter, "default", "reduce_scatterv")
};

/// An alias with the barrier that SMPI selects.
const fn with_barrier(
    collective: Collective,
    name: &'static str,
    algorithm: &'static str,
) -> Alias {
    Alias {
        parts: &["linear"],
        ..Alias::plain(collective, name, algorithm)
    }
}

/// Returns the algorithm that SMPI takes by default: with blocks of different lengths, that of its
/// selector `mpich`.
fn reduce_scatter_default(call: &Call) -> &'static str {
    if call.blocks.is_none() {
        "reduce_scatterv"
    } else if call.commutative && call.send_total() / call.element.max(1) > 512 * 1024 {
        "pairwise"
    } else {
        "recursive_doubling"
    }
}

/// Returns the allgather of SMPI's selector `mpich`.
pub(super) fn mpich_allgather(call: &Call) -> &'static str {
    let total = call.recv_total();
    if total < 512 * 1024 && call.size.is_power_of_two() {
        "recursive_doubling"
    } else if total <= 80 * 1024 {
        "bruck"
    } else {
        "shift"
    }
}

/// Returns the alltoall of SMPI's selector `ompi` for a block length.
fn ompi_alltoall(size: u32, bytes: u64) -> &'static str {
    let (bruck, pairwise) = match size {
        0..=2 => (0..0, 0..0),
        3..=7 => (0..0, 512 << 10..1 << 20),
        8..=15 => (0..0, 0..0),
        16..=31 => (4..512, 0..0),
        32..=63 => (0..512, 0..0),
        64..=255 => (0..1024, 256 << 10..u64::MAX),
        256..=511 => (0..1024, 32 << 10..u64::MAX),
        512..=1023 => (0..512, 256 << 10..u64::MAX),
        1024..=2047 => (0..512, 0..0),
        2048..=4095 => (0..1024, 0..0),
        _ => (0..2048, 0..0),
    };
    if bruck.contains(&bytes) {
        "bruck"
    } else if pairwise.contains(&bytes) {
        "pairwise"
    } else {
        "linear"
    }
}
