//! Two queue pairs of a reliable connection and a network between them. A test chooses the next
//! event: a packet leaves, arrives, is lost, duplicated, overtaken or corrupted, a timer expires, a
//! receive is posted. The number of faults is bounded by the setup.
//!
//! The first adapter is the requester and has all work requests posted at the start; the second one
//! is the responder. Every step is compared with the sequential [`Model`] of the program and with
//! the rules of packets of [`Monitor`]; a violation is a text that begins with the name of the
//! property (see [`PairState::take_choice`]).
//!
//! *Not modelled*: durations. The clock advances only when a timer expires, so that timers may
//! expire at any moment, at the cost of a fault if another event is possible.

mod model;
mod monitor;

use std::cell::{Cell, RefCell};
use std::hash::Hash as _;
use std::rc::Rc;

use rdma::wire::{Packet, RoceFrame};
use rdma::{
    Access, ChannelAdapter, CompletionQueue, ConnectionAttributes, DeviceAttributes, Endpoint,
    LocalAdapter, MemoryRegion, Mtu, Payload, QpCapabilities, QpInitAttributes, QueuePair,
    RecvRequest, RegionMemory, SendFlags, SendRequest, SoftAdapterSettings, Verbs, connect,
    prepare,
};

use crate::adapter::{Clock, Frame, frame, port};
use crate::fingerprint::hash_parts;
pub use model::{Model, PostedWork, Work};
pub use monitor::Monitor;

/// Kinds of faults that the network may choose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FaultKinds {
    pub loses: bool,
    pub duplicates: bool,
    pub reorders: bool,
    pub corrupts: bool,
    /// Timers expire although packets are on their way.
    pub expires: bool,
}

impl FaultKinds {
    pub const NONE: Self = Self {
        loses: false,
        duplicates: false,
        reorders: false,
        corrupts: false,
        expires: false,
    };
    pub const ALL: Self = Self {
        loses: true,
        duplicates: true,
        reorders: true,
        corrupts: true,
        expires: true,
    };
}

/// A program and a network.
#[derive(Clone, Debug)]
pub struct PairSetup {
    pub works: Vec<PostedWork>,
    /// The first packet sequence number of the requester; the responder's number is different.
    pub start: u32,
    pub mtu: Mtu,
    pub settings: SoftAdapterSettings,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub max_rd_atomic: u8,
    /// Receives that are posted late, each by a choice.
    pub late_receives: usize,
    /// Times that a timer may expire before the late receives are posted.
    pub late_rounds: u32,
    pub faults: u32,
    pub kinds: FaultKinds,
    /// Every packet to the responder is lost, without being a fault.
    pub is_cut: bool,
    /// The rules of [`Monitor`] are checked, besides the [`Model`].
    pub checks_packets: bool,
}

impl PairSetup {
    /// Returns a program over a network without faults.
    pub fn new(works: &[Work]) -> Self {
        Self {
            works: works.iter().map(|&work| PostedWork::new(work)).collect(),
            start: 0x12_3456,
            mtu: Mtu::Mtu256,
            settings: SoftAdapterSettings::default(),
            retry_cnt: 7,
            rnr_retry: 6,
            max_rd_atomic: 4,
            late_receives: 0,
            late_rounds: 0,
            faults: 0,
            kinds: FaultKinds::NONE,
            is_cut: false,
            checks_packets: true,
        }
    }
}

/// A possible next event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PairChoice {
    /// The next packet of an adapter leaves.
    Transmit { from: usize },
    /// A packet arrives: the position among the packets on the way to an adapter. The packet
    /// overtakes the packets before it.
    Arrive { to: usize, at: usize },
    /// The responder posts the next receive.
    PostReceive,
    /// The requester's next timer expires.
    Expire,
    /// A packet is lost.
    Lose { to: usize, at: usize },
    /// A packet is duplicated in transit.
    Duplicate { to: usize, at: usize },
    /// A bit of a packet is inverted: the receiver discards the packet because of its checksum.
    Corrupt { to: usize, at: usize },
}

/// A packet in transit.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Number among all packets to this adapter, copies included.
    pub serial: u32,
    /// The step in which the packet left; see [`PairState::step`].
    pub left_at: u32,
    bytes: Frame,
}

/// An adapter with a connected queue pair and two regions.
struct PairSide {
    adapter: Rc<RefCell<ChannelAdapter>>,
    verbs: LocalAdapter<Clock>,
    cq: CompletionQueue,
    qp: QueuePair,
    /// Data of the program: sources and results at the requester, targets at the responder.
    data: MemoryRegion,
    /// Memory of receives.
    receives: MemoryRegion,
    can_transmit: bool,
}

/// Two queue pairs and the packets between them.
pub struct PairState {
    setup: PairSetup,
    model: Model,
    monitor: Monitor,
    now: Rc<Cell<u64>>,
    nodes: [PairSide; 2],
    /// By the adapter to which they go.
    flights: [Vec<Flight>; 2],
    serials: [u32; 2],
    posted_receives: usize,
    /// Completions polled, by adapter.
    polled: [usize; 2],
    failed: bool,
    faults_left: u32,
    late_rounds_left: u32,
    /// The number of the current step, used to note when a packet left.
    pub step: u32,
}

/// The number of the responder.
const RESPONDER: usize = 1;

impl PairState {
    /// Returns two connected queue pairs, the first one with the work requests posted.
    pub fn new(setup: &PairSetup) -> Self {
        let model = Model::new(setup);
        let now = Rc::new(Cell::new(0));
        let nodes = [0, 1].map(|number| PairSide::new(number, setup, &model, &now));
        let mut this = Self {
            monitor: Monitor::new(setup),
            model,
            now,
            nodes,
            flights: Default::default(),
            serials: [0; 2],
            posted_receives: 0,
            polled: [0; 2],
            failed: false,
            faults_left: setup.faults,
            late_rounds_left: setup.late_rounds,
            step: 0,
            setup: setup.clone(),
        };
        this.connect_adapters();
        for _ in setup.late_receives..this.model.receives_to_post() {
            this.post_receive();
        }
        this.post_works();
        this.update_readiness(0);
        this.update_readiness(RESPONDER);
        this
    }

    fn connect_adapters(&mut self) {
        let options = ConnectionAttributes {
            path_mtu: Some(self.setup.mtu),
            retry_cnt: self.setup.retry_cnt,
            rnr_retry: self.setup.rnr_retry,
            max_rd_atomic: self.setup.max_rd_atomic,
            timeout: 14,
            ..ConnectionAttributes::default()
        };
        let starts = [self.setup.start, 77];
        let ends: [Endpoint; 2] = [0, 1].map(|side: usize| {
            let node = &self.nodes[side];
            prepare(&node.verbs, node.qp, &options, starts[side]).expect("INIT")
        });
        for (side, node) in self.nodes.iter().enumerate() {
            let (local, remote) = (&ends[side], &ends[1 - side]);
            connect(&node.verbs, node.qp, &options, local, remote).expect("RTS");
        }
    }

    fn post_receive(&mut self) {
        let node = &self.nodes[RESPONDER];
        let length = u32::try_from(self.model.slot).unwrap();
        let offset = (self.posted_receives * self.model.slot) as u64;
        let request = RecvRequest {
            wr_id: self.posted_receives as u64,
            sges: &[node.receives.sge(offset, length)],
        };
        // A responder in the error state takes it too, and flushes it.
        node.verbs.post_recv(node.qp, &[request]).expect("room");
        self.posted_receives += 1;
    }

    fn post_works(&mut self) {
        let (node, target) = (&self.nodes[0], &self.nodes[RESPONDER].data);
        for (number, posted) in self.setup.works.iter().enumerate() {
            let offset = (number * self.model.slot) as u64;
            let request = SendRequest {
                wr_id: number as u64,
                operation: posted.work.target_operation(target, self.model.counter_at),
                payload: Payload::Sges(&[node.data.sge(offset, posted.work.requester_length())]),
                flags: SendFlags {
                    fence: posted.fence,
                    ..SendFlags::SIGNALED
                },
            };
            node.verbs.post_send(node.qp, &[request]).expect("room");
        }
    }

    /// Returns all possible next events, progress first and faults last; empty at the end.
    pub fn choices(&self) -> Vec<PairChoice> {
        let mut choices = Vec::new();
        if self.failed {
            return choices;
        }
        for from in [0, 1] {
            if self.nodes[from].can_transmit {
                choices.push(PairChoice::Transmit { from });
            }
        }
        for to in [1, 0] {
            if !self.flights[to].is_empty() {
                choices.push(PairChoice::Arrive { to, at: 0 });
            }
        }
        let is_idle = choices.is_empty();
        let is_late = self.posted_receives < self.model.receives_to_post();
        if is_late {
            choices.push(PairChoice::PostReceive);
        }
        let has_timer = self.nodes[0].adapter.borrow_mut().next_timeout().is_some();
        let is_free = is_idle && (!is_late || self.late_rounds_left > 0);
        if has_timer && (is_free || self.faults_left > 0 && self.setup.kinds.expires) {
            choices.push(PairChoice::Expire);
        }
        self.add_faults(&mut choices);
        choices
    }

    fn add_faults(&self, choices: &mut Vec<PairChoice>) {
        let kinds = self.setup.kinds;
        if self.faults_left == 0 {
            return;
        }
        for to in [1, 0] {
            for at in 0..self.flights[to].len() {
                let faults = [
                    (kinds.reorders && at > 0, PairChoice::Arrive { to, at }),
                    (kinds.loses, PairChoice::Lose { to, at }),
                    (kinds.duplicates, PairChoice::Duplicate { to, at }),
                    (kinds.corrupts, PairChoice::Corrupt { to, at }),
                ];
                let possible = faults.into_iter().filter(|(possible, _)| *possible);
                choices.extend(possible.map(|(_, choice)| choice));
            }
        }
    }

    /// Returns the packets on their way to an adapter.
    pub fn flights(&self, to: usize) -> &[Flight] {
        &self.flights[to]
    }

    /// Performs one of the events that [`choices`](Self::choices) returns.
    pub fn take_choice(&mut self, choice: PairChoice) -> Result<(), String> {
        let result = self.take_unchecked(choice).and_then(|()| {
            match choice {
                PairChoice::Transmit { from: side } | PairChoice::Arrive { to: side, .. } => {
                    self.update_readiness(side);
                }
                PairChoice::PostReceive => self.update_readiness(RESPONDER),
                PairChoice::Expire => self.update_readiness(0),
                PairChoice::Lose { .. }
                | PairChoice::Duplicate { .. }
                | PairChoice::Corrupt { .. } => return Ok(()),
            }
            self.check_completions()
        });
        self.failed = result.is_err();
        result
    }

    fn take_unchecked(&mut self, choice: PairChoice) -> Result<(), String> {
        match choice {
            PairChoice::Transmit { from } => return self.transmit(from),
            PairChoice::Arrive { to, at } => {
                self.faults_left -= u32::from(at > 0);
                let flight = self.flights[to].remove(at);
                self.deliver_packet(to, &flight.bytes);
            }
            PairChoice::PostReceive => self.post_receive(),
            PairChoice::Expire => self.expire_timer(),
            PairChoice::Lose { to, at } => {
                self.faults_left -= 1;
                self.flights[to].remove(at);
            }
            PairChoice::Duplicate { to, at } => {
                self.faults_left -= 1;
                let bytes = self.flights[to][at].bytes.clone();
                self.depart(to, bytes);
            }
            PairChoice::Corrupt { to, at } => {
                self.faults_left -= 1;
                let mut flight = self.flights[to].remove(at);
                // A bit of the base transport header or behind it, another one for each packet.
                let behind = flight.bytes.len() - TRANSPORT;
                let bit = flight.serial as usize * 37 % (behind * 8);
                // Congestion bits and the reserved ones beside them may change on the way.
                let bit = if bit / 8 == 4 { 0 } else { bit };
                flight.bytes[TRANSPORT + bit / 8] ^= 1 << (bit % 8);
                if RoceFrame::parse(&flight.bytes).is_ok() {
                    return Err("checksum: a corrupted packet was accepted".to_owned());
                }
            }
        }
        Ok(())
    }

    fn transmit(&mut self, from: usize) -> Result<(), String> {
        let now = self.now.get();
        let mut payload = Vec::new();
        let node = &self.nodes[from];
        let sent = node.adapter.borrow_mut().next_packet(now, &mut payload);
        let sent = sent.expect("it was offered");
        let route = sent.address.grh.expect("Ethernet has global routes");
        let packet = Packet::new(sent.bth, sent.extension, &payload);
        if self.setup.checks_packets {
            self.monitor.note_sent(from, &packet, now)?;
        }
        let bytes = frame(from, &route, packet);
        if !(self.setup.is_cut && from != RESPONDER) {
            self.depart(1 - from, bytes);
        }
        Ok(())
    }

    fn depart(&mut self, to: usize, bytes: Frame) {
        let serial = self.serials[to];
        self.serials[to] += 1;
        self.flights[to].push(Flight {
            serial,
            left_at: self.step,
            bytes,
        });
    }

    fn deliver_packet(&mut self, to: usize, bytes: &[u8]) {
        let frame = RoceFrame::parse(bytes).expect("it was not corrupted");
        let now = self.now.get();
        if self.setup.checks_packets {
            let completed = self.polled[0];
            let monitor = &mut self.monitor;
            monitor.note_arrival(to, &frame.packet, now, completed);
        }
        let node = &self.nodes[to];
        node.adapter.borrow_mut().handle_packet(now, &frame.packet);
    }

    fn expire_timer(&mut self) {
        let is_idle = self.flights.iter().all(Vec::is_empty)
            && self.nodes.iter().all(|node| !node.can_transmit);
        if !is_idle {
            self.faults_left -= 1;
        } else if self.posted_receives < self.model.receives_to_post() {
            match self.late_rounds_left.checked_sub(1) {
                Some(left) => self.late_rounds_left = left,
                None => self.faults_left -= 1,
            }
        }
        let mut adapter = self.nodes[0].adapter.borrow_mut();
        let at = adapter.next_timeout().expect("it was offered");
        self.now.set(at.max(self.now.get()));
        adapter.handle_timeout(self.now.get());
    }

    /// Finds out if an adapter has a packet to send.
    fn update_readiness(&mut self, side: usize) {
        let node = &mut self.nodes[side];
        let mut adapter = node.adapter.borrow_mut();
        let mut probe = adapter.clone();
        let packet = probe.next_packet(self.now.get(), &mut Vec::new());
        node.can_transmit = packet.is_some();
        if packet.is_none() {
            *adapter = probe;
        }
    }

    /// Compares new completions with the model.
    fn check_completions(&mut self) -> Result<(), String> {
        for side in [0, 1] {
            let mut completions = Vec::new();
            let node = &self.nodes[side];
            let polled = node.verbs.poll_cq(node.cq, usize::MAX, &mut completions);
            polled.expect("the queue did not overflow");
            for completion in completions {
                let number = self.polled[side];
                self.polled[side] += 1;
                if side == RESPONDER {
                    let found = self.memory_slot(RESPONDER, number, true);
                    self.model.check_receive(number, &completion, &found)?;
                } else {
                    let found = self.memory_slot(0, number, false);
                    self.model.check_send(number, &completion, &found)?;
                }
            }
        }
        Ok(())
    }

    /// Returns a slot of memory.
    fn memory_slot(&self, side: usize, slot: usize, receives: bool) -> Vec<u8> {
        let node = &self.nodes[side];
        let region = if receives { &node.receives } else { &node.data };
        let mut bytes = vec![0; self.model.slot];
        let offset = (slot * self.model.slot) as u64;
        let read = node.verbs.read_mr(region, offset, &mut bytes);
        read.map_or_else(|_| Vec::new(), |()| bytes)
    }

    /// Returns the error in the final state, when no event is possible any more.
    pub fn fault_at_the_end(&self) -> Option<String> {
        let node = &self.nodes[RESPONDER];
        let mut target = vec![0; self.model.target.len()];
        let read = node.verbs.read_mr(&node.data, 0, &mut target);
        read.expect("the region is that long");
        self.model.fault_at_the_end(self.polled, &target)
    }

    /// Returns a fingerprint of all state that decides the events from here on.
    pub fn fingerprint(&self) -> (u64, u64) {
        hash_parts(|hasher| {
            for (node, flights) in self.nodes.iter().zip(&self.flights) {
                node.adapter.borrow().hash(hasher);
                for flight in flights {
                    flight.bytes.hash(hasher);
                }
            }
            self.monitor.hash(hasher);
            self.now.get().hash(hasher);
            (self.posted_receives, self.polled, self.failed).hash(hasher);
            (self.faults_left, self.late_rounds_left).hash(hasher);
        })
    }
}

/// Bytes before the base transport header: Ethernet, IPv4, UDP.
const TRANSPORT: usize = 14 + 20 + 8;

impl PairSide {
    fn new(number: usize, setup: &PairSetup, model: &Model, now: &Rc<Cell<u64>>) -> Self {
        let attributes = DeviceAttributes::of_model(&format!("pair{number}"), number as u64);
        let adapter = ChannelAdapter::new(attributes, port(number), setup.settings);
        let adapter = Rc::new(RefCell::new(adapter));
        let verbs = LocalAdapter::new(Rc::clone(&adapter), Clock(Rc::clone(now)));
        let pd = verbs.alloc_pd().expect("a domain");
        let cq = verbs.create_cq(4096).expect("a queue");
        let init = QpInitAttributes {
            pd,
            send_cq: cq,
            recv_cq: cq,
            cap: QpCapabilities::default(),
            sq_sig_all: false,
        };
        let qp = verbs.create_qp(&init).expect("a queue pair");
        let register = |bytes: Vec<u8>| {
            let memory = RegionMemory::Owned(bytes);
            verbs.reg_mr(pd, memory, Access::ALL).expect("memory")
        };
        let bytes = if number == RESPONDER {
            model.initial_target.clone()
        } else {
            model.sources.clone()
        };
        let data = register(bytes);
        let slots = model.receives_to_post() * model.slot;
        let receives = register(vec![0; slots.max(8)]);
        Self {
            adapter,
            verbs,
            cq,
            qp,
            data,
            receives,
            can_transmit: false,
        }
    }
}
