//! Hosts and switches joined by cables, with shortest routes: at each switch the hash of the flow
//! chooses among the outputs on shortest routes (ECMP), or the network itself does (adaptive).

use std::collections::VecDeque;
use std::sync::OnceLock;

use sim_core::HostId;

use super::ecmp::ecmp_choice;
use super::topology::{NoPacketRoute, PacketLinkId, PacketLinkSpec, PacketTopology};

/// A host or a switch of a [`GraphTopology`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GraphNode(u32);

#[derive(Clone, Debug)]
struct NodeState {
    name: String,
    host: Option<HostId>,
    /// Seed of the hash of a switch.
    seed: u32,
    outputs: Vec<PacketLinkId>,
}

#[derive(Clone, Copy, Debug)]
struct GraphLink {
    from: GraphNode,
    to: GraphNode,
    spec: PacketLinkSpec,
    reverse: PacketLinkId,
}

/// A graph of hosts and switches.
#[derive(Clone, Default, Debug)]
pub struct GraphTopology {
    nodes: Vec<NodeState>,
    hosts: Vec<GraphNode>,
    links: Vec<GraphLink>,
    /// For each host the distance of each (node, phase) to this host, in links; set on first use.
    distances: Vec<OnceLock<Vec<u32>>>,
    /// With up*/down* routing, the distance of each node from the root.
    ranks: Option<Vec<u32>>,
}

/// Part of a route: with up*/down* routing no link goes up after one has gone down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Links may go up or down; without up*/down* routing all count as up.
    Up = 0,
    /// Only links down may follow.
    Down = 1,
}

const fn phase_slot(node: GraphNode, phase: Phase) -> usize {
    2 * node.0 as usize + phase as usize
}

impl GraphTopology {
    /// Returns a graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host; hosts are numbered from 0.
    pub fn add_host(&mut self, name: impl Into<String>) -> GraphNode {
        let host = HostId(checked_u32(self.hosts.len()));
        let node = self.add_node(name.into(), Some(host), 0);
        self.hosts.push(node);
        self.distances.push(OnceLock::new());
        node
    }

    /// Adds a switch with the seed of the hash; switches with equal seeds choose equally.
    pub fn add_switch(&mut self, name: impl Into<String>, seed: u32) -> GraphNode {
        self.add_node(name.into(), None, seed)
    }

    fn add_node(&mut self, name: String, host: Option<HostId>, seed: u32) -> GraphNode {
        let node = GraphNode(checked_u32(self.nodes.len()));
        self.nodes.push(NodeState {
            name,
            host,
            seed,
            outputs: Vec::new(),
        });
        node
    }

    /// Adds a cable: a link in each direction.
    pub fn add_cable(
        &mut self,
        a: GraphNode,
        b: GraphNode,
        spec: PacketLinkSpec,
    ) -> (PacketLinkId, PacketLinkId) {
        let first = checked_u32(self.links.len());
        let (forth, back) = (PacketLinkId(first), PacketLinkId(first + 1));
        for (from, to, link, reverse) in [(a, b, forth, back), (b, a, back, forth)] {
            self.links.push(GraphLink {
                from,
                to,
                spec,
                reverse,
            });
            self.nodes[from.0 as usize].outputs.push(link);
        }
        self.distances = vec![OnceLock::new(); self.hosts.len()];
        (forth, back)
    }

    /// Makes routes go up first and then down, seen from a root. No route goes up after it has gone
    /// down, so that no credit loop is possible. Among such routes the shortest are used.
    pub fn route_up_down(&mut self, root: GraphNode) {
        let mut ranks = vec![u32::MAX; self.nodes.len()];
        ranks[root.0 as usize] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            for link in &self.nodes[node.0 as usize].outputs {
                let next = self.links[link.0 as usize].to;
                if ranks[next.0 as usize] == u32::MAX {
                    ranks[next.0 as usize] = ranks[node.0 as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        self.ranks = Some(ranks);
        self.distances = vec![OnceLock::new(); self.hosts.len()];
    }

    /// Returns the phase of a route after a link.
    fn phase_after(&self, link: PacketLinkId) -> Phase {
        let GraphLink { from, to, .. } = self.links[link.0 as usize];
        match &self.ranks {
            Some(ranks) => {
                let key = |node: GraphNode| (ranks[node.0 as usize], node);
                if key(to) < key(from) {
                    Phase::Up
                } else {
                    Phase::Down
                }
            }
            None => Phase::Up,
        }
    }

    /// Returns the distance of each (node, phase) to a host; hosts do not forward.
    fn distances(&self, to: HostId) -> &[u32] {
        self.distances[to.0 as usize].get_or_init(|| {
            let mut distance = vec![u32::MAX; 2 * self.nodes.len()];
            let target = self.hosts[to.0 as usize];
            let mut queue = VecDeque::new();
            for phase in [Phase::Up, Phase::Down] {
                distance[phase_slot(target, phase)] = 0;
                queue.push_back((target, phase));
            }
            // Backwards over links into the node; cables have both directions.
            while let Some((node, phase)) = queue.pop_front() {
                let length = distance[phase_slot(node, phase)];
                for output in &self.nodes[node.0 as usize].outputs {
                    let link = self.links[output.0 as usize].reverse;
                    if self.phase_after(link) != phase {
                        continue;
                    }
                    let from = self.links[link.0 as usize].from;
                    // A link up comes only after links up, a link down after all.
                    for before in [Phase::Up, Phase::Down] {
                        let is_possible = before == Phase::Up || phase == Phase::Down;
                        if is_possible && distance[phase_slot(from, before)] == u32::MAX {
                            distance[phase_slot(from, before)] = length + 1;
                            if self.nodes[from.0 as usize].host.is_none() {
                                queue.push_back((from, before));
                            }
                        }
                    }
                }
            }
            distance
        })
    }

    /// Returns the outputs of a node on shortest routes to a host.
    fn shortest(&self, at: GraphNode, phase: Phase, to: HostId) -> Vec<PacketLinkId> {
        let distance = self.distances(to);
        let here = distance[phase_slot(at, phase)];
        let is_closer = |link: &&PacketLinkId| {
            let next = self.phase_after(**link);
            let is_allowed = phase == Phase::Up || next == Phase::Down;
            let then = distance[phase_slot(self.links[link.0 as usize].to, next)];
            is_allowed && then != u32::MAX && then + 1 == here
        };
        let outputs = &self.nodes[at.0 as usize].outputs;
        outputs.iter().filter(is_closer).copied().collect()
    }
}

fn checked_u32(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 nodes and links")
}

impl PacketTopology for GraphTopology {
    fn link_id_end(&self) -> u32 {
        checked_u32(self.links.len())
    }

    fn link(&self, link: PacketLinkId) -> PacketLinkSpec {
        self.links[link.0 as usize].spec
    }

    fn link_name(&self, link: PacketLinkId) -> String {
        let GraphLink { from, to, .. } = self.links[link.0 as usize];
        let name = |node: GraphNode| &self.nodes[node.0 as usize].name;
        format!("{}-{}", name(from), name(to))
    }

    fn host_name(&self, host: HostId) -> String {
        let node = self.hosts[host.0 as usize];
        self.nodes[node.0 as usize].name.clone()
    }

    fn route_into(
        &self,
        from: HostId,
        to: HostId,
        flow_hash: u32,
        route: &mut Vec<PacketLinkId>,
    ) -> Result<(), NoPacketRoute> {
        let mut at = self.hosts[from.0 as usize];
        let target = self.hosts[to.0 as usize];
        let mut phase = Phase::Up;
        while at != target {
            let outputs = self.shortest(at, phase, to);
            let seed = self.nodes[at.0 as usize].seed;
            let Some(chosen) = outputs.get(ecmp_choice(flow_hash, seed, outputs.len().max(1)))
            else {
                let (from, to) = (self.host_name(from), self.host_name(to));
                let message = format!("no route from host {from:?} to host {to:?}: add cables");
                return Err(NoPacketRoute { message });
            };
            route.push(*chosen);
            phase = self.phase_after(*chosen);
            at = self.links[chosen.0 as usize].to;
        }
        if route.is_empty() {
            let message = format!(
                "host {:?} has no link to itself: expected two hosts",
                self.host_name(from)
            );
            return Err(NoPacketRoute { message });
        }
        Ok(())
    }

    fn is_multipath(&self) -> bool {
        true
    }

    fn reverse(&self, link: PacketLinkId) -> Option<PacketLinkId> {
        Some(self.links[link.0 as usize].reverse)
    }

    fn device_at_end(&self, link: PacketLinkId) -> Option<u32> {
        Some(self.links[link.0 as usize].to.0)
    }

    fn host_at_end(&self, link: PacketLinkId) -> Option<HostId> {
        let node = self.links[link.0 as usize].to;
        self.nodes[node.0 as usize].host
    }

    fn has_minimal_outputs(&self) -> bool {
        true
    }

    fn minimal_outputs(&self, input: PacketLinkId, to: HostId) -> Vec<PacketLinkId> {
        let at = self.links[input.0 as usize].to;
        self.shortest(at, self.phase_after(input), to)
    }
}
