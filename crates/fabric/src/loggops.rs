//! The LogGOPS device: messages occupy processors and adapters, and have a latency; there are no
//! links.
//!
//! Every rank has one processor and one adapter. With L, o, g, G, O as in [`Costs`] and a packet of
//! s bytes (a control packet and an empty message count as 1 byte):
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
//! ([`LogGopsLoopback`]): L, o and G are those costs, no adapter is occupied, and both processors
//! copy, each for o + (s−1)·max(O, G). So such a message alone takes 2 o + L + (s−1)·max(O, G),
//! too, and of k messages from one sender the last starts (k−1)·(o + (s−1)·max(O, G)) later.
//! Without these costs, such a message costs the same as one between hosts.
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
use settings::{LogGopsLoopback, LogGopsParameters};
use sim_core::{ActorId, Blocked, Device, End, Kernel, KernelHandle, Span, Time, Work};

use crate::flow::{begins, message};
use crate::ranks::{PacketTransport, Ranks, actor};
use crate::slab::Slab;

/// Costs of a packet at one end.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// Time in which the processor copies: o + (s−1)·O.
    copy: Span,
    /// Until the last byte is through: o + (s−1)·max(O, G).
    through: Span,
    /// Until the adapter takes the next: g + (s−1)·G.
    gap: Span,
}

impl Shares {
    /// Costs of a packet between ranks of one host.
    fn of_loopback(
        costs: &LogGopsParameters<Span>,
        loopback: LogGopsLoopback<Span>,
        packet: &Packet,
    ) -> Self {
        let costs = LogGopsParameters {
            overhead: loopback.overhead,
            gap: Span::ZERO,
            gap_per_byte: loopback.gap_per_byte,
            ..*costs
        };
        let shares = Self::from_packet(&costs, packet);
        Self {
            copy: shares.through,
            gap: Span::ZERO,
            ..shares
        }
    }

    #[inline]
    fn from_packet(costs: &LogGopsParameters<Span>, packet: &Packet) -> Self {
        let length = packet.header.charged_length(packet.payload.len());
        let rest = length.saturating_sub(1);
        if rest == 0 || packet.header.is_control() {
            return Self {
                copy: costs.overhead,
                through: costs.overhead,
                gap: costs.gap,
            };
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages of 2^53 bytes and more may be off by one"
        )]
        let rest = rest as f64;
        let copying = costs.overhead_per_byte * rest;
        let moving = costs.gap_per_byte * rest;
        Self {
            copy: costs.overhead + copying,
            through: costs.overhead + copying.max(moving),
            gap: costs.gap + moving,
        }
    }
}

impl What {
    const fn new_packet(source: u32, destination: u32, is_local: bool, packet: Packet) -> Self {
        Self::Packet {
            source,
            destination,
            is_local,
            packet,
        }
    }
}

/// Work of the device in progress. Jobs that wait at one rank form a list.
#[derive(Debug)]
struct NodeJob {
    what: What,
    next: u32,
}

#[derive(Debug)]
enum What {
    Packet {
        source: u32,
        destination: u32,
        /// True if the ranks share a host with its own costs of memory.
        is_local: bool,
        packet: Packet,
    },
    Compute {
        flops: f64,
        token: Token,
    },
    /// A send is over at that date.
    Left {
        date: Time,
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

/// Jobs of a rank, first in, first out.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    fn is_empty(self) -> bool {
        self.first == NONE
    }

    fn push(&mut self, jobs: &mut Slab<NodeJob>, index: u32) {
        if self.first == NONE {
            self.first = index;
        } else {
            jobs.get_mut(self.last).next = index;
        }
        self.last = index;
    }

    fn pop(&mut self, jobs: &mut Slab<NodeJob>) -> Option<u32> {
        let first = self.first;
        if first == NONE {
            return None;
        }
        self.first = std::mem::replace(&mut jobs.get_mut(first).next, NONE);
        Some(first)
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
    own: Queue,
    arrived: Queue,
    /// Sends that will be over, by date.
    left: Queue,
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
        own: Queue::EMPTY,
        arrived: Queue::EMPTY,
        left: Queue::EMPTY,
        receiving: NONE,
        computes: false,
        wants_left: false,
    };
}

#[derive(Debug)]
struct Tables {
    costs: LogGopsParameters<Span>,
    jobs: Slab<NodeJob>,
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
        let timed = port.with_kernel(|kernel| kernel.is_timed());
        let device = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            tables: RefCell::new(Tables {
                costs: if timed {
                    costs
                } else {
                    LogGopsParameters::default()
                },
                jobs: Slab::default(),
                nodes: vec![RankNode::IDLE; ranks as usize],
                coming: None,
            }),
        });
        port.attach(Rc::clone(&device) as Rc<dyn Device>);
        device
    }

    /// Begins and ends all jobs of a rank that can begin or end at this date, and sets a timer for
    /// the next date.
    fn run_due_jobs(&self, kernel: &mut Kernel, rank: u32) {
        let Tables {
            costs, jobs, nodes, ..
        } = &mut *self.tables.borrow_mut();
        let (node, now) = (&mut nodes[rank as usize], kernel.now());
        while !node.computes {
            if node.cpu_free > now {
                if node.receiving != NONE || !node.own.is_empty() || !node.arrived.is_empty() {
                    arm(kernel, node, rank, node.cpu_free);
                }
                break;
            }
            let received = std::mem::replace(&mut node.receiving, NONE);
            if received != NONE {
                let end = NetworkEvent::End { flow: received };
                self.ranks.observe_network(now, end);
                self.deliver_packet(kernel, jobs.remove(received));
            } else if node.may_begin(jobs, now) {
                node.begin_job((jobs, costs), kernel, rank, now);
            } else if node.may_receive(jobs, now) {
                node.begin_receive((jobs, costs), now);
            } else {
                node.await_adapter(kernel, rank);
                break;
            }
        }
        if node.wants_left && !node.left.is_empty() {
            node.tell_left(jobs, (kernel, &self.ranks), rank, now);
        }
    }

    #[inline]
    fn deliver_packet(&self, kernel: &mut Kernel, job: NodeJob) {
        let What::Packet {
            source,
            destination,
            packet,
            ..
        } = job.what
        else {
            unreachable!("only packets are received")
        };
        self.ranks
            .deliver_packet(kernel, source, destination, packet);
    }

    /// Appends a job to the rank's own jobs. Returns the number of the job.
    #[inline]
    fn enqueue(&self, rank: u32, what: What) -> u32 {
        let mut tables = self.tables.borrow_mut();
        tables.coming = None;
        let index = tables.jobs.insert(NodeJob { what, next: NONE });
        let Tables { nodes, jobs, .. } = &mut *tables;
        nodes[rank as usize].own.push(jobs, index);
        index
    }

    /// Appends a packet to the jobs of its rank, and reports the packet to an observer as a flow
    /// without links. The reported duration alone excludes the time for which the packet waits for
    /// processors and adapters.
    #[cold]
    fn enqueue_observed(&self, (rank, peer): (u32, u32), is_local: bool, packet: Packet) {
        let costs = self.tables.borrow().costs;
        let loopback = costs.loopback.filter(|_| is_local);
        let (header, bytes) = (packet.header, packet.payload.len());
        let (overhead, latency, shares) = match loopback {
            Some(within) => (
                within.overhead,
                within.latency,
                Shares::of_loopback(&costs, within, &packet),
            ),
            None => (
                costs.overhead,
                costs.latency,
                Shares::from_packet(&costs, &packet),
            ),
        };
        let first_byte = overhead + latency;
        let alone = first_byte + shares.through;
        let flow = self.enqueue(rank, What::new_packet(rank, peer, is_local, packet));
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages of 2^53 bytes and more may be off by one"
        )]
        let begin = NetworkEvent::Begin {
            flow,
            bytes: bytes as f64,
            latency_s: (first_byte + overhead).as_secs(),
            alone_s: alone.as_secs(),
            links: &[][..],
        };
        self.ranks.observe_network(self.ranks.port.now(), begin);
        self.ranks.observe_injection(rank, peer, &header, bytes);
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
    /// Returns true if there is a job of the rank's own that can begin.
    fn may_begin(&self, jobs: &Slab<NodeJob>, now: Time) -> bool {
        if self.own.is_empty() {
            return false;
        }
        let What::Packet { is_local, .. } = jobs.get(self.own.first).what else {
            return true;
        };
        is_local || self.out_free <= now
    }

    /// Returns true if the first arrived packet can be received.
    fn may_receive(&self, jobs: &Slab<NodeJob>, now: Time) -> bool {
        if self.arrived.is_empty() {
            return false;
        }
        let first = &jobs.get(self.arrived.first).what;
        self.in_free <= now || matches!(first, What::Packet { is_local: true, .. })
    }

    /// Begins the first of the rank's own jobs.
    fn begin_job(
        &mut self,
        (jobs, costs): (&mut Slab<NodeJob>, &LogGopsParameters<Span>),
        kernel: &mut Kernel,
        rank: u32,
        now: Time,
    ) {
        let index = self.own.pop(jobs).expect("there is one");
        let job = jobs.get_mut(index);
        match &mut job.what {
            What::Packet {
                packet, is_local, ..
            } => {
                let loopback = costs.loopback.as_ref().filter(|_| *is_local);
                let (shares, overhead, latency) = match loopback {
                    Some(&memory) => {
                        let shares = Shares::of_loopback(costs, memory, packet);
                        (shares, memory.overhead, memory.latency)
                    }
                    None => (
                        Shares::from_packet(costs, packet),
                        costs.overhead,
                        costs.latency,
                    ),
                };
                self.cpu_free = now + shares.copy;
                if loopback.is_none() {
                    self.out_free = now + shares.gap;
                }
                let over = if packet.header.is_ordered() {
                    self.cpu_free
                } else {
                    now + shares.through
                };
                let notify = packet.notify.take();
                let arrival = now + overhead + latency;
                kernel.set_device_timer(arrival, timer::ARRIVAL | u64::from(index));
                if let Some(token) = notify {
                    self.finish_send(jobs, kernel, rank, (over, token));
                }
            }
            &mut What::Compute { flops, token } => {
                job.what = What::Elapse {
                    rank,
                    token,
                    what: Elapsing::Computation,
                };
                self.computes = true;
                let work = Work::Exec {
                    host: kernel.host_of(actor(rank)),
                    threads: 1,
                    flops,
                    priority: 1.0,
                    bound: f64::INFINITY,
                };
                kernel.start_for_device(&work, timer::JOB | u64::from(index));
            }
            other => unreachable!("a rank sends and computes, and does not {other:?}"),
        }
    }

    /// A send will be over at that date.
    fn finish_send(
        &mut self,
        jobs: &mut Slab<NodeJob>,
        kernel: &mut Kernel,
        rank: u32,
        (date, token): (Time, Token),
    ) {
        if date > self.cpu_free {
            // The only ones that may come out of order.
            let what = What::Elapse {
                rank,
                token,
                what: Elapsing::Rest,
            };
            let index = jobs.insert(NodeJob { what, next: NONE });
            kernel.set_device_timer(date, timer::JOB | u64::from(index));
            return;
        }
        let what = What::Left { date, token };
        let index = jobs.insert(NodeJob { what, next: NONE });
        self.left.push(jobs, index);
    }

    /// Begins to receive the first arrived packet.
    fn begin_receive(
        &mut self,
        (jobs, costs): (&mut Slab<NodeJob>, &LogGopsParameters<Span>),
        now: Time,
    ) {
        let index = self.arrived.pop(jobs).expect("there is one");
        let What::Packet {
            packet, is_local, ..
        } = &jobs.get(index).what
        else {
            unreachable!("only packets arrive")
        };
        let shares = match costs.loopback.as_ref().filter(|_| *is_local) {
            Some(&loopback) => Shares::of_loopback(costs, loopback, packet),
            None => {
                let shares = Shares::from_packet(costs, packet);
                self.in_free = now + shares.gap;
                shares
            }
        };
        self.cpu_free = now + shares.through;
        self.receiving = index;
    }

    /// Sets a timer for the adapter: the processor is free, and the next jobs wait for the adapter.
    fn await_adapter(&mut self, kernel: &mut Kernel, rank: u32) {
        let sending = (!self.own.is_empty()).then_some(self.out_free);
        let receiving = (!self.arrived.is_empty()).then_some(self.in_free);
        if let Some(date) = sending.into_iter().chain(receiving).min() {
            arm(kernel, self, rank, date);
        }
    }

    /// The next send that is over by now.
    fn pop_left(&mut self, jobs: &mut Slab<NodeJob>, now: Time) -> Option<Token> {
        if self.left.is_empty() {
            return None;
        }
        let What::Left { date, token } = jobs.get(self.left.first).what else {
            unreachable!("what will be over has a date")
        };
        if date > now {
            return None;
        }
        let index = self.left.pop(jobs)?;
        jobs.remove(index);
        Some(token)
    }

    /// Wakes a rank that waits for sends that are over, or asks for the date at which the next one
    /// is.
    fn tell_left(
        &mut self,
        jobs: &mut Slab<NodeJob>,
        (kernel, ranks): (&mut Kernel, &Ranks),
        rank: u32,
        now: Time,
    ) {
        while let Some(token) = self.pop_left(jobs, now) {
            ranks.notify(kernel, rank, ChannelEvent::Sent(token));
        }
        if !self.left.is_empty()
            && let What::Left { date, .. } = jobs.get(self.left.first).what
        {
            arm(kernel, self, rank, date);
        }
    }
}

impl Tables {
    /// Ends an activity with its own duration, and returns its rank.
    fn elapse(&mut self, kernel: &mut Kernel, ranks: &Ranks, index: u32, end: End) -> u32 {
        let NodeJob {
            what: What::Elapse { rank, token, what },
            ..
        } = self.jobs.remove(index)
        else {
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
        let index = u32::try_from(token & !timer::KIND).expect("tokens of this device");
        let rank = self
            .tables
            .borrow_mut()
            .elapse(kernel, &self.ranks, index, end);
        self.run_due_jobs(kernel, rank);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        let number = u32::try_from(token & !timer::KIND).expect("tokens of this device");
        let rank = match token & timer::KIND {
            timer::ARRIVAL => {
                let Tables { nodes, jobs, .. } = &mut *self.tables.borrow_mut();
                let What::Packet { destination, .. } = jobs.get(number).what else {
                    unreachable!("only packets arrive")
                };
                nodes[destination as usize].arrived.push(jobs, number);
                destination
            }
            timer::LOOK => {
                let node = &mut self.tables.borrow_mut().nodes[number as usize];
                if node.armed <= kernel.now() {
                    node.armed = Time::NEVER;
                }
                number
            }
            _ => return self.on_end(kernel, token, End::Done),
        };
        self.run_due_jobs(kernel, rank);
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

impl PacketTransport for LogGops {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        if let Some(bytes) = begins(&packet) {
            self.ranks
                .port
                .with_kernel(|kernel| kernel.count_message(bytes));
        }
        let is_local = self.tables.borrow().costs.loopback.is_some()
            && self.ranks.port.with_kernel(|kernel| {
                let [from, to] = [rank, peer].map(|rank| kernel.host_of(actor(rank)));
                from == to
            });
        if self.ranks.is_observed() {
            self.enqueue_observed((rank, peer), is_local, packet);
        } else {
            self.enqueue(rank, What::new_packet(rank, peer, is_local, packet));
        }
        self.ranks
            .port
            .with_kernel(|kernel| self.run_due_jobs(kernel, rank));
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let what = What::Elapse {
            rank,
            token,
            what: Elapsing::Sleep,
        };
        let mut tables = self.tables.borrow_mut();
        let index = tables.jobs.insert(NodeJob { what, next: NONE });
        self.ranks.port.with_kernel(|kernel| {
            let date = kernel.now() + Span::from_secs(seconds);
            kernel.set_device_timer(date, timer::JOB | u64::from(index));
        });
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        self.enqueue(rank, What::Compute { flops, token });
        self.ranks
            .port
            .with_kernel(|kernel| self.run_due_jobs(kernel, rank));
    }

    fn before_poll(&self, rank: u32) {
        let Tables { nodes, jobs, .. } = &mut *self.tables.borrow_mut();
        let node = &mut nodes[rank as usize];
        node.wants_left = false;
        if node.left.is_empty() {
            return;
        }
        let now = self.ranks.port.now();
        while let Some(token) = node.pop_left(jobs, now) {
            self.ranks.queue_event(rank, ChannelEvent::Sent(token));
        }
    }

    fn is_quiet(&self, rank: u32) -> bool {
        let node = &self.tables.borrow().nodes[rank as usize];
        node.left.is_empty() && !node.wants_left
    }

    fn parked(&self, rank: u32, interest: Interest) {
        if interest == Interest::Arrivals {
            return;
        }
        let Tables { nodes, jobs, .. } = &mut *self.tables.borrow_mut();
        let node = &mut nodes[rank as usize];
        node.wants_left = true;
        if !node.left.is_empty() {
            self.ranks.port.with_kernel(|kernel| {
                let now = kernel.now();
                node.tell_left(jobs, (kernel, &self.ranks), rank, now);
            });
        }
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        let tables = &mut *self.tables.borrow_mut();
        let coming = tables.coming.get_or_insert_with(|| {
            let mut coming: BTreeMap<u32, Vec<(Envelope, u64)>> = BTreeMap::new();
            for job in tables.jobs.iter() {
                if let What::Packet {
                    destination,
                    packet,
                    ..
                } = &job.what
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
        f.debug_struct("LogGops")
            .field("settings", &self.ranks.settings)
            .finish_non_exhaustive()
    }
}
