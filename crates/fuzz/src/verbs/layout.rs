//! Memory of a side of a connection: a target region, which requests of the other side reach, and a
//! local region with a slot for each request and receive of this side.
//!
//! No two requests share a slot, so the content of a slot follows from one request alone.

use super::program::VerbsProgram;
use crate::pattern::pattern;

/// Bytes of a target region. \[choice\]
pub(super) const TARGET: u32 = 4096;

/// Bytes at the begin of a target region that are 0 at first: atomic operations find small numbers.
pub(super) const COUNTERS: u32 = 64;

/// Content of bytes of receives and of the distance between slots.
const FILL: u8 = 0xEE;

/// Slots of a local region.
pub(super) struct Slots {
    /// Offsets of requests, by number.
    pub(super) requests: Vec<u32>,
    /// Offsets of receives, by number.
    pub(super) receives: Vec<u32>,
    /// The initial content of the region.
    pub(super) content: Vec<u8>,
}

impl Slots {
    /// Returns the slots of a side of a connection.
    pub(super) fn new(program: &VerbsProgram, connection: usize, side: usize) -> Self {
        let mut slots = Self {
            requests: Vec::new(),
            receives: Vec::new(),
            content: vec![FILL; 8],
        };
        for (number, request) in (1..).zip(program.requests((connection, side))) {
            let begin = slots.content.len();
            slots.requests.push(begin as u32);
            slots.reserve(request.length);
            if !request.kind.returns_data() {
                let bytes = (0..request.length).map(|place| pattern(number, place));
                let slot = begin..begin + request.length as usize;
                slots.content.splice(slot, bytes);
            }
        }
        for receive in program.receives((connection, side)) {
            slots.receives.push(slots.content.len() as u32);
            slots.reserve(receive.length);
        }
        slots
    }

    /// Appends a slot, and a distance to the next one; results of atomic operations are aligned.
    fn reserve(&mut self, length: u32) {
        let length = self.content.len() + (length as usize + 1).next_multiple_of(8);
        self.content.resize(length, FILL);
    }
}

/// Returns the initial content of a target region.
pub(super) fn target(connection: usize, side: usize) -> Vec<u8> {
    let number = target_number(connection, side);
    let byte = |place| {
        if place < COUNTERS {
            0
        } else {
            pattern(number, place)
        }
    };
    (0..TARGET).map(byte).collect()
}

/// Returns the number of the pattern of a target region.
pub(super) const fn target_number(connection: usize, side: usize) -> u32 {
    100 + 2 * connection as u32 + side as u32
}
