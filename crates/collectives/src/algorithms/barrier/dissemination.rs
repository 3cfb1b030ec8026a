//! Barrier by dissemination: in round k each rank sends to the rank 2^k above it and receives from
//! the rank 2^k below it.
//!
//! Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization",
//! International Journal of Parallel Programming 17(1), 1988.

use crate::partners::log2_ceil;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static DISSEMINATION: Algorithm = Algorithm {
    name: "dissemination",
    collectives: &[Collective::Barrier],
    about: "to the rank 2^k above, from the rank 2^k below",
    time: "L α",
    rounds: |call| log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let distance = 1 << round;
    let (above, below) = (call.rank_above(distance), call.rank_below(distance));
    steps.exchange(above, Part::EMPTY, below, Part::EMPTY);
}
