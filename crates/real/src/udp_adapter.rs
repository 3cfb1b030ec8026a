//! Our own adapter on a network: packets of RoCE v2 travel in datagrams.
//!
//! The adapter has no clock and no thread: [`UdpAdapter::poll`] takes the time, receives the
//! packets that are there and sends the packets that may leave. All packets go to the one peer.
//!
//! *Not modelled*: pacing and congestion control: the adapter sends as fast as requests are posted.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;

use rdma::wire::Packet;
use rdma::{
    AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer, LocalAdapter, Mtu,
    PolledClock, SoftAdapterSettings,
};

use crate::conformance::RoceSocket;

/// An adapter with its socket.
#[derive(Debug)]
pub struct UdpAdapter {
    adapter: Rc<RefCell<ChannelAdapter>>,
    clock: PolledClock,
    socket: RoceSocket,
    counts: UdpCounts,
}

/// Packets of an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UdpCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Datagrams that are no packets, or have a wrong ICRC.
    pub refused: u64,
}

impl UdpAdapter {
    /// Returns an adapter with the address `local` and a peer.
    pub fn bind(local: Ipv4Addr, peer: Ipv4Addr) -> io::Result<Self> {
        let socket = RoceSocket::bind(local, peer)?;
        let port = AdapterPort {
            link_layer: LinkLayer::Ethernet,
            mtu: Mtu::Mtu4096,
            lid: 0,
            gid: (Gid(local.to_ipv6_mapped().octets()), GidType::RoceV2),
        };
        let attributes = DeviceAttributes::of_model("udp", 1);
        let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
        Ok(Self {
            adapter: Rc::new(RefCell::new(adapter)),
            clock: PolledClock::default(),
            socket,
            counts: UdpCounts::default(),
        })
    }

    /// Returns access to the adapter.
    pub fn verbs(&self) -> LocalAdapter<PolledClock> {
        LocalAdapter::new(Rc::clone(&self.adapter), self.clock.clone())
    }

    /// Returns the numbers of packets until now.
    pub const fn packet_counts(&self) -> UdpCounts {
        self.counts
    }

    /// Takes the packets that are there, handles timeouts and sends; `now` is in picoseconds.
    pub fn poll(&mut self, now: u64) -> io::Result<()> {
        self.clock.set(now);
        let mut adapter = self.adapter.borrow_mut();
        while let Some(arrival) = self.socket.try_receive()? {
            let packet = arrival
                .as_ref()
                .ok()
                .and_then(|bytes| Packet::parse(bytes).ok());
            let Some(packet) = packet else {
                self.counts.refused += 1;
                continue;
            };
            self.counts.received += 1;
            adapter.handle_packet(now, &packet);
        }
        if adapter.next_timeout().is_some_and(|at| at <= now) {
            adapter.handle_timeout(now);
        }
        let mut payload = Vec::new();
        while let Some(sent) = adapter.next_packet(now, &mut payload) {
            self.socket
                .send(&Packet::new(sent.bth, sent.extension, &payload))?;
            self.counts.sent += 1;
            payload.clear();
        }
        Ok(())
    }
}
