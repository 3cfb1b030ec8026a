//! Cross-validation of a fit: five times, a fifth of the sizes is left out, the others are fitted,
//! and the left-out sizes are predicted.
//!
//! The smallest and the largest size always stay in the fit, so that no size is extrapolated. The
//! 90 % and 95 % quantiles of the errors are the bands that a report draws; no normal distribution
//! is assumed.

use crate::error_summary::Prediction;
use crate::fit::{FitError, FitOptions, fit, fit_line};
use crate::interpolation::Interpolation;
use crate::point::Point;
use crate::quantile::quantile;

/// Into how many parts the sizes are cut.
const FOLDS: usize = 5;

/// Predictions of sizes that were left out, by size.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CrossCheck {
    /// By the piecewise fit.
    pub piecewise: Vec<Prediction>,
    /// By one line.
    pub line: Vec<Prediction>,
    /// By interpolation between the points.
    pub interpolated: Vec<Prediction>,
}

impl CrossCheck {
    /// Leaves out every fifth size, five times.
    pub fn new(points: &[Point], rules: &FitOptions) -> Result<Self, FitError> {
        let mut points = points.to_vec();
        points.sort_by_key(|point| point.size);
        let last = points.len().saturating_sub(1);
        let mut check = Self::default();
        for fold in 0..FOLDS {
            let is_hidden = |at: usize| at != 0 && at != last && at % FOLDS == fold;
            let part = |hidden: bool| -> Vec<Point> {
                let places = points.iter().enumerate();
                let chosen = places.filter(|(at, _)| is_hidden(*at) == hidden);
                chosen.map(|(_, point)| *point).collect()
            };
            let (known, hidden) = (part(false), part(true));
            if hidden.is_empty() {
                continue;
            }
            let (piecewise, line) = (fit(&known, rules)?, fit_line(&known, rules)?);
            let curve = Interpolation::new(&known).ok_or(FitError::TooFew(known.len()))?;
            check
                .piecewise
                .extend(predictions(&hidden, |size| piecewise.predict(size)));
            check
                .line
                .extend(predictions(&hidden, |size| line.predict(size)));
            check
                .interpolated
                .extend(predictions(&hidden, |size| curve.predict(size)));
        }
        for predictions in [
            &mut check.piecewise,
            &mut check.line,
            &mut check.interpolated,
        ] {
            predictions.sort_by_key(|prediction| prediction.size);
        }
        Ok(check)
    }

    /// Returns the error below which a part `q` of the predictions stays: the band around the fit.
    /// 0 if no size could be left out.
    pub fn band(&self, q: f64) -> f64 {
        let errors: Vec<f64> = self.piecewise.iter().map(|one| one.error().abs()).collect();
        quantile(&errors, q).unwrap_or(0.0)
    }
}

/// Returns the predictions of a model for points.
pub(crate) fn predictions(
    points: &[Point],
    model: impl Fn(u64) -> f64,
) -> impl Iterator<Item = Prediction> {
    points.iter().map(move |point| Prediction {
        size: point.size,
        predicted_s: model(point.size),
        measured_s: point.time_s,
    })
}
