//! RoCE networks: pauses, headroom, lossy Ethernet, ECN, ECMP and adaptive routing.

use models::packet::{
    EcnThresholds, FlowControl, Forwarding, GraphTopology, OutboundPacket, PAUSE_FRAME_BYTES,
    PacketLinkSpec, PacketNetwork, PacketSettings, PacketStall, PfcSettings, WireRate, flow_hash,
};
use sim_core::{HostId, Stream};

use super::lab::{self, WIRE_TIME, base_link};

const JUMBO: u32 = 4178;
const RATE: u64 = 80;

fn with_pfc(pfc: PfcSettings) -> PacketSettings {
    PacketSettings {
        flow_control: FlowControl::Pfc(pfc),
        forwarding: Forwarding::StoreAndForward,
        delimiter_bytes: 0,
        ..PacketSettings::default()
    }
}

/// Returns hosts around a switch; the cable of the last host has a separate rate.
fn star(hosts: u32, propagation_ps: u64, last_ps_per_byte: u64) -> GraphTopology {
    let mut graph = GraphTopology::new();
    let switch = graph.add_switch("switch", 1);
    for host in 0..hosts {
        let node = graph.add_host(format!("host {host}"));
        let ps = if host + 1 == hosts {
            last_ps_per_byte
        } else {
            RATE
        };
        let rate = WireRate::from_ps_per_byte(ps);
        graph.add_cable(node, switch, PacketLinkSpec::new(rate, propagation_ps));
    }
    graph
}

fn network(graph: GraphTopology, settings: PacketSettings) -> PacketNetwork {
    PacketNetwork::new(std::sync::Arc::new(graph), settings)
}

fn send(network: &mut PacketNetwork, now: u64, (from, to): (u32, u32), wire_bytes: u32) {
    let packet = OutboundPacket {
        wire_bytes,
        ..lab::packet(to, u64::from(from))
    };
    network.send(now, HostId(from), packet).expect("a route");
}

#[test]
fn an_incast_with_pauses_loses_nothing_and_keeps_the_output_busy() {
    let pfc = PfcSettings {
        fixed_threshold: Some(20_000),
        ..PfcSettings::default()
    };
    let mut network = network(star(5, 10_000, RATE), with_pfc(pfc));
    for host in 0..4 {
        for _ in 0..200 {
            send(&mut network, 0, (host, 4), lab::WIRE);
        }
    }
    let deliveries = lab::run(&mut network);
    assert_eq!(deliveries.len(), 800);
    // Store-and-forward: one wire time more than with cut-through.
    let end = deliveries.last().expect("a delivery").at;
    assert_eq!(end, 801 * WIRE_TIME + 2 * 10_000 + 100_000);
    let found = network.statistics();
    assert!(found.pauses > 8, "{found:?}");
    assert_eq!((found.dropped, network.stall()), (0, None));
}

/// Sends a burst to a slow host, with frames on the reverse link that begin at `offset`, and
/// returns the number of packets dropped.
fn burst(headroom_bytes: u32, offset: u64, lengths: &mut dyn FnMut() -> u32) -> u64 {
    let pfc = PfcSettings {
        headroom_bytes,
        reserve_bytes: 0,
        fixed_threshold: Some(3 * JUMBO),
        ..PfcSettings::default()
    };
    // Hosts 0 (burst), 1 (reverse traffic) and 2 (slow), 100 m.
    let mut network = network(star(3, 500_000, 8_000), with_pfc(pfc));
    for _ in 0..30 {
        send(&mut network, 0, (0, 2), lengths());
    }
    network.handle_events(offset);
    for _ in 0..30 {
        send(&mut network, offset, (1, 0), JUMBO);
    }
    let delivered = lab::run(&mut network).len() as u64;
    let found = network.statistics();
    assert_eq!(found.dropped, found.headroom_drops);
    assert_eq!(delivered + found.dropped, 60);
    found.dropped
}

#[test]
fn the_formula_of_headroom_is_enough_and_one_frame_less_is_not() {
    // Twice 500 ns at 100 Gb/s, a frame of each direction, and the pause.
    let headroom = 12_500 + 2 * JUMBO + PAUSE_FRAME_BYTES;
    let wire_time = RATE * u64::from(JUMBO);
    let offsets = (0..256).map(|part| part * wire_time / 256);
    let full = |headroom| {
        let drops = offsets
            .clone()
            .map(|offset| burst(headroom, offset, &mut || JUMBO));
        drops.sum::<u64>()
    };
    assert_eq!(full(headroom), 0);
    assert!(full(headroom - JUMBO - 1) > 0);
    // Random lengths and times.
    let mut stream = Stream::new(1, "bursts");
    for _ in 0..500 {
        let offset = stream.below(20 * wire_time);
        let mut length = || 64 + 4 * u32::try_from(stream.below(1029)).expect("a length");
        assert_eq!(burst(headroom, offset, &mut length), 0);
    }
}

#[test]
fn without_pauses_packets_are_dropped() {
    let lossy = PfcSettings {
        sends_pauses: false,
        headroom_bytes: 0,
        fixed_threshold: Some(10 * lab::WIRE),
        ..PfcSettings::default()
    };
    let mut network = network(star(3, 10_000, RATE), with_pfc(lossy));
    for host in 0..2 {
        for _ in 0..100 {
            send(&mut network, 0, (host, 2), lab::WIRE);
        }
    }
    let delivered = lab::run(&mut network).len() as u64;
    let found = network.statistics();
    assert!(found.dropped > 50, "{found:?}");
    assert_eq!(
        (
            delivered + found.dropped,
            found.headroom_drops,
            found.pauses
        ),
        (200, 0, 0)
    );
}

#[test]
fn pauses_can_close_a_cycle() {
    // A ring of switches whose hosts send half around, with room for few packets.
    let mut graph = GraphTopology::new();
    let switches: Vec<_> = (0..3)
        .map(|at| graph.add_switch(format!("s{at}"), at))
        .collect();
    for at in 0..3 {
        let host = graph.add_host(format!("h{at}"));
        graph.add_cable(host, switches[at], base_link());
        graph.add_cable(switches[at], switches[(at + 1) % 3], base_link());
    }
    let pfc = PfcSettings {
        fixed_threshold: Some(4_096),
        ..PfcSettings::default()
    };
    let mut network = network(graph, with_pfc(pfc));
    for host in 0..3 {
        for _ in 0..500 {
            send(&mut network, 0, (host, (host + 1) % 3), lab::WIRE);
        }
    }
    // Shortest routes of a triangle have no dependency: everything arrives.
    assert_eq!(lab::run(&mut network).len(), 1500);
    assert_eq!(network.stall(), None::<&PacketStall>);
}

#[test]
fn marks_follow_the_queue() {
    let mut settings = with_pfc(PfcSettings::default());
    let marked = |settings: &PacketSettings| {
        let mut network = network(star(3, 10_000, RATE), settings.clone());
        for host in 0..2 {
            for _ in 0..200 {
                send(&mut network, 0, (host, 2), 1_000);
            }
        }
        let deliveries = lab::run(&mut network);
        let count = deliveries.iter().filter(|end| end.marked).count();
        assert_eq!(count as u64, network.statistics().marked);
        count
    };
    assert_eq!(marked(&settings), 0);
    // The queue grows by one packet for two that come, to 200 packets.
    let step = |at: f64| EcnThresholds {
        min: at,
        max: at,
        max_probability: 1.0,
    };
    settings.ecn = Some(step(100_000.0));
    let half = marked(&settings);
    assert!((195..=205).contains(&half), "{half}");
    settings.ecn = Some(EcnThresholds {
        min: 0.0,
        max: 200_000.0,
        max_probability: 1.0,
    });
    let slope = marked(&settings);
    assert!((170..=230).contains(&slope), "{slope}");
}

/// Returns two leaves with 4 hosts each, joined by 4 spines.
fn clos() -> GraphTopology {
    let mut graph = GraphTopology::new();
    let leaves = [
        graph.add_switch("leaf 0", 10),
        graph.add_switch("leaf 1", 11),
    ];
    for host in 0..8 {
        let node = graph.add_host(format!("host {host}"));
        graph.add_cable(node, leaves[host / 4], base_link());
    }
    for spine in 0..4 {
        let node = graph.add_switch(format!("spine {spine}"), 20 + spine);
        for leaf in leaves {
            graph.add_cable(leaf, node, base_link());
        }
    }
    graph
}

#[test]
fn hashes_collide_and_adaptive_routing_does_not() {
    let end = |hashes: &dyn Fn(u32) -> u32, adaptive_routing| {
        let settings = PacketSettings {
            adaptive_routing,
            ..PacketSettings::default()
        };
        let mut network = network(clos(), settings);
        for _ in 0..100 {
            for host in 0..4 {
                let packet = OutboundPacket {
                    flow_hash: hashes(host),
                    ..lab::packet(host + 4, u64::from(host))
                };
                network.send(0, HostId(host), packet).expect("a route");
            }
        }
        let deliveries = lab::run(&mut network);
        assert_eq!(deliveries.len(), 400);
        deliveries.last().expect("a delivery").at
    };
    let latency = 4 * 10_000 + 3 * 100_000;
    // One hash for all flows: one spine for all.
    assert_eq!(end(&|_| 5, false), 400 * WIRE_TIME + latency);
    assert_eq!(end(&|_| 5, true), 100 * WIRE_TIME + latency);
    let hash = |host| flow_hash(host, host + 4, 49_152, 4791);
    assert!(end(&hash, false) > 150 * WIRE_TIME);
    assert_eq!(end(&hash, true), 100 * WIRE_TIME + latency);
}
