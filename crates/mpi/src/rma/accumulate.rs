//! The operations that an accumulate may use, and their numbers in packets: the built-in ones of
//! [`Op`], and those that only one-sided communication has, [`Op::replace`] and [`Op::no_op`].
//!
//! Operations of the program are not allowed (MPI 5.0, section 12.3.4): the target could not
//! execute them.

use crate::{Error, Op, Result};

use super::error::WindowError;

/// A built-in operation with the type of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccumulateOp(u8);

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
static OPERATIONS: &[fn() -> Op] =
    operations!(integers: u8, i8, u16, i16, u32, i32, u64, i64; floats: f32, f64);

impl AccumulateOp {
    /// Returns the number of an operation.
    ///
    /// # Errors
    /// [`WindowError::UserOp`] if it is one of the program.
    pub(crate) fn of(op: &Op) -> Result<Self> {
        let is_it = |make: &fn() -> Op| {
            let other = make();
            (op.name(), op.element_name()) == (other.name(), other.element_name())
        };
        let place = OPERATIONS.iter().position(is_it);
        let place = place.filter(|_| op.is_built_in());
        let number = place.and_then(|place| u8::try_from(place).ok());
        let name = op.name();
        number
            .map(Self)
            .ok_or_else(|| Error::of_window(WindowError::UserOp { name }))
    }

    /// Returns the operation with a number; `None` if there is none.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        let number = u8::try_from(number).ok()?;
        let known = OPERATIONS.get(usize::from(number));
        known.map(|_| Self(number))
    }

    /// Returns the number of the operation.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the operation.
    pub(crate) fn op(self) -> Op {
        OPERATIONS
            .get(usize::from(self.0))
            .map_or_else(Op::no_op::<u8>, |make| make())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_a_number_of_its_own() {
        for (number, make) in (0..).zip(OPERATIONS) {
            let op = make();
            let code = AccumulateOp::of(&op).unwrap();
            assert_eq!(code.number(), number, "{op:?}");
            assert_eq!(AccumulateOp::from_number(number.into()), Some(code));
            assert_eq!(code.op().name(), op.name());
        }
        let end = u32::try_from(OPERATIONS.len()).unwrap();
        assert_eq!(AccumulateOp::from_number(end), None);
    }

    #[test]
    fn an_operation_of_the_program_has_none() {
        let own = Op::new::<u64>("sum", true, |_, _| {});
        let error = AccumulateOp::of(&own).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid operation `sum`: an accumulate expects a built-in operation"
        );
    }
}
