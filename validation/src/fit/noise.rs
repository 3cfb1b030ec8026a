//! Noise of the points, estimated from the points alone: the distance of each point from the line
//! between its neighbours.
//!
//! Without this estimate a smooth curve with more noise than assumed is cut into many segments that
//! do not predict better. A curve that really bends at every point looks like a noisy curve: with
//! one point per power of two, only large breaks are found.

use crate::point::Point;
use crate::quantile::median;

/// Factor from median absolute deviation to standard deviation of normal noise: 1 / Φ⁻¹(3/4).
pub(crate) const MAD: f64 = 1.4826;

/// Returns the relative standard deviation of sorted points around the lines between their
/// neighbours; 0 for fewer than three points.
///
/// With w = (s_i − s_{i−1}) / (s_{i+1} − s_{i−1}) the result is 1.4826 times the median of
/// |y_i − (1−w) y_{i−1} − w y_{i+1}| / (y_i √(1 + w² + (1−w)²)).
pub fn rough_noise(points: &[Point]) -> f64 {
    let deviations: Vec<f64> = points
        .windows(3)
        .map(|three| {
            let [before, at, after] = [three[0], three[1], three[2]];
            let w = (at.x() - before.x()) / (after.x() - before.x());
            let between = (1.0 - w) * before.time_s + w * after.time_s;
            let spread = (1.0 + w * w + (1.0 - w) * (1.0 - w)).sqrt();
            (at.time_s - between).abs() / (at.time_s * spread)
        })
        .collect();
    MAD * median(&deviations).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_none_and_a_saw_has_its_height() {
        let of = |height: f64| -> Vec<Point> {
            (0..20_u64)
                .map(|at| {
                    let side = if at % 2 == 0 { 1.0 } else { -1.0 };
                    Point::of_table(at * 10, 100.0 * (1.0 + side * height))
                })
                .collect()
        };
        assert!(rough_noise(&of(0.0)) < 1e-12);
        // Each is 2 × 1 % from its neighbours, and √1.5 of that comes from three points together.
        let expected = MAD * 0.02 / 1.5_f64.sqrt();
        assert!((rough_noise(&of(0.01)) / expected - 1.0).abs() < 0.02);
        assert_eq!(rough_noise(&of(0.0)[..2]), 0.0);
    }
}
