//! Handles of a rank's objects: opaque words in the program, objects in tables here.
//!
//! A handle has a kind, a generation and an index, so that one that has been freed or is of
//! another kind is recognised. Predefined handles are below 0x1000 (MPI 5.0, section 20.2).

use mpi::Request;

/// The smallest handle that is not predefined.
const FIRST: usize = 0x1000;

/// The kind of requests, in the highest byte of a handle.
const REQUEST: usize = 1;

/// `MPI_REQUEST_NULL`.
pub(crate) const REQUEST_NULL: usize = 0x180;

/// Memory of the program that a receive fills when it completes; of length 0 for a send.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Target {
    pub(crate) address: usize,
    /// Length of the data in bytes.
    pub(crate) length: usize,
    pub(crate) element: Element,
}

/// Elements of a datatype in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Element {
    /// Length of the data of an element in bytes.
    pub(crate) size: usize,
    /// Bytes from an element to the next one.
    pub(crate) extent: usize,
}

/// A request with the place of what it receives.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    pub(crate) request: Request,
    pub(crate) target: Target,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    request: Option<ActiveRequest>,
}

/// The requests of a rank.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Requests {
    /// Stores a request and returns its handle.
    pub(crate) fn insert(&mut self, request: ActiveRequest) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("requests are counted in 32 bits")
        });
        let slot = &mut self.slots[index as usize];
        slot.request = Some(request);
        REQUEST << 56 | (slot.generation as usize & 0xff_ffff) << 32 | (FIRST + index as usize)
    }

    fn slot(&mut self, handle: usize) -> Option<(u32, &mut Slot)> {
        let index = (handle & 0xffff_ffff).checked_sub(FIRST)?;
        let slot = self.slots.get_mut(index)?;
        let is_it = handle >> 56 == REQUEST
            && handle >> 32 & 0xff_ffff == slot.generation as usize & 0xff_ffff;
        is_it.then_some((u32::try_from(index).ok()?, slot))
    }

    /// Returns a request.
    pub(crate) fn get(&mut self, handle: usize) -> Option<&mut ActiveRequest> {
        self.slot(handle)?.1.request.as_mut()
    }

    /// Takes a request out of the table for a while; its handle stays valid.
    pub(crate) fn borrow(&mut self, handle: usize) -> Option<ActiveRequest> {
        self.slot(handle)?.1.request.take()
    }

    /// Puts a request back that was taken out.
    pub(crate) fn put_back(&mut self, handle: usize, request: ActiveRequest) {
        if let Some((_, slot)) = self.slot(handle) {
            slot.request = Some(request);
        }
    }

    /// Ends a handle, and returns its request if it is in the table.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<ActiveRequest> {
        let (index, slot) = self.slot(handle)?;
        slot.generation = slot.generation.wrapping_add(1);
        let request = slot.request.take();
        self.free.push(index);
        request
    }
}
