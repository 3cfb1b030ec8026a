//! All outcomes that MPI 5.0 permits for a program, by an abstract machine and without reduction.
//!
//! Each step is one freedom: a match, an answer, a buffer for a standard send, a wait of a call.
//! States are visited once. No code of the message layer or the model checker is used. *Not
//! enumerated*: errors, and waits of ready sends.

#![expect(clippy::disallowed_types, reason = "the states have no order")]

use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher as _;

use foldhash::quality::FixedState;

use super::answers;
use super::program::{Accepts, Answer, Answers, FreedomOp, FreedomProgram, SendMode, SentMessage};
use super::state::{
    ALL_PARTS, Active, InFlight, RankState, RankStates, RequestProgress, second_half,
};

/// The outcomes of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcomes {
    /// The answers of all executions in which each rank ends.
    pub completing: BTreeSet<Answers>,
    /// True if some execution is stuck.
    pub has_deadlock: bool,
}

/// Bounds of the model checker: behaviours beyond them are left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StatedBounds {
    /// The accesses of one rank to one target are done in their order.
    pub accesses_in_order: bool,
    /// The messages of one sender on one communicator arrive in the order of their sends.
    pub tags_in_order: bool,
    /// Of more than three requests, `MPI_Waitsome` and `MPI_Testsome` complete one, or all.
    pub one_or_all: bool,
}

/// Returns all outcomes of a program within the bounds; `None` if there are more than `states_max`
/// states.
pub fn enumerate_outcomes(
    program: &FreedomProgram,
    bounds: StatedBounds,
    states_max: usize,
) -> Option<Outcomes> {
    // Half a million states have 1e11 pairs, and there are 3e38 hashes of 128 bits.
    let hashers = [1, 2].map(FixedState::with_seed);
    let mut seen = HashSet::new();
    let mut open = vec![RankStates::new(program)];
    let mut outcomes = Outcomes::default();
    while let Some(state) = open.pop() {
        if !seen.insert(hashers.each_ref().map(|hasher| hasher.hash_one(&state))) {
            continue;
        }
        if seen.len() > states_max {
            return None;
        }
        let next = state.next_steps(program, bounds);
        if !next.is_empty() {
            open.extend(next);
        } else if state.ranks.iter().all(|rank| rank.is_over) {
            // The end of MPI detaches the buffer, and may wait for the messages there (3.6).
            let mut messages = state.messages.iter();
            outcomes.has_deadlock |= messages.any(|message| message.is_attached);
            let answers = state.ranks.iter().map(|rank| rank.answers.clone());
            outcomes.completing.insert(answers.collect());
        } else {
            outcomes.has_deadlock = true;
        }
    }
    Some(outcomes)
}

impl RankStates {
    /// Returns the states after each possible step.
    fn next_steps(&self, program: &FreedomProgram, bounds: StatedBounds) -> Vec<Self> {
        if let Some(matched) = self.match_arrived() {
            return vec![matched];
        }
        let mut next = match bounds.tags_in_order {
            true => self.arrival_steps(),
            false => self.match_steps(),
        };
        next.extend(self.cancel_steps());
        next.extend(self.window_steps(bounds.accesses_in_order));
        for rank in 0..self.ranks.len() {
            self.steps_of((program, bounds), rank, &mut next);
        }
        next
    }

    /// Returns the states in which a receive was cancelled: MPI 5.0, 3.8.4. `MPI_Cancel` may return
    /// before the receive is cancelled. A receive behind a probe that saw a message gets that
    /// message or another one (3.8.1), and is not cancelled any more.
    fn cancel_steps(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for (rank, own) in self.ranks.iter().enumerate() {
            for (at, one) in own.requests.iter().enumerate() {
                let is_cancelled = matches!(one.request, RequestProgress::Receive(_, true));
                if is_cancelled && !self.has_seen_message(rank, at) {
                    let mut state = self.clone();
                    state.ranks[rank].requests[at].request = RequestProgress::Cancelled;
                    next.push(state);
                }
            }
        }
        next
    }

    fn steps_of(
        &self,
        (program, bounds): (&FreedomProgram, StatedBounds),
        rank: usize,
        next: &mut Vec<Self>,
    ) {
        let own = &self.ranks[rank];
        if own.is_over {
            return;
        }
        let Some(op) = program.ranks[rank].get(own.at) else {
            next.extend(self.end_of_rank(program, rank));
            return;
        };
        if own.is_blocked {
            next.extend(self.end_of_call(program, rank, op));
            return;
        }
        match op {
            FreedomOp::Send(_)
            | FreedomOp::Recv(_)
            | FreedomOp::Sendrecv(..)
            | FreedomOp::Collective(_) => {
                next.extend(self.start_steps(program, rank, own.at).map(|mut state| {
                    state.ranks[rank].is_blocked = true;
                    state
                }));
            }
            FreedomOp::Isend(_) | FreedomOp::Irecv(_) | FreedomOp::Icollective(_) => {
                let started = self.start_steps(program, rank, own.at);
                next.extend(started.map(|state| state.with_answer(rank, answers::tell_done())));
            }
            FreedomOp::Start(place) => {
                let started = self.start_steps(program, rank, *place);
                next.extend(started.map(|state| state.with_answer(rank, answers::tell_done())));
            }
            FreedomOp::SendInit(_)
            | FreedomOp::RecvInit(_)
            | FreedomOp::PsendInit(_)
            | FreedomOp::PrecvInit(_) => {
                next.push(self.clone().with_answer(rank, answers::tell_done()));
            }
            FreedomOp::Probe(accepts)
            | FreedomOp::Iprobe(accepts)
            | FreedomOp::Mprobe(accepts)
            | FreedomOp::Improbe(accepts) => self.add_probes((rank, bounds), op, *accepts, next),
            FreedomOp::Mrecv(place) => next.push(self.receive_taken(rank, *place)),
            FreedomOp::Cancel(place) => {
                let mut state = self.clone();
                if let Some(one) = state.ranks[rank].active_request_mut(*place)
                    && let RequestProgress::Receive(_, is_cancelled) = &mut one.request
                {
                    *is_cancelled = true;
                }
                next.push(state.with_answer(rank, answers::tell_done()));
            }
            FreedomOp::Free(place) => next.push(self.free_request(rank, *place)),
            FreedomOp::GetStatus(place) => self.add_statuses(program, rank, *place, next),
            FreedomOp::Pready(place, part) => next.push(self.make_ready(rank, (*place, *part))),
            FreedomOp::Parrived(place, part) => {
                self.add_partitions(program, rank, (*place, *part), next);
            }
            _ if op.completes_requests() => {
                self.add_completions((program, bounds), rank, op, next);
            }
            _ => next.extend(self.window_calls(rank, op)),
        }
    }

    /// Returns the state after the operations of a rank: taken messages are received, active
    /// requests are waited for, and the window is read when all ranks are there.
    fn end_of_rank(&self, program: &FreedomProgram, rank: usize) -> Option<Self> {
        let own = &self.ranks[rank];
        if let Some((place, _)) = own.taken.first() {
            let mut state = self.clone();
            state.take_message(rank, *place);
            return Some(state);
        }
        if own.is_at_end {
            if !self.ranks.iter().all(|rank| rank.is_at_end) || self.windows.is_busy() {
                return None;
            }
            let mut state = self.clone();
            let values = answers::tell_values(state.windows.cells_of(rank));
            state.ranks[rank].answers.push(values);
            state.ranks[rank].is_over = true;
            return Some(state);
        }
        let active = own.requests.iter().filter(|one| !one.is_freed);
        let mut places: Vec<usize> = active.map(|one| one.place).collect();
        places.sort_unstable();
        let (mut state, each) = self.complete_all(program, rank, &places)?;
        let own = &mut state.ranks[rank];
        own.answers.push(answers::tell_all(each));
        own.is_at_end = program.has_window();
        own.is_over = !own.is_at_end;
        Some(state)
    }

    /// Returns the state after the blocking operation that a rank has started, if there is one.
    fn end_of_call(&self, program: &FreedomProgram, rank: usize, op: &FreedomOp) -> Option<Self> {
        if op.uses_window() {
            return self.window_call_over(rank, op);
        }
        let at = self.ranks[rank].at;
        let places = [at, second_half(at)];
        let halves = 1 + usize::from(matches!(op, FreedomOp::Sendrecv(..)));
        let (state, each) = self.complete_all(program, rank, &places[..halves])?;
        Some(state.with_answer(rank, each.into_iter().next().unwrap_or_default()))
    }

    /// Returns the states in which the operation of a place has started.
    fn start_steps(
        &self,
        program: &FreedomProgram,
        rank: usize,
        place: usize,
    ) -> impl Iterator<Item = Self> + use<> {
        let mut states = Vec::new();
        let with = |place: usize, request: RequestProgress| {
            let mut state = self.clone();
            state.ranks[rank].requests.push(Active {
                place,
                request,
                is_known: false,
                is_freed: false,
            });
            state
        };
        match program.ranks[rank][place] {
            FreedomOp::Send(message) | FreedomOp::Isend(message) | FreedomOp::SendInit(message) => {
                states.extend(self.send_steps(rank, message, (place, place)));
            }
            FreedomOp::Recv(accepts) | FreedomOp::Irecv(accepts) | FreedomOp::RecvInit(accepts) => {
                states.push(with(place, RequestProgress::Receive(accepts, false)));
            }
            FreedomOp::Sendrecv(message, accepts) => {
                let posted = with(place, RequestProgress::Receive(accepts, false));
                states.extend(posted.send_steps(rank, message, (place, second_half(place))));
            }
            FreedomOp::Collective(call) | FreedomOp::Icollective(call) => {
                let number = self.ranks[rank].calls[call.comm as usize];
                for waits in [false, true] {
                    let mut state = with(place, RequestProgress::Call(call, number, waits));
                    state.ranks[rank].calls[call.comm as usize] += 1;
                    states.push(state);
                }
            }
            FreedomOp::PsendInit(_) => {
                for waits in [false, true] {
                    let mut state = with(place, RequestProgress::Parts(waits));
                    state.ranks[rank].ready.push((place, 0));
                    states.push(state);
                }
            }
            FreedomOp::PrecvInit(_) => {
                let mut state = with(place, RequestProgress::Arriving(0));
                state.ranks[rank].awaited.push(place);
                states.push(state);
            }
            _ => {}
        }
        states.into_iter()
    }

    /// Returns the states in which a rank has sent a message from a place, with a request.
    fn send_steps(
        &self,
        rank: usize,
        message: SentMessage,
        (place, request): (usize, usize),
    ) -> Vec<Self> {
        let after = |waits: bool| {
            let mut state = self.clone();
            state.messages.push(InFlight {
                from: rank,
                place,
                to: message.to,
                tag: message.tag,
                comm: message.comm,
                waiting: waits.then_some(request),
                is_attached: message.mode == SendMode::Buffered,
                is_seen: false,
                arrival: None,
            });
            state.ranks[rank].requests.push(Active {
                place: request,
                request: if waits {
                    RequestProgress::Send
                } else {
                    RequestProgress::Sent
                },
                is_known: false,
                is_freed: false,
            });
            state
        };
        match message.mode {
            SendMode::Standard => vec![after(false), after(true)],
            SendMode::Synchronous => vec![after(true)],
            SendMode::Buffered => vec![after(false)],
        }
    }

    /// Appends the states after each answer of a probe.
    fn add_probes(
        &self,
        (rank, bounds): (usize, StatedBounds),
        op: &FreedomOp,
        accepts: Accepts,
        next: &mut Vec<Self>,
    ) {
        let takes = matches!(op, FreedomOp::Mprobe(_) | FreedomOp::Improbe(_));
        let visible = self.visible_messages((rank, accepts), bounds);
        for &number in &visible {
            let mut state = self.clone();
            let InFlight { from, tag, .. } = state.messages[number];
            if takes {
                let message = state.messages.remove(number);
                let own: &mut RankState = &mut state.ranks[rank];
                own.taken.push((own.at, message));
            } else {
                state.messages[number].is_seen = true;
            }
            next.push(state.with_answer(rank, answers::tell_seen(from, tag)));
        }
        let is_look = matches!(op, FreedomOp::Iprobe(_) | FreedomOp::Improbe(_));
        // A message that was seen is matched, or the next probe sees the message again.
        let mut messages = self.messages.iter();
        let knows = messages
            .any(|message| message.is_seen && message.to == rank && message.is_accepted(accepts));
        if is_look && !knows {
            next.push(self.clone().with_answer(rank, answers::tell_no()));
        }
    }

    /// Receives the message that the probe at a place has taken.
    fn take_message(&mut self, rank: usize, place: usize) -> Option<InFlight> {
        let taken = &mut self.ranks[rank].taken;
        let at = taken.iter().position(|(probe, _)| *probe == place)?;
        let (_, message) = taken.remove(at);
        self.end_send(&message);
        Some(message)
    }

    /// Returns the state after `MPI_Mrecv`.
    fn receive_taken(&self, rank: usize, place: usize) -> Self {
        let mut state = self.clone();
        let answer = state
            .take_message(rank, place)
            .map_or_else(answers::tell_inactive, |message| {
                answers::tell_message(message.from, message.place)
            });
        state.with_answer(rank, answer)
    }

    /// Returns the state after `MPI_Request_free`.
    fn free_request(&self, rank: usize, place: usize) -> Self {
        let mut state = self.clone();
        let requests = &mut state.ranks[rank].requests;
        for one in requests.iter_mut().filter(|one| one.place == place) {
            one.is_freed = true;
        }
        let is_open = |request| {
            matches!(
                request,
                RequestProgress::Send | RequestProgress::Receive(..)
            )
        };
        requests.retain(|one| !one.is_freed || is_open(one.request));
        state.with_answer(rank, answers::tell_done())
    }

    /// Appends the states after each answer of `MPI_Request_get_status`.
    fn add_statuses(
        &self,
        program: &FreedomProgram,
        rank: usize,
        place: usize,
        next: &mut Vec<Self>,
    ) {
        let Some(one) = self.ranks[rank].active_request(place) else {
            next.push(self.clone().with_answer(rank, answers::tell_inactive()));
            return;
        };
        if let Some(answer) = self.told_status(program, rank, one) {
            let mut state = self.clone();
            if let Some(one) = state.ranks[rank].active_request_mut(place) {
                one.is_known = true;
            }
            next.push(state.with_answer(rank, answer));
        }
        if !one.is_known {
            next.push(self.clone().with_answer(rank, answers::tell_no()));
        }
    }

    /// Returns the state after `MPI_Pready`.
    fn make_ready(&self, rank: usize, (place, part): (usize, usize)) -> Self {
        let mut state = self.clone();
        for (sent, bits) in &mut state.ranks[rank].ready {
            *bits |= u8::from(*sent == place) << part;
        }
        state.with_answer(rank, answers::tell_done())
    }

    /// Appends the states after each answer of `MPI_Parrived`.
    fn add_partitions(
        &self,
        program: &FreedomProgram,
        rank: usize,
        (place, part): (usize, usize),
        next: &mut Vec<Self>,
    ) {
        let Some(Active {
            request: RequestProgress::Arriving(seen),
            ..
        }) = self.ranks[rank].active_request(place)
        else {
            next.push(self.clone().with_answer(rank, answers::tell_inactive()));
            return;
        };
        let bit = 1 << part;
        if self.arrived_parts(program, rank, place) & bit != 0 {
            let mut state = self.clone();
            if let Some(one) = state.ranks[rank].active_request_mut(place) {
                one.request = RequestProgress::Arriving(seen | bit);
                one.is_known = seen | bit == ALL_PARTS;
            }
            next.push(state.with_answer(rank, answers::tell_done()));
        }
        if seen & bit == 0 {
            next.push(self.clone().with_answer(rank, answers::tell_no()));
        }
    }

    /// Appends the states after each answer of an operation that completes requests.
    fn add_completions(
        &self,
        (program, bounds): (&FreedomProgram, StatedBounds),
        rank: usize,
        op: &FreedomOp,
        next: &mut Vec<Self>,
    ) {
        let (own, list) = (&self.ranks[rank], op.places_named());
        let active: Vec<(usize, usize)> = (list.iter().copied().enumerate())
            .filter(|(_, place)| own.active_request(*place).is_some())
            .collect();
        if active.is_empty() {
            next.push(self.clone().with_answer(rank, answers::tell_inactive()));
            return;
        }
        let known = |place: usize| own.active_request(place).is_some_and(|one| one.is_known);
        let all_known = active.iter().all(|(_, place)| known(*place));
        let some_known = active.iter().any(|(_, place)| known(*place));
        let tell = |state: Self, answer: Answer| state.with_answer(rank, answer);
        let may_deny = match op {
            FreedomOp::Waitany(_) | FreedomOp::Testany(_) => {
                for &(index, place) in &active {
                    let completed = self.complete_all(program, rank, &[place]);
                    next.extend(completed.map(|(state, answer)| {
                        tell(state, answers::tell_place(index, answer.concat()))
                    }));
                }
                matches!(op, FreedomOp::Testany(_)) && !some_known
            }
            FreedomOp::Waitsome(_) | FreedomOp::Testsome(_) => {
                for bits in 1_usize..1 << active.len() {
                    let chosen = |at: usize| bits >> at & 1 == 1;
                    let mut numbered = active.iter().enumerate();
                    if numbered.any(|(at, (_, place))| known(*place) && !chosen(at)) {
                        continue;
                    }
                    let numbered = active.iter().enumerate();
                    let new = numbered.filter(|(at, (_, place))| !known(*place) && chosen(*at));
                    let is_all = bits.count_ones() as usize == active.len();
                    if bounds.one_or_all && active.len() > 3 && !is_all && new.count() > 1 {
                        continue;
                    }
                    let (indices, places): (Vec<usize>, Vec<usize>) = (active.iter().enumerate())
                        .filter(|(at, _)| chosen(*at))
                        .map(|(_, one)| *one)
                        .unzip();
                    let completed = self.complete_all(program, rank, &places);
                    next.extend(completed.map(|(state, each)| {
                        let each = indices.iter().zip(each);
                        let each = each.map(|(index, answer)| answers::tell_place(*index, answer));
                        tell(state, answers::tell_all(each))
                    }));
                }
                matches!(op, FreedomOp::Testsome(_)) && !some_known
            }
            _ => {
                let completed = self.complete_all(program, rank, list);
                next.extend(completed.map(|(state, each)| match op {
                    FreedomOp::Testall(_) | FreedomOp::Waitall(_) => {
                        tell(state, answers::tell_all(each))
                    }
                    _ => tell(state, each.concat()),
                }));
                matches!(op, FreedomOp::Test(_) | FreedomOp::Testall(_)) && !all_known
            }
        };
        // A look may say no until the program has been told that the operation is complete.
        if may_deny {
            next.push(self.clone().with_answer(rank, answers::tell_no()));
        }
    }
}
