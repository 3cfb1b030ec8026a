//! The tests of ring, in one executable.

mod closed_form;
mod compiled;
