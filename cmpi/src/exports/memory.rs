//! Memory of a program: the addresses that calls are given.
//!
//! A rank that is given an address outside of its memory faults, as it does with any MPI; null is
//! refused.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::slice;

use mpi::{Buffer, Comm};

use super::Status;
use crate::errors::CallError;
use crate::handles::Target;

/// Returns a copy of `length` bytes at an address, as a message.
pub(super) fn message(
    comm: &Comm,
    address: *const c_void,
    length: u64,
) -> Result<Buffer, CallError> {
    let bytes = range(address, length)?;
    if bytes == 0 {
        return Ok(comm.buffer(0));
    }
    // SAFETY: the program says that these bytes are its own, and it is waiting in this call.
    Ok(comm.buffer_from(unsafe { slice::from_raw_parts(address.cast(), bytes) }))
}

/// Returns the place that a receive fills.
pub(super) fn target(address: *mut c_void, length: u64) -> Result<Target, CallError> {
    Ok(Target {
        address: address as usize,
        length: range(address, length)?,
    })
}

fn range(address: *const c_void, length: u64) -> Result<usize, CallError> {
    if address.is_null() && length > 0 {
        let text = format!("invalid buffer: address 0 for {length} bytes");
        return Err(CallError::new("MPI_ERR_BUFFER", text));
    }
    usize::try_from(length).map_err(|_| CallError::new("MPI_ERR_COUNT", "more than memory has"))
}

/// Copies the first `length` bytes of a message to their place.
pub(super) fn fill(target: Target, message: &Buffer, length: u64) {
    let Some(bytes) = message.bytes() else {
        return;
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let length = length.min(target.length).min(bytes.len());
    if length == 0 {
        return;
    }
    // SAFETY: the program gave this place for so many bytes when it started the receive, and is
    // waiting in this call; the message is memory of this process, apart from that of the program.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), target.address as *mut u8, length) };
}

/// Stores the result of a call, unless the program wants none.
pub(super) fn store<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the program gave this place for a value of this type.
        unsafe { ptr::write_unaligned(place, value) };
    }
}

/// Reads an argument that is given by its address.
pub(super) fn load<T: Copy>(place: *const T, name: &str) -> Result<T, CallError> {
    if place.is_null() {
        let text = format!("invalid argument {name}: address 0");
        return Err(CallError::new("MPI_ERR_ARG", text));
    }
    // SAFETY: the program gave this place of a value of this type.
    Ok(unsafe { ptr::read_unaligned(place) })
}

/// Sets a status, unless the program wants none.
pub(super) fn set_status(place: *mut Status, status: mpi::Status) {
    with_status(place, |place| place.set(status));
}

/// Sets a status to that of no message, unless the program wants none.
pub(super) fn set_empty_status(place: *mut Status) {
    with_status(place, Status::set_empty);
}

pub(super) fn with_status(place: *mut Status, f: impl FnOnce(&mut Status)) {
    if !place.is_null() {
        // SAFETY: the program gave this place for a status, and is waiting in this call.
        f(unsafe { &mut *place });
    }
}

/// Returns the place of an element of a list that may be absent.
pub(super) fn element<T>(list: *mut T, index: usize) -> *mut T {
    if list.is_null() {
        return list;
    }
    list.wrapping_add(index)
}

/// Stores a text of at most `longest` bytes with a 0 behind, and its length.
pub(super) fn store_text(place: *mut c_char, length: *mut c_int, text: &str, longest: usize) {
    let bytes = &text.as_bytes()[..text.len().min(longest - 1)];
    // SAFETY: the standard wants room for `longest` characters.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr().cast(), place, bytes.len());
        *place.add(bytes.len()) = 0;
    }
    store(length, c_int::try_from(bytes.len()).unwrap_or(c_int::MAX));
}

/// Returns a text of the program.
pub(super) fn text(place: *const c_char) -> String {
    if place.is_null() {
        return String::new();
    }
    // SAFETY: the program gave the address of a text that ends with 0.
    unsafe { CStr::from_ptr(place) }
        .to_string_lossy()
        .into_owned()
}
