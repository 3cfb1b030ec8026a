//! Memory of received messages, which the next messages take over.
//!
//! A program sends messages of few lengths again and again, and two allocations take longer than
//! the rest of a message. *Not here*: the content; a message that takes over memory overwrites all
//! bytes.

use std::cell::RefCell;
use std::rc::Rc;

use mpi::Buffer;

/// Number of lists of buffers, each for the messages of one length.
const LISTS: usize = 16;

/// Maximum length of a message in bytes: copies of longer messages cost more than allocations.
const LENGTH_MAX: usize = 64 << 10;

/// Maximum number of bytes in a list.
const LIST_MAX: usize = 1 << 20;

/// Buffers that no message has any more, of the ranks of one thread.
#[derive(Default, Debug)]
pub(crate) struct FreeBuffers(RefCell<[Vec<Buffer>; LISTS]>);

/// Returns the list for messages of a length, by Fibonacci hashing.
#[inline]
const fn list_index(length: usize) -> usize {
    length.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - LISTS.ilog2())
}

impl FreeBuffers {
    /// Returns a message with these bytes in memory of an earlier message, if there is some.
    #[inline]
    pub(crate) fn take_buffer(&self, bytes: &[u8]) -> Option<Buffer> {
        let is_as_long = |buffer: &mut Buffer| buffer.len() == bytes.len() as u64;
        let mut buffer = self.0.borrow_mut()[list_index(bytes.len())].pop_if(is_as_long)?;
        // A fault in the memory of the program leaves the stack here: no list is borrowed any more.
        buffer.bytes_mut()?.copy_from_slice(bytes);
        Some(buffer)
    }

    /// Keeps the memory of a received message, unless another buffer shares this memory.
    #[inline]
    pub(crate) fn keep_buffer(&self, buffer: Buffer) {
        let Some(bytes) = buffer.shared_bytes() else {
            return;
        };
        let length = bytes.len();
        if length.wrapping_sub(1) >= LENGTH_MAX || Rc::strong_count(bytes) > 1 {
            return;
        }
        let list = &mut self.0.borrow_mut()[list_index(length)];
        if list.last().is_some_and(|last| last.len() != buffer.len()) {
            // The program sends messages of another length now.
            list.clear();
        }
        if list.len() * length < LIST_MAX {
            list.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns another length with the same list.
    fn length_in_list_of(length: usize) -> usize {
        let mut others = length + 1..;
        let is_same = |other: &usize| list_index(*other) == list_index(length);
        others.find(is_same).unwrap()
    }

    proptest! {
        /// Messages have their own bytes, with and without memory of earlier messages.
        #[test]
        fn messages_keep_their_bytes(
            steps in prop::collection::vec((0..4_usize, any::<u8>(), any::<bool>()), 1..60),
        ) {
            let free = FreeBuffers::default();
            let lengths = [1, length_in_list_of(1), 1024, LENGTH_MAX + 1];
            let mut sent: Vec<(Buffer, Vec<u8>)> = Vec::new();
            for (kind, byte, is_received) in steps {
                if is_received && !sent.is_empty() {
                    let (buffer, bytes) = sent.swap_remove(kind % sent.len());
                    prop_assert_eq!(buffer.bytes(), Some(&bytes[..]));
                    free.keep_buffer(buffer);
                    continue;
                }
                let bytes = vec![byte; lengths[kind]];
                let new = free.take_buffer(&bytes);
                sent.push((new.unwrap_or_else(|| Buffer::from(bytes.clone())), bytes));
            }
            for (buffer, bytes) in &sent {
                prop_assert_eq!(buffer.bytes(), Some(&bytes[..]));
            }
        }
    }

    #[test]
    fn memory_that_another_buffer_shares_is_not_taken_over() {
        let free = FreeBuffers::default();
        let first = Buffer::from(vec![1; 8]);
        let copy = first.clone();
        free.keep_buffer(first);
        assert!(free.take_buffer(&[2; 8]).is_none());
        free.keep_buffer(copy);
        let second = free.take_buffer(&[2; 8]);
        assert_eq!(second.unwrap().bytes(), Some(&[2; 8][..]));
        assert!(free.take_buffer(&[3; 8]).is_none());
    }

    #[test]
    fn lists_have_one_length_and_a_limit() {
        let free = FreeBuffers::default();
        let count = || free.0.borrow().iter().map(Vec::len).sum::<usize>();
        (0..100).for_each(|_| free.keep_buffer(Buffer::from(vec![0; LENGTH_MAX])));
        assert_eq!(count(), LIST_MAX / LENGTH_MAX);
        free.keep_buffer(Buffer::from(vec![0; LENGTH_MAX + 1]));
        free.keep_buffer(Buffer::phantom(8));
        assert_eq!(count(), LIST_MAX / LENGTH_MAX);
        free.keep_buffer(Buffer::zeroed(0));
        assert_eq!(count(), LIST_MAX / LENGTH_MAX);
        (0..2).for_each(|_| free.keep_buffer(Buffer::from(vec![0; 1])));
        let other = vec![0; length_in_list_of(1)];
        free.keep_buffer(Buffer::from(other.clone()));
        assert!(free.take_buffer(&[0]).is_none() && free.take_buffer(&other).is_some());
    }
}
