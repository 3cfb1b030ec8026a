//! `<zone>` and its contents: hosts, routers, links, clusters, routes, peers, cabinets.

use toml::Spanned;

use super::values::{Importer, spanned_at};
use super::xml::Element;
use platform::ZONE_DEPTH_MAX;
use platform::file::{
    Direction, HostEntry, LinkEntry, LinkUse, Named, RouteEntry, ToItself, ZoneEntry, cut,
};
use platform::{Routing, Sharing};

/// In place of a member: the centre of a star.
const CENTRE: &str = "*";

/// Properties of a host that are carried over.
const HOST_KEYS: [&str; 9] = [
    "id",
    "speed",
    "core",
    "coordinates",
    "pstate",
    "speed_file",
    "availability_file",
    "state_file",
    "state",
];

impl Importer {
    pub(super) fn zone(&mut self, element: &Element) -> ZoneEntry {
        let mut zone = ZoneEntry::default();
        let cluster = self.routing(element, &mut zone);
        self.required(element, "id");
        // It belongs to the ways of all hosts of the zone, also of those in front of it.
        let found = element
            .children
            .iter()
            .find(|child| child.name == "backbone");
        let backbone = found.filter(|_| cluster).and_then(|found| found.get("id"));
        for child in &element.children {
            match child.name.as_str() {
                "link" | "prop" if self.is_of_wifi(element, child) => {}
                "cabinet" => self.cabinet(child, backbone, &mut zone),
                "backbone" => {
                    self.backbone(child, &mut zone);
                    if !cluster {
                        self.add_note(
                            child,
                            "a <backbone> outside of routing=\"Cluster\" is on no route",
                        );
                    }
                }
                name => self.member(name, child, &mut zone),
            }
        }
        if cluster {
            for child in &element.children {
                if child.name == "host_link" {
                    self.host_link(child, backbone, &mut zone);
                }
            }
        }
        if zone.routing == Routing::Vivaldi {
            self.join_inner_zones(element, &mut zone);
        }
        zone
    }

    /// Sets the rule; true for `Cluster`, a star over `<host_link>`s.
    fn routing(&mut self, element: &Element, zone: &mut ZoneEntry) -> bool {
        let routing = self.required(element, "routing").unwrap_or_default();
        zone.routing = match routing {
            "Full" => Routing::Full,
            "Floyd" => Routing::Floyd,
            "Dijkstra" | "DijkstraCache" => Routing::Dijkstra,
            "Vivaldi" => Routing::Vivaldi,
            "Star" | "Cluster" => Routing::Star,
            "None" | "NONE" | "none" | "" => Routing::None,
            "Wifi" | "WIFI" => {
                self.wifi(element, zone);
                Routing::Wifi
            }
            other => {
                let problem = format!("routing={:?} of <{}>", cut(other), element.name);
                let expected =
                    "expected Full, Floyd, Dijkstra, Vivaldi, Cluster, Star, Wifi or None";
                self.diagnostic(element, problem, expected);
                Routing::None
            }
        };
        if matches!(
            zone.routing,
            Routing::Star | Routing::Vivaldi | Routing::Wifi
        ) {
            zone.to_itself = ToItself::Links;
        }
        routing == "Cluster"
    }

    fn member(&mut self, name: &str, child: &Element, zone: &mut ZoneEntry) {
        match name {
            "host" => self.read_host(child, zone),
            "router" => self.router(child, zone),
            "link" => {
                let entry = self.read_link(child);
                if let (Some(entry), Some(id)) = (entry, self.required(child, "id")) {
                    let name = spanned_at(child, id.to_owned());
                    zone.links.push(Named { name, entry });
                }
            }
            "cluster" => zone.clusters.extend(self.cluster(child)),
            "zone" | "AS" if self.depth == ZONE_DEPTH_MAX => {
                let problem = format!("zones nest more than {ZONE_DEPTH_MAX} deep");
                self.diagnostic(child, problem, "expected fewer zones around it");
            }
            "zone" | "AS" => {
                self.depth += 1;
                let entry = self.zone(child);
                self.depth -= 1;
                let name = spanned_at(child, child.get("id").unwrap_or_default().to_owned());
                zone.zones.push(Named { name, entry });
            }
            "route" | "zoneRoute" | "ASroute" => self.read_route(child, zone),
            "host_link" => {}
            "peer" => self.peer(child, zone),
            "trace" | "trace_connect" => {}
            "bypassRoute" | "bypassZoneRoute" | "bypassASroute" => self.bypass(child, zone),
            "prop" | "storage" | "storage_type" | "mount" | "disk" => self.left_out(child),
            _ => self.unknown(child),
        }
    }

    fn read_host(&mut self, element: &Element, zone: &mut ZoneEntry) {
        let id = self.required(element, "id");
        if let Some(id) = id.filter(|id| id.contains(['[', ']'])) {
            let problem = format!("brackets in the name of a host: {:?}", cut(id));
            self.diagnostic(element, problem, "expected a name without brackets");
        }
        let speed = self.speed(element);
        let cores = self.cores(element);
        let coordinates = self.coordinates(element);
        let disks = self.disks(element);
        let (speed_profile, state_profile) = self.host_profiles(element);
        self.note_unread(element, &HOST_KEYS);
        if let (Some(id), Some((speed, pstate)), Some(cores)) = (id, speed, cores) {
            let entry = HostEntry {
                speed,
                pstate,
                cores,
                coordinates,
                speed_profile,
                state_profile,
                wifi_level: None,
                disks,
            };
            let name = spanned_at(element, id.to_owned());
            zone.hosts.push(Named { name, entry });
        }
    }

    fn router(&mut self, element: &Element, zone: &mut ZoneEntry) {
        if let Some(id) = self.required(element, "id") {
            zone.routers.push(spanned_at(element, id.to_owned()));
        }
        self.note_unread(element, &["id", "coordinates"]);
    }

    /// The link that all transfers of a zone cross.
    fn backbone(&mut self, element: &Element, zone: &mut ZoneEntry) {
        let entry = self.read_link(element);
        if let (Some(entry), Some(id)) = (entry, self.required(element, "id")) {
            let name = spanned_at(element, id.to_owned());
            zone.links.push(Named { name, entry });
        }
    }

    /// The links of a host of a `Cluster` zone, with the backbone, to and from the centre.
    fn host_link(&mut self, element: &Element, backbone: Option<&str>, zone: &mut ZoneEntry) {
        let id = self.required(element, "id");
        let up = self.required(element, "up");
        let down = self.required(element, "down");
        let (Some(id), Some(up), Some(down)) = (id, up, down) else {
            return;
        };
        self.note_unread(element, &["id", "up", "down"]);
        let backbone = backbone.map(|name| self.link_use(name, None).0);
        let up = [Some(self.link_use(up, None).0), backbone.clone()];
        let down = [backbone, Some(self.link_use(down, None).0)];
        zone.routes.push(one_way(element, [id, CENTRE], up));
        zone.routes.push(one_way(element, [CENTRE, id], down));
    }

    /// The links in a route; a flag says that the name of the link itself has the direction.
    fn links_of(&mut self, route: &Element) -> Vec<(Spanned<LinkUse>, bool)> {
        let mut links: Vec<(Spanned<LinkUse>, bool)> = Vec::new();
        for child in &route.children {
            match (child.name.as_str(), child.get("id")) {
                ("link_ctn", Some(id)) => {
                    let (usage, fixed) = self.link_use(id, child.get("direction"));
                    links.push((spanned_at(child, usage), fixed));
                }
                ("link_ctn", None) => {
                    self.required(child, "id");
                }
                _ => self.left_out(child),
            }
        }
        links
    }

    /// A way in one direction that is taken in place of the one that the zone gives.
    fn bypass(&mut self, element: &Element, zone: &mut ZoneEntry) {
        let links = self.links_of(element);
        let from = self.required(element, "src");
        let to = self.required(element, "dst");
        self.attributes_left(element, &["src", "dst", "gw_src", "gw_dst"]);
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        zone.routes.push(RouteEntry {
            from: spanned_at(element, from.to_owned()),
            to: spanned_at(element, to.to_owned()),
            links: links.into_iter().map(|(usage, _)| usage).collect(),
            symmetric: false,
            bypass: true,
            gateway_from: self.gateway(element, "gw_src", from),
            gateway_to: self.gateway(element, "gw_dst", to),
        });
    }

    fn read_route(&mut self, element: &Element, zone: &mut ZoneEntry) {
        let from = self.required(element, "src");
        let to = self.required(element, "dst");
        let links = self.links_of(element);
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        if links.is_empty() && !matches!(zone.routing, Routing::Star | Routing::Vivaldi) {
            let problem = format!("<{}> without links", element.name);
            self.diagnostic(element, problem, "expected <link_ctn id=\"…\"/> in it");
            return;
        }
        let gateways = [
            self.gateway(element, "gw_src", from),
            self.gateway(element, "gw_dst", to),
        ];
        let word = element.get("symmetrical").unwrap_or("YES");
        let symmetric = matches!(word, "YES" | "yes");
        push_route(zone, element, [from, to], gateways, &links, symmetric);
    }

    /// Returns a gateway: for the switch of a cluster the name of the cluster; `None` if the
    /// gateway is the member itself.
    fn gateway(&self, element: &Element, key: &str, member: &str) -> Option<Spanned<String>> {
        let name = element.get(key)?;
        let name = self.switches.get(name).map_or(name, String::as_str);
        (name != member).then(|| spanned_at(element, name.to_owned()))
    }

    /// Adds a host with two separate links in a *vivaldi* zone.
    fn peer(&mut self, element: &Element, zone: &mut ZoneEntry) {
        let id = self.required(element, "id");
        let speed = self.speed(element);
        let up = self.bandwidth(element, "bw_out");
        let down = self.bandwidth(element, "bw_in");
        let coordinates = self.coordinates(element);
        let (speed_profile, state_profile) = self.host_profiles(element);
        let known = [&HOST_KEYS[..], &["bw_in", "bw_out"]].concat();
        self.note_unread(element, &known);
        let (Some(id), Some((speed, pstate)), Some(up), Some(down)) = (id, speed, up, down) else {
            return;
        };
        let entry = HostEntry {
            speed,
            pstate,
            cores: 1,
            coordinates,
            speed_profile,
            state_profile,
            wifi_level: None,
            disks: Vec::new(),
        };
        let name = spanned_at(element, id.to_owned());
        zone.hosts.push(Named { name, entry });
        let latency = |importer: &mut Self| importer.latency(element, "no_latency");
        let mut link = |name: &str, bandwidth| {
            let entry = LinkEntry::new(bandwidth, latency(self)?, Sharing::Shared);
            let name = spanned_at(element, name.to_owned());
            zone.links.push(Named { name, entry });
            Some(())
        };
        let (up_name, down_name) = (format!("link_{id}_UP"), format!("link_{id}_DOWN"));
        link(&up_name, up);
        link(&down_name, down);
        let usage = |link| LinkUse {
            link,
            direction: Direction::Up,
        };
        zone.routes
            .push(one_way(element, [id, CENTRE], [Some(usage(up_name)), None]));
        zone.routes.push(one_way(
            element,
            [CENTRE, id],
            [Some(usage(down_name)), None],
        ));
    }

    /// Equal hosts of a `Cluster` zone, each with a link, joined by the backbone of the zone.
    fn cabinet(&mut self, element: &Element, backbone: Option<&str>, zone: &mut ZoneEntry) {
        /// Cabinets are expanded, so their size is limited to a size that can be written by hand.
        const HOSTS_MAX: u32 = 100_000;
        let hosts = self.radical(element);
        let speed = self.speed(element);
        let bandwidth = self.bandwidth(element, "bw");
        let latency = self.latency(element, "lat");
        self.note_unread(
            element,
            &["id", "prefix", "suffix", "radical", "speed", "bw", "lat"],
        );
        let (Some(hosts), Some((speed, pstate)), Some(bandwidth), Some(latency)) =
            (hosts, speed, bandwidth, latency)
        else {
            return;
        };
        if hosts.count() > HOSTS_MAX {
            let problem = format!("a <cabinet> of {} hosts", hosts.count());
            let expected = format!("expected at most {HOSTS_MAX}; a <cluster> can have more");
            self.diagnostic(element, problem, expected);
            return;
        }
        for name in (0..hosts.count()).map(|host| hosts.name(host)) {
            let link = format!("link_{name}");
            let usage = LinkUse {
                link: link.clone(),
                direction: Direction::Up,
            };
            let backbone = backbone.map(|name| self.link_use(name, None).0);
            let back = LinkUse {
                link: link.clone(),
                direction: Direction::Down,
            };
            let up = [Some(usage), backbone.clone()];
            zone.routes.push(one_way(element, [&name, CENTRE], up));
            zone.routes
                .push(one_way(element, [CENTRE, &name], [backbone, Some(back)]));
            let (bandwidth, latency) = (bandwidth.clone(), latency.clone());
            let entry = LinkEntry::new(bandwidth, latency, Sharing::SplitDuplex);
            let link = spanned_at(element, link);
            zone.links.push(Named { name: link, entry });
            let entry = HostEntry {
                speed: speed.clone(),
                pstate,
                cores: 1,
                coordinates: None,
                speed_profile: None,
                state_profile: None,
                wifi_level: None,
                disks: Vec::new(),
            };
            let name = spanned_at(element, name);
            zone.hosts.push(Named { name, entry });
        }
    }

    /// In *vivaldi* zones, inner zones are reached over the router that is called after them.
    fn join_inner_zones(&mut self, element: &Element, zone: &mut ZoneEntry) {
        for inner in &mut zone.zones {
            let name = inner.name.get_ref().clone();
            let gateway = format!("router_{name}");
            let router = find_router(element, &gateway);
            inner.entry.coordinates = router.and_then(|router| self.coordinates(router));
            inner.entry.gateway = router.map(|_| spanned_at(element, gateway));
            let mut route = one_way(element, [&name, CENTRE], [None, None]);
            route.symmetric = true;
            zone.routes.push(route);
        }
    }
}

/// The router with an id, anywhere inside.
fn find_router<'e>(element: &'e Element, id: &str) -> Option<&'e Element> {
    element.children.iter().find_map(|child| {
        if child.name == "router" && child.get("id") == Some(id) {
            Some(child)
        } else {
            find_router(child, id)
        }
    })
}

fn one_way(element: &Element, [from, to]: [&str; 2], links: [Option<LinkUse>; 2]) -> RouteEntry {
    RouteEntry {
        from: spanned_at(element, from.to_owned()),
        to: spanned_at(element, to.to_owned()),
        links: links
            .into_iter()
            .flatten()
            .map(|usage| spanned_at(element, usage))
            .collect(),
        symmetric: false,
        bypass: false,
        gateway_from: None,
        gateway_to: None,
    }
}

/// Adds a route. A symmetric route over links with a direction in their names becomes two routes,
/// because the reverse route does not reverse these links.
fn push_route(
    zone: &mut ZoneEntry,
    element: &Element,
    [from, to]: [&str; 2],
    [gateway_from, gateway_to]: [Option<Spanned<String>>; 2],
    links: &[(Spanned<LinkUse>, bool)],
    symmetric: bool,
) {
    let fixed = links.iter().any(|(_, fixed)| *fixed);
    let uses = links.iter().map(|(usage, _)| usage.clone());
    zone.routes.push(RouteEntry {
        from: spanned_at(element, from.to_owned()),
        to: spanned_at(element, to.to_owned()),
        links: uses.collect(),
        symmetric: symmetric && !fixed,
        bypass: false,
        gateway_from: gateway_from.clone(),
        gateway_to: gateway_to.clone(),
    });
    if symmetric && fixed && from != to {
        let back = links.iter().rev().map(|(usage, fixed)| {
            let mut usage = usage.clone();
            if !fixed {
                let direction = &mut usage.get_mut().direction;
                *direction = direction.opposite();
            }
            usage
        });
        zone.routes.push(RouteEntry {
            from: spanned_at(element, to.to_owned()),
            to: spanned_at(element, from.to_owned()),
            links: back.collect(),
            symmetric: false,
            bypass: false,
            gateway_from: gateway_to,
            gateway_to: gateway_from,
        });
    }
}
