//! The tests of queue pairs and wire formats, in one executable.

mod any_packets;
mod conformance;
mod datagrams;
mod dialogue;
mod exploration;
mod random_faults;
mod responder;
mod retries;
mod wire;
