//! Prefix reductions. In an inclusive scan the area `Recv` has the contribution, then the result;
//! in an exclusive scan the area `Send` has the contribution and `Recv` gets the result, but at
//! rank 0.

use crate::{Algorithm, Call, Collective, Part};

mod chain;
pub(super) mod linear;
mod recursive_doubling;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &chain::CHAIN,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &two_level::TWO_LEVEL,
];

/// Returns the contribution.
fn contribution(call: &Call) -> Part {
    match call.collective {
        Collective::Exscan => Part::send(0, call.bytes),
        _ => result(call),
    }
}

/// Returns the result.
const fn result(call: &Call) -> Part {
    Part::recv(0, call.bytes)
}
