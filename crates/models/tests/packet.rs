//! The packet network against `packet/packet-cases.csv`, closed forms and small scenarios.

#![allow(
    clippy::cast_precision_loss,
    reason = "counts and times of tests are far below 2^53"
)]

#[path = "packet/against_flows.rs"]
mod against_flows;
#[path = "packet/case.rs"]
mod case;
#[path = "packet/closed_forms.rs"]
mod closed_forms;
#[path = "packet/congestion.rs"]
mod congestion;
#[path = "packet/dcqcn_run.rs"]
mod dcqcn_run;
#[path = "packet/ethernet.rs"]
mod ethernet;
#[path = "packet/fat_tree.rs"]
mod fat_tree;
#[path = "packet/faults.rs"]
mod faults;
#[path = "packet/lab.rs"]
mod lab;
#[path = "packet/lanes.rs"]
mod lanes;
#[path = "packet/late_credits.rs"]
mod late_credits;
#[path = "packet/loops.rs"]
mod loops;
#[path = "packet/of_platform.rs"]
mod of_platform;
#[path = "packet/roce.rs"]
mod roce;
