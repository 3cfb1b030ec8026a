//! A heap of small numbers ordered by a key that can move: dirty links by level, flows and owners
//! by date.
//!
//! Equal keys leave by the smaller number. Keys are the bit patterns of floating-point numbers of
//! at least 0, which sort as the numbers do. Where a number stands in the heap is written to a
//! table of the caller, so that several heaps which never share a number can share a table. Four
//! children per node: fewer cache lines than with two.

/// Not in any heap.
pub(crate) const ABSENT: u32 = u32::MAX;

const CHILDREN: usize = 4;

/// The heap; the positions of the numbers are elsewhere.
#[derive(Clone, Default, Debug)]
pub(crate) struct IndexedHeap {
    items: Vec<(u64, u32)>,
}

/// The bits of a number of at least 0.
pub(crate) fn bits(number: f64) -> u64 {
    debug_assert!(number >= 0.0, "a key of at least 0, not {number}");
    // Adding +0.0 turns -0.0 into +0.0.
    (number + 0.0).to_bits()
}

impl IndexedHeap {
    /// Returns true if the heap holds no number.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the smallest key with its number.
    #[inline]
    pub(crate) fn first(&self) -> Option<(f64, u32)> {
        self.items
            .first()
            .map(|(key, number)| (f64::from_bits(*key), *number))
    }

    /// Adds a new number, or moves a present number to a new key.
    #[inline]
    pub(crate) fn set(&mut self, number: u32, key: f64, positions: &mut [u32]) {
        let key = bits(key);
        let position = positions[number as usize];
        if position == ABSENT {
            self.items.push((key, number));
            self.rise(self.items.len() - 1, positions);
            return;
        }
        let at = position as usize;
        let before = self.items[at].0;
        self.items[at].0 = key;
        if key < before {
            self.rise(at, positions);
        } else if key > before {
            self.sink(at, positions);
        }
    }

    /// The key of a number that is there.
    #[inline]
    pub(crate) fn key(&self, position: u32) -> f64 {
        f64::from_bits(self.items[position as usize].0)
    }

    /// Removes a number, if it is present.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32, positions: &mut [u32]) {
        let position = std::mem::replace(&mut positions[number as usize], ABSENT);
        if position == ABSENT {
            return;
        }
        let at = position as usize;
        self.items.swap_remove(at);
        if at < self.items.len() {
            positions[self.items[at].1 as usize] = position;
            if at > 0 && self.items[at] < self.items[(at - 1) / CHILDREN] {
                self.rise(at, positions);
            } else {
                self.sink(at, positions);
            }
        }
    }

    /// Takes the first number out.
    #[inline]
    pub(crate) fn pop(&mut self, positions: &mut [u32]) -> Option<(f64, u32)> {
        let (key, number) = self.first()?;
        self.remove(number, positions);
        Some((key, number))
    }

    /// Takes everything out.
    #[inline]
    pub(crate) fn clear(&mut self, positions: &mut [u32]) {
        for (_, number) in self.items.drain(..) {
            positions[number as usize] = ABSENT;
        }
    }

    fn rise(&mut self, mut at: usize, positions: &mut [u32]) {
        let item = self.items[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.items[parent] <= item {
                break;
            }
            self.set_item(at, self.items[parent], positions);
            at = parent;
        }
        self.set_item(at, item, positions);
    }

    fn sink(&mut self, mut at: usize, positions: &mut [u32]) {
        let item = self.items[at];
        loop {
            let begin = at * CHILDREN + 1;
            let end = (begin + CHILDREN).min(self.items.len());
            let Some(least) = (begin..end).min_by_key(|child| self.items[*child]) else {
                break;
            };
            if item <= self.items[least] {
                break;
            }
            self.set_item(at, self.items[least], positions);
            at = least;
        }
        self.set_item(at, item, positions);
    }

    fn set_item(&mut self, at: usize, item: (u64, u32), positions: &mut [u32]) {
        self.items[at] = item;
        positions[item.1 as usize] = u32::try_from(at).expect("fewer than 2^32 numbers");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_keys_leave_by_number_and_keys_move() {
        let mut positions = [ABSENT; 5];
        let mut heap = IndexedHeap::default();
        for (number, key) in [(4, 1.0), (1, 1.0), (2, 0.5), (3, 2.0)] {
            heap.set(number, key, &mut positions);
        }
        heap.set(2, 1.0, &mut positions);
        heap.remove(3, &mut positions);
        heap.remove(0, &mut positions);
        assert_eq!(heap.key(positions[4]), 1.0);
        let order: Vec<u32> =
            std::iter::from_fn(|| heap.pop(&mut positions).map(|(_, number)| number)).collect();
        assert_eq!(order, [1, 2, 4]);
        assert_eq!(positions, [ABSENT; 5]);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least(changes in prop::collection::vec((0_u32..20, prop::option::of(0_u32..9)), 1..200)) {
            let mut positions = [ABSENT; 20];
            let mut heap = IndexedHeap::default();
            let mut model = std::collections::BTreeMap::new();
            for (number, key) in changes {
                match key {
                    Some(key) => {
                        heap.set(number, f64::from(key), &mut positions);
                        model.insert(number, key);
                    }
                    None => {
                        heap.remove(number, &mut positions);
                        model.remove(&number);
                    }
                }
                let least = model.iter().map(|(number, key)| (*key, *number)).min();
                let found = heap.first().map(|(key, number)| (key as u32, number));
                prop_assert_eq!(found, least);
                prop_assert_eq!(heap.len(), model.len());
            }
        }
    }
}
