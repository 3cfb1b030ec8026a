//! Segments: the parts of a long message that travel one after the other along a tree.

use crate::Call;

/// A message cut into segments of whole elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segments {
    /// First byte of the first segment.
    start: u64,
    /// Length of all segments together.
    bytes: u64,
    /// Length of each segment but the last.
    length: u64,
}

impl Segments {
    /// Cuts the contribution of a call into segments of `default` bytes, unless the call sets a
    /// segment length.
    pub(crate) fn from_call(call: &Call, default: u64) -> Self {
        let segment = match call.segment {
            0 => default,
            segment => segment,
        };
        Self::new(call.bytes, call.element, segment)
    }

    /// Cuts `bytes` bytes as Open MPI does: a segment has the number of elements that comes nearest
    /// to `segment` bytes. There is one segment if `segment` is 0, shorter than an element, or not
    /// shorter than the message.
    pub(crate) fn new(bytes: u64, element: u64, segment: u64) -> Self {
        let element = element.max(1);
        let length = if segment < element || segment >= bytes {
            bytes
        } else {
            let more = u64::from(segment % element > element / 2);
            (segment / element + more) * element
        };
        Self {
            start: 0,
            bytes,
            length,
        }
    }

    /// Cuts the bytes from `start` on in segments of exactly `length` bytes and a rest.
    pub(crate) const fn exact(start: u64, bytes: u64, length: u64) -> Self {
        Self {
            start,
            bytes,
            length,
        }
    }

    /// Returns the number of segments, at least 1: an empty message is one empty segment.
    pub(crate) fn count(self) -> u32 {
        let count = self.bytes.div_ceil(self.length.max(1));
        u32::try_from(count.max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the first byte and the length of a segment.
    pub(crate) fn range(self, index: u32) -> (u64, u64) {
        let from = u64::from(index) * self.length;
        (self.start + from, self.length.min(self.bytes - from))
    }

    /// Returns the length of the longest segment.
    pub(crate) const fn longest(self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_whole_elements_and_cover_the_message() {
        for (bytes, element, segment) in [
            (0, 8, 64),
            (8, 8, 64),
            (64, 8, 64),
            (72, 8, 64),
            (1000, 8, 63),
            (1000, 8, 60),
            (1000, 8, 4),
            (1000, 8, 0),
            (999, 3, 10),
        ] {
            let segments = Segments::new(bytes, element, segment);
            let mut next = 0;
            for index in 0..segments.count() {
                let (start, length) = segments.range(index);
                assert_eq!(start, next);
                assert!(length.is_multiple_of(element) && length <= segments.longest());
                next += length;
            }
            assert_eq!(next, bytes, "{bytes} of {element} by {segment}");
        }
        // 60 bytes are 7 elements and more than half an element: 8 elements.
        assert_eq!(Segments::new(1000, 8, 61).longest(), 64);
        assert_eq!(Segments::new(1000, 8, 60).longest(), 56);
    }
}
