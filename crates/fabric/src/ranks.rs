//! Common parts of all devices: the ranks' ends, and the part of [`Channel`] that does not
//! depend on how packets travel.
//!
//! Rank r is the actor with the index r. An end has an inbox of events that its rank has not
//! handled (`inbox`), and knows whether the rank is parked.
//!
//! The protocols of a parked rank handle events before any actor continues, and the rank is woken
//! only if the operation for which the rank waits may be complete. If each packet of a rendezvous
//! woke the rank, three of four polls in a ring would have no effect, and a message would cost
//! twice as much. With an engine in the device, the protocols would exist twice; later wake-ups
//! would change times.

use sim_core::SourceLocation;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::{Rc, Weak};
use std::task::Waker;

use channel::{
    AbortReason, Buffer, CausalityHooks, Channel, ChannelEvent, ConnectionLifecycle, Envelope,
    ExplorationFact, ExplorationHooks, Interest, Level, Overheads, Packet, PacketHeader,
    PostingCost, RankHost, RankProtocols, RegisteredMemory, RemoteMemory, RunNotes, Settings,
    Token,
};
use observe::{NetworkEvent, NetworkObserver, Observer};
use rdma::{Capture, RegionMemory, Verbs};
use sim_core::{ActorId, Blocked, Device, Kernel, KernelHandle, Limit, Observed, Time, Work};

use crate::flow::label;
use crate::ideal::IdealFabric;
use crate::inbox::{Ends, Transit};
use crate::journal::Journal;
use crate::knowledge::RankCauses;
use crate::verbs::VerbsFabric;

/// A simulated device that connects all ranks.
pub trait Fabric: Device {
    /// Returns the channel of a rank.
    fn channel(self: Rc<Self>, rank: u32) -> Box<dyn Channel>;

    /// Sets the protocols that handle the events of a rank while the rank is parked.
    fn set_protocols(&self, rank: u32, protocols: Weak<dyn RankProtocols>);

    /// The ranks that were lost without ending the run, and when: their hosts went off.
    fn lost(&self) -> Vec<(u32, Time)>;

    /// Takes the packets that were captured; `None` if none were to be.
    fn take_capture(&self) -> Option<Capture>;

    /// Returns the deadlock of the packet network in words, by lines; empty if there is none.
    fn network_deadlock(&self) -> Vec<String>;

    /// Writes each arrival, and each look of a rank into its inbox, to `steps`, in order.
    fn record_steps(&self, steps: Rc<RefCell<Vec<Observed>>>);

    /// Lets the observers observe the network, and each rank whose channel is requested from now
    /// on. Only the first call has an effect.
    fn set_observers(&self, observers: Observers);
}

/// The observers of a run.
#[derive(Clone)]
pub struct Observers {
    /// Observer of all ranks.
    pub ranks: Rc<dyn Observer>,
    /// Observer of the network, where the device is the network.
    pub network: NetworkObserver,
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observers")
    }
}

impl<C: SimulatedDevice + 'static> Fabric for C {
    fn channel(self: Rc<Self>, rank: u32) -> Box<dyn Channel> {
        Box::new(RankChannel {
            causes: (self.special_device().as_explored()).map(|device| device.causes_of(rank)),
            device: self,
            rank,
        })
    }

    fn set_protocols(&self, rank: u32, protocols: Weak<dyn RankProtocols>) {
        let ends = &mut *self.ranks().ends.borrow_mut();
        ends.endpoints[rank as usize].protocols = Some(protocols);
    }

    fn lost(&self) -> Vec<(u32, Time)> {
        self.ranks().lost()
    }

    fn take_capture(&self) -> Option<Capture> {
        self.special_device().as_verbs()?.take_capture()
    }

    fn network_deadlock(&self) -> Vec<String> {
        let verbs = self.special_device().as_verbs();
        verbs.map_or_else(Vec::new, VerbsFabric::network_deadlock)
    }

    fn record_steps(&self, steps: Rc<RefCell<Vec<Observed>>>) {
        let ranks = self.ranks();
        let journal = Journal::new(ranks.size, steps);
        ranks.journal.replace(Some(Box::new(journal)));
    }

    fn set_observers(&self, observers: Observers) {
        let _ = self.ranks().observers.set(observers);
    }
}

/// The actor that runs a rank.
pub(crate) const fn actor(rank: u32) -> ActorId {
    ActorId::from_number(rank + 1)
}

/// Starts a computation of a rank on one core; the device gets the end under `token`.
pub(crate) fn begin_computation(kernel: &mut Kernel, rank: u32, flops: f64, token: u64) {
    let work = Work::Exec {
        host: kernel.host_of(actor(rank)),
        threads: 1,
        flops,
        priority: 1.0,
        bound: f64::INFINITY,
    };
    kernel.start_for_device(&work, token);
}

/// The part of a simulated device that differs between devices: how packets travel, and how time
/// passes for a rank.
pub(crate) trait SimulatedDevice: Device {
    /// Returns the ends of all ranks.
    fn ranks(&self) -> &Ranks;

    /// Sends a packet of `rank` to `peer`.
    fn post_packet(&self, rank: u32, peer: u32, packet: Packet);

    /// See [`RankHost::timer`].
    fn timer(&self, rank: u32, seconds: f64, token: Token);

    /// See [`RankHost::compute`].
    fn start_computation(&self, rank: u32, flops: f64, token: Token);

    /// The rank waits for the next event of this kind.
    fn parked(&self, _rank: u32, _interest: Interest) {}

    /// See [`Channel::undelivered`].
    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)>;

    /// Returns the device itself if the device serves the parts of a channel that only one device
    /// has.
    fn special_device(&self) -> SpecialDevice<'_> {
        SpecialDevice::None
    }
}

/// A device with more than packets.
pub(crate) enum SpecialDevice<'a> {
    /// No such device.
    None,
    /// The device of model checkers.
    Explored(&'a IdealFabric),
    /// The device with adapters: memory that other ranks access, and packets of a network.
    Verbs(&'a VerbsFabric),
}

impl<'a> SpecialDevice<'a> {
    const fn as_explored(&self) -> Option<&'a IdealFabric> {
        match self {
            Self::Explored(device) => Some(device),
            Self::None | Self::Verbs(_) => None,
        }
    }

    const fn as_verbs(&self) -> Option<&'a VerbsFabric> {
        match self {
            Self::Verbs(device) => Some(device),
            Self::None | Self::Explored(_) => None,
        }
    }
}

/// The ends of all ranks.
pub(crate) struct Ranks {
    pub(crate) port: KernelHandle,
    /// The waker of the kernel.
    own_waker: &'static Waker,
    pub(crate) settings: Settings,
    pub(crate) ends: RefCell<Ends>,
    size: u32,
    /// Where ranks get connected: the ranks that accept no packets any more, and the date of the
    /// loss of each rank that is lost.
    gone: RefCell<BTreeMap<u32, Option<Time>>>,
    /// The journal of the run, if the run is recorded.
    journal: RefCell<Option<Box<Journal>>>,
    observers: OnceCell<Observers>,
}

impl Ranks {
    pub(crate) fn new(port: KernelHandle, size: u32, mut settings: Settings) -> Self {
        if !port.with_kernel(|kernel| kernel.is_timed()) {
            // Where no time passes, calls take none.
            settings.overheads = Overheads::NONE;
            settings.copy_bandwidth = f64::INFINITY;
            settings.memory = None;
            settings.posting = PostingCost::default();
            settings.control = None;
            if let Some(connections) = &mut settings.connections {
                *connections = connections.without_time();
            }
        }
        Self {
            own_waker: port.own_waker(),
            port,
            settings,
            ends: RefCell::new(Ends::new(size)),
            size,
            gone: RefCell::default(),
            journal: RefCell::default(),
            observers: OnceCell::new(),
        }
    }

    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.observers.get().is_some()
    }

    /// Tells an event of the network, if the run is observed.
    #[inline]
    pub(crate) fn observe_network(&self, now: Time, event: NetworkEvent<&[u32]>) {
        if let Some(observers) = self.observers.get() {
            observers.network.observe_event(now.as_secs(), event);
        }
    }

    /// Tells the observer of a rank that a packet has entered the network as the flow that began
    /// last.
    #[cold]
    pub(crate) fn observe_injection(
        &self,
        rank: u32,
        peer: u32,
        header: &PacketHeader,
        bytes: u64,
    ) {
        if let Some(observers) = self.observers.get() {
            let (packet, key) = header.packet_identity();
            let event = observe::RankEvent::Inject {
                peer,
                packet,
                key,
                bytes,
            };
            observers.ranks.observe(rank, event);
        }
    }

    /// As new, on another kernel or the same in another run, with the memory of before.
    pub(crate) fn reuse_ranks(mut self, port: KernelHandle) -> Self {
        self.ends.get_mut().clear();
        self.gone.get_mut().clear();
        self.own_waker = port.own_waker();
        self.port = port;
        self
    }

    /// Returns true if a rank takes no packets any more.
    fn is_gone(&self, rank: u32) -> bool {
        self.connects() && self.gone.borrow().contains_key(&rank)
    }

    /// Returns true if ranks get connected, and so can lose each other.
    pub(crate) const fn connects(&self) -> bool {
        self.settings.connections.is_some()
    }

    /// Delivers a packet to the rank.
    #[inline]
    pub(crate) fn deliver_packet(
        &self,
        kernel: &mut Kernel,
        source: u32,
        destination: u32,
        packet: Packet,
    ) {
        let ends = &mut *self.ends.borrow_mut();
        let transit = Transit::new(destination, ChannelEvent::Packet { source, packet });
        let index = ends.transits.insert(transit);
        self.deliver_transit(kernel, ends, index);
    }

    /// Delivers a packet that was in flight. A packet that asks for a connection to a rank that
    /// accepts no packets goes back to its sender.
    #[inline(always)]
    pub(crate) fn deliver_transit(&self, kernel: &mut Kernel, ends: &mut Ends, index: u32) {
        let transit = ends.transits.get(index);
        let Some((source, packet)) = transit.packet() else {
            unreachable!("the event is the arrival of a packet")
        };
        let pair = u64::from(source) << 32 | u64::from(transit.destination);
        kernel.mix_digest(pair, label(packet));
        if let Some(journal) = &mut *self.journal.borrow_mut() {
            journal.note_arrival(source, transit.destination, packet);
        }
        let is_asking = matches!(packet.header, PacketHeader::Socket { .. });
        if is_asking && self.is_gone(transit.destination) {
            ends.transits.get_mut(index).return_to_sender();
        }
        ends.deliver_event(kernel, index);
    }

    /// Puts an event into the inbox of a rank. The protocols of a parked rank handle the event
    /// before any rank continues, and the rank is woken only if it can continue then.
    #[inline]
    pub(crate) fn notify(&self, kernel: &mut Kernel, rank: u32, event: ChannelEvent) {
        self.ends.borrow_mut().deliver_new(kernel, rank, event);
    }

    /// Lets the protocols of parked ranks handle their events.
    #[inline(always)]
    pub(crate) fn handle_parked_events(&self) {
        loop {
            let mut ends = self.ends.borrow_mut();
            let Some(rank) = ends.take_called() else {
                return;
            };
            if self.is_gone(rank) {
                continue;
            }
            let protocols = &ends.endpoints[rank as usize].protocols;
            let protocols = protocols.as_ref().and_then(Weak::upgrade);
            // Where ranks get connected, the events are for the layer below the engine.
            let is_for_engine = protocols.is_some() && !self.connects();
            let now = || self.port.now();
            let event = is_for_engine.then(|| ends.take_event(rank, now)).flatten();
            drop(ends);
            if protocols.is_none_or(|protocols| protocols.handle_parked_events(event)) {
                self.wake(rank);
            }
        }
    }

    /// Returns true if there are events that the rank has not handled.
    pub(crate) fn has_news(&self, rank: u32) -> bool {
        self.ends.borrow().endpoints[rank as usize].has_news()
    }

    /// Lets a parked rank continue.
    #[inline]
    pub(crate) fn wake(&self, rank: u32) {
        let mut ends = self.ends.borrow_mut();
        ends.wake_combinators(rank);
        let is_over = self.port.with_kernel(|kernel| kernel.end_park(actor(rank)));
        let endpoint = &mut ends.endpoints[rank as usize];
        if is_over {
            endpoint.parked = None;
        } else {
            // An event of the same date may have woken the rank already.
            endpoint.woken = endpoint.parked.is_some();
        }
    }

    /// Notes that the kernel lets a parked rank continue.
    pub(crate) fn note_woken(&self, rank: u32) {
        let mut ends = self.ends.borrow_mut();
        ends.endpoints[rank as usize].woken = true;
        ends.wake_combinators(rank);
    }

    /// Puts an event into the inbox of a rank that is awake.
    pub(crate) fn queue_event(&self, rank: u32, event: ChannelEvent) {
        let ends = &mut *self.ends.borrow_mut();
        let index = ends.transits.insert(Transit::new(rank, event));
        ends.append_event(index);
    }

    #[inline]
    fn poll_event(&self, rank: u32) -> Option<ChannelEvent> {
        let mut ends = self.ends.borrow_mut();
        let endpoint = &mut ends.endpoints[rank as usize];
        if endpoint.woken
            && let Some(parked) = endpoint.parked
            && self.port.is_woken(parked)
        {
            endpoint.parked = None;
            endpoint.woken = false;
        }
        ends.take_event(rank, || self.port.now())
    }

    /// Returns true if a waker belongs to a combinator that polls only its woken futures.
    #[inline]
    fn is_combinator(&self, waker: &Waker) -> bool {
        !std::ptr::eq(waker, self.own_waker)
    }

    fn park(&self, rank: u32, waker: &Waker) {
        let ends = &mut *self.ends.borrow_mut();
        if self.is_combinator(waker) {
            ends.keep_waker(rank, waker);
        }
        let parked = &mut ends.endpoints[rank as usize].parked;
        if parked.is_none() {
            *parked = Some(self.port.park(SourceLocation::caller()));
        }
    }

    /// Handles the loss of the host of a rank. Without connections no rank can survive the loss,
    /// and the run ends. With connections, all other ranks are notified.
    pub(crate) fn lose(&self, kernel: &mut Kernel, lost: ActorId) {
        if lost.number() > self.size {
            return;
        }
        if !self.connects() {
            return kernel.fail_actor(lost, "host failure".to_owned());
        }
        let peer = lost.number() - 1;
        self.gone.borrow_mut().insert(peer, Some(kernel.now()));
        {
            let endpoint = &mut self.ends.borrow_mut().endpoints[peer as usize];
            (endpoint.parked, endpoint.protocols) = (None, None);
        }
        for rank in (0..self.size).filter(|rank| *rank != peer) {
            self.notify(kernel, rank, ChannelEvent::Lost { peer });
        }
    }

    /// A rank takes no packets any more.
    fn shut(&self, rank: u32) {
        self.gone.borrow_mut().entry(rank).or_insert(None);
    }

    /// The ranks that were lost, and when.
    pub(crate) fn lost(&self) -> Vec<(u32, Time)> {
        let gone = self.gone.borrow();
        let lost = gone.iter().filter_map(|(&rank, &date)| Some((rank, date?)));
        lost.collect()
    }

    /// Returns the operation and the ranks for which the rank of the actor `blocked` waits.
    pub(crate) fn describe_wait(&self, blocked: ActorId) -> Option<Blocked> {
        let rank = blocked.number() - 1;
        let ends = self.ends.borrow();
        let protocols = ends.endpoints.get(rank as usize)?.protocols.as_ref()?;
        let waiting = protocols.upgrade()?.waiting()?;
        Some(Blocked {
            actor: blocked,
            name: String::new(),
            host: String::new(),
            waits_in: waiting.operation,
            location: waiting.location,
            waits_for: waiting.ranks.into_iter().map(actor).collect(),
        })
    }
}

/// One rank's view of a device.
struct RankChannel<C> {
    device: Rc<C>,
    rank: u32,
    causes: Option<RankCauses>,
}

impl<C: SimulatedDevice> Channel for RankChannel<C> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.device.ranks().size
    }

    fn settings(&self) -> &Settings {
        &self.device.ranks().settings
    }

    fn max_packet(&self) -> u64 {
        let verbs = self.device.special_device().as_verbs();
        verbs.map_or(u64::MAX, VerbsFabric::max_packet)
    }

    fn post(&self, peer: u32, packet: Packet) {
        self.device.post_packet(self.rank, peer, packet);
    }

    fn pull(&self, source: u32, packet: Packet) {
        self.device.post_packet(source, self.rank, packet);
    }

    fn poll_event(&self) -> Option<ChannelEvent> {
        self.device.ranks().poll_event(self.rank)
    }

    fn is_quiet(&self) -> bool {
        let ends = self.device.ranks().ends.borrow();
        ends.endpoints[self.rank as usize].is_quiet()
    }

    fn park(&self, waker: Option<&Waker>, interest: Interest) {
        if let Some(waker) = waker {
            if let Some(causes) = &self.causes
                && self.device.ranks().is_combinator(waker)
            {
                // A combinator that may wait for something else too.
                causes.note_fact(ExplorationFact::ArrivalQuestion);
            }
            self.device.ranks().park(self.rank, waker);
        }
        self.device.parked(self.rank, interest);
    }

    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        self.device.undelivered(self.rank)
    }
}

impl<C: SimulatedDevice> RankHost for RankChannel<C> {
    fn now(&self) -> f64 {
        self.device.ranks().port.now().as_secs()
    }

    fn timer(&self, seconds: f64, token: Token) {
        self.device.timer(self.rank, seconds, token);
    }

    fn compute(&self, flops: f64, token: Token) {
        self.device.start_computation(self.rank, flops, token);
    }

    fn observer(&self) -> Option<Rc<dyn Observer>> {
        let observers = self.device.ranks().observers.get();
        observers.map(|of| Rc::clone(&of.ranks))
    }

    fn host_name(&self) -> String {
        let host_name = |kernel: &mut Kernel| kernel.host_name(kernel.host_of(actor(self.rank)));
        self.device.ranks().port.with_kernel(host_name)
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        self.device
            .ranks()
            .port
            .actor(actor(self.rank))
            .println(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        let actor = self.device.ranks().port.actor(actor(self.rank));
        actor.log(same_level(level), text);
    }

    fn abort(&self, reason: AbortReason) {
        let rank = self.rank;
        self.device.ranks().port.with_kernel(|kernel| match reason {
            AbortReason::Program(code) => {
                kernel.fail_actor(actor(rank), format!("called abort with code {code}"));
            }
            AbortReason::Unreceived { bytes, location } => {
                let limit = Limit::Unreceived {
                    actor: actor(rank),
                    bytes,
                    location,
                };
                let text = format!(
                    "rank {rank} sends more than {bytes} bytes that no receive has met, at \
                     {location}: the search goes no further there"
                );
                kernel.reach_limit(limit, &text);
            }
        });
    }
}

impl<C: SimulatedDevice> RemoteMemory for RankChannel<C> {
    fn offer(&self, peer: u32, send: Token, message: &Buffer) {
        if let Some(verbs) = self.device.special_device().as_verbs() {
            verbs.offer_message(self.rank, peer, send, message);
        }
    }

    fn expect_message(&self, peer: u32, _: Token, receive: Token, length: u64) {
        if let Some(verbs) = self.device.special_device().as_verbs() {
            verbs.expect_message(self.rank, peer, receive, length);
        }
    }

    fn register_memory(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        match self.device.special_device().as_verbs() {
            Some(verbs) => verbs.register_memory(self.rank, memory),
            None => Err(memory),
        }
    }

    fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        let verbs = self.device.special_device().as_verbs()?;
        Some(verbs.program_adapter(self.rank))
    }

    fn watch_adapter(&self, token: Token) {
        if let Some(verbs) = self.device.special_device().as_verbs() {
            verbs.watch_adapter(self.rank, token);
        }
    }
}

impl<C: SimulatedDevice> ConnectionLifecycle for RankChannel<C> {
    fn finalize_wait(&self) -> bool {
        let actor = self.device.ranks().port.actor(actor(self.rank));
        actor.daemonize();
        true
    }

    fn shut(&self) {
        self.device.ranks().shut(self.rank);
    }
}

impl<C: SimulatedDevice> ExplorationHooks for RankChannel<C> {
    fn may_look(&self) -> bool {
        if let Some(journal) = &mut *self.device.ranks().journal.borrow_mut() {
            journal.note_look(self.rank);
        }
        let explored = self.device.special_device().as_explored();
        explored.is_none_or(|device| device.may_look(self.rank))
    }

    fn note_answer(&self, question: u64, begun: u64, answer: u32) {
        if let Some(journal) = &mut *self.device.ranks().journal.borrow_mut() {
            journal.note_answer(self.rank, question, begun, answer);
        }
    }

    fn causality(&self) -> Option<&dyn CausalityHooks> {
        self.causes
            .as_ref()
            .map(|causes| causes as &dyn CausalityHooks)
    }

    fn note_source(&self, source: u32, location: SourceLocation) {
        if let Some(device) = self.device.special_device().as_explored() {
            device.note_source(self.rank, source, location);
        }
    }

    fn return_to_network(&self, envelope: Envelope, length: u64, arrival: u32) {
        if let Some(device) = self.device.special_device().as_explored() {
            device.return_to_network(self.rank, (envelope, length), arrival);
        }
    }
}

/// The message layer does not know the kernel, so each has the five levels.
const fn same_level(level: Level) -> sim_core::Level {
    match level {
        Level::Error => sim_core::Level::Error,
        Level::Warn => sim_core::Level::Warn,
        Level::Info => sim_core::Level::Info,
        Level::Debug => sim_core::Level::Debug,
        Level::Trace => sim_core::Level::Trace,
    }
}
