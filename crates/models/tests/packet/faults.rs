//! Faults of links: frequencies, independence of streams, credits after a loss.

use models::packet::{
    Forwarding, LinkFaults, ListedTopology, PacketDelivery, PacketLinkId, PacketNetwork,
    PacketSettings, PacketStatistics,
};
use sim_core::HostId;

use super::lab::{self, WIRE_TIME, base_link};

const UP: PacketLinkId = PacketLinkId(0);

/// Sends packets over a switch with these faults of the first link, or of others.
fn run(
    faults: &[(PacketLinkId, LinkFaults)],
    settings: PacketSettings,
    packets: u64,
) -> (Vec<PacketDelivery>, PacketStatistics) {
    let mut network = lab::network(lab::line(&[base_link(); 2]), settings);
    for (link, faults) in faults {
        network
            .set_faults(*link, faults.clone())
            .expect("valid faults");
    }
    send_numbered(&mut network, packets);
    let deliveries = lab::run(&mut network);
    assert_eq!((network.packets_inside(), network.stall()), (0, None));
    (deliveries, network.statistics())
}

fn send_numbered(network: &mut PacketNetwork, packets: u64) {
    for tag in 0..packets {
        network
            .send(0, HostId(0), lab::packet(1, tag))
            .expect("a route");
    }
}

fn tags(deliveries: &[PacketDelivery]) -> Vec<u64> {
    deliveries.iter().map(|end| end.tag).collect()
}

#[test]
fn losses_have_their_frequency_and_give_credits_back() {
    let loss = LinkFaults {
        loss: 0.1,
        ..LinkFaults::default()
    };
    // One packet per buffer: each lost credit would stop the link.
    let settings = PacketSettings {
        buffer_blocks: 65,
        ..PacketSettings::default()
    };
    let (deliveries, found) = run(&[(UP, loss)], settings, 10_000);
    assert_eq!(deliveries.len() as u64 + found.lost, 10_000);
    assert!((900..1100).contains(&found.lost), "{}", found.lost);
}

#[test]
fn a_link_draws_from_its_own_stream() {
    let loss = LinkFaults {
        loss: 0.1,
        ..LinkFaults::default()
    };
    let (alone, _) = run(&[(UP, loss.clone())], PacketSettings::default(), 1000);
    // More links and more faults leave the losses of this link alone.
    let mut links = ListedTopology::new();
    let (up, down) = (
        links.add_link("up", base_link()),
        links.add_link("down", base_link()),
    );
    let other = links.add_link("other", base_link());
    links.add_route(HostId(0), HostId(1), &[up, down]);
    links.add_route(HostId(2), HostId(1), &[other, down]);
    let mut network = lab::network(links, PacketSettings::default());
    let more = LinkFaults {
        duplication: 0.2,
        bit_error_rate: 1e-6,
        ..loss.clone()
    };
    network.set_faults(up, more).expect("valid faults");
    network.set_faults(other, loss).expect("valid faults");
    send_numbered(&mut network, 1000);
    for _ in 0..100 {
        network
            .send(0, HostId(2), lab::packet(1, 5000))
            .expect("a route");
    }
    let mut both = tags(&lab::run(&mut network));
    both.retain(|tag| *tag < 1000);
    both.dedup();
    both.sort_unstable();
    both.dedup();
    assert_eq!(both, tags(&alone));
}

#[test]
fn bit_errors_corrupt_by_length() {
    // 33 008 bits at 1e-5: 28.1 % of the packets.
    let errors = LinkFaults {
        bit_error_rate: 1e-5,
        ..LinkFaults::default()
    };
    let faults = [(UP, errors)];
    let (deliveries, _) = run(&faults, PacketSettings::default(), 10_000);
    let corrupted = deliveries.iter().filter(|end| end.corrupted).count();
    assert!((2_700..2_920).contains(&corrupted), "{corrupted}");
    // A switch that stores packets drops them.
    let forwarding = Forwarding::StoreAndForward;
    let settings = PacketSettings {
        forwarding,
        ..PacketSettings::default()
    };
    let (deliveries, found) = run(&faults, settings, 10_000);
    assert_eq!(found.dropped, corrupted as u64);
    assert!(deliveries.iter().all(|end| !end.corrupted));
}

#[test]
fn copies_come_a_wire_time_later_and_take_no_credits() {
    let twice = LinkFaults {
        duplication: 1.0,
        ..LinkFaults::default()
    };
    let settings = PacketSettings {
        buffer_blocks: 65,
        ..PacketSettings::default()
    };
    let (deliveries, _) = run(&[(PacketLinkId(1), twice.clone())], settings.clone(), 2);
    assert_eq!(tags(&deliveries).len(), 4);
    assert_eq!(deliveries[1].at - deliveries[0].at, WIRE_TIME);
    assert_eq!((deliveries[0].tag, deliveries[1].tag), (0, 0));
    // Copies before a switch take part in everything behind it.
    let (deliveries, found) = run(&[(UP, twice)], settings, 100);
    assert_eq!((deliveries.len(), found.hops), (200, 300));
}

#[test]
fn delayed_packets_are_overtaken() {
    let late = LinkFaults {
        reordering: 0.5,
        reordering_delay_ps: 5 * WIRE_TIME,
        ..LinkFaults::default()
    };
    let (deliveries, _) = run(&[(UP, late)], PacketSettings::default(), 100);
    let mut order = tags(&deliveries);
    assert!(!order.is_sorted());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<u64>>());
}

#[test]
fn an_outage_loses_the_packets_on_the_wire_and_delays_the_rest() {
    // The third packet is on the wire when the link goes down.
    let outages = vec![(2 * WIRE_TIME + 50_000, 10 * WIRE_TIME)];
    let flap = LinkFaults {
        outages,
        ..LinkFaults::default()
    };
    let (deliveries, found) = run(&[(UP, flap)], PacketSettings::default(), 5);
    assert_eq!(tags(&deliveries), [0, 1, 3, 4]);
    assert_eq!(found.lost, 1);
    assert_eq!(
        deliveries[2].at,
        10 * WIRE_TIME + WIRE_TIME + 2 * 10_000 + 100_000
    );
}

#[test]
fn faults_out_of_range_are_refused() {
    let mut network = lab::network(lab::line(&[base_link(); 2]), PacketSettings::default());
    let mut refused = |faults: LinkFaults| {
        let error = network.set_faults(UP, faults).unwrap_err();
        error.to_string()
    };
    let loss = LinkFaults {
        loss: 1.5,
        ..LinkFaults::default()
    };
    assert_eq!(refused(loss), "loss = 1.5: expected a probability, 0 to 1");
    let outages = vec![(5, 10), (7, 12)];
    let overlap = LinkFaults {
        outages,
        ..LinkFaults::default()
    };
    assert_eq!(
        refused(overlap),
        "outage from 7 ps to 12 ps: expected a later end, and a start at or after 10 ps"
    );
}
