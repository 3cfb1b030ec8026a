//! The guard of a run: ends a run from outside of its kernel.
//!
//! Programs run in the process of their simulator, so they can affect that process in any way. The
//! guard notices a program that ends the process (`std::process::exit`), that forks and lets the
//! child return, that closes standard output, that runs out of memory, or that keeps the processor.
//! If the program has not returned control [`GRACE`] after Ctrl-C or the end of the real time, or
//! the run has not stopped by itself after [`HANDSHAKE_TIMEOUT`], a thread writes the record and
//! ends the process. The message names the rank of the running program. The guard does not notice
//! `_exit`, `execve` and signals that kill; a rank that closes standard output is not named, since
//! there is no check after each step.
//!
//! The guard does not access a kernel: kernels report their [`RunProgress`], and a flag stops them.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGABRT;
use signal_hook::low_level::{emulate_default_handler, exit};
use sim_core::{ActorId, Failure, HostId, RunProgress, Time};

use crate::{allocator, process_hooks};

mod cause;
mod forks;
mod streams;

pub(crate) use cause::{Cause, Stopped};
use cause::{ENDED, GRACE, HANDSHAKE_TIMEOUT};
use forks::Family;
pub(crate) use forks::is_child;
use streams::stdout_identity;
pub(crate) use streams::unlocked;

/// Time between two looks of the watching thread.
const PERIOD: Duration = Duration::from_millis(50);

/// Time to write the record and the messages, once a run has been given up.
const LAST_WORDS: Duration = Duration::from_secs(10);

#[expect(
    clippy::disallowed_types,
    reason = "limits of real time; no kernel sees it"
)]
type Clock = std::time::Instant;

pub(crate) const CLOSED: &str =
    "the program closed standard output, or put something else there: expected it to stay open";

const FORKED: &str = "forked, and the child returned into the run: expected the child to exit";

/// Facts about a run that the guard needs.
pub(crate) struct Watched {
    /// True if the actors are ranks.
    pub(crate) has_ranks: bool,
    /// The names of hosts.
    pub(crate) host_name: Box<dyn Fn(HostId) -> String + Send + Sync>,
    /// The flag that stops the run.
    pub(crate) stop: Arc<AtomicBool>,
    /// Real time that the run may take, in seconds.
    pub(crate) max_time: Option<f64>,
    /// Real time for which an actor may keep the processor, in seconds.
    pub(crate) max_busy: Option<f64>,
    /// True if the end of the real time is to set the flag; otherwise the run has a clock itself.
    pub(crate) is_timed: bool,
    /// Writes and prints the known facts of a run that was given up; returns the exit status.
    pub(crate) conclude: Box<dyn Fn(&Stopped) -> u8 + Send + Sync>,
}

/// Reserve in bytes that is freed when memory runs out, so that the last messages can be written.
const RESERVE: usize = 32 << 20;

/// The state of a run that the guard shares with the watching thread and the hooks.
struct GuardState {
    watched: Watched,
    begin: Clock,
    /// For each kernel, the number of the thread that runs the kernel, and the progress.
    kernels: Mutex<Vec<(u32, Arc<RunProgress>)>>,
    /// The part that ends the run: [`OPEN`], [`ITSELF`] or [`FROM_OUTSIDE`].
    ending: AtomicU32,
    /// True if the run may take unlimited time.
    is_resting: AtomicBool,
    /// The real time was up.
    is_late: AtomicBool,
    /// Pipe of messages from forked children; `None` without a pipe.
    family: Option<Family>,
    /// See [`RESERVE`]: never touched, so only address space is used.
    reserve: Mutex<Vec<u8>>,
}

/// The run is going.
const OPEN: u32 = 0;
/// The run has ended.
const ITSELF: u32 = 1;
/// The run has been given up: the process will end.
const FROM_OUTSIDE: u32 = 2;

static CURRENT: Mutex<Option<Arc<GuardState>>> = Mutex::new(None);

/// A thread can act on [`IS_OUT_OF_MEMORY`].
static IS_ON_GUARD: AtomicBool = AtomicBool::new(false);
/// The program cannot continue for want of memory.
static IS_OUT_OF_MEMORY: AtomicBool = AtomicBool::new(false);

static THREADS: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The number of this thread; 0 if no kernel runs on the thread. The cell needs no destructor,
    /// so the number is readable while the process ends.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Actions of a program on the process, in a run that reached the end.
#[derive(Debug)]
pub(crate) enum Misdeed {
    /// The program forked, and the child returned.
    Forked(Failure),
    /// The program closed or replaced standard output.
    Stdout,
}

/// A run that is being watched, until this is dropped.
pub(crate) struct Guard {
    state: Arc<GuardState>,
    stdout: Option<(u64, u64)>,
    /// The watching thread.
    thread: Option<thread::Thread>,
}

impl Guard {
    /// Begins to watch a run.
    pub(crate) fn new(watched: Watched) -> Self {
        process_hooks::register_hooks();
        let state = Arc::new(GuardState {
            watched,
            begin: Clock::now(),
            kernels: Mutex::default(),
            ending: AtomicU32::new(OPEN),
            is_resting: AtomicBool::default(),
            is_late: AtomicBool::default(),
            family: Family::new().ok(),
            reserve: Mutex::new(Vec::with_capacity(RESERVE)),
        });
        *lock(&CURRENT) = Some(Arc::clone(&state));
        let same = Arc::clone(&state);
        let thread = thread::Builder::new().spawn(move || same.watch_run());
        // Without a thread only the program itself can stop the run.
        IS_ON_GUARD.store(thread.is_ok(), Ordering::Relaxed);
        Self {
            state,
            stdout: stdout_identity(),
            thread: thread.ok().map(|thread| thread.thread().clone()),
        }
    }

    /// Adds a kernel that runs on this thread.
    pub(crate) fn add_kernel(&self, progress: Arc<RunProgress>) {
        let number = THREAD.get();
        let number = if number == 0 {
            THREADS.fetch_add(1, Ordering::Relaxed)
        } else {
            number
        };
        THREAD.set(number);
        lock(&self.state.kernels).push((number, progress));
    }

    /// Real time that the run was allowed, in seconds, if that was up.
    pub(crate) fn time_that_was_up(&self) -> Option<f64> {
        let is_late = self.state.is_late.load(Ordering::Relaxed);
        self.state.watched.max_time.filter(|_| is_late)
    }

    /// From here on, the run may take unlimited time.
    pub(crate) fn lift_time_limit(&self) {
        self.state.is_resting.store(true, Ordering::Relaxed);
    }

    /// Ends a forked child that has returned into the run. Other threads of the parent may have
    /// held any lock, and no thread of the child releases that lock, so a child must take no lock.
    pub(crate) fn end_child(&self) {
        if is_child() {
            Family::end_child(self.state.family.as_ref());
        }
    }

    /// Ends the watch after the last step of the program, and checks the effects of the program on
    /// the process. A forked child does not return from here.
    pub(crate) fn end_watch(&self) -> Option<Misdeed> {
        self.state.end_by_itself();
        let family = self.state.family.as_ref();
        if let Some((by, date)) = family.and_then(Family::wait_for_children) {
            return Some(Misdeed::Forked(self.state.failure(by, date, FORKED)));
        }
        (stdout_identity() != self.stdout).then_some(Misdeed::Stdout)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        IS_ON_GUARD.store(false, Ordering::Relaxed);
        self.state.end_by_itself();
        *lock(&CURRENT) = None;
        // A worker of many runs would have the threads of the last ones for a while.
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

impl GuardState {
    /// Decides which part ends the run; returns true for the first one.
    fn claim(&self, by: u32) -> bool {
        let order = Ordering::Relaxed;
        let claimed = self.ending.compare_exchange(OPEN, by, order, order);
        claimed.is_ok()
    }

    /// Marks the run as ended. Does not return in a child, nor where another thread ends the
    /// process.
    fn end_by_itself(&self) {
        if is_child() {
            Family::end_child(self.family.as_ref());
        }
        if !self.claim(ITSELF) && self.ending.load(Ordering::Relaxed) == FROM_OUTSIDE {
            wait_for_the_end();
        }
    }

    /// Gives the run up, unless the run has ended or is being given up.
    fn give_up(self: &Arc<Self>, cause: Cause, failure: Option<Failure>) {
        if !self.claim(FROM_OUTSIDE) {
            return;
        }
        let (status, stopped) = (cause.exit_status(), self.stopped(cause, failure));
        let (sender, receiver) = mpsc::channel();
        let same = Arc::clone(self);
        // Whatever is written may block, on a pipe that nobody reads.
        let conclude = move || sender.send((same.watched.conclude)(&stopped));
        let thread = thread::Builder::new().spawn(conclude);
        if thread.is_err() {
            exit(i32::from(status));
        }
        let told = receiver.recv_timeout(LAST_WORDS);
        exit(i32::from(told.unwrap_or(status)));
    }

    fn stopped(&self, cause: Cause, failure: Option<Failure>) -> Stopped {
        Stopped {
            cause,
            failure,
            wall_s: self.begin.elapsed().as_secs_f64(),
        }
    }

    /// Watches the run to the end.
    fn watch_run(self: Arc<Self>) {
        let mut asked: Option<(Cause, Duration)> = None;
        let mut standing = (None, Duration::ZERO);
        loop {
            thread::park_timeout(PERIOD);
            if self.ending.load(Ordering::Relaxed) != OPEN {
                return;
            }
            if IS_OUT_OF_MEMORY.load(Ordering::Relaxed) {
                drop(std::mem::take(&mut *lock(&self.reserve)));
                let bytes = allocator::failed_bytes().unwrap_or_default();
                self.give_up(Cause::Memory(bytes), self.busy());
            }
            let now = self.begin.elapsed();
            asked = asked.or_else(|| self.reason_to_stop(now).map(|cause| (cause, now)));
            let is_over = |(_, progress): &(u32, Arc<RunProgress>)| progress.is_over();
            let rests =
                self.is_resting.load(Ordering::Relaxed) || lock(&self.kernels).iter().any(is_over);
            let polled = self.polled();
            if polled != standing.0 {
                standing = (polled, now);
            }
            if let (Some((by, date, _)), Some(allowed)) = (standing.0, self.watched.max_busy)
                && !rests
                && (now - standing.1).as_secs_f64() >= allowed
            {
                let failure = self.failure(by, date, "is busy");
                self.give_up(Cause::Busy(allowed), Some(failure));
            }
            if let Some((cause, since)) = asked
                && now >= since + GRACE
                && !rests
            {
                let busy = self.busy();
                if busy.is_some() || now >= since + HANDSHAKE_TIMEOUT {
                    self.give_up(cause, busy);
                }
            }
        }
    }

    fn reason_to_stop(&self, now: Duration) -> Option<Cause> {
        if self.watched.stop.load(Ordering::Relaxed) {
            return Some(Cause::Interrupt);
        }
        let allowed = self.watched.max_time?;
        if now.as_secs_f64() < allowed {
            return None;
        }
        self.is_late.store(true, Ordering::Relaxed);
        if self.watched.is_timed {
            self.watched.stop.store(true, Ordering::Relaxed);
        }
        Some(Cause::MaxTime(allowed))
    }

    /// Returns the actor that the only kernel polls, the date, and the number of events so far.
    fn polled(&self) -> Option<((ActorId, HostId), Time, u64)> {
        let kernels = lock(&self.kernels);
        let (_, progress) = kernels.first()?;
        Some((
            progress.polled()?,
            progress.reached_time(),
            progress.events(),
        ))
    }

    /// Returns an actor that keeps a processor.
    fn busy(&self) -> Option<Failure> {
        let kernels = lock(&self.kernels).clone();
        let before: Vec<_> = kernels
            .iter()
            .map(|(_, progress)| progress.polled())
            .collect();
        thread::park_timeout(PERIOD);
        let mut both = kernels.iter().zip(before);
        let found =
            both.find(|((_, progress), before)| before.is_some() && progress.polled() == *before);
        let ((_, progress), polled) = found?;
        Some(self.failure(polled?, progress.reached_time(), "is busy"))
    }

    /// Returns the actor that runs on this thread.
    fn running_here(&self) -> Option<((ActorId, HostId), Time)> {
        let here = THREAD.get();
        let kernels = self.kernels.try_lock().ok()?;
        let mut ours = kernels.iter().filter(|(thread, _)| *thread == here);
        ours.find_map(|(_, progress)| Some((progress.polled()?, progress.reached_time())))
    }

    fn failure(&self, (actor, host): (ActorId, HostId), time: Time, message: &str) -> Failure {
        let number = actor.number();
        Failure {
            actor,
            name: if self.watched.has_ranks {
                format!("rank {}", number - 1)
            } else {
                format!("actor {number}")
            },
            host: (self.watched.host_name)(host),
            time,
            message: message.to_owned(),
            panicked: false,
            invariant: None,
        }
    }
}

/// Stays here while another thread ends the process.
fn wait_for_the_end() -> ! {
    loop {
        thread::park();
    }
}

/// Called when the process ends, on the ending thread.
pub(super) fn on_exit() {
    let Some(state) = current().filter(|_| !is_child()) else {
        return;
    };
    if state.claim(FROM_OUTSIDE) {
        let running = state.running_here();
        let failure = running.map(|(polled, time)| state.failure(polled, time, ENDED));
        let status = (state.watched.conclude)(&state.stopped(Cause::Exit, failure));
        exit(i32::from(status));
    }
    if state.ending.load(Ordering::Relaxed) == FROM_OUTSIDE {
        wait_for_the_end();
    }
}

/// Called when the process aborts, in the handler of that signal. If memory ran out, the thread
/// stays here until another thread has written the messages.
pub(super) fn on_abort() {
    if allocator::failed_bytes().is_some() && IS_ON_GUARD.load(Ordering::Relaxed) && !is_child() {
        IS_OUT_OF_MEMORY.store(true, Ordering::Relaxed);
        loop {
            std::hint::spin_loop();
        }
    }
    // It ends the process in any case.
    let _ = emulate_default_handler(SIGABRT);
}

/// The program has forked, in the parent.
pub(super) fn on_fork() {
    forks::note_in_parent();
}

/// The program has forked, in the child. Other threads of the parent may have held any lock.
pub(super) fn on_fork_in_child() {
    if let Some(state) = current() {
        forks::note_in_child(state.running_here());
        state.watched.stop.store(true, Ordering::Relaxed);
    }
}

/// The run that is being watched.
fn current() -> Option<Arc<GuardState>> {
    CURRENT.try_lock().ok()?.clone()
}
