//! The state of a connection to one peer: its queue, its credits, and the states of its machines.

use std::collections::VecDeque;

use observe::Resource;

use crate::channel::{CreditReturn, PacketHeader, Token};
use crate::protocol::machine::{credits, receive, send};
use crate::{Buffer, Limits};

/// Data to send on a connection: a message, a part of one, or an answer.
#[derive(Clone, Debug)]
pub(crate) struct OutboundMessage {
    pub(crate) kind: MessageType,
    /// The header of a message in one packet; for several packets their headers are made from it.
    pub(crate) header: PacketHeader,
    /// The operation that ends with this message.
    pub(crate) operation: Option<Token>,
    pub(crate) payload: Buffer,
    /// True if the operation ends only when the channel says that the packets have left.
    pub(crate) told: bool,
    /// Bytes that have been posted.
    pub(crate) sent: u64,
    /// True if the message has left in one packet.
    pub(crate) whole: bool,
}

/// The type of an [`OutboundMessage`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageType {
    /// A message, or the beginning of a message, that the peer has not requested.
    Eager,
    /// Packets that keep their place among the messages: RTS, the request to give a message back.
    Control,
    /// Packets that overtake messages: CTS, acknowledgements.
    Answer,
    /// A message that has been cleared.
    Data,
}

impl OutboundMessage {
    #[inline(always)]
    pub(crate) const fn new(kind: MessageType, header: PacketHeader, payload: Buffer) -> Self {
        Self {
            kind,
            header,
            operation: None,
            payload,
            told: false,
            sent: 0,
            whole: false,
        }
    }

    /// Returns the operation that waits for an answer to this message.
    pub(super) const fn waiting_send(&self) -> Option<Token> {
        match self.header {
            PacketHeader::Rts { send, .. } | PacketHeader::Synchronous { send, .. } => Some(send),
            _ => None,
        }
    }

    /// Returns the number of packets that could be posted once `sent` bytes have been.
    pub(super) fn ready(&self, limits: &Limits, sent: u64) -> u64 {
        limits.packets(self.payload.len() - sent)
    }

    /// Returns true if the data are sent from the program's memory.
    pub(super) fn is_direct(&self, limits: &Limits) -> bool {
        matches!(self.kind, MessageType::Data) && limits.direct
    }
}

/// Buffer that a packet holds until it has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// No buffer.
    Nothing,
    /// One of the rank's buffers.
    Pool,
    /// One of the buffers that the connection keeps for control traffic.
    Reserved,
}

/// A packet under way, of which the end matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketSlot {
    pub(crate) peer: u32,
    pub(crate) hold: Hold,
    /// The operation that waits for the packet as one of its activities.
    pub(crate) operation: Option<Token>,
}

/// Eager messages that the peer has and has not received.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct OutstandingEager {
    pub(crate) packets: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// A virtual connection.
#[derive(Clone, Debug)]
pub(crate) struct FlowControlledConnection {
    pub(crate) peer: u32,
    pub(super) send: send::SendState,
    /// The date at which the send machine entered its state, if the machine waits there.
    pub(super) since: f64,
    /// Time in each of [`send::WAITS`], in seconds.
    pub(super) waited: [f64; 7],
    /// Message that is being sent.
    pub(super) message: Option<OutboundMessage>,
    /// True if the next packets to post are packed.
    pub(super) packed: bool,
    /// True if the message in progress was withdrawn.
    pub(super) withdrawn: bool,
    /// The packets for which buffers or credits have been taken, and that are posted next.
    pub(super) fixed: Option<u32>,
    /// The buffer that is held for the first packet of the message.
    pub(super) hold: Hold,
    /// Answers, sent before other messages, because no message may delay them.
    pub(super) answers: VecDeque<OutboundMessage>,
    pub(super) queue: VecDeque<OutboundMessage>,
    /// Free buffers for control traffic only.
    pub(super) reserved: u32,
    pub(super) credits: Option<u32>,
    pub(super) outstanding: OutstandingEager,
    /// Eager messages are converted until the peer has received half of the outstanding messages.
    pub(super) converting: bool,
    pub(super) receive: receive::ReceiveState,
    /// The eager message of which more packets will come.
    pub(crate) incoming: Option<Token>,
    pub(super) report: credits::CreditState,
    pub(super) returned: CreditReturn,
    /// True if the peer waits for a report, even a small one.
    pub(super) urgent: bool,
    /// True if the connection stands in the line for buffers.
    pub(super) in_line: bool,
}

impl FlowControlledConnection {
    pub(super) fn new(peer: u32, limits: &Limits, now: f64) -> Self {
        Self {
            peer,
            send: send::SendState::AwaitMessage,
            since: now,
            waited: [0.0; 7],
            packed: false,
            withdrawn: false,
            fixed: None,
            message: None,
            hold: Hold::Nothing,
            answers: VecDeque::new(),
            queue: VecDeque::new(),
            reserved: limits.reserved,
            credits: limits.window(),
            outstanding: OutstandingEager::default(),
            converting: false,
            receive: receive::ReceiveState::AwaitPacket,
            incoming: None,
            report: credits::CreditState::Quiet,
            returned: CreditReturn::NOTHING,
            urgent: false,
            in_line: false,
        }
    }

    /// Takes back the credits and counts that the peer has used up.
    pub(super) fn apply_credit_return(&mut self, limits: &Limits, returned: &CreditReturn) {
        if let (Some(credits), Some(window)) = (&mut self.credits, limits.window()) {
            *credits += returned.credits;
            assert!(
                *credits <= window,
                "no more credits come back than left (M-13)"
            );
        }
        let OutstandingEager {
            packets,
            messages,
            bytes,
        } = &mut self.outstanding;
        let subtract = |from: &mut u64, what: u64| {
            *from = from
                .checked_sub(what)
                .expect("what comes back was outstanding (M-13)");
        };
        subtract(packets, returned.eager_packets.into());
        subtract(messages, returned.messages.into());
        subtract(bytes, returned.bytes);
        self.converting = self.converting && !self.has_drained(limits);
    }

    /// Returns true if half of every limit for eager messages is free.
    fn has_drained(&self, limits: &Limits) -> bool {
        let below = |is: u64, limit: Option<u64>| limit.is_none_or(|limit| is <= limit / 2);
        below(
            self.outstanding.packets,
            limits.eager_window().map(u64::from),
        ) && below(
            self.outstanding.messages,
            limits.eager_messages.map(u64::from),
        ) && below(self.outstanding.bytes, limits.eager_bytes)
    }

    /// Returns true if a further eager message of the given number of bytes would be too much.
    pub(super) fn would_exceed(&self, limits: &Limits, length: u64) -> bool {
        let above = |is: u64, more: u64, limit: Option<u64>| {
            limit.is_some_and(|limit| is.saturating_add(more) > limit)
        };
        let packets = limits.packets(length);
        above(
            self.outstanding.packets,
            packets,
            limits.eager_window().map(u64::from),
        ) || above(
            self.outstanding.messages,
            1,
            limits.eager_messages.map(u64::from),
        ) || above(self.outstanding.bytes, length, limits.eager_bytes)
    }

    pub(super) fn awaits_buffer(&self) -> bool {
        matches!(
            self.send,
            send::SendState::AwaitBufCtrl | send::SendState::AwaitBufData
        ) || self.report == credits::CreditState::AwaitBuf
    }

    /// Returns true if the message in progress has not been posted, nor is being packed.
    pub(super) const fn can_cancel(&self) -> bool {
        matches!(
            self.send,
            send::SendState::AwaitBufCtrl | send::SendState::AwaitFlowCtrl
        )
    }

    pub(super) fn is_idle(&self) -> bool {
        self.send == send::SendState::AwaitMessage && self.report != credits::CreditState::AwaitBuf
    }

    /// Returns the resource for which the connection waits.
    pub(super) const fn awaited(&self) -> Option<Resource> {
        match self.send {
            send::SendState::AwaitBufCtrl | send::SendState::AwaitBufData => {
                Some(Resource::Buffers)
            }
            send::SendState::AwaitFlowCtrl | send::SendState::AwaitFlowData => {
                Some(Resource::Credits)
            }
            _ => None,
        }
    }

    pub(super) fn waits_for(&self) -> Option<&'static str> {
        Some(match self.send {
            send::SendState::AwaitBufCtrl | send::SendState::AwaitBufData => "a packet buffer",
            send::SendState::AwaitFlowCtrl | send::SendState::AwaitFlowData => "credits",
            send::SendState::AwaitPacked | send::SendState::AwaitPackedData => "packing",
            _ => return None,
        })
    }

    /// Returns the time in each of [`send::WAITS`], in seconds, up to now.
    pub(crate) fn waited(&self, now: f64) -> [f64; 7] {
        let mut waited = self.waited;
        if let Some(at) = send::WAITS.iter().position(|state| *state == self.send) {
            waited[at] += now - self.since;
        }
        waited
    }

    /// Returns the free credits, the outstanding eager messages, and the report to the peer.
    pub(crate) const fn counters(&self) -> (Option<u32>, OutstandingEager, CreditReturn) {
        (self.credits, self.outstanding, self.returned)
    }
}
