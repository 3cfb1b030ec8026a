//! A listener and the connections to it that have not authenticated yet.
//!
//! A connection has [`HANDSHAKE_TIMEOUT`] for its handshake, and costs 56 bytes until then. At most
//! [`HANDSHAKES_MAX`] connections, or an eighth of the descriptors, may be in their handshake at
//! once. For one more, the listener closes the oldest connection of the address with most of them,
//! so that half-open connections of some addresses cannot keep others out. After authentication,
//! the listener hands a connection over and never closes it. The connection of an honest process
//! may be closed in its handshake when others come from its own address: the process tries again.
//!
//! If no descriptor is left for one more, the same connection is closed; if there is none, the
//! listener rests for [`REST`].
//!
//! No action of a foreign process is an error of the run. [`HandshakeCounters`] are reported when
//! ranks do not connect.
//!
//! *Not modelled*: the number of connections that the system keeps before they are accepted;
//! further connections have to try again.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use rustix::io::Errno;

use super::auth::{ConnectionPurpose, Handshake, RunSecret, Side};
use super::{clock, congestion, descriptors};

/// The time that a handshake may take.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of strangers may try at once.
pub(super) const HANDSHAKES_MAX: usize = 128;

/// Number of connections that are taken from the listener before others get a turn.
const ACCEPTS_MAX: usize = 64;

/// Number of connections that the system keeps until they are accepted, if the system allows this
/// number (`net.core.somaxconn`). The system of the other side tries a further connection again
/// after 1 s.
const BACKLOG: i32 = 4096;

/// The time without accepting when no descriptor is left.
const REST: Duration = Duration::from_millis(100);

/// The connections that have not authenticated, over the life of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct HandshakeCounters {
    /// Connections with invalid data, or that ended before they had authenticated.
    pub failed: u64,
    /// Connections that took longer than [`HANDSHAKE_TIMEOUT`].
    pub late: u64,
    /// Connections that were closed to make room for others.
    pub evicted: u64,
    /// Number of times that no descriptor was left for a new connection and none could be closed.
    pub exhausted: u64,
}

impl fmt::Display for HandshakeCounters {
    /// Writes a clause of a message; empty if all counters are 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.failed + self.late + self.evicted;
        if all > 0 {
            write!(
                f,
                "{all} connections failed the authentication, {} of them closed to make room for others",
                self.evicted
            )?;
        }
        if self.exhausted > 0 {
            let separator = if all > 0 { "; " } else { "" };
            write!(
                f,
                "{separator}out of file descriptors for further connections (ulimit -n)"
            )?;
        }
        Ok(())
    }
}

/// A socket during its handshake.
#[derive(Debug)]
pub(super) struct PendingHandshake {
    pub stream: TcpStream,
    handshake: Handshake,
    unsent: Vec<u8>,
    deadline_ns: u64,
    network: [u8; 8],
}

/// Progress of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HandshakeState {
    /// Not finished.
    Pending,
    /// The other side belongs to the run.
    Known,
    /// The other side does not belong to the run, or is gone.
    Gone,
}

impl PendingHandshake {
    /// Begins a handshake on a socket to this peer.
    pub(super) fn new(
        (stream, peer): (TcpStream, IpAddr),
        side: Side,
        purpose: ConnectionPurpose,
        secret: &RunSecret,
    ) -> io::Result<Self> {
        let mut handshake = Handshake::new(side, purpose, secret)?;
        Ok(Self {
            stream,
            unsent: handshake.take_output(),
            handshake,
            deadline_ns: clock::after(HANDSHAKE_TIMEOUT),
            network: network_key(peer),
        })
    }

    /// Continues as far as possible.
    pub(super) fn go_on(&mut self) -> HandshakeState {
        match self.try_go_on() {
            Ok(true) => HandshakeState::Known,
            Ok(false) => HandshakeState::Pending,
            Err(error) if error.kind() == ErrorKind::WouldBlock => HandshakeState::Pending,
            Err(_) => HandshakeState::Gone,
        }
    }

    fn try_go_on(&mut self) -> io::Result<bool> {
        loop {
            while !self.unsent.is_empty() {
                let written = self.stream.write(&self.unsent)?;
                self.unsent.drain(..written);
            }
            if self.handshake.is_done() {
                return Ok(true);
            }
            let count = self.stream.read(self.handshake.space())?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if self.handshake.filled(count).is_err() {
                return Err(ErrorKind::PermissionDenied.into());
            }
            self.unsent = self.handshake.take_output();
        }
    }
}

/// Returns the key of an address for limits: an address of IPv4, or the network of a host in IPv6,
/// which has 2^64 addresses to come from.
fn network_key(address: IpAddr) -> [u8; 8] {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            [0, 0, 0, 0, a, b, c, d]
        }
        IpAddr::V6(address) => {
            let [network @ .., _, _, _, _, _, _, _, _] = address.octets();
            network
        }
    }
}

/// A listener with the connections that have not authenticated.
#[derive(Debug)]
pub(super) struct AuthListener {
    listener: TcpListener,
    secret: RunSecret,
    purpose: ConnectionPurpose,
    /// The token of the listener; the tokens of pending connections follow.
    first: usize,
    pending_handshakes: Vec<Option<PendingHandshake>>,
    tally: HandshakeCounters,
    /// The listener accepts no connection before this time.
    rests_until_ns: Option<u64>,
}

impl AuthListener {
    /// Opens a listener; it uses the tokens from `first` to `first +` [`HANDSHAKES_MAX`].
    pub(super) fn open_listener(
        registry: &Registry,
        first: usize,
        address: SocketAddr,
        purpose: ConnectionPurpose,
        secret: &RunSecret,
    ) -> io::Result<Self> {
        let mut listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        registry.register(&mut listener, Token(first), Interest::READABLE)?;
        Ok(Self {
            listener,
            secret: secret.clone(),
            purpose,
            first,
            pending_handshakes: (0..descriptors::for_pending_handshakes(HANDSHAKES_MAX))
                .map(|_| None)
                .collect(),
            tally: HandshakeCounters::default(),
            rests_until_ns: None,
        })
    }

    /// The connections that have not authenticated.
    pub(super) const fn tally(&self) -> HandshakeCounters {
        self.tally
    }

    /// Returns the address of the listener.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whoever is let in from now on gets a socket with the congestion control of this name.
    pub(super) fn set_congestion(&self, name: &str) -> io::Result<()> {
        congestion::set(&self.listener, name)
    }

    /// Returns true if an event belongs to this listener.
    pub(super) const fn owns(&self, token: Token) -> bool {
        self.first <= token.0 && token.0 <= self.first + HANDSHAKES_MAX
    }

    /// Handles an event; `known` takes the sockets of processes of the run.
    pub(super) fn handle_event(
        &mut self,
        registry: &Registry,
        event: &Event,
        known: &mut impl FnMut(TcpStream),
    ) {
        if event.token().0 == self.first {
            return self.accept(registry, known);
        }
        self.go_on(registry, event.token().0 - self.first - 1, known);
    }

    fn go_on(&mut self, registry: &Registry, place: usize, known: &mut impl FnMut(TcpStream)) {
        let Some(pending_handshake) = &mut self.pending_handshakes[place] else {
            return;
        };
        let progress = pending_handshake.go_on();
        if progress == HandshakeState::Pending {
            return;
        }
        if let Some(mut pending_handshake) = self.pending_handshakes[place].take() {
            let removed = registry.deregister(&mut pending_handshake.stream);
            if progress == HandshakeState::Known && removed.is_ok() {
                known(pending_handshake.stream);
            } else {
                self.tally.failed += 1;
            }
        }
    }

    fn accept(&mut self, registry: &Registry, known: &mut impl FnMut(TcpStream)) {
        if self.rests_until_ns.is_some() {
            return;
        }
        for _ in 0..ACCEPTS_MAX {
            match self.listener.accept() {
                Ok((stream, peer)) => self.admit(registry, (stream, peer.ip()), known),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_exhausted(&error) => {
                    if !self.evict() {
                        self.tally.exhausted += 1;
                        self.rests_until_ns = Some(clock::after(REST));
                        return;
                    }
                }
                // A connection that was gone before it was accepted.
                Err(_) => {}
            }
        }
        self.look_again(registry);
    }

    /// Lets the system report waiting connections again: it reports each connection only once.
    fn look_again(&mut self, registry: &Registry) {
        let _ = registry.reregister(&mut self.listener, Token(self.first), Interest::READABLE);
    }

    fn admit(
        &mut self,
        registry: &Registry,
        stream: (TcpStream, IpAddr),
        known: &mut impl FnMut(TcpStream),
    ) {
        let pending_handshake =
            PendingHandshake::new(stream, Side::Accepts, self.purpose, &self.secret);
        let Ok(mut pending_handshake) = pending_handshake else {
            return;
        };
        if self.pending_handshakes.iter().all(Option::is_some) {
            self.evict();
        }
        let Some(place) = self.pending_handshakes.iter().position(Option::is_none) else {
            return;
        };
        let both = Interest::READABLE | Interest::WRITABLE;
        let token = Token(self.first + 1 + place);
        if registry
            .register(&mut pending_handshake.stream, token, both)
            .is_ok()
        {
            self.pending_handshakes[place] = Some(pending_handshake);
            self.go_on(registry, place, known);
        }
    }

    /// Closes the oldest connection of the address that has most; false if there is none.
    fn evict(&mut self) -> bool {
        let all = (0..).zip(&self.pending_handshakes);
        let all = all.filter_map(|(place, pending_handshake)| {
            let pending_handshake = pending_handshake.as_ref()?;
            Some((
                pending_handshake.network,
                pending_handshake.deadline_ns,
                place,
            ))
        });
        let Some(place) = oldest_of_busiest(all) else {
            return false;
        };
        self.pending_handshakes[place] = None;
        self.tally.evicted += 1;
        true
    }

    /// Closes the connections that took too long. Returns the time until the next call is due.
    pub(super) fn expire_handshakes(&mut self, registry: &Registry) -> Option<Duration> {
        let now = clock::monotonic_ns();
        for place in &mut self.pending_handshakes {
            if place.as_ref().is_some_and(|known| known.deadline_ns <= now) {
                *place = None;
                self.tally.late += 1;
            }
        }
        if self.rests_until_ns.is_some_and(|until_ns| until_ns <= now) {
            self.rests_until_ns = None;
            self.look_again(registry);
        }
        let deadlines = self.pending_handshakes.iter().flatten();
        let deadlines = deadlines.map(|known| known.deadline_ns);
        let next = deadlines.chain(self.rests_until_ns).min();
        next.map(clock::until)
    }
}

/// True if the process or the system has no descriptor or memory left for a socket.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    let known = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| known.contains(&error))
}

/// The place of the oldest one of the address that has most, of (address, date, place); of
/// addresses that have as many, the one with the oldest.
fn oldest_of_busiest(all: impl Iterator<Item = ([u8; 8], u64, usize)>) -> Option<usize> {
    let mut addresses: BTreeMap<[u8; 8], (usize, (u64, usize))> = BTreeMap::new();
    for (address, date, place) in all {
        let (count, oldest) = addresses.entry(address).or_insert((0, (date, place)));
        *count += 1;
        *oldest = (*oldest).min((date, place));
    }
    let busiest = addresses
        .into_values()
        .min_by_key(|&(count, oldest)| (std::cmp::Reverse(count), oldest));
    busiest.map(|(_, (_, place))| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_connection_of_the_busiest_address_makes_room() {
        let place = |all: &[(&str, u64)]| {
            let all = (0..).zip(all).map(|(place, &(address, date))| {
                (network_key(address.parse().unwrap()), date, place)
            });
            oldest_of_busiest(all)
        };
        assert_eq!(place(&[]), None);
        let flood = [("10.0.0.1", 1), ("10.0.0.2", 3), ("10.0.0.2", 2)];
        assert_eq!(place(&flood), Some(2), "not the oldest of all");
        assert_eq!(place(&flood[..2]), Some(0));
        let same = [("::ffff:10.0.0.2", 7), ("10.0.0.1", 1), ("10.0.0.2", 8)];
        assert_eq!(place(&same), Some(0));
        let host = [("2001:db8::1", 7), ("10.0.0.1", 1), ("2001:db8::ff:2", 8)];
        assert_eq!(place(&host), Some(0), "one host of IPv6 has many addresses");
    }
}
