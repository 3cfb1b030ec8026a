//! The launcher of a run: starts its ranks, hears what they print, and makes sure that none is left.
//!
//! A rank that fails, or that ends without having said how, ends the run; the others get a moment to say what they know, because the one that
//! was heard first is not always the one that failed first; then all are killed. One thread does all this, driven by the events of
//! sockets, pipes and signals.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};

use super::auth::Secret;
use super::children::{Process, describe};
use super::clock;
use super::control::{RankFailure, ToRank};
use super::coordinator::Coordinator;
use super::outcome::{RealFailure, RealOutcome, RealRun};
use super::ticket::{self, Ticket};

/// How long others have to say what they know when one rank has failed or is lost.
const GRACE: Duration = Duration::from_millis(300);

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The command of each rank, and which of the ranks of its host it is.
    pub ranks: Vec<(Vec<OsString>, u32)>,
    /// Where the ranks come to.
    pub listen: SocketAddr,
    /// Whether they are on this machine.
    pub is_local: bool,
    /// Which revision they have to be of.
    pub revision: String,
    /// How long they may take to come.
    pub arrival: Duration,
    /// The run is stopped soon after this has become true.
    pub stop: Arc<AtomicBool>,
}

/// Who hears what ranks print.
pub trait Listener {
    /// A line of a rank, without its end; false if nobody wants to hear more.
    fn line(&mut self, rank: u32, is_error: bool, line: &[u8]) -> bool;
}

const SIGNALS: Token = Token(0);
const PIPES: usize = 1;

struct Launcher<'a> {
    launch: &'a Launch,
    poll: Poll,
    coordinator: Coordinator,
    secret: Secret,
    processes: Vec<Process>,
    signals: UnixStream,
    registered: Vec<SigId>,
    listener: &'a mut dyn Listener,
    unheard: bool,
}

/// Runs a program for real, and says what happened.
///
/// # Errors
/// If its ranks cannot be started, or nobody can be listened to.
pub fn launch(launch: &Launch, listener: &mut dyn Listener) -> io::Result<RealRun> {
    let begin_ns = clock::monotonic_ns();
    let mut launcher = Launcher::new(launch, listener)?;
    let outcome = launcher.start_all().and_then(|()| launcher.watch());
    launcher.end_all();
    let outcome = outcome?;
    let members = launcher.coordinator.members();
    let reports: Vec<_> = members.iter().map(|member| member.report.clone()).collect();
    let ended = reports.iter().flatten().map(|report| report.time_s);
    Ok(RealRun {
        outcome,
        measured_s: ended.fold(0.0, f64::max),
        hosts: members.iter().map(|member| member.host.clone()).collect(),
        reports,
        wall_s: clock::seconds_since(begin_ns),
    })
}

impl<'a> Launcher<'a> {
    fn new(launch: &'a Launch, listener: &'a mut dyn Listener) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (signals, writes) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let mut registered = Vec::new();
        for signal in [SIGCHLD, SIGINT, SIGTERM] {
            let writes = writes.try_clone()?;
            registered.push(signal_hook::low_level::pipe::register(signal, writes)?);
        }
        let fd = signals.as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&fd), SIGNALS, Interest::READABLE)?;
        let secret = Secret::random()?;
        let size = u32::try_from(launch.ranks.len()).map_err(io::Error::other)?;
        let coordinator = Coordinator::open(
            poll.registry(),
            PIPES + 2 * launch.ranks.len(),
            launch.listen,
            (size, &launch.revision),
            &secret,
        );
        let coordinator = coordinator
            .map_err(|error| named(&error, &format!("cannot listen at {}", launch.listen)))?;
        Ok(Self {
            launch,
            poll,
            coordinator,
            secret,
            processes: Vec::new(),
            signals,
            registered,
            listener,
            unheard: false,
        })
    }

    fn start_all(&mut self) -> io::Result<()> {
        let address = self.coordinator.address()?;
        let size = self.coordinator.members().len();
        let size = u32::try_from(size).map_err(io::Error::other)?;
        let parent = self.launch.is_local.then(std::process::id);
        for (rank, (command, local_rank)) in (0..).zip(&self.launch.ranks) {
            let ticket = Ticket::new((rank, size, *local_rank), address, parent, &self.secret);
            let variables = [(ticket::VARIABLE, ticket::ON_INPUT)];
            let first = PIPES + 2 * self.processes.len();
            let at = (self.poll.registry(), first);
            let process = Process::start(command, &variables, &ticket.to_line(), at);
            self.processes.push(process.map_err(|error| {
                let program = command.first().map(|program| program.to_string_lossy());
                let program = program.unwrap_or_default();
                named(&error, &format!("cannot start {program} for rank {rank}"))
            })?);
        }
        Ok(())
    }

    /// Watches the run until it has ended.
    fn watch(&mut self) -> io::Result<RealOutcome> {
        let deadline_ns = clock::after(self.launch.arrival);
        let mut failing_until_ns = None;
        let mut events = Events::with_capacity(256);
        loop {
            if self.launch.stop.load(Ordering::Relaxed) {
                return Ok(RealOutcome::Interrupted);
            }
            if self.unheard {
                return Ok(RealOutcome::Unheard);
            }
            if self.coordinator.is_over() && self.first_failure().is_none() {
                self.hear_all();
                return Ok(RealOutcome::Finished);
            }
            let has_started = self.coordinator.start_ns().is_some();
            if !has_started && clock::until(deadline_ns).is_zero() {
                return Ok(RealOutcome::Missing {
                    ranks: self.coordinator.missing(),
                    waited: self.launch.arrival,
                    complaint: self.coordinator.complaint().map(str::to_owned),
                });
            }
            if failing_until_ns.is_none() && self.first_failure().is_some() {
                failing_until_ns = Some(clock::after(GRACE));
            }
            if failing_until_ns.is_some_and(|date| clock::until(date).is_zero()) {
                self.hear_all();
                let failure = self.first_failure();
                return Ok(failure.map_or(RealOutcome::Finished, RealOutcome::Failed));
            }
            let dates = [failing_until_ns, (!has_started).then_some(deadline_ns)];
            let mut timeout = dates.into_iter().flatten().map(clock::until).min();
            if let Some(next) = self.coordinator.expire() {
                timeout = Some(timeout.map_or(next, |timeout| timeout.min(next)));
            }
            // A moment more, so that the date has passed then.
            let timeout = timeout.map(|span| span + Duration::from_millis(1));
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => other?,
            }
            for event in &events {
                self.handle(event);
            }
        }
    }

    fn handle(&mut self, event: &Event) {
        let token = event.token();
        if token == SIGNALS {
            let mut drained = [0; 64];
            while self.signals.read(&mut drained).is_ok_and(|count| count > 0) {}
            for process in &mut self.processes {
                process.status();
            }
        } else if token.0 < PIPES + 2 * self.processes.len() {
            let place = token.0 - PIPES;
            self.hear(place / 2, place % 2);
        } else {
            self.coordinator.handle(event);
        }
    }

    fn hear(&mut self, rank: usize, place: usize) {
        let Self {
            processes,
            listener,
            unheard,
            ..
        } = self;
        let number = u32::try_from(rank).unwrap_or(u32::MAX);
        processes[rank].hear(place, &mut |line| {
            *unheard |= !listener.line(number, place == 1, line);
        });
    }

    fn hear_all(&mut self) {
        for rank in 0..self.processes.len() {
            self.hear(rank, 0);
            self.hear(rank, 1);
        }
    }

    /// The failure that is most likely the reason of all others: a death before an error, and what happened without knowing of
    /// others before what was said about them; the earliest of those.
    fn first_failure(&mut self) -> Option<RealFailure> {
        let mut best: Option<((bool, bool, f64), RealFailure)> = None;
        for rank in 0..self.processes.len() {
            let Some((key, failure)) = self.failure(rank) else {
                continue;
            };
            let is_better = best.as_ref().is_none_or(|(other, _)| {
                let flags = (key.0, key.1).cmp(&(other.0, other.1));
                flags.then(key.2.total_cmp(&other.2)).is_lt()
            });
            if is_better {
                best = Some((key, failure));
            }
        }
        best.map(|(_, failure)| failure)
    }

    fn failure(&mut self, rank: usize) -> Option<((bool, bool, f64), RealFailure)> {
        let process = &mut self.processes[rank];
        let status = process.status();
        let member = &self.coordinator.members()[rank];
        let last_lines = process.last_lines();
        let failure = |message: String, panicked, time_s| RealFailure {
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            host: member.host.clone(),
            time_s,
            message,
            panicked,
            last_lines,
        };
        if let Some(report) = &member.report {
            let RankFailure {
                message,
                panicked,
                after_loss,
            } = report.failure.clone()?;
            let key = (after_loss, true, report.time_s);
            return Some((key, failure(message, panicked, Some(report.time_s))));
        }
        let elapsed = self.coordinator.start_ns().map(clock::seconds_since);
        let message = match status {
            Some(status) if member.arrived => describe(status),
            Some(status) => format!("{} before it came", describe(status)),
            None if member.is_lost => "its connection to the launcher broke".to_owned(),
            None => return None,
        };
        let key = (false, status.is_none(), elapsed.unwrap_or(0.0));
        Some((key, failure(message, false, elapsed)))
    }

    /// Makes sure that no process is left.
    fn end_all(&mut self) {
        self.coordinator.tell_all(&ToRank::Stop);
        for process in &mut self.processes {
            process.kill();
        }
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

fn named(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
