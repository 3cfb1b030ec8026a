//! Stores of a program to the memory of the rank's own windows, under a model checker.
//!
//! A program stores without a call. At the begin of each call the memory is compared with the
//! contents that are known from the end of the previous call and from the accesses of other ranks
//! since then: a byte that differs was stored by the program between the two calls. Stores before
//! the first call with a new window set the first contents, which many programs do not order.
//!
//! *Not noticed*: stores of the value that was there; stores behind the first [`WATCHED_MAX`] bytes
//! of a window, to memory of two windows, to shared memory, and to dynamic windows; loads.
//! *Not decided here*: which accesses conflict with a store.

use std::ffi::c_int;
use std::ops::Range;

use mpi::ProgramMemory as _;

use super::{Exposed, MODE_NOSTORE, Place};
use crate::errors::CallError;
use crate::state::MpiState;

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
    /// Returns the addresses at which stores are looked for. Other ranks write shared memory without
    /// calls, too.
    fn watchable(&self) -> Range<usize> {
        let length = match &self.place {
            Place::Fixed { length, .. } | Place::Allocated { length, .. } => *length,
            Place::Attached(_) | Place::Shared(..) => 0,
        };
        self.start()..self.start() + length.min(WATCHED_MAX)
    }

    /// Returns a copy of the memory in which stores are looked for.
    fn copy_contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.watchable().len()];
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
        let own = new.watchable();
        let has_own = |other: &&Exposed| {
            let place = other.watchable();
            place.start < own.end && own.start < place.end
        };
        let exposed = self.windows.objects().map(|window| &*window.exposure.0);
        let others: Vec<&Exposed> = exposed.filter(has_own).collect();
        if others.is_empty() && !own.is_empty() {
            new.known.replace(KnownContents::New);
        }
        for other in others {
            other.known.take();
        }
    }

    /// Notes the stores of the program since the previous call.
    pub(crate) async fn note_stores(&self) {
        for window in self.windows.objects() {
            let places = window.exposure.0.take_stores();
            window.exposure.0.has_stored.set(!places.is_empty());
            if !places.is_empty() {
                window.window.note_stores(places).await;
            }
        }
    }

    /// Ends a call: changes of windows so far are no stores of the program.
    pub(crate) fn learn_contents(&self) {
        for window in self.windows.objects() {
            window.exposure.0.learn_contents();
        }
    }
}
