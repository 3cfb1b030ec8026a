//! The thread of a rank that opens doors: it listens, takes strangers through their handshake, connects to others, and hears the coordinator.
//!
//! It is a thread of its own, because a rank that computes does not look at its sockets: others could not tell such a rank from one that is
//! gone, and would have to wait, or give up, in the middle of a handshake. What it hands over are sockets whose other end is known. While
//! nobody connects it sleeps and costs nothing.
//!
//! When the coordinator says so, or is gone, the process ends here, whatever its program does.

use std::collections::BTreeMap;
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

use super::auth::{Purpose, Secret, Side};
use super::congestion;
use super::control::{self, FromRank, ToRank};
use super::gate::{Gate, Progress, STRANGERS_MAX, Stranger};

/// What the rank wants.
#[derive(Debug)]
pub(super) enum Order {
    /// A socket to another rank.
    Connect {
        /// What the socket will be for.
        connection: ConnectionId,
        /// The other rank.
        peer: u32,
        /// Where it listens.
        address: SocketAddr,
    },
    /// Nobody else is let in.
    Shut,
    /// Something for the coordinator.
    Tell(FromRank),
}

/// What the rank gets to know.
#[derive(Debug)]
pub(super) enum News {
    /// A socket that it wanted.
    Connected(ConnectionId, TcpStream),
    /// A socket that it wanted could not be opened.
    NotConnected(ConnectionId),
    /// Somebody of the run has connected.
    Accepted(TcpStream),
    /// All ranks are here.
    Book(ToRank),
    /// A rank is lost.
    Lost(u32),
    /// Nobody needs this rank any more.
    Over,
}

/// The rank's end.
#[derive(Debug)]
pub(super) struct Porter {
    orders: Sender<Order>,
    waker: Waker,
    news: Receiver<News>,
    /// There is news.
    has_news: Arc<AtomicBool>,
}

const WAKE: Token = Token(0);
const CONTROL: Token = Token(1);
/// The gate's listener and strangers.
const GATE: usize = 2;
/// Sockets that are being opened: after the gate, by connection.
const OWN: usize = GATE + STRANGERS_MAX + 1;

/// The thread's end.
struct Thread {
    poll: Poll,
    control: TcpStream,
    input: Vec<u8>,
    unsent: Vec<u8>,
    gate: Option<Gate>,
    opening: BTreeMap<ConnectionId, Opening>,
    secret: Secret,
    /// The congestion control that was asked for.
    congestion: Option<String>,
    orders: Receiver<Order>,
    news: Sender<News>,
    has_news: Arc<AtomicBool>,
    rank: Arc<Waker>,
    is_over: bool,
}

/// A socket that is being opened.
struct Opening {
    peer: u32,
    stage: Stage,
}

enum Stage {
    Connecting(TcpStream),
    Handshake(Stranger),
}

/// Why the thread ends the process.
const STOPPED: i32 = 1;

/// Starts the thread; `address` is where others are to be let in, and sockets to and from them get the congestion control of that name, if there is
/// one. Also says at which address exactly.
///
/// # Errors
/// If the address cannot be listened at, sockets cannot have that, or there is no thread to be had.
pub(super) fn start(
    control: std::net::TcpStream,
    (rank, address, congestion): (u32, SocketAddr, Option<&str>),
    secret: &Secret,
    wakes: Arc<Waker>,
) -> io::Result<(Porter, SocketAddr)> {
    let poll = Poll::new()?;
    control.set_nonblocking(true)?;
    let mut control = TcpStream::from_std(control);
    let registry = poll.registry();
    registry.register(
        &mut control,
        CONTROL,
        Interest::READABLE | Interest::WRITABLE,
    )?;
    let gate = Gate::open(registry, GATE, address, Purpose::Rank(rank), secret)?;
    if let Some(name) = congestion {
        gate.set_congestion(name)?;
    }
    let address = gate.address()?;
    let waker = Waker::new(registry, WAKE)?;
    let (orders, ordered) = channel();
    let (tells, news) = channel();
    let has_news = Arc::new(AtomicBool::new(false));
    let mut thread = Thread {
        poll,
        control,
        input: Vec::new(),
        unsent: Vec::new(),
        gate: Some(gate),
        opening: BTreeMap::new(),
        secret: secret.clone(),
        congestion: congestion.map(str::to_owned),
        orders: ordered,
        news: tells,
        has_news: Arc::clone(&has_news),
        rank: wakes,
        is_over: false,
    };
    std::thread::Builder::new()
        .name("porter".to_owned())
        .spawn(move || thread.run())?;
    let porter = Porter {
        orders,
        waker,
        news,
        has_news,
    };
    Ok((porter, address))
}

impl Porter {
    /// Gives an order.
    pub(super) fn order(&self, order: Order) {
        // Without the thread there is no coordinator, and the process is about to end.
        let _ = self.orders.send(order);
        let _ = self.waker.wake();
    }

    /// The next piece of news; cheap when there is none.
    pub(super) fn news(&self) -> Option<News> {
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
    pub(super) fn wait(&self) -> Option<News> {
        self.news.recv().ok()
    }
}

impl Thread {
    fn run(&mut self) {
        let mut events = Events::with_capacity(256);
        loop {
            let timeout = self.gate.as_mut().and_then(Gate::expire);
            // A moment more, so that the deadline has passed then.
            let timeout = timeout.map(|span| span + Duration::from_millis(1));
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => std::process::exit(STOPPED),
            }
            for event in &events {
                self.handle(event);
            }
            if self.is_over {
                return;
            }
        }
    }

    fn tell(&self, news: News) {
        let _ = self.news.send(news);
        self.has_news.store(true, Ordering::Release);
        let _ = self.rank.wake();
    }

    fn handle(&mut self, event: &Event) {
        match event.token() {
            WAKE => self.take_orders(),
            CONTROL => self.hear(),
            token if token.0 < OWN => {
                let (news, has_news, rank) = (&self.news, &self.has_news, &self.rank);
                if let Some(gate) = &mut self.gate {
                    gate.handle(self.poll.registry(), event, &mut |stream| {
                        let _ = news.send(News::Accepted(stream));
                        has_news.store(true, Ordering::Release);
                        let _ = rank.wake();
                    });
                }
            }
            Token(token) => {
                let connection = ConnectionId::try_from(token - OWN);
                self.go_on(connection.expect("connections have numbers of 32 bits"));
            }
        }
    }

    fn take_orders(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Connect {
                    connection,
                    peer,
                    address,
                } => self.connect(connection, peer, address),
                Order::Shut => self.gate = None,
                Order::Tell(message) => {
                    self.unsent.extend(control::encode(&message));
                    self.speak();
                }
            }
        }
    }

    fn connect(&mut self, connection: ConnectionId, peer: u32, address: SocketAddr) {
        let token = Token(OWN + connection as usize);
        let both = Interest::READABLE | Interest::WRITABLE;
        let stream = congestion::connect(address, self.congestion.as_deref());
        let stream = stream.and_then(|mut stream| {
            self.poll.registry().register(&mut stream, token, both)?;
            Ok(stream)
        });
        match stream {
            Ok(stream) => {
                let stage = Stage::Connecting(stream);
                self.opening.insert(connection, Opening { peer, stage });
            }
            Err(_) => self.tell(News::NotConnected(connection)),
        }
    }

    fn go_on(&mut self, connection: ConnectionId) {
        let Some(Opening { peer, mut stage }) = self.opening.remove(&connection) else {
            return;
        };
        if let Stage::Connecting(stream) = stage {
            match connected(&stream) {
                Ok(true) => {}
                Ok(false) => {
                    let stage = Stage::Connecting(stream);
                    self.opening.insert(connection, Opening { peer, stage });
                    return;
                }
                Err(_) => return self.tell(News::NotConnected(connection)),
            }
            let purpose = Purpose::Rank(peer);
            match Stranger::new(stream, Side::Connects, purpose, &self.secret) {
                Ok(stranger) => stage = Stage::Handshake(stranger),
                Err(_) => return self.tell(News::NotConnected(connection)),
            }
        }
        let Stage::Handshake(mut stranger) = stage else {
            unreachable!("a socket is connected or in its handshake");
        };
        match stranger.go_on() {
            Progress::Pending => {
                let stage = Stage::Handshake(stranger);
                self.opening.insert(connection, Opening { peer, stage });
            }
            Progress::Known if self.release(&mut stranger.stream) => {
                self.tell(News::Connected(connection, stranger.stream));
            }
            Progress::Known | Progress::Gone => self.tell(News::NotConnected(connection)),
        }
    }

    fn release(&self, stream: &mut TcpStream) -> bool {
        self.poll.registry().deregister(stream).is_ok()
    }

    /// Hears the coordinator, and says what could not be said before.
    fn hear(&mut self) {
        self.speak();
        let ended = self.read();
        loop {
            match control::decode(&mut self.input) {
                Ok(Some(ToRank::Lost { rank })) => self.tell(News::Lost(rank)),
                Ok(Some(ToRank::Over)) => {
                    self.is_over = true;
                    self.tell(News::Over);
                }
                Ok(Some(book @ ToRank::Book { .. })) => self.tell(News::Book(book)),
                Ok(Some(ToRank::Stop)) | Err(_) => std::process::exit(STOPPED),
                Ok(None) => break,
            }
        }
        // The last word may have come together with the end.
        if ended && !self.is_over {
            std::process::exit(STOPPED);
        }
    }

    /// Reads what there is; whether that is all that ever comes.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.control.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
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

/// Whether a socket is connected; false while that goes on.
///
/// # Errors
/// If it will not be.
fn connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
