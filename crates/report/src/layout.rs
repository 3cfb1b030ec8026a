//! Positions of the nodes of a platform in a picture.
//!
//! Lengths are in units of the distance between two neighbouring hosts. Each cluster and each zone
//! is a box; the boxes of a zone are set in rows, largest first, under the name of the zone. A
//! crossbar is a ring of hosts around its switch. A fat tree has a row per level. A torus is a
//! grid; further dimensions are grids beside the first grid, and cables between grids are not
//! drawn. A dragonfly is a ring of groups.

use std::f64::consts::TAU;

use platform::{Cable, ClusterSketch, Join, LinkId, MemberView, Shape, ZoneSketch};

/// Space around the content of a box, at least.
const MARGIN: f64 = 1.0;
/// Space for the name of a box, at least.
const TITLE: f64 = 1.4;
/// Both grow with the content, because a name does not become smaller than legible.
const GROWTH: f64 = 0.012;

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeKind {
    Host,
    Switch,
    Router,
}

/// A node with its position.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) kind: NodeKind,
    /// Name of the node, if there is room for the name.
    pub(crate) name: Option<String>,
}

/// A line between two places; declared routes are drawn apart from cables.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
    pub(crate) route: bool,
    /// The links of the cable or the route, in both directions.
    pub(crate) links: Vec<LinkId>,
}

/// A frame with a name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NamedFrame {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) title: String,
}

/// A picture, or a part of one; the origin is at the upper left.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) lines: Vec<Line>,
    pub(crate) frames: Vec<NamedFrame>,
}

impl Picture {
    /// Adds a part at a place.
    fn place_part(&mut self, part: Self, x: f64, y: f64) {
        let moved = |(px, py): (f64, f64)| (px + x, py + y);
        self.nodes.extend(part.nodes.into_iter().map(|mut node| {
            (node.x, node.y) = moved((node.x, node.y));
            node
        }));
        self.lines.extend(part.lines.into_iter().map(|line| Line {
            from: moved(line.from),
            to: moved(line.to),
            ..line
        }));
        self.frames.extend(part.frames.into_iter().map(|mut frame| {
            (frame.x, frame.y) = moved((frame.x, frame.y));
            frame
        }));
    }

    fn framed(self, title: String) -> Self {
        let longer = self.width.max(self.height);
        let margin = MARGIN.max(GROWTH * longer);
        let title_height = TITLE.max(GROWTH * longer);
        let width = self.width + 2.0 * margin;
        let height = self.height + 2.0 * margin + title_height;
        let mut outer = Self {
            width,
            height,
            ..Self::default()
        };
        outer.frames.push(NamedFrame {
            x: 0.0,
            y: 0.0,
            width,
            height,
            title,
        });
        outer.place_part(self, margin, margin + title_height);
        outer
    }
}

/// The picture of a zone without a frame.
pub(crate) fn zone(sketch: &ZoneSketch) -> Picture {
    let count = sketch.members.len();
    let parts: Vec<Picture> = sketch.members.iter().map(member).collect();
    let small = parts.iter().all(|part| part.nodes.len() == 1);
    let mut places = if small {
        ring(count)
    } else {
        row_positions(&parts)
    };
    let mut picture = Picture::default();
    for ((x, y), part) in places.iter().zip(&parts) {
        picture.width = picture.width.max(x + part.width);
        picture.height = picture.height.max(y + part.height);
    }
    let middle = (picture.width / 2.0, picture.height / 2.0);
    for (place, part) in places.iter_mut().zip(&parts) {
        *place = (place.0 + part.width / 2.0, place.1 + part.height / 2.0);
    }
    for Join { from, to, links } in &sketch.joins {
        let (begin, end) = (places[*from], to.map_or(middle, |to| places[to]));
        picture.lines.push(Line {
            from: edge(&parts[*from], begin, end),
            to: to.map_or(end, |to| edge(&parts[to], end, begin)),
            route: true,
            links: links.clone(),
        });
    }
    for (place, part) in places.iter().zip(parts) {
        let (x, y) = (place.0 - part.width / 2.0, place.1 - part.height / 2.0);
        picture.place_part(part, x, y);
    }
    picture
}

/// Returns the point at which the line from the middle of a part to another point leaves the frame
/// of the part; without a frame, the middle.
fn edge(part: &Picture, middle: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    if part.frames.is_empty() {
        return middle;
    }
    let (dx, dy) = (to.0 - middle.0, to.1 - middle.1);
    let reach = |half: f64, way: f64| {
        if way == 0.0 { 1.0 } else { (half / way).abs() }
    };
    let share = reach(part.width / 2.0, dx).min(reach(part.height / 2.0, dy));
    let share = share.min(1.0);
    (middle.0 + share * dx, middle.1 + share * dy)
}

fn member(member: &MemberView) -> Picture {
    let single = |kind, name: &str| {
        let node = Node {
            x: 1.5,
            y: 1.0,
            kind,
            name: Some(name.to_owned()),
        };
        Picture {
            width: 3.0,
            height: 2.0,
            nodes: vec![node],
            ..Picture::default()
        }
    };
    match member {
        MemberView::Host(name) => single(NodeKind::Host, name),
        MemberView::Router(name) => single(NodeKind::Router, name),
        MemberView::Cluster(sketch) => cluster(sketch),
        MemberView::Zone(sketch) => {
            let title = format!("{} ({})", sketch.name, sketch.routing.name());
            zone(sketch).framed(title)
        }
    }
}

/// A number of things as a length.
fn to_length(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// The places of `count` small members on a ring, wider than high.
fn ring(count: usize) -> Vec<(f64, f64)> {
    let radius = if count < 2 {
        0.0
    } else {
        (to_length(count) * 2.2 / TAU).max(2.5)
    };
    (0..count)
        .map(|at| {
            let angle = TAU * to_length(at) / to_length(count) + TAU / 2.0;
            (
                radius * 1.4 * (1.0 + angle.cos()),
                radius * (1.0 + angle.sin()),
            )
        })
        .collect()
}

/// The upper left corners of parts in rows, in a picture about as high as wide.
fn row_positions(parts: &[Picture]) -> Vec<(f64, f64)> {
    /// Between boxes, so that routes can be seen.
    const GAP: f64 = 2.5;
    let area: f64 = parts
        .iter()
        .map(|part| (part.width + GAP) * (part.height + GAP))
        .sum();
    let widest = parts.iter().map(|part| part.width).fold(0.0, f64::max);
    let limit = (area.sqrt() * 1.3).max(widest);
    let (mut x, mut y, mut height) = (0.0, 0.0, 0.0_f64);
    let mut places = Vec::new();
    for part in parts {
        if x > 0.0 && x + part.width > limit {
            (x, y, height) = (0.0, y + height + GAP, 0.0);
        }
        places.push((x, y));
        x += part.width + GAP;
        height = height.max(part.height);
    }
    places
}

fn cluster(sketch: &ClusterSketch) -> Picture {
    let (what, places, size) = match &sketch.shape {
        Shape::Star(backbone) => {
            let what = if *backbone { "backbone" } else { "crossbar" };
            let (places, size) = star(sketch.hosts);
            (what, places, size)
        }
        Shape::Levels { nodes, leaf } => {
            let (places, size) = levels(nodes, *leaf);
            ("fat tree", places, size)
        }
        Shape::Grid(dimensions) => {
            let (places, size) = grid(dimensions);
            let what = if dimensions.len() > 2 {
                "torus (planes side by side)"
            } else {
                "torus"
            };
            (what, places, size)
        }
        Shape::Groups(counts) => {
            let (places, size) = groups(*counts);
            ("dragonfly", places, size)
        }
    };
    let mut picture = Picture {
        width: size.0,
        height: size.1,
        ..Picture::default()
    };
    for Cable {
        ends: (from, to),
        links,
    } in &sketch.cables
    {
        let ends = [places[*from as usize], places[*to as usize]];
        let way = match &sketch.shape {
            Shape::Grid(dimensions) => cable_of_torus(dimensions, [*from, *to], ends),
            _ => ends.to_vec(),
        };
        picture.lines.extend(way.windows(2).map(|ends| Line {
            from: ends[0],
            to: ends[1],
            route: false,
            links: links.to_vec(),
        }));
    }
    for (place, number) in places.iter().zip(0..) {
        picture.nodes.push(Node {
            x: place.0,
            y: place.1,
            kind: if number < sketch.hosts {
                NodeKind::Host
            } else {
                NodeKind::Switch
            },
            name: None,
        });
    }
    let hosts = if sketch.hosts == 1 {
        sketch.first.clone()
    } else {
        format!("{} … {}", sketch.first, sketch.last)
    };
    picture.framed(format!("{}: {what}, {hosts}", sketch.name))
}

type NodePositions = (Vec<(f64, f64)>, (f64, f64));

/// Hosts on a ring, the switch in the middle.
fn star(hosts: u32) -> NodePositions {
    let hosts = f64::from(hosts);
    let radius = (hosts / TAU).max(1.5);
    let mut places = Vec::new();
    let mut at = 0.0;
    while at < hosts {
        let angle = TAU * at / hosts;
        places.push((radius * (1.0 + angle.cos()), radius * (1.0 + angle.sin())));
        at += 1.0;
    }
    places.push((radius, radius));
    (places, (2.0 * radius, 2.0 * radius))
}

/// Places each level of switches in a row, and the hosts at the bottom, one block per leaf switch.
fn levels(nodes: &[u32], leaf: u32) -> NodePositions {
    /// Up to this many hosts stand in one row.
    const ROW_MAX: u32 = 80;
    let hosts = nodes.first().copied().unwrap_or_default();
    let columns = if hosts <= ROW_MAX {
        f64::from(leaf)
    } else {
        f64::from(leaf).sqrt().ceil()
    };
    let lines = (f64::from(leaf) / columns).ceil();
    let gap = if columns < f64::from(leaf) { 1.0 } else { 0.0 };
    let width = f64::from(hosts / leaf) * (columns + gap);
    let step = (width / 6.0).clamp(2.5, 60.0);
    let top = step * to_length(nodes.len() - 1);
    let mut places = Vec::new();
    for host in 0..hosts {
        let (block, within) = (f64::from(host / leaf), f64::from(host % leaf));
        let x = block * (columns + gap) + gap / 2.0 + within % columns + 0.5;
        places.push((x, top + (within / columns).floor()));
    }
    for (level, count) in nodes.iter().enumerate().skip(1) {
        let y = top - step * to_length(level);
        for at in 0..*count {
            let x = width * (f64::from(at) + 0.5) / f64::from(*count);
            places.push((x, y));
        }
    }
    (places, (width, top + lines - 1.0))
}

/// The first two dimensions as a grid, the third as grids side by side, the others one below the
/// other.
fn grid(dimensions: &[u32]) -> NodePositions {
    let size = |at: usize| dimensions.get(at).copied().unwrap_or(1);
    let (columns, lines, planes) = (size(0), size(1), size(2));
    let blocks: u32 = dimensions.iter().skip(3).product();
    let across = f64::from(planes).sqrt().ceil();
    let (step_x, step_y) = (f64::from(columns) + 1.5, f64::from(lines) + 1.5);
    let down = (f64::from(planes) / across).ceil();
    let mut places = Vec::new();
    for block in 0..blocks {
        for plane in 0..planes {
            let plane = f64::from(plane);
            let origin_x = step_x * (plane % across);
            let origin_y = step_y * ((plane / across).floor() + down * f64::from(block));
            for line in 0..lines {
                for column in 0..columns {
                    places.push((origin_x + f64::from(column), origin_y + f64::from(line)));
                }
            }
        }
    }
    let height = step_y * down * f64::from(blocks) - 2.5;
    (places, (step_x * across - 2.5, height.max(0.0)))
}

/// Returns the corners of a cable of a torus. A cable between neighbours is straight; a cable from
/// the last node back to the first runs beside its row or column. A cable between planes has no
/// corners and is not drawn, because such cables would cover the nodes.
fn cable_of_torus(
    dimensions: &[u32],
    [from, to]: [u32; 2],
    [begin, end]: [(f64, f64); 2],
) -> Vec<(f64, f64)> {
    /// Distance of the cable from its row or column, in distances of nodes.
    const BESIDE: f64 = 0.35;
    let plane: u32 = dimensions.iter().take(2).product();
    let (across, down) = (end.0 - begin.0, end.1 - begin.1);
    if from / plane != to / plane {
        Vec::new()
    } else if across.abs().max(down.abs()) < 1.5 {
        vec![begin, end]
    } else if down == 0.0 {
        let (y, inwards) = (begin.1 - BESIDE, BESIDE.copysign(across));
        vec![begin, (begin.0 + inwards, y), (end.0 - inwards, y), end]
    } else {
        let (x, inwards) = (begin.0 - BESIDE, BESIDE.copysign(down));
        vec![begin, (x, begin.1 + inwards), (x, end.1 - inwards), end]
    }
}

/// Groups on a ring; in each, a row of routers for each chassis, with the nodes under their router.
fn groups([groups, chassis, routers, nodes]: [u32; 4]) -> NodePositions {
    let columns = f64::from(nodes).sqrt().ceil();
    let lines = (f64::from(nodes) / columns).ceil();
    let (cell_x, cell_y) = (0.6 * columns + 1.0, 0.6 * lines + 1.8);
    let (width, height) = (cell_x * f64::from(routers), cell_y * f64::from(chassis));
    let diagonal = (width * width + height * height).sqrt() * 1.1;
    let radius = if groups == 1 {
        0.0
    } else {
        (diagonal * f64::from(groups) / TAU).max(diagonal * 0.6)
    };
    let mut hosts = Vec::new();
    let mut switches = Vec::new();
    for group in 0..groups {
        let angle = TAU * f64::from(group) / f64::from(groups);
        let (left, top) = (radius * (1.0 + angle.cos()), radius * (1.0 + angle.sin()));
        for row in 0..chassis {
            for column in 0..routers {
                let x = left + cell_x * (f64::from(column) + 0.5);
                let y = top + cell_y * f64::from(row) + 0.5;
                switches.push((x, y));
                for node in 0..nodes {
                    let (across, down) = (
                        f64::from(node) % columns,
                        (f64::from(node) / columns).floor(),
                    );
                    hosts.push((
                        x + 0.6 * (across - (columns - 1.0) / 2.0),
                        y + 0.9 + 0.6 * down,
                    ));
                }
            }
        }
    }
    hosts.append(&mut switches);
    (hosts, (2.0 * radius + width, 2.0 * radius + height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::Platform;

    #[test]
    fn everything_is_inside_and_no_two_nodes_cover_each_other() {
        let cluster = |name: &str, keys: &str| {
            format!(
                "[clusters.{name}]\nspeed = \"1Gf\"\nbandwidth = \"1Gbps\"\nlatency = \"1us\"\n{keys}\n"
            )
        };
        let text = [
            "version = 1\nrouting = \"none\"\n[hosts.alone]\nspeed = \"1f\"\n".to_owned(),
            cluster("a", "hosts = \"a[0-63]\""),
            cluster("b", "hosts = \"b[0-99]\"\ntopology = \"torus\"\ndimensions = [5, 4, 5]"),
            cluster("c", "hosts = \"c[0-63]\"\ntopology = \"fat-tree\"\ndown = [4, 4, 4]\nup = [1, 2, 2]"),
            cluster("d", "hosts = \"d[0-63]\"\ntopology = \"dragonfly\"\ngroups = 4\nchassis = 2\nrouters = 4\nnodes = 2"),
        ]
        .concat();
        let platform = Platform::parse("p.toml", &text).unwrap();
        let picture = zone(&platform.sketch().unwrap());
        for (at, node) in picture.nodes.iter().enumerate() {
            assert!(
                (0.0..=picture.width).contains(&node.x) && (0.0..=picture.height).contains(&node.y)
            );
            for other in &picture.nodes[..at] {
                let (dx, dy) = (node.x - other.x, node.y - other.y);
                assert!((dx * dx + dy * dy).sqrt() > 0.25, "{node:?} {other:?}");
            }
        }
    }
    #[test]
    fn every_cable_in_a_plane_of_a_torus_is_drawn() {
        let text = "version = 1\n[clusters.c]\nhosts = \"n[0-23]\"\nspeed = \"1f\"\nbandwidth = \"1Bps\"\nlatency = \"1s\"\n\
                    topology = \"torus\"\ndimensions = [4, 3, 2]\n";
        let platform = Platform::parse("p.toml", text).unwrap();
        let picture = zone(&platform.sketch().unwrap());
        // In each of 2 planes 3 rows of 3 cables and one back, and 4 columns of 2 and one back;
        // those back have three parts.
        assert_eq!(picture.lines.len(), 2 * (3 * (3 + 3) + 4 * (2 + 3)));
        for line in &picture.lines {
            for node in &picture.nodes {
                let ends = [line.from, line.to].contains(&(node.x, node.y));
                let (dx, dy) = (line.to.0 - line.from.0, line.to.1 - line.from.1);
                let share = ((node.x - line.from.0) * dx + (node.y - line.from.1) * dy)
                    / (dx * dx + dy * dy);
                let share = share.clamp(0.0, 1.0);
                let (x, y) = (
                    line.from.0 + share * dx - node.x,
                    line.from.1 + share * dy - node.y,
                );
                assert!(
                    ends || (x * x + y * y).sqrt() > 0.25,
                    "{line:?} covers {node:?}"
                );
            }
        }
    }
}
