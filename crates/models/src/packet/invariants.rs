//! Invariants of the engine on random networks, in all modes: no packet is lost, flows keep their
//! order, an idle network has all credits back, and packets that stay inside are a verified stall.

use std::collections::BTreeMap;
use std::sync::Arc;

use sim_core::{HostId, Stream};

use super::credit_loop::CreditDependencies;
use super::lane_choice::route_lanes;
use super::*;

struct Scenario {
    stream: Stream,
    seed: u64,
    /// Five switches in a ring with a host each, which send to the next but one.
    is_ring: bool,
    /// Up*/down* routing.
    is_up_down: bool,
}

impl Scenario {
    fn draw_below(&mut self, limit: u32) -> u32 {
        u32::try_from(self.stream.below(u64::from(limit))).expect("a small number")
    }

    fn chance(&mut self) -> bool {
        self.draw_below(2) == 0
    }

    /// Returns hosts at switches in a tree or ring, and a few more cables.
    fn graph(&mut self) -> (GraphTopology, u32) {
        let mut graph = GraphTopology::new();
        let mut switches = Vec::new();
        let is_ring = self.is_ring;
        for number in 0..if is_ring { 5 } else { 2 + self.draw_below(5) } {
            let switch = graph.add_switch(format!("s{number}"), self.draw_below(1000));
            if number > 0 {
                let other = if is_ring {
                    number - 1
                } else {
                    self.draw_below(number)
                };
                let spec = self.cable();
                graph.add_cable(switch, switches[other as usize], spec);
            }
            switches.push(switch);
        }
        let count = u32::try_from(switches.len()).expect("few");
        if is_ring {
            let spec = self.cable();
            graph.add_cable(switches[4], switches[0], spec);
        }
        for _ in 0..if is_ring { 0 } else { self.draw_below(4) } {
            let (a, b) = (self.draw_below(count), self.draw_below(count));
            if a != b {
                let spec = self.cable();
                graph.add_cable(switches[a as usize], switches[b as usize], spec);
            }
        }
        let hosts = if is_ring { 5 } else { 2 + self.draw_below(8) };
        for number in 0..hosts {
            let host = graph.add_host(format!("h{number}"));
            let (any, spec) = (self.draw_below(count), self.cable());
            let switch = if is_ring { number } else { any };
            graph.add_cable(host, switches[switch as usize], spec);
        }
        if self.is_up_down {
            graph.route_up_down(switches[0]);
        }
        (graph, hosts)
    }

    fn cable(&mut self) -> PacketLinkSpec {
        let rate = [20, 40, 80, 160][self.draw_below(4) as usize];
        let propagation = [0, 1_000, 10_000, 700_000][self.draw_below(4) as usize];
        let buffer = [65, 65, 66, 130, 512][self.draw_below(5) as usize];
        let latency = [0, 100_000, 3_000_000][self.draw_below(3) as usize];
        PacketLinkSpec {
            buffer_blocks: Some(buffer),
            switch_latency_ps: Some(latency),
            ..PacketLinkSpec::new(WireRate::from_ps_per_byte(rate), propagation)
        }
    }

    fn draw_settings(&mut self) -> PacketSettings {
        let min_interval_ps = u64::from(self.draw_below(3)) * 256_000;
        let flow_control = match self.draw_below(5) {
            0 => FlowControl::CreditsAtIntervals { min_interval_ps },
            1 => FlowControl::CreditPackets { min_interval_ps },
            2 => FlowControl::Pfc(PfcSettings {
                fixed_threshold: self.chance().then_some(10_000),
                headroom_bytes: 1 << 20,
                buffer_bytes: 64 << 20,
                ..PfcSettings::default()
            }),
            _ => FlowControl::IdealCredits,
        };
        let is_pfc = matches!(flow_control, FlowControl::Pfc(_));
        let data_vls = 1 + u8::try_from(self.draw_below(3)).expect("few");
        PacketSettings {
            data_vls,
            vl_arbitration: (self.draw_below(3) == 0).then(VlArbitrationTables::opensm),
            forwarding: if is_pfc || self.draw_below(4) == 0 {
                Forwarding::StoreAndForward
            } else {
                Forwarding::CutThrough
            },
            flow_control,
            virtual_output_queues: self.draw_below(4) > 0,
            ecn: self.chance().then(EcnThresholds::sigcomm15),
            adaptive_routing: self.draw_below(4) == 0,
            deadlock_check_ps: 5_000_000,
            seed: self.seed,
            ..PacketSettings::default()
        }
    }
}

/// Packets that were sent.
#[derive(Default)]
struct Sent {
    /// Source, destination and service level, by tag.
    flows: BTreeMap<u64, (u32, u32, u8)>,
    dependencies: CreditDependencies,
}

const PACKETS: u64 = 400;

/// Sends packets while the network runs.
fn send_all(scenario: &mut Scenario, hosts: u32, network: &mut PacketNetwork) -> Sent {
    let mut sent = Sent::default();
    let mut now = 0;
    for tag in 0..PACKETS {
        if scenario.draw_below(4) == 0 {
            now += u64::from(scenario.draw_below(400_000));
            network.handle_events(now);
        }
        let from = scenario.draw_below(hosts);
        let to = if scenario.is_ring {
            (from + 2) % hosts
        } else {
            (from + 1 + scenario.draw_below(hosts - 1)) % hosts
        };
        let service_level = u8::try_from(scenario.draw_below(4)).expect("few");
        let flow_hash = from * 64 + to;
        let packet = OutboundPacket {
            destination: HostId(to),
            wire_bytes: [34, 90, 1_054, 4_126][scenario.draw_below(4) as usize],
            service_level,
            flow_hash,
            tag,
        };
        network.send(now, HostId(from), packet).expect("a route");
        sent.flows.insert(tag, (from, to, service_level));
        let pair = (HostId(from), HostId(to));
        let (topology, settings) = (network.topology(), &network.settings);
        let lanes = route_lanes(topology, settings, pair, flow_hash, service_level);
        sent.dependencies.add_route(pair, &lanes.expect("a route"));
    }
    sent
}

/// Checks that packets reach their hosts, in the order of their flows unless that may change.
fn check_deliveries(network: &mut PacketNetwork, sent: &Sent, is_ordered: bool, seed: u64) {
    let mut last: BTreeMap<(u32, u32, u8), u64> = BTreeMap::new();
    while let Some(delivery) = network.poll_delivery() {
        let (from, to, level) = sent.flows[&delivery.tag];
        assert_eq!(delivery.host, HostId(to), "seed {seed}");
        let previous = last.insert((from, to, level), delivery.tag);
        let in_order = previous.is_none_or(|previous| previous < delivery.tag);
        assert!(in_order || !is_ordered, "seed {seed}: flow order");
    }
}

/// Runs a scenario and returns true if everything arrived.
fn run_scenario(seed: u64) -> bool {
    let mut scenario = Scenario {
        stream: Stream::new(seed, "packet network"),
        seed,
        is_ring: seed.is_multiple_of(4),
        is_up_down: seed % 12 > 7,
    };
    let (graph, hosts) = scenario.graph();
    let settings = scenario.draw_settings();
    let is_adaptive = settings.adaptive_routing;
    let mut network = PacketNetwork::new(Arc::new(graph), settings);
    let is_faulty = scenario.draw_below(4) == 0;
    if is_faulty {
        let link = PacketLinkId(scenario.draw_below(network.topology().link_id_end()));
        let faults = LinkFaults {
            loss: 0.2,
            duplication: 0.1,
            ..LinkFaults::default()
        };
        network.set_faults(link, faults).expect("valid faults");
    }
    let is_up_down = scenario.is_up_down;
    let sent = send_all(&mut scenario, hosts, &mut network);
    while let Some(time) = network.next_event_at() {
        network.handle_events(time);
    }
    let is_possible = is_adaptive || !sent.dependencies.loops().is_empty();
    assert!(
        !is_up_down || sent.dependencies.loops().is_empty(),
        "seed {seed}"
    );
    check_deliveries(&mut network, &sent, !is_adaptive && !is_faulty, seed);
    let found = network.statistics();
    assert_eq!((found.dropped, found.headroom_drops), (0, 0), "seed {seed}");
    let inside = u64::from(network.packets_inside());
    assert!(
        is_faulty || found.delivered + inside == PACKETS,
        "seed {seed}"
    );
    match network.stall() {
        None => assert_eq!(inside, 0, "seed {seed}"),
        Some(PacketStall::CreditLoop { .. }) => {
            assert!(inside > 0, "seed {seed}");
            assert!(
                is_possible,
                "seed {seed}: a loop that the routes do not have"
            );
        }
        Some(other) => panic!("seed {seed}: {other:?}"),
    }
    let has_credits = !matches!(network.settings.flow_control, FlowControl::Pfc(_));
    if inside == 0 && has_credits {
        check_credits(&mut network, seed);
    }
    inside == 0
}

/// Checks that every buffer is empty and that every sender has the credits of empty buffers.
fn check_credits(network: &mut PacketNetwork, seed: u64) {
    for port in &mut network.ports {
        port.absorb_credits(u64::MAX);
        assert!(port.waiting.is_empty());
        for lane in &port.lanes {
            assert_eq!(lane.credits, port.capacity, "seed {seed}: {:?}", port.link);
            assert_eq!(lane.queued_bytes, 0);
        }
    }
}

#[test]
fn random_networks_keep_their_invariants() {
    let complete = (0..400).filter(|seed| run_scenario(*seed)).count();
    // Both ends occur: complete runs and credit loops.
    assert!((200..400).contains(&complete), "{complete}");
}
