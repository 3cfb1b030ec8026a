//! Memory of messages that no receive has met, of all ranks of a process.

use std::cell::RefCell;

/// Bytes of messages by their senders; of ranks that have sent no such message there are none.
#[derive(Default, Debug)]
pub(crate) struct StoredBytes(RefCell<Vec<u64>>);

impl StoredBytes {
    /// Adds bytes of a rank; returns the sum of that rank.
    #[inline(always)]
    pub(crate) fn add_bytes(&self, rank: u32, bytes: u64) -> u64 {
        let mut all = self.0.borrow_mut();
        let rank = rank as usize;
        if rank >= all.len() {
            all.resize(rank + 1, 0);
        }
        let stored = &mut all[rank];
        *stored += bytes;
        *stored
    }

    /// Subtracts bytes from the sum of a rank; bytes that were not added do not count.
    #[inline]
    pub(crate) fn remove_bytes(&self, rank: u32, bytes: u64) {
        if let Some(stored) = self.0.borrow_mut().get_mut(rank as usize) {
            *stored = stored.saturating_sub(bytes);
        }
    }
}
