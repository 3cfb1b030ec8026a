//! The links that a transfer crosses, in order, and the numbers of links.
//!
//! Every physical link has two consecutive [`LinkId`]s, one per direction. A link without
//! directions (`shared`, `fatpipe`) uses only the first of its [`LinkId`]s. So the identifiers of
//! the links of a cluster are computed from the position of the host, and a table indexed by
//! [`LinkId`] stays sparse where no transfer runs.

use std::collections::BTreeMap;
use std::fmt;

/// One direction of a link; the number is dense within a platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// One link on a route, with the properties that a model needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hop {
    /// The link in one of its directions.
    pub link: LinkId,
    /// True if each transfer has the whole bandwidth for itself.
    pub fatpipe: bool,
    /// True if the link is the air of a Wi-Fi zone: its capacity is 1, and each byte per second
    /// takes 1 / `bandwidth`.
    pub air: bool,
    /// True if the route crosses the link against the direction of its declaration, also if both
    /// directions share the link and have one [`LinkId`].
    pub down: bool,
    /// Bytes per second; over the air, the rate of the station.
    pub bandwidth: f64,
}

/// The way from one host to another: a buffer that is filled again and again.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Route {
    /// The links in the order in which the data cross them.
    pub hops: Vec<Hop>,
    /// Sum of the latencies of the links, in seconds, added in the order of the hops.
    pub latency_s: f64,
}

/// Where a route begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RouteEnd {
    /// The host, cluster or router.
    pub(crate) end: u32,
    /// The host or the switch within a cluster; 0 elsewhere.
    pub(crate) offset: u32,
}

/// Two hosts that are not joined by any route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRoute {
    /// The name of the host where the route would begin.
    pub from: String,
    /// The name of the host where the route would end.
    pub to: String,
    /// The host, cluster or zone to write as `from` in a `[[routes]]` entry.
    pub from_end: String,
    /// The host, cluster or zone to write as `to` in a `[[routes]]` entry.
    pub to_end: String,
    /// The table of the missing entry: `routes`, or the table of a zone (`zones.site.routes`).
    pub table: String,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            from_end,
            to_end,
            table,
        } = self;
        write!(
            f,
            "no route from host {from:?} to host {to:?}: add [[{table}]] with from = {from_end:?}, to = {to_end:?}"
        )
    }
}

impl std::error::Error for NoRoute {}

/// A physical link in the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// Position among the physical links.
    pub(crate) number: u32,
    /// Bytes per second.
    pub(crate) bandwidth: f64,
    pub(crate) latency_s: f64,
    pub(crate) sharing: crate::Sharing,
}

impl Wire {
    /// The identifier of one direction.
    pub(crate) const fn id(&self, down: bool) -> LinkId {
        let second = down && matches!(self.sharing, crate::Sharing::SplitDuplex);
        LinkId(2 * self.number + second as u32)
    }

    /// The wire `offset` places further in a row of equal ones.
    pub(crate) const fn shifted(mut self, offset: u32) -> Self {
        self.number += offset;
        self
    }
}

impl Route {
    /// Makes the route empty, but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.hops.clear();
        self.latency_s = 0.0;
    }

    /// Reports whether the route has neither links nor latency.
    pub(crate) fn is_nothing(&self) -> bool {
        self.hops.is_empty() && self.latency_s == 0.0
    }

    /// Adds a link unless the link is already among the hops from number `since` on.
    pub(crate) fn push_once(&mut self, wire: Wire, down: bool, since: usize) {
        let link = wire.id(down);
        if self.hops[since..].iter().all(|hop| hop.link != link) {
            self.push(wire, down);
        }
    }

    pub(crate) fn push(&mut self, wire: Wire, down: bool) {
        self.latency_s += wire.latency_s;
        self.hops.push(Hop {
            link: wire.id(down),
            fatpipe: matches!(wire.sharing, crate::Sharing::FatPipe),
            air: matches!(wire.sharing, crate::Sharing::Wifi),
            down,
            bandwidth: wire.bandwidth,
        });
    }
}

/// The declared routes of all zones, by the numbers of both ends; searched without strings.
///
/// The ways to and from the centre of a star are routes to and from the end of the zone itself.
#[derive(Clone, Default, Debug)]
pub(crate) struct RouteTable {
    /// For each end, the position of its first entry; one more position at the end.
    rows: Vec<u32>,
    /// Sorted by (from, to).
    entries: Vec<DeclaredRoute>,
    /// The links of all routes, one after the other: physical number and direction.
    uses: Vec<(u32, bool)>,
    /// The ways that are taken before any others, by zone and both ends.
    bypasses: BTreeMap<(u32, u32, u32), DeclaredRoute>,
}

/// A declared route, or the way back of a declared route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredRoute {
    pub(crate) from: u32,
    pub(crate) to: u32,
    first: u32,
    pub(crate) count: u32,
    reversed: bool,
    /// The place within `from` where the route begins.
    pub(crate) gateway_from: RouteEnd,
    /// The place within `to` where the route ends.
    pub(crate) gateway_to: RouteEnd,
}

impl RouteTable {
    /// Adds a route, and the opposite route if the route is symmetric; `links` are physical numbers
    /// and directions. A route that bypasses the ways of a zone is stored separately.
    pub(crate) fn add_route(
        &mut self,
        (from, gateway_from): (u32, RouteEnd),
        (to, gateway_to): (u32, RouteEnd),
        links: &[(u32, bool)],
        symmetric: bool,
        bypassed: Option<u32>,
    ) {
        let position =
            |length: usize| u32::try_from(length).expect("fewer than 2^32 links in routes");
        let entry = DeclaredRoute {
            from,
            to,
            first: position(self.uses.len()),
            count: position(links.len()),
            reversed: false,
            gateway_from,
            gateway_to,
        };
        self.uses.extend_from_slice(links);
        let back = DeclaredRoute {
            from: to,
            to: from,
            reversed: true,
            gateway_from: gateway_to,
            gateway_to: gateway_from,
            ..entry
        };
        let both = [Some(entry), (symmetric && from != to).then_some(back)];
        for entry in both.into_iter().flatten() {
            match bypassed {
                Some(zone) => {
                    self.bypasses.insert((zone, entry.from, entry.to), entry);
                }
                None => self.entries.push(entry),
            }
        }
    }

    /// The way between two ends that is taken before any other of a zone.
    pub(crate) fn bypass(&self, zone: u32, from: u32, to: u32) -> Option<&DeclaredRoute> {
        self.bypasses.get(&(zone, from, to))
    }

    /// The ends within zones at which routes of these begin or end; some occur more than once.
    pub(crate) fn gateways(&self) -> impl Iterator<Item = u32> + use<'_> {
        let all = self.entries.iter().chain(self.bypasses.values());
        all.flat_map(|entry| {
            [
                (entry.from, entry.gateway_from),
                (entry.to, entry.gateway_to),
            ]
        })
        .filter(|(end, gateway)| *end != gateway.end)
        .map(|(_, gateway)| gateway.end)
    }

    /// Reports whether any zone has such ways.
    pub(crate) fn has_bypasses(&self) -> bool {
        !self.bypasses.is_empty()
    }

    /// Prepares the search among `ends` ends; no route is added afterwards.
    pub(crate) fn prepare_search(&mut self, ends: usize) {
        self.entries.sort_by_key(|entry| (entry.from, entry.to));
        self.rows = vec![0; ends + 1];
        for entry in &self.entries {
            self.rows[entry.from as usize + 1] += 1;
        }
        for end in 0..ends {
            self.rows[end + 1] += self.rows[end];
        }
    }

    /// The routes that begin at an end, and the number of the first of them.
    pub(crate) fn routes_from(&self, from: u32) -> (u32, &[DeclaredRoute]) {
        let (begin, end) = (self.rows[from as usize], self.rows[from as usize + 1]);
        (begin, &self.entries[begin as usize..end as usize])
    }

    pub(crate) fn find(&self, from: u32, to: u32) -> Option<&DeclaredRoute> {
        let (_, row) = self.routes_from(from);
        let at = row.binary_search_by_key(&to, |entry| entry.to).ok()?;
        Some(&row[at])
    }

    /// The route with a number.
    pub(crate) fn entry(&self, number: u32) -> &DeclaredRoute {
        &self.entries[number as usize]
    }

    /// The links of a route in order: physical number and direction.
    pub(crate) fn links(
        &self,
        entry: &DeclaredRoute,
    ) -> impl Iterator<Item = (u32, bool)> + use<'_> {
        let uses = &self.uses[entry.first as usize..(entry.first + entry.count) as usize];
        let reversed = entry.reversed;
        (0..uses.len()).map(move |at| {
            if reversed {
                let (wire, down) = uses[uses.len() - 1 - at];
                (wire, !down)
            } else {
                uses[at]
            }
        })
    }

    /// Number of pairs of ends that have a route, each direction counted.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
