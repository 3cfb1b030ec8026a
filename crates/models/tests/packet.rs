//! The packet network against `packet/packet-cases.csv`, closed forms and small scenarios.

#![allow(
    clippy::cast_precision_loss,
    reason = "counts and times of tests are far below 2^53"
)]

mod against_flows;
mod case;
mod closed_forms;
mod congestion;
mod dcqcn_run;
mod ethernet;
mod fat_tree;
mod faults;
mod lab;
mod lanes;
mod late_credits;
mod loops;
mod of_platform;
mod roce;
