//! Adapters for tests of users of the trait [`Verbs`](rdma::Verbs): several [`ChannelAdapter`]s,
//! one for each rank of one process, joined by a network. The network performs one event at a time,
//! chosen by a seed.
//!
//! Packets of a queue pair arrive in order and without loss (unless an adapter is [switched
//! off](Network::switch_off)); packets of different queue pairs arrive in any order, and
//! completions late. Every packet is written to bytes and read again. [`Network::faults`] lists
//! mistakes that no correct user makes, whatever the calls return: refused calls, requests that the
//! other side refuses, sends without a receive, overflows of completion queues.
//!
//! *Not modelled*: durations, loss and reordering, which the tests of `rdma` have.

mod calls;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::rc::Rc;

use rdma::wire::{Ip, Packet, RoceFrame, Syndrome};
use rdma::{
    AdapterHost, AdapterPort, AsyncEvent, ChannelAdapter, DeviceAttributes, Gid, GidType,
    GlobalRoute, LinkLayer, LocalAdapter, Mtu, QueuePair, SoftAdapterSettings,
};

use crate::random::Random;

/// Abilities of adapters.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    pub max_inline: u32,
    pub max_message: u32,
    pub max_cqe: u32,
    pub max_qp_wr: u32,
    pub max_rd_atomic: u8,
    /// Bytes that can be registered.
    pub max_registered: u64,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            max_inline: 256,
            max_message: 1 << 23,
            max_cqe: 1 << 16,
            max_qp_wr: 1 << 12,
            max_rd_atomic: 4,
            max_registered: u64::MAX,
        }
    }
}

/// Time from the end of a request until the completion can be polled, in picoseconds.
const COMPLETION_DELAY: u64 = 1000;

/// The bytes of a packet in transit.
pub(crate) type Frame = Vec<u8>;

struct Net {
    random: Random,
    now: Rc<Cell<u64>>,
    adapters: Vec<Rc<RefCell<ChannelAdapter>>>,
    is_off: Vec<bool>,
    /// By the sending adapter and queue pair, and the receiving adapter.
    flights: BTreeMap<(usize, u32, usize), VecDeque<Frame>>,
    faults: Rc<RefCell<Vec<String>>>,
}

/// A network between adapters.
#[derive(Clone)]
pub struct Network(Rc<RefCell<Net>>);

/// The clock of the network.
#[derive(Clone)]
pub(crate) struct Clock(pub(crate) Rc<Cell<u64>>);

impl AdapterHost for Clock {
    fn now(&self) -> u64 {
        self.0.get()
    }

    /// Ignored: every step polls all adapters.
    fn ring_doorbell(&self) {}
}

/// An adapter.
#[derive(Debug)]
pub struct Adapter {
    number: usize,
    local: LocalAdapter<Clock>,
    faults: Rc<RefCell<Vec<String>>>,
    /// Events that the test lets the adapter report.
    told: RefCell<VecDeque<AsyncEvent>>,
    /// Domains, regions, completion queues and queue pairs in use.
    in_use: RefCell<[usize; 4]>,
    registrations: Cell<usize>,
    qps: RefCell<Vec<QueuePair>>,
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ps", self.0.get())
    }
}

impl Network {
    /// Returns a network that chooses by a seed.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(Net {
            random: Random(seed),
            now: Rc::default(),
            adapters: Vec::new(),
            is_off: Vec::new(),
            flights: BTreeMap::new(),
            faults: Rc::default(),
        })))
    }

    /// Adds an adapter.
    pub fn add_adapter(&self, abilities: Abilities) -> Adapter {
        let mut net = self.0.borrow_mut();
        let number = net.adapters.len();
        let attributes = DeviceAttributes {
            max_qp_wr: abilities.max_qp_wr,
            max_cqe: abilities.max_cqe,
            max_qp_rd_atom: abilities.max_rd_atomic.into(),
            max_qp_init_rd_atom: abilities.max_rd_atomic.into(),
            ..DeviceAttributes::of_model(&format!("memory{number}"), number as u64)
        };
        let settings = SoftAdapterSettings {
            completion_delay: COMPLETION_DELAY,
            max_message: abilities.max_message,
            max_inline_data: abilities.max_inline,
            max_registered: abilities.max_registered,
            ..SoftAdapterSettings::default()
        };
        let adapter = ChannelAdapter::new(attributes, port(number), settings);
        let adapter = Rc::new(RefCell::new(adapter));
        net.adapters.push(Rc::clone(&adapter));
        net.is_off.push(false);
        Adapter {
            number,
            local: LocalAdapter::new(adapter, Clock(Rc::clone(&net.now))),
            faults: Rc::clone(&net.faults),
            told: RefCell::default(),
            in_use: RefCell::default(),
            registrations: Cell::default(),
            qps: RefCell::default(),
        }
    }

    /// Performs one event; returns false if no event is possible.
    pub fn process_event(&self) -> bool {
        self.0.borrow_mut().process_event()
    }

    /// Cuts an adapter off: from now on the adapter answers no other adapter.
    pub fn switch_off(&self, adapter: &Adapter) {
        self.0.borrow_mut().is_off[adapter.number] = true;
    }

    /// Makes an adapter report an event, which may depend on a queue pair of the adapter.
    pub fn raise_async_event(
        &self,
        adapter: &Adapter,
        event: fn(Option<QueuePair>) -> Option<AsyncEvent>,
    ) {
        let qp = adapter.qps.borrow().first().copied();
        adapter.told.borrow_mut().extend(event(qp));
    }

    /// Returns the mistakes of the user.
    pub fn faults(&self) -> Vec<String> {
        self.0.borrow().faults.borrow().clone()
    }
}

/// Returns the port of an adapter.
pub(crate) fn port(number: usize) -> AdapterPort {
    AdapterPort {
        link_layer: LinkLayer::Ethernet,
        mtu: Mtu::Mtu4096,
        lid: 0,
        gid: (adapter_gid(number), GidType::RoceV2),
    }
}

/// Returns the bytes of a packet on the wire.
pub(crate) fn frame(from: usize, route: &GlobalRoute, packet: Packet<'_>) -> Frame {
    let frame = RoceFrame {
        destination_mac: [0; 6],
        source_mac: [0; 6],
        ip: Ip::V4 {
            tos: 0,
            identification: 0,
            dont_fragment: true,
            ttl: route.hop_limit,
            source: ipv4_address(adapter_gid(from)),
            destination: ipv4_address(route.dgid),
        },
        source_port: 0xC000,
        has_udp_checksum: false,
        packet,
    };
    let mut bytes = Vec::new();
    frame.emit(&mut bytes);
    bytes
}

/// Returns the global identifier of an adapter: an address of IPv4.
fn adapter_gid(number: usize) -> Gid {
    let mut gid = Gid::default();
    gid.0[10..12].copy_from_slice(&[0xff; 2]);
    let address = 10 << 24 | u32::try_from(number + 1).unwrap();
    gid.0[12..].copy_from_slice(&address.to_be_bytes());
    gid
}

fn ipv4_address(gid: Gid) -> Ipv4Addr {
    let bytes: [u8; 4] = gid.0[12..].try_into().unwrap();
    bytes.into()
}

impl Net {
    fn process_event(&mut self) -> bool {
        if self.random.draw_below(4) == 0 {
            self.now.set(self.now.get() + COMPLETION_DELAY / 2);
        }
        let first = self.random.draw_below(2);
        let happened = (0..2).any(|kind| {
            if (first + kind).is_multiple_of(2) {
                self.transmit_packet()
            } else {
                self.deliver_packet()
            }
        });
        happened || self.pass_time()
    }

    /// Lets a packet leave.
    fn transmit_packet(&mut self) -> bool {
        let count = self.adapters.len();
        let first = self.random.draw_below(count);
        (0..count).any(|next| {
            let from = (first + next) % count;
            let mut payload = Vec::new();
            let now = self.now.get();
            let sent = self.adapters[from]
                .borrow_mut()
                .next_packet(now, &mut payload);
            let Some(sent) = sent else {
                return false;
            };
            let route = sent.address.grh.expect("Ethernet has global routes");
            let to = (0..count)
                .find(|to| adapter_gid(*to) == route.dgid)
                .unwrap();
            let packet = Packet::new(sent.bth, sent.extension, &payload);
            self.note_refusal(from, &packet);
            let bytes = frame(from, &route, packet);
            let flight = (from, sent.source_qp, to);
            self.flights.entry(flight).or_default().push_back(bytes);
            true
        })
    }

    /// Notes a refusal by a responder.
    fn note_refusal(&self, from: usize, packet: &Packet<'_>) {
        if let rdma::wire::Extension::Aeth(aeth) = packet.extension()
            && !matches!(aeth.syndrome, Syndrome::Ack(_))
        {
            let fault = format!("adapter {from}: sends {:?}", aeth.syndrome);
            self.faults.borrow_mut().push(fault);
        }
    }

    /// Lets a packet arrive.
    fn deliver_packet(&mut self) -> bool {
        let chosen = self.random.draw_below(self.flights.len());
        let Some(&flight) = self.flights.keys().nth(chosen) else {
            return false;
        };
        let frames = self.flights.get_mut(&flight).unwrap();
        let bytes = frames.pop_front().unwrap();
        if frames.is_empty() {
            self.flights.remove(&flight);
        }
        let (from, _, to) = flight;
        if !self.is_off[from] && !self.is_off[to] {
            let frame = RoceFrame::parse(&bytes).unwrap();
            let now = self.now.get();
            self.adapters[to]
                .borrow_mut()
                .handle_packet(now, &frame.packet);
        }
        true
    }

    /// Continues to the next timeout.
    fn pass_time(&mut self) -> bool {
        let adapters = self.adapters.iter();
        let next = adapters
            .filter_map(|adapter| adapter.borrow_mut().next_timeout())
            .min();
        let Some(next) = next else {
            return false;
        };
        self.now.set(next.max(self.now.get()));
        for adapter in &self.adapters {
            adapter.borrow_mut().handle_timeout(self.now.get());
        }
        true
    }
}

impl Adapter {
    /// Returns the numbers of objects in use: protection domains, regions, completion queues, queue
    /// pairs.
    pub fn in_use(&self) -> [usize; 4] {
        *self.in_use.borrow()
    }

    /// Returns the number of times that memory has been registered.
    pub fn registrations(&self) -> usize {
        self.registrations.get()
    }
}
