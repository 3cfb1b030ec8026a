//! Memory of long messages, kept for later messages.
//!
//! The memory in which a long message arrives becomes the receive buffer of the program, and the
//! former memory of this buffer is free. Memory that is returned to the system and requested again
//! causes a page fault per page; so free memory is kept for the next message of the same length.
//!
//! *Not modelled*: messages of changing lengths find no memory here and cause page faults.

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
    /// Keeps free memory. If this makes the pool too large, the memory that was kept before is
    /// released.
    pub(super) fn keep_buffer(&mut self, mut memory: Vec<u8>) {
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
    pub(super) fn take_buffer(&mut self, length: usize) -> Option<Vec<u8>> {
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
        pool.keep_buffer(memory);
        let longer = pool.take_buffer(LENGTH_MIN + 1).unwrap();
        assert_ne!(longer.as_ptr(), place);
        let again = pool.take_buffer(LENGTH_MIN).unwrap();
        assert_eq!(
            (again.as_ptr(), again.len(), again.capacity()),
            (place, 0, LENGTH_MIN)
        );
        assert_eq!(pool.total, 0);
    }

    #[test]
    fn short_memory_is_not_kept_and_long_memory_not_without_end() {
        let mut pool = BufferPool::default();
        pool.keep_buffer(vec![1; LENGTH_MIN - 1]);
        assert_eq!(pool.total, 0);
        for _ in 0..3 {
            pool.keep_buffer(Vec::with_capacity(TOTAL_MAX / 2));
        }
        assert_eq!(pool.total, TOTAL_MAX / 2);
        pool.keep_buffer(Vec::with_capacity(TOTAL_MAX + 1));
        assert_eq!(pool.total, TOTAL_MAX / 2);
    }
}
