//! Packet sequence numbers: 24 bits, compared modulo 2^24.
//!
//! *Not decided here*: how many may be outstanding. With more than 2^23 − 1, older and newer could
//! not be told apart.

use std::fmt;

/// A packet sequence number, below 2^24. IBA 9.7.2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Psn(u32);

impl Psn {
    /// One more than the largest number.
    pub const MODULUS: u32 = 1 << 24;

    /// Returns the number modulo 2^24.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number % Self::MODULUS)
    }

    /// Returns the number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number that comes `count` packets later.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count) % Self::MODULUS)
    }

    /// Returns by how many packets this number is ahead of `other`, from −2^23 to 2^23 − 1.
    #[must_use]
    pub const fn ahead_of(self, other: Self) -> i32 {
        ((self.0.wrapping_sub(other.0) << 8) as i32) >> 8
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_at_24_bits() {
        let last = Psn::new((1 << 24) - 1);
        assert_eq!(last.plus(1), Psn::new(0));
        assert_eq!(Psn::new(2).ahead_of(last), 3);
        assert_eq!(last.ahead_of(Psn::new(2)), -3);
        assert_eq!(Psn::new(1 << 23).ahead_of(Psn::new(0)), -(1 << 23));
        assert_eq!(Psn::new((1 << 23) - 1).ahead_of(Psn::new(0)), (1 << 23) - 1);
    }
}
