//! Tori of any number of dimensions: each host has a cable to the next one in each dimension.
//!
//! Host `i` has the coordinates of `i` in the mixed radix of the dimensions, the first dimension fastest. Routing is
//! by dimension order, in each dimension the shorter way round; where both are equally long the way goes up, except from the
//! middle to coordinate 0, where it goes down (SimGrid's rule). Upwards a transfer crosses the cable of the host that it
//! leaves, downwards that of the host that it reaches, and it crosses the limiter of every host on its way.

use super::{Cable, Impossible, LEVELS_MAX, Label, Step, limited, product, shape};

/// A torus.
#[derive(Clone, Debug)]
pub(crate) struct Torus {
    pub(crate) dimensions: Vec<u32>,
    hosts: u32,
}

impl Torus {
    /// A torus for `hosts` hosts.
    ///
    /// # Errors
    /// [`Impossible`] if there is no dimension, or the hosts do not match.
    pub(crate) fn new(dimensions: &[u32], hosts: u32) -> Result<Self, Impossible> {
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
            return Err(Impossible::count(
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

    pub(super) fn width(&self) -> u32 {
        u32::try_from(self.dimensions.len()).expect("at most LEVELS_MAX dimensions")
    }

    pub(super) fn cables(&self) -> u32 {
        self.hosts * self.width()
    }

    pub(super) fn walk(&self, from: u32, to: u32, step: &mut impl FnMut(Step)) {
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
                let index = owner * self.width() + dimension;
                step(Step::Limiter(here));
                step(Step::Cable(Cable { index, width: 1 }, !up));
                (here, at) = (there, next);
            }
            stride *= size;
        }
        step(Step::Limiter(to));
    }

    pub(super) fn cable_label(&self, cable: u32) -> Label {
        let (host, dimension) = (cable / self.width(), cable % self.width());
        Label::Host(host, format!("/{dimension}"))
    }

    /// The two hosts that a cable joins.
    pub(crate) fn ends(&self, cable: u32) -> (u32, u32) {
        let (host, dimension) = (cable / self.width(), cable % self.width());
        let before = &self.dimensions[..dimension as usize];
        let stride: u32 = before.iter().product();
        let size = self.dimensions[dimension as usize];
        let at = host / stride % size;
        (host, host - at * stride + (at + 1) % size * stride)
    }
}
