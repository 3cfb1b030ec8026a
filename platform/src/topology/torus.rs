//! Tori of any number of dimensions: each host has a cable to the next host in each dimension.
//!
//! Host `i` has the coordinates of `i` in the mixed radix of the dimensions, the first dimension
//! fastest. Routing is by dimension order, in each dimension the shorter way round. If both ways
//! are equally long, the way goes up, except from the middle to coordinate 0, where it goes down
//! (SimGrid's rule). Upwards a transfer crosses the cable of the host that it leaves, downwards the
//! cable of the host that it reaches, and the limiter of every host on the way.

use std::sync::Arc;

use super::{
    Cable, CableDescription, Description, Impossible, LEVELS_MAX, NodeLabel, RouteStep, Topology,
    TopologyKind, limited, product, shape,
};
use crate::sketch::Shape;

/// The row of the topology in the list of all.
pub(super) const KIND: TopologyKind = TopologyKind {
    name: "torus",
    keys: &["dimensions"],
    read: |collector, section, frame| {
        let dimensions = collector.required::<Vec<u32>>(section, "dimensions", "[4, 4, 2]")?;
        Some(Torus::new(&dimensions, frame.hosts).map(|torus| Arc::new(torus) as _))
    },
};

/// A torus.
#[derive(Clone, Debug)]
pub struct Torus {
    dimensions: Vec<u32>,
    hosts: u32,
}

impl Torus {
    /// A torus for `hosts` hosts.
    ///
    /// # Errors
    /// [`Impossible`] if there is no dimension, or the hosts do not match.
    pub fn new(dimensions: &[u32], hosts: u32) -> Result<Self, Impossible> {
        if dimensions.is_empty() {
            let expected = "expected at least one, such as dimensions = [4, 4, 2]";
            return Err(Impossible::new("a torus without dimensions", expected));
        }
        if dimensions.len() > LEVELS_MAX {
            let problem = format!("a torus of {} dimensions", dimensions.len());
            return Err(Impossible::new(
                problem,
                format!("expected at most {LEVELS_MAX}"),
            ));
        }
        let count = product(dimensions.iter().copied());
        if count != u64::from(hosts) {
            return Err(Impossible::count_mismatch(
                "a torus",
                &shape(dimensions),
                count,
                hosts,
            ));
        }
        limited("cables", count * dimensions.len() as u64)?;
        Ok(Self {
            dimensions: dimensions.to_vec(),
            hosts,
        })
    }
}

impl Topology for Torus {
    fn description(&self) -> Description {
        Description {
            keys: vec![
                ("topology", KIND.name.into()),
                ("dimensions", self.dimensions.clone().into()),
            ],
            summary: format!("torus {:?}", self.dimensions),
            shape: Shape::Grid(self.dimensions.clone()),
        }
    }

    fn cables_per_host(&self) -> u32 {
        u32::try_from(self.dimensions.len()).expect("at most LEVELS_MAX dimensions")
    }

    fn cables(&self) -> u32 {
        self.hosts * self.cables_per_host()
    }

    fn walk(&self, from: u32, to: u32, step: &mut dyn FnMut(RouteStep)) {
        let mut here = from;
        let mut stride = 1;
        for (size, dimension) in self.dimensions.iter().copied().zip(0..) {
            let (start, goal) = (from / stride % size, to / stride % size);
            let half = size / 2;
            let up = if goal > start {
                goal - start <= half
            } else {
                start > half && start - (size - half) >= goal
            };
            let mut at = start;
            while at != goal {
                let next = match (up, at) {
                    (true, at) if at + 1 == size => 0,
                    (true, at) => at + 1,
                    (false, 0) => size - 1,
                    (false, at) => at - 1,
                };
                let there = here - at * stride + next * stride;
                let owner = if up { here } else { there };
                let index = owner * self.cables_per_host() + dimension;
                step(RouteStep::Limiter(here));
                step(RouteStep::Cable(Cable { index, width: 1 }, !up));
                (here, at) = (there, next);
            }
            stride *= size;
        }
        step(RouteStep::Limiter(to));
    }

    fn describe_cable(&self, cable: u32) -> CableDescription {
        let per_host = self.cables_per_host();
        let (host, dimension) = (cable / per_host, cable % per_host);
        let before = &self.dimensions[..dimension as usize];
        let stride: u32 = before.iter().product();
        let size = self.dimensions[dimension as usize];
        let at = host / stride % size;
        CableDescription {
            label: NodeLabel::Host(host, format!("/{dimension}")),
            width: 1,
            ends: (host, host - at * stride + (at + 1) % size * stride),
        }
    }
}
