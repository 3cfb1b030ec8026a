//! The readers of files that commands are given, for any bytes: used by tests and by the fuzz
//! targets of `crates/tools/fuzz`.
//!
//! *Not here*: platforms (`platform/fuzz`), measurements (`validation/fuzz`), executables
//! (`crates/cmpi/fuzz`), packets (`crates/rdma/fuzz`, `crates/real/fuzz`).

mod event_log;

use std::path::Path;

use fuzz::verbs::VerbsProgram;
use fuzz::{FuzzProgram, Interaction};
use sim_core::Schedule;

pub(crate) use event_log::survive as event_log;

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A study file.
pub(crate) fn study(bytes: &[u8]) {
    if let Err(error) = study::Study::parse("study.toml", &text(bytes)) {
        assert!(!error.report(false).is_empty());
    }
}

/// A line of the list of points of a study.
pub(crate) fn point(bytes: &[u8]) {
    let _ = serde_json::from_slice::<study::PlannedPoint>(bytes);
}

/// A line of the results of a study.
pub(crate) fn result(bytes: &[u8]) {
    let _ = serde_json::from_slice::<study::ResultLine>(bytes);
}

/// A file that maps ranks to hosts.
pub(crate) fn mapping(bytes: &[u8]) {
    if let Err(error) = run::RankMap::parse(Path::new("hosts"), &text(bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// The record of a run.
pub(crate) fn record(bytes: &[u8]) {
    if let Ok(record) = serde_json::from_slice(bytes) {
        let _ = run::Rerun::from_record(&record);
    }
}

/// A schedule of a model checker.
pub(crate) fn schedule(bytes: &[u8]) {
    if let Ok(schedule) = text(bytes).parse::<Schedule>() {
        let again: Result<Schedule, _> = schedule.to_string().parse();
        assert_eq!(again.ok(), Some(schedule));
    }
}

/// A selector of algorithms of collective operations.
pub(crate) fn selector(bytes: &[u8]) {
    if let Err(problem) = collectives::Selector::parse(&text(bytes)) {
        assert!(!problem.is_empty());
    }
}

/// A profile of a platform.
pub(crate) fn profile(bytes: &[u8]) {
    if let Err(error) = platform::profile::Events::parse(&text(bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// An interaction over endpoints, of a fuzzing campaign.
pub(crate) fn interaction(bytes: &[u8]) {
    if let Err(problem) = Interaction::from_toml(&text(bytes)) {
        assert!(!problem.is_empty());
    }
}

/// A program of work requests, of a fuzzing campaign.
pub(crate) fn requests(bytes: &[u8]) {
    if let Err(problem) = VerbsProgram::from_toml(&text(bytes)) {
        assert!(!problem.is_empty());
    }
}

/// Measured times of programs.
pub(crate) fn rounds(bytes: &[u8]) {
    if let Err(error) = validation::read_rounds("rounds.csv", &text(bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// Samples of one session of measurements.
pub(crate) fn session(bytes: &[u8]) {
    if let Err(error) = validation::Session::from_csv("samples.csv", &text(bytes)) {
        assert!(!error.to_string().is_empty());
    }
}

/// A figure to draw.
pub(crate) fn figure(bytes: &[u8]) {
    if let Ok(figure) = serde_json::from_slice::<report::Figure>(bytes)
        && figure.check_positions().is_ok()
    {
        let _ = figure.svg(40);
    }
}
