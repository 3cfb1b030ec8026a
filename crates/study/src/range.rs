//! Ranges of values: `"1KiB..1MiB *2"` and `"8..64 +8"`, both ends included.
//!
//! The end is a value only if a step hits the end: `"1..10 *2"` is 1, 2, 4, 8. Values of sizes are
//! written with the greatest unit of the start's family (binary or decimal) that divides them,
//! other quantities with the unit of the start. Numbers with a fraction are rounded to 15 digits.

use crate::value::{QuantityKind, Value, quantity};

/// Largest number of values of one range.
const VALUES_MAX: usize = 100_000;

/// A number that is written in a range.
#[derive(Clone, Copy)]
struct Bound<'t> {
    /// In the base unit.
    value: f64,
    /// The kind of the quantity; `None` for a number without a unit.
    kind: Option<QuantityKind>,
    unit: &'t str,
    whole: bool,
}

/// Returns true if a text is meant as a range: a number or a quantity, then two dots.
pub(crate) fn is_range(text: &str) -> bool {
    let start = text.split_once("..").map(|(start, _)| start.trim());
    start.is_some_and(|start| bound(start).is_some())
}

/// Returns the values of a range.
pub(crate) fn range_values(text: &str) -> Result<Vec<Value>, (String, String)> {
    let expected = || "\"START..END *FACTOR\" or \"START..END +STEP\"".to_owned();
    let malformed = || (format!("range {text:?} is malformed"), expected());
    let (start, rest) = text.split_once("..").ok_or_else(malformed)?;
    let at = rest
        .find(['*', '+'])
        .ok_or_else(|| (format!("range {text:?} has no step"), expected()))?;
    let (end, step) = rest.split_at(at);
    let multiplied = step.starts_with('*');
    let bounds = [start, end, &step[1..]].map(|part| bound(part.trim()));
    let [Some(start), Some(end), Some(step)] = bounds else {
        return Err(malformed());
    };
    let step_kind = if multiplied { None } else { start.kind };
    if end.kind != start.kind || step.kind != step_kind {
        let problem = format!("range {text:?} mixes kinds of quantities");
        return Err((
            problem,
            "units of one kind; a factor without a unit".to_owned(),
        ));
    }
    let grows = if multiplied {
        step.value > 1.0 && start.value > 0.0
    } else {
        step.value > 0.0
    };
    if !grows || end.value < start.value {
        let problem = format!("range {text:?} has no end");
        let expected =
            "a start up to the end, a factor above 1 of a start above 0, or a step above 0";
        return Err((problem, expected.to_owned()));
    }
    stepped_numbers(start.value, end.value, step.value, multiplied)
        .map(|numbers| {
            let whole = start.whole && step.whole;
            let spell = |number| spelled(number, &start, whole);
            numbers.into_iter().map(spell).collect()
        })
        .ok_or_else(|| {
            let problem = format!("range {text:?} has more than {VALUES_MAX} values");
            (problem, format!("at most {VALUES_MAX}"))
        })
}

/// A range without steps: everything between two ends.
#[derive(Clone, PartialEq, Debug)]
pub struct ContinuousRange {
    start: f64,
    end: f64,
    logarithmic: bool,
    kind: Option<QuantityKind>,
    unit: String,
    whole: bool,
}

/// Reads a range without a step, `"START..END"` or `"START..END log"`; `None` if the text has
/// another form.
///
/// The error is the problem and the expected form.
pub(crate) fn continuous(text: &str) -> Option<Result<ContinuousRange, (String, String)>> {
    if !is_range(text) || text.contains(['*', '+']) {
        return None;
    }
    let (start, rest) = text.split_once("..")?;
    let (end, logarithmic) = match rest.trim().strip_suffix("log") {
        Some(end) => (end, true),
        None => (rest, false),
    };
    let bounds = [start, end].map(|part| bound(part.trim()));
    let error = |problem: &str, expected: &str| {
        Some(Err((
            format!("range {text:?} {problem}"),
            expected.to_owned(),
        )))
    };
    let [Some(start), Some(end)] = bounds else {
        return error("is malformed", "\"START..END\" or \"START..END log\"");
    };
    if start.kind != end.kind {
        return error("mixes kinds of quantities", "units of one kind");
    }
    if start.value >= end.value {
        return error("is empty", "a start below the end");
    }
    if logarithmic && start.value <= 0.0 {
        return error("has no logarithm", "a start above 0");
    }
    Some(Ok(ContinuousRange {
        start: start.value,
        end: end.value,
        logarithmic,
        kind: start.kind,
        unit: start.unit.to_owned(),
        whole: start.whole && end.whole,
    }))
}

impl ContinuousRange {
    /// Returns the value at a coordinate in [0, 1].
    pub(crate) fn value_at(&self, coordinate: f64) -> Value {
        let number = if coordinate <= 0.0 {
            self.start
        } else if coordinate >= 1.0 {
            self.end
        } else if self.logarithmic {
            let [start, end] = [self.start, self.end].map(libm::log);
            libm::exp(start + coordinate * (end - start))
        } else {
            self.start + coordinate * (self.end - self.start)
        };
        let like = Bound {
            value: self.start,
            kind: self.kind,
            unit: &self.unit,
            whole: self.whole,
        };
        let number = match self.kind {
            None if self.whole => number.round(),
            Some(QuantityKind::Size) => number,
            _ => format!("{number:.5e}").parse().unwrap_or(number),
        };
        spelled(number, &like, self.whole)
    }
}

/// Returns the numbers from `start` to `end`, or `None` if there are too many.
fn stepped_numbers(start: f64, end: f64, step: f64, multiplied: bool) -> Option<Vec<f64>> {
    let mut numbers = Vec::new();
    let mut now = start;
    let mut steps = 0.0;
    // "0..1 +0.1" must include 1, whatever the rounding of its steps.
    let end = end + 1e-9 * if multiplied { end } else { step };
    while now <= end {
        if numbers.len() == VALUES_MAX {
            return None;
        }
        numbers.push(rounded(now));
        steps += 1.0;
        now = if multiplied {
            now * step
        } else {
            start + steps * step
        };
    }
    Some(numbers)
}

/// Rounds a number with a fraction to 15 digits, so that three steps of 0.1 are 0.3.
fn rounded(number: f64) -> f64 {
    if number.fract() == 0.0 {
        return number;
    }
    format!("{number:.14e}").parse().unwrap_or(number)
}

fn bound(text: &str) -> Option<Bound<'_>> {
    if let Some((value, kind)) = quantity(text) {
        let unit = text.trim_start_matches(|letter: char| !letter.is_alphabetic());
        return Some(Bound {
            value,
            kind: Some(kind),
            unit,
            whole: false,
        });
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(Bound {
        value,
        kind: None,
        unit: "",
        whole: text.parse::<i64>().is_ok(),
    })
}

fn spelled(number: f64, like: &Bound<'_>, whole: bool) -> Value {
    match like.kind {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and between whole bounds"
        )]
        None if whole => Value::Whole(number as i64),
        None => Value::Real(number),
        Some(QuantityKind::Size) => Value::Text(format_size(number, like.unit)),
        Some(_) => {
            let unit = quantity(&format!("1{}", like.unit)).map_or(1.0, |(value, _)| value);
            Value::Text(format!("{}{}", rounded(number / unit), like.unit))
        }
    }
}

/// Returns a size in the greatest unit that divides the size, of the family of `unit`.
pub(crate) fn format_size(bytes: f64, unit: &str) -> String {
    let (factor, prefixes): (f64, &[&str]) = if unit.contains('i') {
        (1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
    } else {
        (1000.0, &["", "k", "M", "G", "T", "P", "E"])
    };
    let mut number = bytes.round();
    let mut prefix = 0;
    while number > 0.0 && number % factor == 0.0 && prefix + 1 < prefixes.len() {
        number /= factor;
        prefix += 1;
    }
    format!("{number}{}B", prefixes[prefix])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(range: &str) -> Vec<String> {
        let values = range_values(range).expect("a range");
        values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn factors_and_steps() {
        assert_eq!(texts("256KiB..1MiB *2"), ["256KiB", "512KiB", "1MiB"]);
        assert_eq!(texts("1000B..100kB *10"), ["1kB", "10kB", "100kB"]);
        assert_eq!(
            texts("8..64 +8"),
            ["8", "16", "24", "32", "40", "48", "56", "64"]
        );
        assert_eq!(texts("1..10*2"), ["1", "2", "4", "8"]);
        assert_eq!(
            texts("50Gbps..200Gbps *2"),
            ["50Gbps", "100Gbps", "200Gbps"]
        );
        let tenths = texts("0..1 +0.1");
        assert_eq!((tenths.len(), tenths[3].as_str()), (11, "0.3"));
        assert_eq!(texts("1.3us..3.9us +1.3us"), ["1.3us", "2.6us", "3.9us"]);
        assert_eq!(texts("-1..1 +1"), ["-1", "0", "1"]);
        assert_eq!(
            range_values("2..4 +1").expect("a range")[0],
            Value::Whole(2)
        );
    }

    #[test]
    fn ranges_without_a_step_are_continuous() {
        let values = |range: &str| {
            let range = continuous(range).expect("a range").expect("no mistake");
            [0.0, 0.5, 1.0].map(|at| range.value_at(at).to_string())
        };
        assert_eq!(values("1us..3us"), ["1us", "2us", "3us"]);
        assert_eq!(values("1KiB..1MiB log"), ["1KiB", "32KiB", "1MiB"]);
        assert_eq!(values("-1..2"), ["-1", "1", "2"]);
        assert_eq!(values("0.1..0.2"), ["0.1", "0.15", "0.2"]);
        assert_eq!(
            values("10Gbps..1000Gbps log"),
            ["10Gbps", "100Gbps", "1000Gbps"]
        );
        assert!(continuous("1..8 *2").is_none() && continuous("ring").is_none());
    }

    #[test]
    fn mistakes_name_the_range() {
        let problem = |range: &str| range_values(range).expect_err("a mistake").0;
        assert_eq!(problem("1..8"), "range \"1..8\" has no step");
        assert_eq!(problem("1..x *2"), "range \"1..x *2\" is malformed");
        assert_eq!(problem("1..8 *1"), "range \"1..8 *1\" has no end");
        assert_eq!(problem("8..1 +1"), "range \"8..1 +1\" has no end");
        assert_eq!(problem("0..8 *2"), "range \"0..8 *2\" has no end");
        assert_eq!(
            problem("1KiB..8us *2"),
            "range \"1KiB..8us *2\" mixes kinds of quantities"
        );
        assert!(problem("0..1e9 +1").ends_with("more than 100000 values"));
    }

    #[test]
    fn a_path_is_no_range() {
        assert!(!is_range("../platforms/cluster.toml"));
        assert!(!is_range("2026/../cluster.toml"));
        assert!(is_range("1KiB..1MiB *2"));
    }
}
