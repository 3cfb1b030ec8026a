//! The tests of the model checker, in one executable.

mod bounds;
mod busy_loops;
mod commutation;
mod contract;
mod counts;
mod created;
mod devices;
mod explored;
mod invariants;
mod limits;
mod negative;
mod partial_order;
mod permanent_receivers;
mod programs;
mod random_programs;
mod repeated;
mod replay;
mod seen;
mod spinning;
mod threads;
mod transfers;
