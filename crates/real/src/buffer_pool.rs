//! Memory of long messages, kept for the next ones.
//!
//! The memory that a long message arrives in becomes the receive buffer of the program, and the one
//! that this had before is free. Given back to the system and asked for again, it would come with a
//! page fault for each of its pages; so it is kept for the next message of its length.
//!
//! *Not modelled*: messages whose lengths differ from one to the next find nothing here and pay for
//! their pages.

use std::collections::BTreeMap;

/// Shorter ones come from memory that the allocator keeps anyway.
const LENGTH_MIN: usize = 64 * 1024;

/// Maximum number of bytes that are kept.
const TOTAL_MAX: usize = 64 << 20;

/// Buffers that are kept.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    by_length: BTreeMap<usize, Vec<Vec<u8>>>,
    total: usize,
}

impl BufferPool {
    /// Keeps memory that nobody needs any more. If there is too much of it then, what was kept
    /// before goes.
    pub(super) fn keep(&mut self, mut memory: Vec<u8>) {
        let length = memory.capacity();
        if !(LENGTH_MIN..=TOTAL_MAX).contains(&length) {
            return;
        }
        if self.total + length > TOTAL_MAX {
            *self = Self::default();
        }
        memory.clear();
        self.total += length;
        self.by_length.entry(length).or_default().push(memory);
    }

    /// Empty memory with room for exactly this many bytes; `None` if there is none, kept or new.
    pub(super) fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        if length >= LENGTH_MIN
            && let Some(memory) = self.by_length.get_mut(&length).and_then(Vec::pop)
        {
            self.total -= length;
            return Some(memory);
        }
        let mut memory = Vec::new();
        let reserved = memory.try_reserve_exact(length);
        // Reading fills the capacity, which therefore must not be more than what is to be read.
        (reserved.is_ok() && memory.capacity() == length).then_some(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_for_messages_of_its_length() {
        let mut pool = BufferPool::default();
        let memory = vec![1; LENGTH_MIN];
        let place = memory.as_ptr();
        pool.keep(memory);
        let longer = pool.take(LENGTH_MIN + 1).unwrap();
        assert_ne!(longer.as_ptr(), place);
        let again = pool.take(LENGTH_MIN).unwrap();
        assert_eq!(
            (again.as_ptr(), again.len(), again.capacity()),
            (place, 0, LENGTH_MIN)
        );
        assert_eq!(pool.total, 0);
    }

    #[test]
    fn short_memory_is_not_kept_and_long_memory_not_without_end() {
        let mut pool = BufferPool::default();
        pool.keep(vec![1; LENGTH_MIN - 1]);
        assert_eq!(pool.total, 0);
        for _ in 0..3 {
            pool.keep(Vec::with_capacity(TOTAL_MAX / 2));
        }
        assert_eq!(pool.total, TOTAL_MAX / 2);
        pool.keep(Vec::with_capacity(TOTAL_MAX + 1));
        assert_eq!(pool.total, TOTAL_MAX / 2);
    }
}
