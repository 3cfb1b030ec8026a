//! Lists by key: a hash table with a fixed hash function, so that the same run does the same on
//! every machine. Keys are only looked up, never iterated over.
//!
//! Open addressing with linear probing; a removal closes its gap by moving the entries behind it.
//! At most half full.

use super::NONE;
use crate::{Envelope, Pattern};

/// Key of a list: entries of one context, of one source or any, of one tag or any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    context_and_tag: u64,
    source: u64,
}

/// A wildcard; above every rank and tag.
const ANY: u64 = 1 << 32;

impl Key {
    fn new(context: u32, source: Option<u32>, tag: Option<u32>) -> Self {
        let tag = tag.map_or(u32::MAX, |tag| tag);
        Self {
            context_and_tag: u64::from(context) << 32 | u64::from(tag),
            source: source.map_or(ANY, u64::from),
        }
    }

    pub(super) fn from_pattern(pattern: &Pattern) -> Self {
        Self::new(pattern.context, pattern.source, pattern.tag)
    }

    /// The key of the pattern of a kind that accepts a message. Kinds: 0 exact, 1 any tag, 2 any
    /// source, 3 any of both.
    pub(super) fn matching_key(envelope: &Envelope, kind: usize) -> Self {
        let source = (kind & 2 == 0).then_some(envelope.source);
        let tag = (kind & 1 == 0).then_some(envelope.tag);
        Self::new(envelope.context, source, tag)
    }

    /// Returns the kind of a pattern, as in [`Key::matching_key`].
    pub(super) fn pattern_kind(pattern: &Pattern) -> usize {
        usize::from(pattern.source.is_none()) * 2 + usize::from(pattern.tag.is_none())
    }

    /// Returns the hash of a key. Multiplications by odd constants with bits everywhere (the
    /// constants of xxHash64) spread consecutive ranks and tags.
    fn hash(self) -> u64 {
        let mixed = self.context_and_tag.wrapping_mul(0x9E37_79B1_85EB_CA87) ^ self.source;
        let mixed = mixed.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        (mixed ^ mixed >> 32).wrapping_mul(0x9E37_79B1_85EB_CA87)
    }
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The lists that are not empty.
#[derive(Clone, Debug, Default)]
pub(super) struct ListTable {
    places: Vec<Option<(Key, Ends)>>,
    len: usize,
}

impl ListTable {
    /// Returns the place of a key, or the free place for the key.
    fn find_place(&self, key: Key) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home(key);
        while let Some((other, _)) = self.places[at] {
            if other == key {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    fn home(&self, key: Key) -> usize {
        let bits = self.places.len().trailing_zeros();
        usize::try_from(key.hash() >> (64 - bits)).expect("as many bits as places")
    }

    pub(super) fn get(&self, key: Key) -> Option<Ends> {
        if self.len == 0 {
            return None;
        }
        self.places[self.find_place(key)].map(|(_, ends)| ends)
    }

    /// Puts an entry behind the list of a key; the entry that was the last before, or [`NONE`].
    pub(super) fn append(&mut self, key: Key, entry: u32) -> u32 {
        if self.places.len() < 2 * (self.len + 1) {
            self.grow_places();
        }
        let at = self.find_place(key);
        if let Some((_, ends)) = &mut self.places[at] {
            return std::mem::replace(&mut ends.last, entry);
        }
        self.len += 1;
        let ends = Ends {
            first: entry,
            last: entry,
        };
        self.places[at] = Some((key, ends));
        NONE
    }

    /// Updates the list of `key` after the removal of an entry; `before` and `after` are the
    /// neighbours of the entry, [`NONE`] at an end of the list.
    pub(super) fn unlink(&mut self, key: Key, before: u32, after: u32) {
        if before != NONE && after != NONE {
            return;
        }
        let at = self.find_place(key);
        let (_, ends) = self.places[at].as_mut().expect("the list is there");
        match (before, after) {
            (NONE, NONE) => self.free_place(at),
            (NONE, after) => ends.first = after,
            (before, _) => ends.last = before,
        }
    }

    /// Frees a place and moves up later entries that a lookup would not find any more.
    fn free_place(&mut self, at: usize) {
        self.len -= 1;
        let mask = self.places.len() - 1;
        let (mut hole, mut next) = (at, at);
        loop {
            self.places[hole] = None;
            loop {
                next = (next + 1) & mask;
                let Some((key, _)) = self.places[next] else {
                    return;
                };
                let (from_home, from_hole) = (
                    next.wrapping_sub(self.home(key)) & mask,
                    next.wrapping_sub(hole) & mask,
                );
                if from_home >= from_hole {
                    break;
                }
            }
            self.places[hole] = self.places[next];
            hole = next;
        }
    }

    fn grow_places(&mut self) {
        let size = (2 * self.places.len()).max(16);
        let old = std::mem::replace(&mut self.places, vec![None; size]);
        for place in old.into_iter().flatten() {
            let at = self.find_place(place.0);
            self.places[at] = Some(place);
        }
    }
}
