//! Virtual lanes: service levels, arbitration tables, and flows that suffer from others.

use models::packet::{
    ListedTopology, NO_VL, OutboundPacket, PacketNetwork, PacketSendError, PacketSettings,
    VlArbitrationEntry, VlArbitrationTables,
};
use sim_core::HostId;

use super::case::group;
use super::lab::{self, WIRE_TIME, base_link, link_of, settings_of};

fn send_level(network: &mut PacketNetwork, from: u32, to: u32, service_level: u8, count: u64) {
    for _ in 0..count {
        let packet = OutboundPacket {
            service_level,
            ..lab::packet(to, u64::from(from))
        };
        network.send(0, HostId(from), packet).expect("a route");
    }
}

/// Returns the sources of the first deliveries when lane `i` has packets of host `i`.
fn order(hosts: u32, tables: VlArbitrationTables, count: usize) -> Vec<u64> {
    let settings = PacketSettings {
        data_vls: u8::try_from(hosts).expect("few"),
        vl_arbitration: Some(tables),
        ..PacketSettings::default()
    };
    let mut network = lab::network(lab::star(hosts, base_link()), settings);
    for host in 0..hosts {
        send_level(
            &mut network,
            host,
            hosts,
            u8::try_from(host).expect("few"),
            100,
        );
    }
    let mut sources: Vec<u64> = lab::run(&mut network).iter().map(|end| end.tag).collect();
    // The first packets come before the others have arrived.
    sources.drain(..2 * hosts as usize);
    sources.truncate(count);
    sources
}

fn entries(weights: &[u8]) -> Vec<VlArbitrationEntry> {
    let entry = |(vl, &weight)| VlArbitrationEntry { vl, weight };
    (0..).zip(weights).map(entry).collect()
}

fn counts(sources: &[u64], hosts: u64) -> Vec<usize> {
    let count = |host| sources.iter().filter(|source| **source == host).count();
    (0..hosts).map(count).collect()
}

#[test]
fn weights_in_whole_packets_are_shares() {
    for (weights, shares) in [([65, 130, 195], [1, 2, 3]), ([4, 8, 12], [2, 2, 2])] {
        let tables = VlArbitrationTables {
            high: Vec::new(),
            low: entries(&weights),
            high_limit: 0,
        };
        let sources = order(3, tables, 12);
        for six in sources.windows(6) {
            assert_eq!(counts(six, 3), shares, "{weights:?}: {sources:?}");
        }
    }
}

#[test]
fn the_high_limit_gives_the_low_table_a_chance() {
    let with_limit = |high_limit| {
        let tables = VlArbitrationTables {
            high: entries(&[64]),
            low: entries(&[0, 64]),
            high_limit,
        };
        counts(&order(2, tables, 60), 2)
    };
    // One packet each; 4096 bytes are used up by one packet, 8192 by two.
    assert_eq!(with_limit(0), [30, 30]);
    assert_eq!(with_limit(1), [30, 30]);
    assert_eq!(with_limit(2), [40, 20]);
    assert_eq!(with_limit(255), [60, 0]);
}

#[test]
fn the_tables_of_opensm_serve_every_lane() {
    let sources = order(3, VlArbitrationTables::opensm(), 12);
    assert_eq!(counts(&sources, 3), [6, 3, 3]);
}

#[test]
fn service_levels_select_lanes_by_input_and_output() {
    let mut links = ListedTopology::new();
    let (up, down) = (
        links.add_link("up", base_link()),
        links.add_link("down", base_link()),
    );
    links.add_route(HostId(0), HostId(1), &[up, down]);
    let mut table = [0; 16];
    table[3] = NO_VL;
    links.set_sl_to_vl(Some(up), down, table);
    let mut network = lab::network(links.clone(), PacketSettings::default());
    send_level(&mut network, 0, 1, 3, 1);
    send_level(&mut network, 0, 1, 2, 1);
    assert_eq!(lab::run(&mut network).len(), 1);
    assert_eq!(network.statistics().dropped, 1);
    // On the first link the sender is told.
    links.set_sl_to_vl(None, up, table);
    let mut network = lab::network(links, PacketSettings::default());
    let packet = OutboundPacket {
        service_level: 3,
        ..lab::packet(1, 0)
    };
    let error = network.send(0, HostId(0), packet).unwrap_err();
    assert!(matches!(
        error,
        PacketSendError::NoVirtualLane {
            service_level: 3,
            vl: 15,
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "service level 3 has virtual lane 15: expected one below 1, the number of data lanes"
    );
}

#[test]
fn one_queue_per_input_blocks_packets_behind_its_head() {
    // Host 0 sends to a hot output, which two others fill, and to an idle one, in turns.
    let end_of_idle = |virtual_output_queues| {
        let mut links = ListedTopology::new();
        let (hot, idle) = (
            links.add_link("hot", base_link()),
            links.add_link("idle", base_link()),
        );
        for host in 0..3 {
            let up = links.add_link(format!("up {host}"), base_link());
            links.add_route(HostId(host), HostId(10), &[up, hot]);
            links.add_route(HostId(host), HostId(11), &[up, idle]);
        }
        let settings = PacketSettings {
            virtual_output_queues,
            ..PacketSettings::default()
        };
        let mut network = lab::network(links, settings);
        lab::send_many(&mut network, 1, 10, 100);
        lab::send_many(&mut network, 2, 10, 100);
        for _ in 0..3 {
            lab::send_many(&mut network, 0, 10, 1);
            lab::send_many(&mut network, 0, 11, 1);
        }
        let deliveries = lab::run(&mut network);
        assert_eq!(deliveries.len(), 206);
        let mut idle = deliveries.iter().filter(|end| end.host == HostId(11));
        idle.next_back().expect("a delivery").at
    };
    // The sixth packet of host 0 leaves at once, whatever waits for the hot output.
    assert_eq!(end_of_idle(true), 6 * WIRE_TIME + 120_000);
    // In one queue: the hot packets leave at 0, 3 and 6 wire times, in turns with the others, each
    // idle one after the hot one before it.
    assert_eq!(end_of_idle(false), 8 * WIRE_TIME + 120_000);
}

#[test]
fn victim() {
    for case in group("victim") {
        let inputs = case.small("inputs_of_hot_port");
        let own_lane = case.int("victim_on_own_vl") == 1;
        let mut settings = settings_of(&case);
        settings.data_vls = if own_lane { 2 } else { 1 };
        let spec = link_of(&case);
        let mut links = ListedTopology::new();
        let between = links.add_link("S1 to S2", spec);
        let (hot, idle) = (links.add_link("hot", spec), links.add_link("idle", spec));
        let (sink, other_sink, aggressor, victim) = (100, 101, 0, 50);
        for (host, to, down) in [(aggressor, sink, hot), (victim, other_sink, idle)] {
            let up = links.add_link(format!("up {host}"), spec);
            links.add_route(HostId(host), HostId(to), &[up, between, down]);
        }
        for host in 1..inputs {
            let up = links.add_link(format!("up {host}"), spec);
            links.add_route(HostId(host), HostId(sink), &[up, hot]);
        }
        let mut network = lab::network(links, settings);
        let packets = 20_000;
        for host in 0..inputs {
            send_level(&mut network, host, sink, 0, packets);
        }
        send_level(
            &mut network,
            victim,
            other_sink,
            u8::from(own_lane),
            packets,
        );
        // A window of whole packet times, after the buffers have filled.
        let begin = 1_000 * WIRE_TIME;
        let window = 16 * 1_000 * WIRE_TIME;
        let mut count = 0;
        lab::run_until(&mut network, &mut |delivery| {
            let is_inside = (begin..begin + window).contains(&delivery.at);
            count += u64::from(is_inside && delivery.tag == u64::from(victim));
            delivery.at < begin + window
        });
        case.check_relative((count * WIRE_TIME) as f64 / window as f64);
    }
}
