//! The tests of two-senders, in one executable.

mod compiled;
mod known_answers;
