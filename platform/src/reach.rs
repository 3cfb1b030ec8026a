//! Members of zones that do not reach each other, found zone by zone and not by all pairs of hosts.
//!
//! Two hosts reach each other if in every zone all members with hosts, and the gateways that lead
//! out of the zone, are joined. So each zone is checked alone, at the cost of its declared routes;
//! one gap is reported per zone.
//!
//! *Not modelled*: a route of an outer zone that bypasses a gap. The gap is reported all the same.

use std::collections::BTreeSet;
use std::fmt;

use crate::Routing;
use crate::platform::Platform;
use crate::zone::ZoneTree;

/// Two members of a zone of which one does not reach the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreachable {
    /// The host, router, cluster or zone where a route is missing.
    pub from: String,
    /// The host, router, cluster or zone that `from` does not reach.
    pub to: String,
    /// The table of the missing entry: `routes`, or the table of a zone (`zones.site.routes`).
    pub table: String,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, table } = self;
        write!(
            f,
            "{from:?} does not reach {to:?}: expected a route from {from:?} to {to:?} in [[{table}]]"
        )
    }
}

impl ZoneTree {
    /// Members of a zone that contain hosts or lead out of the zone, by zone.
    fn zone_members(&self) -> Vec<Vec<u32>> {
        let mut wanted: BTreeSet<u32> = self.table.gateways().collect();
        wanted.extend(0..self.singles);
        let clusters = u32::try_from(self.clusters.len()).expect("fewer clusters than hosts");
        wanted.extend(self.singles..self.singles + clusters);
        let mut members = vec![Vec::new(); self.zones.len()];
        let mut open: Vec<u32> = wanted.iter().copied().collect();
        while let Some(end) = open.pop() {
            let zone = self.zone_of[end as usize];
            if end == self.zone_end(0) {
                continue;
            }
            members[zone as usize].push(end);
            let around = self.zone_end(zone);
            if wanted.insert(around) {
                open.push(around);
            }
        }
        for list in &mut members {
            list.sort_unstable();
        }
        members
    }

    /// A pair of members of each zone of which the first does not reach the second.
    fn gaps(&self) -> Vec<(u32, u32, u32)> {
        let all = self.zone_members();
        let gap = |(zone, members): (u32, &Vec<u32>)| {
            let (from, to) = self.gap(zone, members)?;
            Some((zone, from, to))
        };
        (0..).zip(&all).filter_map(gap).collect()
    }

    fn gap(&self, zone: u32, members: &[u32]) -> Option<(u32, u32)> {
        let (first, others) = members.split_first()?;
        let second = others.first()?;
        match self.zones[zone as usize].routing {
            Routing::Wifi => None,
            Routing::None => Some((*first, *second)),
            Routing::Star | Routing::Vivaldi => members.iter().find_map(|member| {
                let other = if member == first { *second } else { *first };
                let (up, down) = self.joins_centre(zone, *member);
                match (up, down) {
                    (false, _) => Some((*member, other)),
                    (true, false) => Some((other, *member)),
                    (true, true) => None,
                }
            }),
            Routing::Full => members.iter().find_map(|from| {
                let (_, row) = self.table.routes_from(*from);
                let known: BTreeSet<u32> = row.iter().map(|entry| entry.to).collect();
                let mut missing = members
                    .iter()
                    .filter(|to| *to != from && !known.contains(to));
                let to = missing.find(|to| self.table.bypass(zone, *from, **to).is_none())?;
                Some((*from, *to))
            }),
            Routing::Dijkstra | Routing::Floyd => others.iter().find_map(|other| {
                let pairs = [(*first, *other), (*other, *first)];
                let mut gaps = pairs.into_iter();
                gaps.find(|(from, to)| self.find_path(zone, *from, *to).is_none())
            }),
        }
    }
}

impl Platform {
    /// Finds hosts that cannot reach each other: one gap of each zone that has gaps; an empty list
    /// for models without links.
    #[must_use]
    pub fn unreachable(&self) -> Vec<Unreachable> {
        if self.network().needs_no_routes() {
            return Vec::new();
        }
        let name = |end| self.end_name(end).to_owned();
        let gaps = self.tree.gaps().into_iter();
        gaps.map(|(zone, from, to)| Unreachable {
            from: name(from),
            to: name(to),
            table: self.tree.zones[zone as usize].table.clone(),
        })
        .collect()
    }
}
