//! Links and routes of platforms as packet networks.

use std::sync::Arc;

use models::packet::{
    PacketLinkId, PacketNetwork, PacketSettings, PacketTopology, PlatformTopology,
};
use platform::Platform;
use sim_core::HostId;

use super::lab::{self, WIRE_TIME};

fn platform(text: &str) -> Arc<Platform> {
    Arc::new(Platform::parse("test.toml", text).expect("a platform"))
}

fn cluster(sharing: &str, more: &str) -> Arc<Platform> {
    platform(&format!(
        "version = 1\n[clusters.nodes]\nhosts = \"n[0-3]\"\nspeed = \"1Gf\"\n\
         bandwidth = \"100Gbps\"\nlatency = \"10ns\"\nsharing = \"{sharing}\"\n{more}"
    ))
}

/// Returns the names of the links of a route.
fn names(topology: &PlatformTopology, from: u32, to: u32) -> Vec<String> {
    let mut route = Vec::new();
    let found = topology.route_into(HostId(from), HostId(to), 0, &mut route);
    found.expect("a route");
    route
        .into_iter()
        .map(|link| topology.link_name(link))
        .collect()
}

#[test]
fn directions_of_a_shared_link_are_links_of_their_own() {
    for (sharing, up, down) in [
        ("split-duplex", "n1:up", "n2:down"),
        ("shared", "n1:link", "n2:link (backwards)"),
    ] {
        let topology = PlatformTopology::new(cluster(sharing, ""));
        assert_eq!(names(&topology, 1, 2), [up, down]);
        // Opposite transfers do not slow each other.
        let mut network = PacketNetwork::new(Arc::new(topology), PacketSettings::default());
        lab::send_many(&mut network, 1, 2, 10);
        lab::send_many(&mut network, 2, 1, 10);
        let deliveries = lab::run(&mut network);
        let last = 10 * WIRE_TIME + 2 * 10_000 + 100_000;
        let ends: Vec<u64> = deliveries.iter().rev().take(2).map(|end| end.at).collect();
        assert_eq!(ends, [last, last], "{sharing}");
    }
}

#[test]
fn a_shared_backbone_is_one_link_and_a_fatpipe_has_no_queue() {
    let last = |sharing: &str| {
        let backbone = format!(
            "topology = \"backbone\"\nbackbone = {{ bandwidth = \"100Gbps\", latency = \"0s\", \
             sharing = \"{sharing}\" }}"
        );
        let topology = PlatformTopology::new(cluster("split-duplex", &backbone));
        assert_eq!(
            names(&topology, 0, 1),
            ["n0:up", "nodes:backbone", "n1:down"]
        );
        assert_eq!(names(&topology, 1, 0)[1], "nodes:backbone");
        let mut network = PacketNetwork::new(Arc::new(topology), PacketSettings::default());
        lab::send_many(&mut network, 0, 1, 10);
        lab::send_many(&mut network, 2, 3, 10);
        lab::run(&mut network).last().expect("a delivery").at
    };
    let latency = 2 * 10_000 + 2 * 100_000;
    assert_eq!(last("shared"), 20 * WIRE_TIME + latency);
    // Packets that enter a fatpipe at one instant leave it 1 ps apart.
    assert_eq!(last("fatpipe"), 10 * WIRE_TIME + latency + 1);
}

#[test]
fn each_host_has_a_loopback() {
    let loopback =
        "loopback = { bandwidth = \"100Gbps\", latency = \"5ns\", sharing = \"fatpipe\" }";
    let topology = Arc::new(PlatformTopology::new(cluster("split-duplex", loopback)));
    assert_eq!(names(&topology, 2, 2), ["n2:loopback"]);
    let mut network = PacketNetwork::new(topology, PacketSettings::default());
    for host in 0..4 {
        lab::send_many(&mut network, host, host, 2);
    }
    let ends: Vec<u64> = lab::run(&mut network).iter().map(|end| end.at).collect();
    let first = WIRE_TIME + 5_000;
    assert_eq!(ends, [[first; 4], [first + WIRE_TIME; 4]].concat());
    // Without a declaration: that of the platform, 10 GB/s without latency.
    let implicit = PlatformTopology::new(cluster("split-duplex", ""));
    let link = implicit.link(PacketLinkId(implicit.link_id_end() - 1));
    assert_eq!((link.rate.wire_time(1), link.propagation_ps), (100, 0));
}

#[test]
fn hosts_of_a_torus_forward_packets() {
    let torus = "topology = \"torus\"\ndimensions = [4]";
    let topology = PlatformTopology::new(cluster("split-duplex", torus));
    assert_eq!(names(&topology, 0, 2), ["n0/0:up", "n1/0:up"]);
    let mut network = PacketNetwork::new(Arc::new(topology), PacketSettings::default());
    lab::send_many(&mut network, 0, 2, 1);
    lab::send_many(&mut network, 0, 1, 1);
    let ends: Vec<(u64, u32)> = lab::run(&mut network)
        .iter()
        .map(|end| (end.at, end.host.0))
        .collect();
    let second = 2 * WIRE_TIME + 10_000;
    assert_eq!(ends, [(WIRE_TIME + 120_000, 2), (second, 1)]);
}

#[test]
fn results_do_not_depend_on_the_order_in_which_links_are_first_used() {
    let run = |hosts: [u32; 4]| {
        let topology = PlatformTopology::new(cluster("split-duplex", ""));
        let mut network = PacketNetwork::new(Arc::new(topology), PacketSettings::default());
        // Routes are found here; nothing competes yet.
        for host in hosts {
            lab::send_many(&mut network, host, host, 1);
        }
        for host in hosts {
            lab::send_many(&mut network, host, 1, 20);
            lab::send_many(&mut network, host, 3, 20);
        }
        lab::run(&mut network)
    };
    assert_eq!(run([0, 1, 2, 3]), run([3, 1, 0, 2]));
}
