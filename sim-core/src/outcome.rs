//! Outcome of a run: a value, never a panic of the process.
//!
//! A deadlock is a [`WaitGraph`]: every blocked actor, its pending operation, its source line, and
//! the actors that could end the wait; as text and as a DOT graph. The graph contains no addresses:
//! two runs print the same text.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use source_location::SourceLocation;

use crate::{ActorId, Digest, Schedule, Time};

/// Outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Every actor that is not a daemon has ended.
    Finished,
    /// Actors are left that can never continue.
    Deadlock(WaitGraph),
    /// An actor panicked or returned an error.
    Failed(Failure),
    /// An actor awaited a future that does not belong to this kernel: no event would ever wake the
    /// actor.
    ForeignFuture(Failure),
    /// A limit was reached: no verdict.
    Limit(Limit),
    /// The run was interrupted from outside.
    Interrupted,
    /// The chooser stopped the run.
    Stopped,
    /// The input does not allow an action of an actor, such as a transfer without a route.
    BadInput(String),
}

/// The limit that stopped a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// The date up to which the run was allowed to go.
    Time(Time),
    /// The number of events that were allowed.
    Events(u64),
    /// Time overflow: the next event lies at this date, at or beyond [`Time::HORIZON`].
    Overflow(Time),
    /// The real time that was allowed, in seconds. The kernel has no clock: the caller that stopped
    /// the run gives the value.
    RealTime(f64),
    /// The real time in seconds for which one actor did not return control; given by the caller
    /// that stopped the run.
    Busy(f64),
    /// The memory of the machine: an allocation of this number of bytes failed. The caller that
    /// noticed the failure gives the value.
    Memory(u64),
    /// Number of times that actors continued at one date, under a limit of simulated time that a
    /// clock which stands still never reaches.
    Standstill(u64),
    /// Memory for messages that an actor has sent and no receive has met.
    Unreceived {
        /// The actor.
        actor: ActorId,
        /// The largest memory in bytes that they may take.
        bytes: u64,
        /// The call that has sent the last message.
        location: SourceLocation,
    },
}

/// An actor that failed.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// The actor.
    pub actor: ActorId,
    /// The name of the actor.
    pub name: String,
    /// The name of the host of the actor.
    pub host: String,
    /// The time of the failure.
    pub time: Time,
    /// The panic's message or the error's text.
    pub message: String,
    /// True if the actor panicked; otherwise the actor returned an error or violated an invariant.
    pub panicked: bool,
    /// The name of the invariant that the actor violated, if this is the reason.
    pub invariant: Option<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.panicked { "panicked" } else { "failed" };
        write!(
            f,
            "{} on host {} {verb} at {}: {}",
            self.name, self.host, self.time, self.message
        )
    }
}

/// An actor that cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The actor.
    pub actor: ActorId,
    /// The name of the actor.
    pub name: String,
    /// The name of the host of the actor.
    pub host: String,
    /// The operation or event that the actor waits for, in words.
    pub waits_in: String,
    /// The source line of the operation, as `file:line`.
    pub location: String,
    /// The actors that hold or could provide the awaited object.
    pub waits_for: Vec<ActorId>,
}

/// The blocked actors, the operations in which they wait, and the actors for which they wait.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitGraph {
    /// The blocked actors, by number.
    pub blocked: Vec<Blocked>,
    /// The actors that are not blocked but for which a blocked one waits, by number, and their
    /// names.
    pub others: Vec<(ActorId, String)>,
}

impl WaitGraph {
    fn name_of(&self, actor: ActorId) -> String {
        if let Some(blocked) = self.entry(actor) {
            return blocked.name.clone();
        }
        let other = self.others.iter().find(|(other, _)| *other == actor);
        other.map_or_else(|| format!("actor {actor}"), |(_, name)| name.clone())
    }

    pub(crate) fn entry(&self, actor: ActorId) -> Option<&Blocked> {
        let position = self
            .blocked
            .binary_search_by_key(&actor, |blocked| blocked.actor);
        position.ok().map(|position| &self.blocked[position])
    }

    /// One cycle of actors that wait for each other, if there is one: each waits for the next, the
    /// last for the first.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<ActorId>> {
        // Depth first; what was seen once is not entered again, so each edge is looked at once.
        let mut seen = BTreeSet::new();
        for start in &self.blocked {
            let mut path = Vec::new();
            let mut edges = Vec::new();
            let mut next = Some(start.actor);
            while next.is_some() || !path.is_empty() {
                if let Some(actor) = next.take() {
                    if seen.insert(actor) {
                        if let Some(entry) = self.entry(actor) {
                            path.push(actor);
                            edges.push(entry.waits_for.iter());
                        }
                    } else if let Some(position) = path.iter().rposition(|&other| other == actor) {
                        return Some(path.split_off(position));
                    }
                } else if let Some(&target) = edges.last_mut().and_then(Iterator::next) {
                    next = Some(target);
                } else {
                    path.pop();
                    edges.pop();
                }
            }
        }
        None
    }

    /// The graph in the DOT language of Graphviz.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph deadlock {\n  node [shape=box];\n");
        for entry in &self.blocked {
            let label = format!("{}\\n{}\\n{}", entry.name, entry.waits_in, entry.location);
            let _ = writeln!(
                dot,
                "  a{} [label=\"{}\"];",
                entry.actor,
                label.replace('"', "\\\"")
            );
            for target in &entry.waits_for {
                let _ = writeln!(dot, "  a{} -> a{target};", entry.actor);
            }
        }
        dot.push_str("}\n");
        dot
    }
}

impl fmt::Display for WaitGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.blocked {
            write!(
                f,
                "  {} on host {} waits in {}",
                entry.name, entry.host, entry.waits_in
            )?;
            if !entry.location.is_empty() {
                write!(f, " at {}", entry.location)?;
            }
            if !entry.waits_for.is_empty() {
                let names: Vec<String> = entry
                    .waits_for
                    .iter()
                    .map(|&actor| self.name_of(actor))
                    .collect();
                write!(f, ", for {}", names.join(", "))?;
            }
            writeln!(f)?;
        }
        if let Some(cycle) = self.cycle() {
            let mut names: Vec<String> = cycle.iter().map(|&actor| self.name_of(actor)).collect();
            names.push(names[0].clone());
            writeln!(f, "  cycle: {}", names.join(" -> "))?;
        }
        Ok(())
    }
}

/// Result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// The date at which the run ended.
    pub time: Time,
    /// Dates popped from the queue: timers that expired and activities that ended.
    pub events: u64,
    /// Transitions executed.
    pub transitions: u64,
    /// Messages sent through mailboxes and devices.
    pub messages: u64,
    /// Their bytes.
    pub bytes: f64,
    /// Actors that were numbered, whether or not they came to run.
    pub actors: u32,
    /// The fingerprint of the run.
    pub digest: Digest,
    /// The decisions of the run, if they were recorded.
    pub schedule: Option<Schedule>,
}

/// The text of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
