//! A fat tree of 1024 hosts, routed by `platform`: shifts are free of contention, and the engine
//! stays within the budget of events and memory.

use std::sync::Arc;

use models::packet::{OutboundPacket, PacketNetwork, PacketSettings, PlatformTopology};
use platform::Platform;
use sim_core::{HostId, Stream};

use super::lab;

const HOSTS: u32 = 1024;

fn network() -> PacketNetwork {
    let text = "version = 1\n[clusters.nodes]\nhosts = \"n[0-1023]\"\ntopology = \"fat-tree\"\n\
                down = [8, 8, 16]\nup = [1, 8, 8]\nspeed = \"1Gf\"\nbandwidth = \"100Gbps\"\n\
                latency = \"10ns\"\n";
    let platform = Platform::parse("tree.toml", text).expect("a platform");
    let topology = PlatformTopology::new(Arc::new(platform));
    PacketNetwork::new(Arc::new(topology), PacketSettings::default())
}

fn send(network: &mut PacketNetwork, pairs: &[(u32, u32)], packets: u64, wire_bytes: u32) {
    for &(from, to) in pairs {
        for _ in 0..packets {
            let packet = OutboundPacket {
                wire_bytes,
                ..lab::packet(to, u64::from(from))
            };
            network.send(0, HostId(from), packet).expect("a route");
        }
    }
}

#[test]
fn shifts_are_free_of_contention() {
    for shift in [1, 8, 100, 512, 1000] {
        let pairs: Vec<(u32, u32)> = (0..HOSTS)
            .map(|host| (host, (host + shift) % HOSTS))
            .collect();
        let mut network = network();
        send(&mut network, &pairs, 8, 4134);
        let end = lab::run(&mut network).last().expect("a delivery").at;
        // The longest routes have 6 links and 5 switches; 4134 bytes take 330 720 ps.
        assert_eq!(end, 8 * 330_720 + 6 * 10_000 + 5 * 100_000, "shift {shift}");
        let found = network.statistics();
        if shift == 512 {
            assert_eq!(found.hops, 6 * 8 * 1024);
            // One event per hop, and a wake-up per packet of a host.
            assert!(found.events * 100 <= found.hops * 117, "{found:?}");
        }
    }
}

#[test]
fn events_and_memory_stay_within_the_budget() {
    let mut targets: Vec<u32> = (0..HOSTS).collect();
    Stream::new(1, "permutation").shuffle(&mut targets);
    let permutation: Vec<(u32, u32)> = (0..HOSTS).zip(targets).collect();
    let incast: Vec<(u32, u32)> = (0..HOSTS)
        .map(|host| (host, (host / 64 * 64 + 96) % HOSTS))
        .collect();
    for pairs in [permutation, incast] {
        let mut network = network();
        send(&mut network, &pairs, 16, lab::WIRE);
        assert_eq!(lab::run(&mut network).len(), 16 * 1024);
        let found = network.statistics();
        assert!(found.events * 10 <= found.hops * 28, "{found:?}");
        assert!(found.port_bytes <= found.ports * 512, "{found:?}");
    }
}
