//! The tests of SimGrid's platforms, in one executable.

mod import;
mod simgrid;
