//! Additional sizes to measure: in the gap of a break where the fit jumps, until the place of the
//! jump is known.
//!
//! Nearly all of the largest errors of a fit come from sizes between the two neighbours of a jump.
//! Halving such a gap (in ln s) at most ten times, until the gap is narrower than 2 %, removes
//! nearly all of these errors. At most five gaps are halved: the gaps with the largest jumps.
//!
//! *Not decided here*: how a size is measured. [`refine`] takes a function for the measurement;
//! [`AdaptiveSampling`] asks for one size after the other.

use crate::fit::{Fit, FitError, FitOptions, Line, fit};
use crate::point::{Point, bytes};

/// A gap is refined if the two lines differ by more than this part in the middle of the gap.
const JUMP_MIN: f64 = 0.05;
/// A gap is narrow enough if its ends differ by at most this factor.
const WIDTH: f64 = 1.02;
const STEPS_MAX: usize = 10;
const GAPS_MAX: usize = 5;

/// A fit after measuring more.
#[derive(Clone, PartialEq, Debug)]
pub struct RefinedFit {
    /// The fit to all points.
    pub fit: Fit,
    /// All points, by size.
    pub points: Vec<Point>,
    /// Number of of them were measured for this.
    pub measured: usize,
}

/// Chooses the next size to measure, from the results at the sizes measured before.
#[derive(Clone, PartialEq, Debug)]
pub struct AdaptiveSampling {
    /// Gaps that are to be narrowed, the last one first.
    gaps: Vec<GapBisection>,
}

/// A gap that is being narrowed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct GapBisection {
    low: u64,
    high: u64,
    old: Line,
    new: Line,
    steps: usize,
}

impl GapBisection {
    /// The size in the middle, unless the gap is narrow enough.
    fn middle(&self) -> Option<u64> {
        let middle = (bytes(self.low).max(1.0) * bytes(self.high)).sqrt();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two sizes"
        )]
        let size = middle as u64;
        let narrow = bytes(self.high) <= WIDTH * bytes(self.low);
        (!narrow && size > self.low && size < self.high && self.steps < STEPS_MAX).then_some(size)
    }
}

impl AdaptiveSampling {
    /// Starts with the gaps where a fit jumps, the largest jumps first.
    pub fn new(fit: &Fit) -> Self {
        let height = |gap: (u64, u64)| {
            let jump = fit.predict(gap.1) / fit.predict(gap.0);
            jump.max(1.0 / jump)
        };
        let mut gaps: Vec<(u64, u64)> = fit.gaps(JUMP_MIN).collect();
        gaps.sort_by(|one, other| height(*other).total_cmp(&height(*one)));
        let line = |size: u64| fit.segments()[fit.segment_of(size)].line;
        let narrowing = |(low, high): (u64, u64)| GapBisection {
            low,
            high,
            old: line(low),
            new: line(high),
            steps: 0,
        };
        let mut gaps: Vec<GapBisection> = gaps.into_iter().take(GAPS_MAX).map(narrowing).collect();
        gaps.reverse();
        Self { gaps }
    }

    /// Returns the next size to measure; `None` if all gaps are narrow enough.
    pub fn next_size(&mut self) -> Option<u64> {
        while let Some(gap) = self.gaps.last() {
            if let Some(size) = gap.middle() {
                return Some(size);
            }
            self.gaps.pop();
        }
        None
    }

    /// Takes a time that was measured in the gap: the size belongs to the nearer line, and the
    /// search continues in the half where the lines change.
    pub fn add_measurement(&mut self, point: Point) {
        let Some(gap) = self.gaps.last_mut() else {
            return;
        };
        gap.steps += 1;
        let distance = |line: Line| (line.time_at(bytes(point.size)) - point.time_s).abs();
        if distance(gap.old) <= distance(gap.new) {
            gap.low = point.size;
        } else {
            gap.high = point.size;
        }
    }
}

/// Fits, measures within the gaps of jumps, and fits again.
pub fn refine(
    points: &[Point],
    rules: &FitOptions,
    mut measure: impl FnMut(u64) -> Point,
) -> Result<RefinedFit, FitError> {
    let mut refinement = AdaptiveSampling::new(&fit(points, rules)?);
    let mut points = points.to_vec();
    let before = points.len();
    while let Some(size) = refinement.next_size() {
        let point = measure(size);
        points.push(point);
        refinement.add_measurement(point);
    }
    points.sort_by_key(|point| point.size);
    Ok(RefinedFit {
        fit: fit(&points, rules)?,
        measured: points.len() - before,
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_jump_is_found() {
        let time = |size: u64| if size < 3000 { 1e-6 } else { 2e-6 };
        let points: Vec<Point> = (0..16)
            .map(|at| Point::of_table(1 << at, time(1 << at)))
            .collect();
        let refined = refine(&points, &FitOptions::for_tables(), |size| {
            Point::of_table(size, time(size))
        })
        .unwrap();
        let [found] = refined.fit.breaks() else {
            panic!("{:?}", refined.fit.breaks());
        };
        assert!(found.width() <= WIDTH && !found.is_uncertain(), "{found:?}");
        assert!(found.gap.0 < 3000 && 3000 <= found.gap.1);
        assert_eq!(refined.points.len(), points.len() + refined.measured);
        assert!(refined.measured <= STEPS_MAX);
    }
}
