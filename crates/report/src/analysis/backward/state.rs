//! States of ranks and packets of a log that is read backwards.

use std::collections::VecDeque;

use observe::NameId;

use super::delays::Waiter;
use super::sensitivity::FlowTimes;

/// Properties that an event passes to its cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect {
    /// In seconds.
    pub(super) slack: f64,
    /// If the critical path continues with the cause: the time of the event in seconds.
    pub(super) path: Option<f64>,
    /// Waits that the event has ended: of the rank that waited for data, and of their sender.
    pub(super) waiters: [Option<Waiter>; 2],
}

impl Default for Effect {
    fn default() -> Self {
        Self {
            slack: f64::INFINITY,
            path: None,
            waiters: [None; 2],
        }
    }
}

impl Effect {
    pub(super) fn merge_effect(&mut self, other: Self) {
        self.slack = self.slack.min(other.slack);
        self.path = self.path.or(other.path);
        for waiter in other.waiters.into_iter().flatten() {
            self.add_ended_wait(waiter);
        }
    }

    /// Adds a wait that the event has ended.
    pub(super) fn add_ended_wait(&mut self, waiter: Waiter) {
        if !self.waiters.contains(&Some(waiter))
            && let Some(free) = self.waiters.iter_mut().find(|other| other.is_none())
        {
            *free = Some(waiter);
        }
    }
}

/// A packet under way.
#[derive(Clone, Debug, Default)]
pub(super) struct BackwardFlight {
    pub(super) effect: Effect,
    pub(super) flow: Option<Box<FlowTimes>>,
}

/// A call before its beginning has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    pub(super) call: NameId,
    pub(super) place: NameId,
    pub(super) elapses: bool,
    pub(super) until: f64,
    /// Slack of the end of the call.
    pub(super) slack: f64,
    /// The time of the event that has ended the call, if known.
    pub(super) cause: Option<f64>,
    /// True if a timer has ended in the call.
    pub(super) has_timer: bool,
}

/// An operation after its data have left, as reported to the rank of the operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentOperation {
    pub(super) operation: u32,
    pub(super) effect: Effect,
}

/// The state of a rank.
#[derive(Clone, Debug, Default)]
pub(super) struct BackwardRank {
    pub(super) is_known: bool,
    /// Slack of the program event that was read last, and the time of this event in seconds.
    pub(super) slack: f64,
    pub(super) at: f64,
    pub(super) call: Option<OpenCall>,
    /// Effects of posts before their cause has been read.
    pub(super) pending: Effect,
    /// The latest possible time of answers to messages among them.
    pub(super) answers_by: Option<f64>,
    /// The time by which the receive that is posted before must be.
    pub(super) receive_by: Option<f64>,
    /// Slack of an unexpected message; the arrival of the message is read next.
    pub(super) unexpected: Option<f64>,
    /// The post of a message; the send of the message is read next: peer and slack.
    pub(super) posted: Option<(u32, f64)>,
    /// The collective operation in progress.
    pub(super) inside: Option<(u32, u32)>,
    /// The collective operation; its arguments are read next.
    pub(super) entering: Option<(NameId, u32, u32)>,
    pub(super) cold: Option<Box<ColdState>>,
}

/// State that few ranks have.
#[derive(Clone, Debug, Default)]
pub(super) struct ColdState {
    /// The data that pending answers send.
    pub(super) data: Option<Box<FlowTimes>>,
    pub(super) sent: VecDeque<SentOperation>,
    pub(super) regions: Vec<NameId>,
    /// Waits for this rank to enter the collective operation in progress.
    pub(super) deferred: Vec<Waiter>,
}

impl BackwardRank {
    pub(super) fn cold_mut(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_default()
    }

    /// Returns the innermost region of the program.
    pub(super) fn region(&self) -> Option<NameId> {
        self.cold.as_ref()?.regions.last().copied()
    }
}

/// A collective operation, read from its end.
#[derive(Debug, Default)]
pub(super) struct Instance {
    pub(super) waiters: Vec<(u32, Waiter)>,
    /// Number of ranks with an entry that has been read; then the same number without the root.
    pub(super) entered: u32,
    pub(super) others: u32,
}

/// The end of the critical path that has been read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum PathEnd {
    /// The end of the last rank has not been read.
    Open,
    /// At a rank, at a time in seconds.
    Rank(u32, f64),
    /// With a packet, or another cause that has not been read.
    Away,
}
