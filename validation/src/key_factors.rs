//! Factors of platform keys for which simulated times agree best with measured times. Tables of
//! ping-pongs and of collective operations use the same method.
//!
//! *Decided here*: the unknowns are the logarithms of the factors, so a value keeps its sign, and a
//! value of 0 stays 0. The minimum of Σ 2 (√(1 + (r / s)²) − 1) + Σ (x / p)² is found by the method
//! of Levenberg (1944), with the weights of the residuals r = ln(simulated / measured) computed
//! again in each step; derivatives are differences of 1 %. s is the median residual as a standard
//! deviation, at most 8 %, so a few rows that the model cannot predict count little. p is the prior
//! width of a factor, 0.4: a key that the rows hardly determine stays near the value of the
//! platform, and the prior vanishes with s where the model is exact.
//!
//! *Not modelled*: keys with costs that always add up, such as `doorbell` and `completion`: the
//! priors divide the sum.

use std::fmt;

use platform::{Override, Platform};

use crate::fit::solve_equations;
use crate::key_fit::KeyFitError;
use crate::quantile::median;

/// Most steps of the minimisation; published tables take about ten.
const STEPS_MAX: u32 = 50;

/// The minimisation ends when a step improves the sum by a smaller part.
const IMPROVEMENT_MIN: f64 = 1e-4;
/// The largest logarithm of a factor: 1000.
const LOGARITHM_MAX: f64 = 6.907_755;

/// The difference of the logarithm of a factor for derivatives: 1 %, above the picoseconds to which
/// dates of packets are rounded.
const DIFFERENCE: f64 = 0.01;

/// The prior width of the logarithm of a factor (0.35 to 0.5 served the tables of PICO).
const PRIOR: f64 = 0.4;

/// Ratio of the standard deviation and the median of the absolute value of a normal variable.
const NORMAL: f64 = 1.4826;

/// The least and the largest standard deviation of residuals: 0.1 %, and the error of a good model
/// for the tables of PICO. With a larger one the priors would hold a bad platform in place.
const DEVIATIONS: (f64, f64) = (1e-3, 0.08);

/// The least effect of a key: the time of a row changes by 1 % when the value doubles.
const EFFECT_MIN: f64 = 0.01 / std::f64::consts::LN_2;

/// A fitted key.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyFactor {
    /// The path of the key, as in `--set`.
    pub key: String,
    /// The factor by which the value of the platform is multiplied.
    pub factor: f64,
    /// The standard deviation of the logarithm of the factor.
    pub width: f64,
}

impl fmt::Display for KeyFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, factor, width) = (&self.key, self.factor, 100.0 * self.width);
        write!(f, "{key} x {factor:.4} (+- {width:.1} %)")
    }
}

/// Returns the platform with the factors multiplied, given as logarithms.
fn scale_keys(platform: &Platform, keys: &[String], at: &[f64]) -> Result<Platform, KeyFitError> {
    let factors = keys.iter().zip(at);
    let changes: Result<Vec<Override>, _> = factors
        .map(|(key, logarithm)| format!("{key}*={}", libm::exp(*logarithm)).parse())
        .collect();
    let changes = changes.map_err(|error| KeyFitError::Key(format!("{error}")))?;
    let changed = platform.clone().with_overrides("the platform", &changes);
    changed.map_err(|error| KeyFitError::Key(error.to_string()))
}

/// A sum of losses of residuals with this standard deviation, and of priors.
struct Loss(f64);

impl Loss {
    fn new(residuals: &[f64]) -> Self {
        let sizes: Vec<f64> = residuals.iter().map(|one| one.abs()).collect();
        let (least, largest) = DEVIATIONS;
        Self((NORMAL * median(&sizes).unwrap_or(0.0)).clamp(least, largest))
    }

    fn loss_sum(&self, residuals: &[f64], at: &[f64]) -> f64 {
        let loss = |one: &f64| 2.0 * (libm::hypot(1.0, one / self.0) - 1.0);
        let priors = at.iter().map(|one| (one / PRIOR) * (one / PRIOR));
        residuals.iter().map(loss).chain(priors).sum()
    }

    /// Returns the normal equations of a step: the weighted products of the derivatives, and as
    /// right side the products of the derivatives with the residuals.
    fn step_equations(&self, slopes: &[Vec<f64>], residuals: &[f64], at: &[f64]) -> Vec<Vec<f64>> {
        let weight = |one: &f64| 1.0 / (self.0 * self.0 * libm::hypot(1.0, one / self.0));
        let weights: Vec<f64> = residuals.iter().map(weight).collect();
        let product = |one: &[f64], other: &[f64]| -> f64 {
            let pairs = one.iter().zip(other).zip(&weights);
            pairs.map(|((a, b), weight)| weight * a * b).sum()
        };
        let row = |(number, one): (usize, &Vec<f64>)| {
            let mut row: Vec<f64> = slopes.iter().map(|other| product(one, other)).collect();
            row[number] += 1.0 / (PRIOR * PRIOR);
            row.push(-product(one, residuals) - at[number] / (PRIOR * PRIOR));
            row
        };
        slopes.iter().enumerate().map(row).collect()
    }
}

/// Fits the factors of `keys`, and returns the platform with them. `residuals` returns
/// ln(simulated / measured) of each row on a platform.
///
/// # Errors
/// [`KeyFitError`] if a key cannot be changed, no row depends on a key, or `residuals` fails.
pub fn fit_factors(
    platform: &Platform,
    keys: &[String],
    residuals: &dyn Fn(&Platform) -> Result<Vec<f64>, KeyFitError>,
) -> Result<(Platform, Vec<KeyFactor>), KeyFitError> {
    let evaluate = |at: &[f64]| residuals(&scale_keys(platform, keys, at)?);
    let mut at = vec![0.0; keys.len()];
    let mut found = evaluate(&at)?;
    let mut slopes = residual_slopes(evaluate, &at, &found)?;
    for (key, slopes) in keys.iter().zip(&slopes) {
        if slopes.iter().all(|slope| slope.abs() < EFFECT_MIN) {
            return Err(KeyFitError::Undetermined(key.clone()));
        }
    }
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let loss = Loss::new(&found);
        let before = loss.loss_sum(&found, &at);
        let equations = loss.step_equations(&slopes, &found, &at);
        // More damping, a shorter step, until the sum decreases.
        let improved = loop {
            let step = solve_equations(add_damping(&equations, damping))
                .ok_or_else(|| KeyFitError::Undetermined(keys.join(", ")))?;
            let next = at.iter().zip(&step);
            let next: Vec<f64> = next
                .map(|(at, step)| (at + step).clamp(-LOGARITHM_MAX, LOGARITHM_MAX))
                .collect();
            if let Ok(residuals) = evaluate(&next)
                && loss.loss_sum(&residuals, &next) < before
            {
                (at, found) = (next, residuals);
                damping /= 10.0;
                break true;
            }
            damping *= 10.0;
            if damping > 1e9 {
                break false;
            }
        };
        if !improved || loss.loss_sum(&found, &at) > before * (1.0 - IMPROVEMENT_MIN) {
            break;
        }
        slopes = residual_slopes(evaluate, &at, &found)?;
    }
    let equations = Loss::new(&found).step_equations(&slopes, &found, &at);
    let factor = |number: usize| KeyFactor {
        key: keys[number].clone(),
        factor: libm::exp(at[number]),
        width: factor_width(&equations, number),
    };
    Ok((
        scale_keys(platform, keys, &at)?,
        (0..keys.len()).map(factor).collect(),
    ))
}

/// Returns the derivatives of the residuals, by key.
fn residual_slopes(
    evaluate: impl Fn(&[f64]) -> Result<Vec<f64>, KeyFitError>,
    at: &[f64],
    residuals: &[f64],
) -> Result<Vec<Vec<f64>>, KeyFitError> {
    let derivative = |key: usize| {
        let mut beside = at.to_vec();
        beside[key] += DIFFERENCE;
        let found = evaluate(&beside)?;
        let slope = |(found, before): (&f64, &f64)| (found - before) / DIFFERENCE;
        Ok(found.iter().zip(residuals).map(slope).collect())
    };
    (0..at.len()).map(derivative).collect()
}

/// Returns the equations with the same damping for all keys: a key on which the times hardly
/// depend takes no long steps.
fn add_damping(equations: &[Vec<f64>], damping: f64) -> Vec<Vec<f64>> {
    let diagonal = equations.iter().enumerate().map(|(key, row)| row[key]);
    let added = damping * diagonal.fold(0.0, f64::max);
    let mut damped = equations.to_vec();
    for (key, row) in damped.iter_mut().enumerate() {
        row[key] += added;
    }
    damped
}

/// Returns the standard deviation of an unknown: the root of the element of the inverse.
fn factor_width(equations: &[Vec<f64>], key: usize) -> f64 {
    let mut rows = equations.to_vec();
    for (number, row) in rows.iter_mut().enumerate() {
        let last = row.len() - 1;
        row[last] = if number == key { 1.0 } else { 0.0 };
    }
    solve_equations(rows).map_or(PRIOR, |column| column[key].max(0.0).sqrt())
}
