//! Stores of a program to the memory of the rank's own windows, under a model checker.
//!
//! A program stores without a call. At the begin of each call the memory is compared with the
//! contents that are known from the end of the previous call and from the accesses of other ranks
//! since then: a byte that differs was stored by the program between the two calls. Stores before
//! the first call with a new window set the first contents, which many programs do not order.
//!
//! *Not noticed*: stores of the value that was there; stores behind the first [`WATCHED_MAX`] bytes
//! of a window, to memory of two windows, to shared memory, and to dynamic windows; changes by
//! calls, as by a receive into the window; loads.
//! *Not decided here*: which accesses conflict with a store.

use std::ffi::c_int;
use std::ops::Range;

use mpi::ProgramMemory as _;

use super::{Exposed, MODE_NOSTORE, Place};
use crate::errors::CallError;
use crate::state::{MpiState, Stage};

/// Maximum number of bytes at the begin of a window in which stores are looked for: each call reads
/// these bytes twice. \[choice\]
const WATCHED_MAX: usize = 16 << 10;

/// The contents of a window without the stores of the program since the previous call.
#[derive(Default, Debug)]
pub(crate) enum KnownContents {
    /// Stores are not looked for.
    #[default]
    Unwatched,
    /// The program has made no call since the window was made.
    New,
    /// From the first byte on.
    Bytes(Vec<u8>),
}

impl Exposed {
    /// Returns the number of bytes in which stores are looked for. Other ranks write shared memory
    /// without calls, too.
    fn watched_length(&self) -> usize {
        match &self.place {
            Place::Fixed { length, .. } | Place::Allocated { length, .. } => {
                (*length).min(WATCHED_MAX)
            }
            Place::Attached(_) | Place::Shared(..) => 0,
        }
    }

    /// Returns true if the memory has one of these bytes.
    fn overlaps(&self, bytes: &Range<usize>) -> bool {
        let is_common = |start: usize, length: usize| {
            length > 0 && start < bytes.end && bytes.start < start + length
        };
        match &self.place {
            Place::Fixed { address, length } => is_common(*address, *length),
            Place::Allocated { length, .. } => is_common(self.start(), *length),
            Place::Attached(regions) => {
                let regions = regions.borrow();
                let mut places = regions.iter();
                places.any(|(start, length)| is_common(*start, *length))
            }
            Place::Shared(memory, rank) => is_common(self.start(), memory.length(*rank)),
        }
    }

    /// Returns a copy of the memory in which stores are looked for.
    fn copy_contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.watched_length()];
        self.read_bytes(0, &mut bytes);
        bytes
    }

    /// Updates the known contents: no change so far is a store of the program.
    fn learn_contents(&self) {
        if let KnownContents::Bytes(known) = &mut *self.known.borrow_mut() {
            self.read_bytes(0, known);
        }
    }

    /// Updates the known contents by an access of another rank.
    pub(super) fn learn_write(&self, offset: u64, bytes: &[u8]) {
        if let KnownContents::Bytes(known) = &mut *self.known.borrow_mut() {
            let start = usize::try_from(offset).map_or(known.len(), |at| at.min(known.len()));
            let place = known[start..].iter_mut();
            place.zip(bytes).for_each(|(old, new)| *old = *new);
        }
    }

    /// Takes the places at which the program has stored since the previous call.
    fn take_stores(&self) -> Vec<Range<u64>> {
        let known = &mut *self.known.borrow_mut();
        let present = match known {
            KnownContents::Unwatched => return Vec::new(),
            KnownContents::New | KnownContents::Bytes(_) => self.copy_contents(),
        };
        let mut places: Vec<Range<u64>> = Vec::new();
        if let KnownContents::Bytes(known) = known {
            let bytes = (0_u64..).zip(known.iter().zip(&present));
            for (at, _) in bytes.filter(|(_, (old, new))| old != new) {
                match places.last_mut() {
                    Some(last) if last.end == at => last.end += 1,
                    _ => places.push(at..at + 1),
                }
            }
        }
        *known = KnownContents::Bytes(present);
        places
    }

    /// Fails if a call asserts that the program has not stored, and a store was noted.
    pub(crate) fn check_assertion(&self, assertion: c_int) -> Result<(), CallError> {
        if assertion & MODE_NOSTORE == 0 || !self.has_stored.get() {
            return Ok(());
        }
        let text = "MPI_MODE_NOSTORE after a store of the program to the window";
        Err(CallError::new("MPI_ERR_ASSERT", text))
    }
}

impl MpiState {
    /// Looks for stores to the memory of a new window, unless another window has a part of this
    /// memory: the accesses to one of the two would look like stores to the other.
    pub(crate) fn watch_stores(&self, new: &Exposed) {
        if let Place::Fixed { length, .. } | Place::Allocated { length, .. } = &new.place
            && *length > 0
            && !self.unwatch_memory(&(new.start()..new.start() + length))
        {
            new.known.replace(KnownContents::New);
        }
    }

    /// Ends the search for stores in windows with one of these bytes. Returns true if there are
    /// such windows.
    pub(crate) fn unwatch_memory(&self, bytes: &Range<usize>) -> bool {
        let exposed = self.windows.objects().map(|window| &*window.exposure.0);
        let mut is_common = false;
        for other in exposed.filter(|other| other.overlaps(bytes)) {
            other.known.take();
            is_common = true;
        }
        is_common
    }

    /// Notes the stores of the program since the previous call.
    pub(crate) async fn note_stores(&self) {
        if self.stage == Stage::Finalized {
            return;
        }
        let mut noted = Vec::new();
        for window in self.windows.objects() {
            let places = window.exposure.0.take_stores();
            window.exposure.0.has_stored.set(!places.is_empty());
            if !places.is_empty() {
                noted.push((&window.window, places));
            }
        }
        for (window, places) in noted {
            window.note_stores(places).await;
        }
    }

    /// Ends a call: changes of windows so far are no stores of the program.
    pub(crate) fn learn_contents(&self) {
        let is_over = self.stage == Stage::Finalized;
        for window in self.windows.objects().filter(|_| !is_over) {
            window.exposure.0.learn_contents();
        }
    }
}
