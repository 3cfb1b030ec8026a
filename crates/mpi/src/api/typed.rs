//! Typed buffers: numbers in, numbers out. A buffer keeps them in little-endian order, whatever the
//! machine, so a digest or a record of a message is the same everywhere.

use crate::api::element::Element;
use crate::{Buffer, Comm, Error, Result, Status};

mod sealed {
    /// Representation of a number in a buffer.
    pub trait Bytes: Sized + Copy {
        /// The number of its type among those of elements.
        const NUMBER: u8;

        fn put(self, into: &mut Vec<u8>);
        fn set(self, into: &mut [u8]);
        fn get(from: &[u8]) -> Self;
    }
}

/// A number that buffers can hold: the integers and floats of Rust.
pub trait Scalar: sealed::Bytes {
    /// Its size in bytes.
    const SIZE: u64;

    /// Its name, such as `f64`.
    const NAME: &'static str;

    /// Reads it from the beginning of a buffer.
    ///
    /// # Panics
    /// If there are fewer bytes than [`Scalar::SIZE`].
    #[inline]
    #[must_use]
    fn read(bytes: &[u8]) -> Self {
        Self::get(bytes)
    }

    /// Writes it to the beginning of a buffer.
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

/// Added to the number of a type for that of its pairs with an index.
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

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).expect("numbers are short")
}

impl Buffer {
    /// A buffer with these numbers.
    #[must_use]
    pub fn of<T: Scalar>(values: &[T]) -> Self {
        let mut bytes = Vec::new();
        for &value in values {
            value.put(&mut bytes);
        }
        Self::from(bytes).with_element(Element::of::<T>())
    }

    /// The numbers; `None` for a phantom.
    ///
    /// # Errors
    /// [`Error::Count`] if the length is not a whole number of them.
    pub fn values<T: Scalar>(&self) -> Result<Option<Vec<T>>> {
        if !self.len().is_multiple_of(T::SIZE) {
            return Err(Error::Count {
                length: self.len(),
                size: T::SIZE,
            });
        }
        let values = |bytes: &[u8]| bytes.chunks_exact(size(T::SIZE)).map(T::get).collect();
        Ok(self.bytes().map(values))
    }
}

impl Status {
    /// The number of numbers in the message: `MPI_Get_count`; `None` (`MPI_UNDEFINED`) if it is not
    /// whole.
    #[must_use]
    pub fn count<T: Scalar>(&self) -> Option<u64> {
        let whole = self.length.is_multiple_of(T::SIZE);
        whole.then_some(self.length / T::SIZE)
    }
}

impl Comm {
    /// A buffer with these numbers, or a phantom of their length if the run wants.
    #[must_use]
    pub fn buffer_of<T: Scalar>(&self, values: &[T]) -> Buffer {
        if self.process().channel().settings().phantom {
            let length = values.len() as u64 * T::SIZE;
            return Buffer::phantom(length).with_element(Element::of::<T>());
        }
        Buffer::of(values)
    }
}
