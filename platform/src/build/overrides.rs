//! Hosts and links of clusters that differ from the others: their names become numbers, and their
//! values replace the values of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::assemble::{Numbers, cluster, power};
use super::for_each_zone;
use crate::cluster::{Cluster, OwnHost, OwnLink};
use crate::file::{
    ClusterEntry, Collector, HostOverride, LinkOverride, Named, PowerState, ProfileEntry, Read,
    Speeds, cut,
};
use crate::platform::Cores;
use crate::profile::{Profile, Target};
use crate::route::Wire;
use crate::{HostId, LinkId};

/// Refuses overrides of hosts and links that their clusters do not have, and of power states that
/// the hosts do not have. There are no other mistakes.
pub(super) fn check_overrides(read: &mut Read) {
    let collector = &mut read.collector;
    for_each_zone(&read.file.root, &mut |_, _, zone| {
        for named in &zone.clusters {
            check_hosts(collector, named);
            if !named.entry.link_overrides.is_empty() {
                check_links(collector, named);
            }
        }
    });
}

fn check_hosts(collector: &mut Collector, named: &Named<ClusterEntry>) {
    let Named { name, entry } = named;
    for host in &entry.host_overrides {
        let text = host.name.get_ref();
        if entry.hosts.index_of(text).is_none() {
            let problem = format!(
                "cluster {:?} has no host {:?}",
                cut(name.get_ref()),
                cut(text)
            );
            let expected = format!("expected one of {}", cut(entry.hosts.text()));
            collector.add(host.name.span(), problem, expected, None);
        }
        let (speeds, pstate) = speeds(entry, &host.entry);
        if pstate.0 as usize >= speeds.count() {
            let problem = format!("host {:?} has no power state {}", cut(text), pstate.0);
            let last = speeds.count() - 1;
            let expected = format!("expected \"pstate\" from 0 to {last} in its override");
            collector.add(host.name.span(), problem, expected, None);
        }
    }
}

fn check_links(collector: &mut Collector, named: &Named<ClusterEntry>) {
    let cluster = cluster(named, 0, false, &mut Numbers::default());
    let backbone = cluster.backbone.map(|wire| 2 * wire.number);
    for link in &named.entry.link_overrides {
        let found = cluster.find_link(link.name.get_ref());
        let is_backbone = found.as_ref().map(|ids| ids.start) == backbone;
        if found.is_some() && !is_backbone {
            continue;
        }
        let name = cut(named.name.get_ref());
        let text = cut(link.name.get_ref());
        let example = cluster.named_link(cluster.cable.number, "up");
        let example = example.map_or_else(String::new, |(_, name)| name);
        let (problem, expected) = if found.is_some() {
            (
                format!("link {text:?} is the backbone of cluster {name:?}"),
                "expected its figures in the key \"backbone\" of the cluster".to_owned(),
            )
        } else {
            (
                format!("cluster {name:?} has no link {text:?}"),
                format!("expected a name as in the routes of the platform, such as {example:?}"),
            )
        };
        collector.add(link.name.span(), problem, expected, None);
    }
}

/// The speeds of a host with an override, and the power state of the host at the start.
fn speeds<'f>(cluster: &'f ClusterEntry, host: &'f HostOverride) -> (&'f Speeds, PowerState) {
    let speeds = host.speed.as_ref().unwrap_or(&cluster.speed);
    (speeds, host.pstate.unwrap_or(cluster.pstate))
}

/// Applies the overrides to a cluster; returns the profiles of all hosts and links of the cluster.
pub(super) fn apply_overrides(cluster: &mut Cluster, entry: &ClusterEntry) -> Vec<Profile> {
    const KNOWN: &str = "unknown names have been refused";
    let mut profiles = Vec::new();
    let mut own_hosts = BTreeMap::new();
    for named in &entry.host_overrides {
        let host = entry.hosts.index_of(named.name.get_ref()).expect(KNOWN);
        let (speeds, pstate) = speeds(entry, &named.entry);
        let cores = Cores {
            speed: speeds.state_speed(pstate),
            count: named.entry.cores.unwrap_or(entry.cores),
        };
        let power = power(speeds, pstate);
        cluster.own_hosts.insert(host, OwnHost { cores, power });
        own_hosts.insert(cluster.host_first + host, &named.entry);
    }
    host_profiles(cluster, entry, &own_hosts, &mut profiles);
    let mut own_links: BTreeMap<u32, LinkOverride> = BTreeMap::new();
    // Those of one direction last: they count more.
    for directions in [2, 1] {
        for named in &entry.link_overrides {
            let ids = cluster.find_link(named.name.get_ref()).expect(KNOWN);
            for id in ids.clone().filter(|_| ids.len() == directions) {
                own_links.entry(id).or_default().merge_keys(&named.entry);
            }
        }
    }
    for (id, own) in &own_links {
        let figures = OwnLink {
            bandwidth: own.bandwidth.as_ref().map(|it| it.bytes_per_s()),
            latency_s: own.latency.as_ref().map(|it| it.as_secs()),
        };
        cluster.own_links.insert(LinkId(*id), figures);
    }
    link_profiles(cluster, entry, &own_links, &mut profiles);
    profiles
}

fn host_profiles(
    cluster: &Cluster,
    entry: &ClusterEntry,
    own: &BTreeMap<u32, &HostOverride>,
    profiles: &mut Vec<Profile>,
) {
    let first = cluster.host_first;
    let all = first..first + entry.hosts.count();
    let mut take = |of_all: Option<&ProfileEntry>,
                    of_one: fn(&HostOverride) -> Option<&ProfileEntry>,
                    target: fn(u32) -> Target| {
        let own = own
            .iter()
            .filter_map(|(host, own)| Some((*host, of_one(own)?)));
        let own: Vec<(u32, &ProfileEntry)> = own.collect();
        let others = own.iter().map(|(host, _)| *host).collect();
        add_profile(profiles, of_all, all.clone(), &others, target);
        profiles.extend(
            own.iter()
                .map(|(host, own)| own.to_profile(target(*host), 1)),
        );
    };
    take(
        entry.speed_profile.as_deref(),
        |own| own.speed_profile.as_deref(),
        |host| Target::Speed(HostId(host)),
    );
    take(
        entry.host_state_profile.as_deref(),
        |own| own.state_profile.as_deref(),
        |host| Target::Host(HostId(host)),
    );
}

fn link_profiles(
    cluster: &Cluster,
    entry: &ClusterEntry,
    own: &BTreeMap<u32, LinkOverride>,
    profiles: &mut Vec<Profile>,
) {
    let ids = |wire: Wire, count: u32| 2 * wire.number..2 * (wire.number + count);
    let cables = ids(cluster.cable, cluster.topology.cables());
    let mut kinds = vec![(&entry.link, cables)];
    if let (Some(link), Some(wire)) = (&entry.backbone, cluster.backbone) {
        kinds.push((link, ids(wire, 1)));
    }
    if let (Some(link), Some(wire)) = (&entry.loopback, cluster.loopback) {
        kinds.push((link, ids(wire, entry.hosts.count())));
    }
    let with = |has: fn(&LinkOverride) -> bool| -> BTreeSet<u32> {
        let found = own.iter().filter(|(_, own)| has(own));
        found.map(|(id, _)| *id).collect()
    };
    let bandwidths = with(|own| own.bandwidth.is_some() || own.bandwidth_profile.is_some());
    let latencies = with(|own| own.latency.is_some() || own.latency_profile.is_some());
    let states = with(|own| own.state_profile.is_some());
    for (at, (link, all)) in kinds.into_iter().enumerate() {
        let state = match at {
            0 => &entry.link_state_profile,
            _ => &link.state_profile,
        };
        for (profile, without, target) in [
            (
                &link.bandwidth_profile,
                &bandwidths,
                bandwidth as fn(u32) -> Target,
            ),
            (&link.latency_profile, &latencies, latency),
            (state, &states, is_on),
        ] {
            add_profile(profiles, profile.as_deref(), all.clone(), without, target);
        }
    }
    for (id, own) in own {
        for (profile, target) in [
            (&own.bandwidth_profile, bandwidth(*id)),
            (&own.latency_profile, latency(*id)),
            (&own.state_profile, is_on(*id)),
        ] {
            profiles.extend(
                profile
                    .as_ref()
                    .map(|profile| profile.to_profile(target, 1)),
            );
        }
    }
}

const fn bandwidth(id: u32) -> Target {
    Target::Bandwidth(LinkId(id))
}

const fn latency(id: u32) -> Target {
    Target::Latency(LinkId(id))
}

const fn is_on(id: u32) -> Target {
    Target::Link(LinkId(id))
}

/// Adds a profile of everything in `all` but `without`.
fn add_profile(
    profiles: &mut Vec<Profile>,
    profile: Option<&ProfileEntry>,
    all: Range<u32>,
    without: &BTreeSet<u32>,
    target: fn(u32) -> Target,
) {
    let Some(profile) = profile else { return };
    let mut first = all.start;
    for end in without.range(all.clone()).copied().chain([all.end]) {
        if first < end {
            profiles.push(profile.to_profile(target(first), end - first));
        }
        first = end + 1;
    }
}

impl LinkOverride {
    /// Replaces keys by the keys of another override that are set.
    fn merge_keys(&mut self, other: &Self) {
        let other = other.clone();
        self.bandwidth = other.bandwidth.or_else(|| self.bandwidth.take());
        self.latency = other.latency.or_else(|| self.latency.take());
        self.bandwidth_profile = other
            .bandwidth_profile
            .or_else(|| self.bandwidth_profile.take());
        self.latency_profile = other
            .latency_profile
            .or_else(|| self.latency_profile.take());
        self.state_profile = other.state_profile.or_else(|| self.state_profile.take());
    }
}
