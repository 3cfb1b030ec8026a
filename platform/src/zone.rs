//! Zones: the composition of a way through nested networks.
//!
//! The platform is a tree. A zone has *members* (hosts, routers, clusters, inner zones) and a rule
//! that says how its members reach each other. All members of all zones are *ends* with dense
//! numbers: hosts, clusters, routers, zones.
//!
//! The way between two places is found in the smallest zone that contains both places. It is the
//! route between the two members that contain the places, preceded by the way to the gateway where
//! the route begins, and followed by the way from the gateway where the route ends. Both ways are
//! in smaller zones, so the recursion is not deeper than the tree ([`ZONE_DEPTH_MAX`]).
//!
//! Rules: *full* (every pair has a declared route), *star* (each member has a way to and from the
//! centre; a link that would occur twice occurs once), *dijkstra* and *floyd* (declared routes are
//! edges; the way with fewest links, through members, is searched), *vivaldi* (a star with a
//! distance of coordinates as latency), *none* (no way).
//!
//! *wifi*: every host is a station; a way crosses the air once for each end that is not the access
//! point.
//!
//! A route with `bypass` takes precedence over these rules. It joins two members, or zones and
//! clusters at any depth inside; the innermost zones and clusters take precedence.
//!
//! Searched ways are kept per source on first use. Source of the rules: the manual of SimGrid 4.1.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::Routing;
use crate::cluster::Cluster;
use crate::graph::{Graph, NONE};
use crate::route::{DeclaredRoute, Route, RouteEnd, RouteTable, Wire};

/// The deepest nesting of zones below the platform; platforms in use nest two or three deep.
pub const ZONE_DEPTH_MAX: usize = 16;

/// A zone; the first one is the platform itself.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) name: String,
    /// The table of the routes of the zone in the file: `routes`, or such as `zones.site.routes`.
    pub(crate) table: String,
    pub(crate) routing: Routing,
    /// Number of zones around this zone.
    pub(crate) depth: u32,
    /// True if a member of a star without a route to itself reaches itself over the member's links.
    pub(crate) itself_over_links: bool,
    /// For *dijkstra* and *floyd*.
    pub(crate) graph: Option<Graph>,
    /// For *wifi*.
    pub(crate) air: Option<WifiChannel>,
}

/// The air that the stations of a Wi-Fi zone share.
#[derive(Clone, Debug)]
pub(crate) struct WifiChannel {
    pub(crate) name: String,
    /// With the rate of level 0.
    pub(crate) wire: Wire,
    /// The end that needs no air to reach the stations, if there is one.
    pub(crate) access_point: Option<u32>,
    /// True if collisions cost air time.
    pub(crate) decay: bool,
    /// Bytes per second of each station, by end.
    pub(crate) rates: BTreeMap<u32, f64>,
}

/// All zones and their members.
#[derive(Clone, Debug)]
pub(crate) struct ZoneTree {
    /// Number of single hosts: the first ends.
    pub(crate) singles: u32,
    /// The ends after the single hosts.
    pub(crate) clusters: Vec<Cluster>,
    /// Names of the routers: the ends after the clusters.
    pub(crate) routers: Vec<String>,
    /// The last ends, the platform first.
    pub(crate) zones: Vec<Zone>,
    /// The zone of each end; the platform is in itself.
    pub(crate) zone_of: Vec<u32>,
    /// Coordinates of ends of *vivaldi* zones: two in a plane, and a height; in milliseconds.
    pub(crate) coordinates: BTreeMap<u32, [f64; 3]>,
    pub(crate) table: RouteTable,
    /// The links of `[links]`, by physical number.
    pub(crate) wires: Vec<Wire>,
}

/// Two members of a zone that are not joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) zone: u32,
}

impl ZoneTree {
    /// The end that a zone is.
    pub(crate) fn zone_end(&self, zone: u32) -> u32 {
        let before = self.clusters.len() + self.routers.len();
        self.singles + zone + u32::try_from(before).expect("fewer ends than HOSTS_MAX")
    }

    /// The cluster that an end is.
    pub(crate) fn cluster(&self, end: u32) -> Option<&Cluster> {
        let at = end.checked_sub(self.singles)?;
        self.clusters.get(at as usize)
    }

    /// The end, one zone further up, that contains an end.
    fn parent_end(&self, end: u32) -> u32 {
        self.zone_end(self.zone_of[end as usize])
    }

    fn depth(&self, end: u32) -> u32 {
        self.zones[self.zone_of[end as usize] as usize].depth
    }

    /// The two members of the smallest common zone that contain two different ends.
    fn siblings(&self, mut one: u32, mut two: u32) -> (u32, u32) {
        while self.depth(one) > self.depth(two) {
            one = self.parent_end(one);
        }
        while self.depth(two) > self.depth(one) {
            two = self.parent_end(two);
        }
        while self.zone_of[one as usize] != self.zone_of[two as usize] {
            (one, two) = (self.parent_end(one), self.parent_end(two));
        }
        (one, two)
    }

    /// Appends the way between two places; appends no link if the places are the same.
    pub(crate) fn append_route(
        &self,
        from: RouteEnd,
        to: RouteEnd,
        route: &mut Route,
    ) -> Result<(), Gap> {
        if from.end == to.end {
            if let Some(cluster) = self.cluster(from.end).filter(|_| from != to) {
                cluster.walk(from.offset, to.offset, route);
            }
            return Ok(());
        }
        let (one, two) = self.siblings(from.end, to.end);
        let zone = self.zone_of[one as usize];
        let gap = Gap {
            from: one,
            to: two,
            zone,
        };
        if let Some(entry) = self.bypass(zone, from.end, to.end) {
            self.append_route(from, entry.gateway_from, route)?;
            self.append(entry, route);
            return self.append_route(entry.gateway_to, to, route);
        }
        match self.zones[zone as usize].routing {
            Routing::None => Err(gap),
            Routing::Full => {
                let entry = self.table.find(one, two).ok_or(gap)?;
                self.append_route(from, entry.gateway_from, route)?;
                self.append(entry, route);
                self.append_route(entry.gateway_to, to, route)
            }
            Routing::Star | Routing::Vivaldi => self.star(from, to, gap, route),
            Routing::Wifi => self.over_the_air(gap, route).ok_or(gap),
            Routing::Dijkstra | Routing::Floyd => {
                let path = self.find_path(zone, one, two).ok_or(gap)?;
                let mut here = from;
                for entry in path {
                    self.append_route(here, entry.gateway_from, route)?;
                    self.append(entry, route);
                    here = entry.gateway_to;
                }
                self.append_route(here, to, route)
            }
        }
    }

    /// The route with `bypass` between two ends inside a zone, if there is one.
    fn bypass(&self, zone: u32, from: u32, to: u32) -> Option<&DeclaredRoute> {
        if !self.table.has_bypasses() {
            return None;
        }
        let is_member = |end: u32| self.zone_of[end as usize] == zone;
        if is_member(from) && is_member(to) {
            return self.table.bypass(zone, from, to);
        }
        let (from, to) = (self.around(from, zone), self.around(to, zone));
        let pair = |one: usize, two: usize| {
            let (one, two) = (*from.get(one)?, *to.get(two)?);
            self.table.bypass(zone, one, two)
        };
        (0..from.len().max(to.len())).find_map(|most| {
            let mixed = (0..most).find_map(|less| pair(less, most).or_else(|| pair(most, less)));
            mixed.or_else(|| pair(most, most))
        })
    }

    /// The clusters and zones in a zone that contain an end (or are the end); the innermost first.
    fn around(&self, end: u32, zone: u32) -> Vec<u32> {
        let is_leaf = end < self.singles || self.is_router(end);
        let mut all = Vec::new();
        let mut here = end;
        loop {
            if here != end || !is_leaf {
                all.push(here);
            }
            if self.zone_of[here as usize] == zone {
                return all;
            }
            here = self.parent_end(here);
        }
    }

    /// Appends the way over the centre of a star; zone and centre have the same number.
    fn star(&self, from: RouteEnd, to: RouteEnd, gap: Gap, route: &mut Route) -> Result<(), Gap> {
        let centre = self.zone_end(gap.zone);
        let (up, down) = (
            self.table.find(gap.from, centre),
            self.table.find(centre, gap.to),
        );
        let needs_links = |end| !self.is_router(end) && !self.is_in_the_plane(end);
        if (up.is_none() && needs_links(gap.from)) || (down.is_none() && needs_links(gap.to)) {
            return Err(gap);
        }
        if let Some(up) = up {
            self.append_route(from, up.gateway_from, route)?;
        }
        let since = route.hops.len();
        for entry in [up, down].into_iter().flatten() {
            for (wire, down) in self.table.links(entry) {
                route.push_once(self.wires[wire as usize], down, since);
            }
        }
        if self.zones[gap.zone as usize].routing == Routing::Vivaldi {
            route.latency_s += self.distance_s(gap.from, gap.to);
        }
        match down {
            Some(down) => self.append_route(down.gateway_to, to, route),
            None => Ok(()),
        }
    }

    /// Reports whether a member of a star has a way to the centre, and one from there.
    pub(crate) fn joins_centre(&self, zone: u32, member: u32) -> (bool, bool) {
        let centre = self.zone_end(zone);
        let needs_links = !self.is_router(member) && !self.is_in_the_plane(member);
        let has = |from, to| !needs_links || self.table.find(from, to).is_some();
        (has(member, centre), has(centre, member))
    }

    /// Between two members of a *wifi* zone: the air for each that is not the access point.
    fn over_the_air(&self, gap: Gap, route: &mut Route) -> Option<()> {
        let air = self.zones[gap.zone as usize].air.as_ref()?;
        let ends = [gap.from, gap.to];
        for end in ends
            .into_iter()
            .filter(|end| Some(*end) != air.access_point)
        {
            let bandwidth = *air.rates.get(&end)?;
            let wire = Wire {
                bandwidth,
                ..air.wire
            };
            route.push(wire, false);
        }
        Some(())
    }

    /// The latency between two members of a *vivaldi* zone: the distance in the plane and both
    /// heights.
    fn distance_s(&self, one: u32, two: u32) -> f64 {
        /// Coordinates are in milliseconds.
        const MILLI: f64 = 1e-3;
        let of = |end| self.coordinates.get(end).copied().unwrap_or_default();
        let ([x, y, height], [x_two, y_two, height_two]) = (of(&one), of(&two));
        let (dx, dy) = (x - x_two, y - y_two);
        ((dx * dx + dy * dy).sqrt() + height.abs() + height_two.abs()) * MILLI
    }

    /// Reports hosts of *vivaldi* zones: coordinates are enough to reach them.
    fn is_in_the_plane(&self, end: u32) -> bool {
        let zone = self.zone_of[end as usize] as usize;
        end < self.singles
            && self.zones[zone].routing == Routing::Vivaldi
            && self.coordinates.contains_key(&end)
    }

    fn is_router(&self, end: u32) -> bool {
        let first = self.singles as usize + self.clusters.len();
        (first..first + self.routers.len()).contains(&(end as usize))
    }

    fn append(&self, entry: &DeclaredRoute, route: &mut Route) {
        for (wire, down) in self.table.links(entry) {
            route.push(self.wires[wire as usize], down);
        }
    }

    /// The declared routes to take one after the other through a zone that searches.
    pub(crate) fn find_path(&self, zone: u32, from: u32, to: u32) -> Option<Vec<&DeclaredRoute>> {
        let zone = &self.zones[zone as usize];
        let graph = zone.graph.as_ref()?;
        let previous = graph.tree(from, zone.routing, &self.table)?;
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let number = previous[graph.position(at)? as usize];
            if number == NONE {
                return None;
            }
            let entry = self.table.entry(number);
            path.push(entry);
            at = entry.from;
        }
        path.reverse();
        Some(path)
    }

    /// Appends the declared way of a single host to itself, or the way over its links if the zone
    /// says so; reports whether there is such a way.
    pub(crate) fn itself(&self, host: RouteEnd, route: &mut Route) -> bool {
        if let Some(entry) = self.table.find(host.end, host.end) {
            self.append(entry, route);
            return true;
        }
        let zone = self.zone_of[host.end as usize];
        let gap = Gap {
            from: host.end,
            to: host.end,
            zone,
        };
        let zone = &self.zones[zone as usize];
        let found = zone.itself_over_links
            && match zone.routing {
                Routing::Wifi => self.over_the_air(gap, route).is_some(),
                _ => self.star(host, host, gap, route).is_ok(),
            };
        found && !route.is_nothing()
    }

    /// Returns the zone of a single host with both ways of a star: such a host is joined with all
    /// others exactly like its neighbours.
    pub(crate) fn is_alike(&self, end: u32) -> Option<u32> {
        let zone = self.zone_of[end as usize];
        let star = matches!(
            self.zones[zone as usize].routing,
            Routing::Star | Routing::Vivaldi
        );
        let centre = self.zone_end(zone);
        (star
            && end < self.singles
            && (self.is_in_the_plane(end)
                || self.table.find(end, centre).is_some()
                    && self.table.find(centre, end).is_some()))
        .then_some(zone)
    }
}

/// A value that is computed once and then shared by all readers.
pub(crate) type OnceShared<T> = OnceLock<T>;
