//! The tests of events and their log, in one executable.

mod log;
mod network;
