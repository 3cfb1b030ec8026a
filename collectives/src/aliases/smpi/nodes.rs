//! Algorithms that are aware of nodes. Where each rank has a node of its own, they are what is left
//! of them then.
//!
//! Left out: the pipelines between nodes of `SMP_binary`, `SMP_linear`, `SMP_NTS`, `loosely_lr` and
//! `smp_binomial_pipeline`, which are listed as they work with one rank on each node.

use crate::Collective::{Allgather, Allreduce, Barrier, Bcast, Gather, Reduce, Scatter};
use crate::aliases::Alias;
use crate::partners::power_of_two_below;
use crate::{Call, Requirement, find};

pub(super) const ALL: &[Alias] = &[
    Alias {
        adjust: |call| by_levels(call, "two_level", &[DISSEMINATION, DISSEMINATION, BINOMIAL]),
        choose: Some(|call| either(call, "two_level", |_| "dissemination")),
        ..Alias::asking(Barrier, "mpich_smp", "dissemination")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level_rank_0", &[BINOMIAL, BINOMIAL]),
        choose: Some(|call| if_regular(call, "two_level_rank_0", "binomial_rank_0")),
        ..Alias::asking(Bcast, "SMP_binomial", "binomial_rank_0")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[mpich_bcast, mpich_bcast]),
        choose: Some(|call| either(call, "two_level", mpich_bcast)),
        ..Alias::asking(Bcast, "mvapich2_inter_node", "binomial")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[BINOMIAL, LINEAR]),
        choose: Some(|call| either(call, "two_level", |_| "linear")),
        ..Alias::asking(Gather, "mvapich2_two_level", "linear")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[BINOMIAL, LINEAR_NB, BINOMIAL]),
        choose: Some(|call| either(call, "two_level", |_| "binomial")),
        ..Alias::asking(Scatter, "mvapich2_two_level_binomial", "binomial")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[LINEAR, LINEAR_NB, BINOMIAL]),
        choose: Some(|call| either(call, "two_level", |_| "linear")),
        ..Alias::asking(Scatter, "mvapich2_two_level_direct", "linear")
    },
    Alias {
        adjust: |call| {
            let node = if is_one_node(call) {
                LINEAR
            } else {
                mpich_reduce
            };
            by_levels(call, "two_level", &[node, mpich_reduce]);
        },
        choose: Some(|call| match is_one_node(call) {
            true if call.bytes > 2048 => "knomial",
            _ => either(call, "two_level", mpich_reduce),
        }),
        ..Alias::asking(Reduce, "mvapich2_two_level", "binomial")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level_allreduce", &[mpich_allreduce, DOUBLING]),
        choose: Some(|call| either(call, "two_level_allreduce", |_| "recursive_doubling")),
        ..Alias::asking(Allreduce, "mvapich2_two_level", "recursive_doubling")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[BINOMIAL, BINOMIAL, BINOMIAL]),
        choose: Some(|call| if_regular(call, "two_level", "binomial")),
        ..Alias::asking(Allreduce, "smp_binomial", "binomial")
    },
    Alias {
        adjust: |call| by_levels(call, "two_level", &[BINOMIAL, DOUBLING, BINOMIAL]),
        choose: Some(|call| if_regular(call, "two_level", "recursive_doubling")),
        ..Alias::asking(Allreduce, "smp_rdb", "recursive_doubling")
    },
    // SMPI does not reduce the elements behind the last block; here the last block has them.
    Alias {
        name: "smp_rsag",
        ..RING
    },
    RING,
    Alias {
        adjust: |call| by_levels(call, "two_level", &[BINOMIAL, RABENSEIFNER, BINOMIAL]),
        choose: Some(|call| if_regular(call, "two_level", "rabenseifner_empty_blocks")),
        ..Alias::asking(Allreduce, "smp_rsag_rab", "rabenseifner_empty_blocks")
    },
    Alias {
        adjust: |call| {
            by_levels(call, "two_level", &[SELECTED, super::all::mpich_allgather]);
        },
        choose: Some(|call| either(call, "two_level", super::all::mpich_allgather)),
        ..Alias::asking(Allgather, "mvapich2_smp", "shift")
    },
];

const RING: Alias = Alias {
    adjust: |call| by_levels(call, "two_level", &[BINOMIAL, |_| "ring_last", BINOMIAL]),
    choose: Some(|call| if_regular(call, "two_level", "ring_last")),
    ..Alias::asking(Allreduce, "smp_rsag_lr", "ring_last")
};

/// The name of the algorithm of a part.
type Choose = fn(&Call) -> &'static str;

const BINOMIAL: Choose = |_| "binomial";
const DISSEMINATION: Choose = |_| "dissemination";
const DOUBLING: Choose = |_| "recursive_doubling";
const LINEAR: Choose = |_| "linear";
const LINEAR_NB: Choose = |_| "linear_nb";
const RABENSEIFNER: Choose = |_| "rabenseifner_empty_blocks";
/// That of the selector.
const SELECTED: Choose = |_| "";

/// Sets the algorithms of the levels of a hierarchical algorithm where ranks share nodes.
fn by_levels(call: &mut Call, algorithm: &str, choose: &[Choose]) {
    let Some(algorithm) = find(call.collective, algorithm) else {
        return;
    };
    if call.nodes.is_none() {
        return;
    }
    for (number, (level, choose)) in algorithm.levels.iter().zip(choose).enumerate() {
        let part = (level.call)(call);
        call.parts[number] = part.and_then(|part| find(level.collective, choose(&part)));
    }
}

fn either(call: &Call, two_level: &'static str, flat: Choose) -> &'static str {
    if call.nodes.is_some() {
        two_level
    } else {
        flat(call)
    }
}

fn if_regular(call: &Call, two_level: &'static str, flat: &'static str) -> &'static str {
    if Requirement::RegularNodes.holds(call) {
        two_level
    } else {
        flat
    }
}

fn is_one_node(call: &Call) -> bool {
    call.nodes.as_ref().is_some_and(|nodes| nodes.count() == 1)
}

/// Returns the broadcast of SMPI's selector `mpich` within one level.
pub(super) const fn mpich_bcast(call: &Call) -> &'static str {
    if call.bytes < 12_288 || call.size <= 8 {
        "binomial"
    } else if call.bytes < 512 << 10 && call.size.is_multiple_of(2) {
        "scatter_recursive_doubling_allgather"
    } else {
        "scatter_ring_allgather"
    }
}

/// Returns true if the contribution has an element for each rank of the largest power of two.
fn has_elements(call: &Call) -> bool {
    call.count() >= u64::from(power_of_two_below(call.size))
}

/// Returns the reduction of SMPI's selector `mpich` within one level.
fn mpich_reduce(call: &Call) -> &'static str {
    if call.bytes >= 2048 && has_elements(call) && call.commutative {
        "rabenseifner_padded"
    } else {
        "binomial"
    }
}

/// Returns the allreduce of SMPI's selector `mpich` within one level.
fn mpich_allreduce(call: &Call) -> &'static str {
    if call.bytes > 2048 && has_elements(call) && call.commutative {
        "rabenseifner_empty_blocks"
    } else {
        "recursive_doubling"
    }
}
