//! Datatypes of the target: the places of the data of one access in a window, and their description
//! in a packet.
//!
//! The description comes before the data in the payload. It is a list of entries of 16 bytes: an
//! offset and a length, or a stride and the number of repetitions of the previous place. So a
//! vector is two entries. An access with a too long packet is split into several packets, each with
//! the description of its own part of the data.
//!
//! *Not modelled*: the time to unpack at the target, and descriptions that a target has stored. The
//! network is charged for at most 4096 bytes of a description, because MPI libraries send the
//! constructor of a datatype, or send it once.

use crate::{Datatype, Result};

/// Offset and length in bytes.
pub(crate) type Segment = (u64, u64);

/// Length of an entry of a description in bytes.
const ENTRY: usize = 16;

/// The bit of an entry that repeats the place before.
const REPEATS: u64 = 1 << 63;

/// The place of an access in the window of its target: a displacement, for data that are contiguous
/// there, or a displacement with places of the data behind it.
///
/// ```
/// use mpi::{Datatype, TargetPlace};
///
/// // The first column of a matrix of 4 x 4 numbers.
/// let column = Datatype::vector(4, 1, 4, &Datatype::of::<f64>())?;
/// let place = TargetPlace::items(0, 1, &column)?;
/// assert_ne!(place, TargetPlace::from(0));
/// # Ok::<(), mpi::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetPlace {
    /// In units of the window of the target.
    pub(super) displacement: u64,
    /// Relative to the displacement, in the order of the data; empty if the data are contiguous.
    pub(super) pieces: Vec<Segment>,
}

impl From<u64> for TargetPlace {
    fn from(displacement: u64) -> Self {
        Self {
            displacement,
            pieces: Vec::new(),
        }
    }
}

impl TargetPlace {
    /// Returns the place of `count` items of a datatype: the arguments `target_disp`,
    /// `target_count` and `target_datatype` of MPI's calls.
    ///
    /// # Errors
    /// [`Error::Type`](crate::Error::Type) if the items end behind byte 2^64 - 1.
    pub fn items(displacement: u64, count: u64, item: &Datatype) -> Result<Self> {
        let mut pieces = Vec::new();
        item.for_each_run(count, &mut |start, length| pieces.push((start, length)))?;
        Ok(Self::pieces(displacement, pieces))
    }

    /// Returns the place of data at several offsets in bytes behind the displacement: offset and
    /// length of each piece, in the order of the data.
    #[must_use]
    pub fn pieces(displacement: u64, pieces: Vec<(u64, u64)>) -> Self {
        let mut joined: Vec<Segment> = Vec::with_capacity(pieces.len());
        for (offset, length) in pieces.into_iter().filter(|piece| piece.1 > 0) {
            match joined.last_mut() {
                Some((start, bytes)) if start.checked_add(*bytes) == Some(offset) => {
                    *bytes += length;
                }
                _ => joined.push((offset, length)),
            }
        }
        if let [(0, _)] = joined[..] {
            joined.clear();
        }
        Self {
            displacement,
            pieces: joined,
        }
    }

    /// Returns the bytes at the target, if a datatype says how many.
    pub(super) fn data_length(&self) -> Option<u64> {
        (!self.pieces.is_empty()).then(|| total(&self.pieces))
    }
}

/// Returns the length of all pieces in bytes.
pub(crate) fn total(pieces: &[Segment]) -> u64 {
    pieces
        .iter()
        .fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
}

/// Returns the first byte and the end of all pieces; `None` if an end is behind byte 2^64 - 1.
pub(crate) fn bounds(pieces: &[Segment]) -> Option<(u64, u64)> {
    let mut bounds = (u64::MAX, 0);
    for &(start, length) in pieces {
        bounds = (
            bounds.0.min(start),
            bounds.1.max(start.checked_add(length)?),
        );
    }
    (bounds.0 <= bounds.1).then_some(bounds)
}

/// Returns the description of pieces.
pub(crate) fn encode_pieces(pieces: &[Segment]) -> Vec<u8> {
    let mut entries = Vec::new();
    let mut rest = pieces;
    while let Some((&(first, length), others)) = rest.split_first() {
        entries.push((first, length));
        let mut repeats = 0;
        if let Some(&(second, _)) = others.first() {
            let stride = second.wrapping_sub(first);
            let mut expected = second;
            let is_next = |&&(offset, bytes): &&Segment| {
                let is_next = (offset, bytes) == (expected, length);
                expected = expected.wrapping_add(stride);
                is_next
            };
            repeats = others.iter().take_while(is_next).count();
            if repeats > 0 {
                entries.push((stride, REPEATS | repeats as u64));
            }
        }
        rest = &others[repeats..];
    }
    let bytes = entries.iter().flat_map(|(first, second)| {
        let [first, second] = [first, second].map(|number| number.to_le_bytes());
        first.into_iter().chain(second)
    });
    bytes.collect()
}

/// Reads a description of pieces within a window of `size` bytes, with `length` bytes together;
/// `None` if the description is not valid.
pub(crate) fn read(description: &[u8], size: u64, length: Option<u64>) -> Option<Vec<Segment>> {
    let (entries, []) = description.as_chunks::<ENTRY>() else {
        return None;
    };
    let mut left = length.unwrap_or(size);
    let mut pieces: Vec<Segment> = Vec::new();
    let mut add = |pieces: &mut Vec<Segment>, piece: Segment| {
        let end = piece.0.checked_add(piece.1)?;
        left = left.checked_sub(piece.1)?;
        (piece.1 > 0 && end <= size).then(|| pieces.push(piece))
    };
    for entry in entries {
        let (first, second) = entry.split_at(ENTRY / 2);
        let [first, second] =
            [first, second].map(|half| half.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)));
        if second & REPEATS == 0 {
            add(&mut pieces, (first, second))?;
            continue;
        }
        let (mut offset, bytes) = *pieces.last()?;
        for _ in 0..second & !REPEATS {
            offset = offset.wrapping_add(first);
            add(&mut pieces, (offset, bytes))?;
        }
    }
    (length.is_none() || left == 0).then_some(pieces)
}

/// A part of an access that one packet has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AccessPart {
    /// First byte in the data.
    pub(crate) offset: u64,
    pub(crate) pieces: Vec<Segment>,
    pub(crate) description: Vec<u8>,
}

/// Cuts an access into parts with payloads of at most `most` bytes and whole elements. If
/// `is_read`, the data are not in the payload.
pub(crate) fn split_parts(
    pieces: &[Segment],
    most: u64,
    element: u64,
    is_read: bool,
) -> Vec<AccessPart> {
    let mut parts: Vec<AccessPart> = Vec::new();
    let (mut rest, mut used, mut offset) = (pieces, 0, 0);
    let mut left = total(pieces);
    // A part of a read is not tried with much more than fitted before.
    let mut trial = if is_read { left } else { most };
    while left > 0 {
        let mut length = left.min(trial);
        let (part, description) = loop {
            if length < left {
                length = (length - length % element).max(element).min(left);
            }
            let part = head(rest, used, length);
            let description = encode_pieces(&part);
            let described = description.len() as u64;
            let data = if is_read { 0 } else { length };
            if data.saturating_add(described) <= most || length <= element {
                break (part, description);
            }
            length -= (length / 2).min(described).max(1);
        };
        if is_read {
            trial = length.saturating_mul(2);
        }
        let last = part.last().map_or(0, |piece| piece.1);
        used = if part.len() == 1 { used + last } else { last };
        rest = &rest[part.len() - 1..];
        if rest.first().is_some_and(|piece| piece.1 == used) {
            (rest, used) = (&rest[1..], 0);
        }
        parts.push(AccessPart {
            offset,
            pieces: part,
            description,
        });
        (offset, left) = (offset + length, left - length);
    }
    parts
}

/// Returns the pieces of `length` bytes behind the first `used` ones.
fn head(pieces: &[Segment], used: u64, mut length: u64) -> Vec<Segment> {
    let mut head = Vec::new();
    let mut skipped = used;
    for &(offset, bytes) in pieces {
        let taken = (bytes - skipped).min(length);
        head.push((offset + skipped, taken));
        (skipped, length) = (0, length - taken);
        if length == 0 {
            break;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 4 bytes, 8 bytes apart.
    fn strided(count: u64) -> Vec<Segment> {
        (0..count).map(|number| (8 * number, 4)).collect()
    }

    #[test]
    fn a_vector_is_two_entries_however_long() {
        for count in [2, 3, 10_000] {
            let description = encode_pieces(&strided(count));
            assert_eq!(description.len(), 2 * ENTRY, "{count}");
        }
        assert_eq!(encode_pieces(&strided(1)).len(), ENTRY);
    }

    #[test]
    fn descriptions_are_read_as_they_were_written() {
        let backwards = vec![(40, 4), (20, 4), (0, 4)];
        let twice = vec![(8, 4), (8, 4), (30, 1), (31, 2), (40, 7), (50, 7)];
        for pieces in [strided(1), strided(9), backwards, twice] {
            let (end, length) = (bounds(&pieces).unwrap().1, total(&pieces));
            let description = encode_pieces(&pieces);
            let read_back = read(&description, end, Some(length));
            assert_eq!(read_back.as_ref(), Some(&pieces));
            assert_eq!(read(&description, end - 1, Some(length)), None, "outside");
            assert_eq!(read(&description, end, Some(length + 1)), None, "too short");
            assert_eq!(read(&description[1..], end, Some(length)), None);
        }
        let endless = [7_u64.to_le_bytes(), u64::MAX.to_le_bytes()].concat();
        assert_eq!(read(&endless, 1 << 40, None), None, "nothing to repeat");
        let endless = [encode_pieces(&strided(1)), endless].concat();
        assert_eq!(read(&endless, 1 << 20, None), None, "more than the window");
    }

    #[test]
    fn parts_are_the_whole_and_fit_into_packets() {
        let irregular: Vec<Segment> = (0..99).map(|n| (8 * n + n % 3, 1 + n % 5)).collect();
        for (pieces, most) in [(strided(1000), 64), (irregular, 64), (strided(3), u64::MAX)] {
            for is_read in [false, true] {
                let parts = split_parts(&pieces, most, 1, is_read);
                let mut offset = 0;
                let mut all = Vec::new();
                for part in &parts {
                    let data = total(&part.pieces);
                    assert_eq!(part.offset, offset);
                    offset += data;
                    let data = if is_read { 0 } else { data };
                    assert!(data + part.description.len() as u64 <= most, "{part:?}");
                    all.extend_from_slice(&part.pieces);
                }
                let joined = TargetPlace::pieces(0, all);
                assert_eq!(joined, TargetPlace::pieces(0, pieces.clone()));
                assert!(parts.len() == 1 || most == 64);
            }
        }
    }

    #[test]
    fn elements_are_not_cut() {
        let parts = split_parts(&strided(100), 64, 16, false);
        assert!(parts.len() > 1);
        for part in parts {
            assert_eq!(total(&part.pieces) % 16, 0);
        }
    }

    #[test]
    fn contiguous_items_have_no_pieces() {
        let number = Datatype::of::<u64>();
        let place = TargetPlace::items(3, 5, &number).unwrap();
        assert_eq!(place, TargetPlace::from(3));
        assert_eq!(TargetPlace::pieces(3, vec![(0, 8), (8, 8)]), place);
    }
}
