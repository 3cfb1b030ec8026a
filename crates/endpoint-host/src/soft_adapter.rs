//! An adapter in software, whose packets are carried by its owner. The global identifier is the
//! socket address of the endpoint, so the destination of a packet determines the stream.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;

use rdma::wire::Packet;
use rdma::{
    AdapterHost, AdapterPort, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, PolledClock, SoftAdapterSettings, Verbs,
};

/// An adapter.
#[derive(Debug)]
pub(crate) struct SoftAdapter {
    adapter: Rc<RefCell<ChannelAdapter>>,
    clock: PolledClock,
}

/// The first bytes of global identifiers: of the range for local use (RFC 4193).
const PREFIX: [u8; 10] = [0xFD, b's', b'i', b'm', b'r', b'u', b'n', 0, 0, 0];

fn gid_from_address(address: SocketAddrV4) -> Gid {
    let mut bytes = [0; 16];
    bytes[..10].copy_from_slice(&PREFIX);
    bytes[10..14].copy_from_slice(&address.ip().octets());
    bytes[14..].copy_from_slice(&address.port().to_be_bytes());
    Gid(bytes)
}

fn address_from_gid(gid: Gid) -> Option<SocketAddrV4> {
    let rest: [u8; 6] = gid.0.strip_prefix(&PREFIX)?.try_into().ok()?;
    let [a, b, c, d, high, low] = rest;
    let port = u16::from_be_bytes([high, low]);
    Some(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port))
}

impl SoftAdapter {
    pub(crate) fn new(at: SocketAddrV4) -> Self {
        let port = AdapterPort {
            link_layer: LinkLayer::Ethernet,
            mtu: Mtu::Mtu4096,
            lid: 0,
            gid: (gid_from_address(at), GidType::RoceV2),
        };
        let attributes = DeviceAttributes::of_model("tcp", 1);
        let adapter = ChannelAdapter::new(attributes, port, SoftAdapterSettings::default());
        Self {
            adapter: Rc::new(RefCell::new(adapter)),
            clock: PolledClock::default(),
        }
    }

    pub(crate) fn verbs(&self) -> Rc<dyn Verbs> {
        let adapter = Rc::clone(&self.adapter);
        Rc::new(LocalAdapter::new(adapter, self.clock.clone()))
    }

    /// Takes a packet. A malformed packet is dropped.
    pub(crate) fn receive_packet(&self, bytes: &[u8]) {
        if let Ok(packet) = Packet::parse(bytes) {
            let now = self.clock.now();
            self.adapter.borrow_mut().handle_packet(now, &packet);
        }
    }

    /// Returns the time of the next timeout, in picoseconds.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.adapter.borrow_mut().next_timeout()
    }

    /// Handles the timeouts that are due at `now`, in picoseconds, and returns the packets that
    /// leave, with the addresses of their destinations.
    pub(crate) fn poll_packets(&self, now: u64) -> Vec<(SocketAddrV4, Vec<u8>)> {
        self.clock.set(now);
        let mut adapter = self.adapter.borrow_mut();
        adapter.handle_timeout(now);
        let (mut packets, mut payload) = (Vec::new(), Vec::new());
        while let Some(sent) = adapter.next_packet(now, &mut payload) {
            let mut bytes = Vec::new();
            Packet::new(sent.bth, sent.extension, &payload).emit(&mut bytes);
            payload.clear();
            let to = sent
                .address
                .grh
                .and_then(|route| address_from_gid(route.dgid));
            packets.extend(to.map(|to| (to, bytes)));
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_tells_the_address() {
        let at = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4791);
        assert_eq!(address_from_gid(gid_from_address(at)), Some(at));
        assert_eq!(address_from_gid(Gid([1; 16])), None);
    }
}
