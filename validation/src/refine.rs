//! Which sizes to measure too: in the gap of a break where the fit jumps, until the place of the jump is known.
//!
//! Nearly all of the largest errors of a fit come from sizes between the two neighbours of a jump. Halving such a gap (in ln s) ten times
//! at most, until it is narrower than 2 %, leaves hardly any; that is done in at most five gaps, those with the largest jumps.
//!
//! *Not decided here*: how a size is measured; that is the caller's function.

use crate::fit::{Fit, FitError, Rules, fit};
use crate::point::{Point, bytes};

/// A gap is refined if the lines differ by more than this part in its middle.
const JUMP_MIN: f64 = 0.05;
/// Where a gap is narrow enough: the factor between its ends.
const WIDTH: f64 = 1.02;
const STEPS_MAX: usize = 10;
const GAPS_MAX: usize = 5;

/// A fit after measuring more.
#[derive(Clone, PartialEq, Debug)]
pub struct Refined {
    /// The fit to all points.
    pub fit: Fit,
    /// All points, by size.
    pub points: Vec<Point>,
    /// How many of them were measured for this.
    pub measured: usize,
}

/// Fits, measures within the gaps of jumps, and fits again.
///
/// # Errors
/// [`FitError`] as [`fit`].
pub fn refine(
    points: &[Point],
    rules: &Rules,
    mut measure: impl FnMut(u64) -> Point,
) -> Result<Refined, FitError> {
    let first = fit(points, rules)?;
    let mut gaps: Vec<(f64, (u64, u64))> = first
        .gaps(JUMP_MIN)
        .map(|gap| (first.predict(gap.1) / first.predict(gap.0), gap))
        .collect();
    let height = |jump: f64| jump.max(1.0 / jump);
    gaps.sort_by(|one, other| height(other.0).total_cmp(&height(one.0)));
    let mut points = points.to_vec();
    let before = points.len();
    for (_, gap) in gaps.into_iter().take(GAPS_MAX) {
        narrow(&first, gap, &mut points, &mut measure);
    }
    points.sort_by_key(|point| point.size);
    Ok(Refined {
        fit: fit(&points, rules)?,
        measured: points.len() - before,
        points,
    })
}

/// Measures in the middle of the gap, gives the size to the nearer line, and goes on in the half where the lines change.
fn narrow(
    fit: &Fit,
    (mut low, mut high): (u64, u64),
    points: &mut Vec<Point>,
    measure: &mut impl FnMut(u64) -> Point,
) {
    let segments = fit.segments();
    let (old, new) = (
        segments[fit.segment_of(low)].line,
        segments[fit.segment_of(high)].line,
    );
    for _ in 0..STEPS_MAX {
        let middle = (bytes(low).max(1.0) * bytes(high)).sqrt();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two sizes"
        )]
        let size = middle as u64;
        if bytes(high) <= WIDTH * bytes(low) || size <= low {
            return;
        }
        let point = measure(size);
        points.push(point);
        let distance = |time: f64| (time - point.time_s).abs();
        if distance(old.at(bytes(size))) <= distance(new.at(bytes(size))) {
            low = size;
        } else {
            high = size;
        }
    }
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
        let refined = refine(&points, &Rules::table(), |size| {
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
