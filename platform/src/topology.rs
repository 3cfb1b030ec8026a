//! Clusters whose routes are computed: which cables a transfer crosses between two hosts of a regular network.
//!
//! A topology knows counts only. Its cables and switches are numbered, and a route is a sequence of [`Step`]s found in
//! O(length of the route), without a table: a million hosts cost no more memory than two. The numbers become links,
//! with names and bandwidths, in [`Cluster`](crate::cluster::Cluster).
//!
//! *Nodes* are the hosts, numbered from 0, followed by the switches: each may have a limiter.
//!
//! *Not modelled*: adaptive and random routing. Each pair of hosts has one route per direction, so that traffic that a
//! real adaptive network would spread over several cables can pile up on one.
//!
//! Source: the rules of SimGrid 4.1, checked against routes that it printed (`tests/topologies.rs`).

mod dragonfly;
mod fat_tree;
mod switch;
mod torus;

use std::fmt;
use std::ops::Range;

pub(crate) use dragonfly::Dragonfly;
pub(crate) use fat_tree::FatTree;
pub(crate) use switch::Switch;
pub(crate) use torus::Torus;

/// The largest number of cables in a platform: a cable has two identifiers of 32 bits, and tables are indexed by them.
pub(crate) const CABLES_MAX: u32 = 1 << 28;

/// The largest number of levels of a fat tree and of dimensions of a torus.
pub(crate) const LEVELS_MAX: usize = 16;

/// A part of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A cable, upwards or downwards.
    Cable(Cable, bool),
    /// What limits the traffic through a node, by its number.
    Limiter(u32),
    /// The one link that all traffic of a cluster crosses.
    Backbone,
}

/// A cable of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cable {
    /// From 0, dense.
    pub(crate) index: u32,
    /// How many times the bandwidth of a single cable it has.
    pub(crate) width: u32,
}

/// A regular network.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    Switch(Switch),
    FatTree(FatTree),
    Torus(Torus),
    Dragonfly(Dragonfly),
}

/// Numbers that make no network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// The counts that do not match.
    pub problem: String,
    /// The counts that would.
    pub expected: String,
}

/// What a cable or a switch is called, besides the name of the cluster or of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Label {
    /// Something of the host with this number, with the text that follows its name.
    Host(u32, String),
    /// Something inside, with the text that follows the name of the cluster.
    Inner(String),
}

impl Topology {
    /// Number of switches.
    pub(crate) fn switches(&self) -> u32 {
        match self {
            Self::Switch(_) | Self::Torus(_) => 0,
            Self::FatTree(tree) => tree.switches(),
            Self::Dragonfly(dragonfly) => dragonfly.switches(),
        }
    }

    /// Number of cables.
    pub(crate) fn cables(&self) -> u32 {
        match self {
            Self::Switch(switch) => switch.hosts,
            Self::FatTree(tree) => tree.cables(),
            Self::Torus(torus) => torus.cables(),
            Self::Dragonfly(dragonfly) => dragonfly.cables(),
        }
    }

    /// The way from one host to another, or to itself over its own cable.
    pub(crate) fn walk(&self, from: u32, to: u32, step: &mut impl FnMut(Step)) {
        match self {
            Self::Switch(switch) => switch.walk(from, to, step),
            Self::FatTree(tree) => tree.walk(from, to, step),
            Self::Torus(torus) => torus.walk(from, to, step),
            Self::Dragonfly(dragonfly) => dragonfly.walk(from, to, step),
        }
    }

    /// How many times the bandwidth of a single cable a cable has.
    pub(crate) fn width(&self, cable: u32) -> u32 {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.width(cable),
            Self::Switch(_) | Self::FatTree(_) | Self::Torus(_) => 1,
        }
    }

    /// The cables that are called after a host.
    pub(crate) fn cables_of(&self, host: u32) -> Range<u32> {
        let each = match self {
            Self::Switch(_) | Self::Dragonfly(_) => 1,
            Self::FatTree(tree) => tree.ports(0),
            Self::Torus(torus) => torus.width(),
        };
        host * each..(host + 1) * each
    }

    /// What a cable is called.
    pub(crate) fn cable_label(&self, cable: u32) -> Label {
        match self {
            Self::Switch(_) => Label::Host(cable, String::new()),
            Self::FatTree(tree) => tree.cable_label(cable),
            Self::Torus(torus) => torus.cable_label(cable),
            Self::Dragonfly(dragonfly) => dragonfly.cable_label(cable),
        }
    }

    /// The two nodes that a cable joins, the one from which it leads up first; the switch of a crossbar is the node after
    /// its last host.
    pub(crate) fn ends(&self, cable: u32) -> (u32, u32) {
        match self {
            Self::Switch(switch) => (cable, switch.hosts),
            Self::FatTree(tree) => tree.ends(cable),
            Self::Torus(torus) => torus.ends(cable),
            Self::Dragonfly(dragonfly) => dragonfly.ends(cable),
        }
    }

    /// What a switch is called.
    pub(crate) fn switch_label(&self, switch: u32) -> String {
        match self {
            Self::FatTree(tree) => tree.switch_label(switch),
            Self::Dragonfly(dragonfly) => dragonfly.switch_label(switch),
            Self::Switch(_) | Self::Torus(_) => String::new(),
        }
    }
}

impl Impossible {
    fn new(problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    /// A network of `product` hosts (the product of the numbers in `shape`) for `hosts` hosts.
    fn count(what: &str, shape: &str, product: u64, hosts: u32) -> Self {
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

    /// Follows every route along its cables, and gives the number of hops of each pair.
    fn check(topology: &Topology, hosts: u32) -> Vec<Vec<usize>> {
        let mut hops = vec![vec![0; hosts as usize]; hosts as usize];
        for from in 0..hosts {
            for to in 0..hosts {
                let (mut here, mut count) = (from, 0);
                let mut limited = Vec::new();
                topology.walk(from, to, &mut |step| match step {
                    Step::Cable(cable, down) => {
                        assert!(cable.index < topology.cables());
                        assert_eq!(cable.width, topology.width(cable.index));
                        let (low, high) = topology.ends(cable.index);
                        let (begin, end) = if down { (high, low) } else { (low, high) };
                        assert_eq!(begin, here, "{from} to {to} in {topology:?}");
                        here = end;
                        count += 1;
                    }
                    Step::Limiter(node) => {
                        assert!(node < hosts + topology.switches());
                        limited.push(node);
                    }
                    Step::Backbone => {}
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
            let hops = check(&Topology::Torus(torus), hosts);
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
            let hops = check(&Topology::FatTree(tree), hosts);
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
            let topology = Topology::Dragonfly(dragonfly);
            let hops = check(&topology, hosts);
            for (from, row) in hops.iter().enumerate() {
                for (to, count) in row.iter().enumerate() {
                    let per_group = (chassis * routers * nodes) as usize;
                    let longest = if from / per_group == to / per_group { 4 } else { 7 };
                    prop_assert!((2..=longest).contains(count));
                }
            }
            let mut names: Vec<String> = (0..topology.cables())
                .map(|cable| format!("{:?}", topology.cable_label(cable)))
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
                count += u32::from(matches!(step, Step::Cable(..)));
            });
            count
        };
        assert_eq!(cables(dragonfly), 3);
        assert_eq!(cables(dragonfly.compat(true)), 4);
    }
}
