//! The tests of analyses and timelines, in one executable.

mod backward;
mod common;
mod html;
mod network;
mod trace;
mod trace_counters;
mod wait_states;
