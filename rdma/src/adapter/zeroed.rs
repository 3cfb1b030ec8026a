//! Memory of zeros that is allocated as it is used: registering a large region costs nothing, and
//! an adapter with many buffers of which few are used stays small.

use std::hash::{Hash, Hasher};
use std::ops::Range;

/// The smallest allocation, in bytes. \[choice\]
const LEAST: usize = 512;

/// A region of zeros. Only its begin, up to the last byte that was accessed, is allocated.
#[derive(Clone, Debug)]
pub(super) struct Zeroed {
    bytes: Vec<u8>,
    length: usize,
}

impl Zeroed {
    pub(super) const fn new(length: usize) -> Self {
        Self {
            bytes: Vec::new(),
            length,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// Returns the bytes of a range; `None` if it is not within the region.
    pub(super) fn range(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        if range.end > self.bytes.len() {
            if range.end > self.length {
                return None;
            }
            let size = range.end.max(2 * self.bytes.len()).max(LEAST);
            self.bytes.resize(size.min(self.length), 0);
        }
        self.bytes.get_mut(range)
    }

    /// Returns the bytes up to the last one that is not 0.
    fn content(&self) -> &[u8] {
        let last = self.bytes.iter().rposition(|byte| *byte != 0);
        &self.bytes[..last.map_or(0, |last| last + 1)]
    }
}

impl PartialEq for Zeroed {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.content() == other.content()
    }
}

impl Eq for Zeroed {}

impl Hash for Zeroed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.length.hash(state);
        self.content().hash(state);
    }
}

#[cfg(test)]
mod tests {
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
}
