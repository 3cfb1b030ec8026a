//! Small networks for tests: hosts, switches and the base set of parameters.

use std::sync::Arc;

use models::packet::{
    ListedTopology, OutboundPacket, PacketDelivery, PacketLinkId, PacketLinkSpec, PacketNetwork,
    PacketSettings, WireRate,
};
use sim_core::HostId;

use super::case::Case;

/// Bytes on the wire of the packets of the base set: MTU 4096, local header, delimiters.
pub(crate) const WIRE: u32 = 4096 + 30;

/// Wire time of such a packet at 100 Gb/s, in picoseconds.
pub(crate) const WIRE_TIME: u64 = 330_080;

/// Returns a link of the base set: 100 Gb/s, 2 m.
pub(crate) fn base_link() -> PacketLinkSpec {
    PacketLinkSpec::new(WireRate::from_ps_per_byte(80), 10_000)
}

/// Returns the link that a case describes.
pub(crate) fn link_of(case: &Case) -> PacketLinkSpec {
    PacketLinkSpec::new(
        WireRate::from_ps_per_byte(case.int("ps_per_byte")),
        case.int("prop_ps"),
    )
}

/// Returns the settings that a case describes.
pub(crate) fn settings_of(case: &Case) -> PacketSettings {
    let defaults = PacketSettings::default();
    let buffer = ["buffer_blocks", "buffer_blocks_per_vl"]
        .into_iter()
        .find(|name| case.has(name));
    PacketSettings {
        switch_latency_ps: case.int("switch_ps"),
        buffer_blocks: buffer.map_or(defaults.buffer_blocks, |name| case.small(name)),
        ..defaults
    }
}

/// Returns a packet of the base set, with the tag `tag`.
pub(crate) fn packet(destination: u32, tag: u64) -> OutboundPacket {
    OutboundPacket {
        destination: HostId(destination),
        wire_bytes: WIRE,
        service_level: 0,
        flow_hash: 0,
        tag,
    }
}

pub(crate) fn network(links: ListedTopology, settings: PacketSettings) -> PacketNetwork {
    PacketNetwork::new(Arc::new(links), settings)
}

/// Sends `count` packets at time 0, with the source as tag.
pub(crate) fn send_many(network: &mut PacketNetwork, from: u32, to: u32, count: u64) {
    for _ in 0..count {
        let sent = network.send(0, HostId(from), packet(to, u64::from(from)));
        sent.expect("a route");
    }
}

/// Runs until no packet moves, and returns the deliveries.
pub(crate) fn run(network: &mut PacketNetwork) -> Vec<PacketDelivery> {
    let mut deliveries = Vec::new();
    run_until(network, &mut |delivery| {
        deliveries.push(*delivery);
        true
    });
    deliveries
}

/// Runs while `go_on` returns true and a packet moves.
pub(crate) fn run_until(
    network: &mut PacketNetwork,
    go_on: &mut dyn FnMut(&PacketDelivery) -> bool,
) {
    while let Some(time) = network.next_event_at() {
        network.handle_events(time);
        while let Some(delivery) = network.poll_delivery() {
            assert!(delivery.at <= time, "a delivery is not in the future");
            if !go_on(&delivery) {
                return;
            }
        }
    }
}

/// Returns two hosts, 0 and 1, with `switches` switches between them.
pub(crate) fn line(specs: &[PacketLinkSpec]) -> ListedTopology {
    let mut links = ListedTopology::new();
    let route: Vec<PacketLinkId> = specs
        .iter()
        .enumerate()
        .map(|(number, spec)| links.add_link(format!("link {number}"), *spec))
        .collect();
    links.add_route(HostId(0), HostId(1), &route);
    links
}

/// Returns `inputs` hosts, 0 and up, around a switch, all with a route to one more host.
pub(crate) fn star(inputs: u32, spec: PacketLinkSpec) -> ListedTopology {
    let mut links = ListedTopology::new();
    let down = links.add_link("down", spec);
    for host in 0..inputs {
        let up = links.add_link(format!("up {host}"), spec);
        links.add_route(HostId(host), HostId(inputs), &[up, down]);
    }
    links
}
