//! Round numbers for axes.

/// Returns round numbers between two: at most eight multiples of 1, 2 or 5 times a power of ten.
pub(crate) fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let least = (high - low) / 7.0;
    let exponent = libm::floor(libm::log10(least));
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * libm::exp10(exponent));
    let step = steps.into_iter().find(|step| *step >= least);
    let (step, digits) = (step.unwrap_or(high - low), libm::exp10(3.0 - exponent));
    let mut ticks = Vec::new();
    // Plus 0: no tick is -0.
    let mut number = libm::ceil(low / step - 1e-9) + 0.0;
    while number * step <= high * (1.0 + 1e-9) && ticks.len() < 9 {
        ticks.push(libm::round(number * step * digits) / digits);
        number += 1.0;
    }
    ticks
}
