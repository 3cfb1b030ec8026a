//! Resolution of routes and gateways: names become numbers of ends and links.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::for_each_zone;
use crate::cluster::SWITCH;
use crate::diagnostic::Source;
use crate::file::{Collector, Direction, LinkUse, Names, Read, RouteEntry, ZoneEntry, cut};
use crate::graph::{FLOYD_MAX, Graph};
use crate::route::{RouteEnd, RouteTable};
use crate::{Routing, Sharing};

/// In `from` or `to` of a route of a star: the centre.
const CENTRE: &str = "*";

/// The routes of all zones, resolved.
pub(super) struct Resolved {
    pub(super) table: RouteTable,
    /// One entry per zone; `Some` for zones that search.
    pub(super) graphs: Vec<Option<Graph>>,
}

/// Resolves all routes.
pub(super) fn resolve(source: &Source, read: &mut Read) -> Resolved {
    let mut resolver = Resolver::new(source, &read.names, &mut read.collector);
    resolver.gateways(&read.file.root);
    let mut graphs = Vec::new();
    for_each_zone(&read.file.root, &mut |number, here, entry| {
        graphs.push(resolver.zone(number, here.name, entry));
    });
    let ends = resolver.zone_of.len();
    let mut table = resolver.table;
    table.prepare_search(ends);
    Resolved { table, graphs }
}

/// The kind of an end.
#[derive(Clone, Copy)]
enum EndpointKind {
    Leaf,
    Cluster(usize),
    Zone,
}

/// The names that routes refer to.
struct Resolver<'t> {
    source: &'t Source,
    names: &'t Names,
    collector: &'t mut Collector,
    /// Position and sharing of each link.
    links: BTreeMap<&'t str, (u32, Option<Sharing>)>,
    ends: BTreeMap<&'t str, u32>,
    zone_of: Vec<u32>,
    zone_first: u32,
    /// Where ways into clusters and zones begin, if the file says so: by end.
    defaults: BTreeMap<u32, RouteEnd>,
    table: RouteTable,
    /// The pairs with a declared route, with the zone if the route bypasses the ways of the zone,
    /// and the place of the entry of the route.
    declared: BTreeMap<(Option<u32>, u32, u32), Range<usize>>,
    /// The name of the access point, if there is one, of each Wi-Fi zone.
    access_points: BTreeMap<u32, Option<String>>,
    patterns_known: bool,
}

impl<'t> Resolver<'t> {
    fn new(source: &'t Source, names: &'t Names, collector: &'t mut Collector) -> Self {
        let members = names.hosts.iter().map(|member| (&member.name, member.zone));
        let clusters = names
            .clusters
            .iter()
            .map(|member| (&member.name, member.zone));
        let routers = names
            .routers
            .iter()
            .map(|member| (&member.name, member.zone));
        let zones = names.zones.iter().map(|member| (&member.name, member.zone));
        let all: Vec<_> = members
            .chain(clusters)
            .chain(routers)
            .chain(zones)
            .collect();
        let zone_first = all.len() - names.zones.len();
        let mut ends = BTreeMap::new();
        for ((name, _), end) in all.iter().zip(0..) {
            ends.entry(name.get_ref().as_str()).or_insert(end);
        }
        Self {
            source,
            names,
            collector,
            links: (0..)
                .zip(&names.links)
                .map(|(at, (name, sharing))| (name.get_ref().as_str(), (at, *sharing)))
                .collect(),
            ends,
            zone_of: all.iter().map(|(_, zone)| *zone).collect(),
            zone_first: u32::try_from(zone_first).unwrap_or(u32::MAX),
            defaults: BTreeMap::new(),
            table: RouteTable::default(),
            declared: BTreeMap::new(),
            access_points: BTreeMap::new(),
            patterns_known: names.clusters.iter().all(|cluster| cluster.hosts.is_some()),
        }
    }

    fn endpoint_kind(&self, end: u32) -> EndpointKind {
        let at = end as usize;
        let hosts = self.names.hosts.len();
        if (hosts..hosts + self.names.clusters.len()).contains(&at) {
            return EndpointKind::Cluster(at - hosts);
        }
        if end >= self.zone_first {
            EndpointKind::Zone
        } else {
            EndpointKind::Leaf
        }
    }

    /// The keys `gateway` of zones and clusters.
    fn gateways(&mut self, root: &ZoneEntry) {
        let mut wanted: Vec<(u32, Spanned<String>)> = Vec::new();
        let ends = &self.ends;
        let access_points = &mut self.access_points;
        for_each_zone(root, &mut |number, _, zone| {
            if zone.routing == Routing::Wifi {
                let name = zone.gateway.as_ref();
                access_points.insert(number, name.map(|name| name.get_ref().clone()));
            }
            for named in &zone.clusters {
                let end = ends.get(named.name.get_ref().as_str());
                wanted.extend(end.copied().zip(named.entry.gateway.clone()));
            }
            wanted.extend(
                zone.gateway
                    .clone()
                    .map(|name| (self.zone_first + number, name)),
            );
        });
        for (end, name) in wanted {
            if let Some(place) = self.gateway_named(end, &name) {
                self.defaults.insert(end, place);
            }
        }
    }

    /// The host, router or switch called `name`, which must be in `end`.
    fn gateway_named(&mut self, end: u32, name: &Spanned<String>) -> Option<RouteEnd> {
        let text = name.get_ref().as_str();
        let place = self.find_route_end(text);
        let inside = place.is_some_and(|place| self.contains(end, place.end));
        if let Some(place) = place.filter(|_| inside) {
            return self.no_station(place, name);
        }
        if !self.patterns_known {
            return None;
        }
        let problem = if place.is_some() {
            format!("{:?} is outside", cut(text))
        } else {
            format!("unknown host or router {:?}", cut(text))
        };
        let expected = "a gateway is a host or router of the zone";
        let help = match place {
            Some(_) => None,
            None => self.collector.suggest(text, self.ends.keys().copied()),
        };
        self.collector.add(name.span(), problem, expected, help);
        None
    }

    /// Refuses a station as the place where routes begin: the air would be in the middle of a way.
    fn no_station(&mut self, place: RouteEnd, name: &Spanned<String>) -> Option<RouteEnd> {
        let zone = self.zone_of[place.end as usize];
        let Some(access_point) = self.access_points.get(&zone) else {
            return Some(place);
        };
        if access_point.as_ref() == Some(name.get_ref()) {
            return Some(place);
        }
        let problem = format!("{:?} is a member of a Wi-Fi zone", cut(name.get_ref()));
        let expected = match access_point {
            Some(name) => format!("expected its access point, which is {:?}", cut(name)),
            None => "expected its access point, which is its gateway, but there is none".to_owned(),
        };
        self.collector.add(name.span(), problem, expected, None);
        None
    }

    fn find_route_end(&self, name: &str) -> Option<RouteEnd> {
        if let Some(end) = self.ends.get(name).copied() {
            return match self.endpoint_kind(end) {
                EndpointKind::Leaf => Some(RouteEnd { end, offset: 0 }),
                EndpointKind::Cluster(at) => self.switch(end, at),
                EndpointKind::Zone => None,
            };
        }
        let hosts = self.names.hosts.len();
        let owners = self.names.clusters.iter().zip(hosts..);
        let mut found = owners.filter_map(|(cluster, end)| {
            let offset = cluster.hosts.as_ref()?.index_of(name)?;
            let end = u32::try_from(end).ok()?;
            Some(RouteEnd { end, offset })
        });
        found.next()
    }

    /// The switch of a cluster, if all traffic of the cluster crosses one switch.
    fn switch(&self, end: u32, cluster: usize) -> Option<RouteEnd> {
        let topology = self.names.clusters[cluster].topology.as_ref();
        let has_switch = topology.is_none_or(|topology| topology.centre().is_some());
        has_switch.then_some(RouteEnd {
            end,
            offset: SWITCH,
        })
    }

    fn contains(&self, outer: u32, mut inner: u32) -> bool {
        while inner != outer && inner != self.zone_first {
            inner = self.zone_first + self.zone_of[inner as usize];
        }
        inner == outer
    }

    /// The place within an end where a route begins: from the route, from the end, or the only
    /// possible place.
    fn gateway(
        &mut self,
        end: u32,
        key: &str,
        route_end: &Spanned<String>,
        declared: Option<&Spanned<String>>,
    ) -> Option<RouteEnd> {
        if let Some(name) = declared {
            return self.gateway_named(end, name);
        }
        if let Some(place) = self.defaults.get(&end) {
            return Some(*place);
        }
        let (what, known) = match self.endpoint_kind(end) {
            EndpointKind::Leaf => return Some(RouteEnd { end, offset: 0 }),
            EndpointKind::Cluster(at) => {
                if let Some(place) = self.switch(end, at) {
                    return Some(place);
                }
                ("cluster", "of its hosts")
            }
            EndpointKind::Zone => ("zone", "of its hosts or routers"),
        };
        let name = cut(route_end.get_ref());
        self.collector.add(
            route_end.span(),
            format!("missing gateway: {what} {name:?} has no gateway for its routes"),
            format!("expected one {known} as {key} in the route, or as gateway in the {what}"),
            None,
        );
        None
    }

    fn zone(&mut self, number: u32, name: &str, entry: &ZoneEntry) -> Option<Graph> {
        let mut graph =
            matches!(entry.routing, Routing::Dijkstra | Routing::Floyd).then(Graph::default);
        for route in &entry.routes {
            let pair = self.resolve_route(number, entry.routing, route);
            let pair = pair.filter(|_| !route.bypass);
            if let (Some(graph), Some((from, to))) = (&mut graph, pair) {
                graph.add_member(from);
                graph.add_member(to);
            }
        }
        let members = graph.as_ref().map_or(0, Graph::len);
        if entry.routing == Routing::Floyd && members > FLOYD_MAX {
            let span = entry.routes.first().map_or(0..0, |route| route.from.span());
            let problem = format!(
                "zone {:?} with routing \"floyd\" has {members} members",
                cut(name)
            );
            let expected = format!("expected at most {FLOYD_MAX}");
            let help = Some("use routing = \"dijkstra\"".to_owned());
            self.collector.add(span, problem, expected, help);
        }
        graph
    }

    /// Adds one route; returns the two ends of the route.
    fn resolve_route(
        &mut self,
        zone: u32,
        rule: Routing,
        route: &RouteEntry,
    ) -> Option<(u32, u32)> {
        let end = |this: &mut Self, name| match route.bypass {
            true => this.end_inside(zone, name),
            false => this.find_endpoint(zone, rule, name),
        };
        let (from, to) = (end(self, &route.from), end(self, &route.to));
        let links: Vec<Option<(u32, bool)>> = route
            .links
            .iter()
            .map(|link| self.find_link(link))
            .collect();
        let links: Option<Vec<(u32, bool)>> = links.into_iter().collect();
        let (from, to) = (from?, to?);
        let bypassed = route.bypass.then_some(zone);
        if self.is_impossible(zone, rule, route, (from, to))
            || self.is_duplicate(bypassed, route, (from, to))
        {
            return None;
        }
        let centre = self.zone_first + zone;
        let nowhere = RouteEnd {
            end: centre,
            offset: 0,
        };
        let mut gateway = |end: u32, key, name, declared| {
            if end == centre {
                Some(nowhere)
            } else {
                self.gateway(end, key, name, declared)
            }
        };
        let begin = gateway(
            from,
            "gateway_from",
            &route.from,
            route.gateway_from.as_ref(),
        );
        let end = gateway(to, "gateway_to", &route.to, route.gateway_to.as_ref());
        let (begin, end, links) = (begin?, end?, links?);
        let symmetric = route.symmetric;
        self.table
            .add_route((from, begin), (to, end), &links, symmetric, bypassed);
        Some((from, to))
    }

    /// Refuses a route that the rule of the zone has no use for.
    fn is_impossible(
        &mut self,
        zone: u32,
        rule: Routing,
        route: &RouteEntry,
        (from, to): (u32, u32),
    ) -> bool {
        let centre = self.zone_first + zone;
        let (problem, expected) = match rule {
            _ if route.bypass && from != to => return false,
            _ if route.bypass => (
                format!("a bypass from {:?} to itself", cut(route.to.get_ref())),
                "expected two different members",
            ),
            Routing::None => (
                "a route in a zone with routing \"none\"".to_owned(),
                "members of this zone are not connected",
            ),
            Routing::Wifi => (
                "a route in a zone with routing \"wifi\"".to_owned(),
                "its members reach each other over the air",
            ),
            Routing::Star | Routing::Vivaldi if from != to && from != centre && to != centre => (
                "a route between two members of a star".to_owned(),
                "expected \"*\", the centre, as one of its ends",
            ),
            _ if from == to && !matches!(self.endpoint_kind(from), EndpointKind::Leaf) => {
                let (name, what) = (cut(route.to.get_ref()), self.kind_name(from));
                (
                    format!("a route from {what} {name:?} to itself"),
                    "the hosts of a cluster reach each other over its own links",
                )
            }
            _ => return false,
        };
        self.collector.add(route.to.span(), problem, expected, None);
        true
    }

    fn kind_name(&self, end: u32) -> &'static str {
        match self.endpoint_kind(end) {
            EndpointKind::Leaf => "host",
            EndpointKind::Cluster(_) => "cluster",
            EndpointKind::Zone => "zone",
        }
    }

    /// Notes both directions of a route, and reports one that is already there.
    fn is_duplicate(
        &mut self,
        bypassed: Option<u32>,
        route: &RouteEntry,
        (from, to): (u32, u32),
    ) -> bool {
        let backwards = route.symmetric && from != to;
        let pairs = [Some((from, to)), backwards.then_some((to, from))];
        for pair in pairs.into_iter().flatten() {
            let key = (bypassed, pair.0, pair.1);
            if let Some(first) = self.declared.get(&key) {
                let (line, _) = self.source.line_and_column(first.start);
                let mut names = [cut(route.from.get_ref()), cut(route.to.get_ref())];
                if pair != (from, to) {
                    names.reverse();
                }
                let [from_name, to_name] = names;
                let problem = format!("duplicate route from {from_name:?} to {to_name:?}");
                let expected = format!("line {line} already declares it");
                let help = "routes are symmetric unless symmetric = false";
                let help = Some(help.to_owned());
                self.collector
                    .add(route.from.span(), problem, expected, help);
                return true;
            }
            self.declared.insert(key, route.from.span());
        }
        false
    }

    /// Finds an end inside the zone, at any depth, by name.
    fn end_inside(&mut self, zone: u32, name: &Spanned<String>) -> Option<u32> {
        let text = name.get_ref().as_str();
        let found = self.ends.get(text).copied();
        let centre = self.zone_first + zone;
        let found = found.filter(|end| *end != centre && self.contains(centre, *end));
        if found.is_none() {
            let help = self.collector.suggest(text, self.ends.keys().copied());
            let problem = format!(
                "no host, router, cluster or zone {:?} in this zone",
                cut(text)
            );
            let expected = "a bypass joins members of the zone, or zones and clusters inside";
            self.collector.add(name.span(), problem, expected, help);
        }
        found
    }

    /// Finds a member of the zone by name, or the centre of the zone.
    fn find_endpoint(&mut self, zone: u32, rule: Routing, name: &Spanned<String>) -> Option<u32> {
        let text = name.get_ref().as_str();
        if text == CENTRE && matches!(rule, Routing::Star | Routing::Vivaldi) {
            return Some(self.zone_first + zone);
        }
        if text == CENTRE {
            let problem = "\"*\" in a zone that has no centre".to_owned();
            let expected = "only routing = \"star\" and routing = \"vivaldi\" have one";
            self.collector.add(name.span(), problem, expected, None);
            return None;
        }
        if let Some(end) = self.ends.get(text).copied() {
            let home = self.zone_of[end as usize];
            if home == zone && end != self.zone_first {
                return Some(end);
            }
            let problem = format!("{:?} is {}", cut(text), self.where_is(home));
            let expected = "routes of a zone connect its own members";
            self.collector.add(name.span(), problem, expected, None);
            return None;
        }
        let owner = self.names.clusters.iter().find(|cluster| {
            let hosts = cluster.hosts.as_ref();
            hosts.is_some_and(|hosts| hosts.index_of(text).is_some())
        });
        if let Some(owner) = owner {
            let cluster = cut(owner.name.get_ref());
            let problem = format!("{:?} is a host of cluster {cluster:?}", cut(text));
            let expected = "routes join single hosts and whole clusters";
            let help = Some(format!("write {cluster:?}"));
            self.collector.add(name.span(), problem, expected, help);
        } else if self.patterns_known {
            let known = self.ends.keys().copied().filter(|name| !name.is_empty());
            let help = self.collector.suggest(text, known);
            let problem = format!("unknown host or cluster {:?}", cut(text));
            let expected = "expected the name of a [hosts.NAME] or [clusters.NAME] table";
            self.collector.add(name.span(), problem, expected, help);
        }
        None
    }

    fn where_is(&self, zone: u32) -> String {
        match self.names.zones[zone as usize].name.get_ref().as_str() {
            "" => "in no zone".to_owned(),
            name => format!("in zone {:?}", cut(name)),
        }
    }

    fn find_link(&mut self, link: &Spanned<LinkUse>) -> Option<(u32, bool)> {
        let LinkUse {
            link: name,
            direction,
        } = link.get_ref();
        let Some((number, sharing)) = self.links.get(name.as_str()) else {
            let help = self.collector.suggest(name, self.links.keys().copied());
            let problem = format!("unknown link {:?}", cut(name));
            let expected = "expected the name of a [links.NAME] table";
            self.collector.add(link.span(), problem, expected, help);
            return None;
        };
        let down = *direction == Direction::Down;
        if down && sharing.is_some_and(|sharing| sharing != Sharing::SplitDuplex) {
            let problem = format!("link {:?} has no directions", cut(name));
            let expected = "only a link with sharing = \"split-duplex\" has a direction \"down\"";
            self.collector.add(link.span(), problem, expected, None);
            return None;
        }
        Some((*number, down))
    }
}
