//! Cuts sorted points into segments: the exact optimum, by dynamic programming.
//!
//! F\[K\]\[j\], the least cost of K segments over the first j points, is the least over i of
//! F\[K−1\]\[i\] and the cost of points i..j. The number of segments is the K with the least
//! F\[K\]\[n\] + penalty × ln n × (K − 1). Of equal costs, the cut with fewer segments wins, then
//! the cut with the break at the smaller size, so that the result is unique.
//!
//! Sums over a segment grow point by point from the first point, so all n² segments take n² steps
//! and no precision is lost by subtracting.

use super::FitOptions;
use super::segment::{LeastSquaresSums, Line};
use crate::point::{Point, count};

/// Points `first..end`, and their line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SegmentCut {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) line: Line,
}

/// The best segments of sorted points; `None` if no segments are allowed that cover all points.
pub(crate) fn search(
    points: &[Point],
    sigmas: &[f64],
    rules: &FitOptions,
) -> Option<Vec<SegmentCut>> {
    let n = points.len();
    let costs = segment_costs(points, sigmas, rules);
    // Least cost and last cut of the first `j` points, by number of segments.
    let mut levels: Vec<Vec<Option<(f64, usize)>>> = vec![vec![None; n + 1]];
    levels[0][0] = Some((0.0, 0));
    for segments in 1..=rules.segments_max {
        let before = &levels[segments - 1];
        let level = (0..=n).map(|j| best_last(before, &costs, j)).collect();
        levels.push(level);
    }
    let penalty = rules.penalty * libm::log(count(n.max(1)));
    let mut best: Option<(f64, usize)> = None;
    for (segments, level) in levels.iter().enumerate().skip(1) {
        let Some((cost, _)) = level[n] else { continue };
        let total = cost + penalty * count(segments - 1);
        if best.is_none_or(|(least, _)| total < least) {
            best = Some((total, segments));
        }
    }
    let (_, segments) = best?;
    let mut cuts = Vec::with_capacity(segments);
    let mut end = n;
    for level in levels[1..=segments].iter().rev() {
        let (_, first) = level[end]?;
        let line = line_of_points(points, sigmas, first, end);
        cuts.push(SegmentCut { first, end, line });
        end = first;
    }
    cuts.reverse();
    Some(cuts)
}

/// The line of points `first..end`.
pub(crate) fn line_of_points(points: &[Point], sigmas: &[f64], first: usize, end: usize) -> Line {
    let mut sums = LeastSquaresSums::default();
    for (point, sigma) in points[first..end].iter().zip(&sigmas[first..end]) {
        sums.add_point(point.x(), point.time_s, *sigma);
    }
    sums.nearest_line()
}

/// Returns the best last segment that ends before point `j`: the cost of all segments up to there,
/// and the first point of the last segment.
fn best_last(
    before: &[Option<(f64, usize)>],
    costs: &[Vec<Option<f64>>],
    j: usize,
) -> Option<(f64, usize)> {
    let mut best: Option<(f64, usize)> = None;
    for i in 0..j {
        let (Some((sum, _)), Some(cost)) = (before[i], costs[i][j - i - 1]) else {
            continue;
        };
        if best.is_none_or(|(least, _)| sum + cost < least) {
            best = Some((sum + cost, i));
        }
    }
    best
}

/// Returns, for each first point, the costs of the segments by length; `None` where a segment is
/// not allowed.
fn segment_costs(points: &[Point], sigmas: &[f64], rules: &FitOptions) -> Vec<Vec<Option<f64>>> {
    let region = |point: &Point| rules.forced.iter().filter(|at| **at <= point.size).count();
    let regions: Vec<usize> = points.iter().map(region).collect();
    // What lies between forced breaks leaves no choice: it is a segment, however small.
    let is_whole = |i: usize, j: usize| {
        (i == 0 || regions[i - 1] != regions[i])
            && (j + 1 == regions.len() || regions[j + 1] != regions[j])
    };
    (0..points.len())
        .map(|i| {
            let mut sums = LeastSquaresSums::default();
            (i..points.len())
                .map(|j| {
                    sums.add_point(points[j].x(), points[j].time_s, sigmas[j]);
                    let long_enough = || {
                        let (first, last) = (points[i].x().max(32.0), points[j].x().max(32.0));
                        j + 1 - i >= rules.points_min && last >= rules.span_min * first
                    };
                    let allowed = regions[i] == regions[j] && (is_whole(i, j) || long_enough());
                    allowed.then(|| sums.cost(sums.nearest_line()))
                })
                .collect()
        })
        .collect()
}
