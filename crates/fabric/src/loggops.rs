//! The LogGOPS device: messages occupy processors and adapters, and have a latency; there are no
//! links.
//!
//! Every rank has one processor and one adapter. With L, o, g, G, O as in [`LogGopsParameters`] and
//! a packet of s bytes (a control packet and an empty message count as 1 byte):
//!
//! * **Sending** starts at a date t at which the processor is free and the adapter has finished its
//!   earlier sends. The processor is occupied until t + o + (s−1)·O, the adapter does not send
//!   again before t + g + (s−1)·G, and the first byte arrives at t + o + L. The own work of a rank
//!   (sending, computing) happens in the order of its calls. An eager send is over when its
//!   processor is free again, because the message was copied; the data of a rendezvous are over at
//!   t + o + (s−1)·max(O, G), when the last byte has left.
//! * **Receiving** starts at a date r, at the arrival or later, at which the processor is free and
//!   the adapter has finished its earlier receives. The processor is occupied until r + o +
//!   (s−1)·max(O, G), because the last byte comes no earlier; then the message layer gets the
//!   packet. The adapter does not receive again before r + g + (s−1)·G. Packets that arrive at a
//!   busy rank wait in one queue per rank, in the order of arrival, and are looked at once.
//! * When both could start at one date, sending goes first.
//! * **Computing** occupies the processor; the host's cores are shared by the ranks on it as in all
//!   models. Packets that arrive meanwhile wait. Sleeping occupies no resource.
//! * **Rendezvous** costs its control packets: RTS, CTS and data are three packets, so a message
//!   that is expected takes 6 o + 3 L + (s−1)·max(O, G).
//!
//! So a message alone takes 2 o + L + (s−1)·max(O, G). Of k messages from one sender the last
//! starts (k−1)·max(o + (s−1)·O, g + (s−1)·G) later, and of k that arrive together the last is
//! received (k−1)·max(o + (s−1)·max(O, G), g + (s−1)·G) later.
//!
//! A call that does not wait takes no time itself: its cost is paid before the next action of the
//! rank.
//!
//! **Ranks of one host** exchange messages through memory if the platform has costs of it
//! ([`settings::LogGopsLoopback`]): L, o and G are those costs, no adapter is occupied, and both
//! processors copy, each for o + (s−1)·max(O, G). So such a message alone takes 2 o + L +
//! (s−1)·max(O, G), too, and of k messages from one sender the last starts (k−1)·(o +
//! (s−1)·max(O, G)) later. Without these costs, such a message costs the same as one between hosts.
//!
//! *Not modelled*: links, topology, congestion anywhere but at the two ends: the memory of a host
//! serves all its ranks at full speed. Several adapters or progress threads. Times do not depend on
//! the mapping of ranks, except for computations and messages within hosts. Matching costs no time,
//! for any queue length.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
//! in the LogGOPS model", LSAP workshop at HPDC 2010, and the simulator of that name. Differences
//! from the simulator: there, a rendezvous is one message, and the sender is released at the date
//! at which the receiver has matched the message, without a control message; and a packet that
//! arrives at a busy rank is put back into the queue of all events again and again.
//!
//! Units: bytes, seconds, flop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use channel::{ChannelEvent, Envelope, Interest, Packet, Settings, Token};
use observe::NetworkEvent;
use settings::LogGopsParameters;
use sim_core::{ActorId, Blocked, Device, End, Kernel, KernelHandle, Span, Time};

use crate::flow::{begins, message};
use crate::ranks::{Ranks, SimulatedDevice, actor, begin_computation};
use crate::slab::Slab;

mod costs;

use costs::{PacketCosts, rest_of};

/// An item in a list of items of one rank.
#[derive(Debug)]
struct Listed<T> {
    item: T,
    next: u32,
}

impl<T> Listed<T> {
    const fn new(item: T) -> Self {
        Self { item, next: NONE }
    }
}

/// Sends that will be over at a date. Apart from the jobs: each table is then used in the
/// order of the ranks where these go in step, and a million ranks wait less for memory.
type EndingSends = Slab<Listed<(Time, Token)>>;

/// Work of the device in progress.
#[derive(Debug)]
enum NodeJob {
    Packet {
        source: u32,
        destination: u32,
        /// True if the ranks share a host with its own costs of memory.
        is_local: bool,
        /// The bytes of the packet that take time each.
        rest: f64,
        packet: Packet,
    },
    Compute {
        flops: f64,
        token: Token,
    },
    /// An activity with its own duration.
    Elapse {
        rank: u32,
        token: Token,
        what: Elapsing,
    },
}

/// Activities with a duration of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elapsing {
    Computation,
    Sleep,
    /// The last bytes of a send.
    Rest,
}

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Items of a rank, first in, first out.
#[derive(Clone, Copy, Debug)]
struct RankList {
    first: u32,
    last: u32,
}

impl RankList {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    const fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[inline]
    fn push<T>(&mut self, items: &mut Slab<Listed<T>>, index: u32) {
        if self.first == NONE {
            self.first = index;
        } else {
            items.get_mut(self.last).next = index;
        }
        self.last = index;
    }

    /// Removes the first item.
    #[inline]
    const fn pop<T>(&mut self, first: &mut Listed<T>) {
        self.first = std::mem::replace(&mut first.next, NONE);
    }
}

/// One rank's processor and adapter.
#[derive(Clone, Copy, Debug)]
struct RankNode {
    /// The date at which the processor has finished its work for messages.
    cpu_free: Time,
    /// The adapter may send again.
    out_free: Time,
    /// The adapter may receive again.
    in_free: Time,
    /// The earliest date at which the rank is looked at.
    armed: Time,
    /// Work of the rank itself.
    own: RankList,
    arrived: RankList,
    /// Sends that will be over, by date.
    left: RankList,
    /// The packet that the processor receives.
    receiving: u32,
    computes: bool,
    /// The rank also waits for the end of its sends.
    wants_left: bool,
}

impl RankNode {
    const IDLE: Self = Self {
        cpu_free: Time::ZERO,
        out_free: Time::ZERO,
        in_free: Time::ZERO,
        armed: Time::NEVER,
        own: RankList::EMPTY,
        arrived: RankList::EMPTY,
        left: RankList::EMPTY,
        receiving: NONE,
        computes: false,
        wants_left: false,
    };
}

#[derive(Debug)]
struct Tables {
    /// Between hosts, and within a host.
    costs: [PacketCosts; 2],
    has_loopback: bool,
    jobs: Slab<Listed<NodeJob>>,
    ending: EndingSends,
    nodes: Vec<RankNode>,
    /// Messages under way to each rank; built on first use.
    coming: Option<BTreeMap<u32, Vec<(Envelope, u64)>>>,
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct LogGops {
    ranks: Ranks,
    tables: RefCell<Tables>,
}

/// Kinds of timers, above the 32 bits of a job or a rank.
mod timer {
    pub(super) const ARRIVAL: u64 = 0;
    pub(super) const LOOK: u64 = 1 << 32;
    pub(super) const JOB: u64 = 2 << 32;
    pub(super) const KIND: u64 = 3 << 32;

    /// The job or the rank.
    pub(super) const fn number(token: u64) -> u32 {
        (token & u32::MAX as u64) as u32
    }
}

impl LogGops {
    /// A device for `ranks` ranks, attached to the kernel behind `port`. The settings must say that
    /// eager sends are told of.
    ///
    /// # Panics
    /// If they do not.
    pub fn new(
        port: KernelHandle,
        ranks: u32,
        settings: Settings,
        costs: LogGopsParameters<Span>,
    ) -> Rc<Self> {
        assert!(
            settings.tells_eager_sends,
            "with LogGOPS an eager send takes its time"
        );
        // Without time nothing occupies anything.
        let costs = if port.with_kernel(|kernel| kernel.is_timed()) {
            costs
        } else {
            LogGopsParameters::default()
        };
        let between = PacketCosts::from_parameters(&costs);
        let within = (costs.loopback)
            .map(|loopback| PacketCosts::from_loopback(&loopback, costs.overhead_per_byte));
        let device = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            tables: RefCell::new(Tables {
                costs: [between, within.unwrap_or(between)],
                has_loopback: within.is_some(),
                jobs: Slab::default(),
                ending: EndingSends::default(),
                nodes: vec![RankNode::IDLE; ranks as usize],
                coming: None,
            }),
        });
        port.attach(Rc::clone(&device) as Rc<dyn Device>);
        device
    }

    /// Begins and ends all jobs of a rank that can begin or end at this date, and sets a timer for
    /// the next date.
    #[inline]
    fn run_due_jobs(&self, kernel: &mut Kernel, tables: &mut Tables, rank: u32) {
        let node = &tables.nodes[rank as usize];
        if node.has_jobs() && !node.computes {
            self.run_jobs(kernel, tables, rank);
        }
        let node = &mut tables.nodes[rank as usize];
        if node.wants_left && !node.left.is_empty() {
            node.tell_left(&mut tables.ending, (kernel, &self.ranks), rank);
        }
    }

    /// The part for ranks with jobs. Apart, because the end of a send that is over has none.
    #[inline(never)]
    fn run_jobs(&self, kernel: &mut Kernel, tables: &mut Tables, rank: u32) {
        let Tables {
            costs,
            jobs,
            ending,
            nodes,
            ..
        } = tables;
        let (node, now) = (&mut nodes[rank as usize], kernel.now());
        while !node.computes {
            if node.cpu_free > now {
                if node.has_jobs() {
                    arm(kernel, node, rank, node.cpu_free);
                }
                break;
            }
            if node.receiving != NONE {
                let received = std::mem::replace(&mut node.receiving, NONE);
                self.deliver_received(kernel, jobs, received);
            } else if !node.begin_job((jobs, ending, costs), kernel, rank, now)
                && !node.begin_receive((jobs, costs), now)
            {
                node.await_adapter(kernel, rank);
                break;
            }
        }
    }

    #[inline(never)]
    fn deliver_received(
        &self,
        kernel: &mut Kernel,
        jobs: &mut Slab<Listed<NodeJob>>,
        received: u32,
    ) {
        let end = NetworkEvent::End { flow: received };
        self.ranks.observe_network(kernel.now(), end);
        let NodeJob::Packet {
            source,
            destination,
            packet,
            ..
        } = jobs.remove(received).item
        else {
            unreachable!("only packets are received")
        };
        self.ranks
            .deliver_packet(kernel, source, destination, packet);
    }

    /// Reports a posted packet to an observer as a flow without links. The reported duration alone
    /// excludes the time for which the packet waits for processors and adapters.
    #[cold]
    fn observe_posted(&self, now: Time, tables: &Tables, flow: u32) {
        let NodeJob::Packet {
            source,
            destination,
            is_local,
            rest,
            ref packet,
        } = tables.jobs.get(flow).item
        else {
            unreachable!("only packets are posted")
        };
        let costs = &tables.costs[usize::from(is_local)];
        let first_byte = costs.overhead + costs.latency;
        let alone = first_byte + costs.through_time(rest);
        let bytes = packet.payload.len();
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages of 2^53 bytes and more may be off by one"
        )]
        let begin = NetworkEvent::Begin {
            flow,
            bytes: bytes as f64,
            latency_s: (first_byte + costs.overhead).as_secs(),
            alone_s: alone.as_secs(),
            links: &[][..],
        };
        self.ranks.observe_network(now, begin);
        self.ranks
            .observe_injection(source, destination, &packet.header, bytes);
    }
}

/// Makes sure that the rank is looked at on that date.
fn arm(kernel: &mut Kernel, node: &mut RankNode, rank: u32, date: Time) {
    if date < node.armed {
        node.armed = date;
        kernel.set_device_timer(date, timer::LOOK | u64::from(rank));
    }
}

impl RankNode {
    /// Returns true if the rank receives, or if a job of the rank waits.
    #[inline]
    const fn has_jobs(&self) -> bool {
        // One comparison: all bits of `NONE` are set.
        self.receiving & self.own.first & self.arrived.first != NONE
    }

    /// Begins the first of the rank's own jobs. Returns false if there is none that can begin.
    #[inline]
    fn begin_job(
        &mut self,
        (jobs, ending, costs): (
            &mut Slab<Listed<NodeJob>>,
            &mut EndingSends,
            &[PacketCosts; 2],
        ),
        kernel: &mut Kernel,
        rank: u32,
        now: Time,
    ) -> bool {
        let index = self.own.first;
        if index == NONE {
            return false;
        }
        let job = jobs.get_mut(index);
        match &mut job.item {
            NodeJob::Packet {
                packet,
                is_local,
                rest,
                ..
            } => {
                if !*is_local && self.out_free > now {
                    return false;
                }
                let costs = &costs[usize::from(*is_local)];
                self.cpu_free = now + costs.copy_time(*rest);
                if !*is_local {
                    self.out_free = now + costs.gap_time(*rest);
                }
                let over = if packet.header.is_ordered() {
                    self.cpu_free
                } else {
                    now + costs.through_time(*rest)
                };
                let notify = packet.notify.take();
                self.own.pop(job);
                let arrival = now + costs.overhead + costs.latency;
                kernel.set_device_timer(arrival, timer::ARRIVAL | u64::from(index));
                if let Some(token) = notify {
                    self.finish_send((jobs, ending), kernel, rank, (over, token));
                }
            }
            NodeJob::Compute { .. } => self.begin_computation(job, kernel, (rank, index)),
            other => unreachable!("a rank sends and computes, and does not {other:?}"),
        }
        true
    }

    #[inline(never)]
    fn begin_computation(
        &mut self,
        job: &mut Listed<NodeJob>,
        kernel: &mut Kernel,
        (rank, index): (u32, u32),
    ) {
        let NodeJob::Compute { flops, token } = job.item else {
            unreachable!("only computations compute")
        };
        job.item = NodeJob::Elapse {
            rank,
            token,
            what: Elapsing::Computation,
        };
        self.own.pop(job);
        self.computes = true;
        begin_computation(kernel, rank, flops, timer::JOB | u64::from(index));
    }

    /// A send will be over at that date.
    fn finish_send(
        &mut self,
        (jobs, ending): (&mut Slab<Listed<NodeJob>>, &mut EndingSends),
        kernel: &mut Kernel,
        rank: u32,
        (date, token): (Time, Token),
    ) {
        if date > self.cpu_free {
            // The only ones that may come out of order.
            let rest = NodeJob::Elapse {
                rank,
                token,
                what: Elapsing::Rest,
            };
            let index = jobs.insert(Listed::new(rest));
            kernel.set_device_timer(date, timer::JOB | u64::from(index));
            return;
        }
        let index = ending.insert(Listed::new((date, token)));
        self.left.push(ending, index);
    }

    /// Begins to receive the first arrived packet. Returns false if there is none that can be
    /// received.
    #[inline]
    fn begin_receive(
        &mut self,
        (jobs, costs): (&mut Slab<Listed<NodeJob>>, &[PacketCosts; 2]),
        now: Time,
    ) -> bool {
        let index = self.arrived.first;
        if index == NONE {
            return false;
        }
        let job = jobs.get_mut(index);
        let NodeJob::Packet { is_local, rest, .. } = job.item else {
            unreachable!("only packets arrive")
        };
        let costs = &costs[usize::from(is_local)];
        if !is_local {
            if self.in_free > now {
                return false;
            }
            self.in_free = now + costs.gap_time(rest);
        }
        self.arrived.pop(job);
        self.cpu_free = now + costs.through_time(rest);
        self.receiving = index;
        true
    }

    /// Sets a timer for the adapter: the processor is free, and the next jobs wait for the adapter.
    fn await_adapter(&mut self, kernel: &mut Kernel, rank: u32) {
        let sending = (!self.own.is_empty()).then_some(self.out_free);
        let receiving = (!self.arrived.is_empty()).then_some(self.in_free);
        if let Some(date) = sending.into_iter().chain(receiving).min() {
            arm(kernel, self, rank, date);
        }
    }

    /// The next send that is over by now, or the date of the next one.
    #[inline]
    fn pop_left(&mut self, ending: &mut EndingSends, now: Time) -> Result<Token, Time> {
        let index = self.left.first;
        if index == NONE {
            return Err(Time::NEVER);
        }
        let send = ending.get_mut(index);
        let (date, token) = send.item;
        if date > now {
            return Err(date);
        }
        self.left.pop(send);
        ending.remove(index);
        Ok(token)
    }

    /// Wakes a rank that waits for sends that are over, and asks for the date at which the next one
    /// is.
    fn tell_left(
        &mut self,
        ending: &mut EndingSends,
        (kernel, ranks): (&mut Kernel, &Ranks),
        rank: u32,
    ) {
        let now = kernel.now();
        loop {
            match self.pop_left(ending, now) {
                Ok(token) => ranks.notify(kernel, rank, ChannelEvent::Sent(token)),
                Err(date) => return arm(kernel, self, rank, date),
            }
        }
    }
}

impl Tables {
    /// Appends a job to the rank's own jobs. Returns the number of the job.
    #[inline(always)]
    fn enqueue(&mut self, rank: u32, job: NodeJob) -> u32 {
        if self.coming.is_some() {
            self.coming = None;
        }
        let index = self.jobs.insert(Listed::new(job));
        self.nodes[rank as usize].own.push(&mut self.jobs, index);
        index
    }

    /// Ends an activity with its own duration, and returns its rank.
    fn elapse(&mut self, kernel: &mut Kernel, ranks: &Ranks, index: u32, end: End) -> u32 {
        let NodeJob::Elapse { rank, token, what } = self.jobs.remove(index).item else {
            unreachable!("only what takes time by itself elapses")
        };
        if end != End::Done && ranks.connects() {
            // The device hears of the host otherwise.
            return rank;
        }
        if end != End::Done {
            let message = "computation failed: host failure".to_owned();
            kernel.fail_actor(actor(rank), message);
            return rank;
        }
        if what == Elapsing::Computation {
            self.nodes[rank as usize].computes = false;
        }
        let event = match what {
            Elapsing::Computation | Elapsing::Sleep => ChannelEvent::Elapsed(token),
            Elapsing::Rest => ChannelEvent::Sent(token),
        };
        ranks.notify(kernel, rank, event);
        rank
    }
}

impl Device for LogGops {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let tables = &mut *self.tables.borrow_mut();
        let rank = tables.elapse(kernel, &self.ranks, timer::number(token), end);
        self.run_due_jobs(kernel, tables, rank);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        let tables = &mut *self.tables.borrow_mut();
        let number = timer::number(token);
        let rank = match token & timer::KIND {
            timer::ARRIVAL => {
                let NodeJob::Packet { destination, .. } = tables.jobs.get(number).item else {
                    unreachable!("only packets arrive")
                };
                let node = &mut tables.nodes[destination as usize];
                node.arrived.push(&mut tables.jobs, number);
                destination
            }
            timer::LOOK => {
                let node = &mut tables.nodes[number as usize];
                if node.armed <= kernel.now() {
                    node.armed = Time::NEVER;
                }
                number
            }
            _ => tables.elapse(kernel, &self.ranks, number, End::Done),
        };
        self.run_due_jobs(kernel, tables, rank);
    }

    fn progress(&self) {
        self.ranks
            .handle_parked_events(|rank| self.before_poll(rank));
    }

    fn on_host_off(&self, kernel: &mut Kernel, lost: ActorId) {
        self.ranks.lose(kernel, lost);
    }

    fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        self.ranks.describe_wait(blocked)
    }
}

impl SimulatedDevice for LogGops {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        let tables = &mut *self.tables.borrow_mut();
        let port = &self.ranks.port;
        let is_local = port.with_kernel(|kernel| {
            if let Some(bytes) = begins(&packet) {
                kernel.count_message(bytes);
            }
            tables.has_loopback && kernel.host_of(actor(rank)) == kernel.host_of(actor(peer))
        });
        let index = tables.enqueue(
            rank,
            NodeJob::Packet {
                source: rank,
                destination: peer,
                is_local,
                rest: rest_of(&packet),
                packet,
            },
        );
        if self.ranks.is_observed() {
            // Observers ask the kernel for the date.
            self.observe_posted(port.now(), tables, index);
        }
        port.with_kernel(|kernel| self.run_due_jobs(kernel, tables, rank));
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let sleep = NodeJob::Elapse {
            rank,
            token,
            what: Elapsing::Sleep,
        };
        let mut tables = self.tables.borrow_mut();
        let index = tables.jobs.insert(Listed::new(sleep));
        self.ranks.port.with_kernel(|kernel| {
            let date = kernel.now() + Span::from_secs(seconds);
            kernel.set_device_timer(date, timer::JOB | u64::from(index));
        });
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        let tables = &mut *self.tables.borrow_mut();
        tables.enqueue(rank, NodeJob::Compute { flops, token });
        self.ranks
            .port
            .with_kernel(|kernel| self.run_due_jobs(kernel, tables, rank));
    }

    #[inline]
    fn before_poll(&self, rank: u32) {
        let Tables { nodes, ending, .. } = &mut *self.tables.borrow_mut();
        let node = &mut nodes[rank as usize];
        node.wants_left = false;
        if node.left.is_empty() {
            return;
        }
        let now = self.ranks.port.now();
        while let Ok(token) = node.pop_left(ending, now) {
            self.ranks.queue_event(rank, ChannelEvent::Sent(token));
        }
    }

    #[inline]
    fn is_quiet(&self, rank: u32) -> bool {
        let node = &self.tables.borrow().nodes[rank as usize];
        node.left.is_empty() && !node.wants_left
    }

    fn parked(&self, rank: u32, interest: Interest) {
        if interest == Interest::Arrivals {
            return;
        }
        let Tables { nodes, ending, .. } = &mut *self.tables.borrow_mut();
        let node = &mut nodes[rank as usize];
        node.wants_left = true;
        if !node.left.is_empty() {
            self.ranks.port.with_kernel(|kernel| {
                node.tell_left(ending, (kernel, &self.ranks), rank);
            });
        }
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        let tables = &mut *self.tables.borrow_mut();
        let coming = tables.coming.get_or_insert_with(|| {
            let mut coming: BTreeMap<u32, Vec<(Envelope, u64)>> = BTreeMap::new();
            for job in tables.jobs.iter() {
                if let NodeJob::Packet {
                    destination,
                    packet,
                    ..
                } = &job.item
                    && let Some(found) = message(packet)
                {
                    coming.entry(*destination).or_default().push(found);
                }
            }
            coming
        });
        coming.get(&rank).cloned().unwrap_or_default()
    }
}

impl fmt::Debug for LogGops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogGops")
    }
}
