//! The connections of a rank over real sockets: the state machines of [`mpi::connection`], with the
//! inputs from sockets.
//!
//! The [connection thread](super::connection_manager) opens and accepts the sockets, so that the
//! peer of each is known here. Each socket carries the messages of the connection (handshake, close
//! protocol) and, unless the back end has a better way, the packets: a [`DataPath`] can add bytes
//! to the request and the answer, and carry packets elsewhere. So a message of the connection has
//! the number of packets sent before, and is kept until these packets have arrived.
//!
//! A packet on a connection in use bypasses the state machines, which would let it pass anyway.
//!
//! *Loss*: a stream that ends before the close protocol is over means that the peer is lost. So
//! does a peer that sends invalid data.
//!
//! *Not modelled*: a rank that moves. The address of a rank is its address in the address list.

mod waiting;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use channel::{ChannelEvent, ConnectionStatistics, Failure, Packet, PacketHeader, PeerHistory};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use mpi::connection::virtual_connection::VirtualConnectionState as VcState;
use mpi::connection::{
    ConnectionId, Connector, Group, HandshakeMessage, Input, MESSAGE_LENGTH, Output, Peer,
    Settings as ConnectorSettings,
};

use super::buffer_pool::BufferPool;
use super::connection_manager::{ConnectionManager, ManagerCommand, ManagerEvent};
use super::data_path::{DataPath, DataPathEvent};
use super::link::{Arrived, Broken, Link};
use super::local::Local;
use super::{congestion, keepalive};
use waiting::WaitingPackets;

/// Way in which ranks get connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connecting {
    /// True to connect all pairs before the program begins; otherwise a pair at its first message.
    pub is_static: bool,
    /// The time after which a rank, or the coordinator, that does not answer over the network is
    /// lost; `None` for never.
    pub keepalive_timeout: Option<Duration>,
    /// The limit of descriptors and the like.
    pub connector: ConnectorSettings,
}

/// A socket of a connection.
#[derive(Debug)]
struct SocketEnd {
    /// The stream; `None` until the connection is open.
    link: Option<Link>,
    /// The peer, if known.
    peer: Option<u32>,
    /// The machine wants to read.
    reads: bool,
    /// Messages that have come, with the number of packets that were sent before each.
    messages: std::collections::VecDeque<(HandshakeMessage, u64)>,
    /// Bytes of the back end that came with a request or an answer.
    private: Vec<u8>,
    /// Packets on this connection.
    sent: u64,
    received: u64,
    in_use: bool,
    /// The stream has ended.
    has_ended: bool,
    /// The connection is closed after all data are written.
    closes: bool,
    /// The owner has to handle this connection.
    is_listed: bool,
}

/// The connections of a rank.
#[derive(Debug)]
pub(super) struct Connections<C> {
    local: Rc<Local>,
    how: Connecting,
    manager: ConnectionManager,
    registry: Registry,
    cards: Vec<String>,
    connector: Connector,
    listener: ConnectionId,
    /// By connection.
    ends: Vec<Option<SocketEnd>>,
    /// Ends to look at.
    listed: Vec<ConnectionId>,
    waiting: WaitingPackets,
    /// The packet that the machine has just read.
    arriving: Option<Packet>,
    since: BTreeMap<u32, f64>,
    known: BTreeMap<u32, PeerHistory>,
    lost: BTreeSet<u32>,
    transport: C,
    /// Congestion controls of sockets that carry packets or have done so.
    congestion_controls: BTreeSet<String>,
    pool: BufferPool,
    opens: bool,
    finalizes: bool,
}

/// The name of the failure of a connection in event logs.
const CONNECTION_FAILED: &str = "connection failed";

/// Tokens of sockets begin here.
pub(super) const FIRST_SOCKET: usize = 1;

impl SocketEnd {
    fn new(link: Option<Link>, peer: Option<u32>) -> Self {
        Self {
            link,
            peer,
            reads: false,
            messages: std::collections::VecDeque::new(),
            private: Vec::new(),
            sent: 0,
            received: 0,
            in_use: false,
            has_ended: false,
            closes: false,
            is_listed: false,
        }
    }
}

const fn member(rank: u32) -> Peer {
    Peer::Member { group: 0, rank }
}

fn rank_of(peer: Peer) -> u32 {
    match peer {
        Peer::Member { rank, .. } => rank,
        Peer::Temporary(_) => unreachable!("ranks do not connect to ports"),
    }
}

impl<C: DataPath> Connections<C> {
    /// Returns the connections of a rank to the ranks with addresses in `cards`, by rank.
    pub(super) fn new(
        local: Rc<Local>,
        how: Connecting,
        manager: ConnectionManager,
        registry: Registry,
        cards: Vec<String>,
        transport: C,
    ) -> Self {
        let (rank, size) = (local.me().rank, local.me().size);
        let mut connector = Connector::new(Group::of_ranks("world", size), rank, how.connector);
        let listener = connector.listen();
        Self {
            local,
            how,
            manager,
            registry,
            cards,
            connector,
            listener,
            ends: Vec::new(),
            listed: Vec::new(),
            waiting: WaitingPackets::default(),
            arriving: None,
            since: BTreeMap::new(),
            known: BTreeMap::new(),
            lost: BTreeSet::new(),
            transport,
            congestion_controls: BTreeSet::new(),
            pool: BufferPool::default(),
            opens: false,
            finalizes: false,
        }
    }

    /// A packet of the message layer for another rank.
    pub(super) fn post_packet(&mut self, peer: u32, packet: Packet) {
        let now = self.local.now();
        if let Some(connection) = self.connector.immediate_connection(now, member(peer)) {
            return self.write_packet(connection, packet);
        }
        self.since.entry(peer).or_insert(now);
        let number = self.waiting.insert(packet);
        self.connector.send(now, member(peer), number);
        self.go_on();
    }

    fn end(&mut self, connection: ConnectionId) -> Option<&mut SocketEnd> {
        self.ends.get_mut(connection as usize)?.as_mut()
    }

    fn mark_listed(&mut self, connection: ConnectionId) {
        if let Some(end) = self.end(connection)
            && !std::mem::replace(&mut end.is_listed, true)
        {
            self.listed.push(connection);
        }
    }

    fn insert_end(&mut self, connection: ConnectionId, end: SocketEnd) {
        let place = connection as usize;
        if self.ends.len() <= place {
            self.ends.resize_with(place + 1, || None);
        }
        self.ends[place] = Some(end);
    }

    fn write_packet(&mut self, connection: ConnectionId, packet: Packet) {
        let local = Rc::clone(&self.local);
        let arrives = !packet.header.is_rdma();
        let Some(packet) = self.transport.carry(connection, packet) else {
            if let Some(end) = self.end(connection) {
                end.sent += u64::from(arrives);
            }
            return;
        };
        if let Some(end) = self.end(connection)
            && let Some(link) = &mut end.link
        {
            end.sent += 1;
            link.send_packet(packet, &mut |token| {
                local.push_event(ChannelEvent::Sent(token));
            });
        }
    }

    /// Executes the requests of the state machines, and passes the input of the sockets to them,
    /// until no work is left.
    fn go_on(&mut self) {
        loop {
            while let Some(output) = self.connector.poll() {
                self.apply_output(output);
            }
            let Some(connection) = self.listed.pop() else {
                break;
            };
            if let Some(end) = self.end(connection) {
                end.is_listed = false;
                self.service_socket(connection);
            }
        }
    }

    fn handle_input(&mut self, connection: ConnectionId, input: Input) {
        self.connector.handle(self.local.now(), connection, input);
    }

    fn apply_output(&mut self, output: Output) {
        match output {
            Output::Connect {
                connection, peer, ..
            } => self.connect_peer(connection, rank_of(peer)),
            Output::Write {
                connection,
                messages,
            } => {
                if let [HandshakeMessage::Data(number)] = *messages {
                    if let Some(packet) = self.waiting.take_packet(number) {
                        self.write_packet(connection, packet);
                    }
                } else {
                    self.write_messages(connection, &messages);
                }
                self.handle_input(connection, Input::WriteDone);
            }
            Output::Read { connection } => {
                if let Some(end) = self.end(connection) {
                    end.reads = true;
                }
                self.mark_listed(connection);
            }
            Output::Close { connection } if connection == self.listener => {
                self.manager.send_command(ManagerCommand::Shut);
                self.handle_input(connection, Input::Closed);
            }
            Output::Close { connection } => {
                if let Some(end) = self.end(connection) {
                    end.closes = true;
                }
                self.mark_listed(connection);
            }
            Output::Deliver { peer, .. } => {
                if let Some(packet) = self.arriving.take() {
                    self.deliver_packet(rank_of(peer), packet);
                }
            }
            Output::Completed { .. } => {}
            Output::Finalized => self.local.set_wake_flag(),
            Output::Failed { peer, packet, why } => self.handle_failed(rank_of(peer), packet, why),
            Output::Opened { connection, peer } => self.opened(connection, rank_of(peer)),
            Output::PortAccepted { .. } => unreachable!("ranks do not connect to ports"),
            Output::Illegal(what) => self.local.log(
                channel::Level::Error,
                format_args!("protocol error: {what}"),
            ),
        }
    }

    fn deliver_packet(&self, source: u32, packet: Packet) {
        self.local
            .push_event(ChannelEvent::Packet { source, packet });
    }

    fn connect_peer(&mut self, connection: ConnectionId, peer: u32) {
        self.insert_end(connection, SocketEnd::new(None, Some(peer)));
        let address = self.cards.get(peer as usize);
        match address.and_then(|business_card| business_card.parse::<SocketAddr>().ok()) {
            Some(address) => self.manager.send_command(ManagerCommand::Connect {
                connection,
                peer,
                address,
            }),
            None => self.not_connected(connection),
        }
    }

    fn not_connected(&mut self, connection: ConnectionId) {
        if let Some(place) = self.ends.get_mut(connection as usize)
            && let Some(end) = place.take()
        {
            if let Some(peer) = end.peer {
                self.local.observe_incident(CONNECTION_FAILED, peer);
            }
            self.transport.closed(connection);
            self.handle_input(connection, Input::ConnectError);
        }
    }

    /// Writes messages of the handshake or of the close protocol.
    fn write_messages(&mut self, connection: ConnectionId, messages: &[HandshakeMessage]) {
        let closes = matches!(messages, [HandshakeMessage::Close { .. }, ..]);
        let has_last = closes && self.transport.closes(connection);
        let Some(end) = self
            .ends
            .get_mut(connection as usize)
            .and_then(Option::as_mut)
        else {
            return;
        };
        end.sent += u64::from(has_last);
        let mut bytes = end.sent.to_le_bytes().to_vec();
        bytes.extend(messages.iter().flat_map(HandshakeMessage::encode));
        match (messages, end.peer) {
            ([HandshakeMessage::OpenReq { .. }, ..], Some(peer)) => {
                bytes.extend(self.transport.handshake_bytes(connection, peer, None));
            }
            ([HandshakeMessage::OpenResp { verdict }, ..], Some(peer)) if verdict.accepts() => {
                let asked = std::mem::take(&mut end.private);
                bytes.extend(
                    self.transport
                        .handshake_bytes(connection, peer, Some(&asked)),
                );
            }
            _ => {}
        }
        if let Some(link) = &mut end.link {
            link.send_messages(bytes);
        }
    }

    fn opened(&mut self, connection: ConnectionId, peer: u32) {
        let known = self.known.entry(peer).or_default();
        known.opened += 1;
        if self.opens {
            self.local.set_wake_flag();
        }
        if let Some(since) = self.since.remove(&peer) {
            known.waited += self.local.now() - since;
        }
        if let Some(end) = self
            .ends
            .get_mut(connection as usize)
            .and_then(Option::as_mut)
        {
            end.peer = Some(peer);
            end.in_use = true;
            self.local.observe_incident("connection", peer);
            let answer = std::mem::take(&mut end.private);
            self.transport.opened(connection, peer, &answer);
        }
    }

    fn handle_failed(&mut self, peer: u32, number: u64, why: Failure) {
        self.since.remove(&peer);
        let Some(packet) = self.waiting.take_packet(number) else {
            return;
        };
        // Nobody misses what a rank that has ended would have been told.
        let is_missed = !matches!(
            packet.header,
            PacketHeader::Credits | PacketHeader::Ack { .. } | PacketHeader::CancelResponse { .. }
        );
        if is_missed {
            self.local
                .push_event(ChannelEvent::Refused { peer, packet, why });
        } else if let Some(token) = packet.notify {
            self.local.push_event(ChannelEvent::Sent(token));
        }
    }

    /// Reads the available data of a socket, writes waiting data, closes the socket if requested.
    fn service_socket(&mut self, connection: ConnectionId) {
        while let Some(input) = self.next_input(connection) {
            self.handle_input(connection, input);
            while let Some(output) = self.connector.poll() {
                self.apply_output(output);
            }
        }
        self.check_lost(connection);
        let Some(end) = self.end(connection) else {
            return;
        };
        let is_written = end.link.as_ref().is_none_or(Link::is_written);
        if end.closes && is_written {
            let end = self.ends[connection as usize].take();
            if let Some(mut end) = end {
                let ends_well =
                    end.in_use && end.peer.is_some_and(|peer| !self.lost.contains(&peer));
                if let Some(peer) = end.peer.filter(|_| ends_well) {
                    self.local.observe_incident("connection closed", peer);
                }
                self.transport.closed(connection);
                if let Some(link) = &mut end.link {
                    let _ = self.registry.deregister(link.stream());
                }
            }
            self.handle_input(connection, Input::Closed);
        }
    }

    /// Reads the next input of the machine; packets on a connection in use are handed over
    /// directly.
    fn next_input(&mut self, connection: ConnectionId) -> Option<Input> {
        let Self {
            ends,
            local,
            arriving,
            pool,
            ..
        } = self;
        let end = ends.get_mut(connection as usize)?.as_mut()?;
        while end.reads {
            if let Some((_, after)) = end.messages.front()
                && *after <= end.received
            {
                end.reads = false;
                return end
                    .messages
                    .pop_front()
                    .map(|(message, _)| Input::Read(message));
            }
            if C::CARRIES && !end.messages.is_empty() {
                // What was sent before it comes another way, also when the stream has ended.
                return None;
            }
            if end.has_ended {
                end.reads = false;
                return Some(Input::Eof);
            }
            match end.link.as_mut()?.next_frame(pool) {
                Ok(None) => return None,
                Ok(Some(Arrived::Packet(packet))) => {
                    end.received += 1;
                    match end.peer {
                        Some(source) if end.in_use && is_from(source, &packet) => {
                            local.push_event(ChannelEvent::Packet { source, packet });
                        }
                        _ if end.in_use => end.has_ended = true,
                        _ => {
                            end.reads = false;
                            *arriving = Some(packet);
                            return Some(Input::Read(HandshakeMessage::Data(0)));
                        }
                    }
                }
                Ok(Some(Arrived::Messages(bytes))) => match decode_messages(&bytes) {
                    Some((messages, after, private)) => {
                        if let Some(&HandshakeMessage::OpenReq { rank, .. }) = messages.first() {
                            end.peer.get_or_insert(rank);
                        }
                        end.private = private;
                        end.messages
                            .extend(messages.into_iter().map(|message| (message, after)));
                    }
                    None => end.has_ended = true,
                },
                Err(broken) => {
                    end.has_ended = true;
                    tell_broken(local, end.peer, &broken);
                }
            }
        }
        None
    }

    /// Reports a peer that has been lost with its connection.
    fn check_lost(&mut self, connection: ConnectionId) {
        let ended = self.end(connection).filter(|end| end.has_ended);
        let Some(peer) = ended.and_then(|end| end.peer) else {
            return;
        };
        if self.connector.state(member(peer)) == VcState::Moribund && self.lost.insert(peer) {
            self.known.entry(peer).or_default();
            self.since.remove(&peer);
            self.local.observe_incident(CONNECTION_FAILED, peer);
            self.transport.lost(peer);
            self.local.push_event(ChannelEvent::Lost { peer });
        }
    }

    /// Handles a socket that is readable or writable.
    pub(super) fn socket_event(&mut self, token: Token, readable: bool, writable: bool) {
        let Ok(connection) = ConnectionId::try_from(token.0 - FIRST_SOCKET) else {
            return;
        };
        let local = Rc::clone(&self.local);
        if let Some(link) = self.end(connection).and_then(|end| end.link.as_mut()) {
            link.readable |= readable;
            if writable {
                link.write_queue(&mut |token| local.push_event(ChannelEvent::Sent(token)));
            }
        }
        self.mark_listed(connection);
        self.go_on();
    }

    /// Polls all sockets for data, without an event of the system.
    pub(super) fn poll_sockets(&mut self) {
        let local = Rc::clone(&self.local);
        for place in 0..self.ends.len() {
            if let Some(end) = &mut self.ends[place]
                && let Some(link) = &mut end.link
                && end.in_use
            {
                link.readable = true;
                if !link.is_written() {
                    link.write_queue(&mut |token| local.push_event(ChannelEvent::Sent(token)));
                }
                let connection = ConnectionId::try_from(place).unwrap_or(ConnectionId::MAX);
                self.service_socket(connection);
            }
        }
        self.go_on();
    }

    /// The congestion control of all sockets that carry packets or have done so, as the system
    /// tells.
    pub(super) fn congestion_controls(&self) -> Vec<String> {
        self.congestion_controls.iter().cloned().collect()
    }

    /// The number of sockets, open or not.
    pub(super) fn sockets(&self) -> usize {
        self.ends.len()
    }

    /// Handles the events of the connection thread.
    pub(super) fn handle_manager_events(&mut self) {
        while let Some(news) = self.manager.news() {
            match news {
                ManagerEvent::Connected(connection, stream) => {
                    self.handle_connected(connection, stream);
                }
                ManagerEvent::NotConnected(connection, error) => {
                    if error.kind() != ErrorKind::ConnectionRefused {
                        // What the program gets to know says only that there is no connection.
                        self.local
                            .log(channel::Level::Error, format_args!("{error}"));
                    }
                    self.not_connected(connection);
                }
                ManagerEvent::Accepted(stream) => self.accepted(stream),
                ManagerEvent::Lost(rank) => self.peer_lost(rank),
                ManagerEvent::Over | ManagerEvent::AddressList(_) => {}
            }
            self.go_on();
        }
    }

    fn make_link(&mut self, connection: ConnectionId, mut stream: TcpStream) -> Option<Link> {
        let both = Interest::READABLE | Interest::WRITABLE;
        let token = Token(FIRST_SOCKET + connection as usize);
        stream.set_nodelay(true).ok()?;
        keepalive::watch(
            &stream,
            keepalive::KeepaliveSettings::of_peer(self.how.keepalive_timeout),
        )
        .ok()?;
        if !C::CARRIES {
            self.congestion_controls.extend(congestion::of(&stream));
        }
        self.registry.register(&mut stream, token, both).ok()?;
        Some(Link::new(stream))
    }

    fn handle_connected(&mut self, connection: ConnectionId, stream: TcpStream) {
        let link = self.make_link(connection, stream);
        match (link, self.end(connection)) {
            (Some(link), Some(end)) => {
                end.link = Some(link);
                self.handle_input(connection, Input::ConnectDone);
            }
            (None, Some(_)) => self.not_connected(connection),
            // It was given up meanwhile.
            (_, None) => {}
        }
    }

    fn accepted(&mut self, stream: TcpStream) {
        if self.finalizes && self.connector.is_finalized() {
            return;
        }
        let connection = self.connector.accept(self.local.now());
        let link = self.make_link(connection, stream);
        let mut end = SocketEnd::new(link, None);
        end.has_ended = end.link.is_none();
        self.insert_end(connection, end);
    }

    fn peer_lost(&mut self, rank: u32) {
        if rank == self.local.me().rank || !self.lost.insert(rank) {
            return;
        }
        self.connector.peer_failed(self.local.now(), member(rank));
        self.go_on();
        self.known.entry(rank).or_default();
        self.since.remove(&rank);
        self.local.observe_incident(CONNECTION_FAILED, rank);
        self.transport.lost(rank);
        self.local.push_event(ChannelEvent::Lost { peer: rank });
    }

    /// Handles the events of packets that are carried elsewhere.
    pub(super) fn handle_data_path(&mut self) {
        let mut any = false;
        while let Some(carried) = self.transport.happened() {
            any = true;
            match carried {
                DataPathEvent::Arrived(connection, event) => {
                    self.local.count_taken(&event);
                    self.count_received(connection);
                    self.local.push_event(event);
                }
                DataPathEvent::Closes(connection) => self.count_received(Some(connection)),
                DataPathEvent::Event(event) => self.local.push_event(event),
                DataPathEvent::Failed(peer, why) => self.fail_peer(peer, why),
            }
        }
        if any && !self.listed.is_empty() {
            self.go_on();
        }
    }

    /// Counts a packet that has arrived elsewhere than on the socket.
    fn count_received(&mut self, connection: Option<ConnectionId>) {
        let Some(connection) = connection else { return };
        let Some(end) = self.end(connection) else {
            return;
        };
        end.received += 1;
        // A CLOSE may have waited for that.
        if !end.messages.is_empty() || end.has_ended {
            self.mark_listed(connection);
        }
    }

    /// Packets to and from a peer cannot be carried any more.
    fn fail_peer(&mut self, peer: u32, why: Failure) {
        if !self.lost.insert(peer) {
            return;
        }
        self.local.observe_incident(CONNECTION_FAILED, peer);
        self.local.push_event(ChannelEvent::Failed { peer, why });
        self.transport.lost(peer);
        self.connector.peer_failed(self.local.now(), member(peer));
        self.go_on();
        self.known.entry(peer).or_default();
        self.since.remove(&peer);
    }

    /// Memory in which messages may arrive.
    pub(super) fn recycle_memory(&mut self, memory: Vec<u8>) {
        self.pool.keep_buffer(memory);
    }

    /// Returns the back end that carries packets.
    pub(super) const fn transport(&mut self) -> &mut C {
        &mut self.transport
    }

    /// Opens all connections, if they have to be open before the program. Returns true when done.
    pub(super) fn open_all(&mut self) -> bool {
        if !self.how.is_static {
            return true;
        }
        let (rank, size) = (self.local.me().rank, self.local.me().size);
        if !std::mem::replace(&mut self.opens, true) {
            for peer in (0..rank).rev() {
                self.connector.open(self.local.now(), member(peer));
                self.go_on();
            }
        }
        self.known.len() + 1 >= size as usize
    }

    /// Ends all connections; true when that is done.
    pub(super) fn close_all(&mut self) -> bool {
        if !std::mem::replace(&mut self.finalizes, true) {
            self.connector.finalize(self.local.now());
            self.go_on();
        }
        self.connector.is_finalized()
    }

    /// Returns the connection to the coordinator.
    pub(super) const fn manager(&self) -> &ConnectionManager {
        &self.manager
    }

    /// Returns the counts of the connections.
    pub(super) fn statistics(&self) -> ConnectionStatistics {
        ConnectionStatistics::sum_histories(self.connector.counts(), &self.known)
    }
}

/// Returns true if the source in a packet is the rank from which the packet came.
const fn is_from(source: u32, packet: &Packet) -> bool {
    match packet.header {
        PacketHeader::Eager { envelope }
        | PacketHeader::Rts { envelope, .. }
        | PacketHeader::Detached { envelope }
        | PacketHeader::EagerFirst { envelope, .. }
        | PacketHeader::Synchronous { envelope, .. }
        | PacketHeader::CancelRequest { envelope, .. } => envelope.source == source,
        _ => true,
    }
}

fn tell_broken(local: &Local, peer: Option<u32>, broken: &Broken) {
    let who = peer.map_or_else(|| "a process".to_owned(), |rank| format!("rank {rank}"));
    match broken {
        Broken::End => {}
        Broken::Frame(bad) => local.log(channel::Level::Error, format_args!("from {who}: {bad}")),
        Broken::Memory(length) => local.log(
            channel::Level::Error,
            format_args!("{who}: cannot allocate {length} bytes for a message"),
        ),
    }
}

type Messages = (Vec<HandshakeMessage>, u64, Vec<u8>);

/// Reads the payload of a frame with messages: the messages, the number of packets sent before the
/// messages, and the bytes that a back end has added.
pub(super) fn decode_messages(bytes: &[u8]) -> Option<Messages> {
    let (after, rest) = bytes.split_first_chunk()?;
    let (first, rest) = rest.split_first_chunk::<MESSAGE_LENGTH>()?;
    let after = u64::from_le_bytes(*after);
    let first = HandshakeMessage::from_bytes(first)?;
    let HandshakeMessage::OpenReq { group_length, .. } = first else {
        return Some((vec![first], after, rest.to_vec()));
    };
    let (name, private) = rest.split_at_checked(group_length as usize)?;
    let name = HandshakeMessage::Group(String::from_utf8(name.to_vec()).ok()?);
    Some((vec![first, name], after, private.to_vec()))
}

/// Shared by the channel of the rank and by the driver of the rank.
pub(super) type Shared<C> = Rc<RefCell<Connections<C>>>;
