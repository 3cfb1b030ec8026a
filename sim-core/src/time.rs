//! Virtual time: a moment ([`Time`]) and a duration ([`Span`]), both in seconds.
//!
//! Both are `f64` seconds with a total order. NaN cannot be constructed, and a [`Time`] is never
//! negative, so that the bit pattern of a moment grows with the moment; the event queue relies on
//! that.
//!
//! *Not modelled*: an integer clock. Adding a span of 1 ns to a moment beyond 2^23 s (about 97
//! days) rounds; a user sees dates that are exact to 1 part in 2^53.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A moment of virtual time, in seconds since the start of the simulation; at least 0, possibly
/// infinite.
#[derive(Clone, Copy, PartialEq, Default)]
pub struct Time(f64);

/// A duration of virtual time, in seconds; at least 0, possibly infinite.
#[derive(Clone, Copy, PartialEq, Default)]
pub struct Span(f64);

/// Orders and hashes seconds, which are neither NaN nor negative, by their bits.
macro_rules! order_by_seconds {
    ($type:ident) => {
        impl Eq for $type {}

        impl Hash for $type {
            #[inline]
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.to_bits().hash(state);
            }
        }

        impl PartialOrd for $type {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
            #[inline]
            fn lt(&self, other: &Self) -> bool {
                self.as_secs() < other.as_secs()
            }
            #[inline]
            fn le(&self, other: &Self) -> bool {
                self.as_secs() <= other.as_secs()
            }
            #[inline]
            fn gt(&self, other: &Self) -> bool {
                self.as_secs() > other.as_secs()
            }
            #[inline]
            fn ge(&self, other: &Self) -> bool {
                self.as_secs() >= other.as_secs()
            }
        }

        impl Ord for $type {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.to_bits().cmp(&other.0.to_bits())
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
        }
    };
}

order_by_seconds!(Time);
order_by_seconds!(Span);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0.0);
    /// A moment that never comes.
    pub const NEVER: Self = Self(f64::INFINITY);
    /// The end of simulated time, 1e20 s (3e12 years): a run with its next event at this date or
    /// later ends with [`Limit::Overflow`](crate::Limit::Overflow). Around this date the steps of a
    /// double-precision number are 16384 s.
    pub const HORIZON: Self = Self(1e20);

    /// The moment `seconds` after the start.
    ///
    /// # Panics
    /// If `seconds` is NaN or negative.
    #[inline]
    #[must_use]
    pub fn from_secs(seconds: f64) -> Self {
        assert!(
            seconds >= 0.0,
            "a moment must be a number of seconds >= 0, not {seconds}"
        );
        // Adding +0.0 turns -0.0 into +0.0, whose bits sort first.
        Self(seconds + 0.0)
    }

    /// Seconds since the start of the simulation.
    #[inline]
    #[must_use]
    pub const fn as_secs(self) -> f64 {
        self.0
    }

    /// The bit pattern of the seconds: a `u64` that sorts as the moments do.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// Returns the moment with the [`Time::to_bits`] value `bits`.
    ///
    /// # Panics
    /// If `bits` is not the pattern of a moment.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self::from_secs(f64::from_bits(bits))
    }

    /// The duration since `earlier`, or zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Self) -> Span {
        if earlier >= self {
            Span::ZERO
        } else {
            Span::from_secs(self.as_secs() - earlier.as_secs())
        }
    }

    /// The distance to the next representable moment, in seconds.
    #[inline]
    #[must_use]
    pub fn ulp(self) -> f64 {
        let here = self.as_secs();
        if here.is_finite() {
            f64::from_bits(here.to_bits() + 1) - here
        } else {
            0.0
        }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);
    /// For ever.
    pub const INFINITE: Self = Self(f64::INFINITY);

    /// A duration of `seconds`.
    ///
    /// # Panics
    /// If `seconds` is NaN or negative.
    #[inline]
    #[must_use]
    pub fn from_secs(seconds: f64) -> Self {
        assert!(
            seconds >= 0.0,
            "a duration must be a number of seconds >= 0, not {seconds}"
        );
        Self(seconds + 0.0)
    }

    /// A duration in milliseconds.
    ///
    /// # Panics
    /// If `milliseconds` is NaN or negative.
    #[must_use]
    pub fn from_millis(milliseconds: f64) -> Self {
        Self::from_secs(milliseconds / 1e3)
    }

    /// A duration in microseconds.
    ///
    /// # Panics
    /// If `microseconds` is NaN or negative.
    #[must_use]
    pub fn from_micros(microseconds: f64) -> Self {
        Self::from_secs(microseconds / 1e6)
    }

    /// The duration in seconds.
    #[inline]
    #[must_use]
    pub const fn as_secs(self) -> f64 {
        self.0
    }
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Span {
    type Output = Self;
    /// The difference, or zero if `other` is longer.
    #[inline]
    fn sub(self, other: Self) -> Self {
        if other >= self {
            Self::ZERO
        } else {
            Self(self.0 - other.0)
        }
    }
}

impl Mul<f64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, factor: f64) -> Self {
        Self::from_secs(self.as_secs() * factor)
    }
}

impl Div<f64> for Span {
    type Output = Self;
    #[inline]
    fn div(self, divisor: f64) -> Self {
        Self::from_secs(self.as_secs() / divisor)
    }
}

impl fmt::Display for Time {
    /// Seconds with the precision asked for, by default the shortest text that reads back as the
    /// same moment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        f.write_str(" s")
    }
}

impl fmt::Display for Span {
    /// Seconds, as [`Time`] prints them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        f.write_str(" s")
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({})", self.0)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Span({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_sort_as_moments_do() {
        let mut moments = [1e-12, 0.0, 3.5, 1e300, 1.0].map(Time::from_secs);
        moments.sort();
        assert!(
            moments
                .windows(2)
                .all(|pair| pair[0].to_bits() < pair[1].to_bits())
        );
        assert_eq!(Time::from_secs(-0.0).to_bits(), 0);
    }

    #[test]
    #[should_panic(expected = "a moment must be")]
    fn nan_is_refused() {
        let _ = Time::from_secs(f64::NAN);
    }

    #[test]
    fn differences_never_go_below_zero() {
        assert_eq!(Time::from_secs(1.0).since(Time::from_secs(2.0)), Span::ZERO);
        assert_eq!(Span::from_secs(1.0) - Span::from_secs(2.0), Span::ZERO);
        assert_eq!(Time::NEVER.since(Time::NEVER), Span::ZERO);
    }
}
