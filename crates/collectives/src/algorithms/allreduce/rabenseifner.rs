//! Allreduce by Rabenseifner's algorithm: a reduction with scattered result by recursive halving of
//! the data, then a gathering by recursive doubling.
//!
//! With a number of ranks that is no power of two, the even ones of the first 2·rem ranks hand
//! their operands to the next rank before, and get the result afterwards.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::elements;
use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Call, Collective, Operand, Part, Requirement, Steps};

pub(crate) static RABENSEIFNER: Algorithm = Algorithm {
    name: "rabenseifner",
    collectives: &[Collective::Allreduce],
    about: "partners at distances 1, 2, 4, … reduce halves, then gather them in reverse order",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    needs: Requirement::ElementPerPowerOfTwo,
    fallback: "recursive_doubling",
    ordered: true,
    temp: |call| call.bytes,
    rounds: |call| 2 + 2 * power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

/// The variant of SMPI's `allreduce-rab-rdb.cpp`, without a limit.
pub(crate) static RABENSEIFNER_EMPTY_BLOCKS: Algorithm = Algorithm {
    name: "rabenseifner_empty_blocks",
    about: "rabenseifner, also where the contribution has too few elements for all blocks",
    needs: Requirement::None,
    fallback: "recursive_doubling",
    ..RABENSEIFNER
};

/// Returns consecutive blocks: all have the same number of elements, and the last one the rest.
fn block_range(call: &Call, first: u32, count: u32) -> Part {
    let blocks = power_of_two_below(call.size);
    let length = call.count() / u64::from(blocks);
    let start = |block: u32| {
        if block == blocks {
            call.count()
        } else {
            u64::from(block) * length
        }
    };
    elements(call, start(first), start(first + count) - start(first))
}

/// Returns the first block that a rank of the core has to reduce after `step` exchanges: each bit
/// of the rank number, from the lowest bit on, selects the lower or the upper half.
fn first_block(core: u32, bits: u32, step: u32) -> u32 {
    let halves = (0..step).map(|bit| (core >> bit & 1) << (bits - 1 - bit));
    halves.sum()
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let all = Part::recv(0, call.bytes);
    let bits = power_of_two_below(call.size).ilog2();
    let last = 2 * bits + 1;
    let role = Fold::Even.role(call.rank, call.size);
    match (role.core, role.partner) {
        (None, Some(partner)) if round == 0 => steps.send(partner, all),
        (Some(_), Some(partner)) if round == 0 => {
            let temp = Part::temp(0, call.bytes);
            steps.recv(partner, temp);
            steps.reduce(temp, all, Operand::Left);
        }
        (None, Some(partner)) if round == last => steps.recv(partner, all),
        (Some(_), Some(partner)) if round == last => steps.send(partner, all),
        (Some(core), _) if (1..last).contains(&round) => {
            let reduces = round <= bits;
            let step = if reduces { round - 1 } else { last - 1 - round };
            make_exchange(call, core, step, reduces, steps);
        }
        _ => {}
    }
}

/// Makes an exchange at distance 2^`step`.
fn make_exchange(call: &Call, core: u32, step: u32, reduces: bool, steps: &mut dyn Steps) {
    let bits = power_of_two_below(call.size).ilog2();
    let other = core ^ (1 << step);
    let peer = Fold::Even.rank(other, call.size);
    let count = 1 << (bits - 1 - step);
    let own = block_range(call, first_block(core, bits, step + 1), count);
    let others = block_range(call, first_block(other, bits, step + 1), count);
    if reduces {
        let temp = Part::temp(own.offset, own.length);
        steps.exchange(peer, others, peer, temp);
        let operand = if other < core {
            Operand::Left
        } else {
            Operand::Right
        };
        steps.reduce(temp, own, operand);
    } else {
        steps.exchange(peer, own, peer, others);
    }
}
