//! Reading of zones: hosts, routers, links, clusters, routes and inner zones. The platform is the
//! outermost zone.
//!
//! Names of entries with a mistake are kept, so that a route over a link with a misspelled
//! bandwidth does not add "unknown link" to the list.

use toml::Spanned;
use toml::de::DeValue;

use super::cluster::cluster_entry;
use super::field::{InvalidValue, cut};
use super::names::{ClusterName, MemberName, Names};
use super::profile::profile;
use super::section::{Collector, Section, in_file_order};
use super::speeds::speeds;
use super::wifi::wifi;
use super::{
    ClusterEntry, Direction, HostEntry, LinkEntry, LinkUse, Named, ProfileKind, RouteEntry,
    Routing, Sharing, WifiLevel, ZoneEntry,
};
use crate::zone::ZONE_DEPTH_MAX;

/// Reads zones into entries and names.
#[derive(Debug)]
pub(super) struct ZoneReader<'r> {
    collector: &'r mut Collector,
    names: &'r mut Names,
    /// The number of the zone that is read.
    zone: u32,
    depth: usize,
}

impl<'r> ZoneReader<'r> {
    pub(super) fn new(collector: &'r mut Collector, names: &'r mut Names) -> Self {
        Self {
            collector,
            names,
            zone: 0,
            depth: 0,
        }
    }

    /// The platform.
    pub(super) fn root(mut self, root: &Section<'_>) -> ZoneEntry {
        let name = Spanned::new(0..0, String::new());
        self.names.zones.push(MemberName { name, zone: 0 });
        let mut entry = self.body(root);
        entry.gateway = self.collector.optional(root, "gateway").flatten();
        if let Some(gateway) = entry.gateway.as_ref().filter(|_| entry.wifi.is_none()) {
            let problem = format!("the gateway {:?} of the platform", cut(gateway.get_ref()));
            let expected = "only an inner zone has one, or a Wi-Fi zone: its access point";
            self.collector.add(gateway.span(), problem, expected, None);
        }
        entry
    }

    /// Reads the keys that the platform and a zone have in common.
    fn body(&mut self, section: &Section<'_>) -> ZoneEntry {
        let mut entry = ZoneEntry::default();
        if let Some(Some(routing)) = self.collector.optional(section, "routing") {
            entry.routing = routing;
        }
        if let Some(Some(to_itself)) = self.collector.optional(section, "to_itself") {
            entry.to_itself = to_itself;
        }
        if entry.routing == Routing::Wifi {
            const EXAMPLE: &str = "{ bandwidths = [\"54Mbps\", \"36Mbps\"] }";
            self.collector.present(section, "wifi", EXAMPLE);
        }
        entry.wifi = wifi(self.collector, section);
        self.routers(section, &mut entry);
        for (name, value) in self.tables(section, "hosts", "[hosts.alice]") {
            self.read_host(name, value, &mut entry);
        }
        for (name, value) in self.tables(section, "links", "[links.wan]") {
            self.read_link(name, value, &mut entry);
        }
        for (name, value) in self.tables(section, "clusters", "[clusters.nodes]") {
            self.cluster(name, value, &mut entry);
        }
        if let Some(value) = section.get("routes") {
            self.routes(value, &mut entry);
        }
        for (name, value) in self.tables(section, "zones", "[zones.site]") {
            self.inner(name, value, &mut entry);
        }
        entry
    }

    fn inner(
        &mut self,
        name: Spanned<String>,
        value: &Spanned<DeValue<'_>>,
        outer: &mut ZoneEntry,
    ) {
        const KEYS: [&str; 11] = [
            "routing",
            "wifi",
            "gateway",
            "coordinates",
            "to_itself",
            "routers",
            "hosts",
            "links",
            "clusters",
            "zones",
            "routes",
        ];
        if self.depth == ZONE_DEPTH_MAX {
            let problem = format!("zones nest more than {ZONE_DEPTH_MAX} deep");
            self.collector
                .add(name.span(), problem, "expected fewer zones around it", None);
            return;
        }
        let what = format!("zone {:?}", cut(name.get_ref()));
        let zone = u32::try_from(self.names.zones.len()).unwrap_or(u32::MAX);
        let member = MemberName {
            name: name.clone(),
            zone: self.zone,
        };
        self.names.zones.push(member);
        let section = self.collector.section(value, name.span(), what, &KEYS);
        let outside = std::mem::replace(&mut self.zone, zone);
        self.depth += 1;
        let entry = section.map_or_else(ZoneEntry::default, |section| {
            let mut entry = self.body(&section);
            entry.gateway = self.collector.optional(&section, "gateway").flatten();
            entry.coordinates = self.collector.optional(&section, "coordinates").flatten();
            entry
        });
        self.zone = outside;
        self.depth -= 1;
        outer.zones.push(Named { name, entry });
    }

    /// The named tables below `key`, in the order of the file.
    fn tables<'t>(
        &mut self,
        section: &Section<'t>,
        key: &'static str,
        example: &str,
    ) -> Vec<(Spanned<String>, &'t Spanned<DeValue<'t>>)> {
        let Some(value) = section.get(key) else {
            return Vec::new();
        };
        let Some(table) = value.get_ref().as_table() else {
            let wrong =
                InvalidValue::kind(value.get_ref(), &format!("named tables, such as {example}"));
            self.collector.wrong(value.span(), wrong);
            return Vec::new();
        };
        let entries = in_file_order(table);
        for (name, _) in &entries {
            self.refuse_empty(name);
        }
        entries
    }

    fn refuse_empty(&mut self, name: &Spanned<String>) {
        if name.get_ref().is_empty() {
            let problem = "empty name".to_owned();
            self.collector
                .add(name.span(), problem, "expected a name", None);
        }
    }

    fn routers(&mut self, section: &Section<'_>, outer: &mut ZoneEntry) {
        let Some(Some(routers)) = self
            .collector
            .optional::<Vec<Spanned<String>>>(section, "routers")
        else {
            return;
        };
        for name in routers {
            self.refuse_empty(&name);
            let zone = self.zone;
            self.names.routers.push(MemberName {
                name: name.clone(),
                zone,
            });
            outer.routers.push(name);
        }
    }

    fn read_host(
        &mut self,
        name: Spanned<String>,
        value: &Spanned<DeValue<'_>>,
        outer: &mut ZoneEntry,
    ) {
        self.names.hosts.push(MemberName {
            name: name.clone(),
            zone: self.zone,
        });
        let collector = &mut *self.collector;
        if name.get_ref().contains(['[', ']']) {
            let problem = format!("host name contains brackets: {:?}", cut(name.get_ref()));
            let expected = "expected a name without brackets";
            let help = "for many equal hosts, write [clusters.NAME] with hosts = \"node-[0-63]\"";
            collector.add(name.span(), problem, expected, Some(help.to_owned()));
        }
        let what = format!("host {:?}", cut(name.get_ref()));
        const KEYS: [&str; 8] = [
            "speed",
            "pstate",
            "cores",
            "coordinates",
            "speed_profile",
            "state_profile",
            "wifi_level",
            "disks",
        ];
        let Some(section) = collector.section(value, name.span(), what, &KEYS) else {
            return;
        };
        let speed = speeds(collector, &section);
        let cores = collector.optional(&section, "cores");
        let coordinates = collector.optional(&section, "coordinates");
        let disks = super::disk::disks(collector, &section);
        let wifi_level = collector.optional(&section, "wifi_level");
        let speed_profile = profile(collector, &section, "speed_profile", ProfileKind::Speed);
        let state_profile = profile(collector, &section, "state_profile", ProfileKind::State);
        let profiles = speed_profile.zip(state_profile);
        if let (
            Some((speed, pstate)),
            Some(cores),
            Some(coordinates),
            Some((speed_profile, state_profile)),
            Some(wifi_level),
            Some(disks),
        ) = (speed, cores, coordinates, profiles, wifi_level, disks)
        {
            // Spelled out for all stations, so that a change can name the level of any.
            let station = outer.routing == Routing::Wifi;
            let lowest = station.then(|| Spanned::new(name.span(), WifiLevel(0)));
            let entry = HostEntry {
                speed,
                pstate,
                cores: cores.unwrap_or(1),
                coordinates,
                speed_profile,
                state_profile,
                wifi_level: wifi_level.or(lowest),
                disks,
            };
            outer.hosts.push(Named { name, entry });
        }
    }

    fn read_link(
        &mut self,
        name: Spanned<String>,
        value: &Spanned<DeValue<'_>>,
        outer: &mut ZoneEntry,
    ) {
        let what = format!("link {:?}", cut(name.get_ref()));
        let collector = &mut *self.collector;
        let entry = collector
            .section(value, name.span(), what, &LINK_KEYS)
            .and_then(|section| link_entry(collector, &section, Sharing::Shared));
        let sharing = entry.as_ref().map(|entry| entry.sharing);
        self.names.links.push((name.clone(), sharing));
        if let Some(entry) = entry {
            outer.links.push(Named { name, entry });
        }
    }

    fn cluster(
        &mut self,
        name: Spanned<String>,
        value: &Spanned<DeValue<'_>>,
        outer: &mut ZoneEntry,
    ) {
        let mut known = ClusterName {
            name: name.clone(),
            zone: self.zone,
            hosts: None,
            topology: None,
        };
        let entry: Option<ClusterEntry> = cluster_entry(self.collector, &mut known, value);
        self.names.clusters.push(known);
        if let Some(entry) = entry {
            outer.clusters.push(Named { name, entry });
        }
    }

    fn routes(&mut self, value: &Spanned<DeValue<'_>>, outer: &mut ZoneEntry) {
        const EXPECTED: &str = "routes as [[routes]] tables";
        let Some(routes) = value.get_ref().as_array() else {
            let wrong = InvalidValue::kind(value.get_ref(), EXPECTED);
            self.collector.wrong(value.span(), wrong);
            return;
        };
        for route in routes {
            let entry = self.read_route(route, outer.routing);
            outer.routes.extend(entry);
        }
    }

    fn read_route(&mut self, value: &Spanned<DeValue<'_>>, routing: Routing) -> Option<RouteEntry> {
        const KEYS: [&str; 7] = [
            "from",
            "to",
            "links",
            "symmetric",
            "bypass",
            "gateway_from",
            "gateway_to",
        ];
        let collector = &mut *self.collector;
        let section = collector.section(value, value.span(), "route".to_owned(), &KEYS)?;
        let from = collector.required(&section, "from", "\"alice\"");
        let to = collector.required(&section, "to", "\"bob\"");
        let symmetric = collector.optional(&section, "symmetric");
        let bypass = collector.optional(&section, "bypass");
        let gateway_from = collector.optional(&section, "gateway_from");
        let gateway_to = collector.optional(&section, "gateway_to");
        let centred = matches!(routing, Routing::Star | Routing::Vivaldi);
        let links = route_links(collector, &section, centred);
        Some(RouteEntry {
            from: from?,
            to: to?,
            links: links?,
            symmetric: symmetric?.unwrap_or(true),
            bypass: bypass?.unwrap_or(false),
            gateway_from: gateway_from?,
            gateway_to: gateway_to?,
        })
    }
}

pub(super) const LINK_KEYS: [&str; 6] = [
    "bandwidth",
    "latency",
    "sharing",
    "bandwidth_profile",
    "latency_profile",
    "state_profile",
];

/// The keys of a link, in a separate table or among the keys of a cluster.
pub(super) fn link_entry(
    collector: &mut Collector,
    section: &Section<'_>,
    sharing_default: Sharing,
) -> Option<LinkEntry> {
    let bandwidth = collector.required(section, "bandwidth", "\"10Gbps\"");
    let latency = collector.required(section, "latency", "\"1.3us\"");
    let sharing = collector.optional(section, "sharing");
    let mut profile = |key, kind| profile(collector, section, key, kind);
    let bandwidth_profile = profile("bandwidth_profile", ProfileKind::Bandwidth);
    let latency_profile = profile("latency_profile", ProfileKind::Latency);
    let state_profile = profile("state_profile", ProfileKind::State);
    Some(LinkEntry {
        bandwidth: bandwidth?,
        latency: latency?,
        sharing: sharing?.unwrap_or(sharing_default),
        bandwidth_profile: bandwidth_profile?,
        latency_profile: latency_profile?,
        state_profile: state_profile?,
    })
}

/// The links of a route, each a name or `{ link = NAME, direction = "up" or "down" }`.
fn route_links(
    collector: &mut Collector,
    section: &Section<'_>,
    may_be_empty: bool,
) -> Option<Vec<Spanned<LinkUse>>> {
    const EXPECTED: &str = "an array of link names, such as [\"wan\"]";
    let Some(value) = section.get("links") else {
        collector.required::<String>(section, "links", "[\"wan\"]");
        return None;
    };
    let Some(array) = value.get_ref().as_array() else {
        collector.wrong(value.span(), InvalidValue::kind(value.get_ref(), EXPECTED));
        return None;
    };
    if array.is_empty() && !may_be_empty {
        let problem = "a route without links".to_owned();
        collector.add(value.span(), problem, format!("expected {EXPECTED}"), None);
        return None;
    }
    let links: Vec<Option<Spanned<LinkUse>>> = array
        .iter()
        .map(|value| link_use(collector, value))
        .collect();
    links.into_iter().collect()
}

fn link_use(collector: &mut Collector, value: &Spanned<DeValue<'_>>) -> Option<Spanned<LinkUse>> {
    if value.get_ref().is_table() {
        let what = "link of a route".to_owned();
        let section = collector.section(value, value.span(), what, &["link", "direction"])?;
        let link: Option<Spanned<String>> = collector.required(&section, "link", "\"wan\"");
        let direction = collector.optional(&section, "direction");
        let (link, direction) = (link?, direction?.unwrap_or(Direction::Up));
        let span = link.span();
        let link = link.into_inner();
        return Some(Spanned::new(span, LinkUse { link, direction }));
    }
    let link = collector.value(value)?;
    let direction = Direction::Up;
    Some(Spanned::new(value.span(), LinkUse { link, direction }))
}
