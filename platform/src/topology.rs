//! Clusters with computed routes: the cables that a transfer crosses between two hosts of a regular
//! network.
//!
//! A topology stores counts only. Its cables and switches are numbered, and a route is a sequence
//! of [`RouteStep`]s found in O(length of the route), without a table: a million hosts need no more
//! memory than two hosts. `cluster` turns the numbers into links with names and bandwidths.
//!
//! *Nodes* are the hosts, numbered from 0, followed by the switches: each may have a limiter.
//!
//! *Not modelled*: adaptive and random routing. Each pair of hosts has one route per direction, so
//! traffic that a real adaptive network would spread over several cables can pile up on one cable.
//!
//! Source: the rules of SimGrid 4.1, checked against routes that SimGrid printed
//! (`tests/topologies.rs`).

mod dragonfly;
mod fat_tree;
mod switch;
mod torus;

use std::fmt;
use std::sync::Arc;

use toml::Value;

use crate::file::{Collector, Section};
use crate::sketch::Shape;
use crate::{Compat, Sharing};

pub use dragonfly::Dragonfly;
pub use fat_tree::FatTree;
pub use switch::Switch;
pub use torus::Torus;

/// All topologies, in the order of the documentation. A new topology is a file, a `mod` and a line
/// here.
pub(crate) const KINDS: &[TopologyKind] = &[
    switch::CROSSBAR,
    switch::BACKBONE,
    fat_tree::KIND,
    torus::KIND,
    dragonfly::KIND,
];

/// A kind of topology, with its name in a platform file.
pub(crate) struct TopologyKind {
    /// The value of the key `topology`.
    pub(crate) name: &'static str,
    /// Keys of a cluster that belong to some topologies only, this one among them.
    pub(crate) keys: &'static [&'static str],
    /// Reads them; `None` if a mistake in them is already recorded.
    pub(crate) read: fn(&mut Collector, &Section<'_>, ClusterShape) -> Option<Built>,
}

/// A topology, or the reason why its counts make no network.
pub type Built = Result<Arc<dyn Topology>, Impossible>;

/// The properties of a cluster on which its topology depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterShape {
    /// Number of hosts.
    pub(crate) hosts: u32,
    /// The way in which transfers share a cable.
    pub(crate) sharing: Sharing,
}

/// The largest number of cables in a platform: a cable has two identifiers of 32 bits, and tables
/// are indexed by them.
pub(crate) const CABLES_MAX: u32 = 1 << 28;

/// The largest number of levels of a fat tree and of dimensions of a torus.
pub(crate) const LEVELS_MAX: usize = 16;

/// A part of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteStep {
    /// A cable, upwards or downwards.
    Cable(Cable, bool),
    /// The limiter of the traffic through a node, by the number of the node.
    Limiter(u32),
    /// The one link that all traffic of a cluster crosses.
    Backbone,
}

/// A cable of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    /// From 0, dense.
    pub index: u32,
    /// Bandwidth as a multiple of the bandwidth of a single cable.
    pub width: u32,
}

/// A regular network between the hosts of a cluster.
pub trait Topology: fmt::Debug + Send + Sync {
    /// Returns the texts and the picture of the topology.
    fn description(&self) -> Description;

    /// Returns the number of switches.
    fn switches(&self) -> u32 {
        0
    }

    /// Returns the number of cables.
    fn cables(&self) -> u32;

    /// Returns the number of cables that have the name of a host: the cables of host 0 come first,
    /// then the cables of host 1, and so on.
    fn cables_per_host(&self) -> u32 {
        1
    }

    /// Passes each step of the route from one host to another, or to itself over the host's cable.
    fn walk(&self, from: u32, to: u32, step: &mut dyn FnMut(RouteStep));

    /// Returns the name, the width and the ends of a cable.
    fn describe_cable(&self, cable: u32) -> CableDescription;

    /// Returns the part of the name of a switch that follows the name of the cluster.
    fn switch_label(&self, _switch: u32) -> String {
        String::new()
    }

    /// Returns the one switch in which routes to and from outside begin, if there is one.
    fn centre(&self) -> Option<&Switch> {
        None
    }
}

/// The texts and the picture of a topology.
#[derive(Debug)]
pub struct Description {
    /// The key `topology` and the topology's own keys in a platform file with their values, every
    /// default spelled out.
    pub keys: Vec<(&'static str, Value)>,
    /// The counts of the topology in a few words, for the summary of a platform.
    pub summary: String,
    /// The arrangement of the nodes in a picture.
    pub shape: Shape,
}

/// The name, the width and the ends of a cable.
#[derive(Debug)]
pub struct CableDescription {
    /// The name of the cable.
    pub label: NodeLabel,
    /// Bandwidth as a multiple of the bandwidth of a single cable.
    pub width: u32,
    /// The two nodes that the cable joins, first the node from which the cable leads up; the switch
    /// of a crossbar is the node after its last host.
    pub ends: (u32, u32),
}

/// Numbers that make no network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// The counts that do not match.
    pub problem: String,
    /// The counts that would.
    pub expected: String,
}

/// The name of a cable or a switch, without the name of the cluster or of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeLabel {
    /// A cable of the host with this number; the text follows the name of the host.
    Host(u32, String),
    /// A cable or switch inside; the text follows the name of the cluster.
    Inner(String),
}

impl Impossible {
    fn new(problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    /// A network of `product` hosts (the product of the numbers in `shape`) for `hosts` hosts.
    fn count_mismatch(what: &str, shape: &str, product: u64, hosts: u32) -> Self {
        Self::new(
            format!("{what} of {shape} = {product} hosts, but \"hosts\" names {hosts}"),
            "expected as many hosts as the numbers make",
        )
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem, self.expected)
    }
}

/// The option `compat`, if it is on.
fn compat_option(compat: bool) -> Option<(&'static str, Value)> {
    compat.then(|| {
        (
            "compat",
            Value::try_from(Compat::Simgrid41).expect("a string"),
        )
    })
}

/// The numbers as a product, such as `4 x 4 x 2`.
fn shape(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    texts.join(" x ")
}

/// The product of numbers, saturating.
fn product(numbers: impl IntoIterator<Item = u32>) -> u64 {
    numbers.into_iter().fold(1, |product, number| {
        product.saturating_mul(u64::from(number))
    })
}

/// A number of cables or switches, unless there are too many.
fn limited(what: &str, count: u64) -> Result<u32, Impossible> {
    u32::try_from(count)
        .ok()
        .filter(|count| *count <= CABLES_MAX)
        .ok_or_else(|| {
            Impossible::new(
                format!("too many {what}: {count}"),
                format!("expected at most {CABLES_MAX}"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Follows every route along its cables, and returns the number of hops of each pair.
    fn check(topology: &dyn Topology, hosts: u32) -> Vec<Vec<usize>> {
        let mut hops = vec![vec![0; hosts as usize]; hosts as usize];
        for from in 0..hosts {
            for to in 0..hosts {
                let (mut here, mut count) = (from, 0);
                let mut limited = Vec::new();
                topology.walk(from, to, &mut |step| match step {
                    RouteStep::Cable(cable, down) => {
                        assert!(cable.index < topology.cables());
                        let described = topology.describe_cable(cable.index);
                        assert_eq!(cable.width, described.width);
                        let (low, high) = described.ends;
                        let (begin, end) = if down { (high, low) } else { (low, high) };
                        assert_eq!(begin, here, "{from} to {to} in {topology:?}");
                        here = end;
                        count += 1;
                    }
                    RouteStep::Limiter(node) => {
                        assert!(node < hosts + topology.switches());
                        limited.push(node);
                    }
                    RouteStep::Backbone => {}
                });
                if from != to {
                    assert_eq!(here, to, "{from} to {to} in {topology:?}");
                    assert_eq!((limited[0], limited.last()), (from, Some(&to)));
                }
                hops[from as usize][to as usize] = count;
            }
        }
        hops
    }

    fn distance(from: u32, to: u32, size: u32) -> usize {
        let far = from.abs_diff(to);
        far.min(size - far) as usize
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn routes_of_a_torus_are_connected_and_shortest(dimensions in prop::collection::vec(1_u32..6, 1..4)) {
            let hosts = dimensions.iter().product();
            let torus = Torus::new(&dimensions, hosts).expect("a torus");
            let hops = check(&torus, hosts);
            for from in 0..hosts {
                for to in 0..hosts {
                    let mut stride = 1;
                    let mut expected = 0;
                    for size in &dimensions {
                        expected += distance(from / stride % size, to / stride % size, *size);
                        stride *= size;
                    }
                    prop_assert_eq!(hops[from as usize][to as usize], expected);
                }
            }
        }

        #[test]
        fn routes_of_a_fat_tree_are_connected_and_meet_at_the_lowest_common_level(
            levels in prop::collection::vec((1_u32..5, 1_u32..4, 1_u32..4), 1..4), compat in any::<bool>(),
        ) {
            let down: Vec<u32> = levels.iter().map(|level| level.0).collect();
            let up: Vec<u32> = levels.iter().map(|level| level.1).collect();
            let cables: Vec<u32> = levels.iter().map(|level| level.2).collect();
            let hosts = down.iter().product();
            let tree = FatTree::new(&down, &up, &cables, hosts).expect("a fat tree").compat(compat);
            let hops = check(&tree, hosts);
            for from in 0..hosts {
                for to in 0..hosts {
                    let (mut one, mut two, mut level) = (from, to, 0);
                    while one != two || level == 0 {
                        (one, two) = (one / down[level], two / down[level]);
                        level += 1;
                    }
                    prop_assert_eq!(hops[from as usize][to as usize], 2 * level);
                }
            }
        }

        #[test]
        fn routes_of_a_dragonfly_are_connected_and_minimal(
            routers in 1_u32..5, groups in 1_u32..5, chassis in 1_u32..4, nodes in 1_u32..3,
        ) {
            let groups = groups.min(routers);
            let hosts = groups * chassis * routers * nodes;
            let dragonfly = Dragonfly::new([groups, chassis, routers, nodes], [3, 2, 4], hosts).expect("a dragonfly");
            let topology = dragonfly;
            let hops = check(&topology, hosts);
            for (from, row) in hops.iter().enumerate() {
                for (to, count) in row.iter().enumerate() {
                    let per_group = (chassis * routers * nodes) as usize;
                    let longest = if from / per_group == to / per_group { 4 } else { 7 };
                    prop_assert!((2..=longest).contains(count));
                }
            }
            let mut names: Vec<String> = (0..topology.cables())
                .map(|cable| format!("{:?}", topology.describe_cable(cable).label))
                .collect();
            names.sort();
            names.dedup();
            prop_assert_eq!(names.len(), topology.cables() as usize);
        }
    }

    #[test]
    fn a_lost_chassis_is_not_connected_and_only_there_on_request() {
        let dragonfly = Dragonfly::new([1, 2, 2, 1], [1; 3], 4).expect("a dragonfly");
        let cables = |dragonfly: Dragonfly| {
            let mut count = 0;
            dragonfly.walk(2, 3, &mut |step| {
                count += u32::from(matches!(step, RouteStep::Cable(..)));
            });
            count
        };
        assert_eq!(cables(dragonfly), 3);
        assert_eq!(cables(dragonfly.compat(true)), 4);
    }
}
