//! Collective operations in progress: the executor of schedules.
//!
//! A collective is an operation of the rank. Its program waits for the end of this operation as for
//! a send. The requests of its steps belong to the executor: when the last request for which a step
//! waits is over, the schedule continues, whatever the program does in the meantime. One executor
//! runs blocking, non-blocking and persistent calls.
//!
//! A rank that computes makes progress, as with all protocols here. Under a model checker a
//! collective makes progress only while its program waits, so that the earlier waits of the program
//! cause its messages. Non-blocking calls are then executed by [independent
//! algorithms](::collectives::independent).
//!
//! *Not modelled*: a send of a part of a buffer costs a copy of the part in real runs, and no time
//! in simulated ones.

use observe::SourceLocation;
use std::ops::Range;

use ::collectives::{Algorithm, Area, Call, Part, Slot};
use smallvec::SmallVec;

use super::{NOTHING, OperationState, Operations, ProtocolEngine, RequestTable, Role};
use crate::api::group::Members;
use crate::api::op::Reduction;
use crate::channel::{Channel, Token};
use crate::collectives::{CallPosition as CallPlace, position};
use crate::{Buffer, Error};
use channel::FreshMemory;

mod lanes;
mod runner;

use lanes::LanePosition;

/// The first tag of collectives; lower tags belong to calls that make communicators and to
/// exchanges between neighbours.
const TAGS: u32 = 1024;

/// Added to the tags of calls that are counted in an intercommunicator, because its groups count
/// calls separately.
const BETWEEN_TAGS: u32 = 1 << 30;

/// Number of tags of calls that are not persistent: half of them for collectives, half for barriers
/// before them. The tags of persistent requests follow.
const TAG_COUNT: u32 = 1 << 25;

/// Number of persistent requests of a communicator at one time that have tags of their own.
const PERSISTENT_COUNT: u32 = 1 << 22;

/// Tags of a persistent request: one for each edge of the largest grid, which has 64 dimensions.
const EDGE_COUNT: u32 = 128;

/// Slots of requests of a lane.
const SLOTS: usize = 4;

/// The first number that is added to the tags of edges of a schedule: behind the tags of persistent
/// requests. Calls that are not persistent have [`TAG_COUNT`] tags for each edge but the first.
const EDGE_TAGS: u32 = TAG_COUNT + PERSISTENT_COUNT * EDGE_COUNT;

/// Requests of a slot that are waited for together.
const ALL: u32 = u32::MAX;

/// No slot.
const NO_SLOT: u8 = u8::MAX;

/// The wait for the other lanes of the schedule.
const JOIN: u8 = NO_SLOT - 1;

/// The first tag of exchanges between neighbours; each edge of a grid has one.
const NEIGHBOR_TAGS: u32 = 200;

/// Position of a call among the calls that all ranks of a communicator make, from 0.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CallNumber {
    /// Among the calls with separate message tags; this position determines the tag.
    pub(crate) tag: u32,
    /// Among all; see [`position`].
    pub(crate) position: u32,
}

/// A persistent collective request: the number of the request among the requests of the
/// communicator and the number of its next start, both from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PersistentNumber {
    pub(crate) request: u32,
    pub(crate) start: u32,
}

impl PersistentNumber {
    /// Returns the position of the call that initialises the request, which no start has.
    pub(crate) const fn initial_position(self) -> u32 {
        position::of_start(self.request, u32::MAX)
    }

    /// Returns the number of the next start. All starts of a request have the same tag: a rank
    /// starts the request again after its part of the last start, and messages do not overtake.
    pub(crate) const fn next_start(self) -> CallNumber {
        CallNumber {
            tag: TAG_COUNT + self.request % PERSISTENT_COUNT * EDGE_COUNT,
            position: position::of_start(self.request, self.start),
        }
    }
}

/// A collective call, ready to be executed.
#[derive(Clone)]
pub(crate) struct PreparedCall {
    /// The name of the call in reports.
    pub(crate) name: &'static str,
    pub(crate) algorithm: &'static Algorithm,
    /// True if the program continues during the call and all messages leave at the start: the
    /// program learns of incoming messages when it waits for the call.
    pub(crate) is_independent: bool,
    pub(crate) call: Call,
    pub(crate) reduction: Option<Reduction>,
    /// The contribution; empty if the area `Recv` contains the contribution.
    pub(crate) send: Buffer,
    pub(crate) recv: Buffer,
    /// True if the nodes of the ranks are exchanged by messages before.
    pub(crate) asks_nodes: bool,
    /// True if the call has a result at this rank.
    pub(crate) has_result: bool,
    pub(crate) members: Members,
    /// The context in which calls are counted: the context of the communicator's collectives, or
    /// the context of the intercommunicator.
    pub(crate) context: u32,
    pub(crate) number: CallNumber,
    pub(crate) location: SourceLocation,
}

/// A collective in progress.
#[derive(Clone, Debug)]
struct Running {
    call: PreparedCall,
    progress: ScheduleState,
}

/// The position in a schedule.
#[derive(Clone, Debug)]
struct ScheduleState {
    temp: Buffer,
    fresh: Option<Box<FreshMemory>>,
    /// The operation of the program.
    token: Token,
    /// Number of rounds of each lane.
    rounds: u32,
    /// The first lane, which has the number of the collective among all lanes.
    first: LanePosition,
    /// The numbers and positions of the other lanes.
    others: Vec<(u32, LanePosition)>,
    error: Option<Error>,
}

/// The requests of a lane.
#[derive(Clone, Copy, Default, Debug)]
struct Requests {
    /// The collective to which the lane belongs.
    collective: u32,
    /// Number of requests in progress by slot.
    pending: [u32; SLOTS],
    /// Number of started requests, by slot, and number of requests waited for one by one.
    started: [u32; SLOTS],
    waited: [u32; SLOTS],
    /// The slot that the lane waits for.
    waits_for: u8,
    /// The request for which the lane waits; [`ALL`] for all of the slot except `leaves` requests.
    waits_for_request: u32,
    /// Number of requests of the slot that may be in progress when the wait is over.
    leaves: u32,
    /// The operation of the program that learns of arrivals, if the schedule does not react to
    /// them.
    learner: Option<Token>,
}

/// The request of a step.
#[derive(Clone, Copy, Debug)]
struct StepRequest {
    lane: u32,
    slot: Slot,
    /// Position among the requests of the slot.
    number: u32,
    /// The rank of the communicator at the other end.
    peer: u32,
    /// Where a message is put; `None` of a send.
    target: Option<Part>,
    /// Processor time of a receive to match an announcement, besides the time of the library.
    matching_cost: f64,
}

/// A lane of a collective.
#[derive(Clone, Default, Debug)]
struct Lane {
    /// The collective; `None` while the collective is executed, of free lanes, and of lanes that
    /// are not the first one of their collective.
    running: Option<Box<Running>>,
    requests: Requests,
}

/// The collectives of a rank. Most ranks have one lane and two requests at one time: these are here
/// and not elsewhere in memory, because a million ranks wait mostly for memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct Collectives {
    /// By number.
    lanes: SmallVec<[Lane; 1]>,
    free: Vec<u32>,
    /// By token of the operation.
    steps: SmallVec<[Option<StepRequest>; 2]>,
    /// Collectives with schedules that can continue.
    ready: Vec<u32>,
    /// Ends of requests of a collective that is being executed.
    landed: Vec<Result<Option<(Part, Buffer)>, Error>>,
    /// Costs of receives that have not been paid, in seconds.
    owed: f64,
    /// [`StepRequest::matching_cost`] of the receive that is being posted.
    matching_cost: f64,
    /// The next number, and the number of the next persistent request, by context.
    next: Vec<(u32, CallNumber, u32)>,
    /// Contexts of communicators after the exchange of the nodes of their ranks.
    node_setups: Vec<u32>,
}

impl PreparedCall {
    /// Returns the exchange of the nodes of the ranks before the call, with other tags than the
    /// call.
    pub(crate) fn node_setup(&self) -> Self {
        let (algorithm, call) = ::collectives::node_setup(&self.call);
        Self {
            algorithm,
            call,
            reduction: None,
            send: Buffer::phantom(0),
            recv: Buffer::phantom(0),
            asks_nodes: false,
            is_independent: false,
            has_result: false,
            members: self.members.clone(),
            number: CallNumber {
                tag: self.number.tag + TAG_COUNT / 2,
                ..self.number
            },
            ..*self
        }
    }
}

impl std::fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} by {}", self.call, self.algorithm.name)
    }
}

impl Collectives {
    fn next(&mut self, context: u32) -> (&mut CallNumber, &mut u32) {
        let known = self.next.iter().position(|(known, ..)| *known == context);
        let place = known.unwrap_or_else(|| {
            if self.next.is_empty() {
                self.next.reserve_exact(1);
            }
            self.next.push((context, CallNumber::default(), 0));
            self.next.len() - 1
        });
        let (_, call, persistent) = &mut self.next[place];
        (call, persistent)
    }

    /// Counts a call that all ranks of a communicator make.
    pub(crate) fn count_call(&mut self, context: u32, has_tag: bool) -> CallNumber {
        let (next, _) = self.next(context);
        let number = *next;
        next.position = position::next_position(number.position);
        next.tag = (number.tag + u32::from(has_tag)) % (TAG_COUNT / 2);
        number
    }

    /// Counts a persistent request of a communicator.
    pub(crate) fn count_persistent(&mut self, context: u32) -> PersistentNumber {
        let (_, next) = self.next(context);
        let request = *next;
        *next = request.wrapping_add(1);
        PersistentNumber { request, start: 0 }
    }

    /// Notes that the ranks of a communicator exchange their nodes. Returns true if they have not
    /// done so before.
    pub(crate) fn note_node_setup(&mut self, context: u32) -> bool {
        let is_first = !self.node_setups.contains(&context);
        if is_first {
            self.node_setups.push(context);
        }
        is_first
    }

    fn running(&self, index: u32) -> Option<&Running> {
        self.lanes.get(index as usize)?.running.as_deref()
    }

    /// Describes a collective in progress, such as "allreduce #4 (ring, round 3 of 6)": the
    /// position among the collectives of the communicator, the algorithm and the round, all from 1.
    /// A persistent collective is "allreduce #2, start 3 (ring, round 3 of 6)".
    pub(crate) fn in_words(&self, index: u32) -> Option<String> {
        let Running { call, progress } = self.running(index)?;
        let (kind, algorithm) = (call.name, call.algorithm.name);
        let number = position::InWords(call.number.position);
        if (TAG_COUNT / 2..TAG_COUNT).contains(&call.number.tag) {
            return Some(format!("{kind} #{number}, until all ranks have called it"));
        }
        let (round, rounds) = (progress.round() + 1, progress.rounds);
        let number = match call.number.position {
            position::UNCOUNTED => String::new(),
            _ => format!(" #{number}"),
        };
        Some(format!(
            "{kind}{number} ({algorithm}, round {round} of {rounds})"
        ))
    }

    /// Returns the position of the collective of an operation; `None` for other operations.
    pub(crate) fn place_of(&self, operation: &OperationState) -> Option<CallPlace> {
        let OperationState::Collective { index } = operation else {
            return None;
        };
        let call = &self.running(*index)?.call;
        Some(CallPlace {
            context: call.context,
            first: call.members.world(0),
            number: call.number.position,
        })
    }

    /// Returns the world ranks at the other ends of the requests that a collective waits for.
    pub(crate) fn list_partners(&self, index: u32) -> Vec<u32> {
        let Some(running) = self.running(index) else {
            return Vec::new();
        };
        let steps = self.steps.iter().flatten();
        let waited = steps.filter(|step| {
            let requests = &self.lanes[step.lane as usize].requests;
            requests.collective == index && requests.waits_for == step.slot
        });
        waited
            .map(|step| running.call.members.world(step.peer))
            .collect()
    }

    /// Gives up the requests of a collective that has failed.
    fn abandon(&mut self, index: u32, operations: &mut Operations) {
        let lanes = &self.lanes;
        let is_own = |step: StepRequest| lanes[step.lane as usize].requests.collective == index;
        for (token, step) in (0..).zip(&mut self.steps) {
            if step.is_some_and(is_own) {
                *step = None;
                let operation = &mut operations[token];
                (operation.role, operation.released) = (Role::None, true);
            }
        }
    }

    /// Returns the time of a receive to match an announcement, besides the time of the library.
    pub(super) fn matching_cost(&self, receive: Token) -> f64 {
        let step = self.steps.get(receive as usize).copied().flatten();
        step.map_or(self.matching_cost, |step| step.matching_cost)
    }

    fn insert(&mut self, mut running: Box<Running>) -> u32 {
        let call = &running.call;
        let learner = call.is_independent.then_some(running.progress.token);
        let lanes = (call.algorithm.lanes)(&call.call);
        let index = self.add_lane(learner, None);
        for _ in 1..lanes {
            let lane = self.add_lane(learner, Some(index));
            running
                .progress
                .others
                .push((lane, LanePosition::default()));
        }
        self.lanes[index as usize].running = Some(running);
        index
    }
}

/// Returns the place of a part in the bytes of its area.
fn range(part: Part) -> Range<usize> {
    let place = |bytes: u64| usize::try_from(bytes).expect("a real buffer fits into memory");
    place(part.offset)..place(part.offset + part.length)
}

impl Running {
    fn area(&self, area: Area) -> &Buffer {
        match area {
            Area::Send => &self.call.send,
            Area::Recv => &self.call.recv,
            Area::Temp => &self.progress.temp,
        }
    }

    fn area_mut(&mut self, area: Area) -> &mut Buffer {
        match area {
            Area::Send => unreachable!("a contribution is only read"),
            Area::Recv => &mut self.call.recv,
            Area::Temp => &mut self.progress.temp,
        }
    }

    fn part(&self, part: Part) -> Buffer {
        if part.length == 0 {
            return Buffer::phantom(0);
        }
        self.area(part.area).slice(part.offset, part.length)
    }

    /// Changes a part by the bytes of another part of equal length, if both are real.
    fn update(&mut self, from: Part, into: Part, change: impl FnOnce(&[u8], &mut [u8])) {
        if from.length == 0 {
            return;
        }
        // Taken out, so that the other area can be read without a copy.
        let mut area = self.area_mut(into.area).take();
        let copied;
        let source = match from.area == into.area {
            true => {
                copied = area.slice(from.offset, from.length);
                copied.bytes()
            }
            false => self
                .area(from.area)
                .bytes()
                .map(|bytes| &bytes[range(from)]),
        };
        if let Some(source) = source
            && let Some(target) = area.bytes_mut()
        {
            change(source, &mut target[range(into)]);
        }
        *self.area_mut(into.area) = area;
    }

    /// Puts a message into its place, or notes the error.
    fn put(&mut self, landed: Result<Option<(Part, Buffer)>, Error>) {
        match landed {
            Ok(Some((part, content))) if part.length > 0 => {
                self.area_mut(part.area).write(part.offset, &content);
            }
            Ok(_) => {}
            Err(error) => self.progress.error = Some(error),
        }
    }
}

impl RequestTable {
    /// Returns true if schedules can continue.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        let collectives = self.collectives.as_ref();
        collectives.is_some_and(|all| !all.ready.is_empty())
    }

    /// Returns true if collectives are in progress, so that the ends of sends matter.
    pub(crate) fn has_running(&self) -> bool {
        let collectives = self.collectives.as_ref();
        collectives.is_some_and(|all| all.lanes.len() > all.free.len())
    }

    /// Returns the collectives, to count calls.
    pub(crate) fn collectives_mut(&mut self) -> &mut Collectives {
        self.collectives.get_or_insert_default()
    }

    /// The request of a step is over.
    pub(super) fn end_step(
        &mut self,
        token: Token,
        result: Result<super::Status, Error>,
        buffer: Buffer,
    ) {
        self.ended += 1;
        self.note_cause(|record| record.note_end(token));
        let collectives = self.collectives_mut();
        let step = collectives.steps[token as usize].take();
        let step = step.expect("the operation of a step has its request");
        // What has ended the request is learnt by the schedule, or by the program when it waits for
        // the collective.
        let learner = collectives.lanes[step.lane as usize].requests.learner;
        if let Some(record) = self.rare.causality_mut() {
            match learner {
                Some(learner) => record.note_passed(token, learner),
                None => record.note_taken(token),
            }
        }
        let owed = self.operations.take_charge(token);
        self.operations.remove(token);
        let collectives = self.collectives_mut();
        collectives.owed += owed;
        let requests = &mut collectives.lanes[step.lane as usize].requests;
        let pending = &mut requests.pending[usize::from(step.slot)];
        *pending -= 1;
        let is_over = requests.waits_for == step.slot
            && (*pending <= requests.leaves || requests.waits_for_request == step.number);
        if is_over {
            requests.waits_for = NO_SLOT;
        }
        let collective = requests.collective;
        let landed = step.land(result, buffer);
        match &mut collectives.lanes[collective as usize].running {
            Some(running) => {
                running.put(landed);
                let is_ready = is_over || running.progress.error.is_some();
                if is_ready && !collectives.ready.contains(&collective) {
                    collectives.ready.push(collective);
                }
            }
            None => collectives.landed.push(landed),
        }
    }
}

/// The executor of the schedules of a rank.
pub(crate) struct ScheduleExecutor<'a> {
    engine: &'a mut ProtocolEngine,
    channel: &'a dyn Channel,
}

impl<'a> ScheduleExecutor<'a> {
    pub(crate) fn new(engine: &'a mut ProtocolEngine, channel: &'a dyn Channel) -> Self {
        Self { engine, channel }
    }

    /// Starts a collective. Its operation is over when the last step of this rank is over.
    pub(crate) fn start_call(&mut self, call: PreparedCall) -> Token {
        let location = call.location;
        let token = self
            .engine
            .requests
            .insert(OperationState::Elapsing, location);
        let temp = call.recv.of_kind((call.algorithm.temp)(&call.call));
        let memory = self.channel.settings().memory.as_ref();
        let fresh = FreshMemory::of_call(memory, call.algorithm, &call.call, temp.len());
        let copying = fresh.as_ref().map(|fresh| fresh.copy_time(&call.call));
        self.engine
            .processor
            .charge_time(self.channel, copying.unwrap_or_default());
        if call.number.position != position::UNCOUNTED {
            if let Some(observation) = self.engine.requests.rare.observation() {
                observation.begin_collective(&call, token);
            }
            self.engine
                .requests
                .note_cause(|record| record.note_collective(self.channel, token, &call));
        }
        let collectives = self.engine.requests.collectives_mut();
        let running = Box::new(Running {
            progress: ScheduleState {
                temp,
                fresh,
                token,
                rounds: (call.algorithm.rounds)(&call.call),
                first: LanePosition::default(),
                others: Vec::new(),
                error: None,
            },
            call,
        });
        let index = collectives.insert(running);
        self.engine.requests[token].state = OperationState::Collective { index };
        self.advance(index);
        token
    }

    /// Continues the schedules after their requests are over.
    pub(crate) fn advance_ready(&mut self) {
        self.engine.requests.rare.report_observed(self.channel);
        let owed = std::mem::take(&mut self.engine.requests.collectives_mut().owed);
        self.engine.processor.charge_time(self.channel, owed);
        while let Some(index) = self.engine.requests.collectives_mut().ready.pop() {
            self.advance(index);
        }
    }

    fn finish_call(&mut self, index: u32, running: Running) {
        let Running { call, progress } = running;
        let (context, number) = (call.context, call.number.position);
        if number != position::UNCOUNTED {
            self.engine
                .requests
                .observe(|| observe::RankEvent::CollectiveEnd { context, number });
        }
        let buffer = if call.has_result {
            call.recv
        } else {
            Buffer::phantom(0)
        };
        let result = match progress.error {
            None => Ok(super::Status {
                length: buffer.len(),
                ..NOTHING
            }),
            Some(error) => Err(error),
        };
        let collectives = self.engine.requests.collectives.get_or_insert_default();
        if result.is_err() {
            collectives.abandon(index, &mut self.engine.requests.operations);
        }
        let others = progress.others.iter().rev();
        collectives.free.extend(others.map(|(lane, _)| *lane));
        collectives.free.push(index);
        self.engine
            .requests
            .end_operation(progress.token, result, buffer);
    }
}

impl StepRequest {
    /// Returns the received data of a request and their place; `None` for a send.
    fn land(
        self,
        result: Result<super::Status, Error>,
        content: Buffer,
    ) -> Result<Option<(Part, Buffer)>, Error> {
        let status = result?;
        let Some(part) = self.target else {
            return Ok(None);
        };
        if status.length > part.length {
            return Err(Error::Truncated {
                source: status.source,
                tag: status.tag,
                length: status.length,
                buffer: part.length,
            });
        }
        if status.length < part.length {
            return Err(Error::Short {
                source: status.source,
                length: status.length,
                expected: part.length,
            });
        }
        Ok(Some((part, content)))
    }
}
