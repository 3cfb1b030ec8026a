//! Runs and explorations of programs that may be wrong.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test file uses a part of the harness"
)]

use std::rc::Rc;
use std::sync::Arc;

use explore::{Options as CheckOptions, Report, check, check_determinism};
use mpi::{Comm, Result};
use platform::Platform;
use run::{
    LogFilter, MessageProtocol, Options, Output, QueueNumbers, RankProgram, Run, Stream, simulate,
    stepper, without_panic_messages,
};
use sim_core::Stepper;

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

/// Runs a program on a platform of eight hosts.
pub fn plain<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> Run
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let platform = Arc::new(Platform::parse("test.toml", PLATFORM).expect("a platform"));
    let options = Options {
        ranks: Some(ranks),
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let program = RankProgram::new(program);
    without_panic_messages(|| simulate(&platform, &program, &options, &output)).expect("a run")
}

/// Explores a program.
pub fn explored<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> Report
where
    Fut: Future<Output = Result<()>> + 'static,
{
    explored_with(ranks, program, Options::default())
}

/// Explores a program whose collectives have the schedules of their algorithms.
pub fn scheduled<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> Report
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let options = Options {
        schedules_collectives: true,
        ..Options::default()
    };
    explored_with(ranks, program, options)
}

/// Explores a program whose reductions are compared with those in other orders. Returns the notes,
/// too.
pub fn reordered<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> (Report, Vec<String>)
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let options = Options {
        orders_operands: true,
        ..Options::default()
    };
    let report = explored_with(ranks, program, options.clone());
    let mut stepper = made(ranks, program, options);
    check_determinism(&mut stepper, 1).expect("a deterministic program");
    (report, stepper.notes())
}

fn explored_with<Fut>(ranks: u32, program: fn(Comm) -> Fut, options: Options) -> Report
where
    Fut: Future<Output = Result<()>> + 'static,
{
    // Far more than any of these programs needs.
    let limits = CheckOptions {
        executions_max: 2_000,
        ..CheckOptions::default()
    };
    check(made(ranks, program, options), &limits)
}

fn made<Fut>(ranks: u32, program: fn(Comm) -> Fut, options: Options) -> Stepper
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let options = Options {
        ranks: Some(ranks),
        protocol: Some(MessageProtocol::Eager),
        ..options
    };
    let (program, numbers) = (Rc::new(RankProgram::new(program)), QueueNumbers::default());
    stepper(None, program, &options, None, &numbers).expect("ranks")
}

/// The program fails with these texts in both. Returns the message of the exploration.
#[track_caller]
pub fn fails<Fut>(ranks: u32, program: fn(Comm) -> Fut, expected: &[&str]) -> String
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let run = plain(ranks, program);
    let plain = format!("{:?} {:?}", run.report.outcome, run.warnings);
    let report = explored(ranks, program);
    assert!(!report.findings.is_empty(), "{report:?}");
    let explored = &report.findings[0].message;
    for text in expected {
        assert!(plain.contains(text), "plain: {text}: {plain}");
        assert!(explored.contains(text), "explored: {text}: {explored}");
    }
    explored.clone()
}
