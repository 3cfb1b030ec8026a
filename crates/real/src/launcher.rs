//! The launcher of a run: starts the ranks, reads the output of the ranks, and ends all their
//! processes.
//!
//! A rank that fails, or that ends without a report, ends the run. The other ranks get a short time
//! to report, because the first reported failure is not always the first failure; then all ranks
//! are killed. One thread does this work, driven by the events of sockets, pipes and signals.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};

use super::auth::RunSecret;
use super::children::{Process, describe_exit};
use super::control::{CoordinatorMessage, FailureKind};
use super::coordinator::Coordinator;
use super::descendants::{self, Spared};
use super::event_log::RankLogs;
use super::launch::{FailurePolicy, LaunchOptions, OutputListener};
use super::launch_info::{self, LaunchInfo};
use super::outcome::{RealFailure, RealOutcome, RealRun};
use super::{clock, descriptors, keepalive};

/// Time that other ranks have for their reports when one rank has failed or is lost.
const GRACE: Duration = Duration::from_millis(300);

/// Time that the process of a rank may continue when the connection of the rank has broken. A dead
/// local process ends at once, but ssh may continue when the remote machine, or the network to that
/// machine, fails.
const AFTERLIFE: Duration = Duration::from_secs(5);

const SIGNALS: Token = Token(0);
const PIPES: usize = 1;

/// A run that is in progress.
pub(super) struct Launcher<'a> {
    launch: &'a LaunchOptions,
    begin_ns: u64,
    poll: Poll,
    coordinator: Coordinator,
    secret: RunSecret,
    processes: Vec<Process>,
    signals: UnixStream,
    registered: Vec<SigId>,
    listener: &'a mut dyn OutputListener,
    unheard: bool,
    /// When the progress is reported next, on this machine's clock in nanoseconds.
    progress_ns: Option<u64>,
    /// The dead that the others were told of.
    lost: Vec<RealFailure>,
    /// The event logs of the ranks, if they are observed.
    logs: Option<RankLogs>,
    /// Children of this process that are not of the run.
    spared: Spared,
    /// In an allocation, the action when all ranks have connected. Rank 0 is then in this process.
    placed: Option<Placed>,
}

/// Action when all ranks of an allocation have connected.
pub(super) type Placed = Box<dyn FnMut()>;

impl std::fmt::Debug for Launcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launcher")
            .field("launch", self.launch)
            .finish_non_exhaustive()
    }
}

/// Runs a program for real. `tell` takes the result when all processes started here have ended, and
/// before ranks that another launcher has started are stopped.
pub fn launch<T>(
    launch: &LaunchOptions,
    listener: &mut dyn OutputListener,
    tell: impl FnOnce(&RealRun) -> T,
) -> io::Result<T> {
    let mut launcher = Launcher::new(launch, listener, &RunSecret::random()?)?;
    if launch.observe {
        launcher = launcher.observed(RankLogs::new(&launch.starts)?);
    }
    launcher.start_all()?;
    launcher.run_to_end(tell)
}

impl Drop for Launcher<'_> {
    /// No process is left, whatever happens.
    fn drop(&mut self) {
        let first = u32::from(self.placed.is_some());
        self.coordinator.tell_from(first, &CoordinatorMessage::Stop);
        self.kill_all();
        if let Some(logs) = &self.logs {
            logs.remove_files(u32::try_from(self.coordinator.members().len()).unwrap_or(u32::MAX));
        }
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

impl<'a> Launcher<'a> {
    /// Opens the coordinator of a run with this secret.
    pub(super) fn new(
        launch: &'a LaunchOptions,
        listener: &'a mut dyn OutputListener,
        secret: &RunSecret,
    ) -> io::Result<Self> {
        let spared = Spared::now();
        descendants::adopt();
        descriptors::check_launcher(launch.starts.processes().len(), launch.starts.rank_count()?)?;
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
        let coordinator = Coordinator::open_coordinator(
            poll.registry(),
            PIPES + 2 * launch.starts.processes().len(),
            launch.listen,
            (launch.starts.rank_count()?, &launch.revision),
            launch.keepalive_timeout,
            secret,
        );
        let coordinator = coordinator.map_err(|error| {
            with_context(&error, &format!("cannot listen at {}", launch.listen))
        })?;
        Ok(Self {
            launch,
            begin_ns: clock::monotonic_ns(),
            poll,
            coordinator,
            secret: secret.clone(),
            processes: Vec::new(),
            signals,
            registered,
            listener,
            unheard: false,
            progress_ns: launch.progress.map(clock::after),
            lost: Vec::new(),
            logs: None,
            spared,
            placed: None,
        })
    }

    /// Does `when_here` once all ranks have come; rank 0, which is in this process, is not told to
    /// stop at the end.
    pub(super) fn placed(mut self, when_here: Placed) -> Self {
        self.placed = Some(when_here);
        self
    }

    /// Expects that ranks write these logs.
    pub(super) fn observed(mut self, logs: RankLogs) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Where ranks come to.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.coordinator.address()
    }

    fn start_all(&mut self) -> io::Result<()> {
        let address = self.coordinator.address()?;
        let size = self.launch.starts.rank_count()?;
        for (rank, start) in (0..).zip(self.launch.starts.processes()) {
            let place = (start.local_rank, start.local_size);
            let parent = start.is_child.then(std::process::id);
            let launch_info = LaunchInfo::new((rank, size), place, address, parent, &self.secret);
            let events = self.logs.as_ref().map(|logs| logs.prefix().to_owned());
            let launch_info = launch_info.observed(events);
            let variables = [(launch_info::VARIABLE, launch_info::ON_INPUT)];
            let at = (self.poll.registry(), PIPES + 2 * self.processes.len());
            let process =
                Process::start_process(&start.command, &variables, &launch_info.to_line(), at);
            self.processes.push(process.map_err(|error| {
                let program = start
                    .command
                    .first()
                    .map(|program| program.to_string_lossy());
                let program = program.unwrap_or_default();
                with_context(&error, &format!("cannot start {program} for rank {rank}"))
            })?);
        }
        Ok(())
    }

    /// Watches the run until its end, and passes the result to `tell`.
    pub(super) fn run_to_end<T>(mut self, tell: impl FnOnce(&RealRun) -> T) -> io::Result<T> {
        let outcome = self.watch_run()?;
        let elapsed_s = self
            .coordinator
            .start_ns()
            .map_or(0.0, clock::seconds_since);
        self.kill_all();
        let open_calls = match &outcome {
            RealOutcome::Finished | RealOutcome::Limit | RealOutcome::Interrupted => {
                self.coordinator.call_comparison().open_calls()
            }
            _ => Vec::new(),
        };
        let members = self.coordinator.members();
        let reports: Vec<_> = members.iter().map(|member| member.report.clone()).collect();
        let ended = reports.iter().flatten().map(|report| report.time_s);
        let boots: BTreeSet<&str> = members.iter().map(|member| &*member.boot).collect();
        let reported_s = ended.fold(0.0, f64::max);
        // Ranks that are stopped report no time, and those that reported may have ended long ago.
        let measured_s = match &outcome {
            RealOutcome::Finished => reported_s,
            RealOutcome::Failed(failure) => reported_s.max(failure.time_s.unwrap_or(0.0)),
            _ => elapsed_s,
        };
        Ok(tell(&RealRun {
            outcome,
            measured_s,
            hosts: members.iter().map(|member| member.host.clone()).collect(),
            reports,
            clocks: boots.len(),
            logs: self.logs.clone(),
            lost: std::mem::take(&mut self.lost),
            open_calls,
            wall_s: clock::seconds_since(self.begin_ns),
        }))
    }

    fn watch_run(&mut self) -> io::Result<RealOutcome> {
        let arrival_ns = clock::after(self.launch.arrival);
        let mut failing_until_ns = None;
        let mut events = Events::with_capacity(256);
        loop {
            if let Some(outcome) = self.outcome(arrival_ns, &mut failing_until_ns) {
                return Ok(outcome);
            }
            self.report_progress();
            let timeout = self.timeout([Some(arrival_ns), failing_until_ns]);
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => other?,
            }
            for event in &events {
                self.handle_event(event);
            }
            if let Some(when_here) = &mut self.placed
                && self.coordinator.missing_ranks().is_empty()
            {
                when_here();
            }
        }
    }

    /// Reports the progress of a run that has started, once in each period.
    fn report_progress(&mut self) {
        let is_due = |date: &u64| clock::until(*date).is_zero();
        if self.progress_ns.as_ref().is_none_or(|date| !is_due(date)) {
            return;
        }
        self.progress_ns = self.launch.progress.map(clock::after);
        if let Some(start_ns) = self.coordinator.start_ns() {
            let members = self.coordinator.members();
            let finished = members.iter().filter(|member| member.report.is_some());
            let counts = (finished.count(), members.len());
            self.listener
                .report_progress(clock::seconds_since(start_ns), counts);
        }
    }

    /// Returns the end of the run, if it has ended.
    fn outcome(
        &mut self,
        arrival_ns: u64,
        failing_until_ns: &mut Option<u64>,
    ) -> Option<RealOutcome> {
        if self.launch.stop.load(Ordering::Relaxed) {
            return Some(RealOutcome::Interrupted);
        }
        if self.unheard {
            return Some(RealOutcome::Unheard);
        }
        let failure = self.first_failure();
        if failure.is_none() && self.is_over() {
            self.hear_all();
            return Some(RealOutcome::Finished);
        }
        if let Some(failure) = failure {
            let grace = self.grace(&failure);
            let until_ns = *failing_until_ns.get_or_insert_with(|| clock::after(grace));
            if clock::until(until_ns).is_zero() {
                self.hear_all();
                let failure = self.first_failure();
                return failure.map(|failure| RealOutcome::Failed(self.with_silent(failure)));
            }
        } else if !self.has_started() && clock::until(arrival_ns).is_zero() {
            return Some(RealOutcome::Missing {
                ranks: self.coordinator.missing_ranks(),
                waited: self.launch.arrival,
                startup_error: self.startup_error(),
            });
        }
        let is_late = |end_ns| clock::until(end_ns).is_zero();
        self.end_ns()
            .is_some_and(is_late)
            .then_some(RealOutcome::Limit)
    }

    /// Returns the time that other ranks have to report, or to be detected as silent.
    fn grace(&self, failure: &RealFailure) -> Duration {
        let has_timed_out = self.coordinator.members()[failure.rank as usize].has_timed_out;
        let keepalive_timeout = self.launch.keepalive_timeout.filter(|_| has_timed_out);
        GRACE + keepalive_timeout.map_or(Duration::ZERO, keepalive::spread)
    }

    /// Adds the other silent ranks to the message: the network failed, or the hosts of these ranks.
    fn with_silent(&self, mut failure: RealFailure) -> RealFailure {
        let members = self.coordinator.members();
        if !members[failure.rank as usize].has_timed_out {
            return failure;
        }
        let silent = (0..)
            .zip(members)
            .filter(|(_, member)| member.has_timed_out);
        for (rank, member) in silent.filter(|(rank, _)| *rank != failure.rank) {
            let text = format!(", nor from rank {rank} on host {}", member.host);
            failure.message.push_str(&text);
        }
        failure
    }

    /// Returns the errors of the ranks that connected, in addition to the missing ranks.
    fn startup_error(&self) -> Option<String> {
        let startup_error = self.coordinator.startup_error().map(str::to_owned);
        let pending_handshakes = Some(self.coordinator.pending_handshakes().to_string());
        let all = startup_error.into_iter().chain(pending_handshakes);
        let all: Vec<String> = all.filter(|text| !text.is_empty()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    const fn has_started(&self) -> bool {
        self.coordinator.start_ns().is_some()
    }

    /// When the time that the run was given is over.
    fn end_ns(&self) -> Option<u64> {
        let span = u64::try_from(self.launch.until?.as_nanos()).unwrap_or(u64::MAX);
        Some(self.coordinator.start_ns()?.saturating_add(span))
    }

    fn is_over(&self) -> bool {
        let members = self.coordinator.members().iter();
        let mut silent = (0..)
            .zip(members)
            .filter(|(_, member)| member.report.is_none());
        silent.all(|(rank, _)| self.is_lost(rank))
    }

    fn is_lost(&self, rank: u32) -> bool {
        self.lost.iter().any(|lost| lost.rank == rank)
    }

    /// Returns the time until the next action that no event triggers.
    fn timeout(&mut self, [arrival, failing]: [Option<u64>; 2]) -> Option<Duration> {
        let arrival = arrival.filter(|_| !self.has_started());
        let members = self.coordinator.members().iter();
        let waiting = (0..).zip(members).filter(|&(rank, member)| {
            member.is_lost && !self.is_lost(rank) && !self.processes.is_empty()
        });
        let afterlife = waiting
            .map(|(_, member)| lives_until(member.lost_ns))
            .filter(|&end_ns| !clock::until(end_ns).is_zero())
            .min();
        let look = self.coordinator.call_comparison().look_ns();
        let dates = [
            arrival,
            failing,
            self.end_ns(),
            afterlife,
            look,
            self.progress_ns,
        ];
        let dates = dates.into_iter().flatten().map(clock::until);
        let next = dates.chain(self.coordinator.expire_handshakes()).min();
        // A moment more, so that the date has passed then.
        next.map(|span| span + Duration::from_millis(1))
    }

    fn handle_event(&mut self, event: &Event) {
        let token = event.token();
        if token == SIGNALS {
            let mut drained = [0; 64];
            while self.signals.read(&mut drained).is_ok_and(|count| count > 0) {}
            self.check_exits();
        } else if token.0 < PIPES + 2 * self.processes.len() {
            let place = token.0 - PIPES;
            self.receive_output(place / 2, place % 2);
        } else {
            self.coordinator.handle_event(event);
        }
    }

    /// Looks which processes have ended; where none of the ranks has, an adopted one has.
    fn check_exits(&mut self) {
        let ended = |processes: &[Process]| {
            let ended = processes
                .iter()
                .filter(|process| process.exit_status().is_some());
            ended.count()
        };
        let before = ended(&self.processes);
        self.processes.iter_mut().for_each(Process::check_exit);
        if ended(&self.processes) == before {
            let pids = self.processes.iter().filter_map(Process::pid);
            let pids: Vec<i32> = pids.map(|pid| pid.as_raw_nonzero().get()).collect();
            self.spared.reap_others(|pid| pids.contains(&pid));
        }
    }

    fn receive_output(&mut self, rank: usize, place: usize) {
        let Self {
            processes,
            listener,
            unheard,
            ..
        } = self;
        let number = u32::try_from(rank).unwrap_or(u32::MAX);
        processes[rank].receive_output(place, &mut |line| {
            *unheard |= !listener.line(number, place == 1, line);
        });
    }

    fn hear_all(&mut self) {
        for rank in 0..self.processes.len() {
            self.receive_output(rank, 0);
            self.receive_output(rank, 1);
        }
    }

    /// Returns the failure that is most likely the reason of all others. Order: a failure without
    /// knowledge of other losses, a death before an error, the earliest. Deaths that do not end the
    /// run are reported to all ranks here.
    fn first_failure(&mut self) -> Option<RealFailure> {
        let mut best: Option<(FailureRank, RealFailure)> = None;
        for rank in 0..u32::try_from(self.coordinator.members().len()).unwrap_or(u32::MAX) {
            if self.is_lost(rank) {
                continue;
            }
            let Some((rating, failure)) = self.failure(rank) else {
                continue;
            };
            if rating.died && self.launch.on_loss == FailurePolicy::Notify && self.has_started() {
                self.lost.push(failure);
                self.coordinator.call_comparison().stop();
                self.coordinator
                    .tell_all(&CoordinatorMessage::Lost { rank });
            } else if best
                .as_ref()
                .is_none_or(|(other, _)| rating.is_before(other))
            {
                best = Some((rating, failure));
            }
        }
        let mistake = self.call_mistake(best.is_some());
        mistake.or_else(|| best.map(|(_, failure)| failure))
    }

    /// Returns differing collective calls as a failure: they cause all later failures.
    fn call_mistake(&mut self, has_failed: bool) -> Option<RealFailure> {
        let mistake = self
            .coordinator
            .call_comparison()
            .mistake(has_failed)?
            .clone();
        let start_ns = self.coordinator.start_ns().unwrap_or(mistake.found_ns);
        Some(RealFailure {
            rank: mistake.rank,
            host: self.coordinator.members()[mistake.rank as usize]
                .host
                .clone(),
            time_s: Some(clock::seconds_between(start_ns, mistake.found_ns)),
            message: mistake.message,
            kind: FailureKind::Error,
            last_lines: Vec::new(),
        })
    }

    fn failure(&mut self, rank: u32) -> Option<(FailureRank, RealFailure)> {
        let process = self.processes.get_mut(rank as usize);
        let (status, last_lines) = process.map_or((None, Vec::new()), |process| {
            (process.exit_status(), process.last_lines())
        });
        let member = &self.coordinator.members()[rank as usize];
        let failure = |message: String, kind, time_s| RealFailure {
            rank,
            host: member.host.clone(),
            time_s,
            message,
            kind,
            last_lines,
        };
        if let Some(report) = &member.report {
            let reason = report.failure.clone()?;
            let rating = FailureRank {
                after_loss: reason.after_loss,
                died: false,
                time_s: report.time_s,
            };
            let mut failure = failure(reason.message, reason.kind, Some(report.time_s));
            if failure.kind == FailureKind::Refusal {
                // Nothing of the program has begun, and its process has written what is in the
                // message.
                failure.time_s = None;
                failure.last_lines.clear();
            }
            return Some((rating, failure));
        }
        let elapsed = self.coordinator.start_ns().map(clock::seconds_since);
        let message = match status {
            _ if member.has_timed_out => {
                let seconds = self
                    .launch
                    .keepalive_timeout
                    .unwrap_or_default()
                    .as_secs_f64();
                format!("no answer from it over the network for {seconds} s")
            }
            Some(status) if member.arrived => describe_exit(status),
            Some(status) => {
                let problem = self
                    .startup_error()
                    .map_or_else(String::new, |text| format!("; {text}"));
                format!("{} before it connected{problem}", describe_exit(status))
            }
            // Its process will have ended in a moment, and then we know how.
            None if member.is_lost && !self.processes.is_empty() => {
                let end_ns = lives_until(member.lost_ns);
                if !clock::until(end_ns).is_zero() {
                    return None;
                }
                let seconds = AFTERLIFE.as_secs();
                format!(
                    "lost the connection to the launcher; its process continued for {seconds} s"
                )
            }
            None if member.is_lost => "its connection to the coordinator broke".to_owned(),
            None => return None,
        };
        let rating = FailureRank {
            after_loss: false,
            died: true,
            time_s: elapsed.unwrap_or(0.0),
        };
        Some((rating, failure(message, FailureKind::Error, elapsed)))
    }

    /// Ends all processes: the ranks and the processes that ranks have started.
    fn kill_all(&mut self) {
        self.processes.iter_mut().for_each(Process::kill_group);
        self.spared.end_others();
    }
}

/// Returns the time until which the process of a rank may continue after its connection has broken.
fn lives_until(lost_ns: u64) -> u64 {
    let span = u64::try_from(AFTERLIFE.as_nanos()).unwrap_or(u64::MAX);
    lost_ns.saturating_add(span)
}

/// Order of failures: the least is most likely the reason of the others.
struct FailureRank {
    after_loss: bool,
    died: bool,
    time_s: f64,
}

impl FailureRank {
    fn is_before(&self, other: &Self) -> bool {
        let flags = |rating: &Self| (rating.after_loss, !rating.died);
        let order = flags(self).cmp(&flags(other));
        order.then(self.time_s.total_cmp(&other.time_s)).is_lt()
    }
}

fn with_context(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
