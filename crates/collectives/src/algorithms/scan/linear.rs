//! Scan in one round: each rank sends its contribution to all higher ranks, and reduces the
//! contributions of all lower ranks.
//!
//! Source: SMPI, `colls::iscan` and `colls::iexscan`.

use super::{contribution, result};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    quadratic: true,
    collectives: &[Collective::Scan, Collective::Exscan],
    about: "from all lower ranks, to all higher ranks, all at once",
    time: "(p − 1) (α + n (β + γ))",
    ordered: true,
    temp: |call| u64::from(call.rank) * call.bytes,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let operand = |rank: u32| Part::temp(u64::from(rank) * call.bytes, call.bytes);
    for lower in 0..call.rank {
        steps.irecv(lower, operand(lower));
    }
    for higher in call.rank + 1..call.size {
        steps.isend(higher, contribution(call));
    }
    steps.wait_all();
    let mut lower = (0..call.rank).rev();
    if call.collective == Collective::Exscan
        && let Some(first) = lower.next()
    {
        steps.copy(operand(first), result(call));
    }
    for rank in lower {
        steps.reduce(operand(rank), result(call), Operand::Left);
    }
}
