//! From the typed file to the platform: names are resolved, numbers given out, and what contradicts is reported.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use crate::Sharing;
use crate::file::{Collector, Direction, LinkEntry, LinkUse, PlatformFile, Read, cut, read};
use crate::mistake::{Mistakes, position};
use crate::pattern::{HOSTS_MAX, HostPattern};
use crate::platform::{Cluster, Cores, Platform};
use crate::route::{RouteTable, Wire};

/// Reads a platform from text.
///
/// # Errors
/// All mistakes in the text.
pub(crate) fn build(file_name: &str, text: &str) -> Result<Platform, Mistakes> {
    let mistakes = |list| Mistakes::new(file_name, text, list);
    let mut read = read(text).map_err(mistakes)?;
    check_names(&mut read);
    let routes = Resolver::new(text, &read).routes(&read.file, &mut read.collector);
    if !read.collector.mistakes.is_empty() {
        return Err(mistakes(read.collector.mistakes));
    }
    Ok(assemble(read.file, routes))
}

/// Refuses host names that occur twice, too many hosts, and none at all.
fn check_names(read: &mut Read) {
    let Read {
        collector,
        hosts,
        clusters,
        ..
    } = read;
    if hosts.is_empty() && clusters.is_empty() {
        let problem = "the platform has no hosts".to_owned();
        let expected = "expected [hosts.NAME] or [clusters.NAME] tables";
        collector.add(0..0, problem, expected, None);
    }
    let patterns: Vec<(&Spanned<String>, &HostPattern)> = clusters
        .iter()
        .filter_map(|(name, pattern)| Some((name, pattern.as_ref()?)))
        .collect();
    for (at, (name, pattern)) in patterns.iter().enumerate() {
        let mut twice = |host: &str, other: &str| {
            let problem = format!("duplicate host {:?}", cut(host));
            let expected = format!("the hosts of this cluster include it, and so does {other}");
            collector.add(name.span(), problem, expected, None);
        };
        for host in hosts.iter() {
            if pattern.index_of(host.get_ref()).is_some() {
                twice(host.get_ref(), &format!("[hosts.{}]", cut(host.get_ref())));
            }
        }
        for (other_name, other) in &patterns[..at] {
            if let Some(host) = pattern.shared_name(other) {
                twice(&host, &format!("cluster {:?}", cut(other_name.get_ref())));
            }
        }
    }
    for (name, _) in clusters.iter() {
        let same_host = hosts.iter().any(|host| host.get_ref() == name.get_ref())
            || patterns.iter().any(|(other, pattern)| {
                other.get_ref() != name.get_ref() && pattern.index_of(name.get_ref()).is_some()
            });
        if same_host {
            let problem = format!("cluster {:?} is called like a host", cut(name.get_ref()));
            let expected = "routes name hosts and clusters, so their names must differ";
            collector.add(name.span(), problem, expected, None);
        }
    }
    let in_clusters: u64 = patterns
        .iter()
        .map(|(_, pattern)| u64::from(pattern.count()))
        .sum();
    if in_clusters + hosts.len() as u64 > u64::from(HOSTS_MAX) {
        let span = patterns.first().map_or(0..0, |(name, _)| name.span());
        let problem = format!("more than {HOSTS_MAX} hosts");
        collector.add(span, problem, "the clusters together name too many", None);
    }
}

/// The names that routes refer to.
struct Resolver<'t> {
    text: &'t str,
    /// Position and sharing of each link.
    links: BTreeMap<String, (u32, Option<Sharing>)>,
    /// Position of each end: single hosts, then clusters.
    ends: BTreeMap<String, u32>,
    end_count: usize,
    cluster_first: u32,
    /// The clusters, with the patterns that are known.
    patterns: Vec<(String, HostPattern)>,
    clusters_known: bool,
}

impl<'t> Resolver<'t> {
    fn new(text: &'t str, read: &Read) -> Self {
        let names = read.clusters.iter().map(|(name, _)| name);
        let ends = (0..).zip(read.hosts.iter().chain(names));
        let links = (0..).zip(&read.links);
        Self {
            text,
            links: links
                .map(|(at, (name, sharing))| (name.get_ref().clone(), (at, *sharing)))
                .collect(),
            ends: ends
                .map(|(at, name)| (name.get_ref().clone(), at))
                .collect(),
            end_count: read.hosts.len() + read.clusters.len(),
            cluster_first: u32::try_from(read.hosts.len()).unwrap_or(u32::MAX),
            patterns: read
                .clusters
                .iter()
                .filter_map(|(name, pattern)| Some((name.get_ref().clone(), pattern.clone()?)))
                .collect(),
            clusters_known: read.clusters.iter().all(|(_, pattern)| pattern.is_some()),
        }
    }

    fn routes(&self, file: &PlatformFile, collector: &mut Collector) -> RouteTable {
        let mut table = RouteTable::default();
        let mut declared: BTreeMap<(u32, u32), Range<usize>> = BTreeMap::new();
        for route in &file.routes {
            let from = self.end(&route.from, collector);
            let to = self.end(&route.to, collector);
            let links: Vec<Option<(u32, bool)>> = route
                .links
                .iter()
                .map(|link| self.link(link, collector))
                .collect();
            let links: Option<Vec<(u32, bool)>> = links.into_iter().collect();
            let (Some(from), Some(to)) = (from, to) else {
                continue;
            };
            if from == to && from >= self.cluster_first {
                let name = cut(route.to.get_ref());
                collector.add(
                    route.to.span(),
                    format!("a route from cluster {name:?} to itself"),
                    "the hosts of a cluster reach each other over its own links",
                    None,
                );
                continue;
            }
            if self.is_duplicate(&mut declared, route, (from, to), collector) {
                continue;
            }
            if let Some(links) = links {
                table.add(from, to, &links, route.symmetric);
            }
        }
        table.finish(self.end_count);
        table
    }

    /// Notes both directions of a route, and reports one that is already there.
    fn is_duplicate(
        &self,
        declared: &mut BTreeMap<(u32, u32), Range<usize>>,
        route: &crate::file::RouteEntry,
        (from, to): (u32, u32),
        collector: &mut Collector,
    ) -> bool {
        let backwards = route.symmetric && from != to;
        let pairs = [Some((from, to)), backwards.then_some((to, from))];
        for pair in pairs.into_iter().flatten() {
            if let Some(first) = declared.get(&pair) {
                let (line, _) = position(self.text, first.start);
                let mut names = [cut(route.from.get_ref()), cut(route.to.get_ref())];
                if pair != (from, to) {
                    names.reverse();
                }
                let [from_name, to_name] = names;
                let problem = format!("duplicate route from {from_name:?} to {to_name:?}");
                let expected = format!("line {line} already declares it");
                let help = "a route counts for both directions unless it says symmetric = false";
                collector.add(route.from.span(), problem, expected, Some(help.to_owned()));
                return true;
            }
            declared.insert(pair, route.from.span());
        }
        false
    }

    fn end(&self, name: &Spanned<String>, collector: &mut Collector) -> Option<u32> {
        let text = name.get_ref();
        if let Some(end) = self.ends.get(text) {
            return Some(*end);
        }
        let owner = self
            .patterns
            .iter()
            .find(|(_, pattern)| pattern.index_of(text).is_some());
        if let Some((cluster, _)) = owner {
            let problem = format!("{:?} is a host of cluster {:?}", cut(text), cut(cluster));
            let expected = "routes join single hosts and whole clusters";
            let help = Some(format!("write {cluster:?}"));
            collector.add(name.span(), problem, expected, help);
        } else if self.clusters_known || self.patterns.is_empty() {
            let help = collector.suggest(text, self.ends.keys().map(String::as_str));
            let problem = format!("unknown host or cluster {:?}", cut(text));
            let expected = "expected the name of a [hosts.NAME] or [clusters.NAME] table";
            collector.add(name.span(), problem, expected, help);
        }
        None
    }

    fn link(&self, link: &Spanned<LinkUse>, collector: &mut Collector) -> Option<(u32, bool)> {
        let LinkUse {
            link: name,
            direction,
        } = link.get_ref();
        let Some((number, sharing)) = self.links.get(name) else {
            let help = collector.suggest(name, self.links.keys().map(String::as_str));
            let problem = format!("unknown link {:?}", cut(name));
            let expected = "expected the name of a [links.NAME] table";
            collector.add(link.span(), problem, expected, help);
            return None;
        };
        let down = *direction == Direction::Down;
        if down && sharing.is_some_and(|sharing| sharing != Sharing::SplitDuplex) {
            let problem = format!("link {:?} has no directions", cut(name));
            let expected = "only a link with sharing = \"split-duplex\" has a direction \"down\"";
            collector.add(link.span(), problem, expected, None);
            return None;
        }
        Some((*number, down))
    }
}

/// Gives out the numbers of hosts and links; the file has no mistakes.
fn assemble(file: PlatformFile, routes: RouteTable) -> Platform {
    let mut numbers = Numbers::default();
    let wires: Vec<Wire> = file
        .links
        .iter()
        .map(|named| numbers.wires(&named.entry, 1))
        .collect();
    let singles: Vec<Cores> = file
        .hosts
        .iter()
        .map(|named| Cores {
            speed: named.entry.speed.flop_per_s(),
            count: named.entry.cores,
        })
        .collect();
    // The number after the declared links is the implicit loopback.
    numbers.next += 1;
    let mut host_count = u32::try_from(singles.len()).expect("fewer hosts than HOSTS_MAX");
    let mut clusters = Vec::with_capacity(file.clusters.len());
    for named in &file.clusters {
        let entry = &named.entry;
        let count = entry.hosts.count();
        clusters.push(Cluster {
            host_first: host_count,
            host_count: count,
            cores: Cores {
                speed: entry.speed.flop_per_s(),
                count: entry.cores,
            },
            backbone: entry.backbone.as_ref().map(|link| numbers.wires(link, 1)),
            link: numbers.wires(&entry.link, count),
            loopback: entry
                .loopback
                .as_ref()
                .map(|link| numbers.wires(link, count)),
        });
        host_count += count;
    }
    let mut by_name: Vec<u32> = (0..).take(singles.len()).collect();
    by_name.sort_by_key(|host| file.hosts[*host as usize].name.get_ref());
    Platform {
        file,
        singles,
        by_name,
        clusters,
        wires,
        routes,
        host_count,
        wire_count: numbers.next,
    }
}

/// Gives out the numbers of physical links.
#[derive(Default)]
struct Numbers {
    next: u32,
}

impl Numbers {
    /// The first of `count` equal links with consecutive numbers.
    fn wires(&mut self, entry: &LinkEntry, count: u32) -> Wire {
        let number = self.next;
        self.next += count;
        Wire {
            number,
            bandwidth: entry.bandwidth.bytes_per_s(),
            latency_s: entry.latency.as_secs(),
            sharing: entry.sharing,
        }
    }
}
