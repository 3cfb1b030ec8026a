//! Cases with a closed form: latency, credits, incast, parking lot, rates and overheads.

use models::packet::{
    Encapsulation, Forwarding, ListedTopology, OutboundPacket, PacketLinkId, PacketLinkSpec,
    PacketOverhead, PacketSettings, WireRate, credit_blocks,
};
use sim_core::HostId;

use super::case::{Case, group};
use super::lab::{self, WIRE, link_of, settings_of};

#[test]
fn latency() {
    for case in group("latency") {
        let switches = case.int("switches");
        let mut settings = settings_of(&case);
        settings.forwarding = match case.text("mode") {
            "vct" => Forwarding::CutThrough,
            "store_and_forward" => Forwarding::StoreAndForward,
            other => panic!("{}: unknown mode {other:?}", case.id),
        };
        assert_eq!(case.small("wire"), WIRE);
        let specs: Vec<PacketLinkSpec> = (0..=switches)
            .map(|number| match (case.has("ps_per_byte_in"), number) {
                (false, _) => link_of(&case),
                (true, 0) => with_rate(&case, "ps_per_byte_in"),
                (true, _) => with_rate(&case, "ps_per_byte_out"),
            })
            .collect();
        let mut network = lab::network(lab::line(&specs), settings);
        let count = if case.has("packets") {
            case.int("packets")
        } else {
            1
        };
        lab::send_many(&mut network, 0, 1, count);
        let deliveries = lab::run(&mut network);
        assert_eq!(deliveries.len() as u64, count);
        case.check_exact(deliveries.last().expect("a delivery").at);
    }
}

fn with_rate(case: &Case, name: &str) -> PacketLinkSpec {
    let rate = WireRate::from_ps_per_byte(case.int(name));
    PacketLinkSpec::new(rate, case.int("prop_ps"))
}

#[test]
fn credits() {
    for case in group("credit") {
        let (link, settings) = (link_of(&case), settings_of(&case));
        assert_eq!(
            credit_blocks(WIRE, settings.delimiter_bytes),
            case.small("blocks")
        );
        let packets = 20_000;
        let mut network = lab::network(lab::line(&[link, link]), settings);
        lab::send_many(&mut network, 0, 1, packets);
        let end = lab::run(&mut network).last().expect("a delivery").at;
        let payload = (packets * 4096 * 8) as f64;
        case.check_relative(payload / (end as f64 / 1e12) / 1e9);
    }
}

#[test]
fn incast() {
    for case in group("incast") {
        let senders = case.small("senders");
        let packets = case.int("bytes").div_ceil(4096);
        let star = lab::star(senders, link_of(&case));
        let mut network = lab::network(star, settings_of(&case));
        for host in 0..senders {
            lab::send_many(&mut network, host, senders, packets);
        }
        let mut finish = vec![0; senders as usize];
        for delivery in lab::run(&mut network) {
            finish[usize::try_from(delivery.tag).unwrap()] = delivery.at;
        }
        case.check_exact(match case.quantity.as_str() {
            "finish_last" => *finish.iter().max().unwrap(),
            "finish_first" => *finish.iter().min().unwrap(),
            other => panic!("{}: unknown quantity {other:?}", case.id),
        });
    }
}

#[test]
fn parking_lot() {
    for case in group("parking_lot") {
        let switches = case.small("switches");
        assert_eq!(case.small("sink_at_switch"), switches - 1);
        let mut network = lab::network(chain(switches, link_of(&case)), settings_of(&case));
        // Shares repeat after 2^(switches - 1) packets at the latest.
        let (skipped, counted) = (2_000, 32 * 300);
        for host in 0..switches {
            lab::send_many(&mut network, host, switches, (skipped + counted) * 2 / 3);
        }
        let (mut seen, mut own) = (0, 0);
        let host = case.int("host_at_switch");
        lab::run_until(&mut network, &mut |delivery| {
            seen += 1;
            own += u64::from(seen > skipped && delivery.tag == host);
            seen < skipped + counted
        });
        assert_eq!(seen, skipped + counted, "{}", case.id);
        case.check_relative(own as f64 / counted as f64);
    }
}

#[test]
fn a_lane_for_each_distance_makes_a_parking_lot_fair() {
    let switches = 4;
    let settings = PacketSettings {
        data_vls: 4,
        ..PacketSettings::default()
    };
    let mut network = lab::network(chain(switches, lab::base_link()), settings);
    for host in 0..switches {
        for _ in 0..500 {
            let packet = OutboundPacket {
                service_level: u8::try_from(host).expect("few"),
                ..lab::packet(switches, u64::from(host))
            };
            network.send(0, HostId(host), packet).expect("a route");
        }
    }
    let (mut counts, mut seen) = ([0; 4], 0);
    lab::run_until(&mut network, &mut |delivery| {
        seen += 1;
        if seen > 400 {
            counts[usize::try_from(delivery.tag).expect("a host")] += 1;
        }
        seen < 400 + 4 * 200
    });
    assert_eq!(counts, [200; 4]);
}

/// Returns a chain of switches with a host at each, and one more host behind the last.
fn chain(switches: u32, spec: PacketLinkSpec) -> ListedTopology {
    let mut links = ListedTopology::new();
    let between: Vec<PacketLinkId> = (1..switches)
        .map(|switch| links.add_link(format!("switch {}-{switch}", switch - 1), spec))
        .collect();
    let down = links.add_link("down", spec);
    for host in 0..switches {
        let up = links.add_link(format!("up {host}"), spec);
        let mut route = vec![up];
        route.extend_from_slice(&between[host as usize..]);
        route.push(down);
        links.add_route(HostId(host), HostId(switches), &route);
    }
    links
}

#[test]
fn overheads() {
    for case in group("overhead") {
        let (name, _) = case.id[4..].rsplit_once('-').expect("EFF-name-mtu");
        let (encapsulation, delimiter_bytes) = match name {
            "ib_lrh" => (Encapsulation::InfinibandLocal, 0),
            "ib_lrh_delim4" => (Encapsulation::InfinibandLocal, 4),
            "ib_grh" => (Encapsulation::InfinibandGlobal, 0),
            "rocev2_ipv4" => (Encapsulation::RoceV2Ipv4, 0),
            "rocev2_ipv6" => (Encapsulation::RoceV2Ipv6, 0),
            "rocev2_ipv4_vlan" => (Encapsulation::RoceV2Ipv4Vlan, 0),
            other => panic!("{}: unknown encapsulation {other:?}", case.id),
        };
        let overhead = PacketOverhead {
            encapsulation,
            delimiter_bytes,
        };
        assert_eq!(
            overhead.overhead_bytes(),
            case.small("overhead_bytes"),
            "{}",
            case.id
        );
        let mtu = case.small("mtu");
        case.check_relative(f64::from(mtu) / f64::from(overhead.wire_bytes(mtu)));
    }
}

#[test]
fn acknowledgements_and_short_frames() {
    let wire = |encapsulation| PacketOverhead::new(encapsulation).wire_bytes(4);
    assert_eq!(wire(Encapsulation::InfinibandLocal), 34);
    assert_eq!(wire(Encapsulation::InfinibandGlobal), 74);
    assert_eq!(wire(Encapsulation::RoceV2Ipv4), 86);
    assert_eq!(wire(Encapsulation::RoceV2Ipv6), 106);
    // A frame has at least 64 bytes; preamble and gap come on top.
    assert_eq!(
        PacketOverhead::new(Encapsulation::RoceV2Ipv4).wire_bytes(0),
        84
    );
    // Credits are whole blocks from LRH to VCRC.
    assert_eq!((credit_blocks(34, 4), credit_blocks(4126, 4)), (1, 65));
}

#[test]
fn one_buffer_of_the_mtu_alone_stops_a_link() {
    let settings = PacketSettings {
        buffer_blocks: 64,
        ..PacketSettings::default()
    };
    let mut network = lab::network(lab::line(&[lab::base_link(); 2]), settings);
    lab::send_many(&mut network, 0, 1, 1);
    assert_eq!(lab::run(&mut network), []);
    assert_eq!(network.packets_inside(), 1);
}
