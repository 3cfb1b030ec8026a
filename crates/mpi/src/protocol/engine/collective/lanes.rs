//! The lanes of a collective in progress: each lane has a position in the schedule and separate
//! requests, and continues when its wait is over, independent of the other lanes.
//!
//! Lanes continue in the order of their numbers. A collective with one lane has no memory for
//! others.
//!
//! *Not modelled*: a reduction of one lane occupies the whole rank, the other lanes too.

use ::collectives::Call;

use super::runner::Runner;
use super::{
    ALL, Collectives, JOIN, Lane, NO_SLOT, Requests, Running, ScheduleExecutor, ScheduleState,
};
use crate::channel::Token;

/// The position in a lane of a schedule.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LanePosition {
    pub(super) round: u32,
    /// Number of steps of the round that are over.
    pub(super) done: u32,
}

impl ScheduleState {
    /// Returns the position in a lane.
    fn position(&mut self, lane: usize) -> &mut LanePosition {
        match lane.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other].1,
        }
    }

    /// Returns the lowest round of a lane.
    pub(super) fn round(&self) -> u32 {
        let others = self.others.iter().map(|(_, position)| position.round);
        others.fold(self.first.round, u32::min)
    }
}

impl Collectives {
    /// Returns true if a lane does not wait.
    fn is_ready(&self, progress: &ScheduleState, number: u32, position: LanePosition) -> bool {
        match self.lanes[number as usize].requests.waits_for {
            NO_SLOT => true,
            JOIN => progress.round() >= position.round,
            _ => false,
        }
    }

    /// Adds a lane of a collective, or the first lane of a new one; returns the number of the lane.
    pub(super) fn add_lane(&mut self, learner: Option<Token>, collective: Option<u32>) -> u32 {
        let lane = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(Lane::default());
            u32::try_from(self.lanes.len() - 1).expect("lanes at one time are counted in 32 bits")
        });
        self.lanes[lane as usize].requests = Requests {
            collective: collective.unwrap_or(lane),
            learner,
            waits_for: NO_SLOT,
            waits_for_request: ALL,
            ..Requests::default()
        };
        lane
    }
}

impl ScheduleExecutor<'_> {
    /// Executes the schedule of a collective until all of its lanes wait.
    pub(super) fn advance(&mut self, index: u32) {
        let collectives = self.engine.requests.collectives_mut();
        let Some(mut running) = collectives.lanes[index as usize].running.take() else {
            return;
        };
        let arguments = running.call.call.clone();
        let mut is_over = self.advance_lane(&mut running, (0, index), &arguments);
        if !running.progress.others.is_empty() && running.progress.error.is_none() {
            is_over = self.advance_others(&mut running, (is_over, index), &arguments);
        }
        if is_over || running.progress.error.is_some() {
            return self.finish_call(index, *running);
        }
        let collectives = self.engine.requests.collectives_mut();
        collectives.lanes[index as usize].running = Some(running);
    }

    /// Executes all lanes, of which the first one waits or is over, until all wait; returns true
    /// if all are over.
    fn advance_others(
        &mut self,
        running: &mut Running,
        (mut is_over, index): (bool, u32),
        arguments: &Call,
    ) -> bool {
        loop {
            for other in 0..running.progress.others.len() {
                let (number, _) = running.progress.others[other];
                is_over &= self.advance_lane(running, (other + 1, number), arguments);
            }
            // A step of one lane can end a request of another one, or bring the lane to the round
            // in which another one joins.
            let collectives = self.engine.requests.collectives_mut();
            let lanes = running.progress.others.iter().copied();
            let mut lanes = lanes.chain([(index, running.progress.first)]);
            let is_ready = lanes.any(|(number, position)| {
                position.round < running.progress.rounds
                    && collectives.is_ready(&running.progress, number, position)
            });
            if is_over || !is_ready || running.progress.error.is_some() {
                return is_over;
            }
            is_over = self.advance_lane(running, (0, index), arguments);
        }
    }

    /// Executes a lane of a schedule up to the next step that waits; returns true at the end.
    fn advance_lane(
        &mut self,
        running: &mut Running,
        (lane, number): (usize, u32),
        arguments: &Call,
    ) -> bool {
        let (algorithm, rounds) = (running.call.algorithm, running.progress.rounds);
        let mut position = *running.progress.position(lane);
        if !running.progress.others.is_empty() {
            let collectives = self.engine.requests.collectives_mut();
            if !collectives.is_ready(&running.progress, number, position) {
                return false;
            }
            collectives.lanes[number as usize].requests.waits_for = NO_SLOT;
            for landed in std::mem::take(&mut collectives.landed) {
                running.put(landed);
            }
        }
        while position.round < rounds && running.progress.error.is_none() {
            let mut runner = Runner {
                engine: self.engine,
                channel: self.channel,
                lane,
                number,
                round: position.round,
                running,
                done: position.done,
                position: 0,
                stops: false,
                edge: 0,
            };
            (algorithm.round)(arguments, position.round, &mut runner);
            let (stops, done) = (runner.stops, runner.done);
            if stops && running.progress.error.is_none() {
                position.done = done;
                *running.progress.position(lane) = position;
                return false;
            }
            position = LanePosition {
                round: position.round + 1,
                done: 0,
            };
            *running.progress.position(lane) = position;
        }
        true
    }
}
