//! The communication matrix: messages and bytes of each pair of ranks, sparse.
//!
//! When the matrix has too many entries, neighbouring ranks merge: rank r is then in block r ÷ 2,
//! later in r ÷ 4, and so on. The matrix takes at most 64 MB.

use std::collections::BTreeMap;

use serde::Serialize;

/// Maximum number of entries: 24 bytes each, in a tree with nodes that are at least half full.
const ENTRIES_MAX: usize = 1 << 20;

/// A communication matrix.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct PairMatrix {
    /// Number of neighbouring ranks in a block, a power of two.
    pub ranks_per_block: u32,
    /// The entries that are not 0, by source and destination.
    pub entries: Vec<MatrixEntry>,
}

/// Messages of a pair of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct MatrixEntry {
    /// Number of the source: a rank ÷ ranks per block.
    pub source: u32,
    /// Number of the destination.
    pub destination: u32,
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A matrix that is filled.
#[derive(Debug)]
pub(super) struct MatrixCounter {
    /// Messages and bytes.
    entries: BTreeMap<(u32, u32), (u64, u64)>,
    /// Binary logarithm of the ranks in a block.
    shift: u32,
    entries_max: usize,
}

impl Default for MatrixCounter {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            shift: 0,
            entries_max: ENTRIES_MAX,
        }
    }
}

impl MatrixCounter {
    /// Counts messages from a rank to another one.
    pub(super) fn add_messages(
        &mut self,
        source: u32,
        destination: u32,
        bytes: u64,
        messages: u64,
    ) {
        let key = (source >> self.shift, destination >> self.shift);
        let entry = self.entries.entry(key).or_default();
        entry.0 += messages;
        entry.1 = entry.1.saturating_add(bytes);
        while self.entries.len() > self.entries_max {
            self.shift += 1;
            for ((source, destination), (messages, bytes)) in std::mem::take(&mut self.entries) {
                let entry = self.entries.entry((source / 2, destination / 2));
                let entry = entry.or_default();
                entry.0 += messages;
                entry.1 = entry.1.saturating_add(bytes);
            }
        }
    }

    pub(super) fn into_matrix(self) -> PairMatrix {
        let entries = self.entries.into_iter();
        let entry = |((source, destination), (messages, bytes))| MatrixEntry {
            source,
            destination,
            messages,
            bytes,
        };
        PairMatrix {
            ranks_per_block: 1 << self.shift,
            entries: entries.map(entry).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_merge_when_it_is_full() {
        let mut counter = MatrixCounter {
            entries_max: 20,
            ..MatrixCounter::default()
        };
        for source in 0..8 {
            for destination in 0..8 {
                counter.add_messages(source, destination, 10, 1);
            }
        }
        let matrix = counter.into_matrix();
        assert_eq!((matrix.ranks_per_block, matrix.entries.len()), (2, 16));
        let expected = MatrixEntry {
            source: 3,
            destination: 0,
            messages: 4,
            bytes: 40,
        };
        assert_eq!(matrix.entries[12], expected);
    }
}
