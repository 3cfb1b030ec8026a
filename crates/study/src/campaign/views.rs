//! Progress, results and problems of a study, as they are printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use simrun::args::Format;
use simrun::status;

use super::FolderArgs;
use super::plan::StudyPlan;
use super::share::Share;
use super::text_table::write_text;
use crate::{
    PointResults, ResultError, ResultSet, StudyStatus, missing_measures, write_summary, write_table,
};

/// Number of failures that are named.
const SHOWN: usize = 5;

/// A study.
#[derive(Args, Clone, Debug)]
pub struct StatusCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Output format
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text)]
    format: Format,
}

/// A study and a table of it.
#[derive(Args, Clone, Debug)]
pub struct TableCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Rows: one per run, or one per point with means and intervals
    #[arg(long, value_enum, default_value_t = Rows::Points)]
    rows: Rows,

    /// Print all columns, also beyond 100 characters in a line
    #[arg(long)]
    columns: bool,

    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,

    /// Print a JSON list with an object per row
    #[arg(long)]
    json: bool,

    /// Leave out the real time of runs, the one column that differs between two studies of the same
    #[arg(long)]
    no_wall: bool,
}

/// The rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Rows {
    Points,
    Runs,
}

/// Prints the progress.
pub(super) fn print_status(command: &StatusCommand) -> Result<ExitCode, ExitCode> {
    let plan = StudyPlan::open(&command.study.folder)?;
    let set = ResultSet::read(plan.folder.path()).map_err(status::refuse)?;
    let points = plan.results(&set);
    let progress = StudyStatus::new(&plan.study, &points);
    let text = || status_text(&progress) + &problems(&plan, &set, &points);
    let result = (command.format).write_result(text, || json!(progress).to_string());
    Ok(status::print(result.trim_end()))
}

/// Prints a table.
pub(super) fn print_table(command: &TableCommand) -> Result<ExitCode, ExitCode> {
    let plan = StudyPlan::open(&command.study.folder)?;
    let set = ResultSet::read(plan.folder.path()).map_err(status::refuse)?;
    let points = plan.results(&set);
    let mut csv = Vec::new();
    let written = match command.rows {
        Rows::Runs => write_table(&plan.study, &points, !command.no_wall, &mut csv),
        Rows::Points => write_summary(&plan.study, &points, &mut csv),
    };
    written.map_err(status::refuse)?;
    let csv = String::from_utf8_lossy(&csv);
    Ok(if command.csv {
        status::print(csv.trim_end())
    } else {
        let mut rows = cells(&csv).map_err(status::refuse)?;
        if command.json {
            status::print(as_json(&rows))
        } else {
            write_parameters(&mut rows, &points);
            let parameters = plan.study.parameters.len();
            status::print(write_text(&rows, parameters, command.columns).trim_end())
        }
    })
}

/// Writes the tables, and prints progress and problems of a study whose runs have ended. The exit
/// status is that of the `share`.
pub(super) fn conclude(
    plan: &StudyPlan,
    set: &ResultSet,
    share: &Share,
) -> Result<ExitCode, ExitCode> {
    let points = plan.results(set);
    let progress = StudyStatus::new(&plan.study, &points);
    if *share == Share::ALL {
        write_tables(plan, &points).map_err(status::refuse)?;
    }
    let mut shown = status_text(&progress) + &problems(plan, set, &points);
    if *share == Share::ALL {
        let folder = plan.folder.path().display();
        let _ = writeln!(shown, "results: {folder}/table.csv, {folder}/summary.csv");
    }
    status::print(shown.trim_end());
    let own: Vec<PointResults<'_>> = (plan.points.iter().enumerate())
        .filter(|(position, _)| share.has_position(*position))
        .map(|(_, planned)| points[planned.point].clone())
        .collect();
    Ok(ExitCode::from(
        StudyStatus::new(&plan.study, &own).exit_status(),
    ))
}

pub(super) fn write_tables(
    plan: &StudyPlan,
    points: &[PointResults<'_>],
) -> Result<(), ResultError> {
    let (mut table, mut summary) = (Vec::new(), Vec::new());
    let made = write_table(&plan.study, points, true, &mut table)
        .and_then(|()| write_summary(&plan.study, points, &mut summary));
    made.expect("memory can be written to");
    let folder = plan.folder.path();
    files::write(&folder.join("table.csv"), table)?;
    files::write(&folder.join("summary.csv"), summary)?;
    Ok(())
}

pub(super) fn status_text(progress: &StudyStatus) -> String {
    let mut text = format!(
        "{} of {} points complete, {} runs in {:.1} s real",
        progress.complete, progress.points, progress.runs, progress.wall_s
    );
    for (number, what) in [
        (progress.failed, "points with failed runs"),
        (progress.not_reached, "points did not reach the precision"),
        (progress.pending_runs, "runs known to be pending"),
    ] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text + "\n"
}

/// Returns lines about failures, missing measures and results that contradict each other.
pub(super) fn problems(plan: &StudyPlan, set: &ResultSet, points: &[PointResults<'_>]) -> String {
    let mut text = String::new();
    let failures = points.iter().flat_map(|point| {
        let failed = point.results.values().filter(|result| !result.succeeded());
        failed.map(move |result| (point, result))
    });
    let failures: Vec<_> = failures.collect();
    let folder = plan.folder.path().display();
    for (point, result) in failures.iter().take(SHOWN) {
        let values = match point.point.parameters.shown() {
            values if values.is_empty() => values,
            values => values + ", ",
        };
        let reason = result.message.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "failed: {values}seed {}: {}: {reason}\n        {folder}/failures/{}.txt",
            result.seed, result.outcome, result.key
        );
    }
    if failures.len() > SHOWN {
        let more = failures.len() - SHOWN;
        let _ = writeln!(text, "failed: {more} more runs");
    }
    let finished: usize = points.iter().map(|point| point.results.len()).sum();
    for (column, runs) in missing_measures(&plan.study, points) {
        let _ = writeln!(
            text,
            "warning: measure {column} is missing in {runs} of {finished} runs"
        );
    }
    for conflict in set.conflicts() {
        let _ = writeln!(text, "error: {conflict}");
    }
    text
}

fn cells(csv: &str) -> Result<Vec<Vec<String>>, csv::Error> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(csv.as_bytes());
    let rows = reader.records().map(|row| {
        let row = row?;
        Ok(row.iter().map(str::to_owned).collect())
    });
    rows.collect()
}

/// Writes the values of parameters into their cells as the study has them, with their units.
fn write_parameters(rows: &mut [Vec<String>], points: &[PointResults<'_>]) {
    let values = points.iter().flat_map(|point| {
        let values = point.point.parameters.iter().enumerate();
        values.map(|(at, (_, value))| ((at, value.cell()), value.to_string()))
    });
    let texts: BTreeMap<(usize, String), String> = values.collect();
    for row in rows.iter_mut().skip(1) {
        for (at, cell) in row.iter_mut().enumerate() {
            if let Some(text) = texts.get(&(at, cell.clone())) {
                cell.clone_from(text);
            }
        }
    }
}

/// Columns of hexadecimal digits, which are text also where they read as numbers.
pub(super) const TEXTS: [&str; 3] = ["digest", "key", "revision"];

/// Returns rows as objects; what reads as a number is one, but for hexadecimal digits.
fn as_json(rows: &[Vec<String>]) -> String {
    let Some((header, rows)) = rows.split_first() else {
        return "[]".to_owned();
    };
    let value = |name: &String, cell: &String| match cell.parse::<serde_json::Number>() {
        Ok(number) if !TEXTS.contains(&name.as_str()) => json!(number),
        Err(_) if cell.is_empty() => json!(null),
        _ => json!(cell),
    };
    let object = |row: &Vec<String>| -> serde_json::Map<String, serde_json::Value> {
        let pairs = header.iter().zip(row);
        let pairs = pairs.map(|(name, cell)| (name.clone(), value(name, cell)));
        pairs.collect()
    };
    json!(rows.iter().map(object).collect::<Vec<_>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_text() {
        let rows = [
            ["time_s", "digest"],
            ["1.5", "1234567890123456"],
            ["", "12e4567890123456"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let json: serde_json::Value = serde_json::from_str(&as_json(&rows)).expect("JSON");
        assert_eq!(
            json[0],
            json!({ "time_s": 1.5, "digest": "1234567890123456" })
        );
        assert_eq!(
            json[1],
            json!({ "time_s": null, "digest": "12e4567890123456" })
        );
    }
}
