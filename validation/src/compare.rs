//! Simulated against measured, for any program that prints times.
//!
//! A time is the last number with a unit in a line (`round 3: 12.5 us`). Lines that differ only in
//! their numbers are rounds of one figure; the statistic is the 10 % quantile, on both sides. Lines
//! are matched by their words; a size with a unit (`64KiB`) counts as a word. A *case* is one
//! command line of the program, such as one size.
//!
//! The error is predicted / measured − 1, first unscaled, then after one common factor: how much
//! slower the reference blocks of the calibration, small and large ping-pongs, are now. The first
//! is the headline; the second separates another machine speed from a wrong shape of the model.
//!
//! *Not compared*: timestamps of single events, and times that are not printed.

use std::fmt::Write as _;

use platform::units::Size;
use report::{Marker, Scatter, Series};
use serde_json::{Value, json};

use crate::error_summary::{ErrorSummary, Prediction};
use crate::point::count;
use crate::read::{LineError, ReadError, positive};
use crate::sample::{Block, Kernel, Set};
use crate::sampling::{SizeSummary, Statistic, summarise};

/// Rounds below which a figure is hardly one.
const FEW: usize = 100;

/// Times of one thing, in seconds, in the order in which they were printed.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundTimes {
    /// The command line, named by the arguments that differ from other cases.
    pub case: String,
    /// The text of the line without the numbers.
    pub what: String,
    /// For each run of the program, the times of its rounds.
    pub runs: Vec<Vec<f64>>,
}

/// Adds the times that a run of a program printed.
pub fn add_run(all: &mut Vec<RoundTimes>, case: &str, output: &str) {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    for line in output.lines() {
        let Some(time_s) = time_of(line) else {
            continue;
        };
        let what = shape(line);
        match found.iter_mut().find(|one| one.0 == what) {
            Some((_, times)) => times.push(time_s),
            None => found.push((what, vec![time_s])),
        }
    }
    for (what, times) in found {
        match all
            .iter_mut()
            .find(|one| one.case == case && one.what == what)
        {
            Some(rounds) => rounds.runs.push(times),
            None => all.push(RoundTimes {
                case: case.to_owned(),
                what,
                runs: vec![times],
            }),
        }
    }
}

/// The last number of a line that has a unit of time, in seconds.
fn time_of(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = |word: &str| match word.trim_end_matches([',', '.', ';', ')']) {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    };
    words.windows(2).rev().find_map(|two| {
        let number = two[0].trim_start_matches('(').parse::<f64>().ok();
        let time = number? * unit(two[1])?;
        (time.is_finite() && time > 0.0).then_some(time)
    })
}

/// Returns the words of a line, without their numbers except sizes: the rows of a table differ by
/// these.
fn shape(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(['(', ')', ',', '.', ';', ':']).to_owned();
    let shown = words.iter().enumerate().map(|(at, word)| {
        // A size is one word, or the number and the unit at the beginning of a line.
        let unit = words.get(at + 1).map(|next| bare(next)).unwrap_or_default();
        let one = bare(word);
        let two = (at == 0).then(|| bare(word) + &unit);
        let is_size = [Some(one), two]
            .iter()
            .flatten()
            .any(|size| size.ends_with('B') && size.parse::<Size>().is_ok());
        if is_size {
            (*word).to_owned()
        } else {
            without_numbers(word)
        }
    });
    // A comma ends a field in a file of rounds.
    shown.collect::<Vec<_>>().join(" ").replace(',', ";")
}

/// Returns a word with `#` in the place of each number.
fn without_numbers(word: &str) -> String {
    let mut shape = String::new();
    for character in word.chars() {
        if !(character.is_ascii_digit() || (character == '.' && shape.ends_with('#'))) {
            shape.push(character);
        } else if !shape.ends_with('#') {
            shape.push('#');
        }
    }
    shape
}

/// One figure: the predicted and the measured time.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The command line.
    pub case: String,
    /// The text of the line without the numbers.
    pub what: String,
    /// Simulated time, in seconds.
    pub predicted_s: f64,
    /// Measured values.
    pub measured: SizeSummary,
}

impl Figure {
    /// Predicted / measured − 1.
    pub fn error(&self) -> f64 {
        self.predicted_s / self.measured.point.time_s - 1.0
    }
}

/// A comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// All figures.
    pub figures: Vec<Figure>,
    /// Slowdown of the reference probes since the calibration, if that is known.
    pub factor: Option<f64>,
    /// The part by which nine of ten predictions of the calibration were wrong at most, if that is
    /// known.
    pub band: Option<f64>,
    /// Remarks: things on one side only, few rounds.
    pub notes: Vec<String>,
    /// The number of things on one side only.
    pub unpaired: usize,
}

/// Summarizes rounds: each run is a block, and the first two rounds of a run are its warm-up.
fn summarise_rounds(rounds: &RoundTimes) -> Option<SizeSummary> {
    let blocks: Vec<Block> = (1..)
        .zip(&rounds.runs)
        .map(|(number, times)| Block {
            session: 1,
            number,
            kernel: Kernel::PingPong,
            size: 0,
            set: Set::Validation,
            times_s: times.clone(),
        })
        .collect();
    let blocks: Vec<&Block> = blocks.iter().collect();
    summarise(&blocks, Statistic::P10, 1).pop()
}

impl Comparison {
    /// Joins both sides by case and line.
    pub fn new(
        predicted: &[RoundTimes],
        measured: &[RoundTimes],
        factor: Option<f64>,
        band: Option<f64>,
    ) -> Self {
        let mut notes = Vec::new();
        let mut figures = Vec::new();
        let mut unpaired = 0;
        for one in predicted {
            let same = |other: &&RoundTimes| other.case == one.case && other.what == one.what;
            let pair = measured
                .iter()
                .find(same)
                .and_then(summarise_rounds)
                .zip(summarise_rounds(one));
            let Some((measured, predicted)) = pair else {
                notes.push(format!("{} {:?} was not measured", one.case, one.what));
                unpaired += 1;
                continue;
            };
            if measured.samples < FEW && measured.blocks < 10 {
                notes.push(format!(
                    "{} {:?}: {} rounds in {} runs; at least 100 rounds or 10 runs are required",
                    one.case, one.what, measured.samples, measured.blocks
                ));
            }
            figures.push(Figure {
                case: one.case.clone(),
                what: one.what.clone(),
                predicted_s: predicted.point.time_s,
                measured,
            });
        }
        let known = |one: &&RoundTimes| {
            !predicted
                .iter()
                .any(|other| other.case == one.case && other.what == one.what)
        };
        for one in measured.iter().filter(known) {
            notes.push(format!("{} {:?} was not simulated", one.case, one.what));
            unpaired += 1;
        }
        Self {
            figures,
            factor,
            band,
            notes,
            unpaired,
        }
    }

    /// Returns the errors of the predictions times `factor`; `None` if there are no figures.
    pub fn errors(&self, factor: f64) -> Option<ErrorSummary> {
        let predictions: Vec<Prediction> = (0..)
            .zip(&self.figures)
            .map(|(number, figure)| Prediction {
                size: number,
                predicted_s: factor * figure.predicted_s,
                measured_s: figure.measured.point.time_s,
            })
            .collect();
        ErrorSummary::new(&predictions)
    }

    /// The table, the errors and the notes, for people.
    pub fn as_text(&self) -> String {
        let mut text = format!(
            "{:<16} {:<24} {:>7} {:>11} {:>7} {:>11} {:>11} {:>11} {:>8} {:>8}\n",
            "case",
            "quantity",
            "rounds",
            "measured us",
            "95 %",
            "median",
            "mean",
            "predicted",
            "error",
            "rescaled"
        );
        for figure in &self.figures {
            let measured = &figure.measured;
            let rescaled = self.factor.map_or_else(String::new, |factor| {
                format!("{:+.1} %", 100.0 * ((1.0 + figure.error()) * factor - 1.0))
            });
            let _ = writeln!(
                text,
                "{:<16} {:<24} {:>7} {:>11.3} {:>7} {:>11.3} {:>11.3} {:>11.3} {:>8} {:>8} {}",
                figure.case,
                figure.what,
                measured.samples,
                1e6 * measured.point.time_s,
                format!("± {:.1}", 100.0 * measured.half_width),
                1e6 * measured.median_s,
                1e6 * measured.mean_s,
                1e6 * figure.predicted_s,
                format!("{:+.1} %", 100.0 * figure.error()),
                rescaled,
                self.judged(figure)
            );
        }
        for (name, factor) in [("as is", Some(1.0)), ("after rescaling", self.factor)] {
            if let Some((factor, errors)) = factor.and_then(|one| Some((one, self.errors(one)?))) {
                let _ = writeln!(
                    text,
                    "{name} (x {factor:.3}): median error {:.1} %, p90 {:.1} %, worst {:.1} % ({}), bias {:+.1} %",
                    100.0 * errors.median,
                    100.0 * errors.p90,
                    100.0 * errors.worst,
                    self.figure_name(errors.worst_at),
                    100.0 * errors.bias
                );
            }
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    pub(crate) fn figure_name(&self, number: u64) -> String {
        let figure = usize::try_from(number)
            .ok()
            .and_then(|at| self.figures.get(at));
        figure.map_or_else(String::new, |one| format!("{} {}", one.case, one.what))
    }

    /// Returns the meaning of an error.
    pub(crate) fn judged(&self, figure: &Figure) -> &'static str {
        let error = figure.error().abs();
        if error <= figure.measured.half_width {
            "not distinguishable"
        } else {
            match self.band {
                Some(band) if error <= band => "in the band",
                Some(_) => "outside the prediction band",
                None => "",
            }
        }
    }

    /// The same as JSON.
    pub fn as_json(&self) -> String {
        serde_json::to_string_pretty(&self.as_value()).unwrap_or_default()
    }

    pub(crate) fn as_value(&self) -> Value {
        let errors = |factor: f64| {
            self.errors(factor).map_or(Value::Null, |one| {
                json!({ "median": one.median, "p90": one.p90, "worst": one.worst, "worst_at": self.figure_name(one.worst_at), "bias": one.bias })
            })
        };
        let figures = self.figures.iter().map(|figure| {
            json!({
                "case": figure.case,
                "quantity": figure.what,
                "rounds": figure.measured.samples,
                "runs": figure.measured.blocks,
                "measured_us": 1e6 * figure.measured.point.time_s,
                "half_width_95": figure.measured.half_width,
                "median_us": 1e6 * figure.measured.median_s,
                "mean_us": 1e6 * figure.measured.mean_s,
                "predicted_us": 1e6 * figure.predicted_s,
                "error": figure.error(),
                "rescaled_error": self.factor.map(|factor| (1.0 + figure.error()) * factor - 1.0),
                "verdict": self.judged(figure),
            })
        });
        json!({
            "values": figures.collect::<Vec<_>>(),
            "errors": errors(1.0),
            "factor": self.factor,
            "errors_rescaled": self.factor.map_or(Value::Null, errors),
            "band_90": self.band,
            "notes": self.notes,
            "unpaired": self.unpaired,
        })
    }

    /// Predicted against measured, with the identity and the band.
    pub fn picture(&self) -> Scatter {
        let of = |factor: f64| -> Vec<(f64, f64)> {
            let pair = |figure: &Figure| {
                (
                    1e6 * figure.measured.point.time_s,
                    1e6 * factor * figure.predicted_s,
                )
            };
            self.figures.iter().map(pair).collect()
        };
        let times = self
            .figures
            .iter()
            .map(|figure| 1e6 * figure.measured.point.time_s);
        let (low, high) = (
            times.clone().fold(f64::INFINITY, f64::min),
            times.fold(0.0, f64::max),
        );
        // One figure is a picture too.
        let ends = [low / 1.5, high * 1.5];
        let line = |factor: f64| ends.map(|x| (x, factor * x)).to_vec();
        let mut drawn = vec![Series::new("equal", Marker::Line, line(1.0))];
        if let Some(band) = self.band {
            drawn.push(Series::new("90 % band", Marker::Thin, line(1.0 + band)));
            drawn.push(Series::new("", Marker::Thin, line(1.0 - band)));
        }
        drawn.push(Series::new("as is", Marker::Dots, of(1.0)));
        if let Some(factor) = self.factor {
            drawn.push(Series::new("after rescaling", Marker::Rings, of(factor)));
        }
        Scatter {
            title: "A program: predicted against measured".to_owned(),
            x: "measured (us)".to_owned(),
            log_x: true,
            y: "predicted (us)".to_owned(),
            log_y: true,
            series: drawn,
            verticals: Vec::new(),
        }
    }
}

/// Returns the text of a file of rounds: `case,what,run,round,time_us`.
pub fn rounds_as_csv(all: &[RoundTimes]) -> String {
    let mut text = String::from("case,what,run,round,time_us\n");
    for rounds in all {
        for (run, times) in rounds.runs.iter().enumerate() {
            for (round, time) in times.iter().enumerate() {
                let (case, what) = (rounds.case.replace(',', ";"), &rounds.what);
                let _ = writeln!(text, "{case},{what},{run},{round},{}", 1e6 * time);
            }
        }
    }
    text
}

/// Reads the text that [`rounds_as_csv`] writes; lines that begin with `#` are skipped.
pub fn read_rounds(file: &str, text: &str) -> Result<Vec<RoundTimes>, ReadError> {
    let mut all: Vec<RoundTimes> = Vec::new();
    let mut mistakes = Vec::new();
    let lines = (1..).zip(text.lines()).filter(|(_, line)| {
        !line.trim().is_empty() && !line.starts_with('#') && !line.starts_with("case,what,")
    });
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [case, what, run, _, time] = fields[..] else {
            let problem = format!("{} fields", fields.len());
            mistakes.push(LineError::new(
                number,
                problem,
                "case,what,run,round,time_us",
            ));
            continue;
        };
        let what = &shape(what);
        let run: Option<usize> = run.parse().ok().filter(|run| *run < 1_000_000);
        let (Some(run), Some(time)) = (run, positive(time)) else {
            let problem = format!("run {run:?} and time {time:?}");
            mistakes.push(LineError::new(
                number,
                problem,
                "a whole number, and microseconds above 0",
            ));
            continue;
        };
        let at = all
            .iter()
            .position(|one| one.case == case && one.what == *what);
        let at = at.unwrap_or_else(|| {
            all.push(RoundTimes {
                case: case.to_owned(),
                what: what.clone(),
                runs: Vec::new(),
            });
            all.len() - 1
        });
        let runs = &mut all[at].runs;
        if runs.len() <= run {
            runs.resize(run + 1, Vec::new());
        }
        runs[run].push(time / 1e6);
    }
    if all.is_empty() && mistakes.is_empty() {
        mistakes.push(LineError::new(0, "it has no times", "a line per time"));
    }
    if mistakes.is_empty() {
        return Ok(all);
    }
    Err(ReadError {
        file: file.to_owned(),
        mistakes,
    })
}

/// By how much slower reference blocks are now: the middle of now / then over the sizes that both
/// have, in geometric mean.
pub fn common_factor(then: &[(u64, f64)], now: &[(u64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = then
        .iter()
        .filter_map(|(size, before)| {
            let after = now.iter().find(|one| one.0 == *size)?.1;
            Some(libm::log(after / before))
        })
        .filter(|ratio| ratio.is_finite())
        .collect();
    let sum: f64 = ratios.iter().sum();
    (!ratios.is_empty()).then(|| libm::exp(sum / count(ratios.len())))
}

/// The reference blocks of samples: sizes and their 10 % quantiles in seconds.
pub fn reference_times(blocks: &[Block]) -> Vec<(u64, f64)> {
    let wanted = |block: &&Block| block.set == Set::Reference;
    let blocks: Vec<&Block> = blocks.iter().filter(wanted).collect();
    let summaries = summarise(&blocks, Statistic::P10, 1);
    summaries
        .iter()
        .map(|one| (one.point.size, one.point.time_s))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(text: &str) -> Vec<RoundTimes> {
        let mut all = Vec::new();
        add_run(&mut all, "8B", text);
        all
    }

    #[test]
    fn lines_that_differ_in_numbers_are_rounds_of_one_thing() {
        let all = rounds(
            "round 0: 12.5 us\nhello\nround 1: 13.5 us\nrank 0 has everything at 2.5 ms\nin 3 of 4\n",
        );
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].what, "round #: # us");
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
        assert!(near(all[0].runs[0][1], 13.5e-6) && near(all[1].runs[0][0], 2.5e-3));
        let again = read_rounds("r.csv", &rounds_as_csv(&all)).unwrap();
        assert_eq!(again.len(), 2);
        assert!(near(again[0].runs[0][0], 12.5e-6));
        let wrong =
            read_rounds("r.csv", "case,what,run,round,time_us\na,b,0,0,fast\na,b\n").unwrap_err();
        assert_eq!(wrong.mistakes.len(), 2);
    }

    #[test]
    fn rows_of_a_table_are_compared_by_their_words() {
        let simulated = "    4KiB     1.578 us\n   64KiB:    13.5 us, all\n  512KiB    22.2 us\n";
        let measured = "  4KiB  111.578 us\n64KiB: 1113.5 us, all\n    1MiB  1122.2 us\n";
        let (simulated, measured) = (rounds(simulated), rounds(measured));
        let words = ["4KiB # us", "64KiB: # us; all", "512KiB # us"];
        assert!(simulated.iter().map(|one| &*one.what).eq(words));
        let comparison = Comparison::new(&simulated, &measured, None, None);
        assert_eq!((comparison.figures.len(), comparison.unpaired), (2, 2));
        // Files have other spaces, too.
        let text = rounds_as_csv(&measured).replace(' ', "  ");
        let again = read_rounds("r.csv", &text).unwrap();
        assert_eq!(again, measured);
    }

    #[test]
    fn sizes_of_two_words_name_rows() {
        let rows = rounds("64 KiB  1.5 us\n128 KiB  2.5 us\n1 MiB in 3 rounds: 4.5 us\n");
        let words = ["64 KiB # us", "128 KiB # us", "1 MiB in # rounds: # us"];
        assert!(rows.iter().map(|one| &*one.what).eq(words), "{rows:?}");
    }

    #[test]
    fn errors_are_signed_and_rescaled() {
        let predicted = rounds("round 0: 9 us\n");
        let measured = rounds(&"round 0: 10 us\n".repeat(200));
        let comparison = Comparison::new(&predicted, &measured, Some(1.1), Some(0.05));
        let [figure] = &comparison.figures[..] else {
            panic!("one figure");
        };
        assert!((figure.error() + 0.1).abs() < 1e-9);
        let after = comparison.errors(1.1).unwrap();
        assert!((after.worst - 0.01).abs() < 1e-9);
        assert!(
            comparison.as_text().contains("outside the prediction band"),
            "{}",
            comparison.as_text()
        );
        assert!(comparison.notes.is_empty());
        let lonely = Comparison::new(&predicted, &[], None, None);
        assert_eq!((lonely.notes.len(), lonely.unpaired), (1, 1));
        assert_eq!(lonely.errors(1.0), None);
    }

    #[test]
    fn the_common_factor_is_that_of_the_references() {
        let factor = common_factor(&[(64, 1.0), (65_536, 4.0)], &[(64, 2.0), (65_536, 2.0)]);
        assert!((factor.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(common_factor(&[(64, 1.0)], &[(8, 1.0)]), None);
    }
}
