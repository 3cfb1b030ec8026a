//! The tests of message passing in memory, in one executable.

mod attributes;
mod calls;
mod cancel;
mod collective_views;
mod collectives;
mod communicators;
mod connections;
mod flow_control;
mod intercomm;
mod machines;
mod matching;
mod modes;
mod mpich;
mod partitioned;
mod protocols;
mod random_traffic;
mod requests;
mod rma;
mod rma_errors;
mod topologies;
mod unreliable;
mod views;
mod waiting;
mod written_at_once;
