//! `dlopen`. All ranks share a library that they open.
//!
//! *Not there*: libraries that call MPI, which would need an image for each rank. One that is found
//! only by a path of the program (RUNPATH) is not found here either.

use std::ffi::{c_char, c_int, c_void};

use super::memory;
use crate::bridge::{RankEnd, caller};
use crate::loader::libraries;

extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    let path = memory::text(name);
    if libraries::calls_mpi(&path) {
        let rank = caller();
        rank.finish(RankEnd::Failed(format!(
            "dlopen{}: {path} calls MPI: expected a library that the program is linked with",
            rank.call_line()
        )));
    }
    // SAFETY: the program gives a name that ends with 0, or null.
    unsafe { libc::dlopen(name, flags) }
}

/// Returns the address of a function of this file.
pub(super) fn address(symbol: &str) -> Option<usize> {
    let function: extern "C" fn(*const c_char, c_int) -> *mut c_void = dlopen;
    (symbol == "dlopen").then_some(function as usize)
}
