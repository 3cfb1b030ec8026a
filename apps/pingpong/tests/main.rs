//! The tests of pingpong, in one executable.

mod closed_form;
mod compiled;
