//! Sockets to other ranks while they are being opened: connect, handshake, and another attempt
//! after a failure.
//!
//! If foreign processes crowd a listener, the listener may close an honest connection in its
//! handshake, or the system may drop this connection. So after an attempt that fails or takes
//! longer than the other side waits, another attempt follows, until the time is over. If the
//! address of a rank refuses connections, the rank has ended, or has closed its listener: this
//! failure is final, and so is a lack of file descriptors in this process.
//!
//! *Not modelled*: a firewall that refuses connections for a while.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use mpi::connection::ConnectionId;

use super::arrival::{closed, pause_after};
use super::auth::{ConnectionPurpose, RunSecret, Side};
use super::auth_listener::{HANDSHAKE_TIMEOUT, HandshakeState, PendingHandshake, is_exhausted};
use super::{clock, congestion};

/// An authenticated socket, or the last reason why there is none.
pub(super) type Opened = io::Result<TcpStream>;

/// The sockets of a rank that are being opened.
#[derive(Debug)]
pub(super) struct Openings {
    /// The token of connection 0.
    first: usize,
    secret: RunSecret,
    congestion: Option<String>,
    within: Duration,
    all: BTreeMap<ConnectionId, PendingConnect>,
}

#[derive(Debug)]
struct PendingConnect {
    peer: u32,
    address: SocketAddr,
    stage: OpeningStage,
    /// When the stage is over: the next attempt, or the end of this one.
    until_ns: u64,
    /// When there are no more attempts.
    deadline_ns: u64,
    pause: Option<Duration>,
    attempts: u32,
}

#[derive(Debug)]
enum OpeningStage {
    Waiting,
    Connecting(TcpStream),
    Handshake(PendingHandshake),
}

impl Openings {
    /// Returns an empty set; the socket of connection `c` will have the token `first + c`.
    pub(super) fn new(
        first: usize,
        secret: &RunSecret,
        congestion: Option<String>,
        within: Duration,
    ) -> Self {
        Self {
            first,
            secret: secret.clone(),
            congestion,
            within,
            all: BTreeMap::new(),
        }
    }

    /// Begins to open a socket. Returns the result if it is already known.
    pub(super) fn open_socket(
        &mut self,
        registry: &Registry,
        (connection, peer, address): (ConnectionId, u32, SocketAddr),
    ) -> Option<(ConnectionId, Opened)> {
        let opening = PendingConnect {
            peer,
            address,
            stage: OpeningStage::Waiting,
            until_ns: 0,
            deadline_ns: clock::after(self.within),
            pause: None,
            attempts: 0,
        };
        self.all.insert(connection, opening);
        self.attempt(registry, connection)
    }

    /// Continues with the socket of a token.
    pub(super) fn continue_opening(
        &mut self,
        registry: &Registry,
        token: Token,
    ) -> Option<(ConnectionId, Opened)> {
        let connection = ConnectionId::try_from(token.0 - self.first);
        let connection = connection.expect("connections have numbers of 32 bits");
        match self.go_on(registry, connection) {
            Ok(None) => None,
            Ok(Some(stream)) => {
                self.all.remove(&connection);
                Some((connection, Ok(stream)))
            }
            Err(error) => self.retry_attempt(connection, error),
        }
    }

    /// Ends attempts that take too long and begins attempts that are due. Returns the results, and
    /// the time until the next call is due.
    pub(super) fn expire_attempts(
        &mut self,
        registry: &Registry,
    ) -> (Vec<(ConnectionId, Opened)>, Option<Duration>) {
        let now = clock::monotonic_ns();
        let due = self.all.iter().filter(|(_, one)| one.until_ns <= now);
        let due: Vec<ConnectionId> = due.map(|(&connection, _)| connection).collect();
        let mut ended = Vec::new();
        for connection in due {
            ended.extend(match self.all[&connection].stage {
                OpeningStage::Waiting => self.attempt(registry, connection),
                _ => self.retry_attempt(connection, ErrorKind::TimedOut.into()),
            });
        }
        let next = self.all.values().map(|one| one.until_ns).min();
        (ended, next.map(clock::until))
    }

    fn attempt(
        &mut self,
        registry: &Registry,
        connection: ConnectionId,
    ) -> Option<(ConnectionId, Opened)> {
        let token = Token(self.first + connection as usize);
        let opening = self.all.get_mut(&connection)?;
        opening.attempts += 1;
        opening.until_ns = clock::after(HANDSHAKE_TIMEOUT).min(opening.deadline_ns);
        let both = Interest::READABLE | Interest::WRITABLE;
        let stream = congestion::connect(opening.address, self.congestion.as_deref());
        let registered = stream.and_then(|mut stream| {
            registry.register(&mut stream, token, both)?;
            Ok(stream)
        });
        match registered {
            Ok(stream) => {
                opening.stage = OpeningStage::Connecting(stream);
                None
            }
            Err(error) => self.retry_attempt(connection, error),
        }
    }

    /// Returns the socket if it is open now; `None` while opening takes time.
    fn go_on(
        &mut self,
        registry: &Registry,
        connection: ConnectionId,
    ) -> io::Result<Option<TcpStream>> {
        let Some(opening) = self.all.get_mut(&connection) else {
            return Ok(None);
        };
        if let OpeningStage::Connecting(stream) = &opening.stage
            && !is_connected(stream)?
        {
            return Ok(None);
        }
        let (purpose, peer) = (ConnectionPurpose::Rank(opening.peer), opening.address.ip());
        let mut pending_handshake =
            match std::mem::replace(&mut opening.stage, OpeningStage::Waiting) {
                OpeningStage::Waiting => return Ok(None),
                OpeningStage::Connecting(stream) => {
                    PendingHandshake::new((stream, peer), Side::Connects, purpose, &self.secret)?
                }
                OpeningStage::Handshake(pending_handshake) => pending_handshake,
            };
        match pending_handshake.go_on() {
            HandshakeState::Pending => {
                opening.stage = OpeningStage::Handshake(pending_handshake);
                Ok(None)
            }
            HandshakeState::Known => {
                registry.deregister(&mut pending_handshake.stream)?;
                Ok(Some(pending_handshake.stream))
            }
            HandshakeState::Gone => Err(closed()),
        }
    }

    /// Lets an attempt be followed by another, or gives up.
    fn retry_attempt(
        &mut self,
        connection: ConnectionId,
        error: io::Error,
    ) -> Option<(ConnectionId, Opened)> {
        let opening = self.all.get_mut(&connection)?;
        let pause = pause_after(opening.pause);
        let is_final = error.kind() == ErrorKind::ConnectionRefused || is_exhausted(&error);
        if is_final || clock::until(opening.deadline_ns) <= pause {
            let opening = self.all.remove(&connection)?;
            let text = format!(
                "no connection to rank {} at {} ({} attempts): {error}",
                opening.peer, opening.address, opening.attempts
            );
            return Some((connection, Err(io::Error::new(error.kind(), text))));
        }
        opening.stage = OpeningStage::Waiting;
        opening.pause = Some(pause);
        opening.until_ns = clock::after(pause);
        None
    }
}

/// True if a socket is connected; false while that takes time.
fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use mio::{Events, Poll};

    use super::super::arrival::tests::accept_peer;
    use super::*;

    /// Opens a connection to `address`.
    fn opened(
        address: SocketAddr,
        secret: &RunSecret,
        within: Duration,
        poll: &mut Poll,
    ) -> Opened {
        let mut openings = Openings::new(1000, secret, None, within);
        let mut events = Events::with_capacity(64);
        let mut ended = openings.open_socket(poll.registry(), (3, 7, address));
        loop {
            let (expired, next) = openings.expire_attempts(poll.registry());
            if let Some((connection, opened)) = ended.or(expired.into_iter().next()) {
                assert_eq!((connection, openings.all.len()), (3, 0));
                return opened;
            }
            ended = None;
            poll.poll(&mut events, next).unwrap();
            for event in &events {
                ended = openings.continue_opening(poll.registry(), event.token());
            }
        }
    }

    #[test]
    fn a_connection_that_is_closed_in_its_handshake_is_tried_again() {
        let secret = RunSecret::random().unwrap();
        let mut poll = Poll::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let hour = Duration::from_secs(3600);
        std::thread::scope(|scope| {
            scope.spawn(|| accept_peer(&listener, (ConnectionPurpose::Rank(7), &secret), 3));
            opened(address, &secret, hour, &mut poll).unwrap();
        });
    }

    #[test]
    fn a_rank_that_does_not_listen_any_more_is_told_at_once_and_by_name() {
        let secret = RunSecret::random().unwrap();
        let mut poll = Poll::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let hour = Duration::from_secs(3600);
        let error = opened(address, &secret, hour, &mut poll).unwrap_err();
        let told = format!("no connection to rank 7 at {address} (1 attempts): ");
        assert!(error.to_string().starts_with(&told), "{error}");
    }
}
