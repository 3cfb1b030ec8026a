//! The sequential model: requests of a side of a connection take effect one after the other, and
//! bytes are undefined if the standard leaves their value open.
//!
//! A request after a read or an atomic operation may take effect before it, unless the request has
//! a fence (IBA 9.5): where both meet in memory, the result is undefined. A program is refused if
//! completions depend on time: if a side fails while the other side sends, or if a connection with
//! lost packets fails, because a lost NAK ends the connection by a timeout.

use std::collections::VecDeque;
use std::ops::Range;

use rdma::{QpState, WcOpcode, WcStatus};

use super::layout::{self, Slots};
use super::program::{
    Connection, PacketFaultKind, RETRY_MAX, Request, RequestFault, RequestKind, Round, VerbsProgram,
};

/// Fields of a completion that are compared; the error code is left to the vendor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletionRecord {
    /// The number of the request or receive, from 0 at each side of each connection.
    pub wr_id: u64,
    /// The status.
    pub status: WcStatus,
    /// The opcode, if the status is success.
    pub opcode: Option<WcOpcode>,
    /// Number of bytes, of receives, reads and atomics.
    pub byte_len: u32,
    /// Immediate data.
    pub imm_data: Option<u32>,
}

/// Observation at a side of a connection; `B` is a byte, or one that may be undefined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideObservation<B> {
    /// Completions of requests, in their order.
    pub sends: Vec<CompletionRecord>,
    /// Completions of receives, in their order.
    pub receives: Vec<CompletionRecord>,
    /// State of the queue pair at the end.
    pub state: QpState,
    /// True if a receive was a solicited event; `None` if that is not compared.
    pub solicited: Option<bool>,
    /// Content of the target region at the end.
    pub target: Vec<B>,
    /// Content of the local region at the end.
    pub local: Vec<B>,
}

/// Observation at both sides of each connection.
pub type Observation<B> = Vec<[SideObservation<B>; 2]>;

/// A read or an atomic operation that may still take effect.
struct OpenFetch {
    offset: u32,
    length: u32,
    slot: usize,
    is_atomic: bool,
}

/// A side of a connection.
struct ModelSide {
    expected: SideObservation<Option<u8>>,
    slots: Slots,
    /// Requests and receives that were posted.
    posted: [usize; 2],
    receives: VecDeque<(usize, u32)>,
    pending: VecDeque<(usize, Request)>,
    /// The latest request has no completion that reports its end.
    is_unconfirmed: bool,
    open: Vec<OpenFetch>,
}

/// Effect of a request.
enum RequestEffect {
    /// The request waits for a receive.
    Blocked,
    /// The request has succeeded, with the number of bytes in the completion.
    Done(u32),
    /// The request has failed.
    Failed {
        status: WcStatus,
        /// The queue pair of the other side fails, too.
        peer_fails: bool,
    },
}

/// The sequential model of a program.
pub(super) struct Model {
    connections: Vec<(Connection, [ModelSide; 2])>,
}

impl Model {
    /// Returns the model before the first round.
    pub(super) fn new(program: &VerbsProgram) -> Self {
        let connections = program.connections.iter().enumerate();
        let connections = connections.map(|(number, connection)| {
            let sides = [0, 1].map(|side| ModelSide::new(program, number, side));
            (*connection, sides)
        });
        Self {
            connections: connections.collect(),
        }
    }

    /// Returns the expected observation at the end of a program.
    pub(super) fn expected_observation(
        program: &VerbsProgram,
    ) -> Result<Observation<Option<u8>>, String> {
        let mut model = Self::new(program);
        for (number, round) in program.rounds.iter().enumerate() {
            let executed = model.execute_round(round);
            executed.map_err(|error| format!("rounds[{number}]: {error}"))?;
        }
        for (at, fault) in program.faults.iter().enumerate() {
            let (connection, sides) = &model.connections[fault.connection];
            let is_exact =
                connection.retry_cnt < RETRY_MAX || sides.iter().any(ModelSide::has_failed);
            if is_exact && fault.kind != PacketFaultKind::Duplicate {
                return Err(format!(
                    "faults[{at}]: {:?}: expected a connection without errors, and retry_cnt = \
                     {RETRY_MAX}",
                    fault.kind
                ));
            }
        }
        let sides = model.connections.into_iter();
        Ok(sides
            .map(|(_, sides)| sides.map(|side| side.expected))
            .collect())
    }

    /// Returns the numbers of completions of requests and receives at a side so far.
    pub(super) fn completions(&self, connection: usize, side: usize) -> [usize; 2] {
        let expected = &self.connections[connection].1[side].expected;
        [expected.sends.len(), expected.receives.len()]
    }

    /// Executes a round.
    pub(super) fn execute_round(&mut self, round: &Round) -> Result<(), String> {
        for receive in &round.receives {
            let side = &mut self.connections[receive.connection].1[receive.side];
            if side.has_failed() {
                // Adapters differ: Linux's rxe keeps such a receive, others flush it.
                return Err(format!(
                    "a receive of side {} of connection {} after its failure: expected none",
                    receive.side, receive.connection
                ));
            }
            side.receives.push_back((side.posted[1], receive.length));
            side.posted[1] += 1;
        }
        for request in &round.requests {
            let side = &mut self.connections[request.connection].1[request.side];
            side.pending.push_back((side.posted[0], *request));
            side.posted[0] += 1;
        }
        for (number, (connection, [first, second])) in self.connections.iter_mut().enumerate() {
            let (one, two) = (!first.pending.is_empty(), !second.pending.is_empty());
            let place = |error| format!("connection {number}: {error}");
            proceed(*connection, first, second, two).map_err(place)?;
            proceed(*connection, second, first, one).map_err(place)?;
        }
        Ok(())
    }
}

/// Executes the requests of a side, until one waits for a receive.
fn proceed(
    connection: Connection,
    side: &mut ModelSide,
    peer: &mut ModelSide,
    peer_sends: bool,
) -> Result<(), String> {
    let mut is_first = true;
    while let Some((number, request)) = side.pending.pop_front() {
        match effect(connection, side, peer, (number, &request), is_first)? {
            RequestEffect::Blocked if side.is_unconfirmed => {
                return Err(format!(
                    "request {number} waits for a receive: expected a completion of the one \
                     before it"
                ));
            }
            RequestEffect::Blocked => {
                side.pending.push_front((number, request));
                return Ok(());
            }
            RequestEffect::Done(_) if request.unsignaled => {}
            RequestEffect::Done(byte_len) => side.expected.sends.push(CompletionRecord {
                wr_id: number as u64,
                status: WcStatus::Success,
                opcode: Some(opcode(request.kind)),
                byte_len,
                imm_data: None,
            }),
            RequestEffect::Failed { status, peer_fails } => {
                if peer_sends && !side.has_failed() {
                    return Err(format!(
                        "request {number} fails with {status} while the other side sends: \
                         expected one of both"
                    ));
                }
                side.expected.sends.push(failed_completion(number, status));
                side.enter_error_state();
                if peer_fails {
                    peer.enter_error_state();
                }
            }
        }
        side.is_unconfirmed = request.unsignaled && !side.has_failed();
        is_first = false;
    }
    side.open.clear();
    Ok(())
}

const fn opcode(kind: RequestKind) -> WcOpcode {
    match kind {
        RequestKind::Send | RequestKind::SendWithImm => WcOpcode::Send,
        RequestKind::Write | RequestKind::WriteWithImm => WcOpcode::RdmaWrite,
        RequestKind::Read => WcOpcode::RdmaRead,
        RequestKind::FetchAdd => WcOpcode::FetchAdd,
        RequestKind::CompareSwap => WcOpcode::CompSwap,
    }
}

const fn failed_completion(number: usize, status: WcStatus) -> CompletionRecord {
    CompletionRecord {
        wr_id: number as u64,
        status,
        opcode: None,
        byte_len: 0,
        imm_data: None,
    }
}

const fn fails(status: WcStatus, peer_fails: bool) -> RequestEffect {
    RequestEffect::Failed { status, peer_fails }
}

/// Applies the oldest request of a side to both sides and returns the effect of the request.
fn effect(
    connection: Connection,
    side: &mut ModelSide,
    peer: &mut ModelSide,
    (number, request): (usize, &Request),
    is_first: bool,
) -> Result<RequestEffect, String> {
    if side.has_failed() {
        return Ok(fails(WcStatus::WrFlushErr, false));
    }
    if request.fault == Some(RequestFault::WrongLkey) {
        if !is_first {
            // Adapters differ in what they do with requests before it that are under way.
            return Err(format!(
                "request {number}: WrongLkey: expected only in the first one of a round"
            ));
        }
        return Ok(fails(WcStatus::LocProtErr, false));
    }
    if peer.has_failed() {
        return Ok(fails(WcStatus::RetryExcErr, false));
    }
    let refusal = refusal(connection, request);
    if request.kind.consumes_receive() && peer.receives.is_empty() {
        if refusal.is_some() {
            // It depends on the MTU which of both comes first.
            return Err(format!(
                "request {number}: {:?} without a receive: expected one",
                request.fault
            ));
        }
        if request.kind.has_target() {
            // All packets but the last have arrived.
            peer.expected.target[target_range(request)].fill(None);
            side.overtake(peer, request);
        }
        return Ok(if connection.rnr_retry == 7 {
            RequestEffect::Blocked
        } else {
            fails(WcStatus::RnrRetryExcErr, false)
        });
    }
    if let Some(status) = refusal {
        return Ok(fails(status, true));
    }
    if request.fence {
        side.open.clear();
    }
    let slot = side.slots.requests[number] as usize;
    let slot = slot..slot + request.length as usize;
    match request.kind {
        RequestKind::Send | RequestKind::SendWithImm => {
            let bytes = side.expected.local[slot].to_vec();
            return Ok(peer.receive_message(request, &bytes));
        }
        RequestKind::Write | RequestKind::WriteWithImm => {
            let bytes = &side.expected.local[slot];
            peer.expected.target[target_range(request)].copy_from_slice(bytes);
            side.overtake(peer, request);
            if request.kind == RequestKind::WriteWithImm {
                peer.complete_receive(request, WcOpcode::RecvRdmaWithImm);
            }
            return Ok(RequestEffect::Done(0));
        }
        RequestKind::Read | RequestKind::FetchAdd | RequestKind::CompareSwap => {}
    }
    let old = peer.expected.target[target_range(request)].to_vec();
    if request.kind.is_atomic() {
        peer.expected.target[target_range(request)].copy_from_slice(&after_atomic(request, &old));
        side.overtake(peer, request);
    }
    side.open.push(OpenFetch {
        offset: request.offset,
        length: request.length,
        slot: slot.start,
        is_atomic: request.kind.is_atomic(),
    });
    side.expected.local[slot].copy_from_slice(&old);
    Ok(RequestEffect::Done(request.length))
}

/// Returns the bytes of the target region that a request names.
const fn target_range(request: &Request) -> Range<usize> {
    let begin = request.offset as usize;
    begin..begin + request.length as usize
}

/// Returns the status of a request that the other side refuses. One of no bytes needs no right.
fn refusal(connection: Connection, request: &Request) -> Option<WcStatus> {
    if !request.kind.has_target() || request.length == 0 {
        return None;
    }
    let access = connection.access;
    let is_permitted = match request.kind {
        RequestKind::Read => access.read,
        RequestKind::FetchAdd | RequestKind::CompareSwap => access.atomic,
        _ => access.write,
    };
    match request.fault {
        Some(RequestFault::Unaligned) => Some(WcStatus::RemInvReqErr),
        Some(_) => Some(WcStatus::RemAccessErr),
        None => (!is_permitted).then_some(WcStatus::RemAccessErr),
    }
}

/// Returns 8 bytes after an atomic operation on them; undefined ones stay undefined.
fn after_atomic(request: &Request, old: &[Option<u8>]) -> Vec<Option<u8>> {
    let mut bytes = [0; 8];
    for (byte, old) in bytes.iter_mut().zip(old) {
        let Some(old) = old else {
            return vec![None; 8];
        };
        *byte = *old;
    }
    let (found, value) = (u64::from_ne_bytes(bytes), u64::from(request.value));
    let new = match request.kind {
        RequestKind::FetchAdd => found.wrapping_add(value),
        _ if found == u64::from(request.compare) => value,
        _ => found,
    };
    new.to_ne_bytes().map(Some).to_vec()
}

impl ModelSide {
    fn new(program: &VerbsProgram, connection: usize, side: usize) -> Self {
        let slots = Slots::new(program, connection, side);
        let target = layout::target(connection, side);
        Self {
            expected: SideObservation {
                sends: Vec::new(),
                receives: Vec::new(),
                state: QpState::Rts,
                solicited: Some(false),
                target: target.into_iter().map(Some).collect(),
                local: slots.content.iter().copied().map(Some).collect(),
            },
            slots,
            posted: [0; 2],
            receives: VecDeque::new(),
            pending: VecDeque::new(),
            is_unconfirmed: false,
            open: Vec::new(),
        }
    }

    fn has_failed(&self) -> bool {
        self.expected.state == QpState::Err
    }

    /// Enters the error state: receives are flushed here, requests when they are due.
    fn enter_error_state(&mut self) {
        self.expected.state = QpState::Err;
        // Adapters differ in the flushed receives that are solicited events.
        self.expected.solicited = None;
        while let Some((number, _)) = self.receives.pop_front() {
            let record = failed_completion(number, WcStatus::WrFlushErr);
            self.expected.receives.push(record);
        }
    }

    /// Takes a message.
    fn receive_message(&mut self, request: &Request, bytes: &[Option<u8>]) -> RequestEffect {
        let Some(&(number, length)) = self.receives.front() else {
            return RequestEffect::Blocked;
        };
        let slot = self.slots.receives[number] as usize;
        if request.length > length {
            // Packets before the one that is too long may have arrived.
            self.expected.local[slot..slot + length as usize].fill(None);
            self.receives.pop_front();
            let record = failed_completion(number, WcStatus::LocLenErr);
            self.expected.receives.push(record);
            return fails(WcStatus::RemInvReqErr, true);
        }
        self.expected.local[slot..slot + bytes.len()].copy_from_slice(bytes);
        self.complete_receive(request, WcOpcode::Recv);
        RequestEffect::Done(0)
    }

    fn complete_receive(&mut self, request: &Request, opcode: WcOpcode) {
        let Some((number, _)) = self.receives.pop_front() else {
            return;
        };
        self.expected.receives.push(CompletionRecord {
            wr_id: number as u64,
            status: WcStatus::Success,
            opcode: Some(opcode),
            byte_len: request.length,
            imm_data: request.kind.has_immediate().then_some(request.value),
        });
        if request.solicited {
            self.expected.solicited = Some(true);
        }
    }

    /// Makes the bytes undefined that a request shares with earlier reads and atomic operations
    /// that it may overtake. Atomic operations keep their order among each other.
    fn overtake(&mut self, peer: &mut Self, request: &Request) {
        for open in &self.open {
            let begin = open.offset.max(request.offset);
            let end = (open.offset + open.length).min(request.offset + request.length);
            if begin >= end || open.is_atomic && request.kind.is_atomic() {
                continue;
            }
            let place = |at: u32| open.slot + (at - open.offset) as usize;
            if open.is_atomic {
                let all = open.offset as usize..(open.offset + open.length) as usize;
                peer.expected.target[all].fill(None);
                self.expected.local[open.slot..open.slot + 8].fill(None);
            } else {
                self.expected.local[place(begin)..place(end)].fill(None);
            }
        }
    }
}
