//! Streams of C++, such as `std::cout`: each rank has a copy with its own state, in an image of a
//! program that is compiled with `-fPIC`, too.
//!
//! *Not there*: buffers of their own: those of all ranks are the streams of C (`exports::streams`).

use std::collections::BTreeSet;
use std::ptr;

use super::{ALIGNMENT, Linked, Scope, Source, index, length_of_variable, resolve};
use crate::elf::Refusal;

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

/// A stream of C++ that is not in a file of the program: its name, where it is in the library, and
/// its place in an image and length in bytes.
pub(super) type Stream = (&'static str, usize, (u64, u64));

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
    Ok((streams, free))
}

impl Linked {
    /// Takes over the streams of C++, which the library has made, and lets their copies have the
    /// addresses of copies: of parts of themselves, and of other streams.
    pub(super) fn place_streams(&mut self, streams: Vec<Stream>) {
        for (name, source, (place, length)) in streams {
            self.variables.insert(name, place);
            self.copied.push((place, Source::Shared(source), length));
        }
        let copies = self.copied.iter().filter_map(|copied| match *copied {
            (place, Source::Shared(source), length) => Some((place, source, length)),
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
