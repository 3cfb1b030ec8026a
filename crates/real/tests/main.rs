//! The tests of real runs that need no adapter, in one executable.

mod parsers;
mod softroce;
