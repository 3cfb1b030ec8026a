//! Credits that become known late: at intervals, or by flow-control packets on the reverse link.

use std::sync::Arc;

use models::packet::{
    FlowControl, GraphTopology, LinkFaults, PacketDelivery, PacketLinkId, PacketNetwork,
    PacketSettings, PacketStatistics,
};
use sim_core::HostId;

use super::lab::{self, WIRE_TIME, base_link};

/// Returns three hosts at a switch: links 0 and 1 are the cable of host 0.
fn graph() -> GraphTopology {
    let mut graph = GraphTopology::new();
    let switch = graph.add_switch("switch", 1);
    for name in ["a", "b", "c"] {
        let host = graph.add_host(name);
        graph.add_cable(host, switch, base_link());
    }
    graph
}

/// Sends packets from host 0 to host 1, and from both others to host 0.
fn run(
    flow_control: FlowControl,
    buffer_blocks: u32,
    packets: (u64, u64),
    faults: &LinkFaults,
) -> (Vec<PacketDelivery>, PacketStatistics) {
    let settings = PacketSettings {
        flow_control,
        buffer_blocks,
        ..PacketSettings::default()
    };
    let mut network = PacketNetwork::new(Arc::new(graph()), settings);
    network
        .set_faults(PacketLinkId(0), faults.clone())
        .expect("valid faults");
    for (from, to, count) in [(0, 1, packets.0), (1, 0, packets.1), (2, 0, packets.1)] {
        for tag in 0..count {
            let packet = lab::packet(to, tag);
            network.send(0, HostId(from), packet).expect("a route");
        }
    }
    let deliveries = lab::run(&mut network);
    assert_eq!((network.packets_inside(), network.stall()), (0, None));
    (deliveries, network.statistics())
}

fn last(deliveries: &[PacketDelivery]) -> u64 {
    deliveries.last().expect("a delivery").at
}

const PACKETS: FlowControl = FlowControl::CreditPackets { min_interval_ps: 0 };

#[test]
fn late_credits_slow_a_link_only_if_the_buffer_is_small() {
    let none = LinkFaults::default();
    let end = |flow_control, buffer| last(&run(flow_control, buffer, (200, 0), &none).0);
    let at_interval = |min_interval_ps| FlowControl::CreditsAtIntervals { min_interval_ps };
    let full = 200 * WIRE_TIME + 2 * 10_000 + 100_000;
    assert_eq!(end(FlowControl::IdealCredits, 512), full);
    assert_eq!(end(at_interval(256_000), 512), full);
    // One packet per buffer: S + 2P + L per packet, and with an interval at least the interval.
    let one = WIRE_TIME + 2 * 10_000 + 100_000;
    assert_eq!(
        end(FlowControl::IdealCredits, 65),
        199 * one + WIRE_TIME + 120_000
    );
    assert_eq!(
        end(at_interval(256_000), 65),
        199 * one + WIRE_TIME + 120_000
    );
    let slow = end(at_interval(2 * one), 65);
    assert_eq!(slow, one + 198 * 2 * one + WIRE_TIME + 120_000);
}

#[test]
fn flow_control_packets_take_their_time_on_the_reverse_link() {
    let none = LinkFaults::default();
    let (deliveries, found) = run(PACKETS, 65, (200, 0), &none);
    // S + 2P + L, and 8 bytes at 80 ps on an idle reverse link.
    let one = WIRE_TIME + 2 * 10_000 + 100_000 + 640;
    let end = last(&deliveries);
    // The sender's own flow-control packets delay some of its data by 640 ps.
    assert!(
        (199 * one..=201 * (one + 640)).contains(&end),
        "{end} {one}"
    );
    assert!(found.credit_packets > 400, "{found:?}");
    // Against traffic a limit waits for the packet on the wire.
    let (deliveries, _) = run(PACKETS, 65, (200, 200), &none);
    let mut both = deliveries.iter().filter(|end| end.host == HostId(1));
    let busy = both.next_back().expect("a delivery").at;
    assert!(busy > end + 30 * WIRE_TIME, "{busy} {end}");
    // Large buffers hide all of it but the bandwidth.
    let (deliveries, _) = run(PACKETS, 512, (200, 200), &none);
    let full = 400 * WIRE_TIME + 120_000;
    assert!(
        last(&deliveries) < full + full / 100,
        "{}",
        last(&deliveries)
    );
}

#[test]
fn blocks_of_a_lost_packet_come_back_with_the_next_flow_control_packet() {
    let loss = LinkFaults {
        loss: 0.2,
        ..LinkFaults::default()
    };
    let (deliveries, found) = run(PACKETS, 65, (1000, 0), &loss);
    assert_eq!(deliveries.len() as u64 + found.lost, 1000);
    assert!((150..250).contains(&found.lost), "{}", found.lost);
    // The second packet waits for the limit after the first one was lost: the sender tells its
    // count after an interval, the receiver answers.
    let outages = vec![(1, 2)];
    let first = LinkFaults {
        outages,
        ..LinkFaults::default()
    };
    let interval = 5_000_000;
    let rarely = FlowControl::CreditPackets {
        min_interval_ps: interval,
    };
    let (deliveries, found) = run(rarely, 65, (2, 0), &first);
    assert_eq!((deliveries.len(), found.lost), (1, 1));
    // 8 bytes forth at the end of the packet, 8 bytes back, then the packet.
    let start = WIRE_TIME + 2 * (640 + 10_000);
    assert_eq!(last(&deliveries), start + WIRE_TIME + 120_000);
}
