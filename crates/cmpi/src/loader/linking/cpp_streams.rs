//! Streams of C++, such as `std::cout`: each rank has a copy with a separate state, also in an
//! image of a program that is compiled with `-fPIC`.
//!
//! The output buffers are shared: they store no data, and write to the streams of C
//! (`exports::streams`). An input buffer refers to the stream of C of its construction, so each
//! rank has a copy that refers to the stream of the rank.

use std::collections::BTreeSet;
use std::ptr;

use super::{ALIGNMENT, InitialValue, Linked, Scope, index, length_of_variable, resolve};
use crate::host;
use crate::loader::{INPUT_BUFFERS, INPUT_FILE};
use elf::Refusal;

/// Streams of C++, with their state: each rank has them for itself.
const STREAMS: &[&str] = &[
    "_ZSt3cin",
    "_ZSt4cerr",
    "_ZSt4clog",
    "_ZSt4cout",
    "_ZSt4wcin",
    "_ZSt5wcerr",
    "_ZSt5wclog",
    "_ZSt5wcout",
];

/// A stream of C++ that is not in a file of the program: the name, the place in the library, and
/// the place in an image with the length in bytes.
pub(super) type Stream = (&'static str, usize, (u64, u64));

/// Streams of input: their names, functions that return their buffers, and names of the copies of
/// these.
const INPUTS: [[&str; 3]; 2] = [
    [
        "_ZSt3cin",
        "_ZNKSt9basic_iosIcSt11char_traitsIcEE5rdbufEv",
        INPUT_BUFFERS[0],
    ],
    [
        "_ZSt4wcin",
        "_ZNKSt9basic_iosIwSt11char_traitsIwEE5rdbufEv",
        INPUT_BUFFERS[1],
    ],
];

/// Length of `__gnu_cxx::stdio_sync_filebuf` in bytes.
const BUFFER: u64 = 80;

/// Gives the streams of C++ that a program names places from an offset on, unless the program has
/// copies of them, as one without `-fPIC`. Returns them, and the end of their places.
pub(super) fn streams_of_cpp(
    scope: &Scope<'_>,
    outside: &BTreeSet<&str>,
    mut free: u64,
) -> Result<(Vec<Stream>, u64), Refusal> {
    let mut streams = Vec::new();
    let copies = scope.0.iter().flat_map(|placed| &placed.template.copied);
    let copies: BTreeSet<&str> = copies.map(|copied| copied.name.as_str()).collect();
    let named = |name: &&&str| outside.contains(**name) && !copies.contains(**name);
    for name in STREAMS.iter().filter(named) {
        let source = resolve(name, true)?;
        let length = length_of_variable(source);
        if length > 0 {
            streams.push((*name, source, (free, length)));
            free += length.next_multiple_of(ALIGNMENT);
        }
    }
    let is_there = |name: &str| outside.contains(name) || copies.contains(name);
    for [stream, get, name] in INPUTS.iter().filter(|input| is_there(input[0])) {
        if let Some(source) = input_buffer(resolve(stream, true)?, resolve(get, true)?) {
            streams.push((*name, source, (free, BUFFER)));
            free += BUFFER.next_multiple_of(ALIGNMENT);
        }
    }
    Ok((streams, free))
}

/// Returns the address of the buffer of an input stream, from the addresses of the stream and of
/// the function that returns the buffer; `None` if the layout of the buffer is unknown.
fn input_buffer(stream: usize, get: usize) -> Option<usize> {
    if stream == 0 || get == 0 {
        return None;
    }
    // SAFETY: the stream is an object of the library of C++, whose table of functions has the
    // offset of its virtual base 3 words before (Itanium C++ ABI, section 2.5). The function is
    // `std::basic_ios::rdbuf`, and returns an object of the library, which is longer than the place
    // that is read.
    unsafe {
        let table: *const isize = ptr::read(stream as *const *const isize);
        let base = stream.wrapping_add_signed(ptr::read(table.sub(3)));
        let get: extern "C" fn(usize) -> usize = std::mem::transmute(get);
        let buffer = get(base);
        let file = ptr::read((buffer + index(INPUT_FILE)) as *const usize);
        (file == host::input(true) as usize).then_some(buffer)
    }
}

impl Linked {
    /// Takes over the streams of C++, which the library has made, and lets their copies have the
    /// addresses of copies: of parts of themselves, and of other streams.
    pub(super) fn place_streams(&mut self, streams: Vec<Stream>) {
        for (name, source, (place, length)) in streams {
            self.variables.insert(name, place);
            self.copied
                .push((place, InitialValue::Shared(source), length));
        }
        let copies = self.copied.iter().filter_map(|copied| match *copied {
            (place, InitialValue::Shared(source), length) => Some((place, source, length)),
            _ => None,
        });
        let copies: Vec<(u64, usize, u64)> = copies.collect();
        for &(place, source, length) in &copies {
            for word in (0..length & !7).step_by(8) {
                // SAFETY: the variable of a library that stays loaded has this length.
                let value = unsafe { ptr::read_unaligned((source + index(word)) as *const usize) };
                let inside = |&&(_, start, length): &&(u64, usize, u64)| {
                    value >= start && value - start < index(length)
                };
                if let Some(&(other, start, _)) = copies.iter().find(inside) {
                    let offset = other + (value - start) as u64;
                    self.moved.push((place + word, offset.cast_signed()));
                }
            }
        }
    }
}
