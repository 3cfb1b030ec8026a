//! Reductions with a result that depends on the order of the operands.
//!
//! An implementation of MPI can group the operands of every operation, and take the operands of a
//! commutative operation in any order (MPI 5.0, section 6.9.1). Here the contributions of all ranks
//! to a call are combined in the order of the ranks, and then in [`ORDERS`] orders that are drawn
//! at random. If the results differ, the operation lacks a property that the program declared: an
//! error. Floating-point numbers are rounded, so a difference by grouping is a note only.
//!
//! *Not compared*: other groupings than the drawn ones; phantoms. An operation is not found if its
//! results happen to be equal in all orders for the numbers of the program.

use observe::SourceLocation;
use std::fmt;

use super::Invocation;
use crate::channel::Channel;
use crate::exploration::{self, ExplorationFact};
use crate::{Buffer, Error, Op, Result};

/// Number of orders that are drawn for a call.
const ORDERS: u32 = 8;

/// A property that an operation has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingProperty {
    /// a · b = b · a.
    Commutative,
    /// (a · b) · c = a · (b · c), and for commutative operations the same in another order.
    Associative,
}

impl fmt::Display for MissingProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commutative => "commutative",
            Self::Associative => "associative",
        })
    }
}

/// Random numbers by splitmix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    /// Returns a number below `bound`, which is small.
    fn random_below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }
}

/// Returns `left` · `right`.
fn combined(op: &Op, left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut result = right.to_vec();
    op.reduction().combine_into(left, &mut result);
    result
}

/// Combines operands, of which neighbours are drawn one pair after the other.
fn combine_drawn(op: &Op, mut operands: Vec<Vec<u8>>, random: &mut Random) -> Vec<u8> {
    if op.is_commutative() {
        for place in (1..operands.len()).rev() {
            operands.swap(place, random.random_below(place + 1));
        }
    }
    while operands.len() > 1 {
        let place = random.random_below(operands.len() - 1);
        let right = operands.remove(place + 1);
        operands[place] = combined(op, &operands[place], &right);
    }
    operands.swap_remove(0)
}

/// Returns the property without which another order of the operands has another result.
fn missing_property(op: &Op, operands: &[Buffer], seed: u64) -> Option<MissingProperty> {
    let operands = operands.iter().map(|one| Some(one.bytes()?.to_vec()));
    let operands = operands.collect::<Option<Vec<Vec<u8>>>>()?;
    let swaps =
        |pair: &[Vec<u8>]| combined(op, &pair[0], &pair[1]) != combined(op, &pair[1], &pair[0]);
    if op.is_commutative() && operands.windows(2).any(swaps) {
        return Some(MissingProperty::Commutative);
    }
    let (first, others) = operands.split_first()?;
    let in_order = others
        .iter()
        .fold(first.clone(), |all, one| combined(op, &all, one));
    let mut random = Random(seed);
    let differs = (0..ORDERS).any(|_| combine_drawn(op, operands.clone(), &mut random) != in_order);
    differs.then_some(MissingProperty::Associative)
}

/// Compares the results of a call with these contributions, one of each rank.
pub(super) fn check_operand_order(
    channel: &dyn Channel,
    call: &Invocation,
    operands: &[Buffer],
    location: SourceLocation,
) -> Result<()> {
    let (Some(op), Some(seed)) = (&call.op, channel.settings().operand_orders) else {
        return Ok(());
    };
    let Some(property) = missing_property(op, operands, seed) else {
        return Ok(());
    };
    let is_rounding = op.has_floats() && property == MissingProperty::Associative;
    if !op.is_built_in() && !is_rounding {
        return Err(Error::OrderDependent {
            op: op.name(),
            property,
            location,
        });
    }
    let remark = format!(
        "order-dependent reduction: {} at {location} has another result if the operands of {} of {} are combined in another order",
        call.kind,
        op.name(),
        op.element_name(),
    );
    exploration::note_fact(channel, ExplorationFact::Remark(&remark));
    Ok(())
}
