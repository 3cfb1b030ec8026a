//! Memory of zeros that is allocated at its first access: registering a large region costs no
//! memory, and an adapter with many buffers stays small if few of them are used.

use std::hash::{Hash, Hasher};
use std::ops::Range;

/// The smallest allocation, in bytes. \[choice\]
const LEAST: usize = 512;

/// The smallest allocation for a range of at least [`LEAST`] bytes: more packets of a message will
/// follow. A part grows beyond a multiple of this value only if a range does. \[choice\]
const PAGE: usize = 4096;

/// Alignment of parts, in bytes: the unit of comparisons.
const BLOCK: usize = 64;

/// A region of zeros. Only the parts that were accessed are allocated.
#[derive(Clone, Debug)]
pub(super) struct Zeroed {
    /// Parts that are allocated, by their begin; they do not overlap.
    parts: Vec<AllocatedBytes>,
    /// The part that was accessed last.
    recent: usize,
    length: usize,
}

/// Allocated bytes.
#[derive(Clone, Debug)]
struct AllocatedBytes {
    /// A multiple of [`BLOCK`].
    begin: usize,
    /// A multiple of [`BLOCK`] long, but for the end of the region.
    bytes: Vec<u8>,
}

impl AllocatedBytes {
    const fn end(&self) -> usize {
        self.begin + self.bytes.len()
    }
}

impl Zeroed {
    pub(super) const fn new(length: usize) -> Self {
        Self {
            parts: Vec::new(),
            recent: 0,
            length,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// Returns the bytes of a range; `None` if the range is not within the region.
    #[inline]
    pub(super) fn range(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        let is_in = |part: &AllocatedBytes| part.begin <= range.start && range.end <= part.end();
        if !self.parts.get(self.recent).is_some_and(is_in) {
            return self.range_of_any(range);
        }
        let part = &mut self.parts[self.recent];
        let end = range.end.checked_sub(part.begin)?;
        part.bytes.get_mut(range.start - part.begin..end)
    }

    fn range_of_any(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        if range.end > self.length || range.start > range.end {
            return None;
        }
        if range.is_empty() {
            return Some(&mut []);
        }
        let behind = self.parts.partition_point(|part| part.begin <= range.start);
        let at = match behind.checked_sub(1) {
            Some(at) if range.end <= self.parts[at].end() => at,
            _ => self.allocate(behind, &range),
        };
        self.recent = at;
        let part = &mut self.parts[at];
        part.bytes
            .get_mut(range.start - part.begin..range.end - part.begin)
    }

    /// Allocates a range that begins before the part at `behind`; returns the index of its part.
    fn allocate(&mut self, mut behind: usize, range: &Range<usize>) -> usize {
        let before = behind.checked_sub(1).map(|at| self.parts[at].end());
        let at = match before {
            // It overlaps with the part before it, or continues it.
            Some(end) if end > range.start || end == range.start && end % PAGE != 0 => behind - 1,
            _ => {
                let begin = (range.start - range.start % LEAST).max(before.unwrap_or(0));
                let bytes = Vec::new();
                self.parts.insert(behind, AllocatedBytes { begin, bytes });
                behind += 1;
                behind - 1
            }
        };
        let begin = self.parts[at].begin;
        let mut bytes = std::mem::take(&mut self.parts[at].bytes);
        // At least an eighth of what is allocated, so that a large region has few parts.
        let allocated: usize = self.parts.iter().map(|part| part.bytes.len()).sum();
        let least = if range.len() < LEAST { LEAST } else { PAGE };
        let size = (2 * bytes.len()).max(least).max(allocated / 8);
        let mut end = (begin + size).max(range.end).next_multiple_of(BLOCK);
        // Parts behind it become parts of it, or limit it.
        while let Some(next) = self.parts.get(behind)
            && next.begin < end
        {
            if next.begin >= range.end {
                end = next.begin;
                break;
            }
            let next = self.parts.remove(behind);
            bytes.resize(next.begin - begin, 0);
            bytes.extend(next.bytes);
            end = end.max(begin + bytes.len());
        }
        bytes.resize(end.min(self.length) - begin, 0);
        self.parts[at].bytes = bytes;
        at
    }

    /// Returns the blocks with a byte that is not 0, and their places.
    fn nonzero_blocks(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let blocks = self.parts.iter().flat_map(|part| {
            let places = (part.begin..).step_by(BLOCK);
            places.zip(part.bytes.chunks(BLOCK))
        });
        blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0))
    }
}

impl PartialEq for Zeroed {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.nonzero_blocks().eq(other.nonzero_blocks())
    }
}

impl Eq for Zeroed {}

impl Hash for Zeroed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.length.hash(state);
        for block in self.nonzero_blocks() {
            block.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    #[test]
    fn it_is_all_zeros_whatever_is_allocated() {
        let (fresh, mut read) = (Zeroed::new(5000), Zeroed::new(5000));
        assert_eq!(read.range(4000..5000), Some(&mut [0; 1000][..]));
        assert_eq!(fresh, read);
        assert_eq!(read.range(4999..5001), None);
        read.range(7..8).expect("within")[0] = 1;
        assert_ne!(fresh, read);
        assert!(
            read.range(4000..5000)
                .is_some_and(|bytes| bytes == [0; 1000])
        );
    }

    /// Ranges in any order have the contents that a region without gaps has.
    #[test]
    fn ranges_in_any_order() {
        const LENGTH: usize = 10_000;
        let hash = |zeroed: &Zeroed| {
            let mut hasher = DefaultHasher::new();
            zeroed.hash(&mut hasher);
            hasher.finish()
        };
        let mut drawn = 1_usize;
        for _ in 0..200 {
            let (mut zeroed, mut plain) = (Zeroed::new(LENGTH), vec![0; LENGTH]);
            let mut written = Vec::new();
            for value in 1..20 {
                drawn = drawn.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                let begin = (drawn >> 33) % LENGTH;
                let end = LENGTH.min(begin + (drawn >> 20) % 1500);
                let found = zeroed.range(begin..end).expect("within");
                assert_eq!(found, &plain[begin..end]);
                found.fill(value);
                plain[begin..end].fill(value);
                written.push((begin..end, value));
                assert!(
                    zeroed
                        .parts
                        .is_sorted_by(|one, next| one.end() <= next.begin)
                );
            }
            assert_eq!(zeroed.range(0..LENGTH).expect("within"), plain);
            let mut other = Zeroed::new(LENGTH);
            for (range, value) in written {
                other.range(range).expect("within").fill(value);
            }
            assert_eq!((&zeroed, hash(&zeroed)), (&other, hash(&other)));
        }
    }

    #[test]
    fn a_few_bytes_of_many_buffers_take_little() {
        let mut zeroed = Zeroed::new(16 * 4096);
        for buffer in 0..16 {
            zeroed
                .range(buffer * 4096..buffer * 4096 + 16)
                .expect("within")[0] = 1;
        }
        let allocated: usize = zeroed.parts.iter().map(|part| part.bytes.len()).sum();
        assert!(allocated <= 16 * 1024, "{allocated} bytes");
    }
}
