//! Events of one rank, in the order in which they happen there.

use source_location::SourceLocation;
use std::fmt;

/// An event as the message layer reports it.
pub type ProgramEvent = RankEvent<&'static str, SourceLocation>;

/// A receiver of the events of ranks; the observer dates the events with its own clock.
pub trait Observer: fmt::Debug {
    /// Takes an event of a rank that happens now.
    fn observe(&self, rank: u32, event: ProgramEvent);
}

/// Kinds of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    /// Times are simulated.
    Simulated,
    /// Times are from the clocks of the ranks.
    Real,
}

impl RunKind {
    /// Returns the name of the kind in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Real => "real",
        }
    }
}

/// The role of a packet in the protocols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// A whole eager message, or the first packet of one. Key 0.
    Eager,
    /// A request to send. Key: the operation of the sender, 0 if the sender has continued.
    Rts,
    /// A further packet of an eager message. Key 0.
    EagerNext,
    /// A clear to send. Key: the operation of the sender.
    Cts,
    /// Data of a cleared message. Key: the operation of the receiver.
    Data,
    /// The acknowledgement of a synchronous message. Key: the operation of the sender.
    Ack,
    /// Data of a detached message that the receiver pulls from its peer. Key: the operation of the
    /// receiver. The data arrive as [`PacketKind::Data`].
    Pull,
    /// A request of one-sided communication, or an answer to such a request. Key 0.
    Rma,
    /// Anything else. Key: [`CREDITS`], [`CANCELLATION`] or [`CONNECTION`].
    Other,
}

/// The key of packets that give credits.
pub const CREDITS: u32 = 0;

/// The key of packets that cancel a message, and of their answers.
pub const CANCELLATION: u32 = 1;

/// The key of packets that open and close connections.
pub const CONNECTION: u32 = 2;

/// A resource of the message layer for which packets to a peer wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// Credits from the peer.
    Credits,
    /// Packet buffers of the rank.
    Buffers,
    /// The connection to the peer.
    Connection,
}

impl Resource {
    /// Returns the name of the resource; the [`RankEvent::Incident`] of the resource has the same
    /// name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credits => "credits",
            Self::Buffers => "buffers",
            Self::Connection => "connection",
        }
    }

    /// Returns the resource of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        let all = [Self::Credits, Self::Buffers, Self::Connection];
        all.into_iter().find(|one| one.name() == name)
    }
}

impl PacketKind {
    /// All kinds, by their numbers.
    pub const ALL: [Self; 9] = [
        Self::Eager,
        Self::Rts,
        Self::EagerNext,
        Self::Cts,
        Self::Data,
        Self::Ack,
        Self::Pull,
        Self::Rma,
        Self::Other,
    ];
}

/// An event of a rank. `N`: names; `P`: lines of the program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RankEvent<N, P> {
    /// The rank begins to wait in a call.
    Wait {
        /// Name of the call, such as `recv`.
        call: N,
        /// Line of the call.
        place: P,
        /// True if the time is the time of a computation or a sleep, and not of messages.
        elapses: bool,
        /// The request of [`RankEvent::Send`] or [`RankEvent::Receive`], if this is the only
        /// awaited one.
        request: Option<u32>,
    },
    /// The rank does not wait any more.
    Continue,
    /// A send begins.
    Send {
        /// Destination: a rank of the world.
        peer: u32,
        /// Tag.
        tag: u32,
        /// Length of the message in bytes.
        bytes: u64,
        /// Line of the call.
        place: P,
        /// True if the send is a step of a collective operation.
        collective: bool,
        /// Number of the request; after its end another request gets the number. A log contains no
        /// numbers from 65 536 on, and no numbers of messages from 2^48 bytes on.
        request: Option<u32>,
    },
    /// A receive is posted.
    Receive {
        /// Source: a rank of the world; `None` for any source.
        peer: Option<u32>,
        /// Length of the buffer in bytes.
        bytes: u64,
        /// Line of the call.
        place: P,
        /// True if the receive is a step of a collective operation.
        collective: bool,
        /// Number of the request, as of a send.
        request: Option<u32>,
    },
    /// Arguments of the collective operation of the next [`RankEvent::Collective`].
    CollectiveCall {
        /// Name of the algorithm.
        algorithm: N,
        /// Rank of the root in the world; `None` for operations without one.
        root: Option<u32>,
        /// Number of ranks that take part.
        size: u32,
        /// Rank 0 of the communicator, as a rank of the world: distinguishes communicators of the
        /// same context.
        first: u32,
        /// Line of the call.
        place: P,
    },
    /// A collective operation begins.
    Collective {
        /// Name of the operation, such as `allreduce`.
        name: N,
        /// The context of the communicator.
        context: u32,
        /// Position among the collective operations of the communicator, from 0. For a start of a
        /// persistent request: bit 31 set, the number of the request in bits 16 to 30, the number
        /// of the start in the lower bits.
        number: u32,
        /// Length of a contribution in bytes.
        bytes: u64,
        /// Number of the request, as of a send.
        request: Option<u32>,
    },
    /// The part of this rank in a collective operation is over.
    CollectiveEnd {
        /// The context of the communicator.
        context: u32,
        /// Position as in [`RankEvent::Collective`].
        number: u32,
    },
    /// A packet is handed to the device.
    Post {
        /// Destination.
        peer: u32,
        /// Kind of the packet.
        packet: PacketKind,
        /// Key of the packet; see [`PacketKind`].
        key: u32,
        /// Length of the message, or of this part of the message, in bytes.
        bytes: u64,
    },
    /// A packet of the rank enters the network as the flow of the preceding
    /// [`NetworkEvent::Begin`]; see there. Control packets that take no time have no such event.
    ///
    /// [`NetworkEvent::Begin`]: crate::NetworkEvent::Begin
    Inject {
        /// Destination.
        peer: u32,
        /// Kind of the packet on arrival.
        packet: PacketKind,
        /// Key of the packet; see [`PacketKind`].
        key: u32,
        /// Length of the payload in bytes.
        bytes: u64,
    },
    /// A packet has arrived, and the rank handles the packet.
    Arrive {
        /// Source.
        peer: u32,
        /// Kind of the packet.
        packet: PacketKind,
        /// Key of the packet; see [`PacketKind`].
        key: u32,
        /// Length of the message, or of this part of the message, in bytes.
        bytes: u64,
    },
    /// A message that has arrived found no receive, and waits for one.
    Unexpected {
        /// Source.
        peer: u32,
        /// Tag.
        tag: u32,
        /// Length of the message in bytes.
        bytes: u64,
    },
    /// A receive has got a waiting message.
    Taken {
        /// Source.
        peer: u32,
        /// Tag.
        tag: u32,
        /// Length of the message in bytes.
        bytes: u64,
    },
    /// A timer or a computation of the rank has ended.
    Elapsed,
    /// A packet has left the rank for good.
    Sent {
        /// The operation of the data in the packet.
        operation: u32,
    },
    /// A region of the program begins.
    Enter {
        /// Name of the region.
        region: N,
    },
    /// The region that began last ends.
    Leave,
    /// The program marks a moment.
    Mark {
        /// Name of the mark.
        name: N,
        /// Value, in the unit of the program.
        value: f64,
    },
    /// An event that the program of the rank did not ask for: the end of a wait for a [`Resource`],
    /// a connection, a lost packet, a change of the host.
    Incident {
        /// Name, such as `connection`.
        name: N,
        /// The other rank.
        peer: Option<u32>,
        /// Value, such as the speed of the host as a fraction of the speed in the platform file.
        /// The value of a [`Resource`] is the time in seconds for which packets to the peer have
        /// waited for the resource, up to now.
        value: Option<f64>,
    },
    /// The rank has ended.
    End,
}
