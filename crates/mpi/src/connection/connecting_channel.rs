//! Ranks that get connected: the [machines of connections](crate::connection) between the message
//! layer and its channel.
//!
//! If [`Settings::connections`](crate::Settings::connections) is set, each rank's channel is
//! wrapped into a [`ConnectingChannel`]. A packet for another rank is given to the [`Connector`],
//! which opens a connection if there is none; packets leave when the connection is in use. A packet
//! to the rank itself passes. [`Sockets`] execute the actions of the connector and are made of
//! packets; over real sockets the same connector gets the same inputs from real sockets.
//!
//! * An eager send is over when its packet is posted: the send waits for the connection, like a
//!   write to a socket.
//! * *Static*: `open_connections` connects all pairs, a higher rank to the lower ones, the nearest
//!   ranks first.
//! * *Finalize* (`close_connections`) runs the close protocol everywhere; requests that come
//!   later are refused.
//! * *Loss*: sends to a lost rank and receives that name a lost rank fail with
//!   [`Error::Connection`](crate::Error::Connection). A receive from any source continues to wait.
//!
//! *Not modelled*: handshakes take no processor time of the program; they are handled one after
//! another beside the program (`sockets`). A rank that is not connected to a lost rank learns of
//! the loss at the same date. An eager message that was posted before the loss is lost without a
//! report.

mod sockets;

use observe::SourceLocation;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::task::Waker;

use rdma::{RegionMemory, Verbs};

use self::sockets::{Done, Sockets};
use crate::channel::{AbortReason, ConnectionLifecycle, RankHost, RemoteMemory};
use crate::channel::{
    Channel, ChannelEvent, Interest, Level, Packet, PacketHeader, PeerHistory, Settings, Token,
};
use crate::connection::{Connector, Failure, Group, Output, Peer, Settings as ConnectorSettings};
use crate::exploration::CausalityHooks;
use crate::exploration::ExplorationHooks;
use crate::{ConnectionMode, ConnectionSettings, ConnectionStatistics, Envelope, RegisteredMemory};

/// Tokens of this layer start here; smaller tokens are places in the engine's list of operations.
const OWN: Token = 1 << 31;

/// A timer that only wakes the rank.
const NUDGE: Token = Token::MAX;

/// The timer for connections that have been idle for long.
const IDLE: Token = Token::MAX - 1;

/// A channel on which ranks get connected.
pub(crate) struct ConnectingChannel {
    inner: Box<dyn Channel>,
    driver: RefCell<ConnectionDriver>,
}

/// A place for things that are known by their number.
#[derive(Debug)]
struct Parked<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

/// The connections of a rank and the packets that wait for connections.
#[derive(Debug)]
struct ConnectionDriver {
    connector: Connector,
    sockets: Sockets,
    /// Packets that have not been written, by their numbers.
    outgoing: Parked<Packet>,
    /// Packets under way with a report of their end: the destination, and the token of the engine.
    notified: Parked<(u32, Option<Token>)>,
    /// Events for the engine.
    ready: VecDeque<ChannelEvent>,
    /// Since when packets wait for a connection, by peer.
    waiting: BTreeMap<u32, f64>,
    /// Waiting times of messages and counts of openings by peer; also of connections that were lost
    /// before.
    known: BTreeMap<u32, PeerHistory>,
    /// The rank opens, or has opened, all of them.
    opens: bool,
    finalizes: bool,
    is_shut: bool,
    /// A timer is set that wakes the rank for the ready events.
    nudged: bool,
    /// For the connections that have not been used since that date.
    idle_timer: Option<f64>,
}

impl<T> Parked<T> {
    const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    fn insert(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.places[number as usize] = Some(thing);
            return number;
        }
        self.places.push(Some(thing));
        let number = u32::try_from(self.places.len() - 1).ok();
        let number = number.filter(|number| *number < IDLE - OWN);
        number.expect("packets of a rank at one time are counted in 31 bits")
    }

    fn take_parked(&mut self, number: u32) -> Option<T> {
        let thing = self.places.get_mut(number as usize)?.take();
        if thing.is_some() {
            self.free.push(number);
        }
        thing
    }
}

/// Returns the name of a rank for the connector.
const fn member(rank: u32) -> Peer {
    Peer::Member { group: 0, rank }
}

fn rank_of(peer: Peer) -> u32 {
    match peer {
        Peer::Member { rank, .. } => rank,
        Peer::Temporary(_) => unreachable!("ranks do not connect to ports"),
    }
}

/// The channel with connections, if they are to be made.
pub(crate) fn wrap_channel(channel: Box<dyn Channel>) -> Box<dyn Channel> {
    let Some(connections) = &channel.settings().connections else {
        return channel;
    };
    let group = Group::of_ranks("world", channel.size());
    let connector_settings = ConnectorSettings {
        descriptors: connections.descriptors,
        at_limit: connections.at_limit,
        ..ConnectorSettings::NONE
    };
    let mut connector = Connector::new(group, channel.rank(), connector_settings);
    let listener = connector.listen();
    let driver = ConnectionDriver {
        connector,
        sockets: Sockets::new(listener),
        outgoing: Parked::new(),
        notified: Parked::new(),
        ready: VecDeque::new(),
        waiting: BTreeMap::new(),
        known: BTreeMap::new(),
        opens: false,
        finalizes: false,
        is_shut: false,
        nudged: false,
        idle_timer: None,
    };
    Box::new(ConnectingChannel {
        inner: channel,
        driver: RefCell::new(driver),
    })
}

/// Returns the settings of connections.
fn connections(channel: &dyn Channel) -> &ConnectionSettings {
    let connections = &channel.settings().connections;
    connections
        .as_ref()
        .expect("there is such a channel only where connections are made")
}

impl ConnectionDriver {
    /// A packet of the message layer for another rank.
    fn send_packet(&mut self, channel: &dyn Channel, peer: u32, packet: Packet) {
        let now = channel.now();
        if !self.sockets.is_in_use(peer) {
            self.waiting.entry(peer).or_insert(now);
        }
        let number = self.outgoing.insert(packet);
        self.connector.send(now, member(peer), u64::from(number));
        self.go_on(channel);
    }

    /// Executes the outputs of the connector, and hands the inputs of the sockets to the connector,
    /// until neither is left.
    fn go_on(&mut self, channel: &dyn Channel) {
        loop {
            while let Some(output) = self.connector.poll() {
                self.apply_output(channel, output);
            }
            if !self
                .sockets
                .poll_connector(&mut self.connector, channel.now())
            {
                break;
            }
        }
        self.watch_idle(channel);
    }

    fn apply_output(&mut self, channel: &dyn Channel, output: Output) {
        match output {
            Output::Connect {
                connection, card, ..
            } => {
                let peer = card.parse().expect("the card of a rank is its number");
                self.sockets.open_socket(channel, connection, peer);
            }
            Output::Write {
                connection,
                messages,
            } => {
                if let [crate::connection::HandshakeMessage::Data(number)] = *messages {
                    self.post_packet(channel, connection, number);
                } else {
                    self.sockets.write_messages(channel, connection, &messages);
                }
                let written = crate::connection::Input::WriteDone;
                self.connector.handle(channel.now(), connection, written);
            }
            Output::Read { connection } => self.sockets.request_read(connection),
            Output::Close { connection } => {
                self.sockets.close_socket(channel, connection);
                let closed = crate::connection::Input::Closed;
                self.connector.handle(channel.now(), connection, closed);
            }
            Output::Deliver { peer, .. } => {
                if let Some(packet) = self.sockets.take_received() {
                    let source = rank_of(peer);
                    self.ready
                        .push_back(ChannelEvent::Packet { source, packet });
                }
            }
            Output::Completed { .. } | Output::Finalized => {}
            Output::Failed { peer, packet, why } => self.handle_failed(rank_of(peer), packet, why),
            Output::Opened { connection, peer } => self.opened(channel, connection, rank_of(peer)),
            Output::PortAccepted { .. } => unreachable!("ranks do not connect to ports"),
            Output::Illegal(what) => unreachable!("rank {}: {what}", channel.rank()),
        }
    }

    /// Posts a packet of the message layer on a connection that is in use.
    fn post_packet(&mut self, channel: &dyn Channel, connection: u32, number: u64) {
        let Some(mut packet) = self.unpark(number) else {
            return;
        };
        let Some(peer) = self.sockets.count_sent(connection) else {
            return;
        };
        if tells_itself(channel.settings(), &packet) {
            let told = packet.notify.take();
            self.ready.extend(told.map(ChannelEvent::Sent));
        }
        if packet.notify.is_some() {
            packet.notify = Some(OWN | self.notified.insert((peer, packet.notify)));
        }
        channel.post(peer, packet);
    }

    fn unpark(&mut self, number: u64) -> Option<Packet> {
        let number = u32::try_from(number).expect("packets have numbers of 32 bits");
        self.outgoing.take_parked(number)
    }

    fn handle_failed(&mut self, peer: u32, number: u64, why: Failure) {
        self.waiting.remove(&peer);
        let Some(packet) = self.unpark(number) else {
            return;
        };
        // Nobody misses what a rank that has ended would have been told.
        let is_missed = !matches!(
            packet.header,
            PacketHeader::Credits | PacketHeader::Ack { .. } | PacketHeader::CancelResponse { .. }
        );
        if is_missed {
            self.ready
                .push_back(ChannelEvent::Refused { peer, packet, why });
        } else {
            self.ready.extend(packet.notify.map(ChannelEvent::Sent));
        }
    }

    fn opened(&mut self, channel: &dyn Channel, connection: u32, peer: u32) {
        let known = self.known.entry(peer).or_default();
        known.opened += 1;
        let since = self.waiting.remove(&peer);
        let value = since.map(|since| channel.now() - since);
        known.waited += value.unwrap_or(0.0);
        if let Some(observer) = channel.observer() {
            let name = observe::Resource::Connection.name();
            let peer = Some(peer);
            observer.observe(
                channel.rank(),
                observe::RankEvent::Incident { name, peer, value },
            );
        }
        self.sockets.opened(connection);
    }

    /// Breaks the connections to a rank. Packets under way to that rank hold no resources any more.
    fn lose(&mut self, channel: &dyn Channel, peer: u32, event: ChannelEvent) {
        self.waiting.remove(&peer);
        let all = self.notified.places.iter_mut().flatten();
        for (_, token) in all.filter(|(to, _)| *to == peer) {
            *token = None;
        }
        while let Some(connection) = self.sockets.cut_socket(peer) {
            let end = crate::connection::Input::Eof;
            self.connector.handle(channel.now(), connection, end);
            self.go_on(channel);
        }
        self.known.entry(peer).or_default();
        self.ready.push_back(event);
    }

    /// Handles an event of the channel; returns the event if the engine must handle it.
    fn filter_event(&mut self, channel: &dyn Channel, event: ChannelEvent) -> Option<ChannelEvent> {
        match event {
            ChannelEvent::Packet { source, packet } if source == channel.rank() => {
                return Some(ChannelEvent::Packet { source, packet });
            }
            ChannelEvent::Packet { source, packet } => {
                let done =
                    self.sockets
                        .handle_arrival(channel, &mut self.connector, source, packet);
                if done == Done::Changed {
                    self.go_on(channel);
                }
            }
            ChannelEvent::Undeliverable { peer, packet } => {
                if self
                    .sockets
                    .returned(&mut self.connector, channel.now(), peer, &packet)
                {
                    self.go_on(channel);
                }
            }
            ChannelEvent::Sent(token) if token >= OWN => {
                let (_, token) = self.notified.take_parked(token - OWN)?;
                return token.map(ChannelEvent::Sent);
            }
            ChannelEvent::Elapsed(NUDGE) => self.nudged = false,
            ChannelEvent::Elapsed(IDLE) => {
                if let Some(since) = self.idle_timer.take()
                    && !self.finalizes
                {
                    self.connector.close_unreferenced(channel.now(), since);
                    self.go_on(channel);
                }
            }
            ChannelEvent::Elapsed(token) if token >= OWN => {
                self.sockets.elapsed(channel, &mut self.connector);
                self.go_on(channel);
            }
            ChannelEvent::Broken { peer } => self.lose(channel, peer, ChannelEvent::Lost { peer }),
            ChannelEvent::Lost { peer } | ChannelEvent::Failed { peer, .. } => {
                self.connector.peer_failed(channel.now(), member(peer));
                self.go_on(channel);
                self.lose(channel, peer, event);
            }
            other => return Some(other),
        }
        None
    }

    /// Makes sure that idle connections are looked at when the first one has been idle for long
    /// enough.
    fn watch_idle(&mut self, channel: &dyn Channel) {
        let Some(seconds) = connections(channel).idle_close else {
            return;
        };
        if self.idle_timer.is_some() || self.finalizes {
            return;
        }
        if let Some(since) = self.connector.idle_since() {
            self.idle_timer = Some(since);
            let left = since + seconds - channel.now();
            channel.timer(left.max(0.0), IDLE);
        }
    }

    /// Opens all connections; true when that is done.
    fn open_all(&mut self, channel: &dyn Channel) -> bool {
        if connections(channel).mode != ConnectionMode::Static {
            return true;
        }
        if !std::mem::replace(&mut self.opens, true) {
            for peer in (0..channel.rank()).rev() {
                self.connector.open(channel.now(), member(peer));
                self.go_on(channel);
            }
        }
        self.known.len() + 1 >= channel.size() as usize
    }

    /// Ends all connections; true when that is done.
    fn close_all(&mut self, channel: &dyn Channel) -> bool {
        if !std::mem::replace(&mut self.finalizes, true) {
            self.connector.finalize(channel.now());
            self.go_on(channel);
        }
        let done = self.connector.is_finalized() && self.sockets.is_quiet();
        if done && !std::mem::replace(&mut self.is_shut, true) {
            channel.shut();
        }
        done
    }
}

/// Returns true if an eager send is over when its packet is posted, without a report of the
/// channel.
const fn tells_itself(settings: &Settings, packet: &Packet) -> bool {
    let eager = matches!(packet.header, PacketHeader::Eager { .. });
    eager && !settings.tells_eager_sends && settings.limits.is_none()
}

impl ConnectingChannel {
    /// Makes sure that the rank handles the ready events, which the channel does not know.
    fn schedule_wake(&self) {
        let driver = &mut *self.driver.borrow_mut();
        if !driver.ready.is_empty() && !std::mem::replace(&mut driver.nudged, true) {
            self.inner.timer(0.0, NUDGE);
        }
    }
}

impl Channel for ConnectingChannel {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn settings(&self) -> &Settings {
        self.inner.settings()
    }

    fn max_packet(&self) -> u64 {
        self.inner.max_packet()
    }

    fn post(&self, peer: u32, mut packet: Packet) {
        let driver = &mut *self.driver.borrow_mut();
        if peer != self.inner.rank() {
            return driver.send_packet(&*self.inner, peer, packet);
        }
        if tells_itself(self.inner.settings(), &packet) {
            driver
                .ready
                .extend(packet.notify.take().map(ChannelEvent::Sent));
        }
        self.inner.post(peer, packet);
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        let driver = &mut *self.driver.borrow_mut();
        loop {
            if let Some(event) = driver.ready.pop_front() {
                return Some(event);
            }
            let event = self.inner.poll_event()?;
            if let Some(event) = driver.filter_event(&*self.inner, event) {
                return Some(event);
            }
        }
    }

    fn park(&self, waker: Option<&Waker>, interest: Interest) {
        self.schedule_wake();
        self.inner.park(waker, interest);
    }

    fn pull(&self, source: u32, packet: Packet) {
        // Only what was not announced to be sent on a connection.
        self.inner.pull(source, packet);
    }

    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        self.inner.undelivered()
    }
}

impl RankHost for ConnectingChannel {
    fn now(&self) -> f64 {
        self.inner.now()
    }

    fn timer(&self, seconds: f64, token: Token) {
        self.inner.timer(seconds, token);
    }

    fn compute(&self, flops: f64, token: Token) {
        self.inner.compute(flops, token);
    }

    fn observer(&self) -> Option<Rc<dyn observe::Observer>> {
        self.inner.observer()
    }

    fn host_name(&self) -> String {
        self.inner.host_name()
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        self.inner.print(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.inner.log(level, text);
    }

    fn abort(&self, reason: AbortReason) {
        self.inner.abort(reason);
    }
}

impl RemoteMemory for ConnectingChannel {
    fn offer(&self, peer: u32, send: Token, message: &crate::Buffer) {
        self.inner.offer(peer, send, message);
    }

    fn expect_message(&self, peer: u32, send: Token, receive: Token, length: u64) {
        self.inner.expect_message(peer, send, receive, length);
    }

    fn recycle_memory(&self, memory: Vec<u8>) {
        self.inner.recycle_memory(memory);
    }

    fn register_memory(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        self.inner.register_memory(memory)
    }

    fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        self.inner.adapter()
    }

    fn watch_adapter(&self, token: Token) {
        self.inner.watch_adapter(token);
    }
}

impl ConnectionLifecycle for ConnectingChannel {
    fn finalize_wait(&self) -> bool {
        self.inner.finalize_wait()
    }

    fn open_connections(&self) -> bool {
        self.driver.borrow_mut().open_all(&*self.inner)
    }

    fn close_connections(&self) -> bool {
        self.driver.borrow_mut().close_all(&*self.inner)
    }

    fn connection_statistics(&self) -> Option<ConnectionStatistics> {
        let (driver, now) = (self.driver.borrow(), self.inner.now());
        let mut histories = driver.known.clone();
        for (&peer, since) in &driver.waiting {
            histories.entry(peer).or_default().waited += now - since;
        }
        let counts = driver.connector.counts();
        Some(ConnectionStatistics::sum_histories(counts, &histories))
    }
}

impl ExplorationHooks for ConnectingChannel {
    fn may_look(&self) -> bool {
        self.inner.may_look()
    }

    fn note_answer(&self, question: u64, begun: u64, answer: u32) {
        self.inner.note_answer(question, begun, answer);
    }

    fn note_source(&self, source: u32, location: SourceLocation) {
        self.inner.note_source(source, location);
    }

    fn return_to_network(&self, envelope: Envelope, length: u64, arrival: u32) {
        self.inner.return_to_network(envelope, length, arrival);
    }

    fn causality(&self) -> Option<&dyn CausalityHooks> {
        self.inner.causality()
    }
}
