//! Packets between ranks: headers, and the charges of a simulated network.
//!
//! *Not decided here*: the packets of a protocol, which the package `mpi` decides, and the bytes of
//! packets on a wire, which each back end decides.

use observe::PacketKind;

use crate::rma_call::CHARGED_MAX;
use crate::{Buffer, Envelope, NoncontiguousCall, RmaCall, Token};

/// Header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketHeader {
    /// A whole message, sent without asking.
    Eager {
        /// Envelope for matching.
        envelope: Envelope,
    },
    /// Request to send: announces a message that waits at the sender.
    Rts {
        /// Envelope for matching.
        envelope: Envelope,
        /// The length of the message in bytes.
        length: u64,
        /// The sender's operation, to be echoed.
        send: Token,
        /// True if the sender has gone on, because the message was copied.
        detached: bool,
    },
    /// A copied message: the sender has continued. The message is announced at once and leaves when
    /// the receiver [pulls](crate::Channel::pull) the message. With limits, a [`PacketHeader::Rts`]
    /// with `detached` replaces this packet.
    Detached {
        /// Envelope for matching.
        envelope: Envelope,
    },
    /// A message arrives that was delivered before and that a probe has seen, under a model
    /// checker; see [`ExplorationHooks::return_to_network`](crate::ExplorationHooks).
    Redelivery {
        /// Envelope of the message.
        envelope: Envelope,
    },
    /// Clear to send: the receiver has a buffer for the message.
    Cts {
        /// The sender's operation.
        send: Token,
        /// The receiver's operation, to be echoed.
        receive: Token,
    },
    /// The message that was cleared.
    Data {
        /// The receiver's operation.
        receive: Token,
    },
    /// The first part of a message that is sent without asking, in several packets.
    EagerFirst {
        /// Envelope for matching.
        envelope: Envelope,
        /// The length of the message in bytes.
        length: u64,
    },
    /// A further part of the latest eager message from this rank that has several parts.
    EagerNext {
        /// Position of the part in the message, in bytes.
        offset: u64,
    },
    /// A part of the message that was cleared.
    DataPart {
        /// The receiver's operation.
        receive: Token,
        /// Position of the part in the message, in bytes.
        offset: u64,
        /// The length of the message in bytes.
        length: u64,
    },
    /// Only [returned](Packet::returned) credits.
    Credits,
    /// A whole synchronous message, sent without asking. The receiver acknowledges the match of the
    /// message with a receive.
    Synchronous {
        /// Envelope for matching.
        envelope: Envelope,
        /// The sender's operation, to be echoed.
        send: Token,
    },
    /// A receive has met the synchronous message.
    Ack {
        /// The sender's operation.
        send: Token,
    },
    /// The sender cancels a message that was announced, or that waits for an acknowledgement.
    CancelRequest {
        /// Envelope of the message, for matching.
        envelope: Envelope,
        /// The sender's operation.
        send: Token,
    },
    /// No receive had met the message, and none will. If one had, the CTS or the acknowledgement is
    /// the answer.
    CancelResponse {
        /// The sender's operation.
        send: Token,
    },
    /// One-sided communication: a request to the rank that has exposed a window, or the answer.
    Rma {
        /// The context of the window.
        window: u32,
        /// The call.
        call: RmaCall,
        /// The operation of the origin, to be echoed.
        operation: Token,
        /// The position of the access in the window, in bytes; for a result, the position in the
        /// buffer of the origin; for an access to several places, the length of their description.
        offset: u64,
        /// Of a get or a read: the length in bytes; of a read-modify-write and of an access to
        /// several places: where in the buffer of the origin the result belongs.
        length: u64,
    },
    /// A message between the two ends of a socket, where [connections](crate::ConnectionSettings)
    /// are made.
    Socket {
        /// The number of the socket at the rank that opened the socket.
        socket: u32,
        /// True if that is the sender.
        is_own: bool,
        /// Control message.
        says: ConnectionControl,
    },
}

/// Control messages between the ends of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionControl {
    /// May I connect?
    Connect,
    /// Yes.
    Accepted,
    /// No: no rank listens.
    Refused,
    /// The messages of connections in the payload, after this many packets of other
    /// kinds.
    Messages {
        /// Number of packets, without socket packets, that were sent since the connection came into
        /// use.
        after: u32,
    },
    /// No further message comes.
    End,
}

/// Packets that are used up, reported to the other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditReturn {
    /// Packets.
    pub credits: u32,
    /// Packets of eager messages among them.
    pub eager_packets: u32,
    /// Eager messages that have met their receives.
    pub messages: u32,
    /// Their bytes.
    pub bytes: u64,
}

impl CreditReturn {
    /// No credits.
    pub const NOTHING: Self = Self {
        credits: 0,
        eager_packets: 0,
        messages: 0,
        bytes: 0,
    };

    /// Returns true if there are no credits.
    #[must_use]
    #[inline]
    pub fn is_nothing(&self) -> bool {
        *self == Self::NOTHING
    }
}

impl PacketHeader {
    /// Returns true if the packet takes part in the order between two ranks.
    #[must_use]
    #[inline]
    pub const fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Eager { .. }
                | Self::Rts { .. }
                | Self::Detached { .. }
                | Self::EagerFirst { .. }
                | Self::EagerNext { .. }
                | Self::Synchronous { .. }
                | Self::CancelRequest { .. }
                | Self::Rma { .. }
                | Self::Socket { .. }
        )
    }

    /// Returns the length of the message in bytes if this packet, with `payload` bytes, is the
    /// first packet with data.
    #[must_use]
    #[inline]
    pub const fn begins(&self, payload: u64) -> Option<u64> {
        match *self {
            Self::Eager { .. } | Self::Synchronous { .. } | Self::Data { .. } => Some(payload),
            Self::EagerFirst { length, .. }
            | Self::DataPart {
                length, offset: 0, ..
            } => Some(length),
            Self::Rma {
                call: RmaCall::Noncontiguous(NoncontiguousCall::Get),
                ..
            } => None,
            Self::Rma {
                call: RmaCall::Noncontiguous(_),
                offset: description,
                ..
            } => Some(payload.saturating_sub(description)),
            Self::Rma { call, .. } if call.has_data() => Some(payload),
            Self::Rma {
                call: RmaCall::Read { .. },
                length,
                ..
            } => Some(length),
            _ => None,
        }
    }

    /// Returns the bytes of a payload that a simulated network is charged for: the description of
    /// the places of an access at the target counts up to a limit.
    #[must_use]
    #[inline]
    pub const fn charged_length(&self, payload: u64) -> u64 {
        match *self {
            Self::Rma {
                call: RmaCall::Noncontiguous(_),
                offset: description,
                ..
            } if description > CHARGED_MAX => payload.saturating_sub(description - CHARGED_MAX),
            _ => payload,
        }
    }

    /// Returns true if the channel accesses memory of the peer instead of delivering a packet: an
    /// access by RDMA.
    #[must_use]
    #[inline]
    pub const fn is_rdma(&self) -> bool {
        matches!(self, Self::Rma { call, .. } if call.is_rdma())
    }

    /// Returns true if the packet only controls the protocol and carries no message.
    #[must_use]
    #[inline]
    pub const fn is_control(&self) -> bool {
        if let Self::Rma { call, .. } = self {
            let is_request = matches!(call, RmaCall::Noncontiguous(NoncontiguousCall::Get));
            return !call.has_data() || is_request;
        }
        matches!(
            self,
            Self::Rts { .. }
                | Self::Detached { .. }
                | Self::Redelivery { .. }
                | Self::Cts { .. }
                | Self::Credits
                | Self::Ack { .. }
                | Self::CancelRequest { .. }
                | Self::CancelResponse { .. }
        )
    }

    /// Returns the kind and the key by which observers identify the packet.
    #[must_use]
    #[inline]
    pub const fn packet_identity(&self) -> (PacketKind, u32) {
        match *self {
            Self::Eager { .. } | Self::EagerFirst { .. } | Self::Synchronous { .. } => {
                (PacketKind::Eager, 0)
            }
            Self::Rts { send, .. } => (PacketKind::Rts, send),
            Self::Detached { .. } | Self::Redelivery { .. } => (PacketKind::Rts, 0),
            Self::EagerNext { .. } => (PacketKind::EagerNext, 0),
            Self::Cts { send, .. } => (PacketKind::Cts, send),
            Self::Data { receive } | Self::DataPart { receive, .. } => (PacketKind::Data, receive),
            Self::Ack { send } => (PacketKind::Ack, send),
            // Nothing arrives, so that no arrival may be taken for that of an access.
            Self::Rma { call, .. } if call.is_rdma() => (PacketKind::Rma, u32::MAX),
            Self::Rma { .. } => (PacketKind::Rma, 0),
            Self::Credits => (PacketKind::Other, observe::CREDITS),
            Self::CancelRequest { .. } | Self::CancelResponse { .. } => {
                (PacketKind::Other, observe::CANCELLATION)
            }
            Self::Socket { .. } => (PacketKind::Other, observe::CONNECTION),
        }
    }
}

/// Unit of transfer from one rank to another.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Header.
    pub header: PacketHeader,
    /// The content; empty for control packets, except for a detached message that has not left.
    pub payload: Buffer,
    /// If set, an [`ChannelEvent::Sent`](crate::ChannelEvent::Sent) tells the sender when the
    /// packet has left the sender for good.
    pub notify: Option<Token>,
    /// Returned credits, where [limits](crate::Limits) are set.
    pub returned: Option<Box<CreditReturn>>,
}

impl Packet {
    /// Returns a packet without a notification and returned credits.
    #[must_use]
    pub const fn new(header: PacketHeader, payload: Buffer) -> Self {
        Self {
            header,
            payload,
            notify: None,
            returned: None,
        }
    }
}
