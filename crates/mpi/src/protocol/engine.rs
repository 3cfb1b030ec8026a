//! One rank's protocol state: its requests, and the effects of packets on the requests. No I/O, no
//! clock, no waiting.
//!
//! A message shorter than the threshold is *eager*: it leaves at once and the send is complete.
//! Otherwise the message goes by *rendezvous*: an RTS announces it, the receiver answers CTS once a
//! receive has matched it, and the data follow; the send is complete when the data have left. The
//! choice is made once per message.
//!
//! An eager message of at least the transfer threshold goes the same way, but its send is complete
//! at once: the message is *detached*.
//!
//! Calls may cost the rank time (see `overhead`): then the rank is busy until a date, and its next
//! actions are done at that date.
//!
//! Inputs are `send`, `receive`, `cancel` and `handle`; the packets to post come back through the
//! channel that is passed in.

mod calls;
mod causality;
mod collective;
mod connected;
mod flow_controlled;
mod library;
mod observation;
mod operations;
pub(crate) mod partitions;
mod questions;
mod rare;
mod receiving;
mod requests;
mod rma;
pub(crate) mod seen;
mod sending;
mod storing;
mod tag_order;
mod turns;

use std::rc::Rc;

use crate::channel::{Channel, ChannelEvent, Packet, PacketHeader, Settings, Token};
use crate::exploration::is_explored;
use crate::matching::{Matching, UnexpectedContent, UnexpectedMessage};
use crate::protocol::defect::ProtocolDefects;
use crate::protocol::flow_control::{FlowControl, PacketSlot};
use crate::{Buffer, CallComparison, CallLog, Envelope, Error, Pattern};
use causality::{CausalityRecord, find_causes};
pub(crate) use collective::{
    CallNumber, Collectives, PersistentNumber, PreparedCall, ScheduleExecutor,
};
use connected::LostRanks;
use flow_controlled::FlowLayer;
use library::Library;
use observation::RankObserver;
use observe::SourceLocation;
use operations::{OperationRecord, Operations, Role};
pub(crate) use rare::RareState;
pub(crate) use requests::RequestTable;
pub(crate) use rma::{AccessCall, RemoteCall, WindowCalls, Windows, waits_least};
pub(crate) use turns::Processor;

/// Status of a completed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// The sending rank.
    pub source: usize,
    /// The tag.
    pub tag: u32,
    /// The length of the message in bytes.
    pub length: u64,
    /// True if the operation was cancelled, so that there is no message: `MPI_Test_cancelled`.
    pub cancelled: bool,
}

/// Arguments of a send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendCall {
    /// True if the rank waits for the end of the send.
    pub(crate) blocks: bool,
    /// True if the send is over only when a receive has matched the message, even a short one.
    pub(crate) synchronous: bool,
    /// True for the send of an exchange, which blocks.
    pub(crate) exchanges: bool,
    pub(crate) location: SourceLocation,
}

/// The departure of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Departure {
    /// By the eager threshold.
    Standard,
    /// By rendezvous, however short the message is.
    Announced,
    /// As for a synchronous send.
    Synchronous,
}

/// The message of a send that is not over.
#[derive(Clone, Debug)]
pub(crate) struct OutboundSend {
    pub(crate) peer: u32,
    pub(crate) envelope: Envelope,
    pub(crate) buffer: Buffer,
}

impl OutboundSend {
    #[inline]
    const fn new(peer: u32, envelope: Envelope, buffer: Buffer) -> Self {
        Self {
            peer,
            envelope,
            buffer,
        }
    }
}

/// Where an operation stands.
#[derive(Clone, Debug)]
pub(crate) enum OperationState {
    /// The place is not used.
    Free { next: Option<Token> },
    /// The rank is busy; the message leaves after that.
    AwaitTurn {
        message: OutboundSend,
        departure: Departure,
    },
    /// The rank is busy; the receive is posted after that, or gets the message that a matched probe
    /// has taken.
    AwaitPost {
        pattern: Pattern,
        buffer: Buffer,
        message: Option<Box<UnexpectedMessage>>,
    },
    /// The RTS has left; the message waits for the CTS.
    AwaitCts(OutboundSend),
    /// The message has left; the sender waits until a receive has matched the message.
    AwaitAck(OutboundSend),
    /// The message waits for the send machine, and leaves eagerly if that is still possible at its
    /// turn.
    Queued(OutboundSend),
    /// The data are leaving.
    Sending(OutboundSend),
    /// The receive waits for a message.
    Posted { pattern: Pattern, buffer: Buffer },
    /// A message has matched; its data are under way.
    AwaitData {
        envelope: Envelope,
        length: u64,
        buffer: Buffer,
        detached: bool,
        /// Number of bytes that have arrived, if the message comes in several packets.
        arrived: u64,
    },
    /// A message that arrives or has arrived before its receive.
    Assembly(Box<flow_controlled::Assembly>),
    /// A packet that holds a resource until the packet has left.
    Packet(PacketSlot),
    /// The connection to a peer waits until the next packet to post is packed.
    Packing { peer: u32 },
    /// The rank matches an announcement of a peer; the answer leaves after that.
    Matching { peer: u32, header: PacketHeader },
    /// A timer or a computation runs.
    Elapsing,
    /// A partitioned send has this number of partitions that are not ready.
    Partitions { left: u32 },
    /// A collective is in progress.
    Collective { index: u32 },
    /// A call of one-sided communication waits for other ranks.
    Remote(Box<RemoteCall>),
    /// The operation is over.
    Done {
        result: Result<Status, Error>,
        buffer: Buffer,
    },
}

impl OperationState {
    /// Returns true if the message or the buffer has been taken out.
    fn is_emptied(&self) -> bool {
        match self {
            Self::Elapsing => true,
            Self::Posted { buffer, .. } | Self::AwaitData { buffer, .. } => {
                buffer.shared_bytes().is_none()
            }
            _ => false,
        }
    }
}

/// The protocol state of one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProtocolEngine {
    pub(crate) requests: RequestTable,
    matching: Matching,
    pub(crate) processor: Processor,
    /// Where limits are set.
    flow: Option<Box<FlowControl>>,
    lost: LostRanks,
    pub(crate) windows: Windows,
    pub(in crate::protocol) defects: ProtocolDefects,
    /// Where all ranks run in this process.
    call_log: Option<Rc<CallLog>>,
}

#[inline]
fn status(envelope: Envelope, length: u64) -> Status {
    Status {
        source: envelope.source as usize,
        tag: envelope.tag,
        length,
        cancelled: false,
    }
}

const NOTHING: Status = Status {
    source: 0,
    tag: 0,
    length: 0,
    cancelled: false,
};

impl ProtocolEngine {
    /// Returns the state of a rank at the begin of the run; the channel determines the rare parts.
    pub(crate) fn new(channel: &dyn Channel, calls: &CallComparison) -> Self {
        let mut engine = Self::default();
        if let CallComparison::Here(log) = calls {
            engine.call_log = Some(Rc::clone(log));
        }
        let rare = &mut engine.requests.rare;
        if is_explored(channel) {
            // Engines of explored programs live shortly: no table of theirs grows step by step.
            let operations = &mut engine.requests.operations;
            operations.reserve_places(causality::OPERATIONS);
            let record = CausalityRecord::new();
            rare.insert_parts().causality = Some(Box::new(record));
        }
        if let Some(library) = &channel.settings().library {
            let library = Library::new(library);
            rare.insert_parts().library = Some(Box::new(library));
        }
        if let Some(observer) = channel.observer() {
            let observation = RankObserver::new(observer, channel.rank());
            rare.insert_parts().observation = Some(observation);
        }
        engine
    }

    /// Returns the buffer of a receive after the program has stopped waiting. A message under way
    /// is received and dropped.
    pub(crate) fn cancel_receive(&mut self, token: Token) -> Buffer {
        let place = &mut self.requests[token].state;
        let (OperationState::Posted { buffer, .. }
        | OperationState::AwaitPost { buffer, .. }
        | OperationState::AwaitData { buffer, .. }
        | OperationState::Done { buffer, .. }) = place
        else {
            unreachable!("only receives are cancelled here")
        };
        let length = buffer.len();
        let buffer = std::mem::replace(buffer, Buffer::phantom(length));
        if let OperationState::Posted { pattern, .. } = self.requests[token].state {
            let found = self.matching.withdraw_receive(&pattern, token);
            debug_assert!(found, "a posted receive is in the queue");
            self.requests.operations.remove(token);
        } else {
            let is_unposted =
                matches!(self.requests[token].state, OperationState::AwaitPost { .. });
            self.requests[token].cancelled |= is_unposted;
            self.requests.release_operation(token);
        }
        buffer
    }

    /// Moves on by one event.
    pub(crate) fn handle(&mut self, channel: &dyn Channel, event: ChannelEvent) {
        self.requests.events += 1;
        let settings = channel.settings();
        match event {
            ChannelEvent::Packet {
                packet:
                    Packet {
                        header: PacketHeader::Eager { envelope },
                        payload,
                        ..
                    },
                ..
            } if !envelope.ready && self.requests.rare.is_empty() && settings.limits.is_none() => {
                self.match_eager((channel, settings), envelope, payload);
            }
            ChannelEvent::Packet { source, packet } => self.handle_packet(channel, source, packet),
            other => self.handle_other(channel, other),
        }
        if self.requests.has_ready() && !self.requests.rare.is_explored() {
            ScheduleExecutor::new(self, channel).advance_ready();
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, channel: &dyn Channel, event: ChannelEvent) {
        match event {
            ChannelEvent::Fetched {
                source,
                receive,
                message,
            } => FlowLayer::new(self, channel).handle_fetched(source, receive, message),
            ChannelEvent::Taken {
                peer,
                send,
                returned,
                ..
            } => FlowLayer::new(self, channel).handle_taken((peer, send), returned.as_deref()),
            ChannelEvent::Sent(token) => {
                self.requests.observe(|| {
                    let operation = match self.requests.operations.state(token) {
                        OperationState::Packet(slot) => slot.operation.unwrap_or(token),
                        _ => token,
                    };
                    observe::RankEvent::Sent { operation }
                });
                if matches!(self.requests[token].state, OperationState::Packet(_)) {
                    FlowLayer::new(self, channel).handle_left(token);
                } else {
                    self.handle_sent(token);
                }
            }
            ChannelEvent::Elapsed(token) => self.handle_elapsed(channel, token),
            other => self.handle_connection(channel, other),
        }
    }

    /// A timer or a computation is over.
    #[inline]
    fn handle_elapsed(&mut self, channel: &dyn Channel, token: Token) {
        self.requests.observe(|| observe::RankEvent::Elapsed);
        match self.requests.operations.state(token) {
            OperationState::AwaitTurn { .. } | OperationState::AwaitPost { .. } => {
                self.processor.end_wait();
                self.begin(channel, token);
            }
            OperationState::Packing { .. } => FlowLayer::new(self, channel).handle_packed(token),
            OperationState::Matching { .. } => library::answer_matched(self, channel, token),
            _ => {
                if let Some(parts) = &mut self.requests.rare.0 {
                    parts.catching_up.take_if(|(_, other)| *other == token);
                }
                self.requests
                    .end_operation(token, Ok(NOTHING), Buffer::phantom(0));
            }
        }
    }

    #[inline(never)]
    fn handle_packet(&mut self, channel: &dyn Channel, source: u32, packet: Packet) {
        let is_limited = channel.settings().limits.is_some();
        if !self.requests.rare.is_empty() {
            self.note_arrival(channel, source, &packet);
        }
        if is_limited {
            self.flow(channel)
                .account_packet(source, &packet, channel.now());
        }
        let Packet {
            header, payload, ..
        } = packet;
        match header {
            PacketHeader::Eager { envelope } if !is_limited => {
                self.match_arrival(channel, envelope, UnexpectedContent::Eager(payload));
            }
            PacketHeader::Synchronous { envelope, send } if !is_limited => {
                let message = Box::new(UnexpectedContent::Eager(payload));
                self.match_arrival(
                    channel,
                    envelope,
                    UnexpectedContent::Synchronous { send, message },
                );
            }
            PacketHeader::Eager { .. }
            | PacketHeader::Synchronous { .. }
            | PacketHeader::EagerFirst { .. }
            | PacketHeader::EagerNext { .. } => {
                FlowLayer::new(self, channel).handle_eager(source, &header, payload);
            }
            PacketHeader::Detached { envelope } => {
                self.match_arrival(channel, envelope, UnexpectedContent::Detached(payload));
            }
            PacketHeader::Rts {
                envelope,
                length,
                send,
                detached,
            } => {
                let content = UnexpectedContent::Rts {
                    length,
                    send,
                    detached,
                };
                self.handle_rts(channel, source, (envelope, content));
            }
            PacketHeader::Cts { send, receive } => self.handle_cts(channel, source, send, receive),
            PacketHeader::Data { receive } => self.handle_data(channel, receive, payload),
            PacketHeader::DataPart {
                receive, offset, ..
            } => self.handle_part(channel, receive, offset, &payload),
            PacketHeader::Ack { send } => self.requests.handle_ack(send),
            PacketHeader::CancelRequest { envelope, send } => {
                let is_found = self.handle_cancel_request(channel, envelope, send);
                if is_limited {
                    self.flow(channel)
                        .note_found(source, is_found, channel.now());
                }
            }
            PacketHeader::CancelResponse { send } => self.requests.handle_cancel_response(send),
            PacketHeader::Redelivery { envelope } => self.handle_seen(channel, &envelope),
            PacketHeader::Credits => {}
            PacketHeader::Rma { window, .. } => {
                WindowCalls::new(self, channel, window).handle_packet(source, &header, payload);
            }
            PacketHeader::Socket { .. } => unreachable!("the layer below answers"),
        }
        if is_limited {
            FlowLayer::new(self, channel).answer_packet(source);
        }
    }

    /// Notes a packet that is about to be handled, for a model checker and an observer.
    fn note_arrival(&mut self, channel: &dyn Channel, source: u32, packet: &Packet) {
        if let Some((record, causes)) = find_causes(&mut self.requests.rare, channel) {
            self.matching.arrival = record.note_arrival(causes);
        }
        self.requests.observe(|| {
            let (kind, key) = packet.header.packet_identity();
            observe::RankEvent::Arrive {
                peer: source,
                packet: kind,
                key,
                bytes: observation::length(&packet.header, packet.payload.len()),
            }
        });
    }

    /// Handles an eager message of an engine without rare parts: a receive gets the message, or it
    /// is kept.
    #[inline]
    fn match_eager(&mut self, way: (&dyn Channel, &Settings), envelope: Envelope, payload: Buffer) {
        match self.matching.take_posted(&envelope) {
            Some(receive) => self.receive_eager(way, receive, envelope, payload),
            None => self
                .matching
                .keep_unexpected(envelope, UnexpectedContent::Eager(payload)),
        }
    }

    /// Handles an arrived message or announcement: a receive gets the message, or it is kept.
    #[inline]
    fn match_arrival(
        &mut self,
        channel: &dyn Channel,
        envelope: Envelope,
        content: UnexpectedContent,
    ) {
        if let Some((receive, content)) = self.arrive(channel, envelope, content) {
            self.matched(channel, receive, envelope, content);
        }
    }

    /// A message has been announced.
    fn handle_rts(
        &mut self,
        channel: &dyn Channel,
        source: u32,
        (envelope, content): (Envelope, UnexpectedContent),
    ) {
        let found = self.arrive(channel, envelope, content);
        if channel.settings().limits.is_some() {
            self.flow(channel)
                .note_found(source, found.is_some(), channel.now());
        }
        if let Some((receive, content)) = found {
            self.matched(channel, receive, envelope, content);
        }
    }

    /// Handles an arriving message: returns the receive that matches, or keeps the message.
    fn arrive(
        &mut self,
        channel: &dyn Channel,
        envelope: Envelope,
        content: UnexpectedContent,
    ) -> Option<(Token, UnexpectedContent)> {
        let content = self.keep_behind_returned(envelope, content)?;
        if envelope.ready && channel.settings().strict_ready_send {
            let (receive, content) = self.matching.arrive_ready(envelope, content)?;
            let record = self.requests.rare.causality();
            if record.is_none_or(|record| record.may_meet_ready(channel, receive)) {
                return Some((receive, content));
            }
            return Some((receive, UnexpectedContent::Unready(Box::new(content))));
        }
        let length = content.length();
        let met = self.matching.arrive(envelope, content);
        if met.is_none() {
            self.requests
                .observe(|| observation::unexpected_event(&envelope, length));
        }
        met
    }
}

#[cfg(test)]
mod tests;
