//! Allreduce by Rabenseifner's first algorithm. Differences from the later algorithm: halves are
//! halved again (so blocks differ by up to one element), and in each pair of the first 2·rem ranks,
//! both ranks reduce one half before the odd rank sits out.
//!
//! Source: R. Rabenseifner, 1997, in SMPI `reduce-rab.cpp`.

use super::elements;
use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static RABENSEIFNER_HALVES: Algorithm = Algorithm {
    name: "rabenseifner_halves",
    collectives: &[Collective::Allreduce],
    about: "rabenseifner with halves that are halved; ranks that sit out reduce a half before",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    ordered: true,
    temp: |call| call.bytes,
    rounds: |call| 2 + 2 * power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

/// Returns the halves of a range of elements; a range is a first element and a number of elements.
const fn halves((first, count): (u64, u64)) -> [(u64, u64); 2] {
    let lower = count / 2;
    [(first, lower), (first + lower, count - lower)]
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = power_of_two_below(call.size).ilog2();
    let last = 2 * bits + 1;
    let role = Fold::Odd.role(call.rank, call.size);
    if let Some(partner) = role.partner {
        let all = Part::recv(0, call.bytes);
        if round == 0 {
            reduce_pair(call, partner, steps);
        } else if round == last && role.core.is_some() {
            steps.send(partner, all);
        } else if round == last {
            steps.recv(partner, all);
        }
    }
    if let Some(core) = role.core.filter(|_| (1..last).contains(&round)) {
        let reduces = round <= bits;
        let step = if reduces { round - 1 } else { last - 1 - round };
        make_exchange(call, core, step, reduces, steps);
    }
}

/// Reduces one half at each rank of a pair, then collects both at the even one.
fn reduce_pair(call: &Call, partner: u32, steps: &mut dyn Steps) {
    let is_lower = call.rank < partner;
    let [lower, upper] =
        halves((0, call.count())).map(|(first, count)| elements(call, first, count));
    let (own, other) = if is_lower {
        (lower, upper)
    } else {
        (upper, lower)
    };
    reduce_part(partner, own, other, !is_lower, steps);
    if is_lower {
        steps.recv(partner, upper);
    } else {
        steps.send(partner, upper);
    }
}

/// Exchanges operands of two parts of the result and reduces the own one.
fn reduce_part(peer: u32, own: Part, other: Part, is_upper: bool, steps: &mut dyn Steps) {
    let temp = Part::temp(own.offset, own.length);
    steps.exchange(peer, other, peer, temp);
    let operand = if is_upper {
        Operand::Left
    } else {
        Operand::Right
    };
    steps.reduce(temp, own, operand);
}

fn make_exchange(call: &Call, core: u32, step: u32, reduces: bool, steps: &mut dyn Steps) {
    let peer = Fold::Odd.rank(core ^ (1 << step), call.size);
    let half = |range: (u64, u64), bit: u32| halves(range)[(core >> bit & 1) as usize];
    let whole = (0..step).fold((0, call.count()), half);
    let is_upper = core >> step & 1 == 1;
    let [lower, upper] = halves(whole).map(|(first, count)| elements(call, first, count));
    let (own, other) = if is_upper {
        (upper, lower)
    } else {
        (lower, upper)
    };
    if reduces {
        reduce_part(peer, own, other, is_upper, steps);
    } else {
        steps.exchange(peer, own, peer, other);
    }
}
