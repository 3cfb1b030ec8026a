//! `--pcap FILE`: the packets between tester and adapter, as frames of RoCE v2.
//!
//! The capture adds the headers below the base transport header: with the addresses of the two
//! ends, but without Ethernet addresses, and with an identification of 0. Packets of the adapter
//! with a wrong ICRC are left out: the verdict reports them. Several cases follow one another.

use std::net::Ipv4Addr;

use rdma::dialogue::{Arrival, DeviceCommand, DeviceReply, DeviceUnderTest};
use rdma::wire::{Ip, Packet, RoceFrame};
use rdma::{Capture, CaptureLink};

/// The length at which a capture ends, in bytes: 1 GiB.
const BYTES_MAX: u64 = 1 << 30;
/// The source port of both ends; the range of RoCE v2 begins here.
const SOURCE_PORT: u16 = 0xC000;

/// The addresses of the two ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaptureEnds {
    pub(super) device: Ipv4Addr,
    pub(super) tester: Ipv4Addr,
}

/// An adapter with captured packets.
pub(super) struct CapturedDevice<'a> {
    device: &'a mut dyn DeviceUnderTest,
    ends: CaptureEnds,
    capture: Capture,
}

impl<'a> CapturedDevice<'a> {
    pub(super) fn new(device: &'a mut dyn DeviceUnderTest, ends: CaptureEnds) -> Self {
        Self {
            device,
            ends,
            capture: Capture::new(CaptureLink::Ethernet, BYTES_MAX),
        }
    }

    /// Returns the adapter for packets that are not captured.
    pub(super) const fn uncaptured(&mut self) -> &mut dyn DeviceUnderTest {
        self.device
    }

    pub(super) fn into_capture(self) -> Capture {
        self.capture
    }

    /// Adds a packet that passes now.
    fn add_packet(&mut self, packet: &Packet<'_>, source: Ipv4Addr, destination: Ipv4Addr) {
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
            source_port: SOURCE_PORT,
            has_udp_checksum: false,
            packet: *packet,
        };
        let mut bytes = Vec::new();
        frame.emit(&mut bytes);
        // Of picoseconds.
        self.capture.add_packet(self.device.now() / 1000, &bytes);
    }
}

impl DeviceUnderTest for CapturedDevice<'_> {
    fn command(&mut self, command: &DeviceCommand) -> Result<DeviceReply, String> {
        self.device.command(command)
    }

    fn transmit(&mut self, packet: &Packet<'_>) -> Result<(), String> {
        self.add_packet(packet, self.ends.tester, self.ends.device);
        self.device.transmit(packet)
    }

    fn receive(&mut self, until: u64) -> Result<Option<Arrival>, String> {
        let arrival = self.device.receive(until)?;
        if let Some(Ok(bytes)) = &arrival
            && let Ok(packet) = Packet::parse(bytes)
        {
            self.add_packet(&packet, self.ends.device, self.ends.tester);
        }
        Ok(arrival)
    }

    fn now(&self) -> u64 {
        self.device.now()
    }

    fn arrived_after(&self) -> u64 {
        self.device.arrived_after()
    }

    fn tolerance(&self) -> u64 {
        self.device.tolerance()
    }

    fn quiet_time(&self) -> u64 {
        self.device.quiet_time()
    }
}
