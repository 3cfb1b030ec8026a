//! Scan along a chain: each rank reduces the result of the previous rank, and sends its own result
//! to the next rank.
//!
//! Source: Open MPI, `coll_base_scan.c` and `coll_base_exscan.c` (`linear`).

use super::{contribution, result};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static CHAIN: Algorithm = Algorithm {
    name: "chain",
    collectives: &[Collective::Scan, Collective::Exscan],
    about: "from the rank before, to the next rank",
    time: "(p − 1) (α + n (β + γ))",
    ordered: true,
    temp: |call| call.bytes,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let temp = Part::temp(0, call.bytes);
    let mut out = contribution(call);
    if call.rank > 0 {
        let before = call.rank - 1;
        if call.collective == Collective::Exscan {
            steps.recv(before, result(call));
            steps.copy(result(call), temp);
            steps.reduce(contribution(call), temp, Operand::Right);
            out = temp;
        } else {
            steps.recv(before, temp);
            steps.reduce(temp, result(call), Operand::Left);
        }
    }
    if call.rank + 1 < call.size {
        steps.send(call.rank + 1, out);
    }
}
