//! The packet network against the flow model on the same platform and with the same wire bytes:
//! where they agree, and the known differences.

use std::sync::Arc;

use models::packet::{PacketNetwork, PacketSettings, PlatformTopology};
use platform::Platform;
use testing::lab::Lab;

use super::lab::{self, WIRE, WIRE_TIME};

const PACKETS: u64 = 200;

/// Returns the ends of flows of 200 packets, in units of wire times of a packet, in both models.
fn ends(text: &str, flows: &[(&str, &str)]) -> (Vec<f64>, Vec<f64>) {
    let platform = Arc::new(Platform::parse("test.toml", text).expect("a platform"));
    let topology = PlatformTopology::new(Arc::clone(&platform));
    let mut network = PacketNetwork::new(Arc::new(topology), PacketSettings::default());
    let mut fluid = Lab::new(text);
    let mut sources = Vec::new();
    for (from, to) in flows {
        let host = |name| platform.host_by_name(name).expect("a host").0;
        lab::send_many(&mut network, host(from), host(to), PACKETS);
        sources.push(u64::from(host(from)));
        fluid.send(from, to, (PACKETS * u64::from(WIRE)) as f64);
    }
    let mut packets = vec![0.0; flows.len()];
    for delivery in lab::run(&mut network) {
        let flow = sources.iter().position(|source| *source == delivery.tag);
        packets[flow.expect("a flow")] = delivery.at as f64 / WIRE_TIME as f64;
    }
    let mut flow_ends = vec![0.0; flows.len()];
    while let Some((end, numbers)) = fluid.next_end() {
        for number in numbers {
            let flow = usize::try_from(number).expect("a flow");
            flow_ends[flow] = end * 1e12 / WIRE_TIME as f64;
        }
    }
    (packets, flow_ends)
}

const CLUSTER: &str = "version = 1\n[clusters.nodes]\nhosts = \"n[0-8]\"\nspeed = \"1Gf\"\n\
                       bandwidth = \"100Gbps\"\nlatency = \"10ns\"\n";

/// Latencies are below one wire time.
const LATENCY: f64 = 1.0;

#[test]
fn a_shift_ends_at_the_same_time() {
    let names: Vec<String> = (0..9).map(|host| format!("n{host}")).collect();
    let flows: Vec<(&str, &str)> = (0..9)
        .map(|host| (names[host].as_str(), names[(host + 4) % 9].as_str()))
        .collect();
    let (packets, fluid) = ends(CLUSTER, &flows);
    for (packet, flow) in packets.iter().zip(&fluid) {
        assert!((0.0..LATENCY).contains(&(packet - flow)), "{packet} {flow}");
    }
}

#[test]
fn the_flows_of_an_incast_end_one_after_another_within_a_round() {
    let names: Vec<String> = (0..8).map(|host| format!("n{host}")).collect();
    let flows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "n8")).collect();
    let (packets, fluid) = ends(CLUSTER, &flows);
    let last = 8.0 * PACKETS as f64;
    for (number, (packet, flow)) in packets.iter().zip(&fluid).enumerate() {
        assert!((0.0..LATENCY).contains(&(flow - last)), "{flow}");
        let expected = last - 7.0 + number as f64;
        assert!(
            (0.0..LATENCY).contains(&(packet - expected)),
            "{packet} {expected}"
        );
    }
}

#[test]
fn a_parking_lot_differs_by_the_distance() {
    let mut text = String::from("version = 1\n");
    let links = |name: &str| {
        format!(
            "[links.{name}]\nbandwidth = \"100Gbps\"\nlatency = \"10ns\"\nsharing = \"split-duplex\"\n"
        )
    };
    for host in 0..4 {
        text += &format!("[hosts.h{host}]\nspeed = \"1Gf\"\n");
        text += &links(&format!("up{host}"));
        text += &links(&format!("next{host}"));
    }
    text += "[hosts.sink]\nspeed = \"1Gf\"\n";
    for host in 0..4 {
        let next: Vec<String> = (host..4).map(|at| format!("\"next{at}\"")).collect();
        text += &format!(
            "[[routes]]\nfrom = \"h{host}\"\nto = \"sink\"\nlinks = [\"up{host}\", {}]\n",
            next.join(", ")
        );
    }
    let flows = [
        ("h0", "sink"),
        ("h1", "sink"),
        ("h2", "sink"),
        ("h3", "sink"),
    ];
    let (packets, fluid) = ends(&text, &flows);
    let total = 4.0 * PACKETS as f64;
    // Max-min: a quarter each, all end together. Round robin per port: 1/8, 1/8, 1/4 and 1/2, so
    // the nearest has sent all after half of the time, and the next one after 3/4.
    for (flow, part) in fluid.iter().zip([1.0; 4]) {
        assert!((flow - part * total).abs() < 2.0, "{flow}");
    }
    for (packet, part) in packets.iter().zip([1.0, 1.0, 0.75, 0.5]) {
        assert!((packet - part * total).abs() < 12.0, "{packets:?}");
    }
}
