//! Allreduce by recursive doubling: partners at distances 1, 2, 4, … exchange their partial results
//! and reduce them in the order of the ranks.
//!
//! If the number of ranks is no power of two, the even ranks of the first 2·rem ranks hand their
//! operands to the next rank before, and get the result afterwards.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::Allreduce],
    about: "partners at distances 1, 2, 4, … exchange all",
    time: "L (α + n (β + γ))",
    ordered: true,
    temp: |call| call.bytes,
    rounds: |call| 2 + power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (all, temp) = (Part::recv(0, call.bytes), Part::temp(0, call.bytes));
    let role = Fold::Even.role(call.rank, call.size);
    let last = power_of_two_below(call.size).ilog2() + 1;
    match (role.core, role.partner) {
        (None, Some(partner)) if round == 0 => steps.send(partner, all),
        (Some(_), Some(partner)) if round == 0 => {
            steps.recv(partner, temp);
            steps.reduce(temp, all, Operand::Left);
        }
        (None, Some(partner)) if round == last => steps.recv(partner, all),
        (Some(_), Some(partner)) if round == last => steps.send(partner, all),
        (Some(core), _) if (1..last).contains(&round) => {
            let partner = Fold::Even.rank(core ^ (1 << (round - 1)), call.size);
            steps.exchange(partner, all, partner, temp);
            let operand = if partner < call.rank {
                Operand::Left
            } else {
                Operand::Right
            };
            steps.reduce(temp, all, operand);
        }
        _ => {}
    }
}
