//! Windows of a rank: their memory, which belongs to the program, and the epochs of accesses.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr;
use std::rc::Rc;

use mpi::{NativeLocation, ProgramMemory, prelude::*};

use super::Handle;
use crate::errors::CallError;
use crate::handles::Target;
use crate::loader::shared::SharedMemory;

mod stores;

use stores::KnownContents;

pub(crate) const MODE_NOPRECEDE: c_int = 2048;
pub(crate) const MODE_NOPUT: c_int = 4096;
const MODE_NOSTORE: c_int = 8192;
pub(crate) const MODE_NOSUCCEED: c_int = 16384;

/// The place of the memory of a window.
#[derive(Debug)]
pub(crate) enum Place {
    /// Memory of the program from this address on.
    Fixed { address: usize, length: usize },
    /// Memory made by `MPI_Win_allocate`, and the length of this memory in bytes.
    Allocated { words: Box<[u64]>, length: usize },
    /// Address and length of the memory that the program has attached; displacements are addresses.
    Attached(RefCell<Vec<(usize, usize)>>),
    /// The part of this rank in memory of all ranks.
    Shared(Rc<SharedMemory>, usize),
}

/// Memory of a program that other ranks access.
#[derive(Debug)]
pub(crate) struct Exposed {
    pub(crate) place: Place,
    /// True after the end of the rank, because other ranks may use its memory later.
    pub(crate) is_gone: Cell<bool>,
    /// Address and length of an access to memory that was not attached.
    pub(crate) stray: Cell<Option<(usize, usize)>>,
    /// Under a model checker: the known contents.
    known: RefCell<KnownContents>,
    /// True if the program has stored between the previous call and the running one.
    has_stored: Cell<bool>,
}

/// Ends the accesses to memory on drop; the objects of a rank are dropped when the rank ends.
#[derive(Debug)]
pub(crate) struct Exposure(pub(crate) Rc<Exposed>);

impl Drop for Exposure {
    fn drop(&mut self) {
        self.0.is_gone.set(true);
    }
}

impl Exposed {
    pub(crate) const fn new(place: Place) -> Self {
        Self {
            place,
            is_gone: Cell::new(false),
            stray: Cell::new(None),
            known: RefCell::new(KnownContents::Unwatched),
            has_stored: Cell::new(false),
        }
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> usize {
        match &self.place {
            Place::Fixed { address, .. } => *address,
            Place::Allocated { words, .. } => words.as_ptr() as usize,
            Place::Attached(_) => 0,
            Place::Shared(memory, rank) => memory.start(*rank),
        }
    }

    /// Returns the address of an access; `None` if the memory is gone or not attached.
    pub(crate) fn at(&self, offset: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = offset.checked_add(length)?;
        assert!(
            end as u64 <= self.byte_length(),
            "accesses lie within the window"
        );
        if self.is_gone.get() {
            return None;
        }
        if let Place::Attached(regions) = &self.place {
            let is_within =
                |&(start, bytes): &(usize, usize)| start <= offset && end <= start + bytes;
            if length > 0 && !regions.borrow().iter().any(is_within) {
                self.stray.set(Some((offset, length)));
                return None;
            }
        }
        Some(self.start() + offset)
    }
}

impl ProgramWindow {
    /// Records the buffer of an access to a rank if other ranks access the memory of this buffer.
    pub(crate) async fn note_buffer(
        &self,
        rank: usize,
        (start, end): (usize, usize),
        is_filled: bool,
    ) -> Result<(), CallError> {
        let exposed = &self.exposure.0;
        let first = exposed.start();
        let length = usize::try_from(exposed.byte_length()).unwrap_or(usize::MAX);
        let last = first.saturating_add(length).min(end);
        let start = start.max(first);
        if rank != PROC_NULL && start < last {
            let bytes = (start - first) as u64..(last - first) as u64;
            self.window.note_buffer(rank, bytes, is_filled).await?;
        }
        Ok(())
    }
}

impl ProgramMemory for Exposed {
    fn byte_length(&self) -> u64 {
        let length = match &self.place {
            Place::Fixed { length, .. } | Place::Allocated { length, .. } => *length,
            Place::Attached(_) => isize::MAX.cast_unsigned(),
            Place::Shared(memory, rank) => memory.length(*rank),
        };
        length as u64
    }

    fn read_bytes(&self, offset: u64, bytes: &mut [u8]) {
        if let Some(from) = self.at(offset, bytes.len()) {
            // SAFETY: the program said that this memory is its own until it frees the window, and
            // no program runs while the message layer does. `bytes` is other memory.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        }
    }

    fn write_bytes(&self, offset: u64, bytes: &[u8]) {
        if let Some(to) = self.at(offset, bytes.len()) {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
            self.learn_write(offset, bytes);
        }
    }
}

/// Values of the predefined attributes, which a program gets by their addresses.
#[derive(Debug)]
pub(crate) struct WindowAttributes {
    pub(crate) size: isize,
    pub(crate) unit: c_int,
    pub(crate) flavor: c_int,
    pub(crate) model: c_int,
}

impl ProgramWindow {
    /// Returns the value of a predefined attribute: `MPI_WIN_BASE` to `MPI_WIN_MODEL`.
    pub(crate) fn predefined(&self, keyval: c_int) -> Option<usize> {
        let WindowAttributes {
            size,
            unit,
            flavor,
            model,
        } = &*self.attributes;
        Some(match keyval {
            601 => self.exposure.0.start(),
            602 => ptr::from_ref(unit) as usize,
            603 => ptr::from_ref(size) as usize,
            604 => ptr::from_ref(flavor) as usize,
            605 => ptr::from_ref(model) as usize,
            _ => return None,
        })
    }
}

/// A get in progress: the answer of the target, for the memory of the program.
#[derive(Debug)]
pub(crate) struct PendingGet {
    pub(crate) rank: usize,
    pub(crate) request: Request,
    pub(crate) result: Target,
}

/// A window of a program.
#[derive(Debug)]
pub(crate) struct ProgramWindow {
    pub(crate) window: Window,
    pub(crate) exposure: Exposure,
    pub(crate) attributes: Box<WindowAttributes>,
    pub(crate) name: String,
    pub(crate) gets: Vec<PendingGet>,
    /// Gets with requests of the program, which the end of an epoch completes, too.
    pub(crate) requests: Vec<(usize, Handle)>,
    pub(crate) epochs: LockedEpochs,
}

/// Accesses under a lock in an epoch of fences, which are two epochs at a time.
#[derive(Debug, Default)]
pub(crate) struct LockedEpochs {
    /// True after a fence that may begin an epoch.
    pub(crate) is_after_fence: bool,
    /// Number of calls that lock minus the number of calls that unlock.
    pub(crate) locks: u32,
    /// The line of the first access under a lock since the fence.
    pub(crate) accessed: Option<&'static NativeLocation>,
}

impl LockedEpochs {
    /// Notes an access.
    pub(crate) fn note_access(&mut self, location: Option<&'static NativeLocation>) {
        if self.is_after_fence && self.locks > 0 && self.accessed.is_none() {
            self.accessed = location;
        }
    }

    pub(crate) fn lock(&mut self) {
        self.locks += 1;
    }

    pub(crate) fn unlock(&mut self) {
        self.locks = self.locks.saturating_sub(1);
    }

    /// Begins an epoch of fences, perhaps, and ends one.
    pub(crate) fn begin_fence(
        &mut self,
        assertion: c_int,
        is_checked: bool,
    ) -> Result<(), CallError> {
        let accessed = self.accessed.take();
        let was_after_fence = self.is_after_fence && assertion & MODE_NOPRECEDE == 0;
        self.is_after_fence = assertion & MODE_NOSUCCEED == 0;
        match accessed.filter(|_| was_after_fence && is_checked) {
            None => Ok(()),
            Some(at) => {
                let text = format!(
                    "the access under a lock at {at} is in the epoch between two fences, too: expected MPI_MODE_NOSUCCEED in the first one or MPI_MODE_NOPRECEDE in this one"
                );
                Err(CallError::new("MPI_ERR_RMA_SYNC", text))
            }
        }
    }
}
