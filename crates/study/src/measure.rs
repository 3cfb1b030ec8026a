//! Measures: numbers that a study takes from each run.
//!
//! A number comes from the record of the run (`record.json`), from the analyses (`--analyse`), or
//! from a line that the program prints. Paths in JSON are names and positions in lists, from 0,
//! separated by dots: `stalls.0.seconds`.
//!
//! A number that the program prints many times in one run is measured in batches: see
//! [`SteadyState`].

use std::fmt;

use regex::{Captures, Regex};
use serde_json::Value as Json;

use crate::statistics::SteadyState;

/// A number that is taken from each run.
#[derive(Clone, Debug)]
pub struct Measure {
    /// The name in the study file.
    pub name: String,
    /// Where the number is found.
    pub source: MeasureSource,
    /// The unit of the number, used in the name of the column.
    pub unit: Option<String>,
    /// Number of batches of the lines that match; `None` if one line matches.
    pub batches: Option<usize>,
}

/// Value of a measure in one run.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredValue {
    /// The number, which is finite.
    pub value: f64,
    /// Means of the batches; their mean is the number; empty without batches.
    pub batches: Vec<f64>,
}

/// The place of a number in the output of a run.
#[derive(Clone, Debug)]
pub enum MeasureSource {
    /// A path in the record.
    Json(String),
    /// A path in the analyses.
    Analysis(String),
    /// The group of a regular expression in the one line that matches.
    Line(Regex),
}

/// Everything that a finished run leaves.
#[derive(Clone, Copy, Debug)]
pub struct RunOutput<'r> {
    /// The record.
    pub record: &'r Json,
    /// The analyses, if they were made.
    pub analysis: Option<&'r Json>,
    /// The text that the program printed.
    pub text: &'r str,
}

/// Reason why a run has no value of a measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasureError {
    measure: String,
    problem: String,
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "measure {}: {}", self.measure, self.problem)
    }
}

impl std::error::Error for MeasureError {}

impl Measure {
    /// Returns the name of the measure's column: name and unit, unless the name ends with the unit.
    pub fn column(&self) -> String {
        match &self.unit {
            Some(unit) if !self.name.ends_with(&format!("_{unit}")) && self.name != *unit => {
                format!("{}_{unit}", self.name)
            }
            _ => self.name.clone(),
        }
    }

    /// Returns true if the measure needs an analysis of runs.
    pub const fn needs_analysis(&self) -> bool {
        matches!(self.source, MeasureSource::Analysis(_))
    }

    /// Takes the number from a run.
    pub fn extract_value(&self, output: RunOutput<'_>) -> Result<MeasuredValue, MeasureError> {
        let found = match (&self.source, self.batches) {
            (MeasureSource::Line(pattern), Some(batches)) => {
                in_batches(output.text, pattern, batches)
            }
            _ => self.single(output).map(|value| MeasuredValue {
                value,
                batches: Vec::new(),
            }),
        };
        found.map_err(|problem| MeasureError {
            measure: self.name.clone(),
            problem,
        })
    }

    fn single(&self, output: RunOutput<'_>) -> Result<f64, String> {
        match &self.source {
            MeasureSource::Json(path) => at_path(output.record, path, "the record"),
            MeasureSource::Analysis(path) => match output.analysis {
                Some(analysis) => at_path(analysis, path, "the analyses"),
                None => Err("the run has no analyses: expected a run with --analyse".to_owned()),
            },
            MeasureSource::Line(pattern) => in_lines(output.text, pattern),
        }
    }
}

fn at_path(root: &Json, path: &str, place: &str) -> Result<f64, String> {
    let mut now = root;
    for part in path.split('.') {
        let next = match now {
            Json::Array(list) => part.parse().ok().and_then(|at: usize| list.get(at)),
            other => other.get(part),
        };
        now = next.ok_or_else(|| format!("{place} has no {part:?} of the path {path:?}"))?;
    }
    now.as_f64()
        .ok_or_else(|| format!("{path:?} of {place} is {now}: expected a number"))
}

fn in_lines(text: &str, pattern: &Regex) -> Result<f64, String> {
    let mut matches = text.lines().filter_map(|line| pattern.captures(line));
    let Some(captures) = matches.next() else {
        return Err(format!("no line matches {:?}", pattern.as_str()));
    };
    let more = matches.count();
    if more > 0 {
        let lines = more + 1;
        return Err(format!(
            "{lines} lines match {:?}: expected one",
            pattern.as_str()
        ));
    }
    number_of(&captures)
}

fn in_batches(text: &str, pattern: &Regex, batches: usize) -> Result<MeasuredValue, String> {
    let matches = text.lines().filter_map(|line| pattern.captures(line));
    let values = matches.map(|captures| number_of(&captures));
    let values = values.collect::<Result<Vec<f64>, String>>()?;
    let steady = SteadyState::new(&values, batches);
    let steady = steady.map_err(|error| format!("lines of {:?}: {error}", pattern.as_str()))?;
    Ok(MeasuredValue {
        value: steady.mean(),
        batches: steady.batches,
    })
}

fn number_of(captures: &Captures<'_>) -> Result<f64, String> {
    let group = captures
        .get(1)
        .map(|group| group.as_str())
        .unwrap_or_default();
    let number = group.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{group:?} matched: expected a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(source: MeasureSource) -> Measure {
        Measure {
            name: "time".to_owned(),
            source,
            unit: Some("us".to_owned()),
            batches: None,
        }
    }

    fn value(source: MeasureSource, text: &str) -> Result<f64, String> {
        measured(&measure(source), text).map(|measured| measured.value)
    }

    fn measured(measure: &Measure, text: &str) -> Result<MeasuredValue, String> {
        let record = serde_json::json!({ "simulated_s": 0.5, "stalls": [{ "s": 2 }], "n": "x" });
        let output = RunOutput {
            record: &record,
            analysis: None,
            text,
        };
        measure
            .extract_value(output)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_found_by_their_path() {
        let json = |path: &str| value(MeasureSource::Json(path.to_owned()), "");
        assert_eq!(json("simulated_s"), Ok(0.5));
        assert_eq!(json("stalls.0.s"), Ok(2.0));
        assert_eq!(
            json("stalls.1.s"),
            Err("measure time: the record has no \"1\" of the path \"stalls.1.s\"".to_owned())
        );
        assert_eq!(
            json("n"),
            Err("measure time: \"n\" of the record is \"x\": expected a number".to_owned())
        );
        let analysis = value(MeasureSource::Analysis("a".to_owned()), "");
        assert!(analysis.is_err_and(|error| error.contains("expected a run with --analyse")));
    }

    #[test]
    fn numbers_are_found_in_the_line_that_matches() {
        let line = |text: &str| {
            let pattern = Regex::new(r"^took ([^ ]+) us").expect("a pattern");
            value(MeasureSource::Line(pattern), text)
        };
        assert_eq!(line("start\ntook 1.5e1 us\n"), Ok(15.0));
        assert!(line("").is_err_and(|error| error.contains("no line matches")));
        let two = line("took 1 us\ntook 2 us");
        assert!(two.is_err_and(|error| error.contains("2 lines match")));
        assert!(line("took inf us").is_err_and(|error| error.contains("a finite number")));
    }

    #[test]
    fn lines_in_batches_have_a_warm_up() {
        let pattern = Regex::new(r"^took ([^ ]+) us").expect("a pattern");
        let mut measure = measure(MeasureSource::Line(pattern));
        measure.batches = Some(4);
        let lines = (0..60).map(|at| format!("took {} us\n", if at < 20 { 7 } else { 2 }));
        let found = measured(&measure, &lines.collect::<String>()).expect("a value");
        assert_eq!((found.value, found.batches), (2.0, vec![2.0; 4]));
        let few = measured(&measure, "took 1 us\ntook 2 us\n").expect_err("refused");
        assert!(few.contains("expected at least 4 after it"), "{few}");
        assert!(measured(&measure, "took x us").is_err_and(|it| it.contains("a finite number")));
    }

    #[test]
    fn columns_have_the_unit_once() {
        let mut measure = measure(MeasureSource::Json(String::new()));
        assert_eq!(measure.column(), "time_us");
        measure.name = "time_us".to_owned();
        assert_eq!(measure.column(), "time_us");
    }
}
