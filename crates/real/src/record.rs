//! The record of a real run: the keys of a simulated run's record, with `measured_s` for
//! `simulated_s`.
//!
//! Values that a real run does not have are `null`: a seed, a digest, a platform, a model of the
//! network.

use run::{ConnectionTotals, FailureRecord, Stall};
use serde::Serialize;

use super::outcome::{RealFailure, RealOutcome, RealRun};

/// The facts of a run, in the order in which they are printed.
#[derive(Clone, Debug, Serialize)]
pub struct RealRecord {
    /// `finished`, `failed`, `startup_timeout`, `limit` or `interrupted`.
    pub outcome: &'static str,
    /// From the start of all ranks to the end of the run, in seconds.
    pub measured_s: f64,
    /// Real time of the whole run, in seconds.
    pub wall_s: f64,
    /// The number of ranks.
    pub ranks: u32,
    /// Number of ranks that have reported their counts; a rank reports its counts at its end. The
    /// counts below are sums over these ranks.
    pub ranks_counted: u32,
    /// Messages sent; unknown if no rank has reported.
    pub messages: Option<u64>,
    /// Their bytes.
    pub bytes: Option<f64>,
    /// Events that the ranks have handled.
    pub events: Option<u64>,
    /// Events per second.
    pub events_per_s: Option<f64>,
    /// Always `None`: a real run draws no random numbers.
    pub seed: Option<u64>,
    /// No two real runs are the same.
    pub digest: Option<String>,
    /// The revision of simrun.
    pub revision: String,
    /// The program's name.
    pub program: String,
    /// The command line as given, without the program itself.
    pub arguments: Vec<String>,
    /// There is none.
    pub platform: Option<String>,
    /// There is none.
    pub network_model: Option<String>,
    /// Back end that carried packets.
    pub backend: &'static str,
    /// The congestion control of the sockets that carried packets; several names if hosts differ.
    pub congestion_control: Option<String>,
    /// The host of each rank.
    pub hosts: Vec<String>,
    /// The rank that failed, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
    /// The limit that stopped the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Things to check before the result is trusted.
    pub warnings: Vec<String>,
    /// Time that messages waited for connections, the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Counts of the connections of the ranks that have reported counts.
    pub connections: Option<ConnectionTotals>,
}

/// Facts for the record that the run does not know.
#[derive(Clone, Debug)]
pub struct RealOrigin {
    /// The revision of simrun.
    pub revision: String,
    /// The program's name.
    pub program: String,
    /// The command line without the program itself.
    pub arguments: Vec<String>,
    /// Back end that carried packets.
    pub backend: &'static str,
    /// The time limit, as given.
    pub until: Option<String>,
}

impl RealRecord {
    /// The record of a run.
    pub fn new(run: &RealRun, origin: RealOrigin) -> Self {
        let reports = run.reports.iter().flatten();
        let counted = reports.clone().count();
        let events = (counted > 0).then(|| reports.clone().map(|report| report.events).sum());
        Self {
            outcome: outcome_name(&run.outcome),
            measured_s: run.measured_s,
            wall_s: run.wall_s,
            ranks: u32::try_from(run.reports.len()).unwrap_or(u32::MAX),
            ranks_counted: u32::try_from(counted).unwrap_or(u32::MAX),
            messages: events.map(|_| reports.clone().map(|report| report.messages).sum()),
            bytes: events.map(|_| reports.clone().map(|report| report.bytes).sum()),
            events,
            events_per_s: events.map(|events| event_rate(events, run.measured_s)),
            seed: None,
            digest: None,
            revision: origin.revision,
            program: origin.program,
            arguments: origin.arguments,
            platform: None,
            network_model: None,
            backend: origin.backend,
            congestion_control: run.congestion_control(),
            hosts: run.hosts.clone(),
            failure: match &run.outcome {
                RealOutcome::Failed(failure) => Some(failure_record(failure)),
                _ => None,
            },
            limit: origin
                .until
                .filter(|_| run.outcome == RealOutcome::Limit)
                .map(|until| format!("--until {until}")),
            warnings: warnings(run),
            stalls: stalls(run),
            connections: events.map(|_| reports.map(|report| report.connections).sum()),
        }
    }

    /// The record as JSON, one key per line.
    ///
    /// # Panics
    /// Never: all keys are known to be expressible.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record has only keys that JSON knows")
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn event_rate(events: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        events as f64 / seconds
    } else {
        0.0
    }
}

const fn outcome_name(outcome: &RealOutcome) -> &'static str {
    match outcome {
        RealOutcome::Finished => "finished",
        RealOutcome::Failed(_) => "failed",
        RealOutcome::Missing { .. } => "startup_timeout",
        RealOutcome::Limit => "limit",
        RealOutcome::Interrupted | RealOutcome::Unheard => "interrupted",
    }
}

fn failure_record(failure: &RealFailure) -> FailureRecord {
    FailureRecord {
        rank: failure.rank,
        name: format!("rank {}", failure.rank),
        host: failure.host.clone(),
        time_s: failure.time_s.unwrap_or(0.0),
        message: failure.message.clone(),
    }
}

/// Returns the lost ranks, and the unfinished operations of the other ranks.
fn warnings(run: &RealRun) -> Vec<String> {
    let lost = run.lost.iter().map(|lost| {
        let time_s = lost.time_s.unwrap_or(0.0);
        format!(
            "rank {} was lost at {time_s:.6} s: {}",
            lost.rank, lost.message
        )
    });
    let reports = (0..).zip(&run.reports);
    let leftovers = reports.flat_map(|(rank, report): (u32, _)| {
        let texts = report
            .iter()
            .flat_map(|report| report.unfinished_operations.iter());
        texts.map(move |text| format!("rank {rank}: {text}"))
    });
    let calls = run.open_calls.iter();
    let calls = calls.map(|(rank, text)| format!("rank {rank}: {text}"));
    lost.chain(leftovers).chain(calls).collect()
}

fn stalls(run: &RealRun) -> Vec<Stall> {
    let reports = (0..).zip(&run.reports);
    let mut all: Vec<Stall> = reports
        .flat_map(|(rank, report)| {
            let waited = report.iter().flat_map(|report| report.waited.iter());
            waited.map(move |&(peer, seconds)| Stall {
                rank,
                peer,
                resource: "connection",
                seconds,
            })
        })
        .collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}
