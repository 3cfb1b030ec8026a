//! Nodes of communicators, from the nodes of all ranks.
//!
//! The nodes of a communicator are found without messages at its first collective call, and are
//! kept for all ranks of the process: a simulated run has one table for each group of ranks, or no
//! table if consecutive ranks fill one node after the other.
//!
//! *Not modelled*: ranks in separate processes do not know the nodes of other ranks; their
//! collectives are the collectives for one rank on each node.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use collectives::Nodes;

/// The nodes of all ranks of a run, of which at least one has several.
pub struct Placement {
    world: Nodes,
    size: u32,
    /// Nodes of groups; `None` if each rank of the group has its own node.
    groups: Mutex<BTreeMap<RankGroup, Option<Nodes>>>,
}

/// A group of ranks of the world.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RankGroup {
    Steps { first: u32, stride: u32, count: u32 },
    Listed(Vec<u32>),
}

impl Placement {
    /// Returns the placement of all ranks by the numbers of their hosts; `None` if each rank has
    /// its own host.
    #[must_use]
    pub fn new(hosts: &[u32]) -> Option<Arc<Self>> {
        let world = Nodes::from_hosts(hosts);
        (world.ranks_per_node() > 1).then(|| {
            Arc::new(Self {
                size: u32::try_from(hosts.len()).unwrap_or(u32::MAX),
                world,
                groups: Mutex::default(),
            })
        })
    }

    /// Returns the nodes of `count` ranks, from `first` in steps of `stride`; `None` if each rank
    /// has its own node.
    #[must_use]
    pub fn nodes_of_steps(&self, first: u32, stride: u32, count: u32) -> Option<Nodes> {
        if (first, stride, count) == (0, 1, self.size) {
            return Some(self.world.clone());
        }
        let ranks = (0..count).map(|rank| first + stride * rank);
        let group = RankGroup::Steps {
            first,
            stride,
            count,
        };
        self.nodes_of_group(group, ranks)
    }

    /// Returns the nodes of these ranks; `None` if each rank has its own node.
    #[must_use]
    pub fn nodes_of_ranks(&self, ranks: &[u32]) -> Option<Nodes> {
        self.nodes_of_group(RankGroup::Listed(ranks.to_vec()), ranks.iter().copied())
    }

    fn nodes_of_group(&self, group: RankGroup, ranks: impl Iterator<Item = u32>) -> Option<Nodes> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || {
            let hosts: Vec<u32> = ranks.map(|rank| self.world.node(rank)).collect();
            let nodes = Nodes::from_hosts(&hosts);
            (nodes.ranks_per_node() > 1).then_some(nodes)
        };
        groups.entry(group).or_insert_with(find).clone()
    }
}

/// Placements are equal if all ranks have the same nodes.
impl PartialEq for Placement {
    fn eq(&self, other: &Self) -> bool {
        self.world == other.world
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placement")
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}
