//! A round of a schedule: its steps. Steps behind a step that waits are done later.
//!
//! *Not modelled*: as in [`collective`](super).

use ::collectives::{Collective, Operand, Part, Slot, Steps};

use super::{
    ALL, BETWEEN_TAGS, EDGE_TAGS, JOIN, NEIGHBOR_TAGS, Requests, Running, StepRequest, TAG_COUNT,
    TAGS,
};
use crate::channel::{Channel, Token};
use crate::collectives::position;
use crate::exploration::is_of_collectives;
use crate::protocol::engine::{ProtocolEngine, Role, SendCall};
use crate::{Buffer, Envelope, Error, Pattern};
use channel::{COLLECTIVE, CollectiveWaits};

/// The slot of steps that block: sends and exchanges.
const BLOCKING: Slot = 3;

/// The executor of a round.
pub(super) struct Runner<'a> {
    pub(super) engine: &'a mut ProtocolEngine,
    pub(super) channel: &'a dyn Channel,
    /// The lane of the schedule; `number` is its number among all lanes.
    pub(super) lane: usize,
    pub(super) round: u32,
    pub(super) number: u32,
    pub(super) running: &'a mut Running,
    /// Number of steps of the round that are over.
    pub(super) done: u32,
    /// Number of steps of the round so far.
    pub(super) position: u32,
    /// True if a step waits, so that later steps have to wait, too.
    pub(super) stops: bool,
    /// Number of the edge.
    pub(super) edge: u32,
}

impl Runner<'_> {
    /// Returns true if the next step is to be done now.
    #[inline]
    fn begins(&mut self) -> bool {
        let begins = self.reaches();
        if begins {
            self.done = self.position;
        }
        begins
    }

    /// Returns true at a step that is not over, unless an earlier step waits.
    #[inline]
    fn reaches(&mut self) -> bool {
        if self.stops {
            return false;
        }
        self.position += 1;
        self.position > self.done
    }

    fn tag(&self) -> u32 {
        let call = &self.running.call;
        if call.call.neighbors.is_some() && !position::is_persistent_start(call.number.position) {
            return NEIGHBOR_TAGS + self.edge;
        }
        let first = match is_of_collectives(call.context) {
            true => TAGS,
            false => TAGS + BETWEEN_TAGS,
        };
        // Calls in progress at one time have tags that follow each other.
        let edge = match self.edge {
            0 => 0,
            edge if position::is_persistent_start(call.number.position) => edge,
            edge => EDGE_TAGS + (edge - 1) * TAG_COUNT,
        };
        first + call.number.tag + edge
    }

    /// Returns true for a message without data, where ranks wait for data only.
    fn omits(&self, part: Part) -> bool {
        let is_empty = part.length == 0 && self.running.call.is_independent;
        is_empty
            && self.running.call.call.collective != Collective::Barrier
            && self.channel.settings().collective_waits != CollectiveWaits::Algorithm
    }

    fn post_send(
        &mut self,
        slot: Slot,
        peer: u32,
        part: Part,
        (blocks, synchronous): (bool, bool),
    ) {
        if !self.begins() || self.omits(part) {
            return;
        }
        let call = &self.running.call;
        let (world, location) = (call.members.world(peer), call.location);
        let envelope = Envelope::new(call.context | COLLECTIVE, self.channel.rank(), self.tag());
        let mut buffer = self.running.part(part);
        let cost = self.fresh_cost(part, false);
        self.engine.processor.charge_time(self.channel, cost);
        let settings = self.channel.settings();
        let is_free = blocks || settings.overheads.ois.message_overhead(part.length) == 0.0;
        if is_free && !synchronous {
            let (to, sent) = ((settings, world, envelope), (&mut buffer, location));
            if self.engine.send_at_once(self.channel, to, sent) {
                return;
            }
        }
        let call = SendCall {
            blocks,
            synchronous,
            exchanges: slot == BLOCKING,
            location,
        };
        let token = self
            .engine
            .send(self.channel, world, envelope, buffer, call);
        // A schedule has no deadlock of its own, whichever sends are buffered.
        self.engine
            .requests
            .note_cause(|record| record.note_buffered(self.channel, token));
        self.track(token, (slot, peer), None, 0.0);
    }

    /// Returns the time that fresh memory adds to a rendezvous with this part, which a receive has
    /// `written` and a send reads.
    fn fresh_cost(&mut self, part: Part, written: bool) -> f64 {
        let Some(fresh) = &mut self.running.progress.fresh else {
            return 0.0;
        };
        let writing = if written { fresh.write_time(part) } else { 0.0 };
        if part.length < self.channel.settings().eager_threshold {
            return 0.0;
        }
        writing + fresh.registration_time(part)
    }

    /// Notes a request that has been started; one that is over already has no more to do.
    fn track(
        &mut self,
        token: Token,
        (slot, peer): (Slot, u32),
        target: Option<Part>,
        matching_cost: f64,
    ) {
        let started = &mut self.lane_requests().started[usize::from(slot)];
        let number = *started;
        *started += 1;
        let step = StepRequest {
            lane: self.number,
            slot,
            number,
            peer,
            target,
            matching_cost,
        };
        if self.engine.requests.is_done(token) {
            let cost = self.engine.requests.operations.take_charge(token);
            self.engine.processor.charge_time(self.channel, cost);
            if let Some(learner) = self.lane_requests().learner
                && let Some(record) = self.engine.requests.rare.causality_mut()
            {
                record.note_passed(token, learner);
            }
            let (result, content) = self.engine.requests.take_result(token);
            // What the schedule sends next is caused by it.
            self.engine.requests.rare.report_observed(self.channel);
            self.take(step.land(result, content));
        } else {
            self.engine.requests[token].role = Role::Step;
            let collectives = self.engine.requests.collectives_mut();
            let place = token as usize;
            if place >= collectives.steps.len() {
                collectives.steps.resize(place + 1, None);
            }
            collectives.steps[place] = Some(step);
            self.lane_requests().pending[usize::from(slot)] += 1;
        }
        let collectives = self.engine.requests.collectives_mut();
        for landed in std::mem::take(&mut collectives.landed) {
            self.take(landed);
        }
    }

    fn take(&mut self, landed: Result<Option<(Part, Buffer)>, Error>) {
        self.running.put(landed);
        self.stops |= self.running.progress.error.is_some();
    }

    /// Returns the requests of the lane.
    fn lane_requests(&mut self) -> &mut Requests {
        let collectives = self.engine.requests.collectives_mut();
        &mut collectives.lanes[self.number as usize].requests
    }

    /// Waits for requests of a slot: for one of them, or until no more than `leaves` are in
    /// progress.
    fn wait_for(&mut self, slot: u8, request: u32, leaves: u32) {
        let requests = self.lane_requests();
        (requests.waits_for, requests.waits_for_request) = (slot, request);
        requests.leaves = leaves;
        self.stops = true;
    }
}

impl Steps for Runner<'_> {
    fn lane(&self) -> u32 {
        u32::try_from(self.lane).unwrap_or(u32::MAX)
    }

    fn set_edge(&mut self, edge: u32) {
        self.edge = edge;
    }

    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.post_send(slot, peer, part, (false, false));
    }

    fn issend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.post_send(slot, peer, part, (false, true));
    }

    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part) {
        if !self.begins() || self.omits(part) {
            return;
        }
        let call = &self.running.call;
        let (world, location) = (call.members.world(peer), call.location);
        let pattern = Pattern {
            context: call.context | COLLECTIVE,
            source: Some(world),
            tag: Some(self.tag()),
        };
        let matching_cost = self.fresh_cost(part, true);
        self.engine.requests.collectives_mut().matching_cost = matching_cost;
        // Takes a message of any length: the schedule knows which one it expects.
        let token = self.engine.receive(
            self.channel,
            pattern,
            (Buffer::unbounded(), false),
            location,
        );
        self.engine.requests.collectives_mut().matching_cost = 0.0;
        let whole = self.running.progress.token;
        self.engine
            .requests
            .note_cause(|record| record.note_part_of(self.channel, token, whole));
        self.track(token, (slot, peer), Some(part), matching_cost);
    }

    fn send(&mut self, peer: u32, part: Part) {
        self.post_send(BLOCKING, peer, part, (true, false));
        self.wait(BLOCKING);
    }

    fn wait(&mut self, slot: Slot) {
        if !self.reaches() {
            return;
        }
        let place = usize::from(slot);
        let requests = self.lane_requests();
        if requests.pending[place] == 0 {
            (requests.started[place], requests.waited[place]) = (0, 0);
            self.done = self.position;
        } else {
            self.wait_for(slot, ALL, 0);
        }
    }

    fn wait_first(&mut self, slot: Slot) {
        if !self.reaches() {
            return;
        }
        let collectives = self.engine.requests.collectives_mut();
        let requests = &mut collectives.lanes[self.number as usize].requests;
        let number = requests.waited[usize::from(slot)];
        let is_it =
            |step: &StepRequest| (step.lane, step.slot, step.number) == (self.number, slot, number);
        if collectives.steps.iter().flatten().any(is_it) {
            self.wait_for(slot, number, 0);
        } else {
            requests.waited[usize::from(slot)] += 1;
            self.done = self.position;
        }
    }

    fn window(&mut self, slot: Slot, size: u32) {
        if !self.reaches() {
            return;
        }
        let leaves = size.saturating_sub(1);
        if self.lane_requests().pending[usize::from(slot)] <= leaves {
            self.done = self.position;
        } else {
            self.wait_for(slot, ALL, leaves);
        }
    }

    fn join(&mut self) {
        if !self.reaches() {
            return;
        }
        let progress = &self.running.progress;
        if progress.others.is_empty() || progress.round() >= self.round {
            self.done = self.position;
        } else {
            self.wait_for(JOIN, ALL, 0);
        }
    }

    fn build_datatype(&mut self) {
        if self.begins() {
            let cost = self.channel.settings().datatype_build_time();
            self.engine.processor.charge_time(self.channel, cost);
        }
    }

    fn copy(&mut self, from: Part, to: Part) {
        if self.begins() {
            self.running
                .update(from, to, |from, to| to.copy_from_slice(from));
            let (settings, call) = (self.channel.settings(), &self.running.call.call);
            let mut cost = settings.schedule_copy_time(from.length, call);
            if let Some(fresh) = &mut self.running.progress.fresh {
                cost += fresh.write_time(to);
            }
            self.engine.processor.charge_time(self.channel, cost);
        }
    }

    fn reduce(&mut self, from: Part, into: Part, operand: Operand) {
        if !self.begins() || from.length == 0 {
            return;
        }
        let reduction = self.running.call.reduction.clone();
        let reduction = reduction.expect("only calls with an operation reduce");
        self.running.update(from, into, |from, into| match operand {
            Operand::Left => reduction.combine_into(from, into),
            Operand::Right => {
                let mut result = from.to_vec();
                reduction.combine_into(into, &mut result);
                into.copy_from_slice(&result);
            }
        });
        let (settings, call) = (self.channel.settings(), &self.running.call.call);
        let cost = settings.reduction_time(from.length, call);
        self.engine.processor.charge_time(self.channel, cost);
    }
}
