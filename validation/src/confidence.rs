//! Confidence intervals of the parameters by bootstrap: the blocks of each size are resampled 200
//! times, and each resample is fitted again.
//!
//! With fixed breaks, the 2.5 % and 97.5 % quantiles of a and b are the intervals of a and b. With
//! the full search, the count of a break is the number of resamples that have a break again, with a
//! gap that overlaps the original gap.

use std::collections::BTreeMap;

use sim_core::Stream;

use crate::fit::{BreakKind, Fit, FitOptions, fit};
use crate::point::{Point, bytes, count};
use crate::quantile::quantile;
use crate::sample::Block;
use crate::sampling::{Statistic, draw_samples};

const RESAMPLES: usize = 200;

/// Lower and upper end of a 95 % interval.
pub type Interval = (f64, f64);

/// Uncertainty of a fit by bootstrap.
#[derive(Clone, PartialEq, Debug)]
pub struct BootstrapIntervals {
    /// For each segment the intervals of the intercept (s) and of the slope (s/byte).
    pub segments: Vec<(Interval, Interval)>,
    /// For each break the part of the resamples that have the break again.
    pub breaks: Vec<f64>,
    /// For each break the interval of the jump in the middle of the gap, in seconds: below 0 if the
    /// time falls.
    pub jumps: Vec<Interval>,
}

impl BootstrapIntervals {
    /// Draws the blocks of `fit`'s points again.
    pub fn new(
        fitted: &Fit,
        points: &[Point],
        blocks: &[&Block],
        statistic: Statistic,
        rules: &FitOptions,
        seed: u64,
    ) -> Self {
        let mut by_size: BTreeMap<u64, Vec<&Block>> = BTreeMap::new();
        for block in blocks {
            by_size.entry(block.size).or_default().push(block);
        }
        let mut stream = Stream::new(seed, "validation/confidence");
        let mut lines: Vec<(Vec<f64>, Vec<f64>)> =
            vec![(Vec::new(), Vec::new()); fitted.segments().len()];
        let mut returned = vec![0_usize; fitted.breaks().len()];
        let mut jumps = vec![Vec::new(); fitted.breaks().len()];
        for _ in 0..RESAMPLES {
            let drawn: Vec<Point> = points
                .iter()
                .map(|point| Point {
                    time_s: by_size
                        .get(&point.size)
                        .and_then(|blocks| {
                            quantile(&draw_samples(blocks, &mut stream), statistic.quantile())
                        })
                        .unwrap_or(point.time_s),
                    ..*point
                })
                .collect();
            let refitted = fitted.refit(&drawn, rules);
            for (segment, (a, b)) in refitted.segments().iter().zip(&mut lines) {
                a.push(segment.line.intercept_s);
                b.push(segment.line.slope_s);
            }
            let pairs = refitted.segments().windows(2).zip(fitted.breaks());
            for ((two, place), jumps) in pairs.zip(&mut jumps) {
                let middle = (bytes(place.gap.0).max(1.0) * bytes(place.gap.1)).sqrt();
                jumps.push(two[1].line.time_at(middle) - two[0].line.time_at(middle));
            }
            let Ok(again) = fit(&drawn, rules) else {
                continue;
            };
            for (place, returned) in fitted.breaks().iter().zip(&mut returned) {
                let overlaps = |gap: (u64, u64)| gap.0 < place.gap.1 && place.gap.0 < gap.1;
                *returned += usize::from(again.breaks().iter().any(|one| overlaps(one.gap)));
            }
        }
        let interval = |values: &[f64]| {
            let at = |q| quantile(values, q).unwrap_or(f64::NAN);
            (at(0.025), at(0.975))
        };
        Self {
            segments: lines
                .iter()
                .map(|(a, b)| (interval(a), interval(b)))
                .collect(),
            jumps: jumps.iter().map(|jumps| interval(jumps)).collect(),
            breaks: returned
                .iter()
                .map(|times| count(*times) / count(RESAMPLES))
                .collect(),
        }
    }

    /// Returns the breaks with a jump that may be chance: the interval of the jump contains 0.
    /// Known thresholds and kinks are not included.
    pub fn insignificant_jumps(&self, fitted: &Fit) -> Vec<usize> {
        let is_chance = |at: &usize| {
            let (low, high) = self.jumps[*at];
            fitted.breaks()[*at].kind == BreakKind::Jump && low <= 0.0 && 0.0 <= high
        };
        (0..fitted.breaks().len()).filter(is_chance).collect()
    }
}
