//! Classes of accesses to memory of an actor by arrivals. The classes of two accesses decide
//! whether the accesses depend on each other. A class is a number of 31 bits.
//!
//! *Not decided here*: which arrivals access memory; see the package `fabric`.

/// Kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessEffect {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Changes each element by an operation, without a result. Two of one operation commute.
    Update(u8),
    /// Changes or reads each element in one step.
    Exchange,
    /// Asks for the lock together with others.
    SharedLock,
    /// Asks for the lock alone.
    ExclusiveLock,
    /// Ends accesses. `is_plain`: some of them were no updates.
    Release {
        /// True if some of the accesses read or write.
        is_plain: bool,
    },
}

/// The class of an access: the effect, the memory, and the places in the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessClass(u32);

/// Bytes of a unit of places.
const UNIT: u64 = 4;
/// The number of the first unit, and the number of units, of places that are not told apart.
const FIRST_MAX: u32 = (1 << 10) - 1;
const COUNT_MAX: u32 = (1 << 6) - 1;
const MARK: u32 = 1 << 31;

impl AccessClass {
    /// The class of an access to `length` bytes from `start` on in the memory with this number.
    #[must_use]
    pub fn new(effect: AccessEffect, memory: u32, (start, length): (u64, u64)) -> Self {
        let (kind, operation) = match effect {
            AccessEffect::Read => (0, 0),
            AccessEffect::Write => (1, 0),
            AccessEffect::Update(operation) => (2, operation),
            AccessEffect::Exchange => (3, 0),
            AccessEffect::SharedLock => (4, 0),
            AccessEffect::ExclusiveLock => (5, 0),
            AccessEffect::Release { is_plain: false } => (6, 0),
            AccessEffect::Release { is_plain: true } => (7, 0),
        };
        let first = start / UNIT;
        let count = start.saturating_add(length).div_ceil(UNIT) - first;
        let narrow = |number: u64, most: u32| u32::try_from(number).unwrap_or(most).min(most);
        let places = narrow(first, FIRST_MAX) << 6 | narrow(count, COUNT_MAX);
        Self(MARK | kind << 28 | (memory & 15) << 24 | u32::from(operation) << 16 | places)
    }

    /// The class as a number, which has bit 31.
    #[must_use]
    pub const fn to_number(self) -> u32 {
        self.0
    }

    /// The class with this number; `None` without bit 31.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        if number & MARK != 0 {
            Some(Self(number))
        } else {
            None
        }
    }

    const fn effect_kind(self) -> u32 {
        self.0 >> 28 & 7
    }

    /// The first unit and the unit behind the last one.
    fn unit_range(self) -> (u32, u32) {
        let (first, count) = (self.0 >> 6 & FIRST_MAX, self.0 & COUNT_MAX);
        let is_open = first == FIRST_MAX || count == COUNT_MAX;
        (first, if is_open { u32::MAX } else { first + count })
    }

    /// Returns true if the order of two accesses of different actors matters.
    #[must_use]
    pub fn conflicts_with(self, other: Self) -> bool {
        if (self.0 ^ other.0) >> 24 & 15 != 0 {
            return false;
        }
        let (first, second) = if self.effect_kind() <= other.effect_kind() {
            (self, other)
        } else {
            (other, self)
        };
        match (first.effect_kind(), second.effect_kind()) {
            (0, 0) => false,
            (2, 2) if (first.0 ^ second.0) >> 16 & 255 == 0 => false,
            (0..=3, 0..=3) => {
                let ((start, end), (other_start, other_end)) =
                    (first.unit_range(), second.unit_range());
                start < other_end && other_start < end
            }
            // The release decides whether the accesses are in progress at the same time.
            (0..=1, 6) | (0..=3, 7) => true,
            (4, 5) | (5, 5) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AccessClass, AccessEffect};

    fn class(effect: AccessEffect, start: u64) -> AccessClass {
        let class = AccessClass::new(effect, 3, (start, 8));
        assert_eq!(AccessClass::from_number(class.to_number()), Some(class));
        class
    }

    #[test]
    fn accesses_conflict_if_they_overlap_and_do_not_commute() {
        use AccessEffect::{Exchange, Read, Update, Write};
        for (first, second, expected) in [
            (Read, Read, false),
            (Read, Write, true),
            (Write, Write, true),
            (Update(1), Update(1), false),
            (Update(1), Update(2), true),
            (Update(1), Exchange, true),
            (Exchange, Exchange, true),
        ] {
            for (distance, overlaps) in [(0, true), (4, true), (8, false), (1 << 40, false)] {
                let pair = (class(first, 0), class(second, distance));
                let expected = expected && overlaps;
                assert_eq!(
                    pair.0.conflicts_with(pair.1),
                    expected,
                    "{first:?} {second:?}"
                );
                assert_eq!(
                    pair.1.conflicts_with(pair.0),
                    expected,
                    "{first:?} {second:?}"
                );
            }
        }
        let far = 1 << 40;
        assert!(
            class(Write, far).conflicts_with(class(Write, 2 * far)),
            "not told apart"
        );
        let other = AccessClass::new(Write, 4, (0, 8));
        assert!(!class(Write, 0).conflicts_with(other), "another memory");
    }

    #[test]
    fn locks_depend_on_exclusive_locks() {
        use AccessEffect::{ExclusiveLock, Release, SharedLock, Update, Write};
        let (shared, exclusive) = (class(SharedLock, 0), class(ExclusiveLock, 0));
        assert!(!shared.conflicts_with(shared));
        assert!(shared.conflicts_with(exclusive) && exclusive.conflicts_with(exclusive));
        let [updates, all] = [false, true].map(|is_plain| class(Release { is_plain }, 0));
        assert!(!updates.conflicts_with(exclusive) && !updates.conflicts_with(all));
        assert!(updates.conflicts_with(class(Write, 0)) && all.conflicts_with(class(Write, 0)));
        assert!(
            !updates.conflicts_with(class(Update(1), 0)) && all.conflicts_with(class(Update(1), 0))
        );
    }
}
