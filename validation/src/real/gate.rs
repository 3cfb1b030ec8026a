//! A listener and those who have not shown yet that they belong to the run.
//!
//! Whoever connects has [`PATIENCE`] to get through the handshake, and keeps 56 bytes of ours until then. At most [`STRANGERS_MAX`] may try at
//! once; when one more comes, the one that has tried longest is sent away, so that half-open connections cannot keep others out.
//! Nothing that a stranger does is an error of the run.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};

use super::auth::{Handshake, Purpose, Secret, Side};
use super::{clock, congestion};

/// How long a stranger may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How many strangers may try at once.
pub(super) const STRANGERS_MAX: usize = 128;

/// How many connections are taken from the listener before others get a turn.
const ACCEPTS_MAX: usize = 64;

/// A socket in its handshake.
#[derive(Debug)]
pub(super) struct Stranger {
    pub stream: TcpStream,
    handshake: Handshake,
    unsent: Vec<u8>,
    deadline_ns: u64,
}

/// How far a handshake is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It goes on.
    Pending,
    /// The other side belongs to the run.
    Known,
    /// It does not, or is gone.
    Gone,
}

impl Stranger {
    /// Begins a handshake on a socket.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(super) fn new(
        stream: TcpStream,
        side: Side,
        purpose: Purpose,
        secret: &Secret,
    ) -> io::Result<Self> {
        let mut handshake = Handshake::new(side, purpose, secret)?;
        Ok(Self {
            stream,
            unsent: handshake.take_output(),
            handshake,
            deadline_ns: clock::after(PATIENCE),
        })
    }

    /// Goes on as far as possible.
    pub(super) fn go_on(&mut self) -> Progress {
        match self.try_go_on() {
            Ok(true) => Progress::Known,
            Ok(false) => Progress::Pending,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Progress::Pending,
            Err(_) => Progress::Gone,
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

/// A listener with its strangers.
#[derive(Debug)]
pub(super) struct Gate {
    listener: TcpListener,
    secret: Secret,
    purpose: Purpose,
    /// The token of the listener; those of strangers follow.
    first: usize,
    strangers: Vec<Option<Stranger>>,
}

impl Gate {
    /// Opens a gate; it uses the tokens from `first` to `first +` [`STRANGERS_MAX`].
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub(super) fn open(
        registry: &Registry,
        first: usize,
        address: SocketAddr,
        purpose: Purpose,
        secret: &Secret,
    ) -> io::Result<Self> {
        let mut listener = TcpListener::bind(address)?;
        registry.register(&mut listener, Token(first), Interest::READABLE)?;
        Ok(Self {
            listener,
            secret: secret.clone(),
            purpose,
            first,
            strangers: (0..STRANGERS_MAX).map(|_| None).collect(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not tell.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whoever is let in from now on gets a socket with the congestion control of this name.
    ///
    /// # Errors
    /// If sockets cannot have it.
    pub(super) fn set_congestion(&self, name: &str) -> io::Result<()> {
        congestion::set(&self.listener, name)
    }

    /// Whether an event is its own.
    pub(super) const fn owns(&self, token: Token) -> bool {
        self.first <= token.0 && token.0 <= self.first + STRANGERS_MAX
    }

    /// Handles an event; the sockets of those who belong to the run are handed over.
    pub(super) fn handle(
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
        let Some(stranger) = &mut self.strangers[place] else {
            return;
        };
        let progress = stranger.go_on();
        if progress == Progress::Pending {
            return;
        }
        if let Some(mut stranger) = self.strangers[place].take() {
            let removed = registry.deregister(&mut stranger.stream);
            if progress == Progress::Known && removed.is_ok() {
                known(stranger.stream);
            }
        }
    }

    fn accept(&mut self, registry: &Registry, known: &mut impl FnMut(TcpStream)) {
        for _ in 0..ACCEPTS_MAX {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(registry, stream, known),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A connection that was gone before we looked, or no descriptors at the moment.
                Err(_) => break,
            }
        }
        // Edge-triggered: the rest is told of again.
        let _ = registry.reregister(&mut self.listener, Token(self.first), Interest::READABLE);
    }

    fn admit(&mut self, registry: &Registry, stream: TcpStream, known: &mut impl FnMut(TcpStream)) {
        let place = self.place();
        let stranger = Stranger::new(stream, Side::Accepts, self.purpose, &self.secret);
        let Ok(mut stranger) = stranger else { return };
        let both = Interest::READABLE | Interest::WRITABLE;
        let token = Token(self.first + 1 + place);
        if registry.register(&mut stranger.stream, token, both).is_ok() {
            self.strangers[place] = Some(stranger);
            self.go_on(registry, place, known);
        }
    }

    /// A free place: if there is none, that of the stranger who has tried longest.
    fn place(&mut self) -> usize {
        let age = |stranger: &Option<Stranger>| stranger.as_ref().map(|known| known.deadline_ns);
        let all = (0..).zip(&self.strangers);
        let oldest = all.min_by_key(|(_, stranger)| age(stranger));
        let place = oldest.map_or(0, |(place, _)| place);
        self.strangers[place] = None;
        place
    }

    /// Sends those away whose time is over; how long it is until the next one.
    pub(super) fn expire(&mut self) -> Option<Duration> {
        let now = clock::monotonic_ns();
        for place in &mut self.strangers {
            if place.as_ref().is_some_and(|known| known.deadline_ns <= now) {
                *place = None;
            }
        }
        let deadlines = self.strangers.iter().flatten();
        let next = deadlines.map(|known| known.deadline_ns).min();
        next.map(clock::until)
    }
}
