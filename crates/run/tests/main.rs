//! The tests of simulated runs and their exploration, in one executable.

mod answers;
mod arrival_orders;
mod busy_ranks;
mod class_counts;
mod collective_calls;
mod collective_waits;
mod common;
mod element_types;
mod event_log;
mod explore;
mod hazards;
mod idle_ranks;
mod mapping;
mod noise;
mod operand_orders;
mod random_ranks;
mod ready_sends;
mod repeated_reads;
mod rma;
