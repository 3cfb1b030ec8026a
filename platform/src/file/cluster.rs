//! Reading of one cluster: the keys that its topology needs, and the keys of other topologies.

use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use super::field::cut;
use super::names::ClusterName;
use super::profile::profile;
use super::section::{Collector, Section};
use super::speeds::speeds;
use super::zone::{LINK_KEYS, link_entry};
use super::{ClusterEntry, LinkEntry, ProfileKind, Sharing};
use crate::topology::{ClusterShape, KINDS, Topology, TopologyKind};

/// The keys of a cluster of any topology.
const KEYS: [&str; 20] = [
    "topology",
    "hosts",
    "speed",
    "cores",
    "bandwidth",
    "latency",
    "sharing",
    "loopback",
    "limiter",
    "to_itself",
    "gateway",
    "disks",
    "pstate",
    "speed_profile",
    "host_state_profile",
    "bandwidth_profile",
    "latency_profile",
    "link_state_profile",
    "host_overrides",
    "link_overrides",
];

/// Reads a cluster; the parts that are valid in spite of mistakes go to `known`.
pub(super) fn cluster_entry(
    collector: &mut Collector,
    known: &mut ClusterName,
    value: &Spanned<DeValue<'_>>,
) -> Option<ClusterEntry> {
    let what = format!("cluster {:?}", cut(known.name.get_ref()));
    let mut keys = KEYS.to_vec();
    for key in KINDS.iter().flat_map(|kind| kind.keys) {
        if !keys.contains(key) {
            keys.push(key);
        }
    }
    let section = collector.section(value, known.name.span(), what, &keys)?;
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
    let frame = known.hosts.as_ref().map(|hosts| ClusterShape {
        hosts: hosts.count(),
        sharing: link
            .as_ref()
            .map_or(Sharing::SplitDuplex, |link| link.sharing),
    });
    known.topology = topology(collector, &section, frame);
    let topology = known.topology.clone()?;
    let hosts = known.hosts.clone()?;
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

/// Finds the kind that the key `topology` names; without the key, a backbone if there is one.
fn find_kind(collector: &mut Collector, section: &Section<'_>) -> Option<&'static TopologyKind> {
    let named = |name: &str| KINDS.iter().find(|kind| kind.name == name);
    let Some(value) = section.get("topology") else {
        let backbone = section.get("backbone");
        return named(if backbone.is_some() {
            "backbone"
        } else {
            "crossbar"
        });
    };
    let text: String = collector.value(value)?;
    let found = named(&text);
    if found.is_none() {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let list: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
        let help = collector.suggest(&text, names);
        let problem = format!("unknown topology {:?}", cut(&text));
        collector.add(
            value.span(),
            problem,
            format!("expected {}", list.join(" or ")),
            help,
        );
    }
    found
}

/// Reads the topology of a cluster; without a `frame` (it has a mistake then), only the kind.
fn topology(
    collector: &mut Collector,
    section: &Section<'_>,
    frame: Option<ClusterShape>,
) -> Option<Arc<dyn Topology>> {
    let kind = find_kind(collector, section)?;
    let is_foreign = refuse_foreign_keys(collector, section, kind);
    let built = (kind.read)(collector, section, frame?)?;
    match built {
        Ok(topology) => Some(topology).filter(|_| !is_foreign),
        Err(impossible) => {
            let place = ["topology", "hosts"]
                .iter()
                .find_map(|key| section.get(key));
            let span = place.map_or(section.span(), Spanned::span);
            collector.add(span, impossible.problem, impossible.expected, None);
            None
        }
    }
}

/// Refuses the keys that belong to other topologies; returns true if there is one.
fn refuse_foreign_keys(
    collector: &mut Collector,
    section: &Section<'_>,
    kind: &TopologyKind,
) -> bool {
    let (word, own) = (kind.name, kind.keys);
    let mut seen = Vec::new();
    for other in KINDS {
        for name in other.keys.iter().filter(|key| !own.contains(key)) {
            let Some(key) = section.spanned_key(name).filter(|_| !seen.contains(name)) else {
                continue;
            };
            seen.push(*name);
            let problem = format!("key {name:?} is not valid for this topology");
            let expected = if own.is_empty() {
                format!("the topology {word:?} has no keys of its own")
            } else {
                format!("the topology {word:?} has the keys {}", own.join(", "))
            };
            let help = Some(format!("it belongs to topology = {:?}", other.name));
            collector.add(key.span(), problem, expected, help);
        }
    }
    !seen.is_empty()
}

/// A link of a cluster in an inline table; `Some(None)` if the link is not declared.
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
