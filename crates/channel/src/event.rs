//! Events of a channel, for the protocols of its rank.
//!
//! *Not decided here*: the time of an event; each device decides.

use crate::{Buffer, CreditReturn, Failure, Packet, Token};

/// Event at the channel of a rank.
#[derive(Debug)]
pub enum ChannelEvent {
    /// A packet has arrived.
    Packet {
        /// The rank that sent the packet.
        source: u32,
        /// The packet.
        packet: Packet,
    },
    /// The channel has fetched a message that this rank has cleared, or the bytes of a window that
    /// this rank reads. The transfer took none of the credits of the peer.
    Fetched {
        /// The rank that had the message.
        source: u32,
        /// The operation of this rank.
        receive: Token,
        /// The message.
        message: Buffer,
    },
    /// A rank has fetched a message of this rank after the clear to send: the message has left.
    Taken {
        /// The rank that has the message.
        peer: u32,
        /// The sender's operation.
        send: Token,
        /// The length of the message in bytes.
        length: u64,
        /// Returned credits of that packet.
        returned: Option<Box<CreditReturn>>,
    },
    /// A packet posted with this token has left for good.
    Sent(Token),
    /// A timer or a computation started with this token has ended.
    Elapsed(Token),
    /// A packet was not delivered, because the rank takes no packets any more.
    Undeliverable {
        /// The destination of the packet.
        peer: u32,
        /// The packet.
        packet: Packet,
    },
    /// A packet from or to a rank was lost on the way. Comes only where
    /// [connections](crate::ConnectionSettings) are made.
    Broken {
        /// The other rank.
        peer: u32,
    },
    /// A rank is lost. Comes only where [connections](crate::ConnectionSettings) are made.
    Lost {
        /// Rank of the peer.
        peer: u32,
    },
    /// A rank is lost to this rank, because the transport of packets to this peer has failed.
    Failed {
        /// Rank of the peer.
        peer: u32,
        /// Cause of the failure.
        why: Failure,
    },
    /// There is no connection for a packet. Comes from the layer that makes connections.
    Refused {
        /// The destination of the packet.
        peer: u32,
        /// The packet.
        packet: Packet,
        /// Why.
        why: Failure,
    },
}

/// Events that an idle rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Anything.
    All,
    /// All events but the end of a send: a channel need not wake the rank for
    /// [`ChannelEvent::Sent`]; the rank finds this event at its next poll.
    Arrivals,
}
