//! The operations that an accumulate may use, and their numbers in packets: the built-in operations
//! of [`Op`], and [`Op::replace`] and [`Op::no_op`], which only one-sided communication has.
//!
//! Operations of the program are not allowed (MPI 5.0, section 12.3.4): the target could not
//! execute them.

use channel::AccumulateOp;

use crate::{Error, Op, Result};

use super::error::WindowError;

macro_rules! operations {
    (integers: $($integer:ty),*; floats: $($float:ty),*) => {
        &[
            $(
                Op::sum::<$integer>, Op::product::<$integer>, Op::min::<$integer>,
                Op::max::<$integer>, Op::logical_and::<$integer>, Op::logical_or::<$integer>,
                Op::logical_xor::<$integer>, Op::bitwise_and::<$integer>,
                Op::bitwise_or::<$integer>, Op::bitwise_xor::<$integer>,
                Op::min_location::<$integer>, Op::max_location::<$integer>,
                Op::replace::<$integer>, Op::no_op::<$integer>,
                Op::replace::<($integer, u32)>, Op::no_op::<($integer, u32)>,
            )*
            $(
                Op::sum::<$float>, Op::product::<$float>, Op::min::<$float>, Op::max::<$float>,
                Op::min_location::<$float>, Op::max_location::<$float>,
                Op::replace::<$float>, Op::no_op::<$float>,
                Op::replace::<($float, u32)>, Op::no_op::<($float, u32)>,
            )*
        ]
    };
}

/// All operations; the number in a packet is the place in this list.
const OPERATIONS: &[fn() -> Op] =
    operations!(integers: u8, i8, u16, i16, u32, i32, u64, i64; floats: f32, f64);

const _: () = assert!(
    OPERATIONS.len() == AccumulateOp::COUNT as usize,
    "each operation has a number in packets"
);

/// Returns the number of an operation in packets.
///
/// # Errors
/// [`WindowError::UserOp`] for an operation of the program.
pub(crate) fn code_of(op: &Op) -> Result<AccumulateOp> {
    let is_it = |make: &fn() -> Op| {
        let other = make();
        (op.name(), op.element_name()) == (other.name(), other.element_name())
    };
    let place = OPERATIONS.iter().position(is_it);
    let place = place.filter(|_| op.is_built_in());
    let number = place.and_then(|place| u32::try_from(place).ok());
    let name = op.name();
    number
        .and_then(AccumulateOp::from_number)
        .ok_or_else(|| Error::of_window(WindowError::UserOp { name }))
}

/// Returns the operation with a number in packets.
pub(crate) fn op_from_code(code: AccumulateOp) -> Op {
    OPERATIONS
        .get(usize::from(code.number()))
        .map_or_else(Op::no_op::<u8>, |make| make())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_a_number_of_its_own() {
        for (number, make) in (0..).zip(OPERATIONS) {
            let op = make();
            let code = code_of(&op).unwrap();
            assert_eq!(code.number(), number, "{op:?}");
            assert_eq!(AccumulateOp::from_number(number.into()), Some(code));
            assert_eq!(op_from_code(code).name(), op.name());
            assert_eq!(code.is_no_op(), op.name() == Op::no_op::<u8>().name());
            let is_replace = op.name() == Op::replace::<u8>().name();
            assert_eq!(code.is_reduction(), !is_replace && !code.is_no_op());
        }
        let end = u32::try_from(OPERATIONS.len()).unwrap();
        assert_eq!(AccumulateOp::from_number(end), None);
    }

    #[test]
    fn an_operation_of_the_program_has_none() {
        let own = Op::new::<u64>("sum", true, |_, _| {});
        let error = code_of(&own).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid operation `sum`: an accumulate expects a built-in operation"
        );
    }
}
