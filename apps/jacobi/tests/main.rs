//! The tests of jacobi, in one executable.

mod closed_form;
mod compiled;
