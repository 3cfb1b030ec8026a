//! The static check for credit loops: the graph of buffers that wait for each other must have no
//! cycle (Dally & Seitz 1987).
//!
//! A node is the buffer of a (link, virtual lane). There is an edge from a to b if some route uses
//! b right after a. A cycle is a *possible* credit loop: a deadlock needs full buffers as well.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use sim_core::HostId;

use super::lane_choice::route_lanes;
use super::settings::PacketSettings;
use super::topology::{NoPacketRoute, PacketLinkId, PacketTopology};

/// A buffer: the virtual lane of a link.
pub type LaneOfLink = (PacketLinkId, u8);

/// One buffer of a cycle, and a route from this buffer to the next buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditLoopMember {
    /// The link; the buffer is at the end of this link.
    pub link: PacketLinkId,
    /// The virtual lane.
    pub vl: u8,
    /// Source and destination of a route that uses the next buffer right after this one.
    pub hosts: (HostId, HostId),
}

/// A cycle of buffers, in the order in which each waits for the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PossibleCreditLoop {
    /// The buffers; the last one waits for the first.
    pub members: Vec<CreditLoopMember>,
}

impl PossibleCreditLoop {
    /// Returns the warning for people, with the names of a topology.
    pub fn describe(&self, topology: &dyn PacketTopology) -> String {
        let members = self.members.iter().map(|member| {
            format!(
                "  {} VL {}, used before the next one from {} to {}",
                topology.link_name(member.link),
                member.vl,
                topology.host_name(member.hosts.0),
                topology.host_name(member.hosts.1)
            )
        });
        let lines: Vec<String> = members.collect();
        format!(
            "possible credit loop of {} buffers:\n{}",
            lines.len(),
            lines.join("\n")
        )
    }
}

/// The dependencies among buffers.
#[derive(Clone, Default, Debug)]
pub struct CreditDependencies {
    numbers: BTreeMap<LaneOfLink, usize>,
    nodes: Vec<LaneOfLink>,
    /// For each node the successors, with a pair of hosts for each successor.
    edges: Vec<BTreeMap<usize, (HostId, HostId)>>,
}

impl CreditDependencies {
    /// Returns dependencies without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route: the links in order, with the virtual lane of each.
    pub fn add_route(&mut self, hosts: (HostId, HostId), route: &[LaneOfLink]) {
        for pair in route.windows(2) {
            let (from, to) = (self.node_number(pair[0]), self.node_number(pair[1]));
            self.edges[from].entry(to).or_insert(hosts);
        }
    }

    /// Adds a route unless the route closes a cycle; returns true if the route was added.
    pub fn add_if_acyclic(&mut self, hosts: (HostId, HostId), route: &[LaneOfLink]) -> bool {
        let mut added = Vec::new();
        for pair in route.windows(2) {
            let (from, to) = (self.node_number(pair[0]), self.node_number(pair[1]));
            if self.edges[from].contains_key(&to) {
                continue;
            }
            if self.shortest_path(to, from, &|_| true).is_some() {
                for (from, to) in added {
                    let edges: &mut BTreeMap<_, _> = &mut self.edges[from];
                    edges.remove(&to);
                }
                return false;
            }
            self.edges[from].insert(to, hosts);
            added.push((from, to));
        }
        true
    }

    /// Returns a shortest cycle of each strongly connected component that has one, ordered by the
    /// smallest buffer of each cycle.
    pub fn loops(&self) -> Vec<PossibleCreditLoop> {
        let component = components(&self.edges);
        let mut shortest: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        // In the order of buffers, so that the order of routes does not matter.
        for &start in self.numbers.values() {
            let is_inside = |node: usize| component[node] == component[start];
            let Some(cycle) = self.shortest_path(start, start, &is_inside) else {
                continue;
            };
            let best = shortest.entry(component[start]).or_default();
            if best.is_empty() || cycle.len() < best.len() {
                *best = cycle;
            }
        }
        let mut loops: Vec<PossibleCreditLoop> = shortest
            .values()
            .map(|cycle| self.loop_from_cycle(cycle))
            .collect();
        loops.sort_by_key(|found| found.members.first().map(|first| (first.link, first.vl)));
        loops
    }

    fn loop_from_cycle(&self, cycle: &[usize]) -> PossibleCreditLoop {
        let next = cycle.iter().cycle().skip(1);
        let members = cycle.iter().zip(next).map(|(&node, next)| {
            let (link, vl) = self.nodes[node];
            CreditLoopMember {
                link,
                vl,
                hosts: self.edges[node][next],
            }
        });
        PossibleCreditLoop {
            members: members.collect(),
        }
    }

    fn node_number(&mut self, node: LaneOfLink) -> usize {
        let next = self.nodes.len();
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
            self.edges.push(BTreeMap::new());
        }
        number
    }

    /// Returns the nodes of a shortest path of at least one edge, without the last node.
    fn shortest_path(
        &self,
        from: usize,
        to: usize,
        is_allowed: &dyn Fn(usize) -> bool,
    ) -> Option<Vec<usize>> {
        let mut before = vec![usize::MAX; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            // Successors in the order of buffers.
            let mut successors: Vec<usize> = self.edges[node].keys().copied().collect();
            successors.sort_by_key(|next| self.nodes[*next]);
            for next in successors {
                if next == to {
                    let mut path = vec![node];
                    while path[path.len() - 1] != from {
                        path.push(before[path[path.len() - 1]]);
                    }
                    path.reverse();
                    return Some(path);
                }
                if next != from && before[next] == usize::MAX && is_allowed(next) {
                    before[next] = node;
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Returns the possible credit loops of all routes among some hosts at some service levels.
pub fn possible_credit_loops(
    topology: &dyn PacketTopology,
    settings: &PacketSettings,
    hosts: &[HostId],
    service_levels: &[u8],
) -> Result<Vec<PossibleCreditLoop>, NoPacketRoute> {
    let mut dependencies = CreditDependencies::new();
    for &from in hosts {
        for &to in hosts.iter().filter(|to| **to != from) {
            for &level in service_levels {
                let lanes = route_lanes(topology, settings, (from, to), 0, level)?;
                dependencies.add_route((from, to), &lanes);
            }
        }
    }
    Ok(dependencies.loops())
}

/// Returns the number of the strongly connected component of each node (Tarjan 1972, without
/// recursion).
fn components<T>(edges: &[BTreeMap<usize, T>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let count = edges.len();
    let (mut index, mut low) = (vec![NEW; count], vec![NEW; count]);
    let mut component = vec![NEW; count];
    let (mut stack, mut next_index, mut next_component) = (Vec::new(), 0, 0);
    for root in 0..count {
        if index[root] != NEW {
            continue;
        }
        let mut calls = vec![(root, edges[root].keys())];
        (index[root], low[root]) = (next_index, next_index);
        next_index += 1;
        stack.push(root);
        while let Some((node, successors)) = calls.last_mut() {
            let node = *node;
            match successors.next() {
                Some(&next) if index[next] == NEW => {
                    (index[next], low[next]) = (next_index, next_index);
                    next_index += 1;
                    stack.push(next);
                    calls.push((next, edges[next].keys()));
                }
                Some(&next) => {
                    if component[next] == NEW {
                        low[node] = low[node].min(index[next]);
                    }
                }
                None => {
                    calls.pop();
                    if let Some((parent, _)) = calls.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == index[node] {
                        while let Some(member) = stack.pop() {
                            component[member] = next_component;
                            if member == node {
                                break;
                            }
                        }
                        next_component += 1;
                    }
                }
            }
        }
    }
    component
}

/// Routes that cannot be put into layers without cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooFewLayers {
    /// Source and destination of the first route that fits no layer.
    pub hosts: (HostId, HostId),
    /// Layers that were available.
    pub layers: u8,
}

impl fmt::Display for TooFewLayers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hosts: (from, to),
            layers,
        } = self;
        write!(
            f,
            "the route from host {} to host {} closes a cycle in each of {layers} layers: expected more layers",
            from.0, to.0
        )
    }
}

impl std::error::Error for TooFewLayers {}

/// Returns a layer for each route: the first layer without a cycle of links (LASH, DFSSSP).
///
/// A layer is a service level with a separate virtual lane on all links.
pub fn assign_layers(
    routes: &[((HostId, HostId), Vec<PacketLinkId>)],
    layers: u8,
) -> Result<Vec<u8>, TooFewLayers> {
    let mut graphs = vec![CreditDependencies::new(); usize::from(layers)];
    let mut layer_of = |(hosts, links): &((HostId, HostId), Vec<PacketLinkId>)| {
        let lanes: Vec<LaneOfLink> = links.iter().map(|link| (*link, 0)).collect();
        let mut numbered = (0..layers).zip(&mut graphs);
        let found = numbered
            .find_map(|(layer, graph)| graph.add_if_acyclic(*hosts, &lanes).then_some(layer));
        let error = TooFewLayers {
            hosts: *hosts,
            layers,
        };
        found.ok_or(error)
    };
    routes.iter().map(&mut layer_of).collect()
}
