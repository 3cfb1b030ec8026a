//! Types of elements: the types of the numbers in buffers, datatypes and messages.
//!
//! A receive has to describe the elements that the send has described (MPI 5.0, section 3.3.1).
//! Buffers that were made from numbers and datatypes of one type of number describe them; all other
//! buffers are bytes, as with `MPI_BYTE` and `MPI_PACKED`, which are received into anything here. A
//! `u8` is a byte, too.
//!
//! *Not compared*: the order of elements of different types in structures; bytes that are sent and
//! received as numbers, which MPI does not permit; messages between processes, which carry no
//! description. A user finds such mistakes only by wrong numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scalar::{self, Scalar};

/// Number of bits of an [`Element`].
pub(crate) const ELEMENT_BITS: u32 = 5;

const ELEMENT_MASK: u16 = (1 << ELEMENT_BITS) - 1;

/// The type of the elements of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Element(u8);

impl Element {
    /// Bytes of an unknown type.
    pub const BYTES: Self = Self(0);

    /// The type of a number.
    #[must_use]
    #[inline]
    pub const fn of<T: Scalar>() -> Self {
        Self(T::NUMBER)
    }

    /// The type with this number, which is below 2^[`ELEMENT_BITS`].
    pub(crate) const fn numbered(number: u8) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u8 {
        self.0
    }

    /// Returns true if the type is not known.
    #[inline]
    pub const fn is_bytes(self) -> bool {
        self.0 == Self::BYTES.0
    }

    /// Returns true if both are known and not the same.
    #[inline]
    pub const fn differs(self, other: Self) -> bool {
        self.0 != other.0 && !self.is_bytes() && !other.is_bytes()
    }

    /// Returns the type of all elements: bytes if they differ.
    #[must_use]
    #[inline]
    pub const fn common(self, other: Self) -> Self {
        if self.0 == other.0 { self } else { Self::BYTES }
    }

    /// Returns the name of the type, such as `f64`.
    pub fn name(self) -> &'static str {
        scalar::of(self).0
    }

    /// Returns the length of an element in bytes.
    pub fn size(self) -> u64 {
        scalar::of(self).1
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of the elements of a message and the call that sent the message, if they are known.
///
/// The signature uses otherwise empty bytes of an [`Envelope`](crate::Envelope).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TypeSignature(u16);

impl TypeSignature {
    /// Neither is known.
    pub const NONE: Self = Self(0);

    /// Largest number of a call.
    pub const CALL_MAX: u16 = u16::MAX >> ELEMENT_BITS;

    /// A message of an element type from the call with this number; 0 if the call is not known.
    #[inline]
    pub const fn new(element: Element, call: u16) -> Self {
        Self(call << ELEMENT_BITS | element.0 as u16)
    }

    /// Returns the type of the elements.
    #[inline]
    pub const fn element_type(self) -> Element {
        Element((self.0 & ELEMENT_MASK) as u8)
    }

    /// Returns the number of the call; 0 if the call is not known.
    #[inline]
    pub const fn call_number(self) -> u16 {
        self.0 >> ELEMENT_BITS
    }

    /// Returns true if the message does not belong into a buffer of this type.
    #[inline]
    pub const fn differs(self, element: Element) -> bool {
        self.0 != 0 && self.element_type().differs(element)
    }
}
