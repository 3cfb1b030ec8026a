//! The command line from the view of its users: one file per promise.
//!
//! The programs run from the root of the checkout, in the target folder that this test was built
//! into.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[macro_use]
mod support;

mod analysis;
mod analysis_real;
mod bad_input;
mod calibrate;
mod check;
mod check_ranks;
mod collectives;
mod compiled;
mod conformance;
mod containment;
mod failures;
mod fuzz;
mod fuzz_layers;
mod help;
mod help_pages;
mod limits;
mod mapping;
mod measure;
mod new_package;
mod optimise;
mod output;
mod output_files;
mod patience;
mod protocols;
mod real;
mod real_attacks;
mod real_calls;
mod real_ends;
mod real_silence;
mod record;
mod refusals;
mod resume;
mod schedule;
mod study;
mod study_kills;
mod usage;
