//! The line of a program that makes a call.
//!
//! A call of a Rust program has the location that the compiler passes to functions with
//! `#[track_caller]`. A native executable calls through a bridge, which is Rust code: the bridge
//! sets the line of the executable with [`set_native_caller`] during the call, and
//! [`SourceLocation::caller`] returns this line instead of the line of the bridge.
//!
//! A location has 8 bytes, like `&Location`: the lowest bit of the address tells the kind. An enum
//! of 16 bytes cost 2 % of the instructions per message. The line of an executable is a
//! thread-local variable; as a parameter, the line would cause a second instance of each function
//! of the message layer.
//!
//! *Not decided here*: the lines of a native executable. The bridge finds them in the debugging
//! information of the executable, once for each calling place.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

mod tagged;

use tagged::{LocationKind, Tagged};

/// A line of a native executable that makes a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeLocation {
    /// The path of the source file, or else the name of the executable and the offset there.
    pub file: String,
    /// The line from 1 on, or 0 if the line is not known.
    pub line: u32,
}

/// The line of a program that makes a call.
#[derive(Clone, Copy)]
pub struct SourceLocation(Tagged);

thread_local! {
    /// The line of the native executable that makes the current call on this thread.
    static NATIVE: Cell<Option<&'static NativeLocation>> = const { Cell::new(None) };
}

impl SourceLocation {
    /// Returns the line of the calling native executable, or else the line of the Rust caller.
    #[inline]
    #[track_caller]
    pub fn caller() -> Self {
        Self(match NATIVE.get() {
            None => Tagged::rust(Location::caller()),
            Some(location) => Tagged::native(location),
        })
    }

    /// Returns the path of the source file.
    pub fn file(&self) -> &'static str {
        match self.0.kind() {
            LocationKind::Rust(location) => location.file(),
            LocationKind::Native(location) => &location.file,
        }
    }

    /// Returns the line, from 1 on; 0 if the line is not known.
    pub fn line(&self) -> u32 {
        match self.0.kind() {
            LocationKind::Rust(location) => location.line(),
            LocationKind::Native(location) => location.line,
        }
    }

    /// Returns the column, from 1 on; 0 in a native executable.
    pub fn column(&self) -> u32 {
        match self.0.kind() {
            LocationKind::Rust(location) => location.column(),
            LocationKind::Native(_) => 0,
        }
    }

    /// Returns true for a line of a native executable.
    pub fn is_native(&self) -> bool {
        matches!(self.0.kind(), LocationKind::Native(_))
    }

    /// Returns a number that is the same for all calls of this line in this process, and differs
    /// from process to process: a key for maps, never an order.
    #[inline]
    pub fn location_key(&self) -> usize {
        self.0.tagged_address()
    }
}

impl PartialEq for SourceLocation {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Equal locations are usually the same; their texts are compared otherwise.
        self.location_key() == other.location_key() || self.0.kind() == other.0.kind()
    }
}

/// Writes `file:line`, or the file alone if the line is not known.
impl fmt::Display for NativeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

impl Eq for SourceLocation {}

/// Writes `file:line`, or the file alone if the line is not known.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            LocationKind::Rust(location) => write!(f, "{}:{}", location.file(), location.line()),
            LocationKind::Native(location) => fmt::Display::fmt(location, f),
        }
    }
}

impl fmt::Debug for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Sets the line of the native executable that makes the next calls on this thread, and returns the
/// previous line; with `None`, calls belong to Rust programs.
#[inline]
pub fn set_native_caller(
    location: Option<&'static NativeLocation>,
) -> Option<&'static NativeLocation> {
    NATIVE.replace(location)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn called() -> SourceLocation {
        SourceLocation::caller()
    }

    #[test]
    fn a_call_of_a_native_executable_has_its_line() {
        static OUTER: NativeLocation = native(7);
        static INNER: NativeLocation = native(9);
        const fn native(line: u32) -> NativeLocation {
            NativeLocation {
                file: String::new(),
                line,
            }
        }
        let rust = called();
        assert_eq!((rust.file(), rust.line()), (file!(), line!() - 1));
        assert!(set_native_caller(Some(&OUTER)).is_none());
        assert_eq!(
            called().location_key(),
            Tagged::native(&OUTER).tagged_address()
        );
        let outer = set_native_caller(Some(&INNER));
        assert_eq!(called().line(), 9);
        set_native_caller(outer);
        assert_eq!(called().line(), 7);
        set_native_caller(None);
        assert_eq!(called().file(), file!());
    }
}
