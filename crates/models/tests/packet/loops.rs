//! Credit loops: possible ones in the routes, and real ones at run time.

use std::sync::Arc;

use models::packet::{
    CreditDependencies, ListedTopology, OutboundPacket, PacketLinkId, PacketLinkSpec,
    PacketNetwork, PacketSettings, PacketStall, PlatformTopology, PossibleCreditLoop,
    assign_layers, possible_credit_loops, route_lanes,
};
use platform::Platform;
use sim_core::HostId;

use super::case::group;
use super::lab::{self, base_link, link_of, settings_of};

/// Returns a ring of switches in one direction with a host at each; host i sends to i + distance.
/// The link back to switch 0 is a dateline if `dateline`.
fn ring(size: u32, distance: u32, spec: PacketLinkSpec, dateline: bool) -> ListedTopology {
    let mut links = ListedTopology::new();
    let around: Vec<PacketLinkId> = (0..size)
        .map(|switch| {
            let next = (switch + 1) % size;
            let dateline = dateline && next == 0;
            let spec = PacketLinkSpec { dateline, ..spec };
            links.add_link(format!("ring {switch}-{next}"), spec)
        })
        .collect();
    let pairs: Vec<(PacketLinkId, PacketLinkId)> = (0..size)
        .map(|host| {
            let up = links.add_link(format!("up {host}"), spec);
            (up, links.add_link(format!("down {host}"), spec))
        })
        .collect();
    for host in 0..size {
        let target = (host + distance) % size;
        let mut route = vec![pairs[host as usize].0];
        route.extend((0..distance).map(|step| around[((host + step) % size) as usize]));
        route.push(pairs[target as usize].1);
        links.add_route(HostId(host), HostId(target), &route);
    }
    links
}

/// Returns the possible loops of all routes of a topology, at a service level each.
fn possible_loops(
    links: &ListedTopology,
    settings: &PacketSettings,
    level: &dyn Fn(HostId, HostId) -> u8,
) -> Vec<PossibleCreditLoop> {
    let mut dependencies = CreditDependencies::new();
    for (from, to, _) in links.routes() {
        let lanes = route_lanes(links, settings, (from, to), 0, level(from, to));
        dependencies.add_route((from, to), &lanes.expect("a route"));
    }
    dependencies.loops()
}

#[test]
fn credit_loop() {
    for case in group("credit_loop") {
        let (size, distance) = (case.small("ring"), case.small("distance"));
        let lanes = case.int("dateline_vls");
        let packets = case.int("packets_per_host");
        let mut settings = settings_of(&case);
        settings.data_vls = u8::try_from(lanes).expect(&case.id);
        let topology = ring(size, distance, link_of(&case), lanes > 1);
        let loops = possible_loops(&topology, &settings, &|_, _| 0);
        assert_eq!(loops.is_empty(), lanes > 1, "{}", case.id);
        let mut network = lab::network(topology, settings);
        for host in 0..size {
            lab::send_many(&mut network, host, (host + distance) % size, packets);
        }
        let deliveries = lab::run(&mut network);
        let is_complete = deliveries.len() as u64 == u64::from(size) * packets;
        assert_eq!(is_complete, network.packets_inside() == 0);
        assert_eq!(is_complete, network.stall().is_none(), "{}", case.id);
        match case.quantity.as_str() {
            "outcome" => case.check_outcome(if is_complete { "complete" } else { "deadlock" }),
            "packets_delivered" => case.check_exact(deliveries.len() as u64),
            "cycle_length_buffers" => case.check_exact(cycle(&network).len() as u64),
            "finish_lower_bound" => {
                let end = deliveries.last().expect("a delivery").at;
                assert!(end as f64 >= case.expected(), "{}: {end}", case.id);
            }
            other => panic!("{}: unknown quantity {other:?}", case.id),
        }
    }
}

/// Returns the names of the buffers of a deadlock.
fn cycle(network: &PacketNetwork) -> Vec<String> {
    let Some(PacketStall::CreditLoop { cycle, .. }) = network.stall() else {
        panic!("expected a credit loop, found {:?}", network.stall());
    };
    let name = |link| network.topology().link_name(link);
    cycle.iter().map(|member| name(member.buffer.0)).collect()
}

#[test]
fn a_deadlock_names_its_buffers_and_dates() {
    let settings = PacketSettings {
        buffer_blocks: 65,
        ..PacketSettings::default()
    };
    let mut network = lab::network(ring(4, 2, base_link(), false), settings);
    for host in 0..4 {
        lab::send_many(&mut network, host, (host + 2) % 4, 3);
    }
    assert_eq!(lab::run(&mut network), []);
    assert_eq!(
        cycle(&network),
        ["ring 0-1", "ring 1-2", "ring 2-3", "ring 3-0"]
    );
    let Some(PacketStall::CreditLoop {
        cycle,
        last_move,
        formed_at,
    }) = network.stall()
    else {
        panic!("checked above");
    };
    assert_eq!((*last_move, *formed_at), (110_000, 220_000));
    let flows: Vec<(u64, u32)> = cycle
        .iter()
        .map(|end| (end.tag, end.destination.0))
        .collect();
    assert_eq!(flows, [(0, 2), (1, 3), (2, 0), (3, 1)]);
}

#[test]
fn buffers_of_two_packets_complete_although_a_loop_is_possible() {
    for buffer_blocks in [130, 260, 520] {
        let settings = PacketSettings {
            buffer_blocks,
            ..PacketSettings::default()
        };
        let topology = ring(4, 2, base_link(), false);
        assert_eq!(possible_loops(&topology, &settings, &|_, _| 0).len(), 1);
        let mut network = lab::network(topology, settings);
        for host in 0..4 {
            lab::send_many(&mut network, host, (host + 2) % 4, 1000);
        }
        assert_eq!(lab::run(&mut network).len(), 4000);
        assert_eq!(network.stall(), None);
    }
}

#[test]
fn a_deadlock_is_found_while_others_go_on() {
    let blocked = || {
        let mut links = ring(4, 2, base_link(), false);
        let (up, down) = (
            links.add_link("a", base_link()),
            links.add_link("b", base_link()),
        );
        links.add_route(HostId(10), HostId(11), &[up, down]);
        let settings = PacketSettings {
            buffer_blocks: 65,
            ..PacketSettings::default()
        };
        let mut network = lab::network(links, settings);
        for host in 0..4 {
            lab::send_many(&mut network, host, (host + 2) % 4, 3);
        }
        lab::send_many(&mut network, 10, 11, 1000);
        network
    };
    let mut network = blocked();
    let mut found_after = 0;
    lab::run_until(&mut network, &mut |_| {
        found_after += 1;
        true
    });
    assert_eq!((found_after, network.packets_inside()), (1000, 12));
    // The periodic look is part of the same run, 100 µs after the ports were blocked.
    let mut network = blocked();
    network.handle_events(205_000_000);
    assert_eq!(cycle(&network).len(), 4);
    assert!(network.packets_inside() > 12);
}

#[test]
fn a_warning_names_links_lanes_and_hosts() {
    let topology = ring(4, 2, base_link(), false);
    let loops = possible_loops(&topology, &PacketSettings::default(), &|_, _| 0);
    let text = loops[0].describe(&topology);
    assert_eq!(
        text,
        "possible credit loop of 4 buffers:\n  \
         ring 0-1 VL 0, used before the next one from host 0 to host 2\n  \
         ring 1-2 VL 0, used before the next one from host 1 to host 3\n  \
         ring 2-3 VL 0, used before the next one from host 2 to host 0\n  \
         ring 3-0 VL 0, used before the next one from host 3 to host 1"
    );
}

#[test]
fn other_reasons_are_no_deadlocks() {
    let settings = PacketSettings {
        buffer_blocks: 64,
        ..PacketSettings::default()
    };
    let mut network = lab::network(lab::line(&[base_link(); 2]), settings);
    lab::send_many(&mut network, 0, 1, 1);
    lab::run(&mut network);
    let expected = PacketStall::BufferTooSmall {
        buffer: (PacketLinkId(0), 0),
        buffer_blocks: 64,
        packet_blocks: 65,
    };
    assert_eq!(network.stall(), Some(&expected));

    let mut network = lab::network(lab::line(&[base_link(); 2]), PacketSettings::default());
    network.hold_sink(HostId(1));
    lab::send_many(&mut network, 0, 1, 20);
    assert_eq!(lab::run(&mut network), []);
    assert_eq!(
        network.stall(),
        Some(&PacketStall::StalledSink { host: HostId(1) })
    );
    network.release_sink(1_000_000_000, HostId(1));
    assert_eq!(network.packets_inside(), 13);
    while let Some(time) = network.next_event_at() {
        network.handle_events(time);
    }
    assert_eq!(network.packets_inside(), 0);
}

/// Returns a torus of 4 × 4 switches with a host at each, shortest routes in dimension order, and
/// for each pair of hosts the dimensions in which the route crosses the dateline.
fn torus(own_tables: bool) -> (ListedTopology, Vec<Vec<u8>>) {
    let mut links = ListedTopology::new();
    let at = |x: u32, y: u32| y % 4 * 4 + x % 4;
    let mut around = Vec::new();
    for host in 0..16 {
        for direction in ["+x", "-x", "+y", "-y"] {
            around.push(links.add_link(format!("{host}{direction}"), base_link()));
        }
    }
    let mut crossed = Vec::new();
    let mut routes = Vec::new();
    for from in 0..16_u32 {
        for to in 0..16_u32 {
            let (mut x, mut y) = (from % 4, from / 4);
            let (mut route, mut datelines) = (Vec::new(), Vec::new());
            for dimension in [0_u8, 1] {
                let (size, goal) = (4, if dimension == 0 { to % 4 } else { to / 4 });
                loop {
                    let here = if dimension == 0 { x } else { y };
                    let ahead = (goal + size - here) % size;
                    if ahead == 0 {
                        break;
                    }
                    let forward = ahead <= size / 2;
                    let link = at(x, y) * 4 + u32::from(dimension) * 2 + u32::from(!forward);
                    let next = (here + if forward { 1 } else { size - 1 }) % size;
                    if next == if forward { 0 } else { size - 1 } {
                        datelines.push(dimension);
                    }
                    route.push(around[link as usize]);
                    (x, y) = if dimension == 0 { (next, y) } else { (x, next) };
                }
            }
            crossed.push(datelines);
            routes.push((from, to, route));
        }
    }
    for (from, to, route) in &routes {
        links.add_route(HostId(*from), HostId(*to), route);
        if own_tables {
            let mut input = None;
            for link in route {
                let dimension = u8::try_from(link.0 % 4 / 2).expect("two dimensions");
                // The lane is the bit of the dimension in the service level (OpenSM, torus-2QoS).
                let lanes = std::array::from_fn(|level| u8::from(level >> dimension & 1 == 1));
                links.set_sl_to_vl(input, *link, lanes);
                input = Some(*link);
            }
        }
    }
    (links, crossed)
}

#[test]
fn two_lanes_remove_the_loops_of_a_torus() {
    let settings = PacketSettings {
        data_vls: 2,
        ..PacketSettings::default()
    };
    let (links, crossed) = torus(false);
    // A ring in each of 4 rows and 4 columns, forwards; backwards no route has two links in a row.
    let loops = possible_loops(&links, &settings, &|_, _| 0);
    assert_eq!(loops.len(), 8);
    assert!(loops.iter().all(|found| found.members.len() == 4));
    let (links, _) = torus(true);
    let level = |from: HostId, to: HostId| {
        let dimensions = &crossed[(from.0 * 16 + to.0) as usize];
        dimensions.iter().fold(0, |level, bit| level | 1 << bit)
    };
    assert_eq!(possible_loops(&links, &settings, &level), []);
    // And with small buffers all packets arrive.
    let settings = PacketSettings {
        buffer_blocks: 65,
        ..settings
    };
    let run = |links: &ListedTopology, level: &dyn Fn(HostId, HostId) -> u8| {
        let mut network = lab::network(links.clone(), settings.clone());
        for (from, to, _) in links.routes().filter(|(from, to, _)| from != to) {
            for _ in 0..4 {
                let service_level = level(from, to);
                let packet = OutboundPacket {
                    service_level,
                    ..lab::packet(to.0, 0)
                };
                network.send(0, from, packet).expect("a route");
            }
        }
        lab::run(&mut network).len()
    };
    assert_eq!(run(&links, &level), 4 * 16 * 15);
}

#[test]
fn layers_remove_all_loops() {
    let (links, _) = torus(false);
    let routes: Vec<_> = links
        .routes()
        .map(|(from, to, route)| ((from, to), route.to_vec()))
        .collect();
    let layers = assign_layers(&routes, 4).expect("4 layers suffice");
    let settings = PacketSettings {
        data_vls: 4,
        ..PacketSettings::default()
    };
    let level = |from: HostId, to: HostId| {
        let at = routes.iter().position(|(hosts, _)| *hosts == (from, to));
        layers[at.expect("a route")]
    };
    assert_eq!(possible_loops(&links, &settings, &level), []);
    let error = assign_layers(&routes, 1).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("closes a cycle in each of 1 layers")
    );
}

#[test]
fn routes_of_a_platforms_fat_tree_have_no_loop_and_those_of_a_torus_do() {
    let loops = |topology: &str| {
        let text = format!(
            "version = 1\n[clusters.nodes]\nhosts = \"n[0-15]\"\nspeed = \"1Gf\"\n\
             bandwidth = \"100Gbps\"\nlatency = \"10ns\"\n{topology}\n"
        );
        let platform = Platform::parse("test.toml", &text).expect("a platform");
        let topology = PlatformTopology::new(Arc::new(platform));
        let settings = PacketSettings::default();
        let hosts: Vec<HostId> = (0..16).map(HostId).collect();
        let loops = possible_credit_loops(&topology, &settings, &hosts, &[0]);
        loops.expect("routes").len()
    };
    assert_eq!(
        loops("topology = \"fat-tree\"\ndown = [2, 2, 4]\nup = [1, 2, 2]"),
        0
    );
    assert_eq!(loops("topology = \"crossbar\""), 0);
    assert!(loops("topology = \"torus\"\ndimensions = [16]") > 0);
}
