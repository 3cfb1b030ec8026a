//! Traffic on which the packet network and the flow model are compared.

use models::packet::PacketSettings;
use sim_core::Stream;

use crate::pattern;
use crate::run::Flow;

/// Packets of a flow: 1 MiB, unless a scenario says otherwise.
pub(crate) const PACKETS: u32 = 256;

/// Hosts of the fat tree.
const TREE_HOSTS: u32 = 128;

/// Traffic on a platform.
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// The platform file.
    pub(crate) platform: String,
    pub(crate) flows: Vec<Flow>,
    pub(crate) settings: PacketSettings,
    /// The flow that is looked at; all of them if there is none.
    pub(crate) victim: Option<usize>,
}

impl Scenario {
    fn new(name: &str, platform: String, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let flow = |(from, to)| Flow {
            from,
            to,
            packets: PACKETS,
            service_level: 0,
        };
        Self {
            name: name.to_owned(),
            platform,
            flows: pairs.into_iter().map(flow).collect(),
            settings: PacketSettings::default(),
            victim: None,
        }
    }

    pub(crate) fn with_packets(mut self, packets: u32) -> Self {
        for flow in &mut self.flows {
            flow.packets = packets;
        }
        self
    }
}

/// Hosts on one switch.
fn star(hosts: u32) -> String {
    format!(
        "version = 1\n[clusters.nodes]\nhosts = \"n[0-{}]\"\nspeed = \"1Gf\"\n\
         bandwidth = \"100Gbps\"\nlatency = \"10ns\"\n",
        hosts - 1
    )
}

/// A tree of two levels: 16 switches with 8 hosts, and `up` switches above them. 8 are a full
/// bisection, 4 half of one.
fn tree(up: u32) -> String {
    format!(
        "version = 1\n[clusters.nodes]\nhosts = \"n[0-{}]\"\ntopology = \"fat-tree\"\n\
         down = [8, 16]\nup = [1, {up}]\nspeed = \"1Gf\"\nbandwidth = \"100Gbps\"\n\
         latency = \"10ns\"\n",
        TREE_HOSTS - 1
    )
}

/// `senders` hosts send to one, on one switch.
pub(crate) fn incast(senders: u32, packets: u32) -> Scenario {
    let pairs = (1..=senders).map(|from| (from, 0));
    Scenario::new(&format!("incast of {senders}"), star(senders + 1), pairs).with_packets(packets)
}

/// Each host sends to the one half of the tree away: no two flows share a link.
pub(crate) fn shift() -> Scenario {
    let shift = (0..TREE_HOSTS).map(|host| (host, (host + TREE_HOSTS / 2) % TREE_HOSTS));
    Scenario::new("shift by half of 128", tree(8), shift)
}

/// A random permutation on a tree.
pub(crate) fn permutation(up: u32, seed: u64) -> Scenario {
    let mut targets: Vec<u32> = (0..TREE_HOSTS).collect();
    Stream::new(seed, "permutation").shuffle(&mut targets);
    let pairs = (0..TREE_HOSTS).zip(targets).filter(|(from, to)| from != to);
    let name = if up == 8 {
        format!("permutation {seed}")
    } else {
        format!("permutation {seed}, half bisection")
    };
    Scenario::new(&name, tree(up), pairs)
}

/// Each of 64 hosts sends 32 KiB to each other one, all at once; a host takes turns among them.
pub(crate) fn alltoall_scenario() -> Scenario {
    let pairs = (0..64).flat_map(|from| (1..64).map(move |step| (from, (from + step) % 64)));
    Scenario::new("alltoall of 64, 32 KiB each", tree(8), pairs).with_packets(8)
}

/// Each host sends to a random other one, so some receive from several.
pub(crate) fn uniform(seed: u64) -> Scenario {
    let mut stream = Stream::new(seed, "uniform");
    let mut other = |from| {
        let step = 1 + stream.below(u64::from(TREE_HOSTS) - 1);
        (from + u32::try_from(step).expect("a host")) % TREE_HOSTS
    };
    let pairs: Vec<(u32, u32)> = (0..TREE_HOSTS).map(|from| (from, other(from))).collect();
    Scenario::new(&format!("random destinations {seed}"), tree(8), pairs)
}

/// A host under each of 15 switches sends to host 0. Host 8, beside one of these hosts, is the only
/// sender to host 16; both leave their switch by the same link.
fn victim() -> Scenario {
    // Routes up are chosen by the destination, so hosts 0 and 16 have the same ones.
    let senders = (1..16).map(|switch| (8 * switch + 1, 0));
    let mut scenario = Scenario::new("victim of an incast", tree(8), senders);
    scenario.victim = Some(scenario.flows.len());
    scenario.flows.push(Flow {
        from: 8,
        to: 16,
        packets: PACKETS,
        service_level: 0,
    });
    scenario
}

/// Returns all scenarios of the table, in the order of the table.
pub(crate) fn all_scenarios() -> Vec<Scenario> {
    let mut all = vec![Scenario::new("one flow", star(2), [(0, 1)])];
    all.extend([2, 4, 8, 16, 32, 64].map(|senders| incast(senders, PACKETS)));
    all.push(shift());
    all.extend([8, 4].map(|up| permutation(up, 1)));
    all.extend((1..=3).map(uniform));
    all.push(alltoall_scenario());
    all.push(victim());
    let mut lanes = victim();
    lanes.name += ", another lane";
    lanes.settings.data_vls = 2;
    if let Some(victim) = lanes.victim {
        lanes.flows[victim].service_level = 1;
    }
    all.push(lanes);
    let mut pauses = victim();
    pauses.name += ", PFC";
    pauses.settings = pattern::pfc();
    all.push(pauses);
    all
}
