//! Student's t distribution with a whole number of degrees of freedom.
//!
//! The distribution function is the finite trigonometric series of Abramowitz and Stegun, 26.7.3
//! and 26.7.4. Its absolute error is the error of a sum of `f64`, so p-values below about 1e-15 are
//! rounded to 0 or to about that size. The code uses only additions, products, square roots and
//! `libm`: results are the same on every machine.

use std::f64::consts::PI;

use super::count;

/// Degrees of freedom above which the distribution of 10 000 is used; this distribution differs
/// from the normal distribution by less than 1e-4 of a quantile.
const FREEDOM_MAX: usize = 10_000;

/// Returns the probability of a value between `-t` and `t`, with `freedom` > 0 degrees of freedom.
pub(super) fn central_probability(t: f64, freedom: usize) -> f64 {
    let freedom = freedom.clamp(1, FREEDOM_MAX);
    let angle = libm::atan(t / count(freedom).sqrt());
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    let odd = freedom % 2 == 1;
    // The term of index k has the factor (k - 1) / k times that of index k - 2.
    let (mut term, mut at) = if odd { (cos, 3) } else { (1.0, 2) };
    let mut sum = if odd && freedom == 1 { 0.0 } else { term };
    while at < freedom {
        term *= cos * cos * count(at - 1) / count(at);
        sum += term;
        at += 2;
    }
    let probability = if odd {
        2.0 / PI * (angle + sin * sum)
    } else {
        sin * sum
    };
    probability.clamp(0.0, 1.0)
}

/// Returns the t for which a value lies between `-t` and `t` with the probability `confidence`,
/// which is in (0, 1).
pub(super) fn critical_value(confidence: f64, freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while central_probability(high, freedom) < confidence && high < 1e12 {
        high *= 2.0;
    }
    // Each step halves the interval: 64 of them reach neighbours among the f64.
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if central_probability(middle, freedom) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, three decimals.
        for (confidence, freedom, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 4, 2.776),
            (0.95, 9, 2.262),
            (0.95, 10, 2.228),
            (0.95, 29, 2.045),
            (0.95, 100, 1.984),
            (0.99, 5, 4.032),
            (0.99, 30, 2.750),
            (0.90, 7, 1.895),
            (0.95, 100_000, 1.960),
        ] {
            let found = critical_value(confidence, freedom);
            assert!(
                (found - expected).abs() < 5.1e-4,
                "{confidence} {freedom}: {found}"
            );
        }
    }

    #[test]
    fn one_and_two_degrees_of_freedom_have_closed_forms() {
        for t in [0.0, 0.1, 1.0, 3.5, 40.0] {
            let one = 2.0 / PI * libm::atan(t);
            let two = t / (2.0 + t * t).sqrt();
            assert!((central_probability(t, 1) - one).abs() < 1e-15);
            assert!((central_probability(t, 2) - two).abs() < 1e-15);
        }
    }
}
