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

    /// Takes the first value out of the list, which stays in the table.
    #[inline(always)]
    pub(crate) fn pop<T>(&mut self, slab: &mut Slab<T>) {
        let place = &mut slab.places[self.first as usize];
        self.first = std::mem::replace(&mut place.next, NONE);
    }
}
