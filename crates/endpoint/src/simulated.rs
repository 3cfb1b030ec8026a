//! Endpoints on simulated adapters, and a network with faults between them, in simulated time.
//!
//! Each packet and datagram takes the same latency. Faults are drawn from one stream: loss,
//! duplication, a delay by which later packets overtake, and outages. *Not modelled*: bandwidth and
//! contention, which `models::packet` has.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use rdma::wire::Packet;
use rdma::{
    AdapterHost, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, PolledClock, SoftAdapterSettings, Verbs,
};
use serde::{Deserialize, Serialize};
use sim_core::Stream;

use crate::{Endpoint, EndpointSettings, Error, Uri};

/// Latency of the network, in picoseconds: 1 µs. \[choice\]
const LATENCY: u64 = 1_000_000;

/// Delay of a packet that is overtaken, in picoseconds: 20 µs. \[choice\]
const REORDERING_DELAY: u64 = 20_000_000;

/// Duration of an outage, in picoseconds: 3 ms, shorter than the timeout of queue pairs. \[choice\]
const OUTAGE: u64 = 3_000_000_000;

/// Buffers of packets that are kept. \[choice\]
const SPARE: usize = 64;

/// Faults of a network: probabilities of each packet and datagram.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// The packet is lost.
    pub loss: f64,
    /// The packet arrives twice.
    pub duplicate: f64,
    /// The packet is delayed by 20 µs, so that later packets overtake the packet.
    pub reorder: f64,
    /// The packet begins an outage of 3 ms, in which all packets are lost.
    pub flap: f64,
    /// Seed of the draws; in a text below 2^53.
    pub seed: u64,
}

impl Faults {
    /// Returns the probabilities with their names.
    pub const fn rates(&self) -> [(&'static str, f64); 4] {
        [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
            ("flap", self.flap),
        ]
    }

    /// Returns the probability of a fault by the name of the fault.
    pub fn rate_mut(&mut self, name: &str) -> Option<&mut f64> {
        match name {
            "loss" => Some(&mut self.loss),
            "duplicate" => Some(&mut self.duplicate),
            "reorder" => Some(&mut self.reorder),
            "flap" => Some(&mut self.flap),
            _ => None,
        }
    }

    /// Returns true if a fault is possible.
    pub fn is_faulty(&self) -> bool {
        self.rates().iter().any(|(_, rate)| *rate > 0.0)
    }
}

/// The driver of the progress of endpoints: of handshakes, repeated datagrams and pings.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub enum ProgressDriver {
    /// Always, as by a thread of the transport.
    #[default]
    Thread,
    /// Only when the program polls for events. Adapters carry messages meanwhile.
    Polling,
}

/// Parameters of a network.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct NetworkSettings {
    /// Faults of the network.
    pub faults: Faults,
    /// Progress of endpoints.
    pub progress: ProgressDriver,
    /// Parameters of the endpoints.
    pub endpoints: EndpointSettings,
    /// Parameters of the adapters.
    pub adapters: SoftAdapterSettings,
}

/// The bytes of a packet or a datagram in flight.
#[derive(Clone)]
struct PacketInFlight {
    at: u64,
    to: u32,
    /// The sender of a datagram; `None` for a packet.
    datagram_from: Option<u32>,
    bytes: Vec<u8>,
}

/// An adapter and its endpoint.
struct SimulatedHost {
    adapter: Rc<RefCell<ChannelAdapter>>,
    endpoint: Option<Endpoint>,
    /// Datagrams that wait for the program to poll.
    waiting: VecDeque<(u32, Vec<u8>)>,
}

/// Packets and datagrams on their way, and the faults that befall them.
struct Wire {
    /// In the order of their arrival.
    flights: VecDeque<PacketInFlight>,
    faults: Faults,
    /// The end of the outage.
    down_until: u64,
    stream: Stream,
    /// Buffers that can be used again.
    spare: Vec<Vec<u8>>,
}

/// Endpoints with the addresses `sim://0`, `sim://1` and so on, and their network.
pub struct Network {
    clock: PolledClock,
    nodes: Vec<SimulatedHost>,
    /// Addresses of the endpoints.
    uris: Rc<Vec<Uri>>,
    wire: Wire,
    progress: ProgressDriver,
    /// Payload of the packet that leaves.
    payload: Vec<u8>,
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

/// Returns the address of an endpoint.
pub fn uri(number: u32) -> Uri {
    format!("sim://{number}").into()
}

impl Network {
    /// Returns a network with `count` endpoints.
    pub fn new(count: u32, settings: NetworkSettings) -> Result<Self, Error> {
        let clock = PolledClock::default();
        let uris: Vec<Uri> = (0..count).map(uri).collect();
        let nodes = (0..count).zip(&uris);
        let nodes: Result<Vec<SimulatedHost>, Error> =
            nodes.map(|one| node(one, &clock, &settings)).collect();
        Ok(Self {
            clock,
            nodes: nodes?,
            uris: Rc::new(uris),
            wire: Wire {
                flights: VecDeque::new(),
                faults: settings.faults,
                down_until: 0,
                stream: Stream::new(settings.faults.seed, "network"),
                spare: Vec::new(),
            },
            progress: settings.progress,
            payload: Vec::new(),
        })
    }

    /// Returns the simulated time, in picoseconds.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Returns the addresses of all endpoints.
    pub fn uris(&self) -> Rc<Vec<Uri>> {
        Rc::clone(&self.uris)
    }

    /// Returns an endpoint; the endpoint makes progress first.
    ///
    /// # Panics
    /// If there is no endpoint with this number, or the endpoint was destroyed.
    pub fn endpoint(&mut self, number: u32) -> &mut Endpoint {
        let now = self.now();
        let node = &mut self.nodes[number as usize];
        if self.progress == ProgressDriver::Polling {
            node.progress(now, &self.uris);
        }
        node.endpoint.as_mut().expect("the endpoint was destroyed")
    }

    /// Destroys an endpoint; packets to the endpoint are dropped from now on.
    pub fn destroy_endpoint(&mut self, number: u32) -> Result<(), Error> {
        let endpoint = self.nodes[number as usize].endpoint.take();
        endpoint.map_or(Ok(()), Endpoint::destroy)
    }

    /// Sends the packets that leave now, advances to the next event, or to `alarm` if that is
    /// earlier, and handles the event. Returns false if there is no event.
    pub fn advance_time(&mut self, alarm: Option<u64>) -> bool {
        self.transmit();
        let is_polling = self.progress == ProgressDriver::Polling;
        let arrival = self.wire.flights.front().map(|flight| flight.at);
        let mut next = u64::MAX;
        for node in &mut self.nodes {
            let adapter = node.adapter.borrow_mut().next_timeout();
            let endpoint = node.endpoint.as_ref().filter(|_| !is_polling);
            let endpoint = endpoint.and_then(Endpoint::next_timeout);
            next = next.min(adapter.unwrap_or(u64::MAX));
            next = next.min(endpoint.unwrap_or(u64::MAX));
        }
        next = next.min(arrival.unwrap_or(u64::MAX));
        next = next.min(alarm.unwrap_or(u64::MAX));
        if next == u64::MAX {
            return is_polling && self.advance_endpoints();
        }
        let now = next.max(self.now());
        self.clock.set(now);
        for node in &mut self.nodes {
            node.adapter.borrow_mut().handle_timeout(now);
            if !is_polling && let Some(endpoint) = &mut node.endpoint {
                endpoint.handle_timeout(now);
            }
        }
        while let Some(flight) = self.wire.arrival(now) {
            self.deliver_flight(flight);
        }
        true
    }

    /// Advances to the next timeout of an endpoint; the timeout is handled when the program polls.
    /// Returns false if there is no timeout.
    fn advance_endpoints(&mut self) -> bool {
        let now = self.now();
        let endpoints = self.nodes.iter().filter_map(|node| node.endpoint.as_ref());
        let timeouts = endpoints.filter_map(Endpoint::next_timeout);
        // One that is due belongs to a program that does not poll.
        let next = timeouts.filter(|at| *at > now).min();
        self.clock.set(next.unwrap_or(now));
        next.is_some()
    }

    fn deliver_flight(&mut self, flight: PacketInFlight) {
        let now = self.now();
        let Some(node) = self.nodes.get_mut(flight.to as usize) else {
            return;
        };
        if let Some(from) = flight.datagram_from {
            node.waiting.push_back((from, flight.bytes));
            if self.progress == ProgressDriver::Thread {
                node.take_datagrams(now, &self.uris);
            }
            return;
        }
        if let Ok(packet) = Packet::parse(&flight.bytes) {
            node.adapter.borrow_mut().handle_packet(now, &packet);
        }
        self.wire.keep_buffer(flight.bytes);
    }

    /// Takes all packets and datagrams that leave now.
    fn transmit(&mut self) {
        let now = self.now();
        for (from, node) in (0..).zip(&mut self.nodes) {
            let mut adapter = node.adapter.borrow_mut();
            while let Some(sent) = adapter.next_packet(now, &mut self.payload) {
                let mut bytes = self.wire.buffer();
                Packet::new(sent.bth, sent.extension, &self.payload).emit(&mut bytes);
                self.payload.clear();
                self.wire.send_flight(PacketInFlight {
                    at: now + LATENCY,
                    to: u32::from(sent.address.dlid).wrapping_sub(1),
                    datagram_from: None,
                    bytes,
                });
            }
            let mut endpoint = node.endpoint.as_mut();
            while let Some((to, bytes)) = endpoint.as_deref_mut().and_then(Endpoint::next_datagram)
            {
                let number = to.strip_prefix("sim://").and_then(|to| to.parse().ok());
                if let Some(to) = number {
                    self.wire.send_flight(PacketInFlight {
                        at: now + LATENCY,
                        to,
                        datagram_from: Some(from),
                        bytes,
                    });
                }
            }
        }
    }
}

impl Wire {
    /// Returns an empty buffer.
    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Keeps a buffer for reuse.
    fn keep_buffer(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            self.spare.push(buffer);
        }
    }

    /// Returns the next packet or datagram that arrives until `now`.
    fn arrival(&mut self, now: u64) -> Option<PacketInFlight> {
        let is_due = self.flights.front().is_some_and(|next| next.at <= now);
        is_due.then(|| self.flights.pop_front()).flatten()
    }

    /// Takes a packet or a datagram that arrives one latency from now, unless there is a fault.
    fn send_flight(&mut self, mut flight: PacketInFlight) {
        let faults = self.faults;
        if !faults.is_faulty() {
            return self.fly(flight);
        }
        let draws: [f64; 4] = std::array::from_fn(|_| self.stream.uniform());
        let now = flight.at - LATENCY;
        if draws[3] < faults.flap {
            self.down_until = now + OUTAGE;
        }
        if draws[0] < faults.loss || now < self.down_until {
            return self.keep_buffer(flight.bytes);
        }
        if draws[1] < faults.reorder {
            flight.at += REORDERING_DELAY;
        }
        if draws[2] < faults.duplicate {
            let mut copy = flight.clone();
            copy.at += LATENCY;
            self.fly(copy);
        }
        self.fly(flight);
    }

    /// Inserts a packet or a datagram after all others that arrive earlier or at the same time.
    fn fly(&mut self, flight: PacketInFlight) {
        let is_last = self.flights.back().is_none_or(|last| last.at <= flight.at);
        if is_last {
            return self.flights.push_back(flight);
        }
        let at = self.flights.partition_point(|other| other.at <= flight.at);
        self.flights.insert(at, flight);
    }
}

fn node(
    (number, uri): (u32, &Uri),
    clock: &PolledClock,
    settings: &NetworkSettings,
) -> Result<SimulatedHost, Error> {
    let attributes = DeviceAttributes::of_model(&format!("adapter{number}"), number.into());
    let lid = u16::try_from(number + 1).ok().filter(|lid| *lid < u16::MAX);
    let port = AdapterPort {
        link_layer: LinkLayer::InfiniBand,
        mtu: Mtu::Mtu1024,
        lid: lid.ok_or(Error::Invalid("a network has at most 65534 endpoints"))?,
        gid: (Gid::default(), GidType::Ib),
    };
    let adapter = ChannelAdapter::new(attributes, port, settings.adapters);
    let adapter = Rc::new(RefCell::new(adapter));
    let verbs: Rc<dyn Verbs> = Rc::new(LocalAdapter::new(Rc::clone(&adapter), clock.clone()));
    Ok(SimulatedHost {
        adapter,
        endpoint: Some(Endpoint::new(Uri::clone(uri), verbs, settings.endpoints)?),
        waiting: VecDeque::new(),
    })
}

impl SimulatedHost {
    /// Hands the endpoint the datagrams that wait.
    fn take_datagrams(&mut self, now: u64, uris: &[Uri]) {
        while let Some((from, bytes)) = self.waiting.pop_front() {
            if let Some(endpoint) = &mut self.endpoint {
                endpoint.handle_datagram(now, &uris[from as usize], &bytes);
            }
        }
    }

    /// Lets the endpoint make progress, as when a program polls.
    fn progress(&mut self, now: u64, uris: &[Uri]) {
        self.take_datagrams(now, uris);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.handle_timeout(now);
        }
    }
}
