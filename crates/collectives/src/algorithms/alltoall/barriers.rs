//! Alltoall with one partner in each round, and barriers before: one at the beginning, one before
//! each exchange, or a message of one byte with the next partner.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::pairwise::{pair, shift};
use crate::parts::Places;
use crate::{Algorithm, Call, Collective, Part, Requirement, Steps};

pub(crate) static PAIR_ONE_BARRIER: Algorithm = Algorithm {
    name: "pair_one_barrier",
    quadratic: true,
    collectives: &[
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
    ],
    about: "a barrier, then pair",
    time: "barrier + (p − 1) (α + n β)",
    needs: Requirement::PowerOfTwo,
    fallback: "shift_one_barrier",
    parts: &[Collective::Barrier],
    temp: |call| (call.part_algorithm(0).temp)(&barrier_call(call)),
    rounds: |call| call.size + barrier_rounds(call),
    round: |call, round, steps| one_barrier(call, round, pair, steps),
    ..Algorithm::BASE
};

pub(crate) static SHIFT_ONE_BARRIER: Algorithm = Algorithm {
    name: "shift_one_barrier",
    quadratic: true,
    about: "a barrier, then shift",
    needs: Requirement::None,
    fallback: "",
    round: |call, round, steps| one_barrier(call, round, shift, steps),
    ..PAIR_ONE_BARRIER
};

pub(crate) static PAIR_BARRIERS: Algorithm = Algorithm {
    name: "pair_barriers",
    quadratic: true,
    about: "pair with a barrier before each exchange",
    time: "(p − 1) (barrier + α + n β)",
    fallback: "shift_barriers",
    rounds: |call| call.size * (1 + barrier_rounds(call)),
    round: |call, round, steps| barriers(call, round, pair, steps),
    ..PAIR_ONE_BARRIER
};

pub(crate) static SHIFT_BARRIERS: Algorithm = Algorithm {
    name: "shift_barriers",
    quadratic: true,
    about: "shift with a barrier before each exchange",
    needs: Requirement::None,
    fallback: "",
    round: |call, round, steps| barriers(call, round, shift, steps),
    ..PAIR_BARRIERS
};

pub(crate) static PAIR_LIGHT_BARRIER: Algorithm = Algorithm {
    name: "pair_light_barrier",
    quadratic: true,
    about: "pair with an exchange of one byte before each exchange but the first",
    time: "(p − 1) (2 α + n β)",
    fallback: "shift_light_barrier",
    parts: &[],
    temp: |_| 2,
    rounds: |call| (2 * call.size - 2).max(1),
    round: |call, round, steps| match light(round) {
        Light::Exchange(number) => pair(call, number, steps),
        Light::Byte(number) => {
            let peer = call.rank ^ number;
            steps.exchange(peer, OUT, peer, INTO);
        }
    },
    ..PAIR_ONE_BARRIER
};

pub(crate) static SHIFT_LIGHT_BARRIER: Algorithm = Algorithm {
    name: "shift_light_barrier",
    quadratic: true,
    about: "shift with a byte from the next receiver before each exchange but the first",
    needs: Requirement::None,
    fallback: "",
    round: |call, round, steps| match light(round) {
        Light::Exchange(number) => shift(call, number, steps),
        Light::Byte(number) => {
            steps.exchange(call.rank_below(number), OUT, call.rank_above(number), INTO);
        }
    },
    ..PAIR_LIGHT_BARRIER
};

/// Makes the steps of an exchange.
type Exchange = fn(&Call, u32, &mut dyn Steps);

const OUT: Part = Part::temp(0, 1);
const INTO: Part = Part::temp(1, 1);

fn barrier_call(call: &Call) -> Call {
    call.inner(Collective::Barrier, 0)
}

fn barrier_rounds(call: &Call) -> u32 {
    (call.part_algorithm(0).rounds)(&barrier_call(call))
}

fn synchronize(call: &Call, round: u32, steps: &mut dyn Steps) {
    Places::behind(0).run(call.part_algorithm(0), &barrier_call(call), round, steps);
}

fn one_barrier(call: &Call, round: u32, exchange: Exchange, steps: &mut dyn Steps) {
    match round.checked_sub(barrier_rounds(call)) {
        None => synchronize(call, round, steps),
        Some(round) => exchange(call, round, steps),
    }
}

fn barriers(call: &Call, round: u32, exchange: Exchange, steps: &mut dyn Steps) {
    let waiting = barrier_rounds(call);
    let (number, round) = (round / (waiting + 1), round % (waiting + 1));
    if round < waiting {
        synchronize(call, round, steps);
    } else {
        exchange(call, number, steps);
    }
}

/// A round of a light barrier, with the number of the exchange.
enum Light {
    Exchange(u32),
    Byte(u32),
}

/// Returns the content of a round: exchange 0, exchange 1, byte, exchange 2, byte, exchange 3, …
const fn light(round: u32) -> Light {
    if round >= 2 && round.is_multiple_of(2) {
        Light::Byte(round / 2 + 1)
    } else {
        Light::Exchange(round.div_ceil(2))
    }
}
