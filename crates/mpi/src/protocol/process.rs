//! One rank: its channel, its protocol state, and its waits.
//!
//! Progress is made whenever an operation of the rank is polled: all events of the channel are
//! handled before the operation checks if it is over. An operation that is not over parks the rank
//! until the next event.

use observe::SourceLocation;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::api::attributes::{AllProperties, ErrorHandler};
use crate::api::communicators::Contexts;
use crate::api::modes::AttachedBuffer;
use crate::channel::{Channel, ChannelEvent, Interest, RankProtocols, Token, Waiting, WindowRead};
use crate::exploration;
use crate::exploration::{CausalityHooks, ExplorationFact, choose};
use crate::matching::UnexpectedMessage;
use crate::protocol::engine::{CallNumber, PersistentNumber, ProtocolEngine};
use crate::protocol::look::LookWindow;
use crate::protocol::waiting::{Blocked, Waits};
use crate::rma::WindowMemory;
use crate::{Buffer, CallComparison, CallLog, Comm, ConnectionMode, Error, Pattern};

mod explored;
mod questions;
pub(crate) mod repetition;

pub(crate) use questions::{AwaitedYes, PickedAnswer};

use questions::{Awaited, Failures};

/// State that few ranks have.
#[derive(Default)]
struct ColdState {
    failures: Failures,
    /// Under a model checker.
    looks: LookWindow,
    /// Seconds by which the clock has gone forward, where no time passes.
    clock: f64,
    /// Buffers by the contexts of their communicators; `None` for the buffer of all others.
    attached: BTreeMap<Option<u32>, AttachedBuffer>,
    contexts: Contexts,
    /// Number of partitioned requests by context, rank, tag, and true for sends.
    partitioned: BTreeMap<(u32, u32, u32, bool), u32>,
    /// Other objects that the program has made and never freed, in words.
    unfreed: Vec<String>,
    properties: AllProperties,
    /// Errors that are told when the operation that has them is over, by context.
    raised: Vec<(u32, Error)>,
}

/// One rank of a running program.
pub struct Process {
    channel: Box<dyn Channel>,
    /// The rank of the channel, kept here because each message needs the rank.
    pub(crate) rank: u32,
    calls: CallComparison,
    engine: RefCell<ProtocolEngine>,
    blocked: RefCell<Blocked>,
    cold: RefCell<Option<Box<ColdState>>>,
    /// True if there are errors to be told.
    has_raised: Cell<bool>,
    /// Number of operations that the program has begun or waited for; only differences count.
    begun: Cell<u64>,
    /// Under a model checker: number of calls that wait for the pick of an answer.
    asking: Cell<u32>,
    /// The calls that wait for the *yes* that was picked.
    awaited: RefCell<Vec<Awaited>>,
    /// The rank stays in a loop of questions without end.
    stays: Cell<bool>,
}

impl Process {
    /// Returns the rank behind a channel; its collective calls are not compared with other ranks.
    #[must_use]
    pub fn new(channel: Box<dyn Channel>) -> Rc<Self> {
        Self::with_calls(channel, CallComparison::None)
    }

    /// The rank behind a channel.
    #[must_use]
    pub fn with_calls(channel: Box<dyn Channel>, calls: CallComparison) -> Rc<Self> {
        let channel = crate::connection::connecting_channel::wrap_channel(channel);
        let engine = ProtocolEngine::new(&*channel, &calls);
        Rc::new(Self {
            rank: channel.rank(),
            channel,
            calls,
            engine: RefCell::new(engine),
            blocked: RefCell::new(Blocked::default()),
            cold: RefCell::default(),
            has_raised: Cell::new(false),
            begun: Cell::new(0),
            asking: Cell::new(0),
            awaited: RefCell::default(),
            stays: Cell::new(false),
        })
    }

    /// The communicator of all ranks.
    #[must_use]
    pub fn world(self: &Rc<Self>) -> Comm {
        Comm::new_world(Rc::clone(self))
    }

    /// Returns the place at which the calls of the rank are compared with calls of other ranks.
    pub(crate) const fn call_comparison(&self) -> &CallComparison {
        &self.calls
    }

    /// Returns the calls of all ranks, if all run in this process.
    #[inline]
    pub(crate) fn call_log(&self) -> Option<&CallLog> {
        match &self.calls {
            CallComparison::Here(log) => Some(log),
            _ => None,
        }
    }

    fn cold(&self) -> RefMut<'_, ColdState> {
        RefMut::map(self.cold.borrow_mut(), |cold| {
            &mut **cold.get_or_insert_default()
        })
    }

    pub(crate) fn contexts(&self) -> RefMut<'_, Contexts> {
        RefMut::map(self.cold(), |cold| &mut cold.contexts)
    }

    /// Properties of communicators.
    pub(crate) fn properties(&self) -> RefMut<'_, AllProperties> {
        RefMut::map(self.cold(), |cold| &mut cold.properties)
    }

    /// Reacts to the error of a call on the communicator with this context.
    #[cold]
    pub(crate) fn raise(&self, context: u32, error: Error) {
        let handler = match &*self.cold.borrow() {
            Some(cold) => cold.properties.handler(context),
            None => ErrorHandler::Return,
        };
        handler.handle_error(self, &error);
    }

    /// [`Process::raise`] when the attempt is over that has found the error: handlers may make
    /// calls.
    pub(crate) fn raise_later(&self, context: u32, error: Error) {
        if let Some(cold) = &mut *self.cold.borrow_mut() {
            cold.raised.push((context, error));
            self.has_raised.set(true);
        }
    }

    /// Returns true if the context is one of a communicator that has been freed.
    #[inline]
    pub(crate) fn is_freed(&self, context: u32) -> bool {
        let cold = self.cold.borrow();
        cold.as_ref()
            .is_some_and(|cold| cold.contexts.is_freed(context))
    }

    /// Counts a partitioned request. Returns its position among the requests of this key.
    pub(crate) fn count_partitioned(&self, key: (u32, u32, u32, bool)) -> u32 {
        let mut cold = self.cold();
        let next = cold.partitioned.entry(key).or_default();
        let position = *next;
        *next = position.wrapping_add(1);
        position
    }

    /// The buffers of buffered sends.
    pub(crate) fn attached(&self) -> RefMut<'_, BTreeMap<Option<u32>, AttachedBuffer>> {
        RefMut::map(self.cold(), |cold| &mut cold.attached)
    }

    /// Counts a call that all ranks of a communicator make.
    pub(crate) fn count_call(&self, context: u32, has_tag: bool) -> CallNumber {
        let mut engine = self.engine.borrow_mut();
        let collectives = engine.requests.collectives_mut();
        collectives.count_call(context, has_tag)
    }

    /// Counts a persistent collective request of a communicator.
    pub(crate) fn count_persistent(&self, context: u32) -> PersistentNumber {
        let mut engine = self.engine.borrow_mut();
        engine.requests.collectives_mut().count_persistent(context)
    }

    /// Notes that the ranks of a communicator exchange their nodes. Returns true if they have not
    /// done so before.
    pub(crate) fn note_node_setup(&self, context: u32) -> bool {
        let mut engine = self.engine.borrow_mut();
        engine.requests.collectives_mut().note_node_setup(context)
    }

    /// Gives back a matched message that no receive got.
    pub(crate) fn give_back(&self, message: UnexpectedMessage) {
        choose(&*self.channel);
        self.engine.borrow_mut().requests.rare.give_back(message);
    }

    /// Tells an event of the program, if the rank is observed.
    pub(crate) fn observe_event(&self, event: impl FnOnce() -> observe::ProgramEvent) {
        // A guard may be dropped by a panic in the engine.
        if let Ok(engine) = self.engine.try_borrow() {
            engine.requests.observe(event);
        }
    }

    pub(crate) fn channel(&self) -> &dyn Channel {
        &*self.channel
    }

    /// Calls `f` with the protocol state, after all events so far.
    pub(crate) fn with_engine<T>(
        &self,
        f: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> T,
    ) -> T {
        self.note_begun();
        let engine = &mut *self.engine.borrow_mut();
        self.handle_events(engine);
        f(engine, &*self.channel)
    }

    fn note_begun(&self) {
        self.begun.set(self.begun.get().wrapping_add(1));
    }

    /// Returns the number of operations that the program has begun or waited for.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// Returns a number that is unchanged as long as no event has been handled and the program has
    /// started no operation.
    pub(crate) fn count_changes(&self) -> u64 {
        self.engine.borrow().requests.count_changes()
    }

    /// Restores an earlier number of operations: the later operations only let time pass.
    pub(crate) fn forget_begun(&self, begun: u64) {
        self.begun.set(begun);
    }

    /// Calls `f` with the memory of a window in its present state.
    pub(crate) fn with_memory<T>(&self, context: u32, f: impl FnOnce(&mut WindowMemory) -> T) -> T {
        let engine = &mut *self.engine.borrow_mut();
        match engine.windows.find_window(context) {
            Some(window) => f(window.memory_mut()),
            None => f(&mut WindowMemory::Own(Buffer::unbounded())),
        }
    }

    /// Handles all events so far; whether a timer or a computation was over.
    #[inline]
    fn handle_events(&self, engine: &mut ProtocolEngine) -> bool {
        if !engine.requests.rare.has_returned() && self.channel.is_quiet() {
            return false;
        }
        self.handle_some_events(engine)
    }

    #[inline(never)]
    fn handle_some_events(&self, engine: &mut ProtocolEngine) -> bool {
        let mut elapsed = false;
        while let Some(event) = self.channel.poll_event() {
            elapsed |= matches!(event, ChannelEvent::Elapsed(_));
            engine.handle(&*self.channel, event);
            if self.channel.is_quiet() {
                break;
            }
        }
        if !engine.requests.rare.is_empty() {
            engine.take_back(&*self.channel);
            engine.requests.rare.note_handled(&*self.channel);
        }
        elapsed
    }

    /// Gives up the result of an operation. Events are left alone: destructors run also when the
    /// run is over.
    pub(crate) fn release_result(&self, token: Token) {
        self.engine.borrow_mut().requests.release_operation(token);
    }

    /// The data of a receive are of use, although the request is freed.
    pub(crate) fn keep_data(&self, token: Token) {
        if let Some(record) = self.engine.borrow_mut().requests.rare.causality_mut() {
            record.keep_data(token);
        }
    }

    /// Takes the result of an operation that was given up and is over. The rank has not waited for
    /// the operation, and pays no cost.
    pub(crate) fn take_freed<T>(
        &self,
        token: Token,
        complete: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> Option<T>,
    ) -> Option<T> {
        let engine = &mut *self.engine.borrow_mut();
        if !engine.requests.is_done(token) {
            return None;
        }
        engine.requests.disclaim_end(token);
        complete(engine, &*self.channel)
    }

    /// [`Process::release_result`] of a request that was dropped without having been waited for,
    /// which a model checker tells.
    pub(crate) fn forget_request(&self, token: Token) {
        if exploration::is_explored(&*self.channel) {
            self.engine.borrow_mut().requests.note_forgotten(token);
        }
        self.release_result(token);
    }

    /// Calls [`ProtocolEngine::cancel_receive`] without handling events: events that have not been
    /// handled are not lost.
    pub(crate) fn cancel_receive(&self, token: Token) -> Buffer {
        choose(&*self.channel);
        self.engine.borrow_mut().cancel_receive(token)
    }

    /// Polls an operation: the attempt's result, or the rank is parked.
    #[inline]
    pub(crate) fn poll_until<T>(
        &self,
        context: &Context<'_>,
        waits: Waits,
        location: SourceLocation,
        attempt: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> Option<T>,
    ) -> Poll<T> {
        self.poll_operation(context, (waits, location, false), attempt)
    }

    /// Begins an operation, after all events so far. Returns the operation, and true if the rank is
    /// parked because a poll would only park.
    #[inline]
    pub(crate) fn begin_or_park(
        &self,
        context: &Context<'_>,
        location: SourceLocation,
        begin: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> Token,
    ) -> (Token, bool) {
        self.note_begun();
        let engine = &mut *self.engine.borrow_mut();
        self.handle_events(engine);
        let channel = &*self.channel;
        let token = begin(engine, channel);
        let parks = engine.requests.rare.is_empty()
            && !engine.requests.is_done(token)
            && !engine.is_busy(channel, location);
        if parks {
            let waits = Waits::Operation(token);
            self.wait_in(engine, waits, location);
            channel.park(Some(context.waker()), waits.interest(engine));
        }
        (token, parks)
    }

    /// Polls an operation; `begins` if the operation has just begun, after all events.
    pub(crate) fn poll_operation<T>(
        &self,
        context: &Context<'_>,
        (waits, location, begins): (Waits, SourceLocation, bool),
        attempt: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> Option<T>,
    ) -> Poll<T> {
        let result = {
            let engine = &mut *self.engine.borrow_mut();
            if !begins {
                self.handle_events(engine);
            }
            self.attempt(engine, context, (waits, location, begins), attempt)
        };
        if self.has_raised.get() {
            raise_all(self);
        }
        result
    }

    #[inline(always)]
    fn attempt<T>(
        &self,
        engine: &mut ProtocolEngine,
        context: &Context<'_>,
        (waits, location, begins): (Waits, SourceLocation, bool),
        attempt: impl FnOnce(&mut ProtocolEngine, &dyn Channel) -> Option<T>,
    ) -> Poll<T> {
        let channel = &*self.channel;
        // A plain engine is not explored.
        let explored = !engine.requests.rare.is_empty();
        if (explored || waits.needs_look()) && explored::parks_before(self, engine, waits, location)
        {
            channel.park(Some(context.waker()), Interest::All);
            return Poll::Pending;
        }
        if !engine.is_busy(channel, location) {
            if let Some(result) = attempt(engine, channel) {
                if explored {
                    explored::note_end(self, engine, waits, location);
                }
                return Poll::Ready(result);
            }
            // The attempt may cost something, and is made once more when that is paid.
            engine.is_busy(channel, location);
        }
        if explored {
            engine.requests.observe_wait(waits, begins, location);
        }
        self.wait_in(engine, waits, location);
        channel.park(Some(context.waker()), waits.interest(engine));
        Poll::Pending
    }

    /// Notes the wait of the rank.
    #[inline]
    fn wait_in(&self, engine: &ProtocolEngine, waits: Waits, location: SourceLocation) {
        let mut blocked = self.blocked.borrow_mut();
        if !blocked.add_pending(engine.requests.count_events(), waits, location) {
            // Which of them is over first depends on what arrives first.
            choose(&*self.channel);
        }
    }

    /// Returns true if arrivals so far could end a wait at once, while it is not known yet whether
    /// the rank waits for other operations at the same time. Notes questions if their answers
    /// depend on the order of arrivals.
    fn comes_too_soon(
        &self,
        causes: &dyn CausalityHooks,
        engine: &ProtocolEngine,
        waits: Waits,
        location: SourceLocation,
    ) -> bool {
        if waits.depends_on_order() {
            causes.note_fact(ExplorationFact::SourceProbe);
        }
        !causes.has_chosen()
            && waits.may_be_complete(engine)
            && !self.blocked.borrow().contains(waits, location)
    }

    /// Handles `first`, and then the events of the channel, while the rank is parked. Returns true
    /// if the rank can continue now.
    ///
    /// A driver of the channel calls this function, or wakes the rank, which then does the same.
    #[must_use]
    pub fn make_progress(&self, first: Option<ChannelEvent>) -> bool {
        let engine = &mut *self.engine.borrow_mut();
        let ended = engine.requests.count_ended();
        let mut elapsed = false;
        if let Some(event) = first {
            elapsed = matches!(event, ChannelEvent::Elapsed(_));
            engine.handle(&*self.channel, event);
        }
        elapsed |= self.handle_events(engine);
        let mut blocked = self.blocked.borrow_mut();
        if self.asking.get() > 0 {
            // It continues when an answer is picked.
            blocked.go_on(engine.requests.count_events());
            engine.requests.rare.note_handled(&*self.channel);
            return false;
        }
        // Under a model checker a collective continues when the rank looks.
        if elapsed || engine.requests.has_ready() {
            return true;
        }
        let Some(waits) = blocked.only().filter(|waits| !waits.may_end(engine, ended)) else {
            return true;
        };
        blocked.go_on(engine.requests.count_events());
        self.channel.park(None, waits.interest(engine));
        false
    }

    /// A probe with this pattern has seen a message of a rank.
    pub(crate) fn note_source(&self, pattern: &Pattern, source: usize, location: SourceLocation) {
        if pattern.source.is_none() {
            let source = u32::try_from(source).expect("ranks are counted in 32 bits");
            exploration::note_source(&*self.channel, source, location);
        }
    }

    /// Reads the clock for the program.
    pub(crate) fn read_clock(&self, location: SourceLocation) -> f64 {
        let engine = self.engine.borrow();
        // An event that has not been handled cannot make the rank busy.
        let now = engine.processor.now(&*self.channel);
        if engine.requests.rare.is_explored() {
            return self.read_still_clock(now, location);
        }
        now
    }

    /// Reads the clock, which stands still under a model checker except in loops.
    #[cold]
    fn read_still_clock(&self, now: f64, location: SourceLocation) -> f64 {
        let channel = &*self.channel;
        exploration::note_fact(channel, ExplorationFact::ClockRead(location));
        let mut cold = self.cold();
        let step = cold.looks.read_clock(self.begun.get(), location);
        cold.clock += step;
        if step > 0.0 {
            exploration::note_bound(
                channel,
                &format!("the clock stands still except in loops that wait for it ({location})"),
            );
        }
        now + cold.clock
    }

    /// Waits until the costs of its calls do not keep the rank busy any more.
    pub(crate) fn wait_until_idle(
        &self,
        name: &'static str,
        location: SourceLocation,
    ) -> impl Future<Output = ()> + '_ {
        let waits = Waits::Call(name);
        let attempt = |_: &Self, _: &mut ProtocolEngine| Some(());
        Call::new(self, location, waits, attempt)
    }

    /// Removes a dropped future, which may have been pending, from the waits of the rank.
    pub(crate) fn forget(&self, waits: Waits, location: SourceLocation) {
        if self.blocked.borrow_mut().remove_pending(waits, location) {
            // Nobody waits for it any more, and it may or may not be over.
            choose(&*self.channel);
        }
    }

    /// Returns true if ranks have to be connected before their programs begin.
    #[must_use]
    pub fn connects_at_init(&self) -> bool {
        let connections = &self.channel.settings().connections;
        matches!(connections, Some(connections) if connections.mode == ConnectionMode::Static)
    }

    /// Connects to all ranks if ranks [get connected](Self::connects_at_init) at the start. Every
    /// rank does this before its program begins. `program`: the location for reports.
    pub fn init(self: &Rc<Self>, program: SourceLocation) -> impl Future<Output = ()> + 'static {
        let process = Rc::clone(self);
        std::future::poll_fn(move |context| {
            process.poll_until(context, Waits::Call("init"), program, |_, channel| {
                channel.open_connections().then_some(())
            })
        })
    }

    /// Returns the counts of the rank's connections; `None` if none had to be made.
    #[must_use]
    pub fn connection_statistics(&self) -> Option<crate::ConnectionStatistics> {
        self.channel.connection_statistics()
    }

    /// Waits for the sends in progress. Every rank does this after its program has returned.
    /// Messages and receives that the program has given up do not keep a run going. `program`: the
    /// location for reports.
    pub fn finalize(
        self: &Rc<Self>,
        program: SourceLocation,
    ) -> impl Future<Output = ()> + 'static {
        let process = Rc::clone(self);
        std::future::poll_fn(move |context| {
            process.poll_until(context, Waits::Finalize, program, |engine, channel| {
                if engine.has_only_given_up() && channel.finalize_wait() {
                    return None;
                }
                (engine.sends_complete() && channel.close_connections()).then(|| {
                    if let Some(observation) = engine.requests.rare.observation_mut() {
                        observation.end_rank();
                    }
                    let mut cold = process.cold.borrow_mut();
                    let attached = cold.as_mut().map(|cold| std::mem::take(&mut cold.attached));
                    for mut attached in attached.into_iter().flat_map(BTreeMap::into_values) {
                        attached.free_completed(engine);
                    }
                })
            })
        })
    }

    /// Returns the operations that the rank left unfinished, in words: receives that never got a
    /// message, and messages that no receive got.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let mut all = self.with_engine(|engine, channel| {
            crate::protocol::leftovers::list_leftovers(engine, &channel.undelivered())
        });
        if let Some(log) = self.call_log() {
            all.extend(log.unfinished(self.channel.rank()));
        }
        all
    }

    /// The communicators that the rank has made and never freed, in words, known only under a model
    /// checker; and other objects of which the program tells.
    #[must_use]
    pub fn leaks(&self) -> Vec<String> {
        let cold = self.cold.borrow();
        let cold = cold.as_ref();
        cold.map_or_else(Vec::new, |cold| {
            let mut all = cold.contexts.unfreed();
            all.extend(cold.unfreed.iter().cloned());
            all
        })
    }

    /// Notes objects that the program has made and never freed, in words.
    pub(crate) fn note_unfreed(&self, what: String) {
        let mut cold = self.cold.borrow_mut();
        cold.get_or_insert_default().unfreed.push(what);
    }

    /// Returns statistics of the rank's connections, without unhandled events; `None` if no limits
    /// are set, or no message was sent.
    #[must_use]
    pub fn flow_report(&self) -> Option<crate::FlowReport> {
        let engine = self.engine.borrow();
        let flow = engine.flow_control()?;
        Some(flow.flow_report(self.channel.now()))
    }

    /// Returns the operations for which the rank waits; `None` if the rank does not wait.
    #[must_use]
    pub fn waiting(&self) -> Option<Waiting> {
        let (blocked, engine) = (self.blocked.borrow(), self.engine.borrow());
        let mut waiting = match self.awaited.borrow().last() {
            Some(awaited) if !awaited.one_of.is_empty() => {
                blocked.describe_as(&engine, awaited.waits)?
            }
            _ => blocked.describe_waits(&engine)?,
        };
        let position = match blocked.only() {
            Some(Waits::Named(name, token)) => {
                let cold = self.cold.borrow();
                let made = || cold.as_ref()?.contexts.latest(name);
                let state = engine.requests.operations.state(token);
                let collectives = engine.requests.collectives.as_ref();
                let place = collectives.and_then(|all| all.place_of(state));
                place.or_else(made)
            }
            _ => None,
        };
        if let Some(Waits::Operation(token)) = blocked.only() {
            waiting.operation += &self.lock_holders(&engine, token);
        }
        let missing = self.call_log().zip(position);
        if let Some(missing) = missing.and_then(|(log, at)| log.describe_missing(at)) {
            waiting.operation = format!("{}, not called by {missing}", waiting.operation);
        }
        Some(waiting)
    }

    /// Returns the ranks that hold the window lock for which an operation waits, in words; empty if
    /// the operation does not wait for a lock, or if the holders are not known.
    fn lock_holders(&self, engine: &ProtocolEngine, token: Token) -> String {
        let awaited = self
            .call_log()
            .zip(engine.requests.operations.awaited_lock(token));
        let Some((log, (context, targets))) = awaited else {
            return String::new();
        };
        let holders = |&target: &u32| log.accesses().holders(context, target);
        let mut holders: Vec<u32> = targets.iter().flat_map(holders).collect();
        holders.sort_unstable();
        holders.dedup();
        match holders.as_slice() {
            [] => String::new(),
            [one] => format!(", held by rank {one}"),
            several => {
                let listed: Vec<String> = several.iter().map(u32::to_string).collect();
                format!(", held by ranks {}", listed.join(", "))
            }
        }
    }
}

/// Returns the number of operations that the rank of a communicator has begun or waited for; only
/// differences count. Sleeps that have ended, tests and probes are no such operations.
#[must_use]
pub fn count_operations(comm: &Comm) -> u64 {
    comm.process().begun()
}

/// Raises the errors that were to be told later.
#[inline(never)]
fn raise_all(process: &Process) {
    process.has_raised.set(false);
    let raised = std::mem::take(&mut process.cold().raised);
    for (context, error) in raised {
        process.raise(context, error);
    }
}

impl RankProtocols for Process {
    fn handle_parked_events(&self, first: Option<ChannelEvent>) -> bool {
        Self::make_progress(self, first)
    }

    fn waiting(&self) -> Option<Waiting> {
        Self::waiting(self)
    }

    fn is_covered(&self) -> bool {
        Self::is_covered(self)
    }

    fn endless_read(&self) -> Option<WindowRead> {
        repetition::endless_read(self)
    }

    fn has_result(&self, read: &WindowRead) -> bool {
        repetition::has_result(self, read)
    }

    fn leftovers(&self) -> Vec<String> {
        Self::leftovers(self)
    }

    fn leaks(&self) -> Vec<String> {
        Self::leaks(self)
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rank, size) = (self.channel.rank(), self.channel.size());
        write!(f, "Process(rank {rank} of {size}")?;
        if let Ok(engine) = self.engine.try_borrow() {
            write!(
                f,
                ", {} operations",
                engine.requests.operations.count_used()
            )?;
        }
        f.write_str(")")
    }
}

/// An operation that makes attempts until one succeeds.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Call<'a, F> {
    process: &'a Process,
    location: SourceLocation,
    waits: Waits,
    attempt: F,
}

impl<'a, F> Call<'a, F> {
    pub(crate) const fn new(
        process: &'a Process,
        location: SourceLocation,
        waits: Waits,
        attempt: F,
    ) -> Self {
        Self {
            process,
            location,
            waits,
            attempt,
        }
    }
}

impl<T, F: FnMut(&Process, &mut ProtocolEngine) -> Option<T> + Unpin> Future for Call<'_, F> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let process = this.process;
        process.poll_until(context, this.waits, this.location, |engine, _| {
            (this.attempt)(process, engine)
        })
    }
}

impl<F> Drop for Call<'_, F> {
    fn drop(&mut self) {
        self.process.forget(self.waits, self.location);
    }
}

impl<F> std::fmt::Debug for Call<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Call({:?} at {})", self.waits, self.location)
    }
}
