//! Weights by Huber: points that are far from their line count less. Inside the segments that were
//! found, never while they are searched, where a point far away may be the beginning of another
//! segment.

use super::{Fit, FitOptions, search, sigmas};
use crate::point::Point;

/// From how many standard deviations on a point counts less.
const FAR: f64 = 1.5;
/// Number of times that weights and lines are computed again.
const ROUNDS: usize = 2;

impl Fit {
    /// The same segments, their lines fitted again with points far away counting less.
    pub fn robust(&self, points: &[Point], rules: &FitOptions) -> Self {
        let mut again = self.clone();
        for at in 0..again.segments.len() {
            let inside: Vec<Point> = points
                .iter()
                .copied()
                .filter(|point| self.segment_of(point.size) == at)
                .collect();
            if inside.is_empty() {
                continue;
            }
            let usual = sigmas(&inside, self.noise, rules);
            for _ in 0..ROUNDS {
                let line = again.segments[at].line;
                let wider: Vec<f64> = inside
                    .iter()
                    .zip(&usual)
                    .map(|(point, sigma)| {
                        let far =
                            (point.time_s - line.time_at(point.x())).abs() / (sigma * point.time_s);
                        // The weight is 1/σ², and is to be FAR / far as large.
                        sigma * (far / FAR).max(1.0).sqrt()
                    })
                    .collect();
                again.segments[at].line = search::line_of_points(&inside, &wider, 0, inside.len());
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit;

    #[test]
    fn one_wild_point_moves_the_line_less() {
        let time = |size: u64| 10e-6 + 1e-9 * crate::point::bytes(size);
        let mut points: Vec<Point> = (0..20)
            .map(|at| 1_u64 << at)
            .map(|size| Point::of_table(size, time(size)))
            .collect();
        points[5].time_s *= 1.5;
        let rules = FitOptions {
            segments_max: 1,
            ..FitOptions::samples()
        };
        let usual = fit(&points, &rules).unwrap();
        let robust = usual.robust(&points, &rules);
        let error = |fit: &Fit| (fit.predict(4) / time(4) - 1.0).abs();
        assert!(
            error(&robust) < 0.5 * error(&usual),
            "{} {}",
            error(&robust),
            error(&usual)
        );
        let exact: Vec<Point> = points
            .iter()
            .map(|point| Point::of_table(point.size, time(point.size)))
            .collect();
        let line = fit(&exact, &rules).unwrap();
        assert!((line.robust(&exact, &rules).predict(77) / time(77) - 1.0).abs() < 1e-9);
    }
}
