//! Numbers that buffers can hold. A buffer stores the numbers in little-endian order on any
//! machine, so a digest or a record of a message is the same on all machines.
//!
//! *Not modelled*: other formats of numbers than the formats of Rust.

use std::fmt;

use crate::Element;

mod sealed {
    /// Representation of a number in a buffer.
    pub trait Bytes: Sized + Copy {
        /// The number of the type among the element types.
        const NUMBER: u8;

        fn put(self, into: &mut Vec<u8>);
        fn set(self, into: &mut [u8]);
        fn get(from: &[u8]) -> Self;
    }
}

/// A number that buffers can hold: the integers and floats of Rust.
pub trait Scalar: sealed::Bytes {
    /// The size in bytes.
    const SIZE: u64;

    /// The name, such as `f64`.
    const NAME: &'static str;

    /// Reads a number from the beginning of a buffer.
    ///
    /// # Panics
    /// If there are fewer bytes than [`Scalar::SIZE`].
    #[inline]
    #[must_use]
    fn read(bytes: &[u8]) -> Self {
        Self::get(bytes)
    }

    /// Writes the number to the beginning of a buffer.
    ///
    /// # Panics
    /// If there is less room than [`Scalar::SIZE`].
    #[inline]
    fn write(self, bytes: &mut [u8]) {
        self.set(bytes);
    }
}

macro_rules! scalars {
    ($($scalar:ty: $size:literal, $number:literal;)*) => {$(
        impl sealed::Bytes for $scalar {
            const NUMBER: u8 = $number;

            #[inline]
            fn put(self, into: &mut Vec<u8>) {
                into.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn set(self, into: &mut [u8]) {
                into[..$size].copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(from: &[u8]) -> Self {
                let bytes = from.first_chunk::<$size>().expect("whole numbers");
                Self::from_le_bytes(*bytes)
            }
        }

        impl Scalar for $scalar {
            const SIZE: u64 = $size;
            const NAME: &'static str = stringify!($scalar);
        }

        impl sealed::Bytes for ($scalar, u32) {
            const NUMBER: u8 = $number + PAIRS;

            #[inline]
            fn put(self, into: &mut Vec<u8>) {
                self.0.put(into);
                self.1.put(into);
            }

            #[inline]
            fn set(self, into: &mut [u8]) {
                self.0.set(into);
                self.1.set(&mut into[$size..]);
            }

            #[inline]
            fn get(from: &[u8]) -> Self {
                (<$scalar>::get(from), u32::get(&from[$size..]))
            }
        }

        /// A number and an index, without padding.
        impl Scalar for ($scalar, u32) {
            const SIZE: u64 = $size + 4;
            const NAME: &'static str = concat!("(", stringify!($scalar), ", u32)");
        }
    )*

        /// Returns the name and the length in bytes of a type of elements.
        pub(crate) fn of(element: Element) -> (&'static str, u64) {
            let mut types = [$(named::<$scalar>(), named::<($scalar, u32)>()),*].into_iter();
            let found = types.find(|(number, ..)| *number == element.number());
            found.map_or(("bytes", 1), |(_, name, size)| (name, size))
        }
    };
}

/// Offset from the number of a type to the number of its pairs with an index.
const PAIRS: u8 = 16;

scalars! {
    u8: 1, 0;
    i8: 1, 1;
    u16: 2, 2;
    i16: 2, 3;
    u32: 4, 4;
    i32: 4, 5;
    u64: 8, 6;
    i64: 8, 7;
    f32: 4, 8;
    f64: 8, 9;
}

const fn named<T: Scalar>() -> (u8, &'static str, u64) {
    (T::NUMBER, T::NAME, T::SIZE)
}

/// A length that is not a whole number of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartialElement {
    /// The length in bytes.
    pub length: u64,
    /// The size of an element in bytes.
    pub size: u64,
}

impl fmt::Display for PartialElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, size } = self;
        write!(
            f,
            "{length} bytes are not a whole number of elements of {size} bytes"
        )
    }
}

impl std::error::Error for PartialElement {}
