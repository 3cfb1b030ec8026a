//! Synthetic networks as route sets, for tests and measurements of the solver alone.
//!
//! Links of 1.25 GB/s, a backbone of 125 GB/s, separate links for both directions (the backbone has
//! one for both):
//! - a three-level fat tree with d-mod-k routes: the way up is chosen by the digits of the target;
//! - a three-dimensional torus with dimension-order routes, the shorter way round, half-way ties
//!   going up;
//! - hosts around one shared backbone.
//!
//! A flow uses its route with the coefficient 1, and the way back with `crosstraffic`.

/// Bytes/s of every link but the backbone.
pub(crate) const LINK: f64 = 1.25e9;
/// Bytes/s of the backbone.
pub(crate) const BACKBONE: f64 = 125e9;

/// A network, named by the shape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    /// Children of the switches at the three levels, and parents at the second and third.
    FatTree { down: [u32; 3], up: [u32; 2] },
    /// Hosts in each dimension.
    Torus([u32; 3]),
    /// Hosts.
    Backbone(u32),
}

impl Network {
    pub(crate) fn hosts(self) -> u32 {
        match self {
            Self::FatTree { down, .. } => down.iter().product(),
            Self::Torus(size) => size.iter().product(),
            Self::Backbone(hosts) => hosts,
        }
    }

    /// One more than the largest link number.
    pub(crate) fn links(self) -> u32 {
        match self {
            Self::FatTree { down, up } => {
                let leaves = down[1] * down[2];
                2 * (self.hosts() + leaves * up[0] + down[2] * up[0] * up[1])
            }
            Self::Torus(_) => 6 * self.hosts(),
            Self::Backbone(hosts) => 2 * hosts + 1,
        }
    }

    pub(crate) fn capacity(self, link: u32) -> f64 {
        match self {
            Self::Backbone(hosts) if link == 2 * hosts => BACKBONE,
            _ => LINK,
        }
    }

    /// Appends the links from one host to another.
    pub(crate) fn route(self, from: u32, to: u32, links: &mut Vec<u32>) {
        match self {
            Self::FatTree { down, up } => self.up_and_down(down, up, from, to, links),
            Self::Torus(size) => around(size, from, to, links),
            Self::Backbone(hosts) => links.extend([2 * from, 2 * hosts, 2 * to + 1]),
        }
    }

    fn up_and_down(self, down: [u32; 3], up: [u32; 2], from: u32, to: u32, links: &mut Vec<u32>) {
        let first = 2 * self.hosts();
        let second = first + 2 * down[1] * down[2] * up[0];
        let (leaf, target) = (from / down[0], to / down[0]);
        let (tree, target_tree) = (leaf / down[1], target / down[1]);
        let (middle, top) = (to % up[0], to / up[0] % up[1]);
        links.push(2 * from);
        if leaf != target {
            links.push(first + 2 * (leaf * up[0] + middle));
            if tree != target_tree {
                links.push(second + 2 * ((tree * up[0] + middle) * up[1] + top));
                links.push(second + 2 * ((target_tree * up[0] + middle) * up[1] + top) + 1);
            }
            links.push(first + 2 * (target * up[0] + middle) + 1);
        }
        links.push(2 * to + 1);
    }
}

fn around(size: [u32; 3], from: u32, to: u32, links: &mut Vec<u32>) {
    let mut at = from;
    let mut stride = 1;
    for (dimension, length) in (0_u32..).zip(size) {
        let (mut here, there) = (at / stride % length, to / stride % length);
        let up = (there + length - here) % length <= length / 2;
        while here != there {
            let next = if up { here + 1 } else { here + length - 1 } % length;
            let other = at - here * stride + next * stride;
            let owner = if up { at } else { other };
            links.push(6 * owner + 2 * dimension + u32::from(!up));
            (here, at) = (next, other);
        }
        stride *= length;
    }
}

/// A small generator of random numbers: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (self.bits() % u64::from(end)) as u32
    }
}

/// Two different hosts.
pub(crate) fn pair(random: &mut Random, hosts: u32) -> (u32, u32) {
    let from = random.below(hosts);
    let to = (from + 1 + random.below(hosts - 1)) % hosts;
    (from, to)
}
