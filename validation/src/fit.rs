//! The piecewise linear fit of time over size, T(s) = a + b s on each segment, with the breaks that
//! the points show.
//!
//! The segments are the best there are under [`FitOptions`] (`search`), with relative weights and
//! without negative parameters (`segment`); the noise that the points show decides how many are
//! worth their price (`noise`); `breaks` says where a segment ends between two measured sizes.
//!
//! *Not modelled*: curves within a segment, and anything outside the measured sizes, where the
//! first and the last line are used. A user could observe errors of the height of a jump at sizes
//! between a break's two neighbours ([`Break::gap`]).
//!
//! The result depends on the points alone: not on their order, not on the unit of time, and on no
//! randomness.

mod breaks;
mod hinge;
mod noise;
mod robust;
mod search;
mod segment;

use std::fmt;

use crate::point::{Point, bytes};

pub use breaks::{Break, BreakKind};
pub(crate) use hinge::solve_equations;
pub use noise::rough_noise;
pub use segment::Line;

/// Options of a fit.
#[derive(Clone, PartialEq, Debug)]
pub struct FitOptions {
    /// The relative uncertainty below which no point is trusted.
    pub floor: f64,
    /// True if the noise that the points show counts too ([`rough_noise`]). Not for tables with one
    /// value per power of two: there every bend would be taken for noise (tried on ten published
    /// tables: the median error grows from 2.0 to 2.5 %).
    pub estimates_noise: bool,
    /// The fewest points of a segment.
    pub points_min: usize,
    /// The least factor between the smallest and the largest size of a segment; sizes below 32
    /// bytes count as 32.
    pub span_min: f64,
    /// The most segments.
    pub segments_max: usize,
    /// Cost of a further segment, times ln n: two parameters and a place.
    pub penalty: f64,
    /// Known thresholds in bytes: each is the first size of the new regime.
    pub forced: Vec<u64>,
}

impl FitOptions {
    /// For points that come from samples at sizes of all kinds.
    pub const fn samples() -> Self {
        Self {
            floor: 0.02,
            estimates_noise: true,
            points_min: 4,
            span_min: 2.0,
            segments_max: 8,
            penalty: 3.0,
            forced: Vec::new(),
        }
    }

    /// For published tables: powers of two, one value each, without samples.
    pub fn for_tables() -> Self {
        Self {
            floor: 0.03,
            estimates_noise: false,
            points_min: 2,
            span_min: 1.9,
            ..Self::samples()
        }
    }
}

/// One segment of a fit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Segment {
    /// The line of the segment.
    pub line: Line,
    /// The smallest measured size in the segment, in bytes.
    pub smallest: u64,
    /// The largest measured size in the segment, in bytes.
    pub largest: u64,
    /// Number of points in the segment.
    pub points: usize,
}

/// A curve of segments.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    segments: Vec<Segment>,
    breaks: Vec<Break>,
    noise: f64,
}

/// Why there is no fit.
#[derive(Clone, PartialEq, Debug)]
pub enum FitError {
    /// There are fewer sizes than a line needs.
    TooFew(usize),
    /// A time that is not above 0, or not a number, at this size.
    BadTime(u64, f64),
    /// The same size twice.
    Twice(u64),
    /// No cut into this many segments obeys the rules.
    Impossible(usize),
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew(found) => {
                write!(
                    f,
                    "too few sizes, {found}: expected at least 2, for one line"
                )
            }
            Self::BadTime(size, time) => {
                write!(f, "{size} B takes {time} s: expected a time above 0")
            }
            Self::Twice(size) => write!(f, "duplicate size {size} B"),
            Self::Impossible(segments) => write!(
                f,
                "the known thresholds require more than {segments} segments"
            ),
        }
    }
}

impl std::error::Error for FitError {}

/// The points by size, if they can be fitted.
fn sorted(points: &[Point]) -> Result<Vec<Point>, FitError> {
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|point| point.size);
    let bad = |point: &&Point| !(point.time_s.is_finite() && point.time_s > 0.0);
    if let Some(point) = sorted.iter().find(bad) {
        return Err(FitError::BadTime(point.size, point.time_s));
    }
    if let Some(two) = sorted.windows(2).find(|two| two[0].size == two[1].size) {
        return Err(FitError::Twice(two[0].size));
    }
    if sorted.len() < 2 {
        return Err(FitError::TooFew(sorted.len()));
    }
    Ok(sorted)
}

/// Returns the uncertainty of each of the sorted points: the uncertainty of the point itself, the
/// noise of all points, or the floor, whichever is largest.
fn sigmas(points: &[Point], noise: f64, rules: &FitOptions) -> Vec<f64> {
    let noise = if rules.estimates_noise { noise } else { 0.0 };
    let sigma = |point: &Point| point.error.max(noise).max(rules.floor);
    points.iter().map(sigma).collect()
}

/// Fits segments to points in any order.
///
/// ```
/// use validation::{Point, FitOptions, fit};
///
/// let time = |s: u64| if s <= 1000 { 1e-6 + 1e-9 * s as f64 } else { 5e-6 + 0.5e-9 * s as f64 };
/// let points: Vec<Point> = (0..40).map(|k| 1 << (k / 2) | 1 << (k / 2) >> k % 2)
///     .collect::<std::collections::BTreeSet<u64>>().into_iter()
///     .map(|s| Point::of_table(s, time(s))).collect();
/// let fit = fit(&points, &FitOptions::samples())?;
/// assert_eq!(fit.segments().len(), 2);
/// assert!((fit.predict(100_000) / time(100_000) - 1.0).abs() < 1e-6);
/// # Ok::<(), validation::FitError>(())
/// ```
pub fn fit(points: &[Point], rules: &FitOptions) -> Result<Fit, FitError> {
    let points = sorted(points)?;
    let noise = rough_noise(&points);
    let sigmas = sigmas(&points, noise, rules);
    let cuts =
        search::search(&points, &sigmas, rules).ok_or(FitError::Impossible(rules.segments_max))?;
    Ok(Fit::of_cuts(&points, &cuts, noise, rules))
}

/// Fits one line to all points: Hockney's model, against which others are compared.
pub fn fit_line(points: &[Point], rules: &FitOptions) -> Result<Fit, FitError> {
    let one = FitOptions {
        segments_max: 1,
        forced: Vec::new(),
        ..rules.clone()
    };
    fit(points, &one)
}

impl Fit {
    fn of_cuts(
        points: &[Point],
        cuts: &[search::SegmentCut],
        noise: f64,
        rules: &FitOptions,
    ) -> Self {
        let segments = cuts.iter().map(|cut| Segment {
            line: cut.line,
            smallest: points[cut.first].size,
            largest: points[cut.end - 1].size,
            points: cut.end - cut.first,
        });
        let segments: Vec<Segment> = segments.collect();
        let breaks = segments.windows(2).map(|two| {
            let gap = (two[0].largest, two[1].smallest);
            breaks::between(two[0].line, two[1].line, gap, &rules.forced)
        });
        Self {
            breaks: breaks.collect(),
            segments,
            noise,
        }
    }

    /// Fits the same segments to other points: the breaks stay in place. A segment without points
    /// keeps its line.
    pub fn refit(&self, points: &[Point], rules: &FitOptions) -> Self {
        let mut again = self.clone();
        for (at, segment) in again.segments.iter_mut().enumerate() {
            let inside: Vec<Point> = points
                .iter()
                .copied()
                .filter(|point| self.segment_of(point.size) == at)
                .collect();
            if !inside.is_empty() {
                let sigmas = sigmas(&inside, self.noise, rules);
                segment.line = search::line_of_points(&inside, &sigmas, 0, inside.len());
            }
        }
        again
    }

    /// The same with other lines.
    pub(crate) fn map_lines(&self, change: impl Fn(Line) -> Line) -> Self {
        let mut again = self.clone();
        for segment in &mut again.segments {
            segment.line = change(segment.line);
        }
        again
    }

    /// The segments by size; at least one.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The breaks between them, one fewer.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// The relative noise that the points showed: see [`rough_noise`].
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Returns the segment that a message of `size` bytes belongs to.
    pub fn segment_of(&self, size: u64) -> usize {
        self.breaks.partition_point(|place| place.above < size)
    }

    /// Seconds for a message of `size` bytes.
    pub fn predict(&self, size: u64) -> f64 {
        self.segments[self.segment_of(size)]
            .line
            .time_at(bytes(size))
    }

    /// The smallest and the largest measured size, in bytes.
    pub fn range(&self) -> (u64, u64) {
        let largest = self.segments[self.segments.len() - 1].largest;
        (self.segments[0].smallest, largest)
    }

    /// The gaps in which the two lines differ by more than `part` in the middle: where measuring
    /// more sizes helps most.
    pub fn gaps(&self, part: f64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let wide = move |place: &&Break| {
            place.kind != BreakKind::Forced && (self.jump_in(place) - 1.0).abs() > part
        };
        self.breaks.iter().filter(wide).map(|place| place.gap)
    }

    /// The ratio of the two lines in the middle of a break's gap.
    fn jump_in(&self, place: &Break) -> f64 {
        let middle = (bytes(place.gap.0).max(1.0) * bytes(place.gap.1)).sqrt();
        let at = self.segment_of(place.gap.1);
        self.segments[at].line.time_at(middle) / self.segments[at - 1].line.time_at(middle)
    }
}
