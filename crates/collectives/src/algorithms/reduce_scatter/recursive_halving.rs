//! Reduce-scatter by recursive halving: partners at distances Q / 2, …, 2, 1 exchange and reduce
//! halves of the remaining blocks.
//!
//! With a number of ranks that is no power of two, the even ones of the first 2·rem ranks hand
//! their operands to the next rank before, and get their block afterwards. Empty halves are not
//! sent.
//!
//! Source: Open MPI, `coll_base_reduce_scatter.c` (`basic_recursivehalving`).

use super::{pack, packed, result};
use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Steps};

pub(crate) static RECURSIVE_HALVING: Algorithm = Algorithm {
    name: "recursive_halving",
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "partners at distances p / 2, …, 2, 1 reduce halves of the blocks",
    time: "L α + (p − 1) n (β + γ)",
    fallback: "recursive_doubling",
    temp_buffers: 2,
    temp: |call| 2 * call.send_total(),
    rounds: |call| 3 + power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

/// Returns the blocks of ranks of the core, each with the block of the rank that sits out.
pub(super) fn core_blocks(call: &Call, first: u32, count: u32) -> Part {
    let rest = call.size - power_of_two_below(call.size);
    let start = |core: u32| if core < rest { 2 * core } else { core + rest };
    packed(call, Area::Temp, start(first)..start(first + count))
}

/// Returns the part of `Temp` behind all blocks that corresponds to a part of the blocks.
pub(super) fn arriving(call: &Call, part: Part) -> Part {
    Part::temp(call.send_total() + part.offset, part.length)
}

/// Hands the operands of ranks that sit out to their partners.
pub(super) fn fold(call: &Call, steps: &mut dyn Steps) {
    let role = Fold::Even.role(call.rank, call.size);
    let all = Part::temp(0, call.send_total());
    match (role.core, role.partner) {
        (None, Some(partner)) => steps.send(partner, all),
        (Some(_), Some(partner)) => {
            let temp = arriving(call, all);
            steps.recv(partner, temp);
            steps.reduce(temp, all, Operand::Left);
        }
        _ => {}
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = power_of_two_below(call.size).ilog2();
    match round {
        0 => pack(call, steps),
        1 => fold(call, steps),
        round if round <= bits + 1 => halve(call, 1 << (bits + 1 - round), steps),
        _ => deliver_blocks(call, steps),
    }
}

fn halve(call: &Call, distance: u32, steps: &mut dyn Steps) {
    let Some(core) = Fold::Even.role(call.rank, call.size).core else {
        return;
    };
    let half = |core: u32| core_blocks(call, core & !(distance - 1), distance);
    let (own, other) = (half(core), half(core ^ distance));
    let peer = Fold::Even.rank(core ^ distance, call.size);
    let temp = arriving(call, own);
    if own.length > 0 {
        steps.irecv(peer, temp);
    }
    if other.length > 0 {
        steps.send(peer, other);
    }
    if own.length > 0 {
        steps.wait_all();
        steps.reduce(temp, own, Operand::Left);
    }
}

fn deliver_blocks(call: &Call, steps: &mut dyn Steps) {
    let role = Fold::Even.role(call.rank, call.size);
    let block = |rank: u32| packed(call, Area::Temp, rank..rank + 1);
    if role.core.is_some() {
        steps.copy(block(call.rank), result(call));
    }
    match (role.core, role.partner) {
        (None, Some(partner)) if result(call).length > 0 => steps.recv(partner, result(call)),
        (Some(_), Some(partner)) if block(partner).length > 0 => {
            steps.send(partner, block(partner));
        }
        _ => {}
    }
}
