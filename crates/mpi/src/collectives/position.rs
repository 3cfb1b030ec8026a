//! Positions of collective calls among the calls that all ranks of a communicator make.
//!
//! Calls are numbered in their order, which is the same at all ranks. The initialising call gives a
//! persistent request its number among the persistent requests of the communicator. The request
//! counts its starts: ranks may start several requests in different orders (MPI 5.0, section 6.13).
//!
//! *Not modelled*: requests and starts have 15 and 16 bits. Two requests are taken for one if their
//! numbers differ by 2^15 and their starts by 2^16, and both are in progress.

use std::fmt;

/// The bit of a position that starts of persistent requests have.
const PERSISTENT: u32 = 1 << 31;

const START_BITS: u32 = 16;

/// The position of a call that not all ranks make; call 2^31 of all ranks has the same position.
pub(crate) const UNCOUNTED: u32 = PERSISTENT - 1;

/// Returns the position of a start of a persistent request: the number of the request and the
/// number of the start, both from 0.
pub(crate) const fn of_start(request: u32, start: u32) -> u32 {
    PERSISTENT | (request << START_BITS) & (PERSISTENT - 1) | start & ((1 << START_BITS) - 1)
}

/// Returns the position after the position of a call that is not persistent.
pub(crate) const fn next_position(position: u32) -> u32 {
    (position + 1) & (PERSISTENT - 1)
}

/// Returns true for a start of a persistent request.
#[must_use]
pub const fn is_persistent_start(position: u32) -> bool {
    position & PERSISTENT != 0
}

/// A position in words: `4`, or `2, start 3`, all from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InWords(pub(crate) u32);

impl fmt::Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.0;
        if !is_persistent_start(position) {
            return write!(f, "{}", position + 1);
        }
        let request = (position & (PERSISTENT - 1)) >> START_BITS;
        let start = position & ((1 << START_BITS) - 1);
        write!(f, "{}, start {}", request + 1, start + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{InWords, is_persistent_start, next_position, of_start};

    #[test]
    fn starts_have_positions_of_their_own() {
        assert_eq!(InWords(next_position(next_position(0))).to_string(), "3");
        assert_eq!(next_position(i32::MAX as u32), 0);
        assert!(!is_persistent_start(i32::MAX as u32));
        assert_eq!(InWords(of_start(1, 2)).to_string(), "2, start 3");
        // Numbers wrap where the bits end, and never become those of other calls.
        assert_eq!(of_start(1 << 15, 1 << 16), of_start(0, 0));
        assert!(is_persistent_start(of_start(u32::MAX, u32::MAX)));
        assert_ne!(of_start(0, 0xffff) + 1, of_start(0, 0x10000));
    }
}
