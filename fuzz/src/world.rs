//! Endpoints on simulated adapters, and a network with faults between them, in simulated time.
//!
//! Each packet and datagram takes the same latency. Faults are drawn from one stream: loss,
//! duplication, and a delay by which later packets overtake. *Not modelled*: bandwidth and
//! contention, which `models::packet` has.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use endpoint::{Endpoint, EndpointSettings};
use rdma::wire::Packet;
use rdma::{
    AdapterHost, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, SoftAdapterSettings, Verbs,
};
use sim_core::Stream;

use crate::interaction::Faults;

/// Latency of the network, in picoseconds: 1 µs. \[choice\]
const LATENCY: u64 = 1_000_000;

/// Delay of a packet that is overtaken, in picoseconds: 20 µs. \[choice\]
const REORDERING_DELAY: u64 = 20_000_000;

/// The clock of all adapters.
#[derive(Clone, Default)]
struct Clock(Rc<Cell<u64>>);

impl AdapterHost for Clock {
    fn now(&self) -> u64 {
        self.0.get()
    }

    /// Nothing: adapters are asked for packets after every call.
    fn ring_doorbell(&self) {}
}

/// Something on its way.
#[derive(Clone)]
enum Flight {
    Packet(Vec<u8>),
    Datagram { from: u32, bytes: Vec<u8> },
}

/// A worker's adapter and endpoint.
struct Node {
    adapter: Rc<RefCell<ChannelAdapter>>,
    endpoint: Endpoint,
}

/// Endpoints and their network.
pub(crate) struct World {
    clock: Clock,
    nodes: Vec<Node>,
    /// By arrival and serial number: the receiver and what arrives.
    flights: BTreeMap<(u64, u64), (u32, Flight)>,
    serial: u64,
    faults: Faults,
    stream: Stream,
}

/// Returns the address of a worker's endpoint.
pub(crate) fn uri(worker: u32) -> String {
    format!("sim://{worker}")
}

impl World {
    /// Returns the endpoints of some workers.
    pub(crate) fn new(
        workers: u32,
        faults: Faults,
        settings: EndpointSettings,
    ) -> Result<Self, String> {
        let clock = Clock::default();
        let node = |worker: u32| {
            let attributes = DeviceAttributes::of_model(&format!("worker{worker}"), worker.into());
            let port = AdapterPort {
                link_layer: LinkLayer::InfiniBand,
                mtu: Mtu::Mtu1024,
                lid: u16::try_from(worker + 1).map_err(|_| "too many workers".to_owned())?,
                gid: (Gid::default(), GidType::Ib),
            };
            let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
            let adapter = Rc::new(RefCell::new(adapter));
            let verbs = LocalAdapter::new(Rc::clone(&adapter), clock.clone());
            let verbs: Rc<dyn Verbs> = Rc::new(verbs);
            let endpoint = Endpoint::new(uri(worker), verbs, settings);
            let endpoint = endpoint.map_err(|error| error.to_string())?;
            Ok(Node { adapter, endpoint })
        };
        let nodes: Result<Vec<Node>, String> = (0..workers).map(node).collect();
        let nodes = nodes?;
        Ok(Self {
            clock,
            nodes,
            flights: BTreeMap::new(),
            serial: 0,
            stream: Stream::new(faults.seed, "network"),
            faults,
        })
    }

    /// Returns the simulated time, in picoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.0.get()
    }

    /// Returns the endpoint of a worker.
    pub(crate) fn endpoint(&mut self, worker: u32) -> &mut Endpoint {
        &mut self.nodes[worker as usize].endpoint
    }

    /// Sends what leaves now, moves to the next event and handles it. Returns false if there is
    /// none.
    pub(crate) fn advance(&mut self) -> bool {
        self.transmit();
        let arrival = self.flights.keys().next().map(|(at, _)| *at);
        let timeouts = self.nodes.iter_mut().filter_map(|node| {
            let adapter = node.adapter.borrow_mut().next_timeout();
            let endpoint = node.endpoint.next_timeout();
            adapter.into_iter().chain(endpoint).min()
        });
        let Some(next) = timeouts.chain(arrival).min() else {
            return false;
        };
        let now = next.max(self.now());
        self.clock.0.set(now);
        for node in &mut self.nodes {
            node.adapter.borrow_mut().handle_timeout(now);
            node.endpoint.handle_timeout(now);
        }
        while let Some((&key, _)) = self.flights.first_key_value()
            && key.0 <= now
            && let Some((to, flight)) = self.flights.remove(&key)
        {
            self.arrive(to, &flight);
        }
        true
    }

    fn arrive(&mut self, to: u32, flight: &Flight) {
        let now = self.now();
        let Some(node) = self.nodes.get_mut(to as usize) else {
            return;
        };
        match flight {
            Flight::Packet(bytes) => {
                if let Ok(packet) = Packet::parse(bytes) {
                    node.adapter.borrow_mut().handle_packet(now, &packet);
                }
            }
            Flight::Datagram { from, bytes } => {
                node.endpoint.handle_datagram(now, &uri(*from), bytes);
            }
        }
    }

    /// Takes all packets and datagrams that leave now.
    fn transmit(&mut self) {
        let now = self.now();
        let mut leaving = Vec::new();
        for (from, node) in (0..).zip(&mut self.nodes) {
            let mut adapter = node.adapter.borrow_mut();
            let mut payload = Vec::new();
            while let Some(sent) = adapter.next_packet(now, &mut payload) {
                let mut bytes = Vec::new();
                Packet::new(sent.bth, sent.extension, &payload).emit(&mut bytes);
                payload.clear();
                let to = u32::from(sent.address.dlid).wrapping_sub(1);
                leaving.push((to, Flight::Packet(bytes)));
            }
            while let Some((to, bytes)) = node.endpoint.next_datagram() {
                let number = to.strip_prefix("sim://").and_then(|to| to.parse().ok());
                if let Some(to) = number {
                    leaving.push((to, Flight::Datagram { from, bytes }));
                }
            }
        }
        for (to, flight) in leaving {
            self.put_on_wire(to, flight);
        }
    }

    fn put_on_wire(&mut self, to: u32, flight: Flight) {
        let draws: [f64; 3] = std::array::from_fn(|_| self.stream.uniform());
        if draws[0] < self.faults.loss {
            return;
        }
        let mut at = self.now() + LATENCY;
        if draws[1] < self.faults.reorder {
            at += REORDERING_DELAY;
        }
        if draws[2] < self.faults.duplicate {
            self.serial += 1;
            let copy = (to, flight.clone());
            self.flights.insert((at + LATENCY, self.serial), copy);
        }
        self.serial += 1;
        self.flights.insert((at, self.serial), (to, flight));
    }
}
