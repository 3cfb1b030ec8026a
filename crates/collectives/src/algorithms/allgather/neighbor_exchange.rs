//! Allgather by neighbor exchange: ranks exchange one block with one neighbor, then two blocks with
//! their neighbors in turn.
//!
//! Source: J. Chen, L. Zhang, Y. Zhang, W. Yuan, "Performance Evaluation of Allgather Algorithms on
//! Terascale Linux Cluster with Fast Ethernet", HPC Asia 2005.

use super::{collect_own, gathered, gathered_temp, spread_out};
use crate::{Algorithm, Call, Collective, Part, Requirement, Steps};

pub(crate) static NEIGHBOR_EXCHANGE: Algorithm = Algorithm {
    name: "neighbor_exchange",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "with both neighbors in turn: one block, then two blocks in each round",
    time: "p / 2 α + (p − 1) n β",
    needs: Requirement::EvenRanks,
    fallback: "ring",
    temp: gathered_temp,
    rounds: |call| 2 + call.size / 2,
    round,
    ..Algorithm::BASE
};

/// Returns the even rank of the two blocks that a rank gets in an exchange from the second on (1,
/// 2, …): the exchanges bring blocks from alternating sides.
fn pair(call: &Call, exchange: u32) -> u32 {
    let even = call.rank & !1;
    let distance = 2 * exchange.div_ceil(2);
    let below = call.rank.is_multiple_of(2) != exchange.is_multiple_of(2);
    let size = u64::from(call.size);
    let sum = if below {
        u64::from(even) + size - u64::from(distance)
    } else {
        u64::from(even) + u64::from(distance)
    };
    u32::try_from(sum % size).unwrap_or(0)
}

fn pair_blocks(call: &Call, even: u32) -> Part {
    gathered(call, even..even + 2)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return collect_own(call, steps);
    }
    if round > call.size / 2 {
        return spread_out(call, steps);
    }
    let exchange = round - 1;
    let neighbor = if call.rank.is_multiple_of(2) == exchange.is_multiple_of(2) {
        call.rank_above(1)
    } else {
        call.rank_below(1)
    };
    let (out, into) = match exchange {
        0 => {
            let one = |rank: u32| gathered(call, rank..rank + 1);
            (one(call.rank), one(neighbor))
        }
        1 => (
            pair_blocks(call, call.rank & !1),
            pair_blocks(call, pair(call, 1)),
        ),
        _ => (
            pair_blocks(call, pair(call, exchange - 1)),
            pair_blocks(call, pair(call, exchange)),
        ),
    };
    steps.exchange(neighbor, out, neighbor, into);
}
