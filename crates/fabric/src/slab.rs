//! A table with reused places: the events and acknowledgements of a device, each with a small
//! number, and lists of them.

/// The end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// A table whose free places form a list.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<SlabPlace<T>>,
    free: u32,
}

#[derive(Debug)]
struct SlabPlace<T> {
    /// None if the place is free.
    value: Option<T>,
    /// The next place of the list of the place.
    next: u32,
}

/// A list of values of one table, first in, first out. A value is in one list at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlabList {
    pub(crate) first: u32,
    last: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
        }
    }
}

impl<T> Slab<T> {
    // Inlined where values are made, so that a value is made at its place.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if self.free == NONE {
            return self.append(value);
        }
        let index = self.free;
        let place = &mut self.places[index as usize];
        debug_assert!(place.value.is_none(), "the free list holds free places");
        self.free = std::mem::replace(&mut place.next, NONE);
        // A free place has no value to drop, which the compiler does not know.
        std::mem::forget(place.value.replace(value));
        index
    }

    #[inline(never)]
    fn append(&mut self, value: T) -> u32 {
        self.places.push(SlabPlace {
            value: Some(value),
            next: NONE,
        });
        u32::try_from(self.places.len() - 1).expect("what is under way is counted in 32 bits")
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, index: u32) -> T {
        let place = &mut self.places[index as usize];
        place.next = std::mem::replace(&mut self.free, index);
        place.value.take().expect("only what is there is removed")
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &T {
        let value = self.places[index as usize].value.as_ref();
        value.expect("only what is there is looked at")
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        let value = self.places[index as usize].value.as_mut();
        value.expect("only what is there is looked at")
    }

    /// Empties the table and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.free = NONE;
    }

    /// All that is there, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
}

impl SlabList {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[inline(always)]
    pub(crate) fn push<T>(&mut self, slab: &mut Slab<T>, index: u32) {
        if self.first == NONE {
            self.first = index;
        } else {
            slab.places[self.last as usize].next = index;
        }
        self.last = index;
    }

    /// The values of the list, in order.
    pub(crate) fn values<T>(self, slab: &Slab<T>) -> impl Iterator<Item = &T> {
        let place = |index: u32| slab.places.get(index as usize);
        let places = std::iter::successors(place(self.first), move |last| place(last.next));
        places.filter_map(|place| place.value.as_ref())
    }

    /// Takes the first value out of the list, which stays in the table.
    #[inline(always)]
    pub(crate) fn pop<T>(&mut self, slab: &mut Slab<T>) {
        let place = &mut slab.places[self.first as usize];
        self.first = std::mem::replace(&mut place.next, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all values out of a list and out of the table, in the order of the list.
    fn drain_list(slab: &mut Slab<char>, list: &mut SlabList) -> String {
        let mut values = String::new();
        while !list.is_empty() {
            let first = list.first;
            list.pop(slab);
            values.push(slab.remove(first));
        }
        values
    }

    #[test]
    fn the_place_that_was_freed_last_is_used_first() {
        let mut slab = Slab::default();
        let places = ['a', 'b', 'c'].map(|value| slab.insert(value));
        assert_eq!(places, [0, 1, 2]);
        assert_eq!((slab.remove(0), slab.remove(2)), ('a', 'c'));
        assert_eq!(slab.iter().collect::<String>(), "b");
        assert_eq!(['d', 'e', 'f'].map(|value| slab.insert(value)), [2, 0, 3]);
        assert_eq!(slab.iter().collect::<String>(), "ebdf");
        *slab.get_mut(1) = 'g';
        assert_eq!((*slab.get(0), *slab.get(1)), ('e', 'g'));
    }

    #[test]
    fn a_cleared_table_has_no_free_places() {
        let mut slab = Slab::default();
        let places = ['a', 'b'].map(|value| slab.insert(value));
        slab.remove(places[1]);
        slab.clear();
        assert_eq!(slab.iter().count(), 0);
        assert_eq!(['c', 'd'].map(|value| slab.insert(value)), [0, 1]);
    }

    #[test]
    fn lists_keep_their_order_in_places_that_are_used_again() {
        let mut slab = Slab::default();
        let mut lists = [SlabList::EMPTY; 2];
        for round in 0..3 {
            for (number, value) in "abcdef".chars().enumerate() {
                let index = slab.insert(value);
                lists[number % 2].push(&mut slab, index);
            }
            let [first, second] = &mut lists;
            assert_eq!(drain_list(&mut slab, second), "bdf", "round {round}");
            // The list continues in places that the other one has given up.
            let index = slab.insert('g');
            first.push(&mut slab, index);
            assert_eq!(drain_list(&mut slab, first), "aceg", "round {round}");
        }
        assert_eq!(slab.places.len(), 6);
    }

    #[test]
    fn a_value_that_leaves_a_list_stays_in_the_table() {
        let mut slab = Slab::default();
        let [first, second] = ['a', 'b'].map(|value| slab.insert(value));
        let (mut list, mut other) = (SlabList::EMPTY, SlabList::EMPTY);
        list.push(&mut slab, first);
        list.push(&mut slab, second);
        list.pop(&mut slab);
        other.push(&mut slab, first);
        assert_eq!((list.first, other.first), (second, first));
        assert_eq!(drain_list(&mut slab, &mut other), "a");
        assert_eq!(drain_list(&mut slab, &mut list), "b");
    }
}
