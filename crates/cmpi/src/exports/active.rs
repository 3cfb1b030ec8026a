//! Memory of operations that have begun and are not complete, under a model checker.
//!
//! Until its end an operation owns its memory: a program must not write to a send buffer, and
//! neither read nor write a receive buffer (MPI 5.0, sections 3.7.2, 6.12 and 12.3). Compared are
//!
//! * a new operation with the incomplete operations, byte by byte: two operations with a common
//!   byte must not write this byte,
//! * the contents at the begin of an operation with the contents at its end, before the result is
//!   stored: if they differ, the program itself has written to the memory.
//!
//! *Not noticed*: reads by the program itself, writes of an unchanged value or behind the first
//! [`CONTENTS_MAX`] bytes of a buffer, partitioned messages, datatypes with more than
//! [`PIECES_MAX`] pieces.

use std::iter;

use super::memory;
use crate::bridge::{caller, with_state};
use crate::errors::CallError;
use crate::handles::Target;
use crate::state::requests::{ActiveMemory, ActiveOwner};
use crate::state::{Handle, MpiState};

/// Maximum number of pieces in memory of a buffer that is compared.
const PIECES_MAX: usize = 4096;

/// Maximum number of bytes at the begin of a buffer whose contents are compared.
const CONTENTS_MAX: usize = 4096;

impl ActiveMemory {
    /// Describes the memory.
    fn described(&self) -> String {
        let place = self
            .location
            .map_or_else(String::new, |at| format!(" at {at}"));
        let verb = if self.is_filled { "fills" } else { "reads" };
        format!("memory that the operation{place} {verb}")
    }
}

/// Returns a fingerprint of the contents.
fn contents(place: Target) -> u64 {
    let size = place.element.size.max(1);
    let length = place.length.min((CONTENTS_MAX / size).max(1) * size);
    memory::with_bytes(Target { length, ..place }, |bytes| {
        let word = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        bytes.chunks(8).map(word).fold(0, |sum: u64, word| {
            (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        })
    })
}

/// Returns the pieces of memory of an operation; none if there are too many.
fn pieces_of(place: Target) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for (start, length) in memory::all_pieces(place) {
        let count = all.len();
        match all.last_mut() {
            Some((_, end)) if *end == start => *end += length,
            _ if count == PIECES_MAX => return Vec::new(),
            _ => all.push((start, start + length)),
        }
    }
    all
}

/// Returns the pieces of places in the order of their addresses, joined where they touch, and true
/// if two of the pieces had a common byte.
fn merge_pieces<'a>(places: impl Iterator<Item = &'a Target>) -> (Vec<(usize, usize)>, bool) {
    let places = places.filter(|place| !place.is_nowhere());
    let mut all: Vec<_> = places.flat_map(|place| pieces_of(*place)).collect();
    all.retain(|(start, end)| start < end);
    all.sort_unstable();
    let mut has_overlap = false;
    all.dedup_by(|later, earlier| {
        has_overlap |= later.0 < earlier.1;
        let touches = later.0 <= earlier.1;
        if touches {
            earlier.1 = earlier.1.max(later.1);
        }
        touches
    });
    (all, has_overlap)
}

/// Returns true if two lists of merged pieces have a common byte.
fn overlap(some: &[(usize, usize)], others: &[(usize, usize)]) -> bool {
    let mut others = others.iter().peekable();
    some.iter().any(|(start, end)| {
        while others
            .next_if(|(_, other_end)| other_end <= start)
            .is_some()
        {}
        others.peek().is_some_and(|(other, _)| other < end)
    })
}

/// Returns true if some of the places and some of the others have a common byte.
pub(super) fn have_common_byte<'a>(
    some: impl Iterator<Item = &'a Target>,
    others: impl Iterator<Item = &'a Target>,
) -> bool {
    overlap(&merge_pieces(some).0, &merge_pieces(others).0)
}

/// Returns true if two of the places have a common byte.
pub(super) fn have_overlap(places: &[Target]) -> bool {
    merge_pieces(places.iter()).1
}

/// Returns the memory of an operation that reads `given` and fills `result`.
fn memory_of(owner: ActiveOwner, given: &[Target], result: &[Target]) -> Vec<ActiveMemory> {
    let location = caller().location();
    let parts = given.iter().map(|place| (place, false));
    let parts = parts.chain(result.iter().map(|place| (place, true)));
    let parts = parts.filter(|(place, _)| place.length > 0 && !place.is_nowhere());
    parts
        .map(|(place, is_filled)| ActiveMemory {
            owner,
            place: *place,
            pieces: merge_pieces(iter::once(place)).0,
            is_filled,
            location,
            contents: 0,
        })
        .collect()
}

impl MpiState {
    /// Compares a new operation with the incomplete operations.
    fn compare_active(&mut self, new: &[ActiveMemory]) -> Result<(), CallError> {
        let (requests, freed) = (&self.requests, &self.active.freed);
        self.active.memory.retain(|ActiveMemory { owner, .. }| {
            let is_over = owner.request.is_some_and(|handle| {
                let request = requests.get(handle);
                let is_active = request.is_some_and(|it| it.request.is_active());
                !is_active && !freed.iter().any(|it| it.had_handle(handle))
            });
            let window = owner.access.map(|(window, _)| self.windows.get(window));
            !is_over && window.is_none_or(|window| window.is_some())
        });
        for part in new {
            let conflicts = |old: &&ActiveMemory| {
                (old.is_filled || part.is_filled) && overlap(&part.pieces, &old.pieces)
            };
            if let Some(old) = self.active.memory.iter().find(conflicts) {
                let verb = if part.is_filled { "fills" } else { "reads" };
                let text = format!(
                    "this call {verb} {}, which is not complete",
                    old.described()
                );
                return Err(CallError::new("MPI_ERR_BUFFER", text));
            }
        }
        Ok(())
    }
}

/// Compares a new operation with the incomplete operations.
#[inline]
pub(super) fn compare(given: &[Target], result: &[Target]) -> Result<(), CallError> {
    if !caller().is_checked() || with_state(|state| state.active.memory.is_empty()) {
        return Ok(());
    }
    compare_all(given, result)
}

#[cold]
fn compare_all(given: &[Target], result: &[Target]) -> Result<(), CallError> {
    let nobody = ActiveOwner {
        request: None,
        access: None,
    };
    let new = memory_of(nobody, given, result);
    with_state(|state| state.compare_active(&new))
}

/// Notes the memory of an operation that has begun.
#[inline]
pub(super) fn note_memory(owner: ActiveOwner, given: &[Target], result: &[Target]) {
    if caller().is_checked() {
        note_all(owner, given, result);
    }
}

#[cold]
fn note_all(owner: ActiveOwner, given: &[Target], result: &[Target]) {
    let mut new = memory_of(owner, given, result);
    for part in &mut new {
        part.contents = contents(part.place);
    }
    with_state(|state| state.active.memory.extend(new));
}

/// Notes the memory of the operation of a request.
pub(super) fn note_request(request: Handle, given: &[Target], result: &[Target]) {
    let owner = ActiveOwner {
        request: Some(request),
        access: None,
    };
    note_memory(owner, given, result);
}

/// Ends operations with results that are not stored yet. Fails if the program has changed the
/// memory of such an operation.
pub(super) fn end_operations(is_over: impl Fn(ActiveOwner) -> bool) -> Result<(), CallError> {
    with_state(|state| {
        if state.active.memory.is_empty() {
            return Ok(());
        }
        let over = state.active.memory.extract_if(.., |old| is_over(old.owner));
        let changed = over.filter(|old| contents(old.place) != old.contents);
        match changed.last() {
            None => Ok(()),
            Some(old) => {
                let text = format!(
                    "{} was changed by the program before the operation was complete",
                    old.described()
                );
                Err(CallError::new("MPI_ERR_BUFFER", text))
            }
        }
    })
}

/// Ends the operation of a request.
#[inline]
pub(super) fn end_request(request: Handle) -> Result<(), CallError> {
    match caller().is_checked() {
        true => end_operations(|owner| owner.request == Some(request)),
        false => Ok(()),
    }
}

/// Compares the send buffer of one call with the receive buffer of the same call.
pub(super) fn distinct(given: Target, result: Target) -> Result<(), CallError> {
    if caller().is_checked() && have_common_byte(iter::once(&given), iter::once(&result)) {
        let text = "the buffers of the send and of the receive overlap";
        return Err(CallError::new("MPI_ERR_BUFFER", text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::ElementLayout;
    use crate::layouts::Segment;

    /// Pieces of one byte, two bytes apart.
    fn bytes_at(address: usize, count: usize) -> Target {
        let segment = |number: usize| Segment {
            offset: (2 * number).cast_signed(),
            length: 1,
        };
        let element = ElementLayout {
            segments: (0..count).map(segment).collect::<Vec<_>>().leak(),
            ..ElementLayout::without_padding(count, mpi::Element::BYTES)
        };
        Target {
            address,
            length: count,
            element: Box::leak(Box::new(element)),
        }
    }

    #[test]
    fn places_between_each_other_have_no_common_byte() {
        let [even, odd] = [0x1000, 0x1001].map(|address| bytes_at(address, 8));
        let has_common = |some: &[Target], others: &[Target]| {
            let found = have_common_byte(some.iter(), others.iter());
            assert_eq!(found, have_common_byte(others.iter(), some.iter()));
            found
        };
        assert!(!has_common(&[even], &[odd]));
        assert!(!have_overlap(&[even, odd]));
        // The last byte of the first is the first byte of the second.
        let next = bytes_at(0x100e, 8);
        assert!(has_common(&[odd, even], &[next]));
        assert!(have_overlap(&[even, odd, next]));
        // An overlap of places of one side is none with the other side.
        assert!(!has_common(&[even, even], &[odd]));
        assert!(have_overlap(&[even, even]));
        assert!(!has_common(&[], &[odd]) && !has_common(&[bytes_at(0x1000, 0)], &[even]));
    }

    /// Compared each with each, the pieces would take minutes.
    #[test]
    fn many_pieces_are_compared_in_their_order() {
        let places = |first: usize| {
            let place = move |number: usize| bytes_at(first + number * 2 * PIECES_MAX, PIECES_MAX);
            (0..200).rev().map(place).collect::<Vec<Target>>()
        };
        let [even, odd] = [0x10_0000, 0x10_0001].map(places);
        assert!(!have_common_byte(even.iter(), odd.iter()));
        assert!(have_common_byte(even.iter(), odd.iter().chain(&even[..1])));
    }
}
