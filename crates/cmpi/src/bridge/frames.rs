//! The line of the program in reports about its calls.
//!
//! A function to which the program is bound has a thunk, which stores the return address. For a
//! call by a library on behalf of the program, the line is the line of the innermost frame of the
//! program that is not in a C++ header.

use std::ffi::{c_int, c_void};
use std::fmt;

use mpi::{NativeLocation, set_native_caller};

use super::Inner;
use crate::lines::HEADERS;

/// Frames of libraries at most between a program and a function of this crate.
const LONGEST: u32 = 64;

/// `_URC_NO_REASON`, which continues, and `_URC_NORMAL_STOP` of the unwinder.
const CONTINUE: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        look: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Search<'a> {
    rank: &'a Inner,
    count: u32,
    /// Innermost frame of the program, preferably a frame that is not in a C++ header.
    found: Option<usize>,
}

extern "C" fn look(context: *mut c_void, search: *mut c_void) -> c_int {
    // SAFETY: the unwinder gives a frame, and the search of the call below.
    let (address, search) = unsafe { (_Unwind_GetIP(context), &mut *search.cast::<Search<'_>>()) };
    let offset = search.rank.image().offset_of(address);
    let line = offset.map(|offset| search.rank.lines.of_call(offset));
    let is_own = line.is_some_and(|line| !line.file.contains(HEADERS));
    if is_own || line.is_some() && search.found.is_none() {
        search.found = Some(address);
    }
    search.count += 1;
    if is_own || search.count > LONGEST {
        STOP
    } else {
        CONTINUE
    }
}

/// The line of a call, for messages. No drop is needed: a rank may end with a line on the stack.
#[derive(Clone, Copy)]
pub(crate) struct CallLine(pub(super) Option<&'static NativeLocation>);

impl fmt::Display for CallLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, " at {line}"),
            None => Ok(()),
        }
    }
}

impl Inner {
    /// Sets the line of the call of MPI that runs, which the message layer notes.
    pub(super) fn set_location(&self, location: Option<&'static NativeLocation>) {
        self.location.set(location);
        set_native_caller(location);
    }

    /// Returns the line of the latest call, displayed as ` at a.c:7`; the line is empty if unknown.
    pub(crate) fn call_line(&self) -> CallLine {
        let offset = self.image().caller();
        CallLine(offset.map(|offset| self.lines.of_call(offset)))
    }

    /// Records the line of a call outside of MPI, for reports about the call. The thunk of the
    /// function has stored the return address.
    pub(crate) fn locate(&self) {
        if !self.is_called_back.get() {
            let offset = self.image().caller();
            self.set_location(offset.map(|offset| self.lines.of_call(offset)));
        }
    }

    /// Returns the line of the call of MPI that is running.
    pub(crate) const fn location(&self) -> Option<&'static NativeLocation> {
        self.location.get()
    }

    /// Notes the line of the program for a call that a library makes.
    pub(crate) fn note_library_call(&self) {
        let mut search = Search {
            rank: self,
            count: 0,
            found: None,
        };
        // SAFETY: the search outlives the call, which walks over the frames of this stack.
        unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
        if let Some(address) = search.found {
            self.image().set_caller(address);
        }
    }
}
