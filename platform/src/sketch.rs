//! Contents of a picture of a platform: the tree of zones, the nodes and cables of clusters, and
//! the pairs of members that have a route.

use crate::LinkId;
use crate::Routing;
use crate::cluster::Cluster;
use crate::platform::Platform;

/// The largest platform with a sketch; more hosts than this are no picture.
pub const SKETCH_HOSTS_MAX: u32 = 5_000;

/// The largest number of cables in a sketch.
const CABLES_MAX: u32 = 100_000;

/// A zone with its members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneSketch {
    /// Name of the zone; empty for the platform.
    pub name: String,
    /// Routing between the members of the zone.
    pub routing: Routing,
    /// Hosts, routers, clusters and inner zones.
    pub members: Vec<MemberView>,
    /// Pairs of members that have a declared route.
    pub joins: Vec<Join>,
}

/// A declared route between two members of a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    /// Position of the first member.
    pub from: usize,
    /// Position of the second member; `None` is the centre of a star.
    pub to: Option<usize>,
    /// The links of the route, in both directions if the route back is declared too.
    pub links: Vec<LinkId>,
}

/// A cable between two nodes of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cable {
    /// The nodes.
    pub ends: (u32, u32),
    /// The link of each direction; the same link twice if both directions share a link.
    pub links: [LinkId; 2],
}

/// A member of a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberView {
    /// A single host, by name.
    Host(String),
    /// A router, by name.
    Router(String),
    /// A cluster.
    Cluster(ClusterSketch),
    /// An inner zone.
    Zone(ZoneSketch),
}

/// A cluster: hosts are numbered first, then switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterSketch {
    /// Name of the cluster.
    pub name: String,
    /// The name of the first host.
    pub first: String,
    /// The name of the last host.
    pub last: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Arrangement of the nodes of the cluster.
    pub shape: Shape,
    /// The cables.
    pub cables: Vec<Cable>,
}

/// An arrangement of the nodes of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All hosts around one switch, which is the node after the last host; true with a backbone.
    Star(bool),
    /// Rows of nodes, hosts first; neighbouring hosts share switches.
    Levels {
        /// Nodes per level.
        nodes: Vec<u32>,
        /// Hosts per switch of the lowest level.
        leaf: u32,
    },
    /// A grid with these dimensions, the first one fastest.
    Grid(Vec<u32>),
    /// Groups of chassis of routers, and nodes at each router.
    Groups([u32; 4]),
}

impl Platform {
    /// Returns the arrangement of the hosts; `None` if they are not in one cluster.
    #[must_use]
    pub fn host_shape(&self) -> Option<Shape> {
        match &self.tree.clusters[..] {
            [cluster] if cluster.hosts.count() == self.host_count => {
                Some(cluster.topology.description().shape)
            }
            _ => None,
        }
    }

    /// Returns the contents of a picture of the platform; `None` if the platform is too large.
    #[must_use]
    pub fn sketch(&self) -> Option<ZoneSketch> {
        let clusters = &self.tree.clusters;
        let cables: u64 = clusters
            .iter()
            .map(|cluster| u64::from(cluster.topology.cables()))
            .sum();
        if self.host_count > SKETCH_HOSTS_MAX || cables > u64::from(CABLES_MAX) {
            return None;
        }
        Some(self.zone_sketch(0))
    }

    fn zone_sketch(&self, zone: u32) -> ZoneSketch {
        let tree = &self.tree;
        let ends: Vec<u32> = (0..)
            .zip(&tree.zone_of)
            .filter(|(end, home)| **home == zone && *end != tree.zone_end(0))
            .map(|(end, _)| end)
            .collect();
        let centre = tree.zone_end(zone);
        let members = ends.iter().map(|end| self.member_sketch(*end)).collect();
        let mut joins = Vec::new();
        for (at, end) in ends.iter().enumerate() {
            let (_, row) = tree.table.routes_from(*end);
            for entry in row {
                let to = ends.binary_search(&entry.to).ok();
                let backwards =
                    to.is_some_and(|to| to <= at && tree.table.find(entry.to, *end).is_some());
                if (to.is_some() && !backwards) || entry.to == centre {
                    let back = tree.table.find(entry.to, *end);
                    let entries = [Some(entry), back].into_iter().flatten();
                    let uses = entries.flat_map(|entry| tree.table.links(entry));
                    let wire = |(wire, down)| tree.wires[wire as usize].id(down);
                    let links = uses.map(wire).collect();
                    joins.push(Join {
                        from: at,
                        to,
                        links,
                    });
                }
            }
        }
        let here = &tree.zones[zone as usize];
        if let Some(air) = &here.air {
            let point = air
                .access_point
                .and_then(|end| ends.binary_search(&end).ok());
            let stations = ends.iter().enumerate();
            let stations =
                stations.filter(|(at, end)| air.rates.contains_key(end) && Some(*at) != point);
            let links = vec![air.wire.id(false)];
            joins.extend(stations.map(|(from, _)| Join {
                from,
                to: point,
                links: links.clone(),
            }));
        }
        ZoneSketch {
            name: here.name.clone(),
            routing: here.routing,
            members,
            joins,
        }
    }

    fn member_sketch(&self, end: u32) -> MemberView {
        let tree = &self.tree;
        if let Some(cluster) = tree.cluster(end) {
            return MemberView::Cluster(cluster_sketch(cluster));
        }
        if end >= tree.zone_end(0) {
            return MemberView::Zone(self.zone_sketch(end - tree.zone_end(0)));
        }
        let name = self.end_name(end).to_owned();
        if end < tree.singles {
            MemberView::Host(name)
        } else {
            MemberView::Router(name)
        }
    }
}

fn cluster_sketch(cluster: &Cluster) -> ClusterSketch {
    let hosts = cluster.hosts.count();
    let topology = &cluster.topology;
    ClusterSketch {
        name: cluster.name.clone(),
        first: cluster.hosts.name(0),
        last: cluster.hosts.name(hosts - 1),
        hosts,
        shape: topology.description().shape,
        cables: (0..topology.cables())
            .map(|cable| Cable {
                ends: topology.describe_cable(cable).ends,
                links: [false, true].map(|down| cluster.wire(cluster.cable, cable, down).id(down)),
            })
            .collect(),
    }
}
