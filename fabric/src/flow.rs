//! The flow device: a packet is one transfer in the network model.
//!
//! A packet that carries a message travels from the sender's host to the receiver's as the model says. Control
//! packets (RTS, CTS) cost nothing and arrive at the date at which they are posted, so a rendezvous starts to move
//! data at the later of the two calls, as in other simulators of this kind. Packets with an envelope keep the order
//! of each pair of ranks: one that arrives before its predecessor waits for it.
//!
//! A rendezvous send is over when its data have arrived; an eager send was over when it was posted.
//!
//! A host or a link that goes off under a message ends the run as a failure of the sending rank; a host that goes off
//! under a rank as a failure of that rank.
//!
//! *Not modelled*: packet sizes, buffers, credits, injection order at the adapter, and the time of control messages.
//! A user sees rendezvous without its round trip; messages of one pair share the bandwidth instead of queueing; and
//! an RTS waits for the arrival of an eager message before it, never for anything else.
//!
//! Units: bytes, seconds, flop.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::task::Waker;

use mpi::channel::{Channel, Event, Header, Level, Packet, Settings, Token};
use mpi::{Envelope, Process};
use sim_core::{ActorId, Blocked, Device, DevicePort, End, Kernel, Parked, Span, Time, Work};

/// A packet on its way.
#[derive(Debug)]
struct InFlight {
    source: u32,
    destination: u32,
    packet: Packet,
    arrived: bool,
    /// The packet of this pair that was posted before and has not been delivered.
    before: Option<u32>,
    /// The packet of this pair that was posted after.
    after: Option<u32>,
}

/// What the device was asked to tell the end of.
#[derive(Debug)]
enum Job {
    Free { next: Option<u32> },
    Packet(InFlight),
    Elapse { rank: u32, token: Token },
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

#[derive(Debug, Default)]
struct Tables {
    jobs: Vec<Job>,
    free: Option<u32>,
    endpoints: Vec<Endpoint>,
    /// The last packet in flight of each pair, by destination and source, that keeps order.
    last: BTreeMap<(u32, u32), u32>,
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct Flow {
    port: DevicePort,
    settings: Settings,
    tables: RefCell<Tables>,
}

const fn actor(rank: u32) -> ActorId {
    ActorId::from_number(rank + 1)
}

impl Flow {
    /// A device for `ranks` ranks, attached to the kernel behind `port`.
    #[must_use]
    pub fn new(port: DevicePort, ranks: u32, settings: Settings) -> Rc<Self> {
        let mut tables = Tables::default();
        tables
            .endpoints
            .resize_with(ranks as usize, Endpoint::default);
        let flow = Rc::new(Self {
            port: port.clone(),
            settings,
            tables: RefCell::new(tables),
        });
        port.attach(Rc::clone(&flow) as Rc<dyn Device>);
        flow
    }

    /// The rank's process over this device. The device keeps only a weak reference.
    #[must_use]
    pub fn process(self: &Rc<Self>, rank: u32) -> Rc<Process> {
        let process = Process::new(Box::new(FlowChannel {
            flow: Rc::clone(self),
            rank,
        }));
        self.tables.borrow_mut().endpoints[rank as usize].process = Rc::downgrade(&process);
        process
    }
}

impl Tables {
    fn insert(&mut self, job: Job) -> u32 {
        if let Some(index) = self.free {
            let place = &mut self.jobs[index as usize];
            let Job::Free { next } = *place else {
                unreachable!("the free list holds free places")
            };
            self.free = next;
            *place = job;
            return index;
        }
        self.jobs.push(job);
        u32::try_from(self.jobs.len() - 1).expect("packets in flight are counted in 32 bits")
    }

    fn remove(&mut self, index: u32) -> Job {
        let free = Job::Free { next: self.free };
        self.free = Some(index);
        std::mem::replace(&mut self.jobs[index as usize], free)
    }

    fn packet(&mut self, index: u32) -> &mut InFlight {
        match &mut self.jobs[index as usize] {
            Job::Packet(packet) => packet,
            other => unreachable!("a packet in flight is not {other:?}"),
        }
    }

    /// Puts a packet behind those of its pair that are in flight.
    fn launch(&mut self, source: u32, destination: u32, packet: Packet) -> u32 {
        let ordered = packet.header.is_ordered();
        let before = if ordered {
            self.last.get(&(destination, source)).copied()
        } else {
            None
        };
        let in_flight = InFlight {
            source,
            destination,
            packet,
            arrived: false,
            before,
            after: None,
        };
        let index = self.insert(Job::Packet(in_flight));
        if ordered {
            self.last.insert((destination, source), index);
        }
        if let Some(before) = before {
            self.packet(before).after = Some(index);
        }
        index
    }

    /// A packet has arrived: it is delivered, with those that waited for it, unless it has to wait itself.
    fn arrive(&mut self, kernel: &mut Kernel, index: u32) {
        let packet = self.packet(index);
        packet.arrived = true;
        if packet.before.is_some() {
            return;
        }
        let mut next = Some(index);
        while let Some(index) = next {
            let packet = self.packet(index);
            packet.before = None;
            if !packet.arrived {
                return;
            }
            next = packet.after;
            let (pair, ordered) = (
                (packet.destination, packet.source),
                packet.packet.header.is_ordered(),
            );
            if ordered && next.is_none() {
                self.last.remove(&pair);
            }
            self.deliver(kernel, index);
        }
    }

    fn deliver(&mut self, kernel: &mut Kernel, index: u32) {
        let Job::Packet(InFlight {
            source,
            destination,
            packet,
            ..
        }) = self.remove(index)
        else {
            unreachable!("a packet is delivered once");
        };
        let (kind, detail) = match packet.header {
            Header::Eager { envelope } => (1, envelope.tag),
            Header::Rts { envelope, .. } => (2, envelope.tag),
            Header::Cts { .. } => (3, 0),
            Header::Data { .. } => (4, 0),
        };
        let label = packet.payload.len() << 8 | kind | u64::from(detail) << 40;
        kernel.mix_digest(u64::from(source) << 32 | u64::from(destination), label);
        if let Some(token) = packet.notify {
            self.tell(kernel, source, Event::Sent(token));
        }
        self.tell(kernel, destination, Event::Packet { source, packet });
    }

    /// A host or a link under a packet or a computation went off. Ranks cannot survive that yet: it ends the run.
    fn fail(&mut self, kernel: &mut Kernel, index: u32) {
        let (rank, what) = match self.remove(index) {
            Job::Packet(InFlight {
                source,
                destination,
                ..
            }) => (
                source,
                format!(
                    "its message to rank {destination} failed: a host or a link on the way went off"
                ),
            ),
            Job::Elapse { rank, .. } => {
                (rank, "its computation failed: the host went off".to_owned())
            }
            Job::Free { .. } => unreachable!("what ends was under way"),
        };
        kernel.fail_actor(actor(rank), what);
    }

    fn tell(&mut self, kernel: &mut Kernel, rank: u32, event: Event) {
        let endpoint = &mut self.endpoints[rank as usize];
        endpoint.inbox.push_back(event);
        for waker in endpoint.wakers.drain(..) {
            waker.wake();
        }
        kernel.wake_actor(actor(rank));
    }

    /// The messages to a rank that are on their way, by sender and in the order in which they were sent.
    fn undelivered(&self, destination: u32) -> Vec<(Envelope, u64)> {
        let mut all = Vec::new();
        let to_rank = (destination, 0)..=(destination, u32::MAX);
        for (_, &last) in self.last.range(to_rank) {
            let start = all.len();
            let mut next = Some(last);
            while let Some(Job::Packet(InFlight { packet, before, .. })) =
                next.map(|index| &self.jobs[index as usize])
            {
                match packet.header {
                    Header::Eager { envelope } => all.push((envelope, packet.payload.len())),
                    Header::Rts {
                        envelope, length, ..
                    } => all.push((envelope, length)),
                    Header::Cts { .. } | Header::Data { .. } => {}
                }
                next = *before;
            }
            all[start..].reverse();
        }
        all
    }
}

impl Device for Flow {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let index = u32::try_from(token).expect("tokens of this device have 32 bits");
        let mut tables = self.tables.borrow_mut();
        if end != End::Done {
            return tables.fail(kernel, index);
        }
        if let Job::Elapse { rank, token } = tables.jobs[index as usize] {
            tables.remove(index);
            tables.tell(kernel, rank, Event::Elapsed(token));
        } else {
            tables.arrive(kernel, index);
        }
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        self.on_end(kernel, token, End::Done);
    }

    /// Ranks cannot survive that yet, nor can those that talk to them: it ends the run.
    fn on_host_off(&self, kernel: &mut Kernel, lost: ActorId) {
        let rank = lost.number() as usize - 1;
        if rank < self.tables.borrow().endpoints.len() {
            kernel.fail_actor(lost, "its host is off".to_owned());
        }
    }

    fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        let rank = blocked.number() - 1;
        let process = self
            .tables
            .borrow()
            .endpoints
            .get(rank as usize)?
            .process
            .upgrade()?;
        let waiting = process.waiting()?;
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

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// One rank's view of the device.
struct FlowChannel {
    flow: Rc<Flow>,
    rank: u32,
}

impl Channel for FlowChannel {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.flow.tables.borrow().endpoints.len())
            .expect("ranks are counted in 32 bits")
    }

    fn settings(&self) -> Settings {
        self.flow.settings
    }

    fn now(&self) -> f64 {
        self.flow.port.actor(actor(self.rank)).now().as_secs()
    }

    fn max_packet(&self) -> u64 {
        u64::MAX
    }

    fn post(&self, peer: u32, packet: Packet) {
        let (control, length) = (packet.header.is_control(), packet.payload.len());
        let index = self
            .flow
            .tables
            .borrow_mut()
            .launch(self.rank, peer, packet);
        self.flow.port.with(|kernel| {
            if control {
                kernel.set_device_timer(kernel.now(), u64::from(index));
                return;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "messages of 2^53 bytes and more may be off by one"
            )]
            let bytes = length as f64;
            kernel.count_message(bytes);
            let (from, to) = (
                kernel.host_of(actor(self.rank)),
                kernel.host_of(actor(peer)),
            );
            kernel.start_for_device(
                &Work::Transfer {
                    from,
                    to,
                    bytes,
                    rate: f64::INFINITY,
                },
                u64::from(index),
            );
        });
    }

    fn poll_event(&self) -> Option<Event> {
        let mut tables = self.flow.tables.borrow_mut();
        let endpoint = &mut tables.endpoints[self.rank as usize];
        if let Some(parked) = endpoint.parked
            && self.flow.port.is_woken(parked)
        {
            endpoint.parked = None;
        }
        endpoint.inbox.pop_front()
    }

    fn timer(&self, seconds: f64, token: Token) {
        let index = self.flow.tables.borrow_mut().insert(Job::Elapse {
            rank: self.rank,
            token,
        });
        let date = |now: Time| now + Span::from_secs(seconds);
        self.flow
            .port
            .with(|kernel| kernel.set_device_timer(date(kernel.now()), u64::from(index)));
    }

    fn compute(&self, flops: f64, token: Token) {
        let index = self.flow.tables.borrow_mut().insert(Job::Elapse {
            rank: self.rank,
            token,
        });
        self.flow.port.with(|kernel| {
            let host = kernel.host_of(actor(self.rank));
            let work = Work::Exec {
                host,
                flops,
                priority: 1.0,
                bound: f64::INFINITY,
            };
            kernel.start_for_device(&work, u64::from(index));
        });
    }

    fn park(&self, waker: &Waker) {
        let mut tables = self.flow.tables.borrow_mut();
        let endpoint = &mut tables.endpoints[self.rank as usize];
        let is_known = |known: &Waker| known.will_wake(waker);
        if !self.flow.port.is_own_waker(waker) && !endpoint.wakers.iter().any(is_known) {
            endpoint.wakers.push(waker.clone());
        }
        if endpoint.parked.is_none() {
            endpoint.parked = Some(self.flow.port.park(Location::caller()));
        }
    }

    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        self.flow.tables.borrow().undelivered(self.rank)
    }

    fn host_name(&self) -> String {
        self.flow
            .port
            .with(|kernel| kernel.host_name(kernel.host_of(actor(self.rank))))
    }

    fn print(&self, text: fmt::Arguments<'_>) {
        self.flow.port.actor(actor(self.rank)).println(text);
    }

    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.flow
            .port
            .actor(actor(self.rank))
            .log(same_level(level), text);
    }

    fn abort(&self, code: i32) {
        let message = format!("called abort with code {code}");
        self.flow
            .port
            .with(|kernel| kernel.fail_actor(actor(self.rank), message));
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
