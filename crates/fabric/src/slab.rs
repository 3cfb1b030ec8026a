//! A table with reused places: the events and jobs of a device, each with a small number.

/// A table whose free places form a list.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<SlabEntry<T>>,
    free: Option<u32>,
}

#[derive(Debug)]
enum SlabEntry<T> {
    Free { next: Option<u32> },
    Full(T),
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: None,
        }
    }
}

impl<T> Slab<T> {
    // Inlined where values are made, so that a value is made at its place.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let Some(index) = self.free else {
            return self.append(value);
        };
        let place = &mut self.places[index as usize];
        let SlabEntry::Free { next } = *place else {
            unreachable!("the free list holds free places")
        };
        self.free = next;
        *place = SlabEntry::Full(value);
        index
    }

    #[inline(never)]
    fn append(&mut self, value: T) -> u32 {
        self.places.push(SlabEntry::Full(value));
        u32::try_from(self.places.len() - 1).expect("what is under way is counted in 32 bits")
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, index: u32) -> T {
        let free = SlabEntry::Free { next: self.free };
        self.free = Some(index);
        match std::mem::replace(&mut self.places[index as usize], free) {
            SlabEntry::Full(value) => value,
            SlabEntry::Free { .. } => unreachable!("only what is there is removed"),
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &T {
        match &self.places[index as usize] {
            SlabEntry::Full(value) => value,
            SlabEntry::Free { .. } => unreachable!("only what is there is looked at"),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        match &mut self.places[index as usize] {
            SlabEntry::Full(value) => value,
            SlabEntry::Free { .. } => unreachable!("only what is there is looked at"),
        }
    }

    /// Empties the table and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.free = None;
    }

    /// All that is there, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| match place {
            SlabEntry::Full(value) => Some(value),
            SlabEntry::Free { .. } => None,
        })
    }
}
