//! The messages of a schedule without its execution: for lists, explanations and tests.

use crate::{Algorithm, Call, Operand, Part, Slot, Steps};

/// A message of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ScheduleMessage {
    /// The round of the sender.
    pub round: u32,
    /// The sender.
    pub source: u32,
    /// The receiver.
    pub destination: u32,
    /// Length in bytes.
    pub bytes: u64,
}

struct Recorder<'a> {
    source: u32,
    lane: u32,
    round: u32,
    found: &'a mut Vec<ScheduleMessage>,
}

impl Recorder<'_> {
    fn note_message(&mut self, destination: u32, part: Part) {
        self.found.push(ScheduleMessage {
            round: self.round,
            source: self.source,
            destination,
            bytes: part.length,
        });
    }
}

impl Steps for Recorder<'_> {
    fn lane(&self) -> u32 {
        self.lane
    }

    fn isend_in(&mut self, _: Slot, peer: u32, part: Part) {
        self.note_message(peer, part);
    }

    fn irecv_in(&mut self, _: Slot, _: u32, _: Part) {}

    fn send(&mut self, peer: u32, part: Part) {
        self.note_message(peer, part);
    }

    fn wait(&mut self, _: Slot) {}

    fn wait_first(&mut self, _: Slot) {}

    fn copy(&mut self, _: Part, _: Part) {}

    fn reduce(&mut self, _: Part, _: Part, _: Operand) {}
}

/// Returns the messages that one rank sends, in the order of sending; the messages of several lanes
/// in one round are in the order of the lanes.
#[must_use]
pub fn messages(algorithm: &Algorithm, call: &Call) -> Vec<ScheduleMessage> {
    let mut found = Vec::new();
    let lanes = (algorithm.lanes)(call);
    for round in 0..(algorithm.rounds)(call) {
        for lane in 0..lanes {
            let mut recorder = Recorder {
                source: call.rank,
                lane,
                round,
                found: &mut found,
            };
            (algorithm.round)(call, round, &mut recorder);
        }
    }
    found
}
