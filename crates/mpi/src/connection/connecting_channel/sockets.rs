//! Sockets made of packets: the sockets of a [`Connector`] over any channel.
//!
//! A socket is opened by a request of the one side and its acceptance by the other, a round trip.
//! The socket ends when either side ends it. Written messages travel as packets, in order. The
//! packets of the message layer are the data of the connection that is in use. They travel
//! unchanged, in the order of the channel: the receiving side keeps packets that come before the
//! connection is in use there, and keeps a CLOSE until all packets sent before it have come.
//!
//! Opening, accepting and reading a message take the process time; these steps are done one after
//! another, in the order in which they come up. No other step waits for them.
//!
//! *Not modelled*: loss and repetition, windows, and the limit of the backlog. A request to a rank
//! that has ended is returned by the channel at the date at which it arrives there, without the way
//! back.

use std::collections::{BTreeMap, VecDeque};

use super::{OWN, connections, member};
use crate::Buffer;
use crate::channel::{Channel, ConnectionControl, Packet, PacketHeader};
use crate::connection::virtual_connection::VirtualConnectionState as VcState;
use crate::connection::{ConnectionId, Connector, HandshakeMessage, Input, MESSAGE_LENGTH};

/// The name of a socket, the same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct SocketId {
    /// The other end.
    peer: u32,
    /// True if this end has opened the socket.
    is_own: bool,
    /// The number of the socket at the end that opened the socket.
    number: u32,
}

/// This end of a socket.
#[derive(Debug)]
struct SocketEnd {
    name: SocketId,
    /// The other end knows of the socket.
    is_known: bool,
    /// A read is posted.
    reads: bool,
    /// Received messages, each with the number of packets of data before it.
    messages: VecDeque<(HandshakeMessage, u32)>,
    /// No further message comes.
    has_ended: bool,
    /// The socket is broken: no message can reach the other end.
    is_cut: bool,
}

/// The connection to a peer that is in use.
#[derive(Debug)]
struct ActiveConnection {
    connection: ConnectionId,
    sent: u32,
    received: u32,
    data: VecDeque<Packet>,
}

/// A step that the process does when it has time.
#[derive(Debug)]
enum SocketTask {
    Connect(SocketId),
    Accept(SocketId),
    Accepted(SocketId),
    Refused(SocketId),
    Read(SocketId, VecDeque<(HandshakeMessage, u32)>),
    End(SocketId),
}

/// Result of a step: the connector may have work, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Done {
    Changed,
    Later,
}

/// The sockets of a rank.
#[derive(Debug)]
pub(super) struct Sockets {
    listener: ConnectionId,
    listens: bool,
    /// The number of the next own socket.
    next: u32,
    ends: BTreeMap<ConnectionId, SocketEnd>,
    names: BTreeMap<SocketId, ConnectionId>,
    in_use: BTreeMap<u32, ActiveConnection>,
    /// Data that came before the connection is in use here.
    early: BTreeMap<u32, VecDeque<Packet>>,
    tasks: VecDeque<SocketTask>,
    busy_until: f64,
    /// Ends at which there may be a message to read.
    readable: Vec<ConnectionId>,
    /// The data that the connector has read.
    arriving: Option<Packet>,
}

impl Sockets {
    pub(super) const fn new(listener: ConnectionId) -> Self {
        Self {
            listener,
            listens: true,
            next: 0,
            ends: BTreeMap::new(),
            names: BTreeMap::new(),
            in_use: BTreeMap::new(),
            early: BTreeMap::new(),
            tasks: VecDeque::new(),
            busy_until: 0.0,
            readable: Vec::new(),
            arriving: None,
        }
    }

    /// Returns true if there is a connection to a peer on which data can be sent.
    pub(super) fn is_in_use(&self, peer: u32) -> bool {
        self.in_use.contains_key(&peer)
    }

    /// Returns true if no task is left.
    pub(super) fn is_quiet(&self) -> bool {
        self.tasks.is_empty()
    }

    fn add_socket(&mut self, connection: ConnectionId, name: SocketId) {
        let end = SocketEnd {
            name,
            is_known: !name.is_own,
            reads: false,
            messages: VecDeque::new(),
            has_ended: false,
            is_cut: false,
        };
        self.ends.insert(connection, end);
        self.names.insert(name, connection);
    }

    fn remove_socket(&mut self, connection: ConnectionId) -> Option<SocketEnd> {
        let end = self.ends.remove(&connection)?;
        self.names.remove(&end.name);
        let peer = end.name.peer;
        if self.in_use.get(&peer).map(|use_| use_.connection) == Some(connection) {
            self.in_use.remove(&peer);
        }
        Some(end)
    }

    /// Opens a socket.
    pub(super) fn open_socket(
        &mut self,
        channel: &dyn Channel,
        connection: ConnectionId,
        peer: u32,
    ) {
        let name = SocketId {
            peer,
            is_own: true,
            number: self.next,
        };
        self.next = self.next.wrapping_add(1);
        self.add_socket(connection, name);
        let cost = connections(channel).connect_time;
        if self
            .in_turn(channel, cost, SocketTask::Connect(name))
            .is_some()
        {
            self.request_socket(channel, name);
        }
    }

    /// Sends the request of a socket, unless the socket was given up meanwhile.
    fn request_socket(&mut self, channel: &dyn Channel, name: SocketId) {
        let connection = self.names.get(&name);
        if let Some(end) = connection.and_then(|id| self.ends.get_mut(id))
            && !end.is_cut
        {
            end.is_known = true;
            say(channel, name, ConnectionControl::Connect);
        }
    }

    /// Writes messages of the handshake or of the close protocol.
    pub(super) fn write_messages(
        &self,
        channel: &dyn Channel,
        connection: ConnectionId,
        messages: &[HandshakeMessage],
    ) {
        let Some(end) = self.ends.get(&connection).filter(|end| !end.is_cut) else {
            return;
        };
        let sizes = connections(channel);
        let size = match messages {
            [HandshakeMessage::Close { .. }, ..] => sizes.close_size,
            [HandshakeMessage::OpenResp { .. }, ..] => sizes.response_size,
            _ => sizes.request_size,
        };
        let after = self.in_use.get(&end.name.peer).map_or(0, |use_| use_.sent);
        let mut bytes: Vec<u8> = messages.iter().flat_map(HandshakeMessage::encode).collect();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        bytes.resize(bytes.len().max(size), 0);
        let header = header(end.name, ConnectionControl::Messages { after });
        channel.post(end.name.peer, Packet::new(header, bytes.into()));
    }

    /// Counts a packet of data that is about to be posted. Returns the destination.
    pub(super) fn count_sent(&mut self, connection: ConnectionId) -> Option<u32> {
        let end = self.ends.get(&connection)?;
        let use_ = self.in_use.get_mut(&end.name.peer)?;
        use_.sent += 1;
        Some(end.name.peer)
    }

    /// The connector wants to read.
    pub(super) fn request_read(&mut self, connection: ConnectionId) {
        if let Some(end) = self.ends.get_mut(&connection) {
            end.reads = true;
            self.readable.push(connection);
        }
    }

    /// The connection is in use from now on.
    pub(super) fn opened(&mut self, connection: ConnectionId) {
        let Some(end) = self.ends.get(&connection) else {
            return;
        };
        let peer = end.name.peer;
        let use_ = ActiveConnection {
            connection,
            sent: 0,
            received: 0,
            data: self.early.remove(&peer).unwrap_or_default(),
        };
        self.in_use.insert(peer, use_);
    }

    /// Closes a socket, or the listener.
    pub(super) fn close_socket(&mut self, channel: &dyn Channel, connection: ConnectionId) {
        if connection == self.listener {
            self.listens = false;
            return;
        }
        if let Some(end) = self.remove_socket(connection)
            && end.is_known
            && !end.has_ended
            && !end.is_cut
        {
            say(channel, end.name, ConnectionControl::End);
        }
    }

    /// The next socket to a peer that is broken from now on.
    pub(super) fn cut_socket(&mut self, peer: u32) -> Option<ConnectionId> {
        self.early.remove(&peer);
        let mut ends = self.ends.iter_mut();
        let found = ends.find(|(_, end)| end.name.peer == peer && !end.is_cut);
        found.map(|(&connection, end)| {
            end.is_cut = true;
            connection
        })
    }

    /// Hands one received input to the connector; false if there is no input.
    pub(super) fn poll_connector(&mut self, connector: &mut Connector, now: f64) -> bool {
        while let Some(&connection) = self.readable.last() {
            if let Some(input) = self.next_input(connection) {
                connector.handle(now, connection, input);
                return true;
            }
            self.readable.pop();
        }
        false
    }

    fn next_input(&mut self, connection: ConnectionId) -> Option<Input> {
        let end = self.ends.get_mut(&connection).filter(|end| end.reads)?;
        let use_ = self.in_use.get_mut(&end.name.peer);
        let use_ = use_.filter(|use_| use_.connection == connection);
        let received = use_.as_ref().map_or(0, |use_| use_.received);
        if let Some(use_) = use_
            && let Some(packet) = use_.data.pop_front()
        {
            use_.received += 1;
            end.reads = false;
            self.arriving = Some(packet);
            return Some(Input::Read(HandshakeMessage::Data(0)));
        }
        match end.messages.front() {
            Some((_, after)) if *after > received => None,
            Some(_) => {
                end.reads = false;
                let (message, _) = end.messages.pop_front()?;
                Some(Input::Read(message))
            }
            None if end.has_ended => {
                end.reads = false;
                Some(Input::Eof)
            }
            None => None,
        }
    }

    /// The data that the connector has just read.
    pub(super) fn take_received(&mut self) -> Option<Packet> {
        self.arriving.take()
    }

    /// A packet has come from another rank.
    pub(super) fn handle_arrival(
        &mut self,
        channel: &dyn Channel,
        connector: &mut Connector,
        source: u32,
        packet: Packet,
    ) -> Done {
        let PacketHeader::Socket {
            socket,
            is_own,
            says,
        } = packet.header
        else {
            return self.arrive_data(connector, source, packet);
        };
        let name = SocketId {
            peer: source,
            is_own: !is_own,
            number: socket,
        };
        let costs = connections(channel);
        let (cost, task) = match says {
            ConnectionControl::Connect if self.listens => {
                (costs.accept_time, SocketTask::Accept(name))
            }
            ConnectionControl::Connect => (0.0, SocketTask::Accept(name)),
            ConnectionControl::Accepted => (0.0, SocketTask::Accepted(name)),
            ConnectionControl::Refused => (0.0, SocketTask::Refused(name)),
            ConnectionControl::Messages { after } => {
                let messages = decode_messages(&packet.payload, after);
                (costs.message_time, SocketTask::Read(name, messages))
            }
            ConnectionControl::End => (0.0, SocketTask::End(name)),
        };
        match self.in_turn(channel, cost, task) {
            Some(task) => {
                self.run_task(channel, connector, task);
                Done::Changed
            }
            None => Done::Later,
        }
    }

    fn arrive_data(&mut self, connector: &Connector, source: u32, packet: Packet) -> Done {
        if let Some(use_) = self.in_use.get_mut(&source) {
            use_.data.push_back(packet);
            self.readable.push(use_.connection);
            return Done::Changed;
        }
        // What a lost rank has sent comes too late.
        if connector.state(member(source)) != VcState::Moribund {
            self.early.entry(source).or_default().push_back(packet);
        }
        Done::Later
    }

    /// Handles a packet that came back; true if the connector was told.
    pub(super) fn returned(
        &mut self,
        connector: &mut Connector,
        now: f64,
        peer: u32,
        packet: &Packet,
    ) -> bool {
        let PacketHeader::Socket {
            socket,
            is_own: true,
            says: ConnectionControl::Connect,
        } = packet.header
        else {
            return false;
        };
        let name = SocketId {
            peer,
            is_own: true,
            number: socket,
        };
        self.handle_refused(connector, now, name);
        true
    }

    fn handle_refused(&mut self, connector: &mut Connector, now: f64, name: SocketId) {
        if let Some(&connection) = self.names.get(&name) {
            self.remove_socket(connection);
            connector.handle(now, connection, Input::ConnectError);
        }
    }

    /// Returns the task if it can be done now; otherwise the task waits until the process has time.
    fn in_turn(
        &mut self,
        channel: &dyn Channel,
        cost: f64,
        task: SocketTask,
    ) -> Option<SocketTask> {
        let now = channel.now();
        let date = self.busy_until.max(now) + cost;
        if date <= now && self.tasks.is_empty() {
            return Some(task);
        }
        self.busy_until = date;
        self.tasks.push_back(task);
        channel.timer(date - now, OWN);
        None
    }

    /// The process has time for the next task.
    pub(super) fn elapsed(&mut self, channel: &dyn Channel, connector: &mut Connector) {
        if let Some(task) = self.tasks.pop_front() {
            self.run_task(channel, connector, task);
        }
    }

    fn run_task(&mut self, channel: &dyn Channel, connector: &mut Connector, task: SocketTask) {
        let now = channel.now();
        match task {
            SocketTask::Connect(name) => self.request_socket(channel, name),
            SocketTask::Accept(name) if !self.listens => {
                say(channel, name, ConnectionControl::Refused);
            }
            SocketTask::Accept(name) => {
                let connection = connector.accept(now);
                self.add_socket(connection, name);
                say(channel, name, ConnectionControl::Accepted);
            }
            SocketTask::Accepted(name) => {
                if let Some(&connection) = self.names.get(&name) {
                    connector.handle(now, connection, Input::ConnectDone);
                }
            }
            SocketTask::Refused(name) => self.handle_refused(connector, now, name),
            SocketTask::Read(name, messages) => {
                self.with_end(name, |end| end.messages.extend(messages));
            }
            SocketTask::End(name) => self.with_end(name, |end| end.has_ended = true),
        }
    }

    fn with_end(&mut self, name: SocketId, change: impl FnOnce(&mut SocketEnd)) {
        if let Some(&connection) = self.names.get(&name)
            && let Some(end) = self.ends.get_mut(&connection)
        {
            change(end);
            self.readable.push(connection);
        }
    }
}

const fn header(name: SocketId, says: ConnectionControl) -> PacketHeader {
    PacketHeader::Socket {
        socket: name.number,
        is_own: name.is_own,
        says,
    }
}

/// Sends one of the packets below the handshake.
fn say(channel: &dyn Channel, name: SocketId, says: ConnectionControl) {
    let size = connections(channel).socket_size;
    channel.post(
        name.peer,
        Packet::new(header(name, says), Buffer::phantom(size)),
    );
}

/// Returns the messages of a packet; bytes that only pad the packet are ignored.
///
/// # Panics
/// If the packet contains no message: the other end runs this program too.
fn decode_messages(payload: &Buffer, after: u32) -> VecDeque<(HandshakeMessage, u32)> {
    let bytes = payload.bytes().expect("messages are not phantoms");
    let (first, rest) = bytes
        .split_first_chunk::<MESSAGE_LENGTH>()
        .expect("a message is there");
    let message = HandshakeMessage::from_bytes(first).expect("a message of this program");
    let mut messages = VecDeque::from([(message, after)]);
    if let Some((HandshakeMessage::OpenReq { group_length, .. }, _)) = messages.front() {
        let name = rest.get(..*group_length as usize);
        let name = name.expect("the request has told the length of the name");
        let name = String::from_utf8_lossy(name).into_owned();
        messages.push_back((HandshakeMessage::Group(name), after));
    }
    messages
}
