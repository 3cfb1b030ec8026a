//! Checks of names and counts: no two members with the same name, not too many hosts, not too many
//! links.

use std::collections::BTreeMap;

use toml::Spanned;

use super::for_each_zone;
use crate::disk::DISKS_MAX;
use crate::file::{MemberName, Read, cut};
use crate::pattern::{HOSTS_MAX, HostPattern, names_twice};
use crate::topology::CABLES_MAX;

/// Refuses names that occur twice, too many hosts, and none at all.
pub(super) fn check_names(read: &mut Read) {
    let Read {
        collector, names, ..
    } = read;
    if names.hosts.is_empty() && names.clusters.is_empty() {
        let problem = "the platform has no hosts".to_owned();
        let expected = "expected [hosts.NAME] or [clusters.NAME] tables";
        collector.add(0..0, problem, expected, None);
    }
    let patterns: Vec<(&Spanned<String>, &HostPattern)> = names
        .clusters
        .iter()
        .filter_map(|cluster| Some((&cluster.name, cluster.hosts.as_ref()?)))
        .collect();
    let mut twice = |name: &Spanned<String>, host: &str, other: String| {
        let problem = format!("duplicate host {:?}", cut(host));
        let expected = format!("the host is in this cluster and in {other}");
        collector.add(name.span(), problem, expected, None);
    };
    // One mistake for a host and one for a cluster: many equal clusters would else make a mistake
    // for each pair.
    for MemberName { name: host, .. } in &names.hosts {
        let host = host.get_ref();
        let owner = patterns
            .iter()
            .find(|(_, pattern)| pattern.index_of(host).is_some());
        if let Some((name, _)) = owner {
            twice(name, host, format!("[hosts.{}]", cut(host)));
        }
    }
    let of_clusters: Vec<&HostPattern> = patterns.iter().map(|(_, pattern)| *pattern).collect();
    for (later, earlier, host) in names_twice(&of_clusters) {
        let other = format!("cluster {:?}", cut(patterns[earlier].0.get_ref()));
        twice(patterns[later].0, &host, other);
    }
    check_count(read);
    check_members(read);
    check_links(read);
}

fn check_count(read: &mut Read) {
    let Read {
        collector, names, ..
    } = read;
    let mut counts = names
        .clusters
        .iter()
        .filter_map(|cluster| Some((cluster.name.span(), cluster.hosts.as_ref()?.count())));
    let first = counts.clone().next().map_or(0..0, |(span, _)| span);
    let in_clusters: u64 = counts.by_ref().map(|(_, count)| u64::from(count)).sum();
    if in_clusters + names.hosts.len() as u64 > u64::from(HOSTS_MAX) {
        let problem = format!("more than {HOSTS_MAX} hosts");
        collector.add(first, problem, "the clusters together name too many", None);
    }
}

/// Refuses clusters, routers and zones called like each other or like a host, and hosts called
/// alike.
fn check_members(read: &mut Read) {
    let Read {
        collector, names, ..
    } = read;
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let hosts = names.hosts.iter().map(|member| ("host", &member.name));
    let clusters = names
        .clusters
        .iter()
        .map(|member| ("cluster", &member.name));
    let routers = names.routers.iter().map(|member| ("router", &member.name));
    let zones = names.zones.iter().skip(1);
    let zones = zones.map(|member| ("zone", &member.name));
    for (kind, name) in hosts.chain(clusters).chain(routers).chain(zones) {
        let text = name.get_ref().as_str();
        let in_cluster = || {
            names.clusters.iter().any(|other| {
                let same = kind == "cluster" && other.name.get_ref() == text;
                let hosts = other.hosts.as_ref().filter(|_| !same);
                hosts.is_some_and(|hosts| hosts.index_of(text).is_some())
            })
        };
        let other = match seen.get(text) {
            Some(other) => Some(*other),
            None if kind != "host" && in_cluster() => Some("host"),
            None => None,
        };
        if let Some(other) = other {
            let (problem, expected) = if other == kind {
                let problem = format!("duplicate {kind} {:?}", cut(text));
                (problem, "names are unique in the whole platform".to_owned())
            } else {
                (
                    format!("{kind} {:?} has the name of a {other}", cut(text)),
                    format!("routes name {other}s and {kind}s, so their names must differ"),
                )
            };
            collector.add(name.span(), problem, expected, None);
        }
        seen.entry(text).or_insert(kind);
    }
}

fn check_links(read: &mut Read) {
    let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
    for (name, _) in &read.names.links {
        if seen.insert(name.get_ref(), ()).is_some() {
            let problem = format!("duplicate link {:?}", cut(name.get_ref()));
            let expected = "the links of all zones have different names";
            read.collector.add(name.span(), problem, expected, None);
        }
    }
}

/// Refuses a platform with too many links for their numbers.
pub(super) fn check_count_of_links(read: &mut Read) {
    let mut total = read.names.links.len() as u64 + 1;
    let mut first = None;
    for_each_zone(&read.file.root, &mut |_, _, zone| {
        total += u64::from(zone.wifi.is_some());
        for named in &zone.clusters {
            let entry = &named.entry;
            let hosts = u64::from(entry.hosts.count());
            let topology = &entry.topology;
            let (cables, switches) = (topology.cables(), topology.switches());
            total += u64::from(cables) + u64::from(entry.backbone.is_some());
            total += hosts * u64::from(entry.loopback.is_some());
            total += (hosts + u64::from(switches)) * u64::from(entry.limiter.is_some());
            if total > u64::from(CABLES_MAX) && first.is_none() {
                first = Some(named.name.span());
            }
        }
    });
    if let Some(span) = first {
        let problem = format!("more than {CABLES_MAX} links");
        let expected = "the clusters together have too many";
        read.collector.add(span, problem, expected, None);
    }
}

/// Refuses a platform with too many disks for their numbers.
pub(super) fn check_count_of_disks(read: &mut Read) {
    let mut total = 0;
    let mut first = None;
    for_each_zone(&read.file.root, &mut |_, _, zone| {
        let single = zone.hosts.iter().map(|named| named.entry.disks.len());
        total += single.sum::<usize>() as u64;
        for named in &zone.clusters {
            let hosts = u64::from(named.entry.hosts.count());
            total += hosts * named.entry.disks.len() as u64;
            if total > u64::from(DISKS_MAX) && first.is_none() {
                first = Some(named.name.span());
            }
        }
    });
    if let Some(span) = first {
        let problem = format!("more than {DISKS_MAX} disks");
        let expected = "the hosts of the clusters together have too many";
        read.collector.add(span, problem, expected, None);
    }
}
