//! The coordinator of a run: it accepts all ranks, sends the addresses of all ranks to each rank,
//! reports losses to the ranks, and collects the reports of the ranks.
//!
//! The coordinator runs in the launcher, or in an allocation in a thread of rank 0. It makes no
//! decisions: its owner queries the state.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::auth::{ConnectionPurpose, RunSecret};
use super::auth_listener::{AuthListener, HANDSHAKES_MAX, HandshakeCounters};
use super::call_comparison::CallComparison;
use super::clock;
use super::control::{self, CoordinatorMessage, RankMessage, RankReport};
use super::keepalive::{KeepaliveSettings, is_silence, watch};

/// A control connection.
#[derive(Debug)]
struct Control {
    stream: TcpStream,
    input: Vec<u8>,
    unsent: Vec<u8>,
    /// The rank at the other side, once this rank has registered.
    rank: Option<u32>,
}

/// State of a rank.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// The token of the connection of the rank, while there is a connection.
    control: Option<usize>,
    /// The address on which the rank listens for other ranks.
    business_card: String,
    /// The name of the host of the rank.
    pub host: String,
    /// The boot number of the host.
    pub boot: String,
    /// The report of the rank at its end.
    pub report: Option<RankReport>,
    /// True if the rank has ever registered.
    pub arrived: bool,
    /// The reason why the rank failed to start, if the rank reported a reason when it registered.
    refusal: Option<String>,
    /// The connection of the rank ended before its report.
    pub is_lost: bool,
    /// When that was, on this machine's clock in nanoseconds.
    pub lost_ns: u64,
    /// The connection of the rank ended because no answer came over the network.
    pub has_timed_out: bool,
}

/// The coordinator of a run: one connection to each rank.
#[derive(Debug)]
pub(super) struct Coordinator {
    registry: Registry,
    auth_listener: AuthListener,
    controls: BTreeMap<usize, Control>,
    next: usize,
    revision: String,
    members: Vec<Member>,
    start_ns: Option<u64>,
    /// The time after which a rank that does not answer over the network is lost.
    keepalive_timeout: Option<Duration>,
    /// Mistake of a process that connected.
    startup_error: Option<String>,
    calls: CallComparison,
}

impl Coordinator {
    /// Opens the coordinator for this many ranks. A rank is lost if it does not answer for
    /// `keepalive_timeout`. The coordinator uses all tokens from `first` on.
    pub(super) fn open_coordinator(
        registry: &Registry,
        first: usize,
        address: SocketAddr,
        (size, revision): (u32, &str),
        keepalive_timeout: Option<Duration>,
        secret: &RunSecret,
    ) -> io::Result<Self> {
        Ok(Self {
            registry: registry.try_clone()?,
            auth_listener: AuthListener::open_listener(
                registry,
                first,
                address,
                ConnectionPurpose::Control,
                secret,
            )?,
            controls: BTreeMap::new(),
            next: first + HANDSHAKES_MAX + 1,
            revision: revision.to_owned(),
            members: (0..size).map(|_| Member::default()).collect(),
            start_ns: None,
            keepalive_timeout,
            startup_error: None,
            calls: CallComparison::default(),
        })
    }

    /// Returns the address of the coordinator.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.auth_listener.address()
    }

    /// The ranks.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The collective calls of the ranks.
    pub(super) const fn call_comparison(&mut self) -> &mut CallComparison {
        &mut self.calls
    }

    /// When the run has started, on this machine's clock in nanoseconds.
    pub(super) const fn start_ns(&self) -> Option<u64> {
        self.start_ns
    }

    /// The connections that have not authenticated.
    pub(super) const fn pending_handshakes(&self) -> HandshakeCounters {
        self.auth_listener.tally()
    }

    /// Returns the error of a process that connected and knows the secret.
    pub(super) fn startup_error(&self) -> Option<&str> {
        self.startup_error.as_deref()
    }

    /// The ranks that have not arrived.
    pub(super) fn missing_ranks(&self) -> Vec<u32> {
        let all = (0..).zip(&self.members);
        let missing = all.filter(|(_, member)| !member.arrived);
        missing.map(|(rank, _)| rank).collect()
    }

    /// Closes pending handshakes that take too long. Returns the time until the next call is due.
    pub(super) fn expire_handshakes(&mut self) -> Option<Duration> {
        self.auth_listener.expire_handshakes(&self.registry)
    }

    /// Handles an event of a token of the coordinator.
    pub(super) fn handle_event(&mut self, event: &Event) {
        if !self.auth_listener.owns(event.token()) {
            return self.receive_messages(event.token().0);
        }
        let mut known = Vec::new();
        self.auth_listener
            .handle_event(&self.registry, event, &mut |stream| known.push(stream));
        for mut stream in known {
            if watch(
                &stream,
                KeepaliveSettings::of_coordinator(self.keepalive_timeout),
            )
            .is_err()
            {
                continue;
            }
            let both = Interest::READABLE | Interest::WRITABLE;
            let token = self.next;
            self.next += 1;
            if self
                .registry
                .register(&mut stream, Token(token), both)
                .is_ok()
            {
                let control = Control {
                    stream,
                    input: Vec::new(),
                    unsent: Vec::new(),
                    rank: None,
                };
                self.controls.insert(token, control);
                self.receive_messages(token);
            }
        }
    }

    /// Reads the messages of a rank, and writes the data that could not be written before.
    fn receive_messages(&mut self, token: usize) {
        let Some(control) = self.controls.get_mut(&token) else {
            return;
        };
        let mut ended = control.read_available();
        if let Err(error) = control.write_unsent() {
            ended.get_or_insert(Err(error));
        }
        loop {
            let Some(control) = self.controls.get_mut(&token) else {
                return;
            };
            match control::decode_message(&mut control.input) {
                Ok(Some(message)) => self.handle_message(token, message),
                Ok(None) => break,
                Err(_) => return self.handle_disconnect(token),
            }
        }
        if let Some(ended) = ended {
            let rank = self.controls.get(&token).and_then(|control| control.rank);
            if let Some(rank) = rank {
                let has_timed_out = ended.is_err_and(|error| is_silence(&error));
                self.members[rank as usize].has_timed_out = has_timed_out;
            }
            self.handle_disconnect(token);
        }
    }

    /// The connection is gone.
    fn handle_disconnect(&mut self, token: usize) {
        let Some(mut control) = self.controls.remove(&token) else {
            return;
        };
        let _ = self.registry.deregister(&mut control.stream);
        if let Some(rank) = control.rank {
            let member = &mut self.members[rank as usize];
            member.control = None;
            member.is_lost = member.report.is_none();
            member.lost_ns = clock::monotonic_ns();
        }
    }

    fn handle_message(&mut self, token: usize, message: RankMessage) {
        let known = self.controls.get(&token).and_then(|control| control.rank);
        match (message, known) {
            (
                RankMessage::Here {
                    rank,
                    size,
                    business_card,
                    host,
                    boot,
                    revision,
                    refusal,
                },
                None,
            ) => {
                if let Some(startup_error) = self.complain(rank, size, &revision) {
                    self.startup_error.get_or_insert(startup_error);
                    return self.handle_disconnect(token);
                }
                if let Some(control) = self.controls.get_mut(&token) {
                    control.rank = Some(rank);
                }
                let member = &mut self.members[rank as usize];
                (member.business_card, member.host) = (business_card, host);
                member.boot = boot;
                (member.control, member.arrived) = (Some(token), true);
                if let Some(why) = &refusal {
                    // Told where others do not come; else they are waited for, so that none of them
                    // looks for a run that is over.
                    let startup_error = format!("rank {rank} failed to start: {why}");
                    self.startup_error.get_or_insert(startup_error);
                }
                self.members[rank as usize].refusal = refusal;
                self.start_if_all_are_here();
            }
            (RankMessage::Calls(batch), Some(rank)) => self.calls.compare_calls(rank, &batch),
            (RankMessage::Ended(report), Some(rank)) => {
                if report.failure.is_none() {
                    self.calls.finish_rank(rank);
                }
                self.members[rank as usize].report = Some(report);
                self.send_message(rank, &CoordinatorMessage::Over);
            }
            // Nobody of ours says that.
            (RankMessage::Here { .. }, Some(_))
            | (RankMessage::Calls(_) | RankMessage::Ended(_), None) => {
                self.handle_disconnect(token);
            }
        }
    }

    /// Returns the error of a process that wants to be this rank.
    fn complain(&self, rank: u32, size: u32, revision: &str) -> Option<String> {
        let expected = self.members.len();
        if size as usize != expected {
            return Some(format!(
                "rank {rank} expects {size} ranks, this run has {expected}"
            ));
        }
        if revision != self.revision {
            return Some(format!(
                "rank {rank} has revision {revision}, expected {}",
                self.revision
            ));
        }
        match self.members.get(rank as usize) {
            None => Some(format!("there is no rank {rank} of {size}")),
            Some(member) if member.arrived => Some(format!("rank {rank} registered twice")),
            Some(_) => None,
        }
    }

    fn start_if_all_are_here(&mut self) {
        if self.start_ns.is_some() || self.members.iter().any(|member| !member.arrived) {
            return;
        }
        if self.members.iter().any(|member| member.refusal.is_some()) {
            return self.refuse_start();
        }
        let start_ns = clock::after(clock::START_LEAD);
        self.start_ns = Some(start_ns);
        let cards = self
            .members
            .iter()
            .map(|member| member.business_card.clone());
        self.tell_all(&CoordinatorMessage::AddressList {
            cards: cards.collect(),
            boot: clock::boot(),
            start_ns,
        });
    }

    /// Starts no rank, because some ranks cannot start: these ranks have ended.
    fn refuse_start(&mut self) {
        for rank in 0..u32::try_from(self.members.len()).unwrap_or(u32::MAX) {
            let member = &mut self.members[rank as usize];
            let Some(message) = member.refusal.take() else {
                continue;
            };
            member.report = Some(RankReport::refusal(0.0, message));
            self.send_message(rank, &CoordinatorMessage::Over);
        }
    }

    /// Sends a message to a rank, if the rank is still connected.
    pub(super) fn send_message(&mut self, rank: u32, message: &CoordinatorMessage) {
        let token = self.members[rank as usize].control;
        if let Some(control) = token.and_then(|token| self.controls.get_mut(&token)) {
            control.unsent.extend(control::encode(message));
            // If it cannot be written, that will be read as the end.
            let _ = control.write_unsent();
        }
    }

    /// Sends a message to all ranks that are still connected.
    pub(super) fn tell_all(&mut self, message: &CoordinatorMessage) {
        self.tell_from(0, message);
    }

    /// Sends a message to the ranks from `first` on.
    pub(super) fn tell_from(&mut self, first: u32, message: &CoordinatorMessage) {
        for rank in first..u32::try_from(self.members.len()).unwrap_or(u32::MAX) {
            self.send_message(rank, message);
        }
    }
}

impl Control {
    /// Reads all available data. Returns the end of the connection, if the connection has ended.
    fn read_available(&mut self) -> Option<io::Result<()>> {
        let mut chunk = [0; 4096];
        loop {
            if self.input.len() > control::LENGTH_MAX {
                return Some(Ok(()));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Some(Ok(())),
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn write_unsent(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
