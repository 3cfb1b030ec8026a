//! Reading of one cluster: which keys its topology needs, and which belong to another.

use toml::Spanned;
use toml::de::DeValue;

use super::field::cut;
use super::names::ClusterName;
use super::profile::profile;
use super::section::{Collector, Section};
use super::speeds::speeds;
use super::zone::{LINK_KEYS, link_entry};
use super::{ClusterEntry, LinkEntry, ProfileKind, Sharing, TopologyEntry};
use crate::topology::{Dragonfly, FatTree, Impossible, Torus};

const KEYS: [&str; 30] = [
    "topology",
    "hosts",
    "speed",
    "cores",
    "bandwidth",
    "latency",
    "sharing",
    "backbone",
    "loopback",
    "limiter",
    "to_itself",
    "gateway",
    "disks",
    "down",
    "up",
    "cables",
    "dimensions",
    "groups",
    "chassis",
    "routers",
    "nodes",
    "compat",
    "pstate",
    "speed_profile",
    "host_state_profile",
    "bandwidth_profile",
    "latency_profile",
    "link_state_profile",
    "host_overrides",
    "link_overrides",
];

/// The keys that belong to some topologies only, after the topology.
const OWN_KEYS: [(&str, &[&str]); 5] = [
    ("crossbar", &[]),
    ("backbone", &["backbone"]),
    ("fat-tree", &["down", "up", "cables", "compat"]),
    ("torus", &["dimensions"]),
    (
        "dragonfly",
        &["groups", "chassis", "routers", "nodes", "cables", "compat"],
    ),
];

/// Reads a cluster; what is known of it in spite of mistakes goes to `known`.
pub(super) fn cluster_entry(
    collector: &mut Collector,
    known: &mut ClusterName,
    value: &Spanned<DeValue<'_>>,
) -> Option<ClusterEntry> {
    let what = format!("cluster {:?}", cut(known.name.get_ref()));
    let section = collector.section(value, known.name.span(), what, &KEYS)?;
    known.hosts = collector.required(&section, "hosts", "\"node-[0-63]\"");
    let speed = speeds(collector, &section);
    let cores = collector.optional(&section, "cores");
    let link = link_entry(collector, &section, Sharing::SplitDuplex);
    let backbone = inner_link(collector, &section, "backbone", Sharing::Shared);
    let loopback = inner_link(collector, &section, "loopback", Sharing::FatPipe);
    let limiter = collector.optional(&section, "limiter");
    let to_itself = collector.optional(&section, "to_itself");
    let gateway = collector.optional(&section, "gateway");
    let disks = super::disk::disks(collector, &section);
    let host_overrides = super::single::host_overrides(collector, &section);
    let link_overrides = super::single::link_overrides(collector, &section);
    let mut profile = |key, kind| profile(collector, &section, key, kind);
    let speed_profile = profile("speed_profile", ProfileKind::Speed);
    let host_state_profile = profile("host_state_profile", ProfileKind::State);
    let link_state_profile = profile("link_state_profile", ProfileKind::State);
    known.topology = topology_entry(collector, &section);
    let topology = known.topology.clone()?;
    let hosts = known.hosts.clone()?;
    if let Err(impossible) = topology.possible(hosts.count()) {
        let place = ["topology", "hosts"]
            .iter()
            .find_map(|key| section.get(key));
        let span = place.map_or(section.span(), Spanned::span);
        collector.add(span, impossible.problem, impossible.expected, None);
        return None;
    }
    let (speed, pstate) = speed?;
    Some(ClusterEntry {
        topology,
        hosts,
        speed,
        pstate,
        cores: cores?.unwrap_or(1),
        link: link?,
        backbone: backbone?,
        loopback: loopback?,
        limiter: limiter?,
        to_itself: to_itself?.unwrap_or_default(),
        gateway: gateway?,
        speed_profile: speed_profile?,
        host_state_profile: host_state_profile?,
        link_state_profile: link_state_profile?,
        disks: disks?,
        host_overrides: host_overrides?,
        link_overrides: link_overrides?,
    })
}

impl TopologyEntry {
    /// Checks that the counts make a network of `hosts` hosts.
    ///
    /// # Errors
    /// [`Impossible`] if they do not.
    pub fn possible(&self, hosts: u32) -> Result<(), Impossible> {
        match self {
            Self::Crossbar | Self::Backbone => Ok(()),
            Self::FatTree {
                down, up, cables, ..
            } => FatTree::new(down, up, cables, hosts).map(|_| ()),
            Self::Torus { dimensions } => Torus::new(dimensions, hosts).map(|_| ()),
            Self::Dragonfly {
                groups,
                chassis,
                routers,
                nodes,
                cables,
                ..
            } => Dragonfly::new([*groups, *chassis, *routers, *nodes], *cables, hosts).map(|_| ()),
        }
    }
}

/// The word of the key `topology`; without it, a backbone if there is one.
fn topology_word(collector: &mut Collector, section: &Section<'_>) -> Option<&'static str> {
    let default = if section.get("backbone").is_some() {
        "backbone"
    } else {
        "crossbar"
    };
    let Some(value) = section.get("topology") else {
        return Some(default);
    };
    let words = OWN_KEYS.map(|(word, _)| word);
    let text: String = collector.value(value)?;
    let found = words.iter().find(|word| **word == text).copied();
    if found.is_none() {
        let list = words.map(|word| format!("{word:?}")).join(" or ");
        let help = collector.suggest(&text, words);
        let problem = format!("unknown topology {:?}", cut(&text));
        collector.add(value.span(), problem, format!("expected {list}"), help);
    }
    found
}

fn topology_entry(collector: &mut Collector, section: &Section<'_>) -> Option<TopologyEntry> {
    let word = topology_word(collector, section)?;
    let (_, own) = OWN_KEYS.iter().find(|(known, _)| *known == word)?;
    let mut foreign = false;
    for (other, keys) in &OWN_KEYS {
        for key in keys.iter().filter(|key| !own.contains(key)) {
            let first = OWN_KEYS.iter().find(|(_, keys)| keys.contains(key));
            let Some(key) = section
                .key(key)
                .filter(|_| first.is_some_and(|(word, _)| word == other))
            else {
                continue;
            };
            let problem = format!("the key {:?} belongs to another topology", key.get_ref());
            let expected = if own.is_empty() {
                format!("the topology {word:?} has no keys of its own")
            } else {
                format!("the topology {word:?} has the keys {}", own.join(", "))
            };
            let help = Some(format!("it belongs to topology = {other:?}"));
            collector.add(key.span(), problem, expected, help);
            foreign = true;
        }
    }
    let topology = with_counts(collector, section, word);
    topology.filter(|_| !foreign)
}

fn with_counts(
    collector: &mut Collector,
    section: &Section<'_>,
    word: &str,
) -> Option<TopologyEntry> {
    let compat = collector.optional(section, "compat");
    Some(match word {
        "backbone" => {
            collector.present(
                section,
                "backbone",
                "{ bandwidth = \"1Tbps\", latency = \"1us\" }",
            )?;
            TopologyEntry::Backbone
        }
        "fat-tree" => {
            let down = collector.required::<Vec<u32>>(section, "down", "[4, 4]");
            let up = collector.required::<Vec<u32>>(section, "up", "[1, 2]");
            let cables = collector.optional::<Vec<u32>>(section, "cables");
            let (down, up, cables) = (down?, up?, cables?);
            let cables = cables.unwrap_or_else(|| vec![1; down.len()]);
            TopologyEntry::FatTree {
                down,
                up,
                cables,
                compat: compat?,
            }
        }
        "torus" => TopologyEntry::Torus {
            dimensions: collector.required(section, "dimensions", "[4, 4, 2]")?,
        },
        "dragonfly" => {
            let groups = collector.required(section, "groups", "4");
            let chassis = collector.required(section, "chassis", "2");
            let routers = collector.required(section, "routers", "4");
            let nodes = collector.required(section, "nodes", "2");
            let cables = collector.optional::<[u32; 3]>(section, "cables");
            TopologyEntry::Dragonfly {
                groups: groups?,
                chassis: chassis?,
                routers: routers?,
                nodes: nodes?,
                cables: cables?.unwrap_or([1; 3]),
                compat: compat?,
            }
        }
        _ => TopologyEntry::Crossbar,
    })
}

/// A link of a cluster in an inline table, `Some(None)` if it is not declared.
#[expect(
    clippy::option_option,
    reason = "wrong and absent differ, and the mistake is already recorded"
)]
fn inner_link(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
    sharing_default: Sharing,
) -> Option<Option<LinkEntry>> {
    let Some(value) = section.get(key) else {
        return Some(None);
    };
    let inner = collector.section(value, value.span(), key.to_owned(), &LINK_KEYS)?;
    let entry = link_entry(collector, &inner, sharing_default)?;
    if entry.sharing == Sharing::SplitDuplex {
        collector.add(
            inner.get("sharing").map_or(inner.span(), Spanned::span),
            format!("a {key} has no directions: \"split-duplex\""),
            "expected \"shared\" or \"fatpipe\"",
            None,
        );
        return None;
    }
    Some(Some(entry))
}
