//! Axes of pictures: linear or logarithmic, with round numbers beside them.

/// Ratio of the largest to the smallest value from which on an axis is logarithmic.
#[cfg(feature = "html")]
const LOGARITHMIC_FROM: f64 = 10.0;

/// Numbers beside an axis at most.
const TICKS_MAX: usize = 9;

/// An axis: maps values to shares of the length of the axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Axis {
    /// The value at the beginning of the axis.
    pub(crate) low: f64,
    /// The value at the end of the axis.
    pub(crate) high: f64,
    /// True if equal lengths are equal ratios.
    pub(crate) is_logarithmic: bool,
    /// True for sizes of messages on a logarithmic axis: the round numbers are powers of two.
    pub(crate) has_sizes: bool,
}

impl Axis {
    /// Returns an axis for values; `None` without finite ones. The axis is logarithmic if all
    /// values are above 0, and the largest value is at least ten times the smallest or each value
    /// is the same multiple of the value before. `from_zero`: a linear axis begins at 0.
    #[cfg(feature = "html")]
    pub(crate) fn new(values: impl Iterator<Item = f64>, from_zero: bool) -> Option<Self> {
        let mut finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        finite.dedup();
        let (&low, &high) = (finite.first()?, finite.last()?);
        let is_logarithmic = low > 0.0 && (high >= LOGARITHMIC_FROM * low || doubles(&finite));
        let low = if from_zero && !is_logarithmic && low > 0.0 {
            0.0
        } else {
            low
        };
        let high = if high > low { high } else { low + 1.0 };
        let mut axis = Self {
            low,
            high,
            is_logarithmic,
            has_sizes: false,
        };
        if from_zero {
            // The axis ends at round numbers.
            if is_logarithmic {
                axis.low = *round_numbers(low).iter().rfind(|it| **it <= low)?;
                axis.high = *round_numbers(high).iter().find(|it| **it >= high)?;
            } else if let [first, second, ..] = axis.ticks()[..] {
                axis.high = libm::ceil(high / (second - first)) * (second - first);
            }
        }
        Some(axis)
    }

    /// Returns the share of the length at a value; `None` if the value has no position on the axis.
    pub(crate) fn share(&self, value: f64) -> Option<f64> {
        if !self.is_logarithmic {
            return Some((value - self.low) / (self.high - self.low));
        }
        let logarithm = |value: f64| libm::log10(value);
        let length = logarithm(self.high) - logarithm(self.low);
        (value > 0.0).then(|| (logarithm(value) - logarithm(self.low)) / length)
    }

    /// Returns the values that are written beside the axis: round numbers.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return round_ticks(self.low, self.high);
        }
        let mut ticks = if self.has_sizes {
            self.powers_of_two()
        } else {
            self.decades()
        };
        let on_axis = |tick: &f64| *tick >= 0.999 * self.low && *tick <= 1.001 * self.high;
        ticks.retain(on_axis);
        // An axis of less than a decade; for sizes, one power of two says more than other numbers.
        let least = if self.has_sizes { 1 } else { 3 };
        if ticks.len() < least {
            round_ticks(self.low, self.high)
        } else {
            ticks
        }
    }

    /// Returns powers of ten, and their doubles and fivefolds on a short axis.
    fn decades(&self) -> Vec<f64> {
        let (first, last) = (libm::log10(self.low), libm::log10(self.high));
        let mut ticks = Vec::new();
        let mut exponent = libm::floor(first);
        while exponent <= last {
            let [_, one, two, five, _] = round_numbers(libm::exp10(exponent));
            let others = [two, five].into_iter().filter(|_| last - first <= 3.0);
            ticks.extend([one].into_iter().chain(others));
            exponent += libm::ceil((last - first) / 8.0).max(1.0);
        }
        ticks
    }

    /// Returns powers of two, so far apart that there are few, and that units such as KiB begin at
    /// some of them.
    fn powers_of_two(&self) -> Vec<f64> {
        let first = libm::floor(libm::log2(self.low.max(1.0)));
        let last = libm::floor(libm::log2(self.high));
        let count = |step: &f64| (last - first) / step < TICKS_MAX as f64;
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(count);
        let step = step.unwrap_or(10.0);
        let mut ticks = Vec::new();
        let mut exponent = libm::ceil(first / step) * step;
        while exponent <= last {
            ticks.push(libm::exp2(exponent));
            exponent += step;
        }
        ticks
    }

    /// Returns the text of a value beside the axis.
    pub(crate) fn tick_text(&self, value: f64) -> String {
        if self.has_sizes {
            size_text(value)
        } else {
            number_text(value)
        }
    }
}

/// Returns true if at least three values are each the same multiple of the value before.
#[cfg(feature = "html")]
fn doubles(values: &[f64]) -> bool {
    let same = |three: &[f64]| (three[1] / three[0] - three[2] / three[1]).abs() < 1e-6;
    values.len() >= 3 && values.windows(3).all(same)
}

/// Returns the round numbers around a positive number: 5, 10, 20, 50, 100 around 37.
fn round_numbers(number: f64) -> [f64; 5] {
    let power = |exponent: f64| {
        // A power below 1 as a quotient: 0.1, not 0.10000000000000001.
        if exponent < 0.0 {
            1.0 / libm::exp10(-exponent)
        } else {
            libm::exp10(exponent)
        }
    };
    let exponent = libm::floor(libm::log10(number) + 1e-9);
    let (own, next) = (power(exponent), power(exponent + 1.0));
    [power(exponent - 1.0) * 5.0, own, 2.0 * own, 5.0 * own, next]
}

/// Returns round numbers between two: at least three and at most nine multiples of 1, 2 or 5 times
/// a power of ten.
pub(crate) fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    // The largest ratio of neighbouring steps is 2.5, so three steps fit at least.
    let least = (high - low) / 7.5;
    let exponent = libm::floor(libm::log10(least));
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * libm::exp10(exponent));
    let step = steps.into_iter().find(|step| *step >= least);
    let (step, digits) = (step.unwrap_or(high - low), libm::exp10(3.0 - exponent));
    let mut ticks = Vec::new();
    // Plus 0: no tick is -0.
    let mut number = libm::ceil(low / step - 1e-9) + 0.0;
    while number * step <= high * (1.0 + 1e-9) && ticks.len() < TICKS_MAX {
        ticks.push(libm::round(number * step * digits) / digits);
        number += 1.0;
    }
    ticks
}

/// Formats a round number, without zeros at the end.
pub(crate) fn number_text(number: f64) -> String {
    let size = number.abs();
    if size > 0.0 && !(0.001..1e5).contains(&size) {
        // Three digits: 2e5, and not 1.9999999e5.
        let digits = format!("{number:.2e}");
        digits.replace("0e", "e").replace(".0e", "e")
    } else {
        format!("{}", (number * 1e5).round() / 1e5)
    }
}

/// Formats a size in bytes: a power of 2 with a unit.
fn size_text(bytes: f64) -> String {
    let units = [
        (1024.0 * 1024.0 * 1024.0, "GiB"),
        (1024.0 * 1024.0, "MiB"),
        (1024.0, "KiB"),
    ];
    let unit = units.iter().find(|(size, _)| bytes >= *size);
    match unit {
        Some((size, name)) => format!("{} {name}", number_text(bytes / size)),
        None => number_text(bytes),
    }
}

/// Returns a number with three digits, or all digits in front of the point.
pub fn three_digits(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-3..1e6).contains(&size) => format!("{number:.2e}"),
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        size if size >= 0.9995 => format!("{number:.2}"),
        size if size >= 0.09995 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logarithmic(low: f64, high: f64, has_sizes: bool) -> Axis {
        Axis {
            low,
            high,
            is_logarithmic: true,
            has_sizes,
        }
    }

    #[cfg(feature = "html")]
    #[test]
    fn axes_are_logarithmic_from_a_ratio_of_ten() {
        let axis = Axis::new([1.0, 1000.0].into_iter(), true).expect("an axis");
        assert!(axis.is_logarithmic);
        assert_eq!(
            axis.ticks(),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(axis.share(1.0), Some(0.0));
        assert!((axis.share(10.0).unwrap_or_default() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(axis.share(0.0), None);
        let linear = Axis::new([4.0, 8.0].into_iter(), true).expect("an axis");
        assert_eq!(linear.share(4.0), Some(0.5));
        assert_eq!(linear.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        let sizes = Axis::new([1.0, 2.0, 4.0].into_iter(), false).expect("an axis");
        assert!(sizes.is_logarithmic);
        assert!(Axis::new([f64::NAN].into_iter(), true).is_none());
    }

    #[test]
    fn each_axis_has_three_to_nine_round_numbers() {
        for length in 1..1000 {
            let length = f64::from(length) * 0.013;
            for low in [0.0, -0.7 * length, 0.3] {
                let count = round_ticks(low, low + length).len();
                assert!((3..=9).contains(&count), "{low} + {length}: {count}");
            }
        }
        assert_eq!(logarithmic(31.0, 47.0, false).ticks(), [35.0, 40.0, 45.0]);
        assert_eq!(logarithmic(0.2, 8e8, false).ticks()[..2], [10.0, 1000.0]);
    }

    #[test]
    fn sizes_are_powers_of_two() {
        let axis = logarithmic(0.7, 1.5e6, true);
        let texts: Vec<String> = axis.ticks().iter().map(|it| axis.tick_text(*it)).collect();
        assert_eq!(texts, ["1", "32", "1 KiB", "32 KiB", "1 MiB"]);
        let axis = logarithmic(1024.0, 65_536.0, true);
        assert_eq!(axis.ticks().len(), 7);
    }

    #[test]
    fn texts_of_ticks_have_no_zeros_at_the_end() {
        let texts = [0.0, 0.5, -20.0, 1000.0, 2e5, 0.0002].map(number_text);
        assert_eq!(texts, ["0", "0.5", "-20", "1000", "2e5", "2e-4"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 1234.5, 99.96, 12.345, 1.2345, 0.012345, 1.5e-9];
        let texts = numbers.map(three_digits);
        assert_eq!(
            texts,
            ["0", "1234", "100", "12.3", "1.23", "0.0123", "1.50e-9"]
        );
    }
}
