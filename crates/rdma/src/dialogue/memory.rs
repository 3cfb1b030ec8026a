//! The memory of the device under test: one region with an area for each use.

/// Bytes of the area of one message: the longest has five packets of the largest path MTU.
const MESSAGE: u64 = 5 * 4096;

/// The offset of the eight bytes for atomic operations.
pub const ATOMIC: u64 = 0;
/// The offset of the bytes that the tester reads.
pub const READ: u64 = 4096;
/// The offset of the bytes that the tester writes.
pub const WRITE: u64 = READ + 2 * MESSAGE;
/// The offset of the memory of the first receive. The memory of the other receives follows.
pub const RECEIVE: u64 = WRITE + 2 * MESSAGE;
/// Number of receives that have memory.
const RECEIVES_MAX: u64 = 4;
/// Number of requests of the device that have memory.
const REQUESTS_MAX: u64 = 4;
/// Length of the region.
pub(super) const LENGTH: u64 = local(REQUESTS_MAX);

/// Returns the offset of the memory of a receive.
pub(super) const fn receive_offset(number: u32) -> u64 {
    RECEIVE + number as u64 % RECEIVES_MAX * MESSAGE
}

/// Returns the offset of the memory that a request of the device sends from or reads to; the
/// requests count from 0.
#[must_use]
pub const fn local(request: u64) -> u64 {
    RECEIVE + (RECEIVES_MAX + request) * MESSAGE
}

/// The initial value of the eight bytes at [`ATOMIC`]: after two additions of
/// `0x1111_1111_1111_1111` the value wraps.
pub(super) const ATOMIC_START: u64 = 0xEEEE_EEEE_EEEE_EEEF;

/// Returns the byte at a position of a pattern. Patterns of other `seed`s differ everywhere, and
/// no pattern repeats after a multiple of a path MTU.
#[must_use]
pub const fn pattern_byte(seed: u8, position: u32) -> u8 {
    (position.wrapping_add(1).wrapping_mul(0x9E37_79B1) >> 24) as u8 ^ seed
}
