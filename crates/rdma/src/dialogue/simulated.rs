//! Our own adapter as a device under test: calls carry the packets, and carrying takes no time.
//!
//! Every packet is written to bytes with its network headers and read again, so that the wire
//! formats and their checksums are part of the test. *Not modelled*: durations on the wire, loss.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

use super::interpreter::{Arrival, DeviceUnderTest};
use super::{DeviceCommand, DeviceReply, Responder};
use crate::wire::{Ip, Packet, RoceFrame};
use crate::{
    AdapterHost, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, PolledClock, SoftAdapterSettings,
};

/// The address of the device. RFC 5737: documentation.
const DEVICE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The address of the tester.
const TESTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// A simulated adapter under test.
#[derive(Debug)]
pub struct SimulatedDevice {
    adapter: Rc<RefCell<ChannelAdapter>>,
    verbs: LocalAdapter<PolledClock>,
    clock: PolledClock,
    responder: Responder,
}

impl SimulatedDevice {
    /// Returns a new adapter with these settings.
    #[must_use]
    pub fn new(settings: SoftAdapterSettings) -> Self {
        let port = AdapterPort {
            link_layer: LinkLayer::Ethernet,
            mtu: Mtu::Mtu4096,
            lid: 0,
            gid: (gid_from_ipv4(DEVICE), GidType::RoceV2),
        };
        let attributes = DeviceAttributes::of_model("simulated", 1);
        let adapter = ChannelAdapter::new(attributes, port, settings);
        let adapter = Rc::new(RefCell::new(adapter));
        let clock = PolledClock::default();
        Self {
            verbs: LocalAdapter::new(Rc::clone(&adapter), clock.clone()),
            adapter,
            clock,
            responder: Responder::default(),
        }
    }

    /// Returns the next packet that leaves now.
    fn next_packet(&self) -> Option<Arrival> {
        let now = self.clock.now();
        let mut payload = Vec::new();
        let sent = self.adapter.borrow_mut().next_packet(now, &mut payload)?;
        let packet = Packet::new(sent.bth, sent.extension, &payload);
        Some(carry(&packet, (DEVICE, TESTER), |packet| {
            let mut bytes = Vec::new();
            packet.emit(&mut bytes);
            bytes
        }))
    }
}

impl DeviceUnderTest for SimulatedDevice {
    fn command(&mut self, command: &DeviceCommand) -> Result<DeviceReply, String> {
        let reply = self
            .responder
            .execute_command(&self.verbs, gid_from_ipv4(TESTER), command);
        reply.map_err(|error| error.to_string())
    }

    fn transmit(&mut self, packet: &Packet<'_>) -> Result<(), String> {
        let now = self.clock.now();
        carry(packet, (TESTER, DEVICE), |packet| {
            self.adapter.borrow_mut().handle_packet(now, packet);
        })
    }

    fn receive(&mut self, until: u64) -> Result<Option<Arrival>, String> {
        loop {
            let packet = self.next_packet();
            if packet.is_some() {
                return Ok(packet);
            }
            let next = self.adapter.borrow_mut().next_timeout();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.clock.set(until.max(self.clock.now()));
                return Ok(None);
            };
            let now = next.max(self.clock.now());
            self.clock.set(now);
            self.adapter.borrow_mut().handle_timeout(now);
        }
    }

    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn arrived_after(&self) -> u64 {
        self.now()
    }

    fn tolerance(&self) -> u64 {
        0
    }

    /// Returns 10 s of simulated time, which take no real time.
    fn quiet_time(&self) -> u64 {
        10_000_000_000_000
    }
}

/// Returns the global identifier of an address.
fn gid_from_ipv4(address: Ipv4Addr) -> Gid {
    Gid(address.to_ipv6_mapped().octets())
}

/// Writes a packet as a frame, reads the frame again, and passes the packet to `take`.
fn carry<T>(
    packet: &Packet<'_>,
    (source, destination): (Ipv4Addr, Ipv4Addr),
    take: impl FnOnce(&Packet<'_>) -> T,
) -> Result<T, String> {
    let frame = RoceFrame {
        destination_mac: [0; 6],
        source_mac: [0; 6],
        ip: Ip::V4 {
            tos: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            source,
            destination,
        },
        source_port: 0xC000,
        has_udp_checksum: false,
        packet: *packet,
    };
    let mut bytes = Vec::new();
    frame.emit(&mut bytes);
    let frame = RoceFrame::parse(&bytes).map_err(|error| error.to_string())?;
    Ok(take(&frame.packet))
}
