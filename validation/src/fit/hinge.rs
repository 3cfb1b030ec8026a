//! Jumps that may be chance: the lines on both sides are fitted again with a common point.
//!
//! Where several such breaks follow each other, all their segments are fitted together: T(s) = a +
//! b s + Σ c_k max(0, s − h_k), with the hinges h_k at √(l h) of the breaks' gaps. If that would
//! need a negative intercept or slope somewhere, the jumps stay as they are.

use super::{BreakKind, Fit, FitOptions, Line, sigmas};
use crate::point::{Point, bytes};

impl Fit {
    /// The same fit with hinges instead of the jumps at these breaks, by their places in
    /// [`Fit::breaks`].
    pub fn with_hinges(&self, at: &[usize], points: &[Point], rules: &FitOptions) -> Self {
        let mut again = self.clone();
        let mut first = 0;
        while first < self.segments.len() {
            let mut last = first;
            while last < self.breaks.len() && at.contains(&last) {
                last += 1;
            }
            if last > first {
                again.hinge(first, last, points, rules);
            }
            first = last + 1;
        }
        again
    }

    /// Joins the segments from `first` to `last`.
    fn hinge(&mut self, first: usize, last: usize, points: &[Point], rules: &FitOptions) {
        let hinges: Vec<f64> = self.breaks[first..last]
            .iter()
            .map(|place| (bytes(place.gap.0).max(1.0) * bytes(place.gap.1)).sqrt())
            .collect();
        let inside: Vec<Point> = points
            .iter()
            .copied()
            .filter(|point| (first..=last).contains(&self.segment_of(point.size)))
            .collect();
        let sigmas = sigmas(&inside, self.noise, rules);
        let Some(solution) = least_squares(&inside, &sigmas, &hinges) else {
            return;
        };
        let mut line = Line {
            intercept_s: solution[0],
            slope_s: solution[1],
        };
        let mut lines = vec![line];
        for (hinge, change) in hinges.iter().zip(&solution[2..]) {
            line.slope_s += change;
            line.intercept_s -= change * hinge;
            lines.push(line);
        }
        if lines
            .iter()
            .any(|line| line.intercept_s < 0.0 || line.slope_s < 0.0)
        {
            return;
        }
        for (segment, line) in self.segments[first..=last].iter_mut().zip(lines) {
            segment.line = line;
        }
        for (place, hinge) in self.breaks[first..last].iter_mut().zip(hinges) {
            place.kind = BreakKind::Kink;
            place.jump = 1.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between two sizes"
            )]
            let above = hinge as u64;
            place.above = above;
        }
    }
}

/// Returns the weighted least-squares solution of a + b s + Σ c_k max(0, s − h_k); `None` if the
/// points do not determine the coefficients.
fn least_squares(points: &[Point], sigmas: &[f64], hinges: &[f64]) -> Option<Vec<f64>> {
    let n = 2 + hinges.len();
    // Sizes in units of the largest, so that the equations are of one scale.
    let scale = points.last()?.x().max(1.0);
    let row = |s: f64| -> Vec<f64> {
        let mut row = vec![1.0, s / scale];
        row.extend(hinges.iter().map(|hinge| ((s - hinge) / scale).max(0.0)));
        row
    };
    let mut equations = vec![vec![0.0; n + 1]; n];
    for (point, sigma) in points.iter().zip(sigmas) {
        let weight = 1.0 / (sigma * point.time_s * sigma * point.time_s);
        let row = row(point.x());
        for i in 0..n {
            for j in 0..n {
                equations[i][j] += weight * row[i] * row[j];
            }
            equations[i][n] += weight * row[i] * point.time_s;
        }
    }
    let mut solution = solve_equations(equations)?;
    for value in &mut solution[1..] {
        *value /= scale;
    }
    Some(solution)
}

/// Returns the solution of linear equations by Gauss's elimination with the largest pivot; each row
/// ends with its right side. `None` if there is no unique solution.
pub(crate) fn solve_equations(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|one, other| {
            rows[*one][column]
                .abs()
                .total_cmp(&rows[*other][column].abs())
        })?;
        rows.swap(column, pivot);
        let head = rows[column].clone();
        if head[column].abs() < 1e-12 * head[..n].iter().fold(0.0, |most: f64, x| most.max(x.abs()))
            || head[column] == 0.0
        {
            return None;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            let factor = row[column] / head[column];
            if at != column && factor != 0.0 {
                for (value, above) in row.iter_mut().zip(&head) {
                    *value -= factor * above;
                }
            }
        }
    }
    Some((0..n).map(|at| rows[at][n] / rows[at][at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit;

    #[test]
    fn a_small_jump_becomes_a_common_point() {
        // A bend at 1000 with a step of 3 %, which a fit with two lines keeps.
        let time = |s: f64| {
            if s <= 1000.0 {
                10e-6 + 1e-9 * s
            } else {
                11.3e-6 + 5e-9 * (s - 1000.0)
            }
        };
        let points: Vec<Point> = (0..60)
            .map(|at| libm::exp(f64::from(at) * 0.22) as u64)
            .collect::<std::collections::BTreeSet<u64>>()
            .into_iter()
            .map(|size| Point::of_table(size, time(bytes(size))))
            .collect();
        let rules = FitOptions::samples();
        let jumps = fit(&points, &rules).unwrap();
        assert!(!jumps.breaks().is_empty());
        let all: Vec<usize> = (0..jumps.breaks().len()).collect();
        let joined = jumps.with_hinges(&all, &points, &rules);
        for (at, place) in joined.breaks().iter().enumerate() {
            assert_eq!(place.kind, BreakKind::Kink);
            let hinge = (bytes(place.gap.0) * bytes(place.gap.1)).sqrt();
            let [old, new] = [joined.segments()[at].line, joined.segments()[at + 1].line];
            assert!((old.time_at(hinge) / new.time_at(hinge) - 1.0).abs() < 1e-9);
        }
        for point in &points {
            assert!((joined.predict(point.size) / point.time_s - 1.0).abs() < 0.03);
        }
        assert_eq!(jumps.with_hinges(&[], &points, &rules), jumps);
    }
}
