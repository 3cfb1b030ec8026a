//! The loop: decides which actor runs next, when time advances, and when a run is over.
//!
//! 1. Runnable actors go, in the order in which they became runnable, until none is left.
//! 2. Actors with a failed last test test again, if an event has happened since.
//! 3. The clock moves to the next date, and all events of this date happen in the order of their
//!    numbers.
//!
//! A panic in an actor ends the run with an outcome; a panic never ends the process. The loop is
//! single-threaded and has no global state: many simulations run side by side on many threads.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use crate::device::KernelHandle;
use crate::invariant;
use crate::kernel::{Again, Hosts, NONE, PendingState, Shared, TurnMode, wait_graph};
use crate::outcome::panic_message;
use crate::trace::TraceSink;
use crate::{
    Actor, ActorId, Chooser, Clock, HostId, Kernel, Limit, Outcome, Report, Resource, Schedule,
    Time, TraceEvent,
};

mod stepping;
#[cfg(test)]
mod tests;

pub use stepping::Stepper;

/// A function that is called after the end of an actor; true if the actor was killed or failed.
pub(crate) type ExitHook = Box<dyn FnOnce(bool)>;

/// The future of an actor, for any type of output.
pub(crate) trait Program {
    /// Polls the future; writes the result of the future to `result`.
    fn poll_program(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        result: &mut Result<Option<String>, String>,
    ) -> Poll<()>;
}

impl<F: Future> Program for F
where
    F::Output: ActorResult,
{
    fn poll_program(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        result: &mut Result<Option<String>, String>,
    ) -> Poll<()> {
        self.poll(context)
            .map(|returned| *result = returned.into_result())
    }
}

pub(crate) type Body = Pin<Box<dyn Program>>;

pub(crate) fn into_body<F>(future: F) -> Body
where
    F: Future + 'static,
    F::Output: ActorResult,
{
    Box::pin(future)
}

/// A type that the program of an actor may return.
pub trait ActorResult {
    /// Returns the text of a late failure, if there is one: the other actors continue, and the run
    /// fails when all have ended.
    ///
    /// # Errors
    /// The text of a failure that ends the run.
    fn into_result(self) -> Result<Option<String>, String>;
}

impl ActorResult for () {
    fn into_result(self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

impl<E: fmt::Display> ActorResult for Result<(), E> {
    fn into_result(self) -> Result<Option<String>, String> {
        self.map(|()| None).map_err(|error| error.to_string())
    }
}

impl ActorResult for Result<Option<String>, String> {
    fn into_result(self) -> Self {
        self
    }
}

/// Names the type `!`, the type of a function that never returns; stable Rust has no name for it.
trait Returns {
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

/// A program that never ends by itself, such as the loop of a daemon.
#[expect(
    private_interfaces,
    reason = "the trait only spells the type, which everybody can name as `!` in a return type"
)]
impl ActorResult for <fn() -> ! as Returns>::Output {
    fn into_result(self) -> Result<Option<String>, String> {
        self
    }
}

/// Number of polls between two reads of the interrupt flag.
const POLLS_BETWEEN_LOOKS: u32 = 4096;

/// Number of polls at one date after which a run with a limit of simulated time ends, plus a number
/// for each actor. Our choice: seconds of real time, and more than the polls of programs that
/// continue afterwards. Fewer in the tests of this crate.
const STANDSTILL: (u64, u64) = (if cfg!(test) { 1 << 15 } else { 1 << 24 }, 1 << 10);

/// Number of messages that an actor sends without a wait after which a run with a limit of
/// simulated time ends. Our choice: no rank has more peers, and some 500 MB of memory.
const SENDS_MAX: u64 = 1 << 20;

/// A simulation, to be filled with actors and run once.
pub struct Simulation {
    pub(crate) kernel: Shared,
    waker: &'static Waker,
    /// Result of the last program that ended, until the result is noted.
    result: Result<Option<String>, String>,
    /// The future that is being polled.
    running: Option<Body>,
    chooser: Option<Box<dyn Chooser>>,
    until: Time,
    events_max: u64,
    interrupt: Option<Arc<AtomicBool>>,
    progress: Option<Arc<crate::RunProgress>>,
    polls: u32,
    /// The date of the latest look, and the number of polls since the first look at that date.
    standing: (Time, u64),
    /// True if the futures are gone.
    dismissed: bool,
}

impl Simulation {
    /// A simulation in which `resource` decides how long work on the `hosts` takes.
    #[must_use]
    pub fn new(resource: Box<dyn Resource>, hosts: Rc<dyn Hosts>, seed: u64) -> Self {
        let kernel = Rc::new(RefCell::new(Kernel::new(
            resource,
            hosts,
            seed,
            Clock::Timed,
        )));
        kernel.borrow_mut().weak_self = Rc::downgrade(&kernel);
        // Hosts may be off from the start.
        kernel.borrow_mut().note_switched();
        let waker = kernel.borrow().waker;
        Self {
            waker,
            kernel,
            result: Ok(None),
            running: None,
            chooser: None,
            until: Time::NEVER,
            events_max: u64::MAX,
            interrupt: None,
            progress: None,
            polls: 0,
            standing: (Time::NEVER, 0),
            dismissed: false,
        }
    }

    /// A simulation without a platform: `hosts` hosts of 1 Gflop/s, and messages that take 1 µs
    /// whatever their size.
    ///
    /// ```
    /// use sim_core::{Outcome, Simulation, Span};
    ///
    /// let mut simulation = Simulation::with_constant_model(2);
    /// let mailbox = simulation.mailbox("greetings");
    /// let same = mailbox.clone();
    /// simulation.spawn("alice", 0, |_| async move { mailbox.put(42, 8.0).await });
    /// simulation.spawn("bob", 1, |me| async move {
    ///     let message = same.get().await.unwrap();
    ///     assert_eq!(message.word(), Some(42));
    ///     assert_eq!(me.now().as_secs(), 1e-6);
    /// });
    /// assert_eq!(simulation.run().outcome, Outcome::Finished);
    /// ```
    #[must_use]
    pub fn with_constant_model(hosts: u32) -> Self {
        let names: Vec<String> = (0..hosts).map(|host| format!("host-{host}")).collect();
        let model = crate::Constant::new(crate::Span::from_micros(1.0), 1e9);
        Self::new(Box::new(model), Rc::new(names), 0)
    }

    pub(crate) const fn shared(&self) -> &Shared {
        &self.kernel
    }

    /// Lets time pass, or not; see [`Clock`].
    pub fn set_clock(&mut self, clock: Clock) {
        self.kernel.borrow_mut().calendar.clock = clock;
    }

    /// Lets `chooser` decide which transition happens next.
    pub fn set_chooser(&mut self, chooser: Box<dyn Chooser>) {
        self.kernel.borrow_mut().actors.mode = TurnMode::Chosen;
        self.chooser = Some(chooser);
    }

    /// Records the decisions of the run in the report.
    pub fn record_schedule(&mut self) {
        self.kernel.borrow_mut().choices.schedule = Some(Vec::new());
    }

    /// Calls `sink` with every transition.
    pub fn set_trace(&mut self, sink: impl FnMut(&TraceEvent) + 'static) {
        self.kernel.borrow_mut().trace = Some(TraceSink(Box::new(sink)));
    }

    /// Stops before the first date after `until`.
    pub fn set_until(&mut self, until: Time) {
        self.until = until;
        self.kernel.borrow_mut().actors.sends_in_step_max = SENDS_MAX;
    }

    /// Stops after about `events` events.
    pub fn set_events_max(&mut self, events: u64) {
        self.events_max = events;
    }

    /// Tells `progress` how far the run is, and which actor is being polled.
    pub fn set_progress(&mut self, progress: Arc<crate::RunProgress>) {
        self.progress = Some(progress);
    }

    /// Stops soon after `flag` has become true.
    pub fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// Where the actors' output and log lines go; without, nowhere.
    pub fn set_console(&mut self, console: Rc<dyn crate::Console>) {
        self.kernel.borrow_mut().console = Some(console);
    }

    /// Sets the number that [`Actor::count`] gives to programs: how many of whatever they make they
    /// should make.
    pub fn set_requested_count(&mut self, count: u32) {
        self.kernel.borrow_mut().requested_count = count;
    }

    /// Names the actors that are not given a name; `actor-N` without.
    pub fn set_default_name(&mut self, namer: fn(ActorId) -> String) {
        self.kernel.borrow_mut().actors.namer = namer;
    }

    /// A way to the kernel for devices.
    #[must_use]
    pub fn port(&self) -> KernelHandle {
        KernelHandle::new(Rc::clone(&self.kernel))
    }

    /// Adds an actor that runs from the start, after the actors added before.
    ///
    /// # Panics
    /// If there is no host of that number.
    pub fn spawn<F, Fut>(&mut self, name: &str, host: u32, program: F) -> Actor
    where
        F: FnOnce(Actor) -> Fut,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        self.spawn_named(Some(name), host, program)
    }

    /// Reserves memory for further actors: a list that grows step by step may take twice as much.
    pub fn reserve_actors(&mut self, count: usize) {
        self.kernel.borrow_mut().actors.reserve_records(count);
    }

    /// [`Simulation::spawn`] without a name: the actor is called `actor-N`, which takes no memory.
    ///
    /// # Panics
    /// If there is no host of that number.
    pub fn spawn_anonymous<F, Fut>(&mut self, host: u32, program: F) -> Actor
    where
        F: FnOnce(Actor) -> Fut,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        self.spawn_named(None, host, program)
    }

    /// Adds an actor that runs from the start, and again from its beginning whenever its host comes
    /// back after an outage that ended the actor; if
    /// [`Controllable::restarts_ended_actors`](crate::Controllable::restarts_ended_actors), also
    /// after the actor has ended.
    ///
    /// # Panics
    /// If there is no host of that number.
    pub fn spawn_restarting<F, Fut>(&mut self, name: &str, host: u32, program: F) -> Actor
    where
        F: Fn(Actor) -> Fut + 'static,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        let again: Again = Rc::new(move |me| into_body(program(me)));
        let id = (self.kernel.borrow_mut()).add_restarting(name, HostId(host), again);
        Actor {
            kernel: Rc::clone(&self.kernel),
            id: ActorId(id),
        }
    }

    fn spawn_named<F, Fut>(&mut self, name: Option<&str>, host: u32, program: F) -> Actor
    where
        F: FnOnce(Actor) -> Fut,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        let id = (self.kernel.borrow_mut().actors).add_actor(name, HostId(host));
        let actor = Actor {
            kernel: Rc::clone(&self.kernel),
            id: ActorId(id),
        };
        let body = into_body(program(actor.clone()));
        let mut kernel = self.kernel.borrow_mut();
        kernel.actors[id].body = Some(body);
        kernel.start_actor(id);
        actor
    }

    /// Runs the simulation to its end, with any outcome.
    ///
    /// # Panics
    /// If a chooser panics or picks an impossible transition, or if an invariant of the kernel is
    /// broken; never because of an actor.
    #[must_use]
    pub fn run(mut self) -> Report {
        let outcome = self.run_to_outcome();
        if let Some(progress) = &self.progress {
            progress.update_counts(&self.kernel.borrow());
            progress.end_run();
        }
        self.dismiss();
        let mut kernel = self.kernel.borrow_mut();
        (kernel.device, kernel.exploration.device) = (None, None);
        Report {
            outcome,
            time: kernel.now(),
            events: kernel.counters.events,
            transitions: kernel.counters.transitions,
            messages: kernel.counters.messages,
            bytes: kernel.counters.bytes,
            actors: kernel.actors.count_actors(),
            digest: kernel.counters.digest,
            schedule: kernel.choices.schedule.take().map(Schedule),
        }
    }

    fn run_to_outcome(&mut self) -> Outcome {
        // One shield for all polls: unwinding ends the run.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if self.chooser.is_some() {
                self.run_chosen()
            } else {
                self.run_turns()
            }
        }));
        outcome.unwrap_or_else(|panic| {
            let mut kernel = self.kernel.borrow_mut();
            let message = panic_message(&*panic);
            // The actor that was polled, or whose pending transition was being executed.
            let actor = kernel.actors.current.min(kernel.actors.acting);
            assert!(actor != NONE, "a broken invariant of the kernel: {message}");
            if matches!(kernel.stop, Some(Outcome::Limit(_))) {
                return kernel.stop.take().expect("there is one");
            }
            Outcome::Failed(kernel.describe_failure(actor, message, true))
        })
    }

    /// Moves the clock to the next date at which an actor has an enabled step, unless there is an
    /// outcome.
    #[inline(always)]
    fn next_instant(&self, kernel: &mut Kernel) -> Option<Outcome> {
        loop {
            if let Some(outcome) = self.advance_clock(kernel) {
                return Some(outcome);
            }
            if kernel.device_waits || !kernel.actors.is_idle() {
                kernel.calendar.active = kernel.calendar.now;
                return None;
            }
        }
    }

    /// Moves the clock to the next date, unless there is an outcome.
    #[inline(always)]
    fn advance_clock(&self, kernel: &mut Kernel) -> Option<Outcome> {
        if kernel.stop.is_some() {
            return kernel.stop.take();
        }
        if kernel.actors.live == 0 {
            return Some(final_outcome(kernel));
        }
        if self
            .interrupt
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Some(Outcome::Interrupted);
        }
        if kernel.actors.wake_pollers() {
            return None;
        }
        if kernel.counters.events >= self.events_max {
            return Some(Outcome::Limit(Limit::Events(self.events_max)));
        }
        let next = kernel.calendar.next_date(&kernel.actors);
        if kernel.stop.is_some() {
            return kernel.stop.take();
        }
        let Some(date) = next else {
            return Some(Outcome::Deadlock(wait_graph(kernel)));
        };
        if date > self.until {
            kernel.calendar.now = self.until;
            return Some(Outcome::Limit(Limit::Time(self.until)));
        }
        if date >= Time::HORIZON {
            return Some(Outcome::Limit(Limit::Overflow(date)));
        }
        kernel.advance_clock(date);
        if let Some(progress) = &self.progress {
            progress.update_counts(kernel);
        }
        None
    }

    /// Lets actors take their turns, and the clock advance where none can, until the run is over.
    fn run_turns(&mut self) -> Outcome {
        loop {
            let actor = {
                let mut kernel = self.kernel.borrow_mut();
                if kernel.actors.must_drop() {
                    drop(kernel);
                    if let Some(outcome) = self.after_poll() {
                        return outcome;
                    }
                    continue;
                }
                if kernel.device_waits {
                    drop(kernel);
                    self.poll_device();
                    continue;
                }
                let birth = if kernel.actors.mode != TurnMode::Direct {
                    kernel.actors.next_new_actor()
                } else {
                    None
                };
                let actor = if let Some(actor) = birth {
                    actor
                } else if let Some(actor) = kernel.actors.ready.pop_front() {
                    if !kernel.resume_actor(actor) {
                        continue;
                    }
                    actor
                } else {
                    if let Some(outcome) = self.next_instant(&mut kernel) {
                        return outcome;
                    }
                    continue;
                };
                (kernel.actors).begin_poll(actor, &mut self.running, self.progress.as_deref());
                actor
            };
            if let Some(outcome) = self.poll_body(actor) {
                return outcome;
            }
        }
    }

    /// Calls the device until the device no longer requests progress.
    #[inline]
    fn poll_device(&self) {
        let mut kernel = self.kernel.borrow_mut();
        while kernel.device_waits {
            kernel.device_waits = false;
            let device = kernel.device.clone();
            drop(kernel);
            if let Some(device) = device {
                device.progress();
            }
            kernel = self.kernel.borrow_mut();
        }
    }

    /// Polls the future of an actor once.
    fn poll_actor(&mut self, actor: u32) -> Option<Outcome> {
        let progress = self.progress.as_deref();
        let mut kernel = self.kernel.borrow_mut();
        kernel.actors.begin_poll(actor, &mut self.running, progress);
        drop(kernel);
        self.poll_body(actor)
    }

    /// Polls the future that was taken out of the record of an actor, and puts the future back.
    #[inline(always)]
    fn poll_body(&mut self, actor: u32) -> Option<Outcome> {
        let body = self.running.as_mut();
        let result = body
            .expect("an actor that is not dead has a future")
            .as_mut()
            .poll_program(&mut Context::from_waker(self.waker), &mut self.result);
        if let Some(progress) = &self.progress {
            progress.leave_poll();
        }
        {
            let mut kernel = self.kernel.borrow_mut();
            let kernel = &mut *kernel;
            let record = kernel.actors.end_poll(actor, &mut self.running);
            if let Some(watch) = &mut kernel.watch {
                watch.actor = actor;
            }
            match result {
                Poll::Pending => {
                    if record.has_more() {
                        kernel.actors.schedule_actor(actor);
                    } else if record.first.state == PendingState::Free {
                        return Some(foreign_future(kernel, actor));
                    }
                    let calm = !kernel.actors.must_drop() && kernel.stop.is_none();
                    let calm = calm && kernel.watch.is_none();
                    if calm && self.polls < POLLS_BETWEEN_LOOKS {
                        self.polls += 1;
                        return None;
                    }
                }
                Poll::Ready(()) => {
                    match std::mem::replace(&mut self.result, Ok(None)) {
                        Ok(None) => {}
                        // Under an explorer a failure ends only its actor in any case.
                        Ok(Some(message)) if !kernel.actors.mode.is_stepped() => {
                            let failure = kernel.describe_failure(actor, message, false);
                            kernel.late_failure.get_or_insert(failure);
                        }
                        Ok(Some(message)) | Err(message) => {
                            kernel.fail_actor(ActorId(actor), message);
                        }
                    }
                    kernel.actors.drop_later(actor);
                }
            }
        }
        self.after_poll()
    }

    /// The rarer things after a poll: deaths, and requests to stop.
    fn after_poll(&mut self) -> Option<Outcome> {
        let still = self.note_polls();
        loop {
            let mut kernel = self.kernel.borrow_mut();
            let Some(actor) = kernel.actors.next_to_drop() else {
                if let Some(progress) = &self.progress {
                    progress.update_counts(&kernel);
                }
                let stop = kernel.stop.take();
                let interrupted = self
                    .interrupt
                    .as_ref()
                    .is_some_and(|flag| flag.load(Ordering::Relaxed));
                let finished = (kernel.actors.live == 0).then(|| final_outcome(&kernel));
                let looks = stop.is_none() && kernel.watch.is_some();
                drop(kernel);
                let violated = looks.then(|| invariant::violated(&self.kernel)).flatten();
                return stop
                    .or(violated.map(Outcome::Failed))
                    .or(finished)
                    .or(interrupted.then_some(Outcome::Interrupted))
                    .or(still);
            };
            drop(kernel);
            self.remove_actor(actor);
        }
    }

    /// Counts the polls since the last look; the limit of simulated time ends a run in which time
    /// stands still.
    fn note_polls(&mut self) -> Option<Outcome> {
        let polls = u64::from(std::mem::take(&mut self.polls));
        if self.until == Time::NEVER {
            return None;
        }
        let kernel = self.kernel.borrow();
        let (date, before) = self.standing;
        let polls = if date == kernel.now() {
            before + polls
        } else {
            0
        };
        self.standing = (kernel.now(), polls);
        let (base, each) = STANDSTILL;
        (polls > base + each * u64::from(kernel.actors.count_actors()))
            .then_some(Outcome::Limit(Limit::Standstill(polls)))
    }

    /// Drops the future of an actor and withdraws all its requests.
    fn remove_actor(&mut self, actor: u32) {
        let body = self.kernel.borrow_mut().actors.take_body(actor);
        drop(body);
        let (hooks, failed) = {
            let kernel = &mut *self.kernel.borrow_mut();
            let failed = kernel.actors[actor].killed;
            (
                (kernel.actors).end_actor(actor, &mut kernel.objects, &mut kernel.counters),
                failed,
            )
        };
        for hook in hooks.into_iter().rev() {
            hook(failed);
        }
        self.kernel.borrow_mut().actors.clear_current();
    }

    /// Lets the chooser pick transitions, and the clock advance where none is enabled, until the
    /// run is over.
    #[inline(never)]
    fn run_chosen(&mut self) -> Outcome {
        loop {
            // A host that went off has ended its actors without any of them being polled.
            if self.kernel.borrow().actors.must_drop()
                && let Some(outcome) = self.after_poll()
            {
                return outcome;
            }
            let outcome = self.run_chosen_instant();
            if let Some(outcome) =
                outcome.or_else(|| self.next_instant(&mut self.kernel.borrow_mut()))
            {
                return outcome;
            }
        }
    }

    /// Lets the chooser pick transitions until none is enabled at this date.
    fn run_chosen_instant(&mut self) -> Option<Outcome> {
        loop {
            if let Some(outcome) = self.poll_answered() {
                return outcome;
            }
            let candidates = {
                let kernel = &mut *self.kernel.borrow_mut();
                kernel.actors.list_candidates(&kernel.objects)
            };
            if candidates.is_empty() {
                return None;
            }
            let chooser = self.chooser.as_mut().expect("a chooser was set");
            let Some(choice) = chooser.choose(&candidates) else {
                return Some(Outcome::Stopped);
            };
            let goes_on = self.kernel.borrow_mut().take_choice(choice);
            let outcome = if goes_on {
                self.poll_actor(choice.actor.0)
            } else {
                self.after_poll()
            };
            if outcome.is_some() {
                return outcome;
            }
        }
    }

    /// Polls the new actors and the actors with an answer, which have no choice to make. `Some`
    /// ends the instant.
    #[expect(
        clippy::option_option,
        reason = "the outer level ends the instant, the inner one the run"
    )]
    fn poll_answered(&mut self) -> Option<Option<Outcome>> {
        loop {
            self.poll_device();
            let actor = {
                let mut kernel = self.kernel.borrow_mut();
                kernel.actors.take_answered()?
            };
            if let Some(outcome) = self.poll_actor(actor) {
                return Some(Some(outcome));
            }
        }
    }

    /// Drops the futures of all actors. Each panic is caught alone: two at a time would end the
    /// process.
    fn drop_bodies(&mut self) {
        self.kernel.borrow_mut().actors.clear_current();
        let mut body = self.running.take();
        for next in 0.. {
            if body.is_some() {
                // A panic after the end of the run has nothing left to report to.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
            }
            let actors = &mut self.kernel.borrow_mut().actors;
            if next == actors.count_actors() {
                return;
            }
            body = actors[next].body.take();
        }
    }

    /// Drops all futures while the kernel is still there for their destructors.
    fn dismiss(&mut self) {
        if std::mem::replace(&mut self.dismissed, true) {
            return;
        }
        self.drop_bodies();
        let hooks = self.kernel.borrow_mut().actors.take_hooks();
        for hook in hooks {
            let _ = catch_unwind(AssertUnwindSafe(|| hook(true)));
        }
        let watch = self.kernel.borrow_mut().watch.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(watch)));
        // Messages that nobody got may hold handles, and those the kernel.
        let messages = self.kernel.borrow_mut().objects.activities.take_messages();
        for message in messages {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
        }
    }
}

impl Drop for Simulation {
    /// The actors' handles of the kernel and the kernel's futures of the actors keep each other
    /// alive until here.
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Returns the outcome of a run in which all actors have ended.
fn final_outcome(kernel: &Kernel) -> Outcome {
    let failure = kernel.late_failure.clone();
    failure.map_or(Outcome::Finished, Outcome::Failed)
}

#[cold]
fn foreign_future(kernel: &Kernel, actor: u32) -> Outcome {
    let message = "awaited a future that is not part of the simulation".to_owned();
    Outcome::ForeignFuture(kernel.describe_failure(actor, message, false))
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").finish_non_exhaustive()
    }
}
