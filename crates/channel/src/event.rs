//! Events of a channel, for the protocols of its rank.
//!
//! *Not decided here*: when an event comes, which each device decides.

use crate::{Buffer, CreditReturn, Failure, Packet, Token};

/// Event at the channel of a rank.
#[derive(Debug)]
pub enum Event {
    /// A packet has arrived.
    Packet {
        /// The rank that sent it.
        source: u32,
        /// The packet.
        packet: Packet,
    },
    /// A message that this rank has cleared, or the bytes of a window that it reads, which its
    /// channel has fetched: they took none of the peer's credits.
    Fetched {
        /// The rank that had it.
        source: u32,
        /// The operation of this rank.
        receive: Token,
        /// The message.
        message: Buffer,
    },
    /// A rank has cleared a message of this one and has fetched it: the message has left.
    Taken {
        /// The rank that has it.
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
        /// Where it was sent to.
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
    /// A rank is lost to this one, because what carries packets to it has failed.
    Failed {
        /// Rank of the peer.
        peer: u32,
        /// Cause of the failure.
        why: Failure,
    },
    /// There is no connection for a packet. Comes from the layer that makes connections.
    Refused {
        /// Where it should have gone.
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
    /// Not the end of a send: a channel need not wake the rank for [`Event::Sent`], which it finds
    /// when it looks for events the next time.
    Arrivals,
}
