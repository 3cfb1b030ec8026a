//! Errors of predictions: relative errors, predicted / measured − 1, and statistics of many errors.

use crate::quantile::quantile;

/// One prediction with the measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Bytes.
    pub size: u64,
    /// Seconds.
    pub predicted_s: f64,
    /// Seconds.
    pub measured_s: f64,
}

impl Prediction {
    /// Predicted / measured − 1: above 0 if the prediction is too slow.
    pub fn error(&self) -> f64 {
        self.predicted_s / self.measured_s - 1.0
    }
}

/// Summary of the errors of many predictions; all are parts, 0.02 is 2 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorSummary {
    /// Number of predictions.
    pub count: usize,
    /// The median of the errors without their signs.
    pub median: f64,
    /// Nine of ten are smaller.
    pub p90: f64,
    /// The largest.
    pub worst: f64,
    /// The size of the largest, in bytes.
    pub worst_at: u64,
    /// The median of the errors with their signs.
    pub bias: f64,
}

impl ErrorSummary {
    /// Returns the summary; `None` if there are no predictions.
    pub fn new(predictions: &[Prediction]) -> Option<Self> {
        let signed: Vec<f64> = predictions.iter().map(Prediction::error).collect();
        let errors: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        let worst = predictions
            .iter()
            .max_by(|one, other| one.error().abs().total_cmp(&other.error().abs()))?;
        Some(Self {
            count: errors.len(),
            median: quantile(&errors, 0.5)?,
            p90: quantile(&errors, 0.9)?,
            worst: worst.error().abs(),
            worst_at: worst.size,
            bias: quantile(&signed, 0.5)?,
        })
    }
}
