//! The ideal device: no network. A packet waits in a queue until the explorer delivers it.
//!
//! For model checkers: sending is not delivery. A packet goes into the queue of its sender,
//! receiver and context, and `deliver_head` moves the head of one queue to the receiver, which
//! then continues as far as possible. Messages of one queue keep their order; messages of different
//! queues have no order: a message that a third rank relays may overtake a direct message. Packets
//! that control the protocol, and the data of a rendezvous, have their own queues (`lanes.rs`).
//!
//! A rank stops before a question (a test, a probe without waiting, a wait for some of several
//! requests), and the explorer picks the answer; later arrivals are then handled at once. A rank
//! also stops before it reads memory that other ranks access, so that arrivals before and after are
//! both explored. A message that a probe has seen is delivered a second time, so that messages that
//! are sent after the probe can arrive before.
//!
//! Computations and timers end at once, inside the step that starts them, up to a bound
//! (`sleeps.rs`); a packet has left when it is posted.
//!
//! *Not modelled*: time, packet sizes, limits of buffers and credits.

use sim_core::SourceLocation;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use channel::{
    Buffer, ChannelEvent, Envelope, Interest, Packet, PacketHeader, RankProtocols, RmaCall,
    SendCause, Settings, Token, WindowRead, is_of_collectives,
};
use sim_core::{
    AccessClass, AccessEffect, ActorBranches, ActorId, ArrivalQueues, Blocked, Branch, Device,
    DeviceFact, End, ExplorableDevice, Kernel, KernelHandle, OptionalWaits, OrderSensitivity,
    QueueDescription, QueueHead, RunFindings, WildcardReceive,
};

use crate::deliveries::Delivery;
use crate::flow::{begins, message};
use crate::knowledge::{CausalityTracker, RankCauses};
use crate::lanes::{OrderClass, TopicTable, queue_name};
use crate::ranks::{Ranks, SimulatedDevice, SpecialDevice, actor};
use crate::repeated_reads::ArrivingRead;
use crate::sleeps::Sleeps;

/// Key of a queue of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct QueueKey {
    source: u32,
    destination: u32,
    lane: OrderClass,
}

/// The numbers of queues, the same in all runs of an exploration, on all its threads.
///
/// A queue gets the next number at its first use in any run, so a number only identifies the queue
/// and says nothing else about a run.
#[derive(Clone, Debug, Default)]
pub struct QueueNumbers(Arc<Mutex<Vec<QueueKey>>>);

impl QueueNumbers {
    /// Returns the meaning of each number, in the order of the numbers: source, destination, and
    /// kind of the packets.
    pub fn to_words(&self) -> Vec<[u32; 5]> {
        let word = |key: &QueueKey| {
            let [kind, context, tag] = key.lane.to_words();
            [key.source, key.destination, kind, context, tag]
        };
        self.lock_keys().iter().map(word).collect()
    }

    /// The numbers of [`QueueNumbers::to_words`].
    pub fn from_words(words: &[[u32; 5]]) -> Self {
        let key = |&[source, destination, kind, context, tag]: &[u32; 5]| QueueKey {
            source,
            destination,
            lane: OrderClass::from_words([kind, context, tag]),
        };
        Self(Arc::new(Mutex::new(words.iter().map(key).collect())))
    }

    fn lock_keys(&self) -> MutexGuard<'_, Vec<QueueKey>> {
        // A key is pushed whole or not at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue_number(&self, key: QueueKey) -> usize {
        let mut keys = self.lock_keys();
        let known = keys.iter().position(|&other| other == key);
        known.unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        })
    }
}

/// A packet that has not arrived.
#[derive(Debug)]
struct WaitingPacket {
    packet: Packet,
    /// The step in which the packet was posted.
    cause: u32,
    /// Why.
    send_cause: SendCause,
    also: Vec<u32>,
    /// The call that sent the packet, if the packet is a message, and the number of the send among
    /// the notes of its rank.
    call: Option<SourceLocation>,
    send: u32,
}

/// One queue.
#[derive(Debug, Default)]
struct PacketQueue {
    /// `None` before the first packet of the queue in this run.
    key: Option<QueueKey>,
    packets: VecDeque<WaitingPacket>,
    delivered: u32,
    /// Largest number of causes that the sender of a delivered packet knew at its post.
    known: u32,
}

/// The queues of one run.
#[derive(Debug)]
struct PacketQueues {
    /// By number.
    all: Vec<PacketQueue>,
    /// Numbers, in the order of the first packets in this run.
    used: Vec<u32>,
    /// Number of packets in all queues.
    waiting: usize,
    topics: TopicTable,
}

impl PacketQueues {
    fn new(ranks: u32) -> Self {
        Self {
            all: Vec::new(),
            used: Vec::new(),
            waiting: 0,
            topics: TopicTable::new(ranks),
        }
    }

    /// Resets the queues to the state before the first run, and keeps their memory.
    fn clear(&mut self) {
        for queue in &mut self.all {
            queue.packets.clear();
            (queue.key, queue.delivered, queue.known) = (None, 0, 0);
        }
        self.used.clear();
        self.waiting = 0;
        self.topics.clear();
    }

    /// The number of the queue of a packet, which may be used for the first time in this run.
    fn find_or_open(
        &mut self,
        (source, destination): (u32, u32),
        packet: &Packet,
        numbers: &QueueNumbers,
    ) -> usize {
        let key = QueueKey {
            source,
            destination,
            lane: self.topics.lane(source, destination, packet),
        };
        self.find_queue(key).unwrap_or_else(|| {
            let number = numbers.queue_number(key);
            self.open_queue(number, key);
            number
        })
    }

    /// Appends a packet to a queue.
    fn push_packet(&mut self, number: usize, packet: WaitingPacket) {
        self.all[number].packets.push_back(packet);
        self.waiting += 1;
    }

    /// The number of a queue that has been used in this run.
    fn find_queue(&self, key: QueueKey) -> Option<usize> {
        let used = self.used.iter().map(|&number| number as usize);
        used.into_iter()
            .find(|&number| self.all[number].key == Some(key))
    }

    /// Makes room for the first packet of a queue.
    fn open_queue(&mut self, number: usize, key: QueueKey) {
        if number >= self.all.len() {
            self.all.resize_with(number + 1, PacketQueue::default);
        }
        self.all[number].key = Some(key);
        self.used
            .push(u32::try_from(number).expect("queues are counted in 32 bits"));
    }
}

/// Where a rank is with looking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PollState {
    /// The rank does not ask to look.
    No,
    /// The rank waits for its turn.
    Asked,
    /// The rank may look once.
    Granted,
}

/// The branch of a rank that stops: the rank looks into its inbox.
const LOOK: u32 = 0;

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct IdealFabric {
    ranks: Ranks,
    numbers: QueueNumbers,
    queues: RefCell<PacketQueues>,
    looks: Vec<Cell<PollState>>,
    sleeps: Sleeps,
    knowledge: Rc<CausalityTracker>,
    /// The protocols of the ranks, to report their unfinished operations.
    protocols: RefCell<Vec<Weak<dyn RankProtocols>>>,
    /// True if they tell their leaks, too.
    leaks: Cell<bool>,
    sends_wait: bool,
}

impl IdealFabric {
    /// A device for `ranks` ranks, attached to the kernel behind `port`. `sends_wait`: whether
    /// standard sends below the threshold may wait for their receives, where deadlocks are looked
    /// for.
    pub fn new(
        port: KernelHandle,
        ranks: u32,
        (settings, sends_wait): (Settings, bool),
        numbers: QueueNumbers,
    ) -> Rc<Self> {
        let ideal = Rc::new(Self {
            ranks: Ranks::new(port.clone(), ranks, settings),
            numbers,
            knowledge: CausalityTracker::new(port.clone(), ranks),
            queues: RefCell::new(PacketQueues::new(ranks)),
            looks: vec![Cell::new(PollState::No); ranks as usize],
            sleeps: Sleeps::default(),
            protocols: RefCell::default(),
            leaks: Cell::new(false),
            sends_wait,
        });
        port.attach_explorable(Rc::clone(&ideal) as Rc<dyn ExplorableDevice>);
        ideal
    }

    /// Returns the device of the previous run as a new device for the same number of ranks,
    /// attached to the kernel behind `port`. An exploration runs its program millions of times, and
    /// creating a device costs as much as a few deliveries. `None` if an object of that run still
    /// uses the device, such as a request that the program has leaked.
    pub fn reuse_device(self: Rc<Self>, port: KernelHandle) -> Option<Rc<Self>> {
        let mut own = Rc::into_inner(self)?;
        Rc::get_mut(&mut own.knowledge)?.reset_tracker(port.clone());
        own.queues.get_mut().clear();
        own.sleeps = Sleeps::default();
        for look in &own.looks {
            look.set(PollState::No);
        }
        own.protocols.get_mut().clear();
        let ideal = Rc::new(Self {
            ranks: own.ranks.reuse_ranks(port.clone()),
            ..own
        });
        port.attach_explorable(Rc::clone(&ideal) as Rc<dyn ExplorableDevice>);
        Some(ideal)
    }

    /// Remembers the protocols whose unfinished operations are reported, with communicators that
    /// were never freed if `leaks`.
    pub fn watch_protocols<P: RankProtocols + 'static>(&self, ranks: &[Rc<P>], leaks: bool) {
        self.leaks.set(leaks);
        let protocols = ranks.iter().map(Rc::downgrade);
        let protocols = protocols.map(|weak| weak as Weak<dyn RankProtocols>);
        *self.protocols.borrow_mut() = protocols.collect();
    }
}

impl IdealFabric {
    fn wants_to_look(&self, rank: u32) -> bool {
        let look = self.looks.get(rank as usize);
        look.is_some_and(|look| look.get() == PollState::Asked)
    }

    /// Describes the next arrival from a queue, if the arrival is a message.
    fn describe_head(&self, queue: u32) -> Option<Blocked> {
        let queues = self.queues.borrow();
        let record = queues.all.get(queue as usize)?;
        let (key, first) = (record.key?, record.packets.front()?);
        let (envelope, length) = message(&first.packet)?;
        let at = first.call?;
        let Envelope { source, tag, .. } = envelope;
        Some(Blocked {
            actor: actor(key.destination),
            name: String::new(),
            host: String::new(),
            waits_in: format!(
                "send (from {source} to {}, tag {tag}, {length} bytes)",
                key.destination
            ),
            location: at.to_string(),
            waits_for: Vec::new(),
        })
    }

    /// Returns true if a read of a window has another result now.
    fn has_changed(&self, read: &WindowRead) -> bool {
        let protocols = self.protocols.borrow();
        let target = protocols.get(read.target as usize).and_then(Weak::upgrade);
        target.is_some_and(|target| !target.has_result(read))
    }

    /// Returns true if the repetition of a read may arrive; `None` for another packet.
    fn may_arrive(&self, source: u32, packet: &Packet) -> Option<bool> {
        let read = read_of_packet(source, packet)?;
        let reads = &self.knowledge.repeated_reads;
        reads.may_arrive(read, |read| self.has_changed(read))
    }

    /// A step with this access of a rank begins.
    fn begin_step(&self, kernel: &Kernel, access: Option<(u32, AccessClass)>) {
        let before = kernel.current_step().wrapping_sub(1);
        let reads = &self.knowledge.repeated_reads;
        reads.begin_step(before, access, |read| self.has_changed(read));
    }

    /// A packet arrives. Returns the step that the arrival needs because of a change of memory.
    fn begin_arrival(&self, kernel: &Kernel, key: QueueKey, packet: &Packet) -> Option<u32> {
        let class = access_class(packet);
        self.begin_step(kernel, class.map(|class| (key.destination, class)));
        let read = read_of_packet(key.source, packet)?;
        self.knowledge.repeated_reads.begin_read(read, class)
    }

    fn grant_look(&self, rank: u32) {
        if let Some(look) = self.looks.get(rank as usize) {
            look.set(PollState::Granted);
        }
    }
}

/// Returns the read of contiguous bytes of a window that a packet of a rank is.
const fn read_of_packet(rank: u32, packet: &Packet) -> Option<ArrivingRead> {
    match packet.header {
        PacketHeader::Rma {
            call: RmaCall::Get | RmaCall::GetAccumulate(_) | RmaCall::CompareAndSwap,
            window,
            operation,
            offset,
            ..
        } => Some(ArrivingRead {
            rank,
            operation,
            window,
            offset,
        }),
        _ => None,
    }
}

/// Returns the access of a packet to a window at its target, if it accesses contiguous bytes.
fn access_class(packet: &Packet) -> Option<AccessClass> {
    let &PacketHeader::Rma {
        window,
        call,
        offset,
        length,
        ..
    } = &packet.header
    else {
        return None;
    };
    let data = packet.payload.len();
    let (effect, bytes) = match call {
        RmaCall::Get => (AccessEffect::Read, length),
        RmaCall::Put => (AccessEffect::Write, data),
        RmaCall::Accumulate(op) if op.is_commutative() => (AccessEffect::Update(op.number()), data),
        // Two reads commute.
        RmaCall::GetAccumulate(op) if op.is_no_op() => (AccessEffect::Update(op.number()), data),
        RmaCall::Accumulate(_) | RmaCall::GetAccumulate(_) => (AccessEffect::Exchange, data),
        RmaCall::CompareAndSwap => (AccessEffect::Exchange, data / 2),
        RmaCall::Lock { exclusive: true } => (AccessEffect::ExclusiveLock, 0),
        RmaCall::Lock { exclusive: false } => (AccessEffect::SharedLock, 0),
        RmaCall::Unlock | RmaCall::Flush | RmaCall::Complete => {
            // The origin says so if it has neither read nor written: see `rma/gates.rs` of `mpi`.
            let is_plain = offset == 0;
            (AccessEffect::Release { is_plain }, 0)
        }
        _ => return None,
    };
    let start = if bytes > 0 { offset } else { 0 };
    Some(AccessClass::new(effect, window, (start, bytes)))
}

impl Device for IdealFabric {
    fn on_end(&self, _: &mut Kernel, _: u64, _: End) {}

    fn on_timer(&self, _: &mut Kernel, _: u64) {}

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

impl ArrivalQueues for IdealFabric {
    fn queue_count(&self) -> u32 {
        u32::try_from(self.queues.borrow().all.len()).expect("queues are counted in 32 bits")
    }

    fn head(&self, queue: u32) -> Option<QueueHead> {
        let queues = self.queues.borrow();
        let record = queues.all.get(queue as usize)?;
        let first = record.packets.front()?;
        let key = record.key?;
        let may_arrive = self.may_arrive(key.source, &first.packet);
        if may_arrive == Some(false) {
            return None;
        }
        Some(QueueHead {
            to: actor(key.destination),
            from: actor(key.source),
            place: record.delivered + 1,
            access: access_class(&first.packet),
            cause: first.cause,
            is_awaited: may_arrive.is_some(),
        })
    }

    fn first_queue(&self) -> Option<u32> {
        let queues = self.queues.borrow();
        let mut used = queues.used.iter().copied();
        used.find(|&queue| {
            let record = &queues.all[queue as usize];
            (record.key.zip(record.packets.front())).is_some_and(|(key, first)| {
                self.may_arrive(key.source, &first.packet) != Some(false)
            })
        })
    }

    fn deliver_head(&self, kernel: &mut Kernel, queue: u32, causes: Option<&mut Vec<u32>>) {
        let mut queues = self.queues.borrow_mut();
        let record = &mut queues.all[queue as usize];
        let (Some(key), Some(waiting)) = (record.key, record.packets.pop_front()) else {
            return;
        };
        let WaitingPacket {
            packet,
            send_cause,
            also,
            call,
            send,
            ..
        } = waiting;
        let change = self.begin_arrival(kernel, key, &packet);
        if let Some(causes) = causes {
            self.knowledge
                .causes(key.source, send_cause, record.known, causes);
            causes.extend_from_slice(&also);
            causes.extend(change);
        }
        record.delivered += 1;
        record.known = record.known.max(send_cause.known);
        queues.waiting -= 1;
        drop(queues);
        let step = kernel.current_step();
        self.knowledge.note_delivery(key.destination, step);
        self.knowledge.deliveries.push(Delivery {
            step,
            source: key.source,
            send_cause,
            also,
            call,
            send,
        });
        self.ranks
            .deliver_packet(kernel, key.source, key.destination, packet);
    }

    fn visible_from(&self, queue: u32) -> OrderSensitivity {
        let queues = self.queues.borrow();
        let key = queues.all.get(queue as usize).and_then(|queue| queue.key);
        match key.map(|key| key.lane) {
            Some(OrderClass::Accesses(_)) => OrderSensitivity::Accesses,
            Some(OrderClass::Messages(context)) if is_of_collectives(context) => {
                OrderSensitivity::Always
            }
            Some(OrderClass::Redeliveries(_)) => OrderSensitivity::Receives,
            None | Some(OrderClass::Messages(_) | OrderClass::Questions(_)) => {
                OrderSensitivity::Sources
            }
            Some(OrderClass::Answers(_) | OrderClass::Data(_)) => OrderSensitivity::Always,
        }
    }

    fn describe_queue(&self, queue: u32) -> QueueDescription {
        let known = self.numbers.lock_keys().get(queue as usize).copied();
        QueueDescription {
            name: known.map_or_else(
                || format!("queue {queue}"),
                |key| queue_name(key.source, key.destination, key.lane),
            ),
            head: self.describe_head(queue),
        }
    }
}

impl ActorBranches for IdealFabric {
    fn branches(&self, stopped: ActorId, into: &mut Vec<Branch>) {
        let rank = stopped.number() - 1;
        let branch = |number: u32| Branch {
            number,
            also: None,
            cause: QueueHead::BEFORE,
            draws: number != LOOK,
        };
        if self.wants_to_look(rank) {
            into.push(branch(LOOK));
        }
        // The first one, which is *no*, comes last: runs make progress first.
        let answers = self.knowledge.asked(rank).rev();
        let sees_arrivals = self.knowledge.sees_arrivals(rank);
        into.extend(answers.map(|answer| Branch {
            also: sees_arrivals.then_some(stopped),
            draws: !sees_arrivals,
            ..branch(Branch::ANSWERS + answer)
        }));
    }

    fn has_branches(&self, stopped: ActorId) -> bool {
        let rank = stopped.number() - 1;
        self.wants_to_look(rank) || !self.knowledge.asked(rank).is_empty()
    }

    fn branch_causes(&self, stopped: ActorId, into: &mut Vec<u32>) {
        let rank = stopped.number() - 1;
        self.knowledge
            .causes(rank, self.knowledge.send_cause(rank), 0, into);
    }

    fn take_branch(
        &self,
        kernel: &mut Kernel,
        stopped: ActorId,
        number: u32,
    ) -> Result<(), String> {
        let rank = stopped.number() - 1;
        self.begin_step(kernel, None);
        match number {
            LOOK => self.grant_look(rank),
            _ => {
                self.knowledge.set_answer(rank, number - Branch::ANSWERS);
                self.ranks.note_woken(rank);
            }
        }
        // What the rank posts from here on, it posts because of this.
        self.knowledge.record_arrival(rank, kernel.current_step());
        Ok(())
    }

    fn order_sensitivity(&self, actor: ActorId) -> OrderSensitivity {
        self.knowledge.order_sensitivity(actor.number() - 1)
    }

    fn asks_for_arrivals(&self, actor: ActorId) -> bool {
        self.knowledge.has_asked_for_arrivals(actor.number() - 1)
    }
}

impl RunFindings for IdealFabric {
    fn is_spinning(&self, actor: ActorId) -> bool {
        self.sleeps.has_stopped(actor)
    }

    fn is_covered(&self) -> bool {
        let protocols = self.protocols.borrow();
        let mut ranks = protocols.iter().filter_map(Weak::upgrade);
        ranks.any(|rank| {
            // The loop continues with the new result in another run.
            let read = rank.endless_read();
            read.is_some_and(|read| self.has_changed(&read)) || rank.is_covered()
        })
    }

    fn leftovers(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (rank, protocols) in self.protocols.borrow().iter().enumerate() {
            let Some(protocols) = protocols.upgrade() else {
                continue;
            };
            let mut texts = protocols.leftovers();
            if self.leaks.get() {
                texts.extend(protocols.leaks());
            }
            all.extend(texts.iter().map(|text| format!("rank {rank}: {text}")));
        }
        all
    }

    fn optional_waits(&self) -> OptionalWaits {
        self.knowledge.decide_optional_waits(self.sends_wait)
    }

    fn absent_waits(&self, actor: ActorId) -> Vec<String> {
        let rank = actor.number() - 1;
        self.knowledge.list_absent_waits(self.sends_wait, rank)
    }
}

impl fmt::Debug for IdealFabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ideal")
            .field("settings", &self.ranks.settings)
            .finish_non_exhaustive()
    }
}

/// The hooks of a model checker, for the channel of a rank.
impl IdealFabric {
    /// Returns the notes on the causes of the packets of a rank.
    pub(crate) fn causes_of(&self, rank: u32) -> RankCauses {
        self.knowledge.for_rank(rank)
    }

    /// The rank wants to look into its inbox; returns false if the rank has to stop before.
    pub(crate) fn may_look(&self, rank: u32) -> bool {
        let look = &self.looks[rank as usize];
        match look.get() {
            PollState::No => look.set(PollState::Asked),
            PollState::Asked => {}
            PollState::Granted => {
                look.set(PollState::No);
                return true;
            }
        }
        false
    }

    /// A receive or a probe of the rank from any source has got or seen a message of another.
    pub(crate) fn note_source(&self, rank: u32, source: u32, location: SourceLocation) {
        let receive = WildcardReceive {
            by: actor(rank),
            from: actor(source),
            location,
        };
        let fact = DeviceFact::WildcardReceive(receive);
        self.ranks.port.with_kernel(|kernel| kernel.note_fact(fact));
    }

    /// See [`ExplorationHooks::return_to_network`](channel::ExplorationHooks::return_to_network).
    pub(crate) fn return_to_network(
        &self,
        rank: u32,
        (envelope, length): (Envelope, u64),
        arrival: u32,
    ) {
        let Some(first) = self.knowledge.deliveries.find_delivery(arrival) else {
            return;
        };
        // The probe comes before the second delivery, and so does all that its rank had waited for.
        let mut also = first.also;
        also.push(arrival);
        self.knowledge
            .causes(rank, self.knowledge.send_cause(rank), 0, &mut also);
        let packet = Packet {
            header: PacketHeader::Redelivery { envelope },
            payload: Buffer::phantom(length),
            notify: None,
            returned: None,
        };
        let mut queues = self.queues.borrow_mut();
        let number = queues.find_or_open((envelope.source, rank), &packet, &self.numbers);
        let waiting = WaitingPacket {
            packet,
            cause: self.ranks.port.with_kernel(|kernel| kernel.current_step()),
            send_cause: first.send_cause,
            also,
            call: first.call,
            send: first.send,
        };
        queues.push_packet(number, waiting);
    }
}

impl SimulatedDevice for IdealFabric {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        self.sleeps.reset_count();
        if let PacketHeader::Rma {
            call: RmaCall::Result,
            operation,
            ..
        } = packet.header
        {
            let reads = &self.knowledge.repeated_reads;
            reads.note_result(rank, (peer, operation), &packet.payload);
        }
        let mut queues = self.queues.borrow_mut();
        let number = queues.find_or_open((rank, peer), &packet, &self.numbers);
        let notify = packet.notify;
        let cause = self.ranks.port.with_kernel(|kernel| {
            if let Some(bytes) = begins(&packet) {
                kernel.count_message(bytes);
            }
            if kernel.compares_sends() {
                self.knowledge.note_contents(&packet.payload);
            }
            kernel.current_step()
        });
        let send_cause = self.knowledge.send_cause(rank);
        let waiting = WaitingPacket {
            packet,
            cause,
            send_cause,
            also: self.knowledge.take_also(rank),
            call: self.knowledge.call.get(),
            send: self.knowledge.latest_send(rank),
        };
        queues.push_packet(number, waiting);
        if let Some(token) = notify {
            self.ranks.queue_event(rank, ChannelEvent::Sent(token));
        }
    }

    fn timer(&self, rank: u32, _: f64, token: Token) {
        let step = self.ranks.port.with_kernel(|kernel| kernel.current_step());
        if self.sleeps.may_end(rank, step) {
            self.ranks.queue_event(rank, ChannelEvent::Elapsed(token));
        }
    }

    fn start_computation(&self, rank: u32, seconds: f64, token: Token) {
        self.timer(rank, seconds, token);
    }

    fn parked(&self, rank: u32, _: Interest) {
        // What is there already is not waited for.
        let deferred = self.knowledge.take_deferred(rank);
        if self.wants_to_look(rank) || deferred || self.ranks.has_news(rank) {
            self.ranks.wake(rank);
        }
    }

    fn special_device(&self) -> SpecialDevice<'_> {
        SpecialDevice::Explored(self)
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        let queues = self.queues.borrow();
        if queues.waiting == 0 {
            return Vec::new();
        }
        let is_to_rank =
            |queue: &&PacketQueue| queue.key.is_some_and(|key| key.destination == rank);
        let to_rank = queues.all.iter().filter(is_to_rank);
        let packets = to_rank.flat_map(|queue| &queue.packets);
        packets
            .filter_map(|waiting| message(&waiting.packet))
            .collect()
    }
}
