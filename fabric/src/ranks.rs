//! What all devices have in common: the ranks' ends, and the part of [`Channel`] that does not depend on how packets
//! travel.
//!
//! Rank r is the actor with the index r. An end has an inbox of events that its rank has not handled, and knows whether the
//! rank is parked.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::task::Waker;

use mpi::channel::{Channel, Event, Header, Interest, Level, Packet, Posting, Settings, Token};
use mpi::{Envelope, Process};
use sim_core::{ActorId, Blocked, Device, DevicePort, Kernel, Parked, Time};

/// A simulated device that connects all ranks.
pub trait Fabric {
    /// The rank's process over this device. The device keeps only a weak reference.
    fn process(self: Rc<Self>, rank: u32) -> Rc<Process>;

    /// The ranks that were lost without ending the run, and when: their hosts went off.
    fn lost(&self) -> Vec<(u32, Time)>;
}

impl<C: Carrier + 'static> Fabric for C {
    fn process(self: Rc<Self>, rank: u32) -> Rc<Process> {
        let channel = RankChannel {
            device: Rc::clone(&self),
            rank,
        };
        let process = Process::new(Box::new(channel));
        self.ranks().introduce(rank, &process);
        process
    }

    fn lost(&self) -> Vec<(u32, Time)> {
        self.ranks().lost()
    }
}

/// The actor that runs a rank.
pub(crate) const fn actor(rank: u32) -> ActorId {
    ActorId::from_number(rank + 1)
}

/// How packets travel: what makes the difference between devices.
pub(crate) trait Carrier: Device {
    fn ranks(&self) -> &Ranks;

    fn post(&self, rank: u32, peer: u32, packet: Packet);

    fn timer(&self, rank: u32, seconds: f64, token: Token);

    fn compute(&self, rank: u32, flops: f64, token: Token);

    /// The rank is about to look into its inbox.
    fn before_poll(&self, _rank: u32) {}

    /// The rank has nothing to do until the next event of that kind.
    fn parked(&self, _rank: u32, _interest: Interest) {}

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)>;
}

/// One rank's end of the device.
#[derive(Debug, Default)]
struct Endpoint {
    inbox: VecDeque<Event>,
    parked: Option<Parked>,
    /// What combinators want to be woken by at the next event.
    wakers: Vec<Waker>,
    process: Weak<Process>,
}

/// The ends of all ranks.
#[derive(Debug)]
pub(crate) struct Ranks {
    pub(crate) port: DevicePort,
    pub(crate) settings: Settings,
    endpoints: RefCell<Vec<Endpoint>>,
    size: u32,
    /// Where ranks get connected: those that take no packets any more, and since when they are lost if they are.
    gone: RefCell<BTreeMap<u32, Option<Time>>>,
}

impl Ranks {
    pub(crate) fn new(port: DevicePort, size: u32, mut settings: Settings) -> Self {
        if !port.with(|kernel| kernel.is_timed()) {
            // Where no time passes, calls take none.
            (settings.os, settings.ois, settings.or) = Default::default();
            settings.copy_bandwidth = f64::INFINITY;
            settings.posting = Posting::default();
            settings.control = None;
        }
        let mut endpoints = Vec::new();
        endpoints.resize_with(size as usize, Endpoint::default);
        Self {
            port,
            settings,
            endpoints: RefCell::new(endpoints),
            size,
            gone: RefCell::default(),
        }
    }

    /// Whether ranks get connected, and so can lose each other.
    pub(crate) const fn connects(&self) -> bool {
        self.settings.connections.is_some()
    }

    /// Delivers a packet: to the rank, or back to its sender if that asks a rank for a connection that is gone.
    pub(crate) fn bring(&self, kernel: &mut Kernel, source: u32, destination: u32, packet: Packet) {
        let is_asking = matches!(packet.header, Header::Socket { .. });
        if is_asking && self.gone.borrow().contains_key(&destination) {
            let peer = destination;
            self.tell(kernel, source, Event::Returned { peer, packet });
        } else {
            self.tell(kernel, destination, Event::Packet { source, packet });
        }
    }

    fn introduce(&self, rank: u32, process: &Rc<Process>) {
        self.endpoints.borrow_mut()[rank as usize].process = Rc::downgrade(process);
    }

    /// Puts an event into the inbox of a rank and wakes it.
    pub(crate) fn tell(&self, kernel: &mut Kernel, rank: u32, event: Event) {
        let endpoint = &mut self.endpoints.borrow_mut()[rank as usize];
        endpoint.inbox.push_back(event);
        for waker in endpoint.wakers.drain(..) {
            waker.wake();
        }
        kernel.wake_actor(actor(rank));
    }

    /// Puts an event into the inbox of a rank that is awake.
    pub(crate) fn note(&self, rank: u32, event: Event) {
        self.endpoints.borrow_mut()[rank as usize]
            .inbox
            .push_back(event);
    }

    fn poll_event(&self, rank: u32) -> Option<Event> {
        let endpoint = &mut self.endpoints.borrow_mut()[rank as usize];
        if let Some(parked) = endpoint.parked
            && self.port.is_woken(parked)
        {
            endpoint.parked = None;
        }
        endpoint.inbox.pop_front()
    }

    fn park(&self, rank: u32, waker: &Waker) {
        let endpoint = &mut self.endpoints.borrow_mut()[rank as usize];
        let is_known = |known: &Waker| known.will_wake(waker);
        if !self.port.is_own_waker(waker) && !endpoint.wakers.iter().any(is_known) {
            endpoint.wakers.push(waker.clone());
        }
        if endpoint.parked.is_none() {
            endpoint.parked = Some(self.port.park(Location::caller()));
        }
    }

    /// The host of a rank is off. Without connections nobody can survive that: it ends the run. With them, all other ranks are
    /// told.
    pub(crate) fn lose(&self, kernel: &mut Kernel, lost: ActorId) {
        if lost.number() > self.size {
            return;
        }
        if !self.connects() {
            return kernel.fail_actor(lost, "its host is off".to_owned());
        }
        let peer = lost.number() - 1;
        self.gone.borrow_mut().insert(peer, Some(kernel.now()));
        for rank in (0..self.size).filter(|rank| *rank != peer) {
            // Hosts may be off from the start, before there are actors for all ranks.
            if self.endpoints.borrow()[rank as usize].parked.is_some() {
                self.tell(kernel, rank, Event::Lost { peer });
            } else {
                self.note(rank, Event::Lost { peer });
            }
        }
    }

    /// A packet from one rank to another was lost on the way: both are told.
    pub(crate) fn part(&self, kernel: &mut Kernel, source: u32, destination: u32) {
        self.tell(kernel, source, Event::Broken { peer: destination });
        self.tell(kernel, destination, Event::Broken { peer: source });
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

    /// What the rank that runs as `blocked` waits for.
    pub(crate) fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        let rank = blocked.number() - 1;
        let process = self
            .endpoints
            .borrow()
            .get(rank as usize)?
            .process
            .upgrade();
        let waiting = process?.waiting()?;
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
}

impl<C: Carrier> Channel for RankChannel<C> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.device.ranks().size
    }

    fn settings(&self) -> &Settings {
        &self.device.ranks().settings
    }

    fn now(&self) -> f64 {
        let actor = self.device.ranks().port.actor(actor(self.rank));
        actor.now().as_secs()
    }

    fn max_packet(&self) -> u64 {
        u64::MAX
    }

    fn post(&self, peer: u32, packet: Packet) {
        self.device.post(self.rank, peer, packet);
    }

    fn poll_event(&self) -> Option<Event> {
        self.device.before_poll(self.rank);
        self.device.ranks().poll_event(self.rank)
    }

    fn timer(&self, seconds: f64, token: Token) {
        self.device.timer(self.rank, seconds, token);
    }

    fn compute(&self, flops: f64, token: Token) {
        self.device.compute(self.rank, flops, token);
    }

    fn park(&self, waker: &Waker, interest: Interest) {
        self.device.ranks().park(self.rank, waker);
        self.device.parked(self.rank, interest);
    }

    fn shut(&self) {
        self.device.ranks().shut(self.rank);
    }

    fn linger(&self) {
        let actor = self.device.ranks().port.actor(actor(self.rank));
        actor.daemonize();
    }

    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        self.device.undelivered(self.rank)
    }

    fn host_name(&self) -> String {
        let host_name = |kernel: &mut Kernel| kernel.host_name(kernel.host_of(actor(self.rank)));
        self.device.ranks().port.with(host_name)
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

    fn abort(&self, code: i32) {
        let message = format!("called abort with code {code}");
        let fail = |kernel: &mut Kernel| kernel.fail_actor(actor(self.rank), message);
        self.device.ranks().port.with(fail);
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
