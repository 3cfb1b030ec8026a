//! States of the abstract machine: messages, posted receives and calls.
//!
//! Packets, protocols and queues of a simulated network do not exist here. *Not decided here*: the
//! steps, see `enumerate.rs`.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::answers;
use super::enumerate::StatedBounds;
use super::program::{
    Accepts, Answer, Communicator, FreedomOp, FreedomProgram, Operation, RankedCall,
};
use super::windows::Windows;

/// A value that states share until one of them changes the value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Shared<T>(pub(super) Rc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}

/// A state of all ranks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct RankStates {
    pub(super) ranks: Vec<Shared<RankState>>,
    /// Messages that no receive has matched, in the order of their sends.
    pub(super) messages: Vec<InFlight>,
    pub(super) windows: Shared<Windows>,
}

/// A rank.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct RankState {
    pub(super) at: usize,
    /// True if the operation at `at` has started and is waited for.
    pub(super) is_blocked: bool,
    /// True if the rank waits for the others and then reads the window.
    pub(super) is_at_end: bool,
    pub(super) is_over: bool,
    pub(super) answers: Vec<Answer>,
    pub(super) requests: Vec<Active>,
    /// Messages that probes have taken, by the places of the probes.
    pub(super) taken: Vec<(usize, InFlight)>,
    /// Numbers of calls on each communicator.
    pub(super) calls: [usize; Communicator::ALL.len()],
    /// Bits of the ready partitions of each started send in partitions.
    pub(super) ready: Vec<(usize, u8)>,
    /// Receives in partitions that were started.
    pub(super) awaited: Vec<usize>,
}

/// An active request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Active {
    /// The place of the operation that made the request.
    pub(super) place: usize,
    pub(super) request: RequestProgress,
    /// True if the rank knows that the request is complete.
    pub(super) is_known: bool,
    /// True if the rank has given the request up.
    pub(super) is_freed: bool,
}

/// The progress of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RequestProgress {
    /// A send that waits for the match.
    Send,
    /// A receive that no message has matched; true if the receive may be cancelled.
    Receive(Accepts, bool),
    /// A call with a number; true if the call waits for all ranks.
    Call(RankedCall, usize, bool),
    /// The send is complete.
    Sent,
    /// The receive has got the message of this rank and place.
    Received(usize, usize),
    Cancelled,
    /// A send in partitions; true if the send waits for the start of the receive.
    Parts(bool),
    /// A receive in partitions, and the bits of the partitions that the rank has seen.
    Arriving(u8),
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) from: usize,
    pub(super) place: usize,
    pub(super) to: usize,
    pub(super) tag: u32,
    pub(super) comm: Communicator,
    /// The request that waits for the match.
    pub(super) waiting: Option<usize>,
    /// True if the message waits in a buffer that the program has attached.
    pub(super) is_attached: bool,
    /// True if a probe has told the rank about the message.
    pub(super) is_seen: bool,
    /// Where the order of arrivals counts: the number of the arrival, if the message has arrived.
    pub(super) arrival: Option<usize>,
}

impl InFlight {
    pub(super) fn is_accepted(&self, accepts: Accepts) -> bool {
        self.comm == accepts.comm
            && accepts.from.is_none_or(|from| from == self.from)
            && accepts.tag.is_none_or(|tag| tag == self.tag)
    }
}

/// Bits of all partitions.
pub(super) const ALL_PARTS: u8 = 0b11;

/// The request of the send of `MPI_Sendrecv` at a place.
pub(super) const fn second_half(place: usize) -> usize {
    place + 1000
}

/// Returns true if a rank can only complete a call after another one has made the call: MPI 5.0,
/// 6.14, and the definitions of the operations.
pub(super) fn needs_call_of(call: RankedCall, rank: usize, other: usize) -> bool {
    let has_data_for = !call.comm.has_in_one_group(rank, other) || call.comm != Communicator::Inter;
    match call.operation {
        Operation::Barrier => has_data_for,
        Operation::Split => true,
        Operation::Dup | Operation::Create => false,
        _ if call.is_empty || !has_data_for => false,
        Operation::Bcast | Operation::Scatter => other == call.root,
        Operation::Reduce | Operation::Gather => rank == call.root,
        Operation::Allreduce | Operation::Allgather | Operation::Alltoall => true,
        Operation::Scan => other <= rank,
        Operation::Exscan => other < rank,
    }
}

impl RankStates {
    pub(super) fn new(program: &FreedomProgram) -> Self {
        let count = program.ranks.len();
        Self {
            ranks: vec![Shared(Rc::default()); count],
            messages: Vec::new(),
            windows: Shared(Rc::new(Windows::new(count))),
        }
    }

    /// Returns the states after each possible match: MPI 5.0, 3.5. A receive gets the first message
    /// of a sender that the receive accepts, and a message goes to the first receive that accepts
    /// the message.
    pub(super) fn match_steps(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for (number, message) in self.messages.iter().enumerate() {
            let Some((at, accepts)) = self.first_receive(message) else {
                continue;
            };
            let is_first = !self.messages[..number].iter().any(|earlier| {
                (earlier.from, earlier.to) == (message.from, message.to)
                    && earlier.is_accepted(accepts)
            });
            if is_first {
                next.push(self.match_message(number, at));
            }
        }
        next
    }

    /// Returns the state in which a request of the receiver has got a message.
    fn match_message(&self, number: usize, at: usize) -> Self {
        let mut state = self.clone();
        let message = state.messages.remove(number);
        let requests = &mut state.ranks[message.to].requests;
        if requests[at].is_freed {
            requests.remove(at);
        } else {
            requests[at].request = RequestProgress::Received(message.from, message.place);
        }
        state.end_send(&message);
        state
    }

    /// Returns the states in which one more message has arrived, where the messages of one sender
    /// on one communicator arrive in the order of their sends.
    pub(super) fn arrival_steps(&self) -> Vec<Self> {
        let mut lanes = BTreeSet::new();
        let sent = self.messages.iter().enumerate();
        let waiting = sent.filter(|(_, message)| message.arrival.is_none());
        let first = waiting
            .filter(|(_, message)| lanes.insert((message.from, message.to, message.comm as usize)));
        let arrivals = self.messages.iter().filter_map(|message| message.arrival);
        let last = arrivals.max().unwrap_or(0);
        let arrived = first.map(|(number, _)| {
            let mut state = self.clone();
            state.messages[number].arrival = Some(last + 1);
            state
        });
        arrived.collect()
    }

    /// Returns the state in which a posted receive has got a message that has arrived: the first
    /// such message.
    pub(super) fn match_arrived(&self) -> Option<Self> {
        let arrived = self.messages.iter().enumerate();
        let matching = arrived.filter_map(|(number, message)| {
            let (at, _) = message.arrival.and(self.first_receive(message))?;
            Some((message.arrival, number, at))
        });
        let (_, number, at) = matching.min()?;
        Some(self.match_message(number, at))
    }

    /// Ends the send of a message that a receive has matched.
    pub(super) fn end_send(&mut self, message: &InFlight) {
        let Some(place) = message.waiting else { return };
        let requests = &mut self.ranks[message.from].requests;
        let is_freed = |one: &Active| one.place == place && one.is_freed;
        requests.retain(|one| !(is_freed(one) && one.request == RequestProgress::Send));
        for one in requests {
            if one.place == place && one.request == RequestProgress::Send {
                one.request = RequestProgress::Sent;
            }
        }
    }

    /// Returns the first posted receive that accepts a message: the position of the request.
    fn first_receive(&self, message: &InFlight) -> Option<(usize, Accepts)> {
        let requests = self.ranks[message.to].requests.iter().enumerate();
        requests
            .filter_map(|(at, one)| match one.request {
                RequestProgress::Receive(accepts, _) => Some((at, accepts)),
                _ => None,
            })
            .find(|(_, accepts)| message.is_accepted(*accepts))
    }

    /// Returns true if a request is the first receive that accepts a message seen by a probe.
    pub(super) fn has_seen_message(&self, rank: usize, at: usize) -> bool {
        let seen = self
            .messages
            .iter()
            .filter(|one| one.is_seen && one.to == rank);
        let mut firsts = seen.filter_map(|message| self.first_receive(message));
        firsts.any(|(first, _)| first == at)
    }

    /// Returns the numbers of the messages that a probe of a rank can see: the first one of each
    /// sender, unless a posted receive accepts the message.
    pub(super) fn visible_messages(
        &self,
        (rank, accepts): (usize, Accepts),
        bounds: StatedBounds,
    ) -> Vec<usize> {
        let mut senders = BTreeSet::new();
        let numbers = self.messages.iter().enumerate();
        let accepted =
            numbers.filter(|(_, message)| message.to == rank && message.is_accepted(accepts));
        let first = accepted.filter(|(_, message)| senders.insert(message.from));
        first
            .filter(|(_, message)| {
                let is_here = message.arrival.is_some() || !bounds.tags_in_order;
                is_here && self.first_receive(message).is_none()
            })
            .map(|(number, _)| number)
            .collect()
    }

    /// Returns true if a request is complete.
    fn is_complete(&self, program: &FreedomProgram, rank: usize, one: Active) -> bool {
        match one.request {
            RequestProgress::Send | RequestProgress::Receive(..) => false,
            RequestProgress::Sent | RequestProgress::Received(..) | RequestProgress::Cancelled => {
                true
            }
            RequestProgress::Call(call, number, waits) => {
                let others = 0..self.ranks.len();
                others
                    .filter(|&other| waits || needs_call_of(call, rank, other))
                    .all(|other| self.ranks[other].calls[call.comm as usize] > number)
            }
            RequestProgress::Parts(waits) => {
                let is_ready = self.ranks[rank].ready.contains(&(one.place, ALL_PARTS));
                let partner = other_end(program, rank, one.place);
                let is_awaited =
                    partner.is_some_and(|(rank, place)| self.ranks[rank].awaited.contains(&place));
                is_ready && (!waits || is_awaited)
            }
            RequestProgress::Arriving(_) => {
                self.arrived_parts(program, rank, one.place) == ALL_PARTS
            }
        }
    }

    /// Returns the bits of the partitions that a receive can have.
    pub(super) fn arrived_parts(&self, program: &FreedomProgram, rank: usize, place: usize) -> u8 {
        let Some((from, sent)) = other_end(program, rank, place) else {
            return 0;
        };
        let ready = self.ranks[from]
            .ready
            .iter()
            .find(|(place, _)| *place == sent);
        ready.map_or(0, |(_, bits)| *bits)
    }

    /// Returns the state in which these requests are complete and not active any longer, and their
    /// answers; `None` if one of them is not complete. Requests that are not active answer so.
    pub(super) fn complete_all(
        &self,
        program: &FreedomProgram,
        rank: usize,
        places: &[usize],
    ) -> Option<(Self, Vec<Answer>)> {
        let mut state = self.clone();
        let mut each = Vec::new();
        for &place in places {
            let Some(one) = state.ranks[rank].active_request(place) else {
                each.push(answers::tell_inactive());
                continue;
            };
            if !self.is_complete(program, rank, one) {
                return None;
            }
            let requests = &mut state.ranks[rank].requests;
            requests.retain(|other| other.is_freed || other.place != place);
            each.push(answer_of(one));
        }
        Some((state, each))
    }

    /// Returns the answer of `MPI_Request_get_status`, if the request is complete.
    pub(super) fn told_status(
        &self,
        program: &FreedomProgram,
        rank: usize,
        one: Active,
    ) -> Option<Answer> {
        if !self.is_complete(program, rank, one) {
            return None;
        }
        Some(match one.request {
            RequestProgress::Received(from, place) => {
                answers::tell_seen(from, tag_of(&program.ranks[from][place]))
            }
            _ => answer_of(one),
        })
    }

    /// Returns the state in which a rank got an answer and goes to the next operation.
    pub(super) fn with_answer(mut self, rank: usize, answer: Answer) -> Self {
        let own = &mut self.ranks[rank];
        own.answers.push(answer);
        own.at += 1;
        own.is_blocked = false;
        self
    }
}

fn answer_of(one: Active) -> Answer {
    match one.request {
        RequestProgress::Received(from, place) => answers::tell_message(from, place),
        RequestProgress::Cancelled => answers::tell_cancelled(),
        _ => answers::tell_done(),
    }
}

/// Returns the tag of the message that an operation sends.
fn tag_of(op: &FreedomOp) -> u32 {
    match op {
        FreedomOp::Send(message)
        | FreedomOp::Isend(message)
        | FreedomOp::SendInit(message)
        | FreedomOp::Sendrecv(message, _) => message.tag,
        _ => 0,
    }
}

/// Returns rank and place of the other end of a message in partitions: the ends match in the order
/// of their initialisations (MPI 5.0, 4.2).
fn other_end(program: &FreedomProgram, rank: usize, place: usize) -> Option<(usize, usize)> {
    let ends = |rank: usize, is_send: bool, key: (usize, u32)| {
        let ops = program.ranks[rank].iter().enumerate();
        ops.filter(move |(_, op)| match op {
            FreedomOp::PsendInit(stripes) => is_send && (stripes.peer, stripes.tag) == key,
            FreedomOp::PrecvInit(stripes) => !is_send && (stripes.peer, stripes.tag) == key,
            _ => false,
        })
        .map(|(place, _)| place)
    };
    let (stripes, is_send) = match &program.ranks[rank][place] {
        FreedomOp::PsendInit(stripes) => (stripes, true),
        FreedomOp::PrecvInit(stripes) => (stripes, false),
        _ => return None,
    };
    let number = ends(rank, is_send, (stripes.peer, stripes.tag)).position(|own| own == place)?;
    let other = ends(stripes.peer, !is_send, (rank, stripes.tag)).nth(number)?;
    Some((stripes.peer, other))
}

impl RankState {
    /// Returns the active request of a place.
    pub(super) fn active_request(&self, place: usize) -> Option<Active> {
        let mut requests = self.requests.iter();
        requests
            .find(|one| one.place == place && !one.is_freed)
            .copied()
    }

    /// Returns the active request of a place.
    pub(super) fn active_request_mut(&mut self, place: usize) -> Option<&mut Active> {
        let mut requests = self.requests.iter_mut();
        requests.find(|one| one.place == place && !one.is_freed)
    }
}
