//! Establishment and close of connections between processes: virtual connections, connections, and
//! the protocols between them.
//!
//! A *virtual connection* is the state that a process keeps about one peer. A *connection* is one
//! socket. At most one connection at a time serves a virtual connection. The first send opens the
//! virtual connection, which can be closed and opened again any number of times. A process stores
//! no state for a peer before its first use.
//!
//! A [`Connector`] is the part of one process: sans I/O and without a clock. The driver calls the
//! inputs, then takes actions from [`Connector::poll`] until no action is left:
//!
//! * inputs of the program: [`open`](Connector::open), [`send`](Connector::send),
//!   [`close`](Connector::close), [`finalize`](Connector::finalize);
//! * inputs of the sockets: [`accept`](Connector::accept), [`handle`](Connector::handle);
//! * the input of the process manager: [`peer_failed`](Connector::peer_failed).
//!
//! A message is either completed or failed at its sender. Completed means written: the message is
//! lost only if the peer is lost. Messages to one peer arrive in the order in which they were sent,
//! across any number of reopenings.
//!
//! The two state machines are tables ([`socket::TABLE`], [`virtual_connection::TABLE`]). An event
//! without a row in the table is refused and reported ([`Output::Illegal`]); the state stays.
//!
//! *Not modelled*: the sockets themselves, and the content of packets.

mod accept;
mod close;
pub(crate) mod connecting_channel;
mod descriptors;
mod group;
mod handshake;
mod perform;
mod program;
pub mod socket;
#[cfg(test)]
mod tests;
pub mod virtual_connection;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Index, IndexMut};

pub use accept::Verdict;
pub use channel::{ConnectionCounts as Counts, Failure};
pub use group::Group;
use group::KnownGroups;
pub use handshake::{HandshakeMessage, MESSAGE_LENGTH};
use settings::AtLimit;

/// Returns the state machines of a connection and of a virtual connection (the close protocol).
#[must_use]
pub fn machines() -> [crate::protocol::machine::Machine; 2] {
    [socket::TABLE.machine(), virtual_connection::TABLE.machine()]
}

/// A connection of one process; numbers are used again.
pub type ConnectionId = u32;

/// A process with which another may be connected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Peer {
    /// A member of a process group; group 0 is the own one.
    Member {
        /// The number of the group at this process.
        group: u32,
        /// The rank in that group.
        rank: u32,
    },
    /// A process behind a port.
    Temporary(u32),
}

/// Side that answers the close of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CloseAckPolicy {
    /// The protocol, as soon as everything is written.
    #[default]
    WhenDrained,
    /// The program, when it closes the virtual connection as well.
    WhenClosed,
}

/// Settings of the user.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Settings {
    /// Number of sockets that a process may have besides its listener. Incoming requests may exceed
    /// this limit until idle connections are closed.
    pub descriptors: Option<u32>,
    /// Policy at that limit.
    pub at_limit: AtLimit,
    /// Side that answers the close of a peer.
    pub answer: CloseAckPolicy,
}

impl Settings {
    /// No limit.
    pub const NONE: Self = Self {
        descriptors: None,
        at_limit: AtLimit::Wait,
        answer: CloseAckPolicy::WhenDrained,
    };
}

/// A defect built in on purpose, to check that tests find it. Builds without tests have no defect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "only tests make connectors with defects")
)]
pub(crate) enum SeededDefect {
    /// No defect.
    #[default]
    None,
    /// Requests are accepted after finalize.
    NoFinalizingFlag,
    /// The loser of a head-to-head does not discard its own connection.
    NoDiscard,
    /// Sockets without a virtual connection are not closed at the end.
    NoRegistryClose,
    /// This process breaks ties the other way round.
    SwappedTie,
    /// The state of the close protocol changes only after the packet was written.
    StateAfterSend,
    /// After a lost tie, a further send opens another connection.
    NoExpectation,
    /// A discarded connection closes as soon as its request is written, before the answer comes.
    HastyDiscard,
    /// This process breaks ties in reverse with the member of this rank only.
    SwappedTieWith(u32),
    /// The loser of a head-to-head with the member of this rank, and only with this member, does
    /// not discard its own connection.
    NoDiscardTo(u32),
    /// A socket on which the other side has ended is not closed.
    KeepsLostSockets,
    /// A send to a lost peer makes its virtual connection active again.
    LeavesMoribund,
}

/// Action for the caller, or a report of an event.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// Connect to an address; report [`Input::ConnectDone`] or [`Input::ConnectError`].
    Connect {
        /// The new connection.
        connection: ConnectionId,
        /// The peer that the connection will serve.
        peer: Peer,
        /// The peer's business card.
        card: String,
    },
    /// Write; report [`Input::WriteDone`].
    Write {
        /// On which connection.
        connection: ConnectionId,
        /// Messages, in one piece.
        messages: Vec<HandshakeMessage>,
    },
    /// Read one message; report [`Input::Read`] or [`Input::Eof`].
    Read {
        /// From which connection.
        connection: ConnectionId,
    },
    /// Close; report [`Input::Closed`]. For the listener: first call [`Connector::accept`] for the
    /// pending connections.
    Close {
        /// Number of the connection.
        connection: ConnectionId,
    },
    /// A message has arrived.
    Deliver {
        /// The peer that sent the message.
        peer: Peer,
        /// Number of the packet.
        packet: u64,
    },
    /// A message was written.
    Completed {
        /// The destination of the message.
        peer: Peer,
        /// Number of the packet.
        packet: u64,
    },
    /// A message was not sent, or may be lost.
    Failed {
        /// The destination of the message.
        peer: Peer,
        /// Number of the packet.
        packet: u64,
        /// Why.
        why: Failure,
    },
    /// A connection serves its virtual connection from now on: waiting messages are written next.
    Opened {
        /// Number of the connection.
        connection: ConnectionId,
        /// The peer of the virtual connection.
        peer: Peer,
    },
    /// A process came through a port.
    PortAccepted {
        /// Through which port.
        port: u32,
        /// New name of the peer.
        peer: Peer,
    },
    /// Everything is closed.
    Finalized,
    /// An event occurred that the tables do not allow. The event had no effect.
    Illegal(String),
}

/// Event on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The connect has succeeded.
    ConnectDone,
    /// The connect has failed; there is no socket.
    ConnectError,
    /// End of a write.
    WriteDone,
    /// Message that was read.
    Read(HandshakeMessage),
    /// The stream has ended or is broken.
    Eof,
    /// The socket is closed.
    Closed,
}

/// A row that was taken: of the connection's table or of the virtual connection's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TakenRow {
    /// A row of [`socket::TABLE`].
    Connection(usize),
    /// A row of [`virtual_connection::TABLE`].
    Virtual(usize),
}

/// A moment, so that moments can be compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct LogicalTime(u64);

impl LogicalTime {
    /// Non-negative numbers are ordered like their bits.
    const fn from_seconds(seconds: f64) -> Self {
        Self(seconds.max(0.0).to_bits())
    }

    const fn to_seconds(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Write in progress on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Written {
    Handshake,
    Data(u64),
    Close,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Connection {
    state: socket::ConnectionState,
    /// The peer that the connection serves.
    peer: Option<Peer>,
    /// Rank in the request.
    asking_rank: u32,
    /// Sender of the request.
    asking: Option<Peer>,
    /// Answer to the request.
    verdict: Option<Verdict>,
    /// The port to which the connection is made, and the address.
    port: Option<(u32, String)>,
    writing: Option<Written>,
    outbox: VecDeque<HandshakeMessage>,
    closes_when_written: bool,
}

impl Connection {
    /// Clears data that are not needed any more, so that equal states are equal.
    fn forget_handshake(&mut self) {
        (self.asking_rank, self.asking) = (0, None);
        (self.verdict, self.port) = (None, None);
    }

    /// Returns true if a message can be written at once.
    fn is_free(&self) -> bool {
        let is_idle = self.writing.is_none() && self.outbox.is_empty();
        is_idle && self.state == socket::ConnectionState::Connected
    }
}

/// All connections of a process, whether they serve a virtual connection or not.
#[derive(Clone, Hash, Debug, Default)]
struct ConnectionTable {
    all: BTreeMap<ConnectionId, Connection>,
    /// Numbers of connections that are gone.
    free: BTreeSet<ConnectionId>,
    listener: Option<ConnectionId>,
}

impl ConnectionTable {
    /// Adds a connection with the smallest number that is free.
    fn add_connection(&mut self) -> ConnectionId {
        let next = ConnectionId::try_from(self.all.len());
        let next = next.expect("connections are counted in 32 bits");
        let id = self.free.pop_first().unwrap_or(next);
        self.all.insert(id, Connection::default());
        id
    }

    fn remove_connection(&mut self, id: ConnectionId) {
        self.all.remove(&id);
        self.free.insert(id);
        self.listener.take_if(|listener| *listener == id);
    }

    /// Returns the number of connections besides the listener.
    fn count_sockets(&self) -> usize {
        self.all.len() - usize::from(self.listener.is_some())
    }
}

impl Index<ConnectionId> for ConnectionTable {
    type Output = Connection;

    fn index(&self, id: ConnectionId) -> &Connection {
        &self.all[&id]
    }
}

impl IndexMut<ConnectionId> for ConnectionTable {
    fn index_mut(&mut self, id: ConnectionId) -> &mut Connection {
        let connection = self.all.get_mut(&id);
        connection.expect("a connection lives until it is destroyed")
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct VirtualConnection {
    state: virtual_connection::VirtualConnectionState,
    connection: Option<ConnectionId>,
    /// Connections that serve or may come to serve this virtual connection, also discarded ones.
    candidates: u32,
    /// A tie was lost: the peer's connection will come.
    expects_peer: bool,
    close_wanted: bool,
    /// The program asked to open the virtual connection; no message has to wait.
    open_wanted: bool,
    /// The process manager says that the peer is lost.
    is_lost: bool,
    /// Communicators that refer to the virtual connection.
    references: u32,
    /// The group counts the virtual connection as in use.
    is_counted: bool,
    queue: VecDeque<u64>,
    last_use: LogicalTime,
    /// Only with a built-in defect: the state to come.
    late: Option<virtual_connection::VirtualConnectionState>,
}

/// Progress of finalize.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Running,
    /// Virtual connections are being closed.
    Finalizing,
    /// All sockets are being closed.
    ShuttingDown,
    Finalized,
}

/// The connections of one process.
#[derive(Clone, Hash, Debug)]
pub struct Connector {
    groups: KnownGroups,
    settings: Settings,
    #[cfg(test)]
    defect: SeededDefect,
    vcs: BTreeMap<Peer, VirtualConnection>,
    connections: ConnectionTable,
    phase: Phase,
    /// Closes that are not over.
    outstanding: u32,
    /// Peers that were lost.
    failed: u32,
    /// Virtual connections that are in use.
    busy: u32,
    /// Virtual connections in use that are in the close protocol.
    closing: u32,
    /// Peers that wait for a descriptor.
    waiting: VecDeque<Peer>,
    /// The time of the latest input.
    now: LogicalTime,
    /// Requests that cannot be answered yet.
    held: Vec<ConnectionId>,
    temporaries: u32,
    outputs: ActionQueue,
}

/// Outputs that were not taken yet; not part of the state.
#[derive(Clone, Debug, Default)]
struct ActionQueue {
    queue: VecDeque<Output>,
    counts: Counts,
    steps: Option<Vec<TakenRow>>,
}

impl ActionQueue {
    fn add_output(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    fn add_step(&mut self, step: TakenRow) {
        if let Some(steps) = &mut self.steps {
            steps.push(step);
        }
    }

    /// Returns the rows that were taken since the last time, if they are recorded.
    #[cfg(test)]
    fn take_steps(&mut self) -> Vec<TakenRow> {
        self.steps.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl std::hash::Hash for ActionQueue {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {
        debug_assert!(
            self.queue.is_empty(),
            "the driver polls until there is nothing"
        );
    }
}

impl Connector {
    /// Returns the connector of a rank of a group; the connector knows no other group yet.
    #[must_use]
    pub fn new(group: Group, rank: u32, settings: Settings) -> Self {
        Self {
            groups: KnownGroups::new(group, rank),
            settings,
            #[cfg(test)]
            defect: SeededDefect::None,
            vcs: BTreeMap::new(),
            connections: ConnectionTable::default(),
            phase: Phase::Running,
            outstanding: 0,
            failed: 0,
            busy: 0,
            closing: 0,
            waiting: VecDeque::new(),
            now: LogicalTime::default(),
            held: Vec::new(),
            temporaries: 0,
            outputs: ActionQueue::default(),
        }
    }

    /// The defect of this connector.
    #[inline]
    const fn defect(&self) -> SeededDefect {
        #[cfg(test)]
        return self.defect;
        #[cfg(not(test))]
        {
            let _ = self;
            SeededDefect::None
        }
    }

    /// The next thing to do or to know.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.queue.pop_front()
    }

    /// Returns the counts of events so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.outputs.counts
    }

    /// Returns the state of a virtual connection; `Inactive` if the connection was never used.
    #[must_use]
    pub fn state(&self, peer: Peer) -> virtual_connection::VirtualConnectionState {
        self.vcs
            .get(&peer)
            .map_or_else(Default::default, |vc| vc.state)
    }

    /// Returns the reachability of a peer, derived from its connection.
    #[must_use]
    pub fn channel(&self, peer: Peer) -> virtual_connection::Channel {
        let vc = self.vcs.get(&peer);
        let connection = vc.and_then(|vc| vc.connection);
        let connection = connection.map(|id| self.connections[id].state);
        virtual_connection::channel(self.state(peer), connection)
    }

    /// Returns true if everything is closed.
    #[must_use]
    pub fn is_finalized(&self) -> bool {
        self.phase == Phase::Finalized
    }

    fn vc(&mut self, peer: Peer) -> &mut VirtualConnection {
        self.vcs.entry(peer).or_default()
    }
}
