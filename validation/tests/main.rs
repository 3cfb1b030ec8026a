//! The tests of fits, calibrations and predictions, in one executable.

mod calibrate;
mod closed_loop;
mod corpus;
mod key_fit;
mod published;
mod synthetic;
