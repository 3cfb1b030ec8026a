//! The tests of simulated devices, in one executable.

mod collective_times;
mod common;
mod communicators;
mod connections;
mod dates;
mod failures;
mod hierarchical;
mod intra_node;
mod library;
mod loggops;
mod lost_ranks;
mod outcomes;
mod overheads;
mod profiles;
mod protocols;
mod repetition;
mod rma;
mod smpi;
mod smpi_collectives;
mod smpi_programs;
mod verbs;
mod verbs_conformance;
mod verbs_rma;
mod views;
