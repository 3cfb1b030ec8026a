//! The seam between the message layer and whatever carries its packets: one rank's view of a device
//! and its world.
//!
//! A channel takes packets and hands out events; it never blocks and never calls back. Everything
//! that takes time ends as an [`Event`] with the token under which it was started. A channel
//! decides no protocol: it does not know what a tag is.
//!
//! Ordering guarantee: packets with an envelope or of a socket ([`PacketHeader::is_ordered`]) from
//! one rank to another are delivered in the order in which they were posted. Between different
//! pairs there is no order at all: a message relayed by a third rank may overtake a direct one.
//!
//! Delivery guarantee: every packet that was posted arrives once and unchanged, unless the channel
//! reports that the peer is lost. What is below may lose, repeat and reorder: then acknowledgements
//! and retransmission belong to the channel, as in a reliable connection of InfiniBand, and not to
//! the protocols here (M-7). `crates/mpi/tests/unreliable.rs` has such a channel.
//!
//! Units: seconds, flop, bytes.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use collectives::Selector;
use observe::{Observer, PacketKind, SourceLocation};
use rdma::{MemoryRegion, RegionMemory, Verbs};

mod buffer;
mod element;
mod envelope;
mod exploration;
mod failure;
mod placement;
mod rma_call;
mod scalar;
mod statistics;

pub use buffer::Buffer;
pub use element::{Element, TypeSignature};
pub use envelope::Envelope;
pub use exploration::{COLLECTIVE, CausalityHooks, ExplorationHooks, SendCause, is_of_collectives};
pub use failure::Failure;
pub use placement::Placement;
use rma_call::CHARGED_MAX;
pub use rma_call::{AccumulateOp, NoncontiguousCall, RmaCall};
pub use scalar::{PartialElement, Scalar};
pub use settings::{ConnectionSettings, Limits, Overheads, TransportMode};
pub use statistics::{ConnectionCounts, ConnectionStatistics};

/// Something that a channel was asked to tell the end of; chosen by the message layer.
pub type Token = u32;

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
    /// A message whose sender has gone on, because it was copied: it is announced at once and
    /// leaves when the receiver [pulls](Channel::pull) it. Where limits are set an
    /// [`PacketHeader::Rts`] says so instead.
    Detached {
        /// Envelope for matching.
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
    /// A further part of the eager message whose first part came last from this rank.
    EagerNext {
        /// Where in the message it belongs, in bytes from its beginning.
        offset: u64,
    },
    /// A part of the message that was cleared.
    DataPart {
        /// The receiver's operation.
        receive: Token,
        /// Where in the message it belongs, in bytes from its beginning.
        offset: u64,
        /// The length of the message in bytes.
        length: u64,
    },
    /// Nothing but what is [returned](Packet::returned).
    Credits,
    /// A whole synchronous message, sent without asking, of which the sender wants to know when a
    /// receive has met it.
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
    /// The sender wants a message back that it has announced, or that waits for an acknowledgement.
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
        /// Where in the window the access begins, in bytes; of a result, where in the buffer of
        /// the origin it belongs; of an access to several places, the length of their description.
        offset: u64,
        /// Of a get or a read: the length in bytes; of a read-modify-write and of an access to
        /// several places: where in the buffer of the origin the result belongs.
        length: u64,
    },
    /// A message between the two ends of a socket, where [connections](crate::ConnectionSettings)
    /// are made.
    Socket {
        /// The number that the rank which opened it has given it.
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
    /// No: nobody listens.
    Refused,
    /// The messages of connections in the payload, after this many packets of other
    /// kinds.
    Messages {
        /// Number of packets, without those of sockets, that were sent since the connection came
        /// into use.
        after: u32,
    },
    /// Nothing more comes.
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
    /// Nothing to tell.
    pub const NOTHING: Self = Self {
        credits: 0,
        eager_packets: 0,
        messages: 0,
        bytes: 0,
    };

    /// Returns true if there is nothing to tell.
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

    /// The length of the message in bytes if this is its first packet with data, of `payload`
    /// bytes.
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
                | Self::Cts { .. }
                | Self::Credits
                | Self::Ack { .. }
                | Self::CancelRequest { .. }
                | Self::CancelResponse { .. }
        )
    }
}

impl PacketHeader {
    /// Returns the kind and the key by which observers identify the packet.
    #[must_use]
    #[inline]
    pub const fn identity(&self) -> (PacketKind, u32) {
        match *self {
            Self::Eager { .. } | Self::EagerFirst { .. } | Self::Synchronous { .. } => {
                (PacketKind::Eager, 0)
            }
            Self::Rts { send, .. } => (PacketKind::Rts, send),
            Self::Detached { .. } => (PacketKind::Rts, 0),
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
    /// The content; empty for control packets, except that of a detached message, which has not
    /// left.
    pub payload: Buffer,
    /// If given, the sender is told by [`Event::Sent`] when the packet has left it for good.
    pub notify: Option<Token>,
    /// Returned credits, where [limits](crate::Limits) are set.
    pub returned: Option<Box<CreditReturn>>,
}

/// Something that happened at a rank's channel.
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
    /// A packet was not delivered, because nobody is there any more.
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

/// Severity of a line of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Something went wrong.
    Error,
    /// Something to check before a result is trusted.
    Warn,
    /// A milestone.
    Info,
    /// For those who debug the program.
    Debug,
    /// Everything.
    Trace,
}

/// The parameters of the message layer, the same at every rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Messages shorter than this many bytes are sent eagerly; the others by rendezvous.
    pub eager_threshold: u64,
    /// True if buffers made by `Comm::buffer` have only a length.
    pub phantom: bool,
    /// True if an eager send is over when the channel says so ([`Event::Sent`]), because it takes
    /// time; otherwise it is over when it is posted.
    pub tells_eager_sends: bool,
    /// Eager messages shorter than this many bytes leave at once; longer ones leave when a receive
    /// has met them, although the sender does not wait for that.
    pub async_small_threshold: u64,
    /// Bytes that travel with each message besides its payload.
    pub envelope: u64,
    /// Overheads of calls.
    pub overheads: Overheads,
    /// At how many bytes per second a rank packs, unpacks, copies into an attached buffer, and
    /// copies eager messages that came before their receives; infinite if that costs nothing.
    pub copy_bandwidth: f64,
    /// Bytes per second of the operations of collectives at one rank; infinite if they cost
    /// nothing.
    pub reduce_bandwidth: f64,
    /// The nodes of all ranks; `None` if each rank has a node of its own.
    pub placement: Option<Arc<Placement>>,
    /// Selection of algorithms of collectives; `None` for the selection of the package `mpi`.
    pub collectives: Option<Arc<Selector>>,
    /// True if the first call of a communicator that asks for the nodes of its ranks exchanges them
    /// by messages, as in SMPI; otherwise they are known.
    pub node_setup: bool,
    /// True if every rank waits in a collective that blocks until all ranks have called it, as MPI
    /// permits: programs that depend on less are wrong.
    pub synchronizing_collectives: bool,
    /// Seed of the orders of operands in which the results of reductions are compared; `None` if
    /// they are not compared.
    pub operand_orders: Option<u64>,
    /// Length of a control message on the network, in bytes; `None` if it takes no time.
    pub control: Option<u64>,
    /// True if a short synchronous message leaves at once and is acknowledged when a receive has
    /// met it; otherwise it is announced, as a long one.
    pub acknowledged_ssend: bool,
    /// True if a ready send that finds no receive is a mistake, which the receive gets to know;
    /// otherwise it is a standard send.
    pub strict_ready_send: bool,
    /// True if the channels of all ranks [register](RemoteMemory::register) the memory of windows,
    /// so that puts and gets are RDMA.
    pub registers_windows: bool,
    /// Costs of posting where [limits](Settings::limits) are set, besides copying.
    pub posting: PostingCost,
    /// Transport of packets.
    pub variant: TransportMode,
    /// Limits of the message layer's resources; `None` if nothing is limited.
    pub limits: Option<Limits>,
    /// Costs of connections; `None` if ranks are connected from the beginning, at no cost.
    pub connections: Option<ConnectionSettings>,
}

/// Costs of posting packets, in seconds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct PostingCost {
    /// For each packet.
    pub packet: f64,
    /// For each time that one or several packets are posted together: looking for buffers and
    /// credits, and telling the adapter.
    pub batch: f64,
}

impl Settings {
    /// Real buffers, and no costs: eager below `eager_threshold` bytes.
    #[must_use]
    pub const fn new(eager_threshold: u64) -> Self {
        Self {
            eager_threshold,
            phantom: false,
            tells_eager_sends: false,
            async_small_threshold: u64::MAX,
            envelope: 0,
            overheads: Overheads::NONE,
            copy_bandwidth: f64::INFINITY,
            reduce_bandwidth: f64::INFINITY,
            placement: None,
            collectives: None,
            node_setup: false,
            synchronizing_collectives: false,
            operand_orders: None,
            control: None,
            acknowledged_ssend: false,
            strict_ready_send: false,
            registers_windows: false,
            posting: PostingCost {
                packet: 0.0,
                batch: 0.0,
            },
            variant: TransportMode::Packet,
            limits: None,
            connections: None,
        }
    }
}

impl Settings {
    /// Returns true if a receiver pulls detached messages: where neither their announcements nor
    /// connections take time.
    #[must_use]
    #[inline]
    pub const fn is_pulled(&self) -> bool {
        self.limits.is_none() && self.control.is_none() && self.connections.is_none()
    }
}

/// One rank's view of a device: packets out, events in.
///
/// Abilities that not every device has are traits of their own, whose methods do nothing by
/// default.
pub trait Channel: RankHost + RemoteMemory + ConnectionLifecycle + ExplorationHooks {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Returns the number of ranks.
    fn size(&self) -> u32;

    /// Returns the parameters of the message layer.
    fn settings(&self) -> &Settings;

    /// Returns the largest payload of a packet, in bytes.
    fn max_packet(&self) -> u64;

    /// Sends a packet to a rank.
    fn post(&self, peer: u32, packet: Packet);

    /// Lets a detached message leave from the rank that sent it to this one: a packet with its
    /// data.
    fn pull(&self, source: u32, packet: Packet);

    /// Returns the next event, if there is one.
    fn poll_event(&self) -> Option<Event>;

    /// Returns true if it is known that [`poll_event`](Self::poll_event) has no event.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Says that the rank has nothing to do until the next event, which wakes `waker`; `None` if
    /// the rank is parked already, and has handled its events without being able to continue.
    ///
    /// May be called more than once before that event; it wakes all wakers, because it may concern
    /// any of them. A rank that parks more than once is woken by any of its `interest`s.
    fn park(&self, waker: Option<&Waker>, interest: Interest);

    /// Returns the messages to this rank that had not arrived when the run ended: their envelopes
    /// and lengths in bytes.
    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        Vec::new()
    }
}

/// The host of a rank: its clock, its processor and its output.
pub trait RankHost {
    /// Returns the time in seconds since an arbitrary moment, the same for all ranks.
    fn now(&self) -> f64;

    /// Tells [`Event::Elapsed`] after `seconds`.
    fn timer(&self, seconds: f64, token: Token);

    /// Tells [`Event::Elapsed`] after `flops` flop on this host.
    fn compute(&self, flops: f64, token: Token);

    /// Returns the name of the host.
    fn host_name(&self) -> String;

    /// Prints a line of the program's own output.
    fn print(&self, text: fmt::Arguments<'_>);

    /// Writes a line to the log, unless its level is filtered out.
    fn log(&self, level: Level, text: fmt::Arguments<'_>);

    /// Ends the whole run, because the program wants so.
    fn abort(&self, code: i32);

    /// Ends the whole run because of a limit: the messages that this rank has sent and no receive
    /// has met take more than `bytes` bytes of memory, with that of the call at `location`. Called
    /// only where all ranks run in one process; this unwinds.
    fn end_at_stored(&self, bytes: u64, location: SourceLocation) {
        let _ = (bytes, location);
    }

    /// Returns the observer of the run, if it is observed. Asked once, when the rank begins.
    fn observer(&self) -> Option<Rc<dyn Observer>> {
        None
    }

    /// Says that the rank has ended but for messages that wait at it until a rank receives them,
    /// and from which it has gone on. If nobody else continues either, the run is over.
    fn finalize_wait(&self) {}
}

/// Memory that is registered at the adapter of a channel, with the adapter.
#[derive(Clone, Debug)]
pub struct RegisteredMemory {
    /// The adapter that owns the memory.
    pub verbs: Rc<dyn Verbs>,
    /// The memory, which other ranks may read and write.
    pub region: MemoryRegion,
}

/// Memory of one rank that a device of another may read or write. Used where
/// [limits](crate::Limits) are set.
pub trait RemoteMemory {
    /// Announces `message`, for which a [`PacketHeader::Rts`] is about to be posted to `peer`.
    ///
    /// Until its data are posted, it is given back, or the rank is lost, the channel may let the
    /// peer fetch it, and tell [`Event::Taken`] instead of the CTS.
    fn offer(&self, peer: u32, send: Token, message: &Buffer) {
        let _ = (peer, send, message);
    }

    /// Announces a receive of `length` bytes, for which a [`PacketHeader::Cts`] is about to be
    /// posted to `peer`.
    ///
    /// The channel may provide memory in which the message arrives; or fetch it, tell
    /// [`Event::Fetched`], and let the sender's channel tell [`Event::Taken`].
    fn expect(&self, peer: u32, send: Token, receive: Token, length: u64) {
        let _ = (peer, send, receive, length);
    }

    /// Takes the memory of a receive that nobody needs any more, because that in which the message
    /// has arrived has taken its place. A channel that provides memory may use it again.
    fn recycle(&self, memory: Vec<u8>) {
        drop(memory);
    }

    /// Registers the memory of a window, so that the channel of another rank takes packets of
    /// [`RmaCall::Write`] and [`RmaCall::Read`] for it. Called where
    /// [`Settings::registers_windows`] says so.
    ///
    /// # Errors
    /// With the memory, if it cannot be registered: then accesses to it are messages.
    fn register(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        Err(memory)
    }

    /// Returns the rank's adapter; `None` if the channel has none.
    fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        None
    }

    /// Tells [`Event::Elapsed`] when a completion or a packet may have arrived at the adapter.
    fn watch_adapter(&self, token: Token) {
        let _ = token;
    }
}

/// Connections between ranks, where they have to be made.
pub trait ConnectionLifecycle {
    /// Connects, if that has to be done before the program begins; true when it is done.
    fn open(&self) -> bool {
        true
    }

    /// Ends all connections; true when it is done. Called at each event, when all sends are over.
    fn close(&self) -> bool {
        true
    }

    /// Says that the rank takes no packets any more: the requests of others to connect are
    /// [returned](Event::Undeliverable).
    fn shut(&self) {}

    /// Returns the statistics of the connections; `None` if there are none to be made.
    fn connected(&self) -> Option<ConnectionStatistics> {
        None
    }
}

/// Operations that a rank waits for, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The operation and its arguments.
    pub operation: String,
    /// The line of the program, as `file:line`.
    pub location: String,
    /// The ranks that could end the wait; empty if any could.
    pub ranks: Vec<u32>,
}

/// The protocols of a rank, as its device drives them.
pub trait RankProtocols {
    /// Handles `first`, and then the events of the channel, while the rank is parked. Returns true
    /// if the rank can continue now.
    ///
    /// A device calls it, or wakes the rank, which then does the same.
    fn progress(&self, first: Option<Event>) -> bool;

    /// Returns the operations that the rank waits for; `None` if it does not wait.
    fn waiting(&self) -> Option<Waiting>;

    /// Returns the operations that the rank left unfinished, in words.
    fn leftovers(&self) -> Vec<String>;

    /// Returns the objects that the rank has made and never freed, in words.
    fn leaks(&self) -> Vec<String>;
}
