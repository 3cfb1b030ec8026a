//! Handles of a rank's objects: opaque words in the program, objects in tables here.
//!
//! A handle has a kind, a generation and an index, so that one that has been freed or is of
//! another kind is recognised. Predefined handles are below 0x1000 (MPI 5.0, section 20.2).

use std::rc::Rc;

use mpi::{Comm, InterComm, NativeLocation, Request};

use crate::layouts::Segment;
use crate::state::requests::Generalized;

/// The smallest handle that is not predefined.
const FIRST: usize = 0x1000;

/// `MPI_REQUEST_NULL`.
pub(crate) const REQUEST_NULL: usize = 0x180;

/// Memory of the program that a receive fills on completion; of length 0 for a send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) address: usize,
    /// Length of the data in bytes.
    pub(crate) length: usize,
    pub(crate) element: &'static ElementLayout,
}

/// Elements of a datatype in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ElementLayout {
    /// Length of the data of an element in bytes.
    pub(crate) size: usize,
    /// Bytes from an element to the next one.
    pub(crate) extent: isize,
    /// Places of the data in memory; empty if they are the first `size` bytes.
    pub(crate) segments: &'static [Segment],
    /// Type of all numbers of an element; bytes if they differ.
    pub(crate) numbers: mpi::Element,
}

/// Memory of the program that an operation fills.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// Memory of a receive; empty for a send.
    Message(Target),
    /// Of a collective, or of a persistent request.
    Parts(Rc<Parts>),
    /// Of a generalized request.
    Generalized(Rc<Generalized>),
    /// A communicator that is made as a copy of another one.
    Comm {
        handle: usize,
        original: usize,
        of: Rc<Duplicated>,
    },
}

/// The original of a communicator that is being copied.
#[derive(Clone, Debug)]
pub(crate) enum Duplicated {
    Comm(Comm),
    Inter(InterComm),
}

/// Memory of a collective, or of a persistent request: parts that follow one another in messages.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The contribution, which each start of a persistent request reads; `None` for other requests.
    pub(crate) contribution: Option<Vec<Target>>,
    pub(crate) result: Vec<Target>,
    /// True for a collective and for an access to a window.
    pub(crate) is_collective: bool,
}

/// No memory.
impl Default for Target {
    fn default() -> Self {
        Self {
            address: 0,
            length: 0,
            element: &const { ElementLayout::without_padding(0, mpi::Element::BYTES) },
        }
    }
}

impl Target {
    /// Bytes of a message that have no place.
    pub(crate) const fn nowhere(length: usize) -> Self {
        Self {
            address: 0,
            length,
            element: &const { ElementLayout::without_padding(1, mpi::Element::BYTES) },
        }
    }

    /// Returns true for bytes that have no place.
    pub(crate) const fn is_nowhere(&self) -> bool {
        self.address == 0 && self.element.segments.is_empty()
    }
}

impl ElementLayout {
    /// Elements of this size without padding.
    pub(crate) const fn without_padding(size: usize, numbers: mpi::Element) -> Self {
        Self {
            size,
            extent: size.cast_signed(),
            segments: &[],
            numbers,
        }
    }

    /// Returns true if the data of elements follow one another in memory.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.segments.is_empty() && self.size.cast_signed() == self.extent
    }
}

impl Memory {
    /// Takes the memory, to be filled only once; the memory of a persistent request stays.
    pub(crate) fn take_memory(&mut self) -> Self {
        let rest = match self {
            Self::Message(_) => Self::Message(Target::default()),
            Self::Parts(parts) if parts.contribution.is_none() => Self::Parts(Rc::new(Parts {
                contribution: None,
                result: Vec::new(),
                is_collective: parts.is_collective,
            })),
            Self::Parts(_) | Self::Comm { .. } | Self::Generalized(_) => return self.clone(),
        };
        std::mem::replace(self, rest)
    }

    /// Returns true if the request can be started again after its completion.
    pub(crate) fn is_persistent(&self) -> bool {
        matches!(self, Self::Parts(parts) if parts.contribution.is_some())
    }
}

/// A request with the memory that the request fills.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    pub(crate) request: Request,
    pub(crate) memory: Memory,
    /// The communicator of the request; its error handler gets the errors of the request.
    pub(crate) comm: usize,
}

#[derive(Debug)]
struct HandleSlot<T> {
    generation: u32,
    object: Option<T>,
    /// The line that made the object, if that is known.
    location: Option<&'static NativeLocation>,
}

/// Kinds of objects, stored in the highest byte of the handle.
pub(crate) mod kinds {
    pub(crate) const REQUEST: u8 = 1;
    pub(crate) const OP: u8 = 2;
    pub(crate) const COMM: u8 = 3;
    pub(crate) const MESSAGE: u8 = 4;
    pub(crate) const DATATYPE: u8 = 5;
    pub(crate) const GROUP: u8 = 6;
    pub(crate) const INFO: u8 = 7;
    pub(crate) const WINDOW: u8 = 8;
    pub(crate) const ERROR_HANDLER: u8 = 9;
    pub(crate) const SESSION: u8 = 10;
    pub(crate) const TOOL_SESSION: u8 = 11;
}

/// The objects of one kind of a rank.
#[derive(Debug)]
pub(crate) struct HandleTable<T, const KIND: u8> {
    slots: Vec<HandleSlot<T>>,
    free: Vec<u32>,
}

impl<T, const KIND: u8> Default for HandleTable<T, KIND> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T, const KIND: u8> HandleTable<T, KIND> {
    /// Stores an object and returns the handle.
    pub(crate) fn insert(&mut self, object: T) -> usize {
        self.fill_slot(Some(object), None)
    }

    /// Stores an object that the call at a line of the program has made, and returns the handle.
    pub(crate) fn insert_made(
        &mut self,
        object: T,
        location: Option<&'static NativeLocation>,
    ) -> usize {
        self.fill_slot(Some(object), location)
    }

    /// Returns the handle of an object that is put into the table later.
    pub(crate) fn reserve(&mut self) -> usize {
        self.fill_slot(None, None)
    }

    fn fill_slot(&mut self, object: Option<T>, location: Option<&'static NativeLocation>) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(HandleSlot {
                generation: 0,
                object: None,
                location: None,
            });
            u32::try_from(self.slots.len() - 1).expect("objects are counted in 32 bits")
        });
        let slot = &mut self.slots[index as usize];
        (slot.object, slot.location) = (object, location);
        let generation = slot.generation;
        self.handle_at(index as usize, generation)
    }

    /// Returns the index that a handle of this table names.
    #[inline]
    fn slot_index(&self, handle: usize) -> Option<usize> {
        let index = (handle & 0xffff_ffff).checked_sub(FIRST)?;
        let generation = self.slots.get(index)?.generation as usize & 0xff_ffff;
        let is_it = handle >> 56 == usize::from(KIND) && handle >> 32 & 0xff_ffff == generation;
        is_it.then_some(index)
    }

    /// Returns true if there is no object.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.object.is_none())
    }

    /// Returns the number of an object in C; for a predefined object the number is the handle.
    pub(crate) fn handle_number(&self, handle: usize) -> Option<usize> {
        match handle {
            0..FIRST => Some(handle),
            _ => self.slot_index(handle).map(|index| FIRST + index),
        }
    }

    /// Returns the handle of the object with a number.
    pub(crate) fn find_handle(&self, number: usize) -> Option<usize> {
        let Some(index) = number.checked_sub(FIRST) else {
            return Some(number);
        };
        let slot = self.slots.get(index)?;
        Some(self.handle_at(index, slot.generation))
    }

    fn handle_at(&self, index: usize, generation: u32) -> usize {
        (usize::from(KIND)) << 56 | (generation as usize & 0xff_ffff) << 32 | (FIRST + index)
    }

    /// Returns an object.
    pub(crate) fn get(&self, handle: usize) -> Option<&T> {
        self.slots[self.slot_index(handle)?].object.as_ref()
    }

    /// Returns an object with mutable access.
    pub(crate) fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let index = self.slot_index(handle)?;
        self.slots[index].object.as_mut()
    }

    /// Takes an object out of the table for a while; the handle stays valid.
    pub(crate) fn borrow(&mut self, handle: usize) -> Option<T> {
        let index = self.slot_index(handle)?;
        self.slots[index].object.take()
    }

    /// Puts an object back that was taken out.
    pub(crate) fn put_back(&mut self, handle: usize, object: T) {
        if let Some(index) = self.slot_index(handle) {
            self.slots[index].object = Some(object);
        }
    }

    /// Returns the objects in the table.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.object.as_ref())
    }

    /// Ends all handles. Returns the lines that made the objects, as far as they are known.
    pub(crate) fn clear(&mut self) -> Vec<Option<&'static NativeLocation>> {
        let objects = self.slots.drain(..).filter(|slot| slot.object.is_some());
        self.free.clear();
        objects.map(|slot| slot.location).collect()
    }

    /// Ends a handle, and returns the object if the table contains it.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        let index = self.slot_index(handle)?;
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        let object = slot.object.take();
        self.free.extend(u32::try_from(index).ok());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_one_object_once() {
        let mut table: HandleTable<i32, { kinds::OP }> = HandleTable::default();
        let first = table.insert(7);
        assert_eq!(table.get(first), Some(&7));
        assert_eq!(table.remove(first), Some(7));
        let second = table.insert(8);
        assert_ne!(first, second);
        assert_eq!((table.get(first), table.get(second)), (None, Some(&8)));
        let other: HandleTable<i32, { kinds::COMM }> = HandleTable::default();
        assert_eq!(other.get(second), None);
        // Predefined handles name none.
        assert!((0..FIRST).all(|handle| table.get(handle).is_none()));
    }
}
