//! State of a rank of a real run that does not depend on the back end: number and host, clock and
//! timers, computations, output, and parked wakers.
//!
//! A computation of f flop takes f divided by the given speed of the host. The computation *burns*
//! this time on its core, and no other work of the rank continues meanwhile, as in a program that
//! calls no library; or it *sleeps*, and messages continue to arrive. Several computations are done
//! one after another.
//!
//! *Not modelled*: the duration of a computation on this machine: the program only gives the number
//! of flop.

use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use channel::{ChannelEvent, Level, PacketHeader, Settings, Token};
use observe::Observer as _;
use run::LogFilter;

use super::call_batch::CallOutbox;
use super::clock::{self, RunClock};
use super::event_log::{RankLog, RankLogs};
use super::rank::OutputMode;

/// Ways in which computations pass the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compute {
    /// A busy loop.
    #[default]
    Spin,
    /// Sleep.
    Sleep,
}

/// Facts that a rank is told about itself.
#[derive(Clone, Debug)]
pub(super) struct RankIdentity {
    /// Number of the rank.
    pub rank: u32,
    /// The number of ranks.
    pub size: u32,
    /// The name of the host.
    pub host: String,
    /// The parameters of the message layer.
    pub settings: Settings,
    /// Ways in which computations pass the time.
    pub compute: Compute,
    /// The speed of a host in flop per second.
    pub flop_per_s: f64,
    /// Filter of log lines.
    pub log: LogFilter,
    /// True if the rank begins each of its lines with its number.
    pub prefix: bool,
    /// The time at which the lines of the rank are printed.
    pub print: OutputMode,
}

/// Number of events at a rank.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RankCounters {
    /// Messages that the rank has sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: f64,
    /// Events that the rank has handled.
    pub events: u64,
}

/// The part of a rank that every back end shares.
#[derive(Debug)]
pub(super) struct Local {
    me: RankIdentity,
    clock: RunClock,
    /// By date and number: timers of one date end in the order in which they were set.
    timers: RefCell<BinaryHeap<Reverse<(u64, u64, Token)>>>,
    timers_set: Cell<u64>,
    /// Until when the rank computes asleep.
    computes_until_ns: Cell<u64>,
    ready: RefCell<VecDeque<ChannelEvent>>,
    parked: RefCell<Vec<Waker>>,
    aborted: Cell<Option<i32>>,
    knows_of_loss: Cell<bool>,
    nudged: Cell<bool>,
    tally: Cell<RankCounters>,
    /// Lines that are printed later.
    kept: RefCell<String>,
    /// The event log of the rank, if there is one.
    log: OnceCell<Rc<RankLog>>,
    /// The collective calls of the rank, if the coordinator compares them.
    calls: Option<Arc<CallOutbox>>,
}

/// Lines that are kept to be printed later may be this many bytes; more are printed earlier.
const KEPT_MAX: usize = 16 << 20;

impl Local {
    /// Returns the state of a rank with a time that begins at the origin of this clock.
    pub(super) fn new(me: RankIdentity, clock: RunClock, calls: Option<Arc<CallOutbox>>) -> Self {
        Self {
            me,
            clock,
            timers: RefCell::default(),
            timers_set: Cell::new(0),
            computes_until_ns: Cell::new(0),
            ready: RefCell::default(),
            parked: RefCell::default(),
            aborted: Cell::new(None),
            knows_of_loss: Cell::new(false),
            nudged: Cell::new(false),
            tally: Cell::default(),
            kept: RefCell::default(),
            log: OnceCell::new(),
            calls,
        }
    }

    /// Writes the events of the rank to a log from now on.
    pub(super) fn start_event_log(&self, logs: &RankLogs) -> std::io::Result<()> {
        let log = RankLog::create_log(logs, (self.me.rank, self.me.size), self.clock)?;
        // There is only one.
        let _ = self.log.set(Rc::new(log));
        Ok(())
    }

    /// Returns the event log of the rank, if there is one.
    pub(super) fn event_log(&self) -> Option<&Rc<RankLog>> {
        self.log.get()
    }

    /// Writes an incident of the connection to another rank to the log.
    pub(super) fn observe_incident(&self, name: &'static str, peer: u32) {
        if let Some(log) = self.event_log() {
            let (peer, value) = (Some(peer), None);
            let event = observe::RankEvent::Incident { name, peer, value };
            log.observe(self.me.rank, event);
        }
    }

    /// Returns the collective calls of the rank, if the coordinator compares them.
    pub(super) const fn call_outbox(&self) -> Option<&Arc<CallOutbox>> {
        self.calls.as_ref()
    }

    /// Ends the event log of the rank. `has_failed`: the program has not reported its end.
    pub(super) fn end_event_log(&self, has_failed: bool) {
        let Some(log) = self.event_log() else {
            return;
        };
        if has_failed {
            log.observe(self.me.rank, observe::RankEvent::End);
        }
        if let Err(error) = log.finish_log() {
            let text = format_args!("the event log breaks off: {error}");
            self.log(Level::Warn, text);
        }
    }

    /// Returns the facts about this rank.
    pub(super) const fn me(&self) -> &RankIdentity {
        &self.me
    }

    /// Seconds since the start.
    pub(super) fn now(&self) -> f64 {
        self.clock.now()
    }

    /// Queues an event for the message layer.
    pub(super) fn push_event(&self, event: ChannelEvent) {
        if matches!(
            event,
            ChannelEvent::Lost { .. } | ChannelEvent::Failed { .. }
        ) {
            self.knows_of_loss.set(true);
        }
        self.ready.borrow_mut().push_back(event);
    }

    /// Returns true if an event is queued.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// Records a change of connections for which the rank may wait.
    pub(super) fn set_wake_flag(&self) {
        self.nudged.set(true);
    }

    /// Returns true if a connection has changed since the last call of this function.
    pub(super) fn take_wake_flag(&self) -> bool {
        self.nudged.replace(false)
    }

    /// Returns true if a connection has changed; the flag stays set.
    pub(super) const fn has_wake_flag(&self) -> bool {
        self.nudged.get()
    }

    /// The next thing to hear.
    pub(super) fn next_event(&self) -> Option<ChannelEvent> {
        let event = self.ready.borrow_mut().pop_front()?;
        let mut tally = self.tally.get();
        tally.events += 1;
        self.tally.set(tally);
        Some(event)
    }

    /// Counts the message that a posted packet begins, if the packet begins a message.
    pub(super) fn count_packet(&self, header: &PacketHeader, payload: u64) {
        if let Some(length) = header.begins(payload) {
            self.count_message(length);
        }
    }

    /// Counts a message that a peer has fetched over another path than the sockets: for such a
    /// message, no packet is posted.
    pub(super) fn count_taken(&self, event: &ChannelEvent) {
        if let ChannelEvent::Taken { length, .. } = *event {
            self.count_message(length);
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    fn count_message(&self, length: u64) {
        let mut tally = self.tally.get();
        tally.messages += 1;
        tally.bytes += length as f64;
        self.tally.set(tally);
    }

    /// Returns the number of events.
    pub(super) const fn tally(&self) -> RankCounters {
        self.tally.get()
    }

    /// Returns true if a rank is known to be lost.
    pub(super) const fn knows_of_loss(&self) -> bool {
        self.knows_of_loss.get()
    }

    /// Tells [`ChannelEvent::Elapsed`] after the given number of seconds.
    pub(super) fn timer(&self, seconds: f64, token: Token) {
        if seconds > 0.0 {
            self.set_timer(
                clock::monotonic_ns().saturating_add(nanoseconds(seconds)),
                token,
            );
        } else {
            self.push_event(ChannelEvent::Elapsed(token));
        }
    }

    fn set_timer(&self, date_ns: u64, token: Token) {
        let number = self.timers_set.get();
        self.timers_set.set(number + 1);
        self.timers
            .borrow_mut()
            .push(Reverse((date_ns, number, token)));
    }

    /// Computes, and tells [`ChannelEvent::Elapsed`] when that is over.
    pub(super) fn compute(&self, flops: f64, token: Token) {
        let span = nanoseconds(flops / self.me.flop_per_s);
        match self.me.compute {
            Compute::Spin => {
                let end = clock::monotonic_ns().saturating_add(span);
                while clock::monotonic_ns() < end {
                    std::hint::spin_loop();
                }
                self.push_event(ChannelEvent::Elapsed(token));
            }
            Compute::Sleep => {
                let begin = self.computes_until_ns.get().max(clock::monotonic_ns());
                let end = begin.saturating_add(span);
                self.computes_until_ns.set(end);
                self.set_timer(end, token);
            }
        }
    }

    /// Tells of the timers that are over; when the next one will be.
    pub(super) fn expire_timers(&self) -> Option<u64> {
        let mut timers = self.timers.borrow_mut();
        while let Some(&Reverse((date, _, token))) = timers.peek() {
            if date > clock::monotonic_ns() {
                return Some(date);
            }
            timers.pop();
            self.push_event(ChannelEvent::Elapsed(token));
        }
        None
    }

    /// Adds a waker, which is woken when the rank continues.
    pub(super) fn park(&self, waker: &Waker) {
        let mut parked = self.parked.borrow_mut();
        if !parked.iter().any(|other| other.will_wake(waker)) {
            parked.push(waker.clone());
        }
    }

    /// Wakes everybody.
    pub(super) fn wake(&self) {
        let parked = std::mem::take(&mut *self.parked.borrow_mut());
        parked.into_iter().for_each(Waker::wake);
    }

    /// The program ends the run.
    pub(super) fn abort(&self, code: i32) {
        self.aborted.set(Some(code));
    }

    /// Returns the code with which the program ends the run.
    pub(super) const fn aborted(&self) -> Option<i32> {
        self.aborted.get()
    }

    /// Prints a line, in one piece, now or when the rank ends.
    pub(super) fn print_line(&self, text: fmt::Arguments<'_>) {
        let mut kept = self.kept.borrow_mut();
        // Writing into memory does not fail.
        let _ = if self.me.prefix {
            writeln!(kept, "[{}] {text}", self.me.rank)
        } else {
            writeln!(kept, "{text}")
        };
        if self.me.print == OutputMode::Now || kept.len() > KEPT_MAX {
            flush_lines(&mut kept);
        }
    }

    /// Prints the lines that were kept.
    pub(super) fn print_kept(&self) {
        flush_lines(&mut self.kept.borrow_mut());
    }

    /// Writes a line to the log if the filter selects it, as in a simulated run.
    pub(super) fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        let (name, level) = match level {
            Level::Error => ("error", sim_core::Level::Error),
            Level::Warn => ("warn", sim_core::Level::Warn),
            Level::Info => ("info", sim_core::Level::Info),
            Level::Debug => ("debug", sim_core::Level::Debug),
            Level::Trace => ("trace", sim_core::Level::Trace),
        };
        let RankIdentity {
            rank, host, log, ..
        } = &self.me;
        if log.wants(level, *rank) {
            let line = format!(
                "[{:.9}] [rank {rank} on {host}] {name}: {text}\n",
                self.now()
            );
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

/// Prints lines and forgets them.
fn flush_lines(lines: &mut String) {
    let mut stdout = std::io::stdout().lock();
    // One by one, as ranks that share an output must; when whoever reads it is gone, so are we.
    for line in lines.split_inclusive('\n') {
        let _ = stdout
            .write_all(line.as_bytes())
            .and_then(|()| stdout.flush());
    }
    lines.clear();
}

/// Converts seconds to nanoseconds; a duration beyond 500 years counts as infinite.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and spans are not negative"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
