//! The report on a table: factors of fitted keys, errors by groups, noise, regrets; as text and as
//! JSON.
//!
//! *Decided here*: errors are of the rows that no fit has seen; regrets are of all rows.

use std::fmt::Write as _;

use validation::{ErrorSummary, KeyFactor};

use crate::errors::{Grouping, NoiseFloor, group_errors, summarise_errors};
use crate::judge::JudgedRow;
use crate::regret::{Regret, RegretSummary, find_regrets};
use crate::row::ReadRows;

/// The results for a table of measurements.
#[derive(Clone, Debug)]
pub struct AccuracyReport {
    /// The rows that no fit has seen.
    pub judged: Vec<JudgedRow>,
    /// The rows that were fitted, and the keys.
    pub(crate) fitted: (Vec<JudgedRow>, Vec<KeyFactor>),
    /// The choices of libraries, and the reasons why other rows were left out.
    pub(crate) rows: ReadRows,
}

impl AccuracyReport {
    /// Returns the report on rows that no fit has seen, fitted rows and keys, and other rows.
    pub const fn new(
        judged: Vec<JudgedRow>,
        fitted: (Vec<JudgedRow>, Vec<KeyFactor>),
        rows: ReadRows,
    ) -> Self {
        Self {
            judged,
            fitted,
            rows,
        }
    }

    /// The rows that were simulated, fitted ones too.
    pub(crate) fn simulated_rows(&self) -> impl Iterator<Item = &JudgedRow> {
        self.judged.iter().chain(&self.fitted.0)
    }

    fn find_regrets(&self) -> Vec<Regret> {
        let all: Vec<JudgedRow> = self.simulated_rows().cloned().collect();
        find_regrets(&all, &self.rows.rows)
    }
}

/// Writes factors, errors by groups, noise and regrets.
pub fn write_text(report: &AccuracyReport) -> String {
    let (fitted, factors) = &report.fitted;
    let seen = match fitted.len() {
        0 => String::new(),
        count => format!(" {count} fitted,"),
    };
    let mut text = format!(
        "{} rows judged,{seen} {} of the library's choice, {} left out:\n",
        report.judged.len(),
        report.rows.rows.len(),
        report.rows.skipped.values().sum::<usize>()
    );
    for (reason, count) in &report.rows.skipped {
        let _ = writeln!(text, "  {count:>5}  {reason}");
    }
    for (number, factor) in factors.iter().enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}{factor}");
    }
    let _ = writeln!(
        text,
        "\n{:36} {:>6} {:>9} {:>9} {:>10} {:>9}",
        "error", "rows", "median", "p90", "worst", "bias"
    );
    for grouping in Grouping::ALL {
        let mut lines = group_errors(&report.judged, grouping);
        if let (Grouping::All, Some(errors)) = (grouping, summarise_errors(fitted)) {
            lines.push(("fitted".to_owned(), errors));
        }
        for (name, errors) in &lines {
            write_errors(&mut text, name, errors);
        }
        if !lines.is_empty() {
            text.push('\n');
        }
    }
    write_noise(&mut text, &NoiseFloor::new(&report.judged));
    write_regrets(&mut text, &report.find_regrets());
    text
}

fn write_errors(text: &mut String, name: &str, errors: &ErrorSummary) {
    let parts = [errors.median, errors.p90, errors.worst, errors.bias];
    let [median, p90, worst, bias] = parts.map(|part| 100.0 * part);
    let count = errors.count;
    let _ = writeln!(
        text,
        "{name:36} {count:>6} {median:>7.1} % {p90:>7.1} % {worst:>8.1} % {bias:>+7.1} %"
    );
}

fn write_noise(text: &mut String, noise: &NoiseFloor) {
    if let Some((median, p90)) = noise.within_jobs {
        let (median, p90) = (100.0 * median, 100.0 * p90);
        let _ = writeln!(
            text,
            "noise of the measurements: {median:.1} % (p90 {p90:.1} %) between iterations"
        );
    }
    if let Some((median, p90)) = noise.between_jobs {
        let (median, p90, pairs) = (100.0 * median, 100.0 * p90, noise.pairs);
        let _ = writeln!(
            text,
            "  {median:.1} % (p90 {p90:.1} %) between {pairs} pairs of equal rows of two jobs"
        );
    }
}

fn write_regrets(text: &mut String, regrets: &[Regret]) {
    let choices: Vec<f64> = regrets.iter().map(|regret| regret.of_choice).collect();
    let defaults: Vec<f64> = regrets.iter().filter_map(|one| one.of_default).collect();
    let names = ["simulated choice", "library's choice"];
    for (name, regrets) in names.into_iter().zip([choices, defaults]) {
        let Some(found) = RegretSummary::new(&regrets) else {
            continue;
        };
        let _ = writeln!(
            text,
            "time with the {name} / best measured time, {} calls:\n  mean {:.3}, p90 {:.3}, \
             largest {:.3}; the best in {:.0} %",
            found.count,
            found.mean,
            found.p90,
            found.largest,
            100.0 * found.exact
        );
    }
}

/// Writes the same data as JSON, and each row.
pub fn write_json(report: &AccuracyReport) -> String {
    let row_of = |(judged, is_fitted): (&JudgedRow, bool)| {
        let row = &judged.row;
        serde_json::json!({
            "line": row.line, "job": row.job, "nodes": row.nodes, "ranks_per_node": row.ranks_per_node,
            "operation": row.operation.name(), "algorithm": row.algorithm.forced_name(),
            "label": row.label, "bytes": row.bytes,
            "measured_s": row.median_s, "simulated_s": judged.simulated_s, "fitted": is_fitted,
        })
    };
    let (fitted, factors) = &report.fitted;
    let judged = report.judged.iter().map(|row| (row, false));
    let rows = judged
        .chain(fitted.iter().map(|row| (row, true)))
        .map(row_of);
    let factors = factors
        .iter()
        .map(|one| serde_json::json!({ "key": one.key, "factor": one.factor, "width": one.width }));
    let groups = Grouping::ALL.into_iter().flat_map(|grouping| {
        let groups = group_errors(&report.judged, grouping).into_iter();
        groups.map(move |(name, errors)| {
            serde_json::json!({
                "grouping": format!("{grouping:?}").to_lowercase(), "group": name, "rows": errors.count,
                "median": errors.median, "p90": errors.p90, "worst": errors.worst,
                "bias": errors.bias,
            })
        })
    });
    let regrets = report.find_regrets();
    let regrets = regrets.iter().map(|regret| {
        serde_json::json!({
            "nodes": regret.nodes, "ranks_per_node": regret.ranks_per_node,
            "operation": regret.operation.name(), "bytes": regret.bytes,
            "chosen": regret.chosen, "best": regret.best,
            "of_choice": regret.of_choice, "of_default": regret.of_default,
        })
    });
    let noise = NoiseFloor::new(&report.judged);
    let value = serde_json::json!({
        "skipped": report.rows.skipped,
        "factors": factors.collect::<Vec<_>>(),
        "errors": groups.collect::<Vec<_>>(),
        "noise": { "within_jobs": noise.within_jobs, "between_jobs": noise.between_jobs },
        "regrets": regrets.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    });
    format!("{value:#}")
}
