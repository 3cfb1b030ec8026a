//! The tests of random interactions, programs and work requests, in one executable.

mod actors;
mod campaigns;
mod freedoms;
mod mistakes;
mod processes;
mod ranks;
mod regressions;
mod verbs;
