//! One-sided communication at one rank: the exposed windows, the effects of packets on them, and
//! the rank's own calls that wait for other ranks.
//!
//! An access is one packet, or several if the access is longer than a packet may be; the target
//! handles each packet on arrival. Data with several places at the target come with their
//! description. A read is answered with [`RmaCall::Result`]; locks, unlocks and flushes with
//! [`RmaCall::Done`]. Packets of a pair keep their order, so the answer to a flush confirms all
//! earlier accesses. Locks are granted in the order in which the requests arrive.
//!
//! If the channel reaches the memory of the target, a put or a get is one packet for the channel
//! alone ([`RmaCall::is_rdma`]): the packet takes no credits, because it does not arrive at the
//! message layer of the target, and it keeps its place among the packets of the pair.
//!
//! A put is over at the origin as a send is: at once if the put is short and the channel does not
//! report its end, otherwise when its data have left.
//!
//! *Not decided here*: which calls are allowed when; see `rma/epochs.rs`.

mod gates;
mod latest_read;
mod target;

use observe::SourceLocation;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::observation::post_event;
use super::{
    OperationRecord, OperationState, OutboundSend, ProtocolEngine, RequestTable, Role, Status,
};
use crate::channel::{Channel, Packet, PacketHeader, Token, WindowRead};
use crate::exploration::{ExplorationFact, note_bound, note_fact};
use crate::protocol::flow_control::{MessageType, OutboundMessage};
use crate::rma::{
    self, Access, AccessKind, RemoteWindow, RmaCall, Segment, SyncMode, WindowMemory,
};
use crate::{Buffer, Envelope};
pub(crate) use gates::waits_least;
use gates::{GRANTED, GateKey, TargetGate, TargetRequest};
use latest_read::LatestRead;
use target::{LockRequest, WindowLock};

/// A call that waits for other ranks.
#[derive(Clone, Debug)]
pub(crate) struct RemoteCall {
    /// Name of the call.
    pub(crate) name: &'static str,
    /// The context of the window.
    pub(crate) context: u32,
    /// The number of the window at this rank.
    pub(crate) window: u32,
    /// The ranks that have not answered.
    pub(crate) peers: Vec<u32>,
    /// The buffer for a result.
    pub(crate) buffer: Buffer,
    /// Bytes of the result that are missing.
    missing: u64,
}

impl fmt::Display for RemoteCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LISTED_MAX: usize = 4;
        let Self {
            name,
            window,
            peers,
            ..
        } = self;
        let listed = peers.iter().take(LISTED_MAX).map(u32::to_string);
        let listed = listed.collect::<Vec<_>>().join(", ");
        let plural = if peers.len() == 1 { "rank" } else { "ranks" };
        let what = match *name {
            "start" => "for post of",
            "wait" => "for complete of",
            _ => "at",
        };
        write!(f, "{name} of window {window} {what} {plural} {listed}")?;
        match peers.len().saturating_sub(LISTED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// An access of the program to a window of another rank.
#[derive(Clone, Debug)]
pub(crate) struct AccessCall {
    /// Name of the call.
    pub(crate) name: &'static str,
    /// The context of the window.
    pub(crate) context: u32,
    /// The target.
    pub(crate) peer: u32,
    pub(crate) call: RmaCall,
    /// First byte in the window.
    pub(crate) offset: u64,
    /// The places in the window if there are several; empty if the data are contiguous there.
    pub(crate) places: Vec<Segment>,
    /// The data, if the call has any.
    pub(crate) payload: Buffer,
    /// The first byte at the adapter of the target, if the access is RDMA.
    pub(crate) remote: Option<RemoteWindow>,
    /// The buffer for the result, if the call reads.
    pub(crate) result: Buffer,
    /// Length of an element in bytes: packets hold whole elements.
    pub(crate) element: u64,
    pub(crate) mode: SyncMode,
    /// Number of fences that the program has passed.
    pub(crate) fences: u32,
    /// The result that a read must not have, because the read repeats another.
    pub(crate) before: Option<Buffer>,
    pub(crate) location: SourceLocation,
}

impl AccessCall {
    /// Returns true if the access changes elements in one step each.
    const fn is_update(&self) -> bool {
        matches!(
            self.call,
            RmaCall::Accumulate(_) | RmaCall::GetAccumulate(_) | RmaCall::CompareAndSwap
        )
    }

    /// Returns the access as a read with a result.
    const fn window_read(&self, result: Buffer) -> WindowRead {
        WindowRead {
            target: self.peer,
            window: self.context,
            offset: self.offset,
            result,
        }
    }

    const fn gate_key(&self) -> GateKey {
        (self.peer, matches!(self.mode, SyncMode::Lock))
    }

    /// Returns the access to a part of the bytes, for the log.
    const fn access(&self, origin: u32, offset: u64, length: u64) -> Access {
        let bytes = match self.call {
            RmaCall::CompareAndSwap => length / 2,
            _ => length,
        };
        Access {
            call: self.name,
            origin,
            kind: match self.call {
                RmaCall::Put => AccessKind::Put,
                RmaCall::Get => AccessKind::Get,
                _ => AccessKind::Accumulate,
            },
            reduction: match self.call {
                RmaCall::Accumulate(op) | RmaCall::GetAccumulate(op) if op.is_reduction() => {
                    Some(op)
                }
                _ => None,
            },
            is_update: match self.call {
                RmaCall::Get => false,
                RmaCall::Accumulate(op) | RmaCall::GetAccumulate(op) => !op.is_no_op(),
                _ => true,
            },
            reads: self.call.is_answered(),
            start: self.offset + offset,
            end: self.offset + offset + bytes,
            element: self.element,
            mode: self.mode,
            fences: self.fences,
            location: self.location,
        }
    }
}

/// The state of a window at one rank.
#[derive(Clone, Debug)]
pub(crate) struct ExposedWindow {
    number: u32,
    memory: WindowMemory,
    lock: WindowLock,
    /// The ranks with a `post` that arrived before the call of `start`, and the steps.
    posts: Vec<(u32, u32)>,
    /// The `start` that waits.
    start: Option<Token>,
    /// The exposure epoch that ends when all origins have completed.
    exposure: Option<Token>,
    /// Number of own puts and accumulates that have not left.
    leaving: u32,
    /// By target and kind of epoch, where calls wait least.
    gates: BTreeMap<GateKey, TargetGate>,
    /// The note of the latest `start`.
    started: Option<u32>,
    /// By target: the note of the latest lock.
    locked: BTreeMap<u32, u32>,
    /// The targets that this rank has read or written since the latest end of accesses.
    plain: BTreeSet<GateKey>,
    /// By target: the place of the latest update under a lock since the latest end of accesses.
    updated: BTreeMap<u32, u64>,
    /// The notes of the ends of the exposure epoch, by origin.
    ends: Vec<(u32, u32)>,
}

impl ExposedWindow {
    /// Returns the memory, for local reads and writes.
    pub(crate) const fn memory_mut(&mut self) -> &mut WindowMemory {
        &mut self.memory
    }

    /// Returns true if the data of all own puts and accumulates have left.
    pub(crate) const fn has_sent_puts(&self) -> bool {
        self.leaving == 0
    }
}

/// Calls and packets of a window at one rank.
pub(crate) struct WindowCalls<'a> {
    engine: &'a mut ProtocolEngine,
    channel: &'a dyn Channel,
    /// The context of the window.
    context: u32,
}

/// The windows of a rank; most ranks never have any.
#[derive(Clone, Default, Debug)]
pub(crate) struct Windows(Option<Box<OpenWindows>>);

/// Windows by context.
#[derive(Clone, Default, Debug)]
struct OpenWindows {
    open: BTreeMap<u32, ExposedWindow>,
    /// Number of windows that the rank has made.
    made: u32,
    /// Under a model checker: the reads under a lock that wait for another result than before, and
    /// the latest read.
    reads: Vec<LatestRead>,
}

/// Returns the parts of a message of `length` bytes for packets with at most `most` bytes and whole
/// elements: first byte and length of each part.
fn parts(length: u64, most: u64, element: u64) -> impl Iterator<Item = (u64, u64)> {
    let part = (most - most % element).max(element);
    let count = length.div_ceil(part);
    (0..count).map(move |number| (number * part, part.min(length - number * part)))
}

fn status(rank: u32, length: u64) -> Status {
    Status {
        source: rank as usize,
        tag: 0,
        length,
        cancelled: false,
    }
}

impl Windows {
    /// Returns a window.
    pub(crate) fn find_window(&mut self, context: u32) -> Option<&mut ExposedWindow> {
        self.0.as_mut()?.open.get_mut(&context)
    }

    /// Notes that the data of a send have left, or will never leave. Counts puts at their window.
    pub(super) fn note_put_left(&mut self, send: &OperationRecord, context: u32) {
        if send.role == Role::Put
            && let Some(window) = self.find_window(context)
        {
            window.leaving -= 1;
        }
    }
}

impl RequestTable {
    /// Puts a part of a result into the buffer of a call.
    pub(super) fn put_result(&mut self, token: Token, source: u32, (offset, part): (u64, &Buffer)) {
        let Some(call) = self.operations.remote_call(token) else {
            return;
        };
        if part.len() == call.buffer.len() {
            call.buffer.receive(part.clone());
        } else {
            call.buffer.write_part(offset, part);
        }
        call.missing -= part.len();
        if call.missing == 0 {
            self.note_answer_of(token, source);
        }
    }

    /// A rank has answered; with the last answer the operation is over.
    fn note_answer_of(&mut self, token: Token, source: u32) {
        let Some(call) = self.operations.remote_call(token) else {
            return;
        };
        call.peers.retain(|&peer| peer != source);
        if !call.peers.is_empty() {
            self.note_cause(|record| record.note_part(token));
            return;
        }
        let buffer = call.buffer.take();
        let result = status(source, buffer.len());
        self.end_operation(token, Ok(result), buffer);
    }
}

impl<'a> WindowCalls<'a> {
    pub(crate) fn new(
        engine: &'a mut ProtocolEngine,
        channel: &'a dyn Channel,
        context: u32,
    ) -> Self {
        Self {
            engine,
            channel,
            context,
        }
    }

    fn find_window(&mut self) -> Option<&mut ExposedWindow> {
        self.engine.windows.find_window(self.context)
    }

    /// Exposes memory in the window, which is new. Returns the number of the window at this rank,
    /// from 0, and the place at which other ranks reach registered memory.
    pub(crate) fn open_window(&mut self, memory: WindowMemory) -> (u32, Option<RemoteWindow>) {
        note_fact(self.channel, ExplorationFact::MemoryExposed);
        let memory = match memory {
            WindowMemory::Own(memory)
                if self.channel.settings().registers_windows && !memory.is_empty() =>
            {
                WindowMemory::register_memory(memory, |memory| self.channel.register_memory(memory))
            }
            memory => memory,
        };
        let remote = memory.remote();
        let windows = self.engine.windows.0.get_or_insert_default();
        let number = windows.made;
        windows.made += 1;
        let window = ExposedWindow {
            number,
            memory,
            lock: WindowLock::default(),
            posts: Vec::new(),
            start: None,
            exposure: None,
            leaving: 0,
            gates: BTreeMap::new(),
            started: None,
            locked: BTreeMap::new(),
            plain: BTreeSet::new(),
            updated: BTreeMap::new(),
            ends: Vec::new(),
        };
        windows.open.insert(self.context, window);
        (number, remote)
    }

    /// Closes the window. Returns the memory.
    pub(crate) fn close_window(&mut self) -> Buffer {
        let windows = self.engine.windows.0.as_mut();
        let closed = windows.and_then(|windows| windows.open.remove(&self.context));
        closed.map_or_else(|| Buffer::phantom(0), |window| window.memory.into_buffer())
    }

    fn packet_max(&mut self) -> u64 {
        let most = self.channel.max_packet();
        if self.channel.settings().limits.is_none() {
            return most;
        }
        self.engine.flow(self.channel).max_packet().min(most)
    }

    /// Sends a packet of the window; `notified` ends when the packet has left.
    fn send_rma(
        &mut self,
        peer: u32,
        (call, operation): (RmaCall, Token),
        (offset, length): (u64, u64),
        (payload, notified): (Buffer, Option<Token>),
    ) {
        let header = PacketHeader::Rma {
            window: self.context,
            call,
            operation,
            offset,
            length,
        };
        let kind = if header.is_control() && payload.is_empty() {
            MessageType::Control
        } else {
            MessageType::Data
        };
        let mut message = OutboundMessage::new(kind, header, payload);
        message.operation = notified;
        self.engine.dispatch(self.channel, peer, message);
    }

    /// Sends a request without data, or an answer.
    fn control_rma(&mut self, peer: u32, request: (RmaCall, Token)) {
        self.send_rma(peer, request, (0, 0), (Buffer::phantom(0), None));
    }

    /// Starts a put or an accumulate; its operation ends when the data have left.
    pub(crate) fn write_remote(&mut self, access: AccessCall) -> Token {
        let (length, location) = (access.payload.len(), access.location);
        let (peer, context) = (access.peer, access.context);
        if self.engine.lost.contains_rank(peer) {
            return self.refuse_remote(peer, access.payload, location);
        }
        let settings = self.channel.settings();
        let is_told = access.remote.is_some()
            || settings.limits.is_some()
            || settings.connections.is_some()
            || settings.tells_eager_sends
            || length >= settings.eager_threshold;
        let waits_least = waits_least(self.channel);
        if waits_least || !is_told || length == 0 {
            let buffer = access.payload.clone();
            if waits_least {
                let (gate, request) = (
                    access.gate_key(),
                    TargetRequest::Access(Box::new(access), 0),
                );
                self.send_to(gate, request);
            } else {
                self.send_parts(&access, None, 0);
            }
            let requests = &mut self.engine.requests;
            return requests.insert_ended_early(status(peer, length), buffer, location);
        }
        self.engine.requests.sends += 1;
        let (envelope, buffer) = (Envelope::new(context, peer, 0), access.payload.clone());
        let state = OperationState::Sending(OutboundSend::new(peer, envelope, buffer));
        let token = self.engine.requests.insert(state, location);
        self.engine.requests[token].role = Role::Put;
        if let Some(window) = self.find_window() {
            window.leaving += 1;
        }
        match access.remote {
            Some(place) => {
                let call = RmaCall::Write { rkey: place.rkey };
                self.post_rdma(&access, (call, place.address), token);
            }
            None => self.send_parts(&access, Some(token), 0),
        }
        token
    }

    /// Lets the channel access the memory of the target.
    fn post_rdma(&self, access: &AccessCall, (call, address): (RmaCall, u64), token: Token) {
        if let Some(log) = &self.engine.call_log {
            let length = access.payload.len().max(access.result.len());
            let entry = access.access(self.channel.rank(), 0, length);
            log.accesses()
                .begin_access(access.context, access.peer, entry);
        }
        let packet = Packet {
            header: PacketHeader::Rma {
                window: access.context,
                call,
                operation: token,
                offset: address,
                length: access.result.len(),
            },
            payload: access.payload.clone(),
            notify: call.has_data().then_some(token),
            returned: None,
        };
        self.engine
            .requests
            .observe(|| post_event(access.peer, &packet.header, packet.payload.len()));
        self.channel.post(access.peer, packet);
    }

    /// Sends the data of an access; the last packet ends `told`.
    fn send_parts(&mut self, access: &AccessCall, told: Option<Token>, operation: Token) {
        if !access.places.is_empty() {
            return self.send_described(access, told, operation);
        }
        let length = access.payload.len();
        let most = self.packet_max();
        for (offset, part) in parts(length, most, access.element) {
            self.log_access(access, (offset, part), Vec::new());
            let request = (access.call, operation);
            let place = (access.offset + offset, offset);
            let told = told.filter(|_| offset + part == length);
            let payload = access.payload.slice(offset, part);
            self.send_rma(access.peer, request, place, (payload, told));
        }
    }

    /// Sends the description of the places of an access, with the data; the last packet ends
    /// `told`.
    fn send_described(&mut self, access: &AccessCall, told: Option<Token>, operation: Token) {
        let call = access.call.noncontiguous();
        let call = call.expect("only calls with a datatype have several places");
        let is_read = access.call == RmaCall::Get;
        let most = self.packet_max();
        let parts = rma::split_parts(&access.places, most, access.element, is_read);
        let count = parts.len();
        for (number, part) in (1..).zip(parts) {
            let (length, described) = (rma::total(&part.pieces), part.description.len() as u64);
            self.log_access(access, (0, length), part.pieces);
            let data = match is_read {
                true => Buffer::from(Vec::new()),
                false => access.payload.copy_range(part.offset, length),
            };
            let request = (RmaCall::Noncontiguous(call), operation);
            let place = (described, part.offset);
            let payload = match data.bytes() {
                Some(data) => Buffer::from([&part.description[..], data].concat()),
                None => Buffer::phantom(described + length),
            };
            let told = told.filter(|_| number == count);
            self.send_rma(access.peer, request, place, (payload, told));
        }
    }

    fn log_access(&self, access: &AccessCall, (offset, length): (u64, u64), places: Vec<Segment>) {
        if let Some(log) = &self.engine.call_log {
            let entry = access.access(self.channel.rank(), offset, length);
            log.accesses()
                .note_call(access.context, access.peer, entry, places);
        }
    }

    /// Starts an access that reads; its operation ends with the result.
    pub(crate) fn read_remote(&mut self, access: AccessCall) -> Token {
        let missing = access.result.len();
        let call = RemoteCall {
            name: access.name,
            context: access.context,
            window: 0,
            peers: vec![access.peer],
            buffer: access.result.clone(),
            missing,
        };
        if missing == 0 {
            let requests = &mut self.engine.requests;
            return requests.insert_ended(status(access.peer, 0), call.buffer, access.location);
        }
        if self.engine.lost.contains_rank(access.peer) {
            return self.refuse_remote(access.peer, Buffer::phantom(0), access.location);
        }
        let token = self.begin_remote(call, access.location);
        if waits_least(self.channel) {
            let gate = access.gate_key();
            let request = TargetRequest::Access(Box::new(access), token);
            self.send_to(gate, request);
        } else {
            self.send_read(&access, token);
        }
        token
    }

    /// Starts a read that a loop may repeat.
    pub(crate) fn read_repeatedly(&mut self, access: AccessCall) -> Token {
        let noted = access.clone();
        let token = self.read_remote(access);
        self.engine.windows.note_read(noted, token);
        token
    }

    /// Makes the operation of a read that repeats another at once, with the same result.
    pub(crate) fn repeat_read(
        &mut self,
        peer: u32,
        result: Buffer,
        location: SourceLocation,
    ) -> Token {
        let status = status(peer, result.len());
        self.engine.requests.insert_ended(status, result, location)
    }

    fn send_read(&mut self, access: &AccessCall, token: Token) {
        if access.before.is_some() {
            note_fact(self.channel, ExplorationFact::ReadRepeated(token));
        }
        match (access.call, access.remote) {
            (_, Some(place)) => {
                let call = RmaCall::Read { rkey: place.rkey };
                self.post_rdma(access, (call, place.address), token);
            }
            (RmaCall::Get, None) if access.places.is_empty() => {
                let length = access.result.len();
                self.log_access(access, (0, length), Vec::new());
                let request = (access.call, token);
                let place = (access.offset, length);
                self.send_rma(access.peer, request, place, (Buffer::phantom(0), None));
            }
            _ => self.send_parts(access, None, token),
        }
    }

    /// Makes the operation of a call.
    fn begin_remote(&mut self, mut call: RemoteCall, location: SourceLocation) -> Token {
        call.window = self.find_window().map_or(0, |window| window.number);
        let state = OperationState::Remote(Box::new(call));
        self.engine.requests.insert(state, location)
    }

    /// Makes an operation that fails, because a rank of its call is lost.
    fn refuse_remote(&mut self, peer: u32, buffer: Buffer, location: SourceLocation) -> Token {
        self.engine.requests.sends += 1;
        let token = self
            .engine
            .requests
            .insert(OperationState::Elapsing, location);
        self.engine.fail_send(token, peer, buffer);
        token
    }

    /// Sends a request to some ranks; the operation ends when all have answered.
    pub(crate) fn ask_ranks(
        &mut self,
        name: &'static str,
        (peers, call): (Vec<u32>, RmaCall),
        location: SourceLocation,
    ) -> Token {
        let lost = peers
            .iter()
            .copied()
            .find(|&peer| self.engine.lost.contains_rank(peer));
        if let Some(peer) = lost {
            return self.refuse_remote(peer, Buffer::phantom(0), location);
        }
        let asked = peers.clone();
        let token = self.await_ranks(name, peers, location);
        for peer in asked {
            if waits_least(self.channel) {
                self.ask_target((name, peer), (call, token), location);
            } else {
                self.control_rma(peer, (call, token));
            }
        }
        token
    }

    /// Makes an operation that waits for these ranks; the operation is over if there are none.
    fn await_ranks(
        &mut self,
        name: &'static str,
        peers: Vec<u32>,
        location: SourceLocation,
    ) -> Token {
        if peers.is_empty() {
            let requests = &mut self.engine.requests;
            return requests.insert_ended(status(0, 0), Buffer::phantom(0), location);
        }
        let call = RemoteCall {
            name,
            context: self.context,
            window: 0,
            peers,
            buffer: Buffer::phantom(0),
            missing: 0,
        };
        self.begin_remote(call, location)
    }

    /// A packet of the window has arrived.
    pub(super) fn handle_packet(&mut self, source: u32, header: &PacketHeader, payload: Buffer) {
        let &PacketHeader::Rma {
            window: context,
            call,
            operation,
            offset,
            length,
        } = header
        else {
            unreachable!("only packets of one-sided communication come here");
        };
        let step = self.present_arrival();
        match call {
            RmaCall::Result if self.engine.windows.note_result(operation, &payload) => {}
            RmaCall::Result => {
                let requests = &mut self.engine.requests;
                requests.put_result(operation, source, (offset, &payload));
            }
            RmaCall::Done if operation == GRANTED => self.take_grant(source),
            RmaCall::Done => self.engine.requests.note_answer_of(operation, source),
            RmaCall::Post => self.take_post(source),
            RmaCall::Complete => self.take_complete(source),
            RmaCall::Lock { exclusive } => {
                let request = LockRequest {
                    rank: source,
                    operation,
                    exclusive,
                    arrival: step,
                };
                if let Some(window) = self.find_window() {
                    window.lock.queue.push_back(request);
                }
                self.grant_locks();
            }
            RmaCall::Unlock | RmaCall::Flush => {
                if let Some(log) = &self.engine.call_log {
                    log.accesses()
                        .end_accesses(context, self.channel.rank(), source);
                }
                self.control_rma(source, (RmaCall::Done, operation));
                if call == RmaCall::Unlock
                    && let Some(window) = self.find_window()
                {
                    window.lock.release(source, step);
                    self.grant_locks();
                }
            }
            _ => {
                let log = self.engine.call_log.as_ref();
                let shared = log.and_then(|log| {
                    log.accesses()
                        .begin_arrived(context, self.channel.rank(), source)
                });
                if let Some(location) = shared {
                    let bound = "an access to several elements is one step";
                    note_bound(self.channel, &format!("{bound} ({location})"));
                }
                let window = self.find_window();
                let result = window.and_then(|window| match call {
                    RmaCall::Noncontiguous(call) => {
                        window.access_places((offset, length), call, &payload)
                    }
                    _ => window.access_memory((offset, length), call, &payload),
                });
                if let Some((at, result)) = result {
                    self.send_result(source, operation, (at, &result));
                }
            }
        }
    }

    /// Notes that a rank has posted or completed; false if no call of this name waits for the rank.
    fn note_awaited(&mut self, token: Option<Token>, source: u32, name: &str) -> bool {
        let context = self.context;
        let waits = token.filter(|&token| {
            let call = self.engine.requests.operations.remote_call(token);
            call.is_some_and(|call| {
                (call.context, call.name) == (context, name) && call.peers.contains(&source)
            })
        });
        if let Some(token) = waits {
            self.engine.requests.note_answer_of(token, source);
        }
        waits.is_some()
    }
}
