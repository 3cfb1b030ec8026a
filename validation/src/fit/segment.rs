//! One segment: the line a + b s that is nearest to some points, with a ≥ 0 and b ≥ 0.
//!
//! Nearest means the least Σ ((y − a − b s) / (σ y))²: relative distances, because with distances
//! in seconds the large messages decide everything and small ones are wrong by half. Negative
//! parameters would be no latency and no bandwidth, so where the least is there, the least on the
//! border is taken: b = 0 and the weighted mean, or a = 0 and the slope through the origin.

/// A line: seconds for an empty message and seconds per byte.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Line {
    /// Seconds at size 0.
    pub intercept_s: f64,
    /// Seconds per byte.
    pub slope_s: f64,
}

impl Line {
    /// Seconds for a message of `bytes`.
    pub fn time_at(&self, bytes: f64) -> f64 {
        self.intercept_s + self.slope_s * bytes
    }
}

/// Sums over the points of a segment, sufficient for line and cost.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LeastSquaresSums {
    w: f64,
    ws: f64,
    wy: f64,
    wss: f64,
    wsy: f64,
    wyy: f64,
}

impl LeastSquaresSums {
    /// Adds a point of size `s` and time `y` with the relative uncertainty `sigma`.
    pub(crate) fn add_point(&mut self, s: f64, y: f64, sigma: f64) {
        let w = 1.0 / (sigma * y * sigma * y);
        self.w += w;
        self.ws += w * s;
        self.wy += w * y;
        self.wss += w * s * s;
        self.wsy += w * s * y;
        self.wyy += w * y * y;
    }

    /// The nearest line with a ≥ 0 and b ≥ 0.
    pub(crate) fn nearest_line(&self) -> Line {
        let determinant = self.w * self.wss - self.ws * self.ws;
        // One size only, or sizes that differ less than rounding: no slope can be seen.
        let slope_s = if determinant > 1e-12 * self.w * self.wss {
            (self.w * self.wsy - self.ws * self.wy) / determinant
        } else {
            0.0
        };
        if slope_s <= 0.0 {
            return Line {
                intercept_s: self.wy / self.w,
                slope_s: 0.0,
            };
        }
        let intercept_s = (self.wy - slope_s * self.ws) / self.w;
        if intercept_s < 0.0 {
            return Line {
                intercept_s: 0.0,
                slope_s: self.wsy / self.wss,
            };
        }
        Line {
            intercept_s,
            slope_s,
        }
    }

    /// The sum of the squares that `line` leaves.
    pub(crate) fn cost(&self, line: Line) -> f64 {
        let (a, b) = (line.intercept_s, line.slope_s);
        let cost = self.wyy - 2.0 * (a * self.wy + b * self.wsy)
            + a * a * self.w
            + 2.0 * a * b * self.ws
            + b * b * self.wss;
        cost.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(points: &[(f64, f64)]) -> LeastSquaresSums {
        let mut sums = LeastSquaresSums::default();
        for (s, y) in points {
            sums.add_point(*s, *y, 0.02);
        }
        sums
    }

    #[test]
    fn a_line_is_found_exactly_and_costs_nothing() {
        let sums = of(&[(1.0, 3.5), (10.0, 8.0), (100.0, 53.0)]);
        let line = sums.nearest_line();
        assert!((line.intercept_s - 3.0).abs() < 1e-9 && (line.slope_s - 0.5).abs() < 1e-10);
        assert!(sums.cost(line) < 1e-6);
    }

    #[test]
    fn parameters_are_never_negative() {
        let falling = of(&[(1.0, 5.0), (10.0, 4.0), (100.0, 3.0)]).nearest_line();
        assert_eq!(falling.slope_s, 0.0);
        assert!(falling.intercept_s > 3.0 && falling.intercept_s < 5.0);
        let steep = of(&[(10.0, 1.0), (20.0, 3.0), (40.0, 7.0)]).nearest_line();
        assert_eq!(steep.intercept_s, 0.0);
        assert!(steep.slope_s > 0.1 && steep.slope_s < 0.175);
    }

    #[test]
    fn the_cost_is_the_sum_of_squares() {
        let points = [(1.0, 5.0), (10.0, 4.5), (100.0, 9.0)];
        let sums = of(&points);
        let line = sums.nearest_line();
        let direct: f64 = points
            .iter()
            .map(|(s, y)| {
                let distance = (y - line.time_at(*s)) / (0.02 * y);
                distance * distance
            })
            .sum();
        assert!((sums.cost(line) - direct).abs() < 1e-9 * direct);
    }
}
