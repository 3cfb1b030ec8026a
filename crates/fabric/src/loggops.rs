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
use crate::inbox::{Ends, Transit};
use crate::ranks::{Ranks, SimulatedDevice, actor, begin_computation};
use crate::slab::{NONE, SlabList};

mod costs;

use costs::{WayCosts, rest_of};

/// In the place of the end of a computation that has failed: the processor does no more work.
const LOST: u32 = NONE - 1;

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
    /// Packets to be sent and computations, as events of the packet's receiver or of the rank.
    own: SlabList,
    /// Packets to be received.
    arrived: SlabList,
    /// The packet that the processor receives.
    receiving: u32,
    /// The end of the computation that occupies the processor.
    computing: u32,
}

impl RankNode {
    const IDLE: Self = Self {
        cpu_free: Time::ZERO,
        out_free: Time::ZERO,
        in_free: Time::ZERO,
        armed: Time::NEVER,
        own: SlabList::EMPTY,
        arrived: SlabList::EMPTY,
        receiving: NONE,
        computing: NONE,
    };
}

#[derive(Debug)]
struct Tables {
    costs: WayCosts,
    nodes: Vec<RankNode>,
    /// The flop of computations that have not begun, by the numbers of their ends.
    computations: BTreeMap<u32, f64>,
    /// Messages under way to each rank; built on first use.
    coming: Option<BTreeMap<u32, Vec<(Envelope, u64)>>>,
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct LogGops {
    ranks: Ranks,
    tables: RefCell<Tables>,
}

/// Kinds of timers, above the 32 bits of an event or a rank.
mod timer {
    /// A packet arrives.
    pub(super) const ARRIVAL: u64 = 0;
    /// A rank is looked at.
    pub(super) const LOOK: u64 = 1 << 32;
    /// A sleep, a computation or the last bytes of a send are over.
    pub(super) const END: u64 = 2 << 32;
    pub(super) const KIND: u64 = 3 << 32;

    /// The event or the rank.
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
        let device = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            tables: RefCell::new(Tables {
                costs: WayCosts::from_parameters(&costs),
                nodes: vec![RankNode::IDLE; ranks as usize],
                computations: BTreeMap::new(),
                coming: None,
            }),
        });
        port.attach(Rc::clone(&device) as Rc<dyn Device>);
        device
    }

    /// Begins and ends everything of a rank that can begin or end at this date, and sets a timer
    /// for the next date.
    #[inline(always)]
    fn run_due_jobs(&self, kernel: &mut Kernel, tables: &mut Tables, ends: &mut Ends, rank: u32) {
        let node = &tables.nodes[rank as usize];
        if node.has_jobs() && node.computing == NONE {
            self.run_jobs(kernel, tables, ends, rank);
        }
        if ends.endpoints[rank as usize].awaits_end() {
            tables.nodes[rank as usize].await_end(kernel, ends, rank);
        }
    }

    /// The part for ranks with jobs. Apart, because the end of a send that is over has none.
    #[inline(never)]
    fn run_jobs(&self, kernel: &mut Kernel, tables: &mut Tables, ends: &mut Ends, rank: u32) {
        let now = kernel.now();
        loop {
            let node = &mut tables.nodes[rank as usize];
            if node.computing != NONE {
                break;
            }
            if node.cpu_free > now {
                if node.has_jobs() {
                    arm(kernel, node, rank, node.cpu_free);
                }
                break;
            }
            if node.receiving != NONE {
                let received = std::mem::replace(&mut node.receiving, NONE);
                self.deliver_received(kernel, ends, received);
            } else if !tables.begin_job(kernel, ends, rank) {
                let node = &mut tables.nodes[rank as usize];
                if !node.begin_receive(kernel, ends, &tables.costs) {
                    node.await_adapter(kernel, rank);
                    break;
                }
            }
        }
    }

    #[inline(never)]
    fn deliver_received(&self, kernel: &mut Kernel, ends: &mut Ends, received: u32) {
        let end = NetworkEvent::End { flow: received };
        self.ranks.observe_network(kernel.now(), end);
        ends.transits.get_mut(received).has_arrived = true;
        self.ranks.deliver_transit(kernel, ends, received);
    }

    /// Reports a posted packet to an observer as a flow without links. The reported duration alone
    /// excludes the time for which the packet waits for processors and adapters.
    #[cold]
    fn observe_posted(
        &self,
        costs: &WayCosts,
        ends: &Ends,
        (source, destination, flow): (u32, u32, u32),
    ) {
        let find = |kernel: &mut Kernel| {
            let (costs, _) = costs.of_way(kernel, source, destination);
            (kernel.now(), *costs)
        };
        // Observers ask the kernel for the date.
        let (now, costs) = self.ranks.port.with_kernel(find);
        let Some((_, packet)) = ends.transits.get(flow).packet() else {
            unreachable!("only packets are posted")
        };
        let first_byte = costs.overhead + costs.latency;
        let alone = first_byte + costs.through_time(rest_of(packet));
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
        (self.ranks).observe_injection(source, destination, &packet.header, bytes);
    }

    /// Makes the record of an end of a rank; returns the number of the end.
    fn insert_end(&self, rank: u32, token: Token) -> u32 {
        let transit = Transit::new(rank, ChannelEvent::Elapsed(token));
        self.ranks.ends.borrow_mut().transits.insert(transit)
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

    /// Begins to receive the first arrived packet. Returns false if there is none that can be
    /// received.
    #[inline]
    fn begin_receive(&mut self, kernel: &Kernel, ends: &mut Ends, costs: &WayCosts) -> bool {
        let (index, now) = (self.arrived.first, kernel.now());
        if index == NONE {
            return false;
        }
        let transit = ends.transits.get(index);
        let Some((source, packet)) = transit.packet() else {
            unreachable!("only packets arrive")
        };
        let (costs, is_local) = costs.of_way(kernel, source, transit.destination);
        let rest = rest_of(packet);
        if !is_local {
            if self.in_free > now {
                return false;
            }
            self.in_free = now + costs.gap_time(rest);
        }
        self.cpu_free = now + costs.through_time(rest);
        self.receiving = index;
        self.arrived.pop(&mut ends.transits);
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

    /// Calls a rank that waits for a send that is over; sets a timer for the next end of a send.
    #[inline(never)]
    fn await_end(&mut self, kernel: &mut Kernel, ends: &mut Ends, rank: u32) {
        if let Some(date) = ends.call_at_end(kernel, rank) {
            arm(kernel, self, rank, date);
        }
    }
}

impl Tables {
    /// Begins the first of the rank's own jobs. Returns false if there is none that can begin.
    #[inline(always)]
    fn begin_job(&mut self, kernel: &mut Kernel, ends: &mut Ends, rank: u32) -> bool {
        let node = &mut self.nodes[rank as usize];
        let (index, now) = (node.own.first, kernel.now());
        if index == NONE {
            return false;
        }
        let transit = ends.transits.get_mut(index);
        let ChannelEvent::Packet { packet, .. } = &mut transit.event else {
            self.begin_computation(kernel, ends, (rank, index));
            return true;
        };
        let (costs, is_local) = self.costs.of_way(kernel, rank, transit.destination);
        if !is_local && node.out_free > now {
            return false;
        }
        let rest = rest_of(packet);
        node.cpu_free = now + costs.copy_time(rest);
        if !is_local {
            node.out_free = now + costs.gap_time(rest);
        }
        let over = if packet.header.is_ordered() {
            node.cpu_free
        } else {
            now + costs.through_time(rest)
        };
        let notify = packet.notify.take();
        let arrival = now + costs.overhead + costs.latency;
        node.own.pop(&mut ends.transits);
        kernel.set_device_timer(arrival, timer::ARRIVAL | u64::from(index));
        if let Some(token) = notify {
            self.finish_send(kernel, ends, rank, (over, token));
        }
        true
    }

    #[inline(never)]
    fn begin_computation(
        &mut self,
        kernel: &mut Kernel,
        ends: &mut Ends,
        (rank, index): (u32, u32),
    ) {
        let node = &mut self.nodes[rank as usize];
        node.own.pop(&mut ends.transits);
        node.computing = index;
        let flops = self.computations.remove(&index);
        let flops = flops.expect("the own jobs of a rank are packets and computations");
        begin_computation(kernel, rank, flops, timer::END | u64::from(index));
    }

    /// A send will be over at that date.
    #[inline]
    fn finish_send(
        &mut self,
        kernel: &mut Kernel,
        ends: &mut Ends,
        rank: u32,
        (date, token): (Time, Token),
    ) {
        let node = &mut self.nodes[rank as usize];
        if date > node.cpu_free {
            // The only ones that may come out of order.
            let rest = Transit::new(rank, ChannelEvent::Sent(token));
            let index = ends.transits.insert(rest);
            kernel.set_device_timer(date, timer::END | u64::from(index));
            return;
        }
        ends.end_send(rank, date, token);
    }

    /// Ends a sleep, a computation or the last bytes of a send. Returns the rank.
    fn end_job(
        &mut self,
        kernel: &mut Kernel,
        (ranks, ends): (&Ranks, &mut Ends),
        index: u32,
        end: End,
    ) -> u32 {
        let rank = ends.transits.get(index).destination;
        if end == End::Done {
            let node = &mut self.nodes[rank as usize];
            if node.computing == index {
                node.computing = NONE;
            }
            ends.deliver_event(kernel, index);
            return rank;
        }
        ends.transits.remove(index);
        let node = &mut self.nodes[rank as usize];
        if node.computing == index {
            node.computing = LOST;
        }
        // Where ranks get connected, the device hears of the host otherwise.
        if !ranks.connects() {
            let message = "computation failed: host failure".to_owned();
            kernel.fail_actor(actor(rank), message);
        }
        rank
    }
}

impl Device for LogGops {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let tables = &mut *self.tables.borrow_mut();
        let ends = &mut *self.ranks.ends.borrow_mut();
        let rank = tables.end_job(kernel, (&self.ranks, ends), timer::number(token), end);
        self.run_due_jobs(kernel, tables, ends, rank);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        let tables = &mut *self.tables.borrow_mut();
        let ends = &mut *self.ranks.ends.borrow_mut();
        let number = timer::number(token);
        let rank = match token & timer::KIND {
            timer::ARRIVAL => {
                let destination = ends.transits.get(number).destination;
                let node = &mut tables.nodes[destination as usize];
                node.arrived.push(&mut ends.transits, number);
                destination
            }
            timer::LOOK => {
                let node = &mut tables.nodes[number as usize];
                if node.armed <= kernel.now() {
                    node.armed = Time::NEVER;
                }
                number
            }
            _ => tables.end_job(kernel, (&self.ranks, ends), number, End::Done),
        };
        self.run_due_jobs(kernel, tables, ends, rank);
    }

    fn progress(&self) {
        self.ranks.handle_parked_events();
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
        let begins = begins(&packet);
        let event = ChannelEvent::Packet {
            source: rank,
            packet,
        };
        let tables = &mut *self.tables.borrow_mut();
        let ends = &mut *self.ranks.ends.borrow_mut();
        let index = ends.transits.insert(Transit::new(peer, event));
        if self.ranks.is_observed() {
            self.observe_posted(&tables.costs, ends, (rank, peer, index));
        }
        if tables.coming.is_some() {
            tables.coming = None;
        }
        let own = &mut tables.nodes[rank as usize].own;
        own.push(&mut ends.transits, index);
        self.ranks.port.with_kernel(|kernel| {
            if let Some(bytes) = begins {
                kernel.count_message(bytes);
            }
            self.run_due_jobs(kernel, tables, ends, rank);
        });
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let index = self.insert_end(rank, token);
        self.ranks.port.with_kernel(|kernel| {
            let date = kernel.now() + Span::from_secs(seconds);
            kernel.set_device_timer(date, timer::END | u64::from(index));
        });
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        let index = self.insert_end(rank, token);
        let tables = &mut *self.tables.borrow_mut();
        let ends = &mut *self.ranks.ends.borrow_mut();
        tables.computations.insert(index, flops);
        let own = &mut tables.nodes[rank as usize].own;
        own.push(&mut ends.transits, index);
        self.ranks
            .port
            .with_kernel(|kernel| self.run_due_jobs(kernel, tables, ends, rank));
    }

    fn parked(&self, rank: u32, interest: Interest) {
        let ends = &mut *self.ranks.ends.borrow_mut();
        let endpoint = &mut ends.endpoints[rank as usize];
        endpoint.awaits_sends = interest != Interest::Arrivals;
        if endpoint.awaits_end() {
            let node = &mut self.tables.borrow_mut().nodes[rank as usize];
            self.ranks
                .port
                .with_kernel(|kernel| node.await_end(kernel, ends, rank));
        }
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        let tables = &mut *self.tables.borrow_mut();
        let coming = tables.coming.get_or_insert_with(|| {
            let mut coming: BTreeMap<u32, Vec<(Envelope, u64)>> = BTreeMap::new();
            for transit in self.ranks.ends.borrow().transits.iter() {
                if !transit.has_arrived
                    && let Some((_, packet)) = transit.packet()
                    && let Some(found) = message(packet)
                {
                    coming.entry(transit.destination).or_default().push(found);
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
