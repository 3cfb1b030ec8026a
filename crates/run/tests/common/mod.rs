//! Runs and explorations of rank programs.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "each test file uses a part of the harness"
)]

use std::collections::BTreeSet;
use std::future::Future;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use explore::{
    Observer, Options as CheckOptions, Reduction, Report, Statistics, TraceId, Verdict, check,
    explore,
};
use mpi::channel::CollectiveWaits;
use mpi::{Comm, Result};
use platform::Platform;
use run::{
    LogFilter, MessageProtocol, Options, Output, Program, QueueNumbers, RankProgram, Run, Stream,
    explorable, simulate, stepper, without_panic_messages,
};
use sim_core::{Note, Outcome, Stepper, Stream as Draws};

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

/// Returns the program that each rank executes.
#[track_caller]
pub fn on_ranks<Fut>(program: impl Fn(Comm) -> Fut + 'static) -> Rc<dyn Program>
where
    Fut: Future<Output = Result<()>> + 'static,
{
    Rc::new(RankProgram::new(program))
}

/// Runs a program on a platform given as text.
pub fn simulated(platform: &str, program: &Rc<dyn Program>, options: &Options) -> Run {
    let platform = Platform::parse("test.toml", platform).unwrap_or_else(|error| panic!("{error}"));
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = || simulate(&Arc::new(platform), &**program, options, &output);
    without_panic_messages(run).expect("a run")
}

/// Runs a program on a platform of eight hosts.
pub fn plain(ranks: u32, program: &Rc<dyn Program>) -> Run {
    let options = Options {
        ranks: Some(ranks),
        ..Options::default()
    };
    simulated(PLATFORM, program, &options)
}

/// Options of a search.
pub fn options(reduction: Reduction) -> CheckOptions {
    CheckOptions {
        reduction,
        ..CheckOptions::default()
    }
}

/// Checks a program under a message protocol.
pub fn checked(
    ranks: u32,
    mode: impl Into<Option<MessageProtocol>>,
    program: &Rc<dyn Program>,
) -> Report {
    let stepper = explorable(Rc::clone(program), ranks, mode);
    check(stepper, &CheckOptions::default())
}

/// Explores a program.
pub fn explored(ranks: u32, program: &Rc<dyn Program>) -> Report {
    explored_with(ranks, program, Options::default())
}

/// Explores a program; the collectives wait as in their algorithms.
pub fn scheduled(ranks: u32, program: &Rc<dyn Program>) -> Report {
    let options = Options {
        collective_waits: CollectiveWaits::Algorithm,
        ..Options::default()
    };
    explored_with(ranks, program, options)
}

/// Explores a program and compares its reductions with the results of other orders. Returns the
/// notes, too.
pub fn reordered(ranks: u32, program: &Rc<dyn Program>) -> (Report, Vec<String>) {
    let options = Options {
        orders_operands: true,
        ..Options::default()
    };
    let report = explored_with(ranks, program, options.clone());
    let notes = report.notes.iter().map(|note| match note {
        Note::Remark(text) | Note::Bound(text) => text.clone(),
    });
    let notes = notes.collect();
    (report, notes)
}

fn explored_with(ranks: u32, program: &Rc<dyn Program>, options: Options) -> Report {
    // Far more than any of these programs needs.
    let limits = CheckOptions {
        executions_max: 2_000,
        ..CheckOptions::default()
    };
    check(made(ranks, program, options), &limits)
}

fn made(ranks: u32, program: &Rc<dyn Program>, options: Options) -> Stepper {
    let options = Options {
        ranks: Some(ranks),
        protocol: Some(MessageProtocol::Eager),
        ..options
    };
    let numbers = QueueNumbers::default();
    stepper(None, Rc::clone(program), &options, None, &numbers).expect("ranks")
}

/// The program fails with these texts in both. Returns the message of the exploration.
#[track_caller]
pub fn fails(ranks: u32, program: &Rc<dyn Program>, expected: &[&str]) -> String {
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

/// The program is correct: no run has a finding. Returns the number of executions.
#[track_caller]
pub fn succeeds(ranks: u32, program: &Rc<dyn Program>) -> u64 {
    assert_eq!(plain(ranks, program).report.outcome, Outcome::Finished);
    let report = explored(ranks, program);
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    report.statistics.finished
}

/// The classes that a search finds, and a value for each run that has one.
pub struct Observation<T> {
    pub classes: BTreeSet<TraceId>,
    pub values: BTreeSet<T>,
    value: fn(&explore::Run<'_>) -> Option<T>,
}

impl<T: Ord> Observer for Observation<T> {
    fn examine_run(&mut self, run: &explore::Run<'_>) -> ControlFlow<()> {
        self.classes.insert(run.path.trace_id());
        self.values.extend((self.value)(run));
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        self.classes.clear();
        self.values.clear();
    }
}

/// Searches the runs of a program with a value for each. Returns the text of a finding of the
/// checker about itself, too.
pub fn search_with<T: Ord>(
    program: (u32, impl Into<Option<MessageProtocol>>, &Rc<dyn Program>),
    options: &CheckOptions,
    value: fn(&explore::Run<'_>) -> Option<T>,
) -> (Observation<T>, Statistics, Option<String>) {
    let (ranks, mode, program) = program;
    let mut seen = Observation {
        classes: BTreeSet::new(),
        values: BTreeSet::new(),
        value,
    };
    let mut stepper = explorable(Rc::clone(program), ranks, mode);
    let (statistics, broken) = explore(&mut stepper, options, &mut seen);
    (seen, statistics, broken)
}

/// Searches the runs of a program with their ends.
#[track_caller]
pub fn search(
    program: (u32, impl Into<Option<MessageProtocol>>, &Rc<dyn Program>),
    options: &CheckOptions,
) -> (Observation<explore::End>, Statistics) {
    let (seen, statistics, broken) = search_with(program, options, |run| Some(run.end));
    assert_eq!(broken, None, "{:?}", options.reduction);
    (seen, statistics)
}

/// Returns the number of random programs, which the environment can set.
pub fn programs(default: u64) -> u64 {
    std::env::var_os("EXPLORE_PROGRAMS").map_or(default, |number| {
        number.to_string_lossy().parse().expect("a number")
    })
}

/// Draws a number below a limit.
pub fn below(stream: &mut Draws, limit: usize) -> usize {
    usize::try_from(stream.below(limit as u64)).expect("below a small limit")
}
