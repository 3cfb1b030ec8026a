//! Fat trees: levels of switches, with several parents per node and several cables to each parent.
//!
//! The tree is an XGFT with parallel cables: a node of level `l` has `up[l]` parents and
//! `cables[l]` cables to each; a switch of level `l + 1` has `down[l]` children. A node is
//! identified by its digits: digit `j` counts parents if `j` is below the level of the node,
//! otherwise children. Parent and child differ in one digit only.
//!
//! Routing is d-mod-k: the destination selects the way up, until the destination is below; on the
//! way down the source selects one of the parallel cables. So all routes to one host meet early and
//! all shift permutations are free of contention in a balanced tree.
//!
//! A transfer crosses the limiter of each node on its way.
//!
//! SimGrid 4.1 continues counting cables from the level above if there are parallel cables, so that
//! the source alone no longer selects the cable ([`FatTree::compat`]).
//!
//! Source: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real
//! life fat trees", 2010.

use std::sync::Arc;

use super::{
    Cable, CableDescription, Description, Impossible, LEVELS_MAX, NodeLabel, RouteStep, Topology,
    TopologyKind, compat_option, limited, product, shape,
};
use crate::Compat;
use crate::sketch::Shape;

/// The row of the topology in the list of all.
pub(super) const KIND: TopologyKind = TopologyKind {
    name: "fat-tree",
    keys: &["down", "up", "cables", "compat"],
    read: |collector, section, frame| {
        let compat = collector.optional::<Compat>(section, "compat");
        let down = collector.required::<Vec<u32>>(section, "down", "[4, 4]");
        let up = collector.required::<Vec<u32>>(section, "up", "[1, 2]");
        let cables = collector.optional::<Vec<u32>>(section, "cables");
        let (down, up, cables, compat) = (down?, up?, cables?, compat?);
        let cables = cables.unwrap_or_else(|| vec![1; down.len()]);
        let tree = FatTree::new(&down, &up, &cables, frame.hosts);
        Some(tree.map(|tree| Arc::new(tree.compat(compat.is_some())) as _))
    },
};

/// A fat tree.
#[derive(Clone, Debug)]
pub struct FatTree {
    down: Vec<u32>,
    up: Vec<u32>,
    cables: Vec<u32>,
    /// Nodes of each level, hosts first.
    nodes: Vec<u32>,
    /// True if parallel cables on the way down are chosen as by SimGrid 4.1.
    compat: bool,
    /// The first cable that goes up from each level; one more at the end.
    first: Vec<u32>,
}

/// A node, given by level and digits.
#[derive(Clone, Copy, Debug)]
struct TreeNode {
    level: usize,
    digits: [u32; LEVELS_MAX],
}

impl FatTree {
    /// A tree with these counts per level, for `hosts` hosts.
    ///
    /// # Errors
    /// [`Impossible`] if the levels do not match, or the hosts.
    pub fn new(down: &[u32], up: &[u32], cables: &[u32], hosts: u32) -> Result<Self, Impossible> {
        let levels = down.len();
        if levels == 0 {
            let expected = "expected at least one level, such as down = [4, 4]";
            return Err(Impossible::new("a fat tree without levels", expected));
        }
        if levels > LEVELS_MAX {
            let problem = format!("a fat tree of {levels} levels");
            return Err(Impossible::new(
                problem,
                format!("expected at most {LEVELS_MAX}"),
            ));
        }
        for (key, list) in [("up", up), ("cables", cables)] {
            if list.len() != levels {
                return Err(Impossible::new(
                    format!("{levels} levels in \"down\", {} in {key:?}", list.len()),
                    "expected one number per level in each",
                ));
            }
        }
        let count = product(down.iter().copied());
        if count != u64::from(hosts) {
            return Err(Impossible::count_mismatch(
                "a fat tree",
                &shape(down),
                count,
                hosts,
            ));
        }
        let mut nodes = Vec::new();
        for level in 0..=levels {
            let radices = up[..level].iter().chain(&down[level..]);
            nodes.push(limited("switches in a level", product(radices.copied()))?);
        }
        let mut first = vec![0];
        let mut total = 0_u64;
        for level in 0..levels {
            let ports = product([nodes[level], up[level], cables[level]]);
            total = total.saturating_add(ports);
            first.push(limited("cables", total)?);
        }
        limited(
            "switches",
            nodes.iter().map(|count| u64::from(*count)).sum(),
        )?;
        Ok(Self {
            down: down.to_vec(),
            up: up.to_vec(),
            cables: cables.to_vec(),
            nodes,
            compat: false,
            first,
        })
    }

    /// The same tree with SimGrid's choice of parallel cables.
    #[must_use]
    pub fn compat(mut self, compat: bool) -> Self {
        self.compat = compat;
        self
    }

    /// Returns the number of values of a digit of the nodes at a level.
    fn radix(&self, level: usize, digit: usize) -> u32 {
        if digit < level {
            self.up[digit]
        } else {
            self.down[digit]
        }
    }

    fn node(&self, level: usize, mut position: u32) -> TreeNode {
        let mut digits = [0; LEVELS_MAX];
        for (digit, value) in digits.iter_mut().enumerate().take(self.down.len()) {
            let radix = self.radix(level, digit);
            *value = position % radix;
            position /= radix;
        }
        TreeNode { level, digits }
    }

    fn node_position(&self, node: &TreeNode) -> u32 {
        let digits = (0..self.down.len()).rev();
        digits.fold(0, |position, digit| {
            position * self.radix(node.level, digit) + node.digits[digit]
        })
    }

    /// The number of a node among all nodes.
    fn node_number(&self, node: &TreeNode) -> u32 {
        self.nodes[..node.level].iter().sum::<u32>() + self.node_position(node)
    }

    fn ports(&self, level: usize) -> u32 {
        self.up[level] * self.cables[level]
    }

    /// The cable at a port of a node, towards the parents.
    fn cable(&self, node: &TreeNode, port: u32) -> Cable {
        let row = self.node_position(node) * self.ports(node.level);
        let index = self.first[node.level] + row + port;
        Cable { index, width: 1 }
    }

    /// Returns the one of the parallel cables that leads down to a child; `counted` is how far
    /// SimGrid has counted.
    fn cable_down(&self, child: &TreeNode, from: u32, counted: &mut Option<u32>) -> u32 {
        let (down, cables) = (self.down[child.level], self.cables[child.level]);
        let usual = from % cables;
        let Some(begin) = counted.filter(|_| self.compat) else {
            *counted = Some(usual * down + child.digits[child.level] + 1);
            return usual;
        };
        let digit = child.digits[child.level];
        let found = begin + (digit + down - begin % down) % down;
        let chosen = if found < down * cables {
            found
        } else {
            usual * down + digit
        };
        *counted = Some(chosen + 1);
        chosen / down
    }
}

impl Topology for FatTree {
    fn description(&self) -> Description {
        let Self {
            down, up, cables, ..
        } = self;
        let mut keys = vec![
            ("topology", KIND.name.into()),
            ("down", down.clone().into()),
            ("up", up.clone().into()),
            ("cables", cables.clone().into()),
        ];
        keys.extend(compat_option(self.compat));
        Description {
            keys,
            summary: format!("fat tree with down {down:?}, up {up:?}, cables {cables:?}"),
            shape: Shape::Levels {
                nodes: self.nodes.clone(),
                leaf: down[0],
            },
        }
    }

    fn cables_per_host(&self) -> u32 {
        self.ports(0)
    }

    fn switches(&self) -> u32 {
        self.nodes[1..].iter().sum()
    }

    fn cables(&self) -> u32 {
        self.first.last().copied().unwrap_or_default()
    }

    fn walk(&self, from: u32, to: u32, step: &mut dyn FnMut(RouteStep)) {
        let levels = self.down.len();
        let target = self.node(0, to);
        let mut node = self.node(0, from);
        let mut rest = to;
        let above = |node: &TreeNode| {
            node.level > 0 && node.digits[node.level..levels] == target.digits[node.level..levels]
        };
        while !above(&node) {
            let ports = self.ports(node.level);
            let port = rest % ports;
            rest /= self.up[node.level];
            step(RouteStep::Limiter(self.node_number(&node)));
            step(RouteStep::Cable(self.cable(&node, port), false));
            node.digits[node.level] = port % self.up[node.level];
            node.level += 1;
        }
        let mut counted = None;
        while node.level > 0 {
            let below = node.level - 1;
            let mut child = node;
            child.level = below;
            child.digits[below] = target.digits[below];
            let cable = self.cable_down(&child, from, &mut counted);
            let port = node.digits[below] + cable * self.up[below];
            step(RouteStep::Cable(self.cable(&child, port), true));
            step(RouteStep::Limiter(self.node_number(&node)));
            node = child;
        }
        step(RouteStep::Limiter(to));
    }

    fn describe_cable(&self, cable: u32) -> CableDescription {
        let level = self.first.partition_point(|first| *first <= cable) - 1;
        let ports = self.ports(level);
        let within = cable - self.first[level];
        let (position, port) = (within / ports, within % ports);
        let child = self.node(level, position);
        let mut parent = child;
        parent.digits[level] = port % self.up[level];
        parent.level += 1;
        let port = if ports == 1 {
            String::new()
        } else {
            format!("/{port}")
        };
        CableDescription {
            label: if level == 0 {
                NodeLabel::Host(position, port)
            } else {
                NodeLabel::Inner(format!("/{level}.{position}{port}"))
            },
            width: 1,
            ends: (self.node_number(&child), self.node_number(&parent)),
        }
    }

    fn switch_label(&self, switch: u32) -> String {
        let mut position = switch;
        for (level, count) in self.nodes.iter().enumerate().skip(1) {
            if position < *count {
                return format!("/{level}.{position}");
            }
            position -= count;
        }
        format!("/{switch}")
    }
}
