//! Dragonflies of the Cray Cascade kind: groups of chassis of routers.
//!
//! Every router has a *local* cable to each of its nodes. The routers of a chassis are joined by
//! *green* links, routers in the same place of different chassis of a group by *black* links, and
//! groups by *blue* links: the link between groups `i` and `j` joins router `j` of the first
//! chassis of group `i` and router `i` of the first chassis of group `j`. A link of several cables
//! is one link with the sum of their bandwidths.
//!
//! Routing is minimal. Into another group: green to the router of the blue link, black to the first
//! chassis, blue. Then, in any case: green to the place of the target router, black to its chassis.
//!
//! A transfer crosses the limiter of each node and router on its way; in the list, the limiter of
//! the router before a blue link follows that link, as in SimGrid.
//!
//! SimGrid 4.1 loses the chassis after the last green link: the route continues from the first
//! chassis and is not connected ([`Dragonfly::compat`]).
//!
//! Source: Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network", 2012.

use std::sync::Arc;

use super::{
    Cable, CableDescription, Description, Impossible, NodeLabel, RouteStep, Topology, TopologyKind,
    compat_option, limited, product, shape,
};
use crate::Compat;
use crate::sketch::Shape;

/// The row of the topology in the list of all.
pub(super) const KIND: TopologyKind = TopologyKind {
    name: "dragonfly",
    keys: &["groups", "chassis", "routers", "nodes", "cables", "compat"],
    read: |collector, section, frame| {
        let compat = collector.optional::<Compat>(section, "compat");
        let groups = collector.required(section, "groups", "4");
        let chassis = collector.required(section, "chassis", "2");
        let routers = collector.required(section, "routers", "4");
        let nodes = collector.required(section, "nodes", "2");
        let cables = collector.optional::<[u32; 3]>(section, "cables");
        let counts = [groups?, chassis?, routers?, nodes?];
        let (cables, compat) = (cables?.unwrap_or([1; 3]), compat?);
        let dragonfly = Dragonfly::new(counts, cables, frame.hosts);
        Some(dragonfly.map(|dragonfly| Arc::new(dragonfly.compat(compat.is_some())) as _))
    },
};

/// Counts of a dragonfly.
#[derive(Clone, Copy, Debug)]
pub struct Dragonfly {
    groups: u32,
    /// In each group.
    chassis: u32,
    /// In each chassis.
    routers: u32,
    /// At each router.
    nodes: u32,
    /// In each blue, black and green link.
    cables: [u32; 3],
    /// True if the chassis is lost as by SimGrid 4.1.
    compat: bool,
    /// The first green, black and blue link, and the end of all.
    first: [u32; 4],
}

/// Where a router stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Router {
    group: u32,
    chassis: u32,
    slot: u32,
}

/// The number of pairs among `count` things.
fn pairs(count: u32) -> u32 {
    count * count.saturating_sub(1) / 2
}

/// The number of the pair of two different things among `count`.
fn pair(count: u32, one: u32, two: u32) -> u32 {
    let (low, high) = (one.min(two), one.max(two));
    low * count - low * (low + 1) / 2 + high - low - 1
}

/// The pair with a number: the inverse of [`pair`].
fn unpair(count: u32, mut number: u32) -> (u32, u32) {
    let mut low = 0;
    while number >= count - 1 - low {
        number -= count - 1 - low;
        low += 1;
    }
    (low, low + 1 + number)
}

impl Dragonfly {
    /// A dragonfly with these counts (groups, chassis, routers, nodes) for `hosts` hosts; `cables`
    /// are the numbers of cables of blue, black and green links.
    ///
    /// # Errors
    /// [`Impossible`] if there are more groups than routers in a chassis, or the hosts do not
    /// match.
    pub fn new(counts: [u32; 4], cables: [u32; 3], hosts: u32) -> Result<Self, Impossible> {
        let [groups, chassis, routers, nodes] = counts;
        if groups > routers {
            return Err(Impossible::new(
                format!("{groups} groups, but only {routers} routers in a chassis"),
                "expected at most as many groups: the blue link to group j hangs on router j of a chassis",
            ));
        }
        let count = product(counts);
        if count != u64::from(hosts) {
            return Err(Impossible::count_mismatch(
                "a dragonfly",
                &shape(&counts),
                count,
                hosts,
            ));
        }
        let pairs = |count: u32| u64::from(count) * u64::from(count.saturating_sub(1)) / 2;
        let green = product([groups, chassis]).saturating_mul(pairs(routers));
        let black = product([groups, routers]).saturating_mul(pairs(chassis));
        let mut first = [hosts; 4];
        let mut total = u64::from(hosts);
        for (at, count) in [green, black, pairs(groups)].into_iter().enumerate() {
            total = total.saturating_add(count);
            first[at + 1] = limited("cables", total)?;
        }
        Ok(Self {
            groups,
            chassis,
            routers,
            nodes,
            cables,
            compat: false,
            first,
        })
    }

    /// The same dragonfly with SimGrid's routes.
    #[must_use]
    pub const fn compat(mut self, compat: bool) -> Self {
        self.compat = compat;
        self
    }

    const fn counts(&self) -> [u32; 4] {
        [self.groups, self.chassis, self.routers, self.nodes]
    }

    const fn host_count(&self) -> u32 {
        self.first[0]
    }

    const fn router(&self, number: u32) -> Router {
        let place = number / self.routers;
        Router {
            group: place / self.chassis,
            chassis: place % self.chassis,
            slot: number % self.routers,
        }
    }

    const fn router_number(&self, router: Router) -> u32 {
        (router.group * self.chassis + router.chassis) * self.routers + router.slot
    }

    fn limiter(&self, router: Router) -> RouteStep {
        RouteStep::Limiter(self.host_count() + self.router_number(router))
    }

    fn green(&self, from: Router, slot: u32) -> RouteStep {
        let row = (from.group * self.chassis + from.chassis) * pairs(self.routers);
        let index = self.first[0] + row + pair(self.routers, from.slot, slot);
        let width = self.cables[2];
        RouteStep::Cable(Cable { index, width }, from.slot > slot)
    }

    fn black(&self, from: Router, chassis: u32) -> RouteStep {
        let row = from.group * pairs(self.chassis) + pair(self.chassis, from.chassis, chassis);
        let index = self.first[1] + row * self.routers + from.slot;
        let width = self.cables[1];
        RouteStep::Cable(Cable { index, width }, from.chassis > chassis)
    }

    fn blue(&self, from: u32, to: u32) -> RouteStep {
        let index = self.first[2] + pair(self.groups, from, to);
        let width = self.cables[0];
        RouteStep::Cable(Cable { index, width }, from > to)
    }

    /// To another router of the same group: green, then black; from the first chassis if the
    /// chassis is `lost`.
    fn approach(
        &self,
        here: &mut Router,
        slot: u32,
        chassis: u32,
        lost: bool,
        step: &mut dyn FnMut(RouteStep),
    ) {
        if here.slot != slot {
            step(self.limiter(*here));
            step(self.green(*here, slot));
            here.slot = slot;
            if lost {
                here.chassis = 0;
            }
        }
        if here.chassis != chassis {
            step(self.limiter(*here));
            step(self.black(*here, chassis));
            here.chassis = chassis;
        }
    }

    /// The kind of a cable, 0 for local, 1 to 3 for green, black and blue, and the number of the
    /// cable within this kind.
    fn cable_kind(&self, cable: u32) -> (usize, u32) {
        let kind = self.first[..3].partition_point(|first| *first <= cable);
        let begin = kind.checked_sub(1).map_or(0, |before| self.first[before]);
        (kind, cable - begin)
    }
}

impl Topology for Dragonfly {
    fn description(&self) -> Description {
        let [groups, chassis, routers, nodes] = self.counts();
        let mut keys = vec![
            ("topology", KIND.name.into()),
            ("groups", groups.into()),
            ("chassis", chassis.into()),
            ("routers", routers.into()),
            ("nodes", nodes.into()),
            ("cables", self.cables.to_vec().into()),
        ];
        keys.extend(compat_option(self.compat));
        Description {
            keys,
            summary: format!(
                "dragonfly of {groups} groups x {chassis} chassis x {routers} routers x {nodes} \
                 nodes, cables {:?}",
                self.cables
            ),
            shape: Shape::Groups(self.counts()),
        }
    }

    fn switches(&self) -> u32 {
        self.groups * self.chassis * self.routers
    }

    fn cables(&self) -> u32 {
        self.first[3]
    }

    fn walk(&self, from: u32, to: u32, step: &mut dyn FnMut(RouteStep)) {
        let local = |host| Cable {
            index: host,
            width: 1,
        };
        let target = self.router(to / self.nodes);
        let mut here = self.router(from / self.nodes);
        step(RouteStep::Limiter(from));
        step(RouteStep::Cable(local(from), false));
        if here.group != target.group {
            self.approach(&mut here, target.group, 0, false, step);
            step(self.blue(here.group, target.group));
            step(self.limiter(here));
            here = Router {
                group: target.group,
                chassis: 0,
                slot: here.group,
            };
        }
        self.approach(&mut here, target.slot, target.chassis, self.compat, step);
        step(self.limiter(target));
        step(RouteStep::Cable(local(to), true));
        step(RouteStep::Limiter(to));
    }

    fn describe_cable(&self, cable: u32) -> CableDescription {
        let (kind, number) = self.cable_kind(cable);
        let at = |group, chassis, slot| {
            let router = Router {
                group,
                chassis,
                slot,
            };
            self.host_count() + self.router_number(router)
        };
        let (ends, label) = match kind {
            0 => {
                let ends = (number, self.host_count() + number / self.nodes);
                let label = NodeLabel::Host(number, String::new());
                return CableDescription {
                    label,
                    width: 1,
                    ends,
                };
            }
            1 => {
                let (row, pair) = (number / pairs(self.routers), number % pairs(self.routers));
                let (one, two) = unpair(self.routers, pair);
                let (group, chassis) = (row / self.chassis, row % self.chassis);
                let ends = (at(group, chassis, one), at(group, chassis, two));
                (ends, format!("/green/{group}.{chassis}.{one}-{two}"))
            }
            2 => {
                let (row, slot) = (number / self.routers, number % self.routers);
                let (group, pair) = (row / pairs(self.chassis), row % pairs(self.chassis));
                let (one, two) = unpair(self.chassis, pair);
                let ends = (at(group, one, slot), at(group, two, slot));
                (ends, format!("/black/{group}.{one}-{two}.{slot}"))
            }
            _ => {
                let (one, two) = unpair(self.groups, number);
                let ends = (at(one, 0, two), at(two, 0, one));
                (ends, format!("/blue/{one}-{two}"))
            }
        };
        CableDescription {
            label: NodeLabel::Inner(label),
            width: self.cables[3 - kind],
            ends,
        }
    }

    fn switch_label(&self, switch: u32) -> String {
        let router = self.router(switch);
        format!("/{}.{}.{}", router.group, router.chassis, router.slot)
    }
}
