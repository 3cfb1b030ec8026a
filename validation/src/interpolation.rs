//! Log-log interpolation of the points: no model at all, against which a model has to prove itself.
//!
//! Between neighbouring points ln T is linear in ln s; 0 bytes count as half a byte. Outside the
//! points the nearest one's time per byte or time is kept, as ln T continues with the last slope.

use crate::point::{Point, bytes};

/// The curve through all points.
#[derive(Clone, PartialEq, Debug)]
pub struct Interpolation {
    /// ln s and ln T, by size.
    nodes: Vec<(f64, f64)>,
}

impl Interpolation {
    /// The curve through points in any order; `None` for fewer than two sizes.
    pub fn new(points: &[Point]) -> Option<Self> {
        let mut nodes: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (logarithm(point.size), libm::log(point.time_s)))
            .collect();
        nodes.sort_by(|one, other| one.0.total_cmp(&other.0));
        nodes.dedup_by_key(|node| node.0);
        (nodes.len() >= 2).then_some(Self { nodes })
    }

    /// Seconds for a message of `size` bytes.
    pub fn predict(&self, size: u64) -> f64 {
        let x = logarithm(size);
        let above = self.nodes.partition_point(|node| node.0 < x);
        let above = above.clamp(1, self.nodes.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.nodes[above - 1], self.nodes[above]);
        libm::exp(y0 + (x - x0) / (x1 - x0) * (y1 - y0))
    }
}

fn logarithm(size: u64) -> f64 {
    libm::log(bytes(size).max(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_met_and_powers_in_between() {
        let points = [Point::of_table(100, 1.0), Point::of_table(10_000, 4.0)];
        let curve = Interpolation::new(&points).unwrap();
        for (size, time) in [(100, 1.0), (1000, 2.0), (10_000, 4.0), (1_000_000, 16.0)] {
            assert!((curve.predict(size) / time - 1.0).abs() < 1e-12, "{size}");
        }
        assert_eq!(Interpolation::new(&points[..1]), None);
    }
}
