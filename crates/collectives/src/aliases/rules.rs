//! Parameters and algorithms that a library computes from a call, by the names in the rows of
//! `aliases/`.
//!
//! Sources: as for the rows; SMPI's thresholds are in SimGrid 4.1, `src/smpi/colls`.

use crate::Collective::{Allgather, Alltoall, Bcast, Reduce};
use crate::algorithms::allreduce::alltoall_allgather;
use crate::partners::power_of_two_below;
use crate::{Algorithm, Call, Requirement, find as find_algorithm};

/// Sets parameters and parts of a call. Returns the name of the algorithm if the call needs another
/// one than the alias names.
pub(super) type Rule = fn(&mut Call) -> Option<&'static str>;

const RULES: &[(&str, Rule)] = &[
    ("alltoall_allgather", |call| {
        let block = alltoall_allgather::block_bytes(call);
        call.parts[0] = find_algorithm(Alltoall, ompi_alltoall(call.size, block));
        call.parts[1] = find_algorithm(Allgather, "linear");
        None
    }),
    ("binomial_reduce", binomial_reduce),
    ("bruck_if_no_power_of_two", |call| {
        (!call.size.is_power_of_two()).then_some("bruck")
    }),
    ("chain_reduce", |call| {
        call.segment = 64 << 10;
        call.radix = (call.size / 2).clamp(1, 32);
        None
    }),
    ("default_reduce_scatter", default_reduce_scatter),
    ("halves", halves),
    ("intra_node_bcast", intra_node_bcast),
    ("linear_if_few_elements_or_ordered", |call| {
        has_few_elements_or_order(call).then_some("linear")
    }),
    ("linear_if_few_elements", |call| {
        (!Requirement::ElementPerRank.holds(call)).then_some("linear")
    }),
    ("linear_if_not_commutative", |call| {
        (!call.commutative).then_some("linear")
    }),
    ("mpich_allgather", mpich_allgather),
    ("mpich_allreduce", mpich_allreduce),
    ("mpich_bcast", mpich_bcast),
    ("mpich_reduce", mpich_reduce),
    ("mvapich2_reduce", mvapich2_reduce),
    ("ompi_alltoall", |call| {
        Some(ompi_alltoall(call.size, call.bytes))
    }),
    ("pipeline_bcast", pipeline_bcast),
    ("pipeline_reduce", pipeline_reduce),
    ("reduce_bcast_if_few_elements_or_ordered", |call| {
        has_few_elements_or_order(call).then_some("reduce_bcast")
    }),
    ("ring", |call| {
        set_parts_of_short(call);
        None
    }),
    ("segmented_ring", |call| {
        set_parts_of_short(call);
        (Requirement::SegmentPerRank.holds(call)).then_some("segmented_ring")
    }),
    ("segments_of_4096_elements", |call| {
        call.segment = 4096 * call.element;
        None
    }),
    ("shift_if_odd", |call| {
        (!call.size.is_multiple_of(2)).then_some("shift")
    }),
    ("shumilin_bcast", shumilin_bcast),
    ("shumilin_reduce", |call| {
        let is_long = call.bytes > 2048 && !has_few_elements_or_order(call);
        is_long.then_some("rabenseifner")
    }),
];

/// Returns the rule of this name.
pub(super) fn find_rule(name: &str) -> Option<Rule> {
    let found = RULES.iter().find(|(known, _)| *known == name);
    found.map(|(_, rule)| *rule)
}

/// Returns true if there is not an element for each rank of the largest power of two, or the
/// operation is not commutative.
fn has_few_elements_or_order(call: &Call) -> bool {
    !Requirement::ElementPerPowerOfTwo.holds(call) || !call.commutative
}

/// Makes a segment of each half of a message that is not in segments.
fn halves(call: &mut Call) -> Option<&'static str> {
    if matches!(call.segment, 0 | u64::MAX) {
        let element = call.element.max(1);
        call.segment = (call.bytes / element / 2 * element).max(1);
    }
    None
}

fn shumilin_bcast(call: &mut Call) -> Option<&'static str> {
    if call.bytes < 12_288 || call.size < 8 {
        None
    } else if call.bytes < 512 << 10 && call.size.is_power_of_two() {
        Some("scatter_recursive_doubling_allgather")
    } else {
        Some("scatter_ring_allgather")
    }
}

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

fn pipeline_bcast(call: &mut Call) -> Option<&'static str> {
    call.segment = if ranks_below(call, 1.6134e-6, 2.1102) {
        128 << 10
    } else if ranks_below(call, 2.3679e-6, 1.1787) {
        64 << 10
    } else if ranks_below(call, 3.2118e-6, 8.7936) {
        16 << 10
    } else {
        128 << 10
    };
    None
}

fn intra_node_bcast(call: &mut Call) -> Option<&'static str> {
    if call.size > 64 || (call.bytes > 16 << 10 && call.bytes < 512 << 10) {
        mpich_bcast(call)
    } else if call.bytes <= 16 << 10 {
        None
    } else {
        Some("scatter_ring_allgather")
    }
}

fn pipeline_reduce(call: &mut Call) -> Option<&'static str> {
    call.segment = if ranks_above(call, 0.0410 / 1024.0, 9.7128) {
        1024
    } else if ranks_above(call, 0.0033 / 1024.0, 1.6761) {
        32 << 10
    } else {
        64 << 10
    };
    None
}

fn binomial_reduce(call: &mut Call) -> Option<&'static str> {
    let is_short = (call.size < 8 && call.bytes < 20_480) || call.bytes < 2048;
    if !is_short && call.count() > 1 && ranks_above(call, 0.6016 / 1024.0, 1.3496) {
        call.segment = 1024;
    }
    None
}

/// Returns the algorithm that SMPI takes by default: for blocks of different lengths, the algorithm
/// of the selector `mpich` of SMPI.
fn default_reduce_scatter(call: &mut Call) -> Option<&'static str> {
    if call.blocks.is_none() {
        None
    } else if call.commutative && call.send_total() / call.element.max(1) > 512 * 1024 {
        Some("pairwise")
    } else {
        Some("recursive_doubling")
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

/// Sets the parts of the reduction and broadcast that stands for a ring if there is not an element
/// for each rank.
fn set_parts_of_short(call: &mut Call) {
    if !Requirement::ElementPerRank.holds(call) {
        call.parts[0] = find_algorithm(Reduce, "linear_nb");
        call.parts[1] = find_algorithm(Bcast, "binomial");
    }
}

/// Returns the allgather of SMPI's selector `mpich`.
fn mpich_allgather(call: &mut Call) -> Option<&'static str> {
    let total = call.recv_total();
    Some(if total < 512 * 1024 && call.size.is_power_of_two() {
        "recursive_doubling"
    } else if total <= 80 * 1024 {
        "bruck"
    } else {
        "shift"
    })
}

/// Returns the broadcast of SMPI's selector `mpich` within one level.
fn mpich_bcast(call: &mut Call) -> Option<&'static str> {
    Some(if call.bytes < 12_288 || call.size <= 8 {
        "binomial"
    } else if call.bytes < 512 << 10 && call.size.is_multiple_of(2) {
        "scatter_recursive_doubling_allgather"
    } else {
        "scatter_ring_allgather"
    })
}

/// Returns true if the contribution has an element for each rank of the largest power of two.
fn has_elements(call: &Call) -> bool {
    call.count() >= u64::from(power_of_two_below(call.size))
}

/// Returns the reduction of SMPI's selector `mpich` within one level.
fn mpich_reduce(call: &mut Call) -> Option<&'static str> {
    let is_long = call.bytes >= 2048 && has_elements(call) && call.commutative;
    Some(if is_long {
        "rabenseifner_padded"
    } else {
        "binomial"
    })
}

/// Returns the reduction of MVAPICH2 in SMPI: of two levels, or k-nomial within one node.
fn mvapich2_reduce(call: &mut Call) -> Option<&'static str> {
    let Some(nodes) = &call.nodes else {
        return mpich_reduce(call);
    };
    let is_one_node = nodes.count() == 1;
    let within = if is_one_node {
        "linear"
    } else {
        "mpich_reduce"
    };
    if let Some(two_level) = find_algorithm(Reduce, "two_level") {
        set_levels(call, two_level, &[within, "mpich_reduce"]);
    }
    Some(if is_one_node && call.bytes > 2048 {
        "knomial"
    } else {
        "two_level"
    })
}

/// Sets the algorithms of the levels of a hierarchical algorithm if ranks share nodes. Each name is
/// the name of an algorithm, or of a rule for the call of the level.
pub(super) fn set_levels(call: &mut Call, algorithm: &Algorithm, names: &[impl AsRef<str>]) {
    if call.nodes.is_none() {
        return;
    }
    for (number, (level, name)) in algorithm.levels.iter().zip(names).enumerate() {
        let part = level.group_call(call);
        call.parts[number] = part.and_then(|mut part| {
            let name = match find_rule(name.as_ref()) {
                Some(rule) => rule(&mut part)?,
                None => name.as_ref(),
            };
            find_algorithm(level.collective, name)
        });
    }
}

/// Returns the allreduce of SMPI's selector `mpich` within one level.
fn mpich_allreduce(call: &mut Call) -> Option<&'static str> {
    let is_long = call.bytes > 2048 && has_elements(call) && call.commutative;
    Some(if is_long {
        "rabenseifner_empty_blocks"
    } else {
        "recursive_doubling"
    })
}
