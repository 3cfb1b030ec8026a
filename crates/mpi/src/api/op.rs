//! Operations of reductions (MPI 5.0, section 6.9): built-in operations on numbers and pairs, and
//! operations of the program.
//!
//! An operation is associative. An operation that is not commutative is applied in the order of the
//! ranks, and algorithms that would change the order are not selected. The result may depend on the
//! algorithm in the last bits of floating-point numbers.
//!
//! *Minimum and maximum* of floating-point numbers keep the accumulated value unless the other
//! value is less or greater: a NaN never replaces the accumulated value.
//!
//! *Not modelled*: operations on phantom buffers are not applied; the time of
//! [`Settings::reduce_bandwidth`](crate::Settings::reduce_bandwidth) is charged nevertheless.

use std::fmt;
use std::rc::Rc;

use crate::{Buffer, Error, Result, Scalar};

/// `inout[i] = incoming[i] · inout[i]`, on the bytes of elements.
type Function = fn(incoming: &[u8], inout: &mut [u8]);

/// A function of a program, with the values that it captures; on the bytes of elements.
type Closure = dyn Fn(&[u8], &mut [u8]);

/// The function of an operation.
#[derive(Clone)]
pub(crate) enum Reduction {
    BuiltIn(Function),
    User(Rc<Closure>),
}

impl Reduction {
    /// `inout = incoming · inout`, element by element.
    pub(crate) fn combine_into(&self, incoming: &[u8], inout: &mut [u8]) {
        match self {
            Self::BuiltIn(function) => function(incoming, inout),
            Self::User(function) => function(incoming, inout),
        }
    }
}

impl fmt::Debug for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reduction")
    }
}

/// An operation of reductions: `MPI_Op` together with the type of its elements.
///
/// ```
/// use mpi::Op;
///
/// let sum = Op::sum::<f64>();
/// let product = Op::new::<u64>("product modulo 7", true, |inout, incoming| {
///     for (inout, incoming) in inout.iter_mut().zip(incoming) {
///         *inout = *inout * incoming % 7;
///     }
/// });
/// assert!(sum.is_commutative() && product.is_commutative());
/// ```
#[derive(Clone)]
pub struct Op {
    name: &'static str,
    element_name: &'static str,
    element: u64,
    commutative: bool,
    reduction: Reduction,
}

fn map<T: Scalar>(incoming: &[u8], inout: &mut [u8], apply: impl Fn(T, T) -> T) {
    let size = size_of_scalar::<T>();
    let places = inout.chunks_exact_mut(size);
    for (incoming, inout) in incoming.chunks_exact(size).zip(places) {
        apply(T::read(incoming), T::read(inout)).write(inout);
    }
}

#[inline]
fn size_of_scalar<T: Scalar>() -> usize {
    usize::try_from(T::SIZE).expect("numbers are short")
}

macro_rules! built_in {
    ($($(#[$about:meta])* $name:ident: $bound:ident, $text:literal, $apply:expr;)*) => {$(
        $(#[$about])*
        #[must_use]
        pub fn $name<T: $bound>() -> Self {
            Self::built_in::<T>($text, |incoming, inout| map::<T>(incoming, inout, $apply))
        }
    )*};
}

impl Op {
    fn built_in<T: Scalar>(name: &'static str, function: Function) -> Self {
        Self {
            name,
            element_name: T::NAME,
            element: T::SIZE,
            commutative: true,
            reduction: Reduction::BuiltIn(function),
        }
    }

    built_in! {
        /// The sum: `MPI_SUM`. Integers wrap around.
        sum: Number, "sum", |a, b| a.add(b);
        /// The product: `MPI_PROD`. Integers wrap around.
        product: Number, "product", |a, b| a.multiply(b);
        /// The minimum: `MPI_MIN`.
        min: Number, "min", |a, b| if a < b { a } else { b };
        /// The maximum: `MPI_MAX`.
        max: Number, "max", |a, b| if a > b { a } else { b };
        /// Logical and: `MPI_LAND`; 1 for true.
        logical_and: Integer, "logical and", |a, b| T::from_bool(a.is_true() && b.is_true());
        /// Logical or: `MPI_LOR`; 1 for true.
        logical_or: Integer, "logical or", |a, b| T::from_bool(a.is_true() || b.is_true());
        /// Logical exclusive or: `MPI_LXOR`; 1 for true.
        logical_xor: Integer, "logical xor", |a, b| T::from_bool(a.is_true() != b.is_true());
        /// Bitwise and: `MPI_BAND`.
        bitwise_and: Integer, "bitwise and", |a, b| a.and(b);
        /// Bitwise or: `MPI_BOR`.
        bitwise_or: Integer, "bitwise or", |a, b| a.or(b);
        /// Bitwise exclusive or: `MPI_BXOR`.
        bitwise_xor: Integer, "bitwise xor", |a, b| a.xor(b);
    }

    /// The value of the origin replaces the value of the target: `MPI_REPLACE`. Only for
    /// accumulates of a [`Window`](crate::Window).
    #[must_use]
    pub fn replace<T: Scalar>() -> Self {
        Self {
            commutative: false,
            ..Self::built_in::<T>("replace", |incoming, inout| inout.copy_from_slice(incoming))
        }
    }

    /// The value of the target stays: `MPI_NO_OP`. Only for accumulates of a
    /// [`Window`](crate::Window), which then only read the value.
    #[must_use]
    pub fn no_op<T: Scalar>() -> Self {
        Self {
            commutative: false,
            ..Self::built_in::<T>("no operation", |_, _| {})
        }
    }

    /// The minimum and its index: `MPI_MINLOC`, on pairs of a number and an index; the lowest index
    /// of equal numbers.
    #[must_use]
    pub fn min_location<T: Number>() -> Self
    where
        (T, u32): Scalar,
    {
        Self::built_in::<(T, u32)>("minloc", |incoming, inout| {
            map::<(T, u32)>(incoming, inout, |a, b| {
                if a.0 < b.0 || (a.0 == b.0 && a.1 < b.1) {
                    a
                } else {
                    b
                }
            });
        })
    }

    /// The maximum and its index: `MPI_MAXLOC`, on pairs of a number and an index; the lowest index
    /// of equal numbers.
    #[must_use]
    pub fn max_location<T: Number>() -> Self
    where
        (T, u32): Scalar,
    {
        Self::built_in::<(T, u32)>("maxloc", |incoming, inout| {
            map::<(T, u32)>(incoming, inout, |a, b| {
                if a.0 > b.0 || (a.0 == b.0 && a.1 < b.1) {
                    a
                } else {
                    b
                }
            });
        })
    }

    /// Returns an operation of the program: `MPI_Op_create`. `function` sets each element of
    /// `inout` to `incoming · inout`; the elements of `incoming` come from lower ranks. `function`
    /// gets equally many elements of both, of any part of the buffers, and has to be associative.
    #[must_use]
    pub fn new<T: Scalar>(
        name: &'static str,
        commutative: bool,
        function: impl Fn(&mut [T], &[T]) + 'static,
    ) -> Self {
        let apply = move |incoming: &[u8], inout: &mut [u8]| {
            let size = size_of_scalar::<T>();
            let read = |bytes: &[u8]| bytes.chunks_exact(size).map(T::read).collect::<Vec<T>>();
            let (incoming, mut values) = (read(incoming), read(inout));
            function(&mut values, &incoming);
            for (value, place) in values.into_iter().zip(inout.chunks_exact_mut(size)) {
                value.write(place);
            }
        };
        Self {
            name,
            element_name: T::NAME,
            element: T::SIZE,
            commutative,
            reduction: Reduction::User(Rc::new(apply)),
        }
    }

    /// Returns an operation of a program on elements of this length in bytes that are not Rust
    /// numbers: `MPI_Op_create` of a compiled program. `function` gets the incoming elements, and
    /// the elements that become `incoming · inout`.
    #[must_use]
    pub fn on_bytes(
        name: &'static str,
        element: u64,
        commutative: bool,
        function: impl Fn(&[u8], &mut [u8]) + 'static,
    ) -> Self {
        Self {
            name,
            element_name: "bytes",
            element,
            commutative,
            reduction: Reduction::User(Rc::new(function)),
        }
    }

    /// The name, such as `sum`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The type of the elements, such as `f64`.
    #[must_use]
    pub const fn element_name(&self) -> &'static str {
        self.element_name
    }

    /// The size of an element in bytes.
    #[must_use]
    pub const fn element_size(&self) -> u64 {
        self.element
    }

    /// Returns true if operands can change their places: `MPI_Op_commutative`.
    #[must_use]
    pub const fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// Returns true for a built-in operation, false for an operation of the program.
    #[must_use]
    pub const fn is_built_in(&self) -> bool {
        matches!(self.reduction, Reduction::BuiltIn(_))
    }

    /// Returns true if the elements contain floating-point numbers.
    pub(crate) fn has_floats(&self) -> bool {
        ["f32", "f64"]
            .iter()
            .any(|float| self.element_name.contains(float))
    }

    /// Sets each element of `inout` to `incoming · inout`: `MPI_Reduce_local`. Phantoms stay as
    /// they are. The call takes no simulated time.
    ///
    /// # Errors
    /// [`Error::Lengths`] if the buffers differ in length, [`Error::Op`] if the length is not a
    /// whole number of elements.
    pub fn reduce_local(&self, incoming: &Buffer, inout: &mut Buffer) -> Result<()> {
        let (length, expected) = (incoming.len(), inout.len());
        if length != expected {
            return Err(Error::Lengths { length, expected });
        }
        let element = self.element;
        if !length.is_multiple_of(element) {
            return Err(Error::Op { element, length });
        }
        if let (Some(incoming), Some(inout)) = (incoming.bytes(), inout.bytes_mut()) {
            self.reduction.combine_into(incoming, inout);
        }
        Ok(())
    }

    pub(crate) const fn reduction(&self) -> &Reduction {
        &self.reduction
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op({} of {})", self.name, self.element_name)
    }
}

/// A number with arithmetic: the integers and floats of Rust.
pub trait Number: Scalar + PartialOrd {
    /// The sum; integers wrap around.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// The product; integers wrap around.
    #[must_use]
    fn multiply(self, other: Self) -> Self;
}

/// A number with bits and truth: the integers of Rust.
pub trait Integer: Number {
    /// Returns true unless the number is 0.
    #[must_use]
    fn is_true(self) -> bool;
    /// Returns 1 for true and 0 for false.
    #[must_use]
    fn from_bool(value: bool) -> Self;
    /// Bitwise and.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    #[must_use]
    fn xor(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Number for $integer {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Integer for $integer {
            fn is_true(self) -> bool {
                self != 0
            }

            fn from_bool(value: bool) -> Self {
                Self::from(value)
            }

            fn and(self, other: Self) -> Self {
                self & other
            }

            fn or(self, other: Self) -> Self {
                self | other
            }

            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Number for $float {
            fn add(self, other: Self) -> Self {
                self + other
            }

            fn multiply(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64);
floats!(f32, f64);
