//! Memory of a program: the addresses in the arguments of calls.
//!
//! A call with an address outside of the memory of the rank causes a fault, as with any MPI; a null
//! address is refused.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::slice;

use mpi::prelude::*;

use crate::arguments::{Count, natural};
use crate::bridge::{RankEnd, caller, current};
use crate::datatypes::{DATATYPE_NULL, element as element_of};
use crate::errors::CallError;
use crate::handles::{ElementLayout, Target};
use crate::loader::heap::{Heap, HeapError};
use crate::state::Handle;
use crate::state::requests::Status;

/// `MPI_IN_PLACE`.
const IN_PLACE: usize = 1;

/// Returns true if an argument is `MPI_IN_PLACE`.
pub(super) fn is_in_place(address: *const c_void) -> bool {
    address as usize == IN_PLACE
}

/// Returns a copy of elements of the program, as a message.
pub(super) fn message(comm: &Comm, place: Target) -> Buffer {
    match place.length {
        0 => comm.buffer(0),
        _ => {
            check_block(place);
            let free = caller().free_buffers();
            let message = with_bytes(place, |bytes| match free.take_buffer(bytes) {
                Some(message) => message,
                None => comm.buffer_from(bytes),
            });
            message.with_element(place.element.numbers)
        }
    }
}

/// Returns a buffer for a message that elements of the program will have.
pub(super) fn room(comm: &Comm, place: Target) -> Buffer {
    let room = comm.buffer(place.length as u64);
    room.with_element(place.element.numbers)
}

/// Returns a buffer for one message with elements of the program; the message provides the memory.
pub(super) fn receive_buffer(place: Target) -> Buffer {
    Buffer::room(place.length as u64).with_element(place.element.numbers)
}

/// Ends the rank if a call reads or fills memory behind the end of a block of the heap, or of a
/// freed block. The lengths of blocks are known under a model checker, for the addresses at which
/// blocks begin.
#[inline]
fn check_block(place: Target) {
    if let Some(heap) = Heap::from_address(place.address) {
        check_block_of(heap, place);
    }
}

#[cold]
fn check_block_of(heap: Heap, place: Target) {
    let size = place.element.size.max(1);
    let last = (place.length.div_ceil(size)).saturating_sub(1);
    let ends = [0, last].map(|number| {
        let pieces = pieces(place, number).map(|(start, length)| start + length);
        pieces.max().unwrap_or(place.address)
    });
    let [first, last] = ends;
    let length = match place.element.is_contiguous() {
        true => place.length,
        false => first.max(last).saturating_sub(place.address),
    };
    let text = match heap.asked_length(place.address) {
        Ok(asked) if length > asked => format!("{length} bytes at a block of {asked} bytes"),
        Err(HeapError::Freed) => format!("{length} bytes at a block that was freed"),
        _ => return,
    };
    if let Some(rank) = current() {
        let text = format!("invalid buffer of the call{}: {text}", rank.call_line());
        rank.finish(RankEnd::Failed(text));
    }
}

/// Calls `f` with the data of elements of the program, one behind the other.
pub(super) fn with_bytes<T>(place: Target, f: impl FnOnce(&[u8]) -> T) -> T {
    if place.length == 0 {
        return f(&[]);
    }
    if place.element.is_contiguous() {
        // SAFETY: the program says that these bytes are its own, and it is waiting in this call.
        return f(unsafe { slice::from_raw_parts(place.address as *const u8, place.length) });
    }
    let mut bytes = Vec::with_capacity(place.length);
    for number in 0..place.length / place.element.size {
        for (address, length) in pieces(place, number) {
            // SAFETY: as above, piece by piece.
            bytes.extend_from_slice(unsafe { slice::from_raw_parts(address as *const u8, length) });
        }
    }
    f(&bytes)
}

/// Returns address and length of each piece of an element.
fn pieces(place: Target, number: usize) -> impl Iterator<Item = (usize, usize)> {
    let ElementLayout {
        size,
        extent,
        segments,
        ..
    } = *place.element;
    let distance = number.cast_signed().wrapping_mul(extent);
    let start = place.address.wrapping_add_signed(distance);
    let whole = segments.is_empty().then_some((start, size));
    let parts = segments.iter();
    let parts = parts.map(move |part| (start.wrapping_add_signed(part.offset), part.length));
    whole.into_iter().chain(parts)
}

/// Returns address and length of each piece of a place.
pub(super) fn all_pieces(place: Target) -> impl Iterator<Item = (usize, usize)> {
    let is_one = place.element.is_contiguous() && place.length > 0;
    let one = is_one.then_some((place.address, place.length));
    let elements = match is_one {
        true => 0,
        false => place.length / place.element.size.max(1),
    };
    let others = (0..elements).flat_map(move |number| pieces(place, number));
    one.into_iter().chain(others)
}

/// Returns memory like [`elements_at`]; zero elements need no datatype, as for calls of MPICH that
/// check the count before the datatype.
pub(super) fn place_or_null(
    address: *const c_void,
    count: impl Count,
    datatype: Handle,
) -> Result<Target, CallError> {
    if datatype == DATATYPE_NULL && count.into() == 0 {
        return Ok(Target {
            address: address as usize,
            ..Target::default()
        });
    }
    elements_at(address, count, datatype)
}

/// Returns the place of elements of the program.
#[inline]
pub(super) fn elements_at(
    address: *const c_void,
    count: impl Count,
    datatype: Handle,
) -> Result<Target, CallError> {
    let count = natural(count, "count", "MPI_ERR_COUNT")?;
    let element = element_of(datatype)?;
    let length = count.checked_mul(element.size);
    let Some(length) = length.filter(|it| *it as u64 <= Buffer::LENGTH_MAX) else {
        return Err(too_many(count, element.size));
    };
    // Segments with addresses as displacements are relative to MPI_BOTTOM, which is 0.
    let is_absolute = || {
        let first = element.segments.first();
        first.is_some_and(|first| first.offset != 0)
    };
    if address as usize <= IN_PLACE && length > 0 && !is_absolute() {
        return Err(not_a_buffer(address, length));
    }
    Ok(Target {
        address: address as usize,
        length,
        element,
    })
}

#[cold]
fn too_many(count: usize, size: usize) -> CallError {
    let text = format!("invalid count {count} of elements of {size} bytes");
    CallError::new("MPI_ERR_COUNT", text)
}

#[cold]
fn not_a_buffer(address: *const c_void, length: usize) -> CallError {
    let name = match is_in_place(address) {
        true => "MPI_IN_PLACE, which this call does not allow here,",
        false => "address 0",
    };
    let text = format!("invalid buffer: {name} for {length} bytes");
    CallError::new("MPI_ERR_BUFFER", text)
}

/// Returns the place of bytes of the program.
pub(super) fn bytes_at(address: *const c_void, length: usize) -> Result<Target, CallError> {
    // MPI_BYTE.
    let mut bytes = elements_at(address, 1_i64, 0x247)?;
    bytes.length = length;
    Ok(bytes)
}

/// Copies the first `length` bytes of a message to their place.
pub(super) fn fill_place(target: Target, message: &Buffer, length: u64) {
    let Some(bytes) = message.bytes() else {
        return;
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    store_bytes(target, &bytes[..length.min(target.length).min(bytes.len())]);
}

/// Copies the first `length` bytes of a message to their place. The next messages take the memory
/// of the message over.
pub(super) fn unload_message(target: Target, message: Buffer, length: u64) {
    fill_place(target, &message, length);
    caller().free_buffers().keep_buffer(message);
}

/// Copies data to elements of the program.
pub(super) fn store_bytes(target: Target, bytes: &[u8]) {
    let is_contiguous = target.element.is_contiguous();
    let step = if is_contiguous {
        bytes.len()
    } else {
        target.element.size
    };
    if step == 0 || target.is_nowhere() {
        return;
    }
    check_block(Target {
        length: bytes.len(),
        ..target
    });
    let copy = |from: &[u8], to: usize| {
        // SAFETY: the program gave this place for all elements when it started the receive, and is
        // waiting in this call; the message is other memory than that of the program.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u8, from.len()) };
    };
    if is_contiguous {
        return copy(bytes, target.address);
    }
    for (number, element) in bytes.chunks(step).enumerate() {
        let mut rest = element;
        for (address, length) in pieces(target, number) {
            // The last element can be a part of one.
            let (piece, behind) = rest.split_at(length.min(rest.len()));
            copy(piece, address);
            rest = behind;
        }
    }
}

/// Returns a copy of parts of the program's memory, one behind the other, as a message.
pub(super) fn message_of(comm: &Comm, parts: &[Target]) -> Buffer {
    if let [only] = parts {
        return message(comm, *only);
    }
    let mut all = comm.buffer(parts.iter().map(|part| part.length as u64).sum());
    let mut offset = 0;
    for part in parts {
        all.write(offset, &message(comm, *part));
        offset += part.length as u64;
    }
    let numbers = parts.iter().map(|part| part.element.numbers);
    all.with_element(numbers.reduce(mpi::Element::common).unwrap_or_default())
}

/// Copies a message to parts of the memory of the program; the message has the parts one behind the
/// other. Parts beyond the message are skipped: not all ranks of a collective get a result.
pub(super) fn fill_parts(parts: &[Target], message: &Buffer) {
    if let [only] = parts {
        return fill_place(*only, message, message.len());
    }
    let mut offset = 0;
    for part in parts {
        let length = part.length as u64;
        if offset + length <= message.len() {
            fill_place(*part, &message.slice(offset, length), length);
        }
        offset += length;
    }
}

/// Stores the result of a call, unless the program wants none.
pub(super) fn store<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the program gave this place for a value of this type.
        unsafe { ptr::write_unaligned(place, value) };
    }
}

/// Reads an argument that is passed by address.
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

/// Sets the status for no message, unless the program wants no status.
pub(super) fn set_empty_status(place: *mut Status) {
    store(place, Status::empty());
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

/// Stores a text of at most `longest` bytes including the final 0, and the length of the text.
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
