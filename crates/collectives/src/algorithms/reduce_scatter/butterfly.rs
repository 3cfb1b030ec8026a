//! Reduce-scatter by a butterfly: partners at distances 1, 2, 4, … reduce halves of the blocks;
//! then each block goes to its own rank, which is the rank with the reversed bits.
//!
//! If the number of ranks is no power of two, the even ranks of the first 2·rem ranks hand their
//! operands to the next rank before.
//!
//! Source: J. L. Träff, "An Improved Algorithm for (Non-commutative) Reduce-Scatter with an
//! Application", EuroPVM/MPI 2005.

use super::recursive_halving::{arriving, core_blocks, fold};
use super::{pack, packed, result};
use crate::partners::{Fold, mirror, power_of_two_below};
use crate::{Algorithm, Area, Call, Collective, Operand, Steps};

pub(crate) static BUTTERFLY: Algorithm = Algorithm {
    name: "butterfly",
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "partners at distances 1, 2, 4, … reduce halves, then blocks go to their ranks",
    time: "(L + 1) α + p n β + (p − 1) n γ",
    ordered: true,
    temp_buffers: 2,
    temp: |call| 2 * call.send_total(),
    rounds: |call| 3 + power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = power_of_two_below(call.size).ilog2();
    match round {
        0 => pack(call, steps),
        1 => fold(call, steps),
        round if round <= bits + 1 => halve(call, round - 2, steps),
        _ => permute(call, steps),
    }
}

fn halve(call: &Call, step: u32, steps: &mut dyn Steps) {
    let Some(core) = Fold::Even.role(call.rank, call.size).core else {
        return;
    };
    let bits = power_of_two_below(call.size).ilog2();
    let count = 1 << (bits - 1 - step);
    let half = |core: u32| core_blocks(call, mirror(core, bits) & !(count - 1), count);
    let other = core ^ (1 << step);
    let peer = Fold::Even.rank(other, call.size);
    let own = half(core);
    let temp = arriving(call, own);
    steps.exchange(peer, half(other), peer, temp);
    let operand = if other < core {
        Operand::Left
    } else {
        Operand::Right
    };
    steps.reduce(temp, own, operand);
}

/// Sends blocks to their ranks: first to the rank that sits out, then to its partner.
fn permute(call: &Call, steps: &mut dyn Steps) {
    let bits = power_of_two_below(call.size).ilog2();
    let rest = call.size - power_of_two_below(call.size);
    let Some(core) = Fold::Even.role(call.rank, call.size).core else {
        let source = Fold::Even.rank(mirror(call.rank / 2, bits), call.size);
        return steps.recv(source, result(call));
    };
    let other = mirror(core, bits);
    let peer = Fold::Even.rank(other, call.size);
    let block = |rank: u32| packed(call, Area::Temp, rank..rank + 1);
    if other < rest {
        steps.send(peer - 1, block(peer - 1));
    }
    if other == core {
        steps.copy(block(call.rank), result(call));
    } else {
        steps.exchange(peer, block(peer), peer, result(call));
    }
}
