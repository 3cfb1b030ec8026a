//! Nodes of the ranks of a communicator: ranks of one node share memory.
//!
//! Nodes are numbered in the order of their lowest ranks, which are the *leaders*. For blocks of
//! consecutive ranks, three numbers are enough for any number of ranks; any other placement is a
//! table that all ranks share.
//!
//! *Not modelled*: levels between a node and its ranks, such as sockets, and groups of nodes, such
//! as the nodes below one switch.

use std::sync::Arc;

/// The nodes of the ranks of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nodes(Placement);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Placement {
    /// `each` consecutive ranks on each node; the last node may have fewer.
    Blocks {
        size: u32,
        each: u32,
    },
    Listed(Arc<NodeTable>),
}

#[derive(PartialEq, Eq, Debug)]
struct NodeTable {
    /// The node of each rank.
    node: Vec<u32>,
    /// The position of each rank among the ranks of its node.
    index: Vec<u32>,
    /// The ranks of each node in ascending order, one node after the other.
    ranks: Vec<u32>,
    /// Where the ranks of each node begin, and the number of ranks.
    starts: Vec<u32>,
    ranks_per_node: u32,
    is_uniform: bool,
    is_consecutive: bool,
}

impl Nodes {
    /// Returns the nodes of `size` ranks with `each` consecutive ranks on each node, both at least
    /// 1; the last node may have fewer.
    #[must_use]
    pub const fn blocks(size: u32, each: u32) -> Self {
        Self(Placement::Blocks { size, each })
    }

    /// Returns the nodes of ranks by any numbers of their nodes, such as the numbers of hosts.
    ///
    /// # Panics
    /// If there are 2^32 ranks or more.
    #[must_use]
    pub fn from_hosts(hosts: &[u32]) -> Self {
        let size = u32::try_from(hosts.len()).expect("ranks are counted in 32 bits");
        let first = hosts.iter().take_while(|host| **host == hosts[0]).count();
        let each = u32::try_from(first).unwrap_or(size).max(1);
        let mut blocks = hosts.chunks(first.max(1));
        let is_block = |block: &[u32]| block.iter().all(|host| *host == block[0]);
        let mut firsts: Vec<u32> = hosts.iter().step_by(first.max(1)).copied().collect();
        let count = firsts.len();
        firsts.sort_unstable();
        firsts.dedup();
        if blocks.all(is_block) && firsts.len() == count {
            return Self::blocks(size, each);
        }
        Self(Placement::Listed(Arc::new(NodeTable::new(hosts))))
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.0 {
            Placement::Blocks { size, each } => size.div_ceil(*each),
            Placement::Listed(table) => u32::try_from(table.starts.len() - 1).unwrap_or(u32::MAX),
        }
    }

    /// Returns the node of a rank.
    #[must_use]
    pub fn node(&self, rank: u32) -> u32 {
        match &self.0 {
            Placement::Blocks { each, .. } => rank / each,
            Placement::Listed(table) => table.node[rank as usize],
        }
    }

    /// Returns the position of a rank among the ranks of its node.
    #[must_use]
    pub fn rank_index(&self, rank: u32) -> u32 {
        match &self.0 {
            Placement::Blocks { each, .. } => rank % each,
            Placement::Listed(table) => table.index[rank as usize],
        }
    }

    /// Returns the number of ranks of a node.
    #[must_use]
    pub fn size(&self, node: u32) -> u32 {
        match &self.0 {
            Placement::Blocks { size, each } => (size - node * each).min(*each),
            Placement::Listed(table) => {
                table.starts[node as usize + 1] - table.starts[node as usize]
            }
        }
    }

    /// Returns the rank at a position of a node.
    #[must_use]
    pub fn rank(&self, node: u32, index: u32) -> u32 {
        match &self.0 {
            Placement::Blocks { each, .. } => node * each + index,
            Placement::Listed(table) => table.ranks[(table.starts[node as usize] + index) as usize],
        }
    }

    /// Returns the number of ranks of the nodes before a node.
    #[must_use]
    pub fn before(&self, node: u32) -> u32 {
        match &self.0 {
            Placement::Blocks { size, each } => (*size).min(node * each),
            Placement::Listed(table) => table.starts[node as usize],
        }
    }

    /// Returns the largest number of ranks of a node.
    #[must_use]
    pub fn ranks_per_node(&self) -> u32 {
        match &self.0 {
            Placement::Blocks { size, each } => (*size).min(*each),
            Placement::Listed(table) => table.ranks_per_node,
        }
    }

    /// Returns true if all nodes have the same number of ranks.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        match &self.0 {
            Placement::Blocks { size, each } => size <= each || size.is_multiple_of(*each),
            Placement::Listed(table) => table.is_uniform,
        }
    }

    /// Returns true if the ranks of each node are consecutive.
    #[must_use]
    pub fn is_consecutive(&self) -> bool {
        match &self.0 {
            Placement::Blocks { .. } => true,
            Placement::Listed(table) => table.is_consecutive,
        }
    }
}

impl NodeTable {
    fn new(hosts: &[u32]) -> Self {
        // Hosts with the ranks on them, in the order of the hosts, then in that of the leaders.
        let mut ranks: Vec<u32> = (0..).take(hosts.len()).collect();
        ranks.sort_by_key(|rank| hosts[*rank as usize]);
        let on_one = |one: &u32, other: &u32| hosts[*one as usize] == hosts[*other as usize];
        let mut nodes: Vec<&[u32]> = ranks.chunk_by(on_one).collect();
        nodes.sort_by_key(|ranks| ranks[0]);
        let mut table = Self {
            node: vec![0; hosts.len()],
            index: vec![0; hosts.len()],
            ranks: nodes.concat(),
            starts: vec![0],
            ranks_per_node: 0,
            is_uniform: nodes.iter().all(|ranks| ranks.len() == nodes[0].len()),
            is_consecutive: true,
        };
        for (node, ranks) in (0..).zip(nodes) {
            for (index, rank) in (0..).zip(ranks) {
                table.node[*rank as usize] = node;
                table.index[*rank as usize] = index;
                table.is_consecutive &= *rank == ranks[0] + index;
                table.ranks_per_node = table.ranks_per_node.max(index + 1);
            }
            let end = (0..).zip(ranks).map(|(index, _)| index + 1).last();
            let start = table.starts.last().copied().unwrap_or(0);
            table.starts.push(start + end.unwrap_or(0));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the nodes computed from these hosts are correct.
    fn check(hosts: &[u32]) {
        let nodes = Nodes::from_hosts(hosts);
        let mut leaders: Vec<u32> = Vec::new();
        let mut before = 0;
        for node in 0..nodes.count() {
            let ranks: Vec<u32> = (0..nodes.size(node))
                .map(|index| nodes.rank(node, index))
                .collect();
            let host = hosts[ranks[0] as usize];
            let expected = (0..).zip(hosts).filter(|(_, other)| **other == host);
            assert_eq!(ranks, expected.map(|(rank, _)| rank).collect::<Vec<u32>>());
            for (index, rank) in (0..).zip(&ranks) {
                assert_eq!((nodes.node(*rank), nodes.rank_index(*rank)), (node, index));
            }
            assert_eq!(nodes.before(node), before);
            before += nodes.size(node);
            leaders.push(ranks[0]);
        }
        assert_eq!(before as usize, hosts.len());
        assert!(leaders.is_sorted(), "{hosts:?}: {leaders:?}");
        let sizes = (0..nodes.count()).map(|node| nodes.size(node));
        assert_eq!(sizes.clone().max(), Some(nodes.ranks_per_node()));
        assert_eq!(sizes.clone().min() == sizes.max(), nodes.is_uniform());
        let changes = hosts.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let consecutive = changes + 1 == nodes.count() as usize;
        assert_eq!(nodes.is_consecutive(), consecutive, "{hosts:?}");
    }

    #[test]
    fn nodes_are_those_of_the_hosts() {
        for hosts in [
            &[5][..],
            &[1, 1, 1],
            &[3, 3, 1, 1, 2, 2],
            &[3, 3, 1, 1, 2],
            &[3, 3, 1, 1, 2, 2, 2],
            &[0, 0, 1, 2, 2],
            &[0, 1, 2, 0, 1, 2],
            &[9, 2, 2, 9, 9, 4],
            &[1, 1, 2, 2, 1, 1],
        ] {
            check(hosts);
        }
    }

    #[test]
    fn blocks_need_no_table() {
        let blocks = |hosts: &[u32]| matches!(Nodes::from_hosts(hosts).0, Placement::Blocks { .. });
        assert!(blocks(&[3, 3, 1, 1, 2, 2]) && blocks(&[3, 3, 1, 1, 2]));
        assert!(!blocks(&[0, 0, 1, 2, 2]) && !blocks(&[1, 1, 2, 2, 1, 1]));
        assert_eq!(Nodes::from_hosts(&[4, 4, 7]), Nodes::blocks(3, 2));
    }
}
