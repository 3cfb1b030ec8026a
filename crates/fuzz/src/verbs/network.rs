//! Two simulated adapters and the network between them, in simulated time.
//!
//! Each packet takes the same latency, and the faults of a program happen to the packets that the
//! faults name. *Not modelled*: bandwidth.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rdma::wire::Packet;
use rdma::{
    AdapterHost as _, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, PolledClock, SoftAdapterSettings,
};

use super::execution::{ExecutionError, Session};
use super::model::Observation;
use super::program::{PacketFaultKind, VerbsProgram};

/// Latency of the network, in picoseconds: 1 µs. \[choice\]
const LATENCY: u64 = 1_000_000;

/// Delay of a packet that is overtaken, in picoseconds: 20 µs. \[choice\]
const DELAY: u64 = 20_000_000;

/// Time after which an execution ends, in picoseconds: 10 s. Retries take 1 s. \[choice\]
const TIME_MAX: u64 = 10_000_000_000_000;

/// Parameters of a simulated execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkSettings {
    pub(super) adapters: SoftAdapterSettings,
    /// Path MTU instead of the MTU of the program.
    pub(super) mtu: Option<Mtu>,
    /// The faults of the program happen.
    pub(super) has_faults: bool,
}

/// A network between two adapters.
struct Network {
    clock: PolledClock,
    adapters: [Rc<RefCell<ChannelAdapter>>; 2],
    /// By arrival and serial number: the receiver and the packet.
    flights: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    serial: u64,
    /// Packets that each queue pair has sent, by side and number.
    sent: BTreeMap<(usize, u32), u32>,
    /// By side, number of the queue pair and number of the packet.
    faults: BTreeMap<(usize, u32, u32), PacketFaultKind>,
}

/// Executes a program.
pub(super) fn execute_program(
    program: &VerbsProgram,
    settings: &NetworkSettings,
) -> Result<Observation<u8>, ExecutionError> {
    let mut network = Network {
        clock: PolledClock::default(),
        adapters: [0, 1].map(|side| create_adapter(side, settings.adapters)),
        flights: BTreeMap::new(),
        serial: 0,
        sent: BTreeMap::new(),
        faults: BTreeMap::new(),
    };
    let clock = &network.clock;
    let verbs = network
        .adapters
        .each_ref()
        .map(|adapter| LocalAdapter::new(Rc::clone(adapter), clock.clone()));
    let session = Session::new(program, [&verbs[0], &verbs[1]], settings.mtu)?;
    if settings.has_faults {
        for fault in &program.faults {
            let qp = session.qp_num(fault.connection, fault.side);
            let packet = (fault.side, qp, fault.packet);
            network.faults.insert(packet, fault.kind);
        }
    }
    session.execute_rounds(&mut || network.process_event())
}

fn create_adapter(side: u16, settings: SoftAdapterSettings) -> Rc<RefCell<ChannelAdapter>> {
    let attributes = DeviceAttributes::of_model(&format!("adapter{side}"), side.into());
    let port = AdapterPort {
        link_layer: LinkLayer::InfiniBand,
        mtu: Mtu::Mtu4096,
        lid: side + 1,
        gid: (Gid::default(), GidType::Ib),
    };
    Rc::new(RefCell::new(ChannelAdapter::new(
        attributes, port, settings,
    )))
}

impl Network {
    /// Sends the packets that leave now, moves to the next event and handles this event. Returns
    /// false if there is no event, or the time is over.
    fn process_event(&mut self) -> bool {
        self.transmit();
        let arrival = self.flights.keys().next().map(|(at, _)| *at);
        let timeouts = self.adapters.iter();
        let timeouts = timeouts.filter_map(|adapter| adapter.borrow_mut().next_timeout());
        let Some(next) = timeouts.chain(arrival).min() else {
            return false;
        };
        let now = next.max(self.clock.now());
        if now > TIME_MAX {
            return false;
        }
        self.clock.set(now);
        for adapter in &self.adapters {
            adapter.borrow_mut().handle_timeout(now);
        }
        while let Some((&key, _)) = self.flights.first_key_value()
            && key.0 <= now
            && let Some((to, bytes)) = self.flights.remove(&key)
        {
            if let Ok(packet) = Packet::parse(&bytes) {
                self.adapters[to].borrow_mut().handle_packet(now, &packet);
            }
        }
        true
    }

    /// Takes all packets that leave now.
    fn transmit(&mut self) {
        let now = self.clock.now();
        for from in [0, 1] {
            let mut payload = Vec::new();
            loop {
                let sent = self.adapters[from]
                    .borrow_mut()
                    .next_packet(now, &mut payload);
                let Some(sent) = sent else {
                    break;
                };
                let mut bytes = Vec::new();
                Packet::new(sent.bth, sent.extension, &payload).emit(&mut bytes);
                payload.clear();
                self.put_on_wire(from, sent.source_qp, bytes);
            }
        }
    }

    fn put_on_wire(&mut self, from: usize, qp: u32, bytes: Vec<u8>) {
        let number = self.sent.entry((from, qp)).or_default();
        let fault = self.faults.get(&(from, qp, *number));
        *number += 1;
        let at = self.clock.now() + LATENCY;
        match fault {
            None => self.fly(at, from, bytes),
            Some(PacketFaultKind::Loss) => {}
            Some(PacketFaultKind::Delay) => self.fly(at + DELAY, from, bytes),
            Some(PacketFaultKind::Duplicate) => {
                self.fly(at, from, bytes.clone());
                self.fly(at + LATENCY, from, bytes);
            }
        }
    }

    fn fly(&mut self, at: u64, from: usize, bytes: Vec<u8>) {
        self.serial += 1;
        self.flights.insert((at, self.serial), (1 - from, bytes));
    }
}
