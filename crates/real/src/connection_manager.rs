//! The connection thread of a rank: it listens, authenticates unknown processes, connects to other
//! ranks (`opening`), and reads the messages of the coordinator.
//!
//! The thread is separate, because a rank that computes does not read its sockets: other ranks
//! could not distinguish such a rank from a lost rank, and would have to wait, or give up, in the
//! middle of a handshake. The thread hands over sockets with a known peer. While no process
//! connects, the thread wakes only to send the collective calls of the rank.
//!
//! If the coordinator demands the end, or is gone, this thread ends the process in any case. In the
//! second case it writes the reason to standard error, because no other process can.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use mpi::connection::ConnectionId;

use super::auth::{ConnectionPurpose, RunSecret};
use super::auth_listener::{AuthListener, HANDSHAKES_MAX};
use super::call_batch::{CallOutbox, PERIOD};
use super::clock;
use super::control::{self, CoordinatorMessage, RankMessage};
use super::descendants;
use super::keepalive::is_silence;
use super::opening::{Opened, Openings};

/// Requests of the rank.
#[derive(Debug)]
pub(super) enum ManagerCommand {
    /// A socket to another rank.
    Connect {
        /// Purpose of the socket.
        connection: ConnectionId,
        /// The other rank.
        peer: u32,
        /// The address on which the other rank listens.
        address: SocketAddr,
    },
    /// The rank accepts no further connection.
    Shut,
    /// A message for the coordinator.
    SendToCoordinator(RankMessage),
}

/// Answers to the rank.
#[derive(Debug)]
pub(super) enum ManagerEvent {
    /// A socket that the rank requested.
    Connected(ConnectionId, TcpStream),
    /// A requested socket that could not be opened, with the last error.
    NotConnected(ConnectionId, io::Error),
    /// A process of the run has connected.
    Accepted(TcpStream),
    /// All ranks are here.
    AddressList(CoordinatorMessage),
    /// A rank is lost.
    Lost(u32),
    /// The run no longer needs this rank.
    Over,
}

/// The rank's end.
#[derive(Debug)]
pub(super) struct ConnectionManager {
    orders: Sender<ManagerCommand>,
    waker: Waker,
    news: Receiver<ManagerEvent>,
    /// There is news.
    has_news: Arc<AtomicBool>,
}

const WAKE: Token = Token(0);
const CONTROL: Token = Token(1);
/// The gate's listener and strangers.
const AUTH_LISTENER: usize = 2;
/// Sockets that are being opened: after the gate, by connection.
const OWN: usize = AUTH_LISTENER + HANDSHAKES_MAX + 1;

/// The thread's end.
struct ManagerThread {
    poll: Poll,
    control: TcpStream,
    input: Vec<u8>,
    unsent: Vec<u8>,
    auth_listener: Option<AuthListener>,
    openings: Openings,
    /// Name and address of the coordinator; `None` if the coordinator runs in this process.
    coordinator: Option<String>,
    calls: Option<Arc<CallOutbox>>,
    calls_sent_ns: u64,
    orders: Receiver<ManagerCommand>,
    news: Sender<ManagerEvent>,
    has_news: Arc<AtomicBool>,
    wakes: Arc<Waker>,
    rank: u32,
    is_over: bool,
    is_exhausted: bool,
}

/// Why the thread ends the process.
const STOPPED: i32 = 1;

/// Facts that a rank's listeners need.
#[derive(Clone, Debug)]
pub(super) struct ListenerOptions {
    /// Number of the rank.
    pub rank: u32,
    /// Where others are let in.
    pub address: SocketAddr,
    /// The congestion control of sockets to and from other ranks, if one was asked for.
    pub congestion: Option<String>,
    /// The time within which a connection to another rank is to be opened.
    pub within: Duration,
    /// Name and address of the coordinator; `None` if the coordinator runs in this process and ends
    /// the process itself.
    pub coordinator: Option<String>,
    /// The collective calls of the rank, if the coordinator compares them.
    pub calls: Option<Arc<CallOutbox>>,
}

/// Starts the thread, and returns the address at which others are let in besides.
pub(super) fn start_manager(
    control: std::net::TcpStream,
    listeners: ListenerOptions,
    secret: &RunSecret,
    wakes: Arc<Waker>,
) -> io::Result<(ConnectionManager, SocketAddr)> {
    let ListenerOptions {
        rank,
        address,
        congestion,
        within,
        coordinator,
        calls,
    } = listeners;
    let poll = Poll::new()?;
    control.set_nonblocking(true)?;
    let mut control = TcpStream::from_std(control);
    let registry = poll.registry();
    registry.register(
        &mut control,
        CONTROL,
        Interest::READABLE | Interest::WRITABLE,
    )?;
    let auth_listener = AuthListener::open_listener(
        registry,
        AUTH_LISTENER,
        address,
        ConnectionPurpose::Rank(rank),
        secret,
    )?;
    if let Some(name) = &congestion {
        auth_listener.set_congestion(name)?;
    }
    let address = auth_listener.address()?;
    let waker = Waker::new(registry, WAKE)?;
    let (orders, ordered) = channel();
    let (tells, news) = channel();
    let has_news = Arc::new(AtomicBool::new(false));
    let mut thread = ManagerThread {
        poll,
        control,
        input: Vec::new(),
        unsent: Vec::new(),
        auth_listener: Some(auth_listener),
        openings: Openings::new(OWN, secret, congestion, within),
        coordinator,
        calls,
        calls_sent_ns: 0,
        orders: ordered,
        news: tells,
        has_news: Arc::clone(&has_news),
        wakes,
        rank,
        is_over: false,
        is_exhausted: false,
    };
    std::thread::Builder::new()
        .name("porter".to_owned())
        .spawn(move || thread.run_loop())?;
    let manager = ConnectionManager {
        orders,
        waker,
        news,
        has_news,
    };
    Ok((manager, address))
}

impl ConnectionManager {
    /// Gives an order.
    pub(super) fn send_command(&self, order: ManagerCommand) {
        // Without the thread there is no coordinator, and the process is about to end.
        let _ = self.orders.send(order);
        let _ = self.waker.wake();
    }

    /// The next piece of news; cheap when there is none.
    pub(super) fn news(&self) -> Option<ManagerEvent> {
        if !self.has_news.load(Ordering::Acquire) {
            return None;
        }
        match self.news.try_recv() {
            Ok(news) => Some(news),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                self.has_news.store(false, Ordering::Release);
                // Something may have come before the flag was taken back.
                self.news.try_recv().ok()
            }
        }
    }

    /// Waits for the next piece of news.
    pub(super) fn wait_for_event(&self) -> Option<ManagerEvent> {
        self.news.recv().ok()
    }
}

impl ManagerThread {
    fn run_loop(&mut self) {
        let mut events = Events::with_capacity(256);
        loop {
            let registry = self.poll.registry();
            let auth_listener = self.auth_listener.as_mut();
            let auth_listener =
                auth_listener.and_then(|auth_listener| auth_listener.expire_handshakes(registry));
            let (ended, opening) = self.openings.expire_attempts(registry);
            self.tell_all(ended);
            // A moment more, so that the deadline has passed then.
            let timeout = auth_listener.into_iter().chain(opening).min();
            let timeout = timeout.map(|span| span + Duration::from_millis(1));
            let period = self.calls.as_ref().map(|_| PERIOD);
            let timeout = timeout.into_iter().chain(period).min();
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => std::process::exit(STOPPED),
            }
            for event in &events {
                self.handle_event(event);
            }
            if self.is_over {
                return;
            }
            if self.calls.is_some()
                && clock::seconds_since(self.calls_sent_ns) >= PERIOD.as_secs_f64()
            {
                self.calls_sent_ns = clock::monotonic_ns();
                self.send_calls();
                self.speak();
            }
            self.tell_of_descriptors();
        }
    }

    /// Writes one warning if no descriptor is left for connections of other processes.
    fn tell_of_descriptors(&mut self) {
        let exhausted = self
            .auth_listener
            .as_ref()
            .map_or(0, |auth_listener| auth_listener.tally().exhausted);
        if exhausted > 0 && !std::mem::replace(&mut self.is_exhausted, true) {
            let text = format!(
                "warning: rank {}: no file descriptor is left for connections of others: expected \
                 more than ulimit -n allows, or fewer ranks\n",
                self.rank
            );
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }

    fn report_event(&self, news: ManagerEvent) {
        let _ = self.news.send(news);
        self.has_news.store(true, Ordering::Release);
        let _ = self.wakes.wake();
    }

    fn tell_all(&self, ended: impl IntoIterator<Item = (ConnectionId, Opened)>) {
        for (connection, opened) in ended {
            self.report_event(match opened {
                Ok(stream) => ManagerEvent::Connected(connection, stream),
                Err(error) => ManagerEvent::NotConnected(connection, error),
            });
        }
    }

    fn handle_event(&mut self, event: &Event) {
        match event.token() {
            WAKE => self.take_orders(),
            CONTROL => self.receive_messages(),
            token if token.0 < OWN => {
                let (news, has_news, wakes) = (&self.news, &self.has_news, &self.wakes);
                if let Some(auth_listener) = &mut self.auth_listener {
                    auth_listener.handle_event(self.poll.registry(), event, &mut |stream| {
                        let _ = news.send(ManagerEvent::Accepted(stream));
                        has_news.store(true, Ordering::Release);
                        let _ = wakes.wake();
                    });
                }
            }
            token => {
                let ended = self.openings.continue_opening(self.poll.registry(), token);
                self.tell_all(ended);
            }
        }
    }

    fn take_orders(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                ManagerCommand::Connect {
                    connection,
                    peer,
                    address,
                } => {
                    let to = (connection, peer, address);
                    let ended = self.openings.open_socket(self.poll.registry(), to);
                    self.tell_all(ended);
                }
                ManagerCommand::Shut => self.auth_listener = None,
                ManagerCommand::SendToCoordinator(message) => {
                    // The end of a rank comes after its calls.
                    self.send_calls();
                    self.unsent.extend(control::encode(&message));
                    self.speak();
                }
            }
        }
    }

    /// Appends the collective calls of the rank to the data for the coordinator.
    fn send_calls(&mut self) {
        if let Some(batch) = self.calls.as_ref().and_then(|calls| calls.take_batch()) {
            self.unsent
                .extend(control::encode(&RankMessage::Calls(batch)));
        }
    }

    /// Reads messages of the coordinator, and writes the data that could not be written before.
    fn receive_messages(&mut self) {
        self.speak();
        let ended = self.read_available();
        loop {
            match control::decode_message(&mut self.input) {
                Ok(Some(CoordinatorMessage::Lost { rank })) => {
                    self.report_event(ManagerEvent::Lost(rank));
                }
                Ok(Some(CoordinatorMessage::Over)) => {
                    self.is_over = true;
                    self.report_event(ManagerEvent::Over);
                    // A coordinator that ends stops all ranks, also those that are over.
                    break;
                }
                Ok(Some(book @ CoordinatorMessage::AddressList { .. })) => {
                    self.report_event(ManagerEvent::AddressList(book));
                }
                Ok(Some(CoordinatorMessage::Stop)) => descendants::exit_with(STOPPED),
                Err(error) => self.alone(&format!("it says what no coordinator says: {error}")),
                Ok(None) => break,
            }
        }
        // The last word may have come together with the end.
        if self.is_over {
            return;
        }
        match ended {
            None => {}
            Some(Ok(())) => self.alone("it has ended, or closed the connection"),
            Some(Err(error)) if is_silence(&error) => {
                self.alone(&format!("no answer over the network: {error}"));
            }
            Some(Err(error)) => self.alone(&format!("the connection broke: {error}")),
        }
    }

    /// Ends the process without a coordinator, with the reason on standard error: no other process
    /// could report it. A coordinator in this process closes its connections while it ends the
    /// process with the status of the run: this function waits for that end.
    fn alone(&self, why: &str) -> ! {
        let Some(coordinator) = &self.coordinator else {
            loop {
                std::thread::park();
            }
        };
        let text = format!(
            "error: rank {}: lost {coordinator}: {why}; this rank ends\n",
            self.rank
        );
        let _ = io::stderr().lock().write_all(text.as_bytes());
        descendants::exit_with(STOPPED)
    }

    /// Reads all available data. Returns the end of the connection, if the connection has ended.
    fn read_available(&mut self) -> Option<io::Result<()>> {
        let mut chunk = [0; 4096];
        loop {
            match self.control.read(&mut chunk) {
                Ok(0) => return Some(Ok(())),
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn speak(&mut self) {
        while !self.unsent.is_empty() {
            match self.control.write(&self.unsent) {
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Told again when there is room, or read as the end.
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_rank_that_is_over_is_not_stopped() {
        let coordinator = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = coordinator.local_addr().unwrap();
        let control = std::net::TcpStream::connect(address).unwrap();
        let (mut coordinator, _) = coordinator.accept().unwrap();
        let messages = [CoordinatorMessage::Over, CoordinatorMessage::Stop];
        let bytes = messages.each_ref().map(control::encode).concat();
        coordinator.write_all(&bytes).unwrap();
        let poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), WAKE).unwrap());
        let listeners = ListenerOptions {
            rank: 1,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            congestion: None,
            within: Duration::from_secs(1),
            coordinator: Some("rank 0".to_owned()),
            calls: None,
        };
        let secret = RunSecret::random().unwrap();
        let (manager, _) = start_manager(control, listeners, &secret, waker).unwrap();
        // A rank that is stopped ends this process.
        assert!(matches!(manager.wait_for_event(), Some(ManagerEvent::Over)));
        assert!(manager.wait_for_event().is_none());
    }
}
