//! `simrun study report`: the report of a study as one page of HTML.
//!
//! The x axis of the curves is the parameter with the most numbers; there is a curve for each
//! combination of the others. Where another curve becomes the lowest, a circle marks the crossing,
//! interpolated between the two points beside it. Configurations are compared with the first value
//! of each parameter, all others equal, on the same seeds.
//!
//! *Not shown*: more than [`CHARTS_MAX`] pictures and [`ROWS_MAX`] rows of a table; `simrun study
//! table` has all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use report::html::{Cell, Chart, ChartCurve, ChartPoint, StudyPage, Table};
use report::three_digits;
use simrun::status;

use super::FolderArgs;
use super::plan::StudyPlan;
use super::text_table::time_unit;
use super::views;
use crate::range::format_size;
use crate::statistics::{PairedComparison, Summary, holm};
use crate::{PointResults, ResultSet, StudyStatus, Value};

/// Number of pictures at most.
const CHARTS_MAX: usize = 24;

/// Number of curves of a picture at most.
const CURVES_MAX: usize = 8;

/// Number of rows of a table at most.
const ROWS_MAX: usize = 500;

/// A study, and its report.
#[derive(Args, Clone, Debug)]
pub struct ReportCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Page to be written, and its content as JSON beside it [default: report.html in the
    /// directory of the study]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run_command(command: &ReportCommand) -> Result<ExitCode, ExitCode> {
    let plan = StudyPlan::open(&command.study.folder)?;
    let set = ResultSet::read(plan.folder.path()).map_err(status::refuse)?;
    let points = plan.results(&set);
    let out = command.out.clone();
    let out = out.unwrap_or_else(|| plan.folder.path().join("report.html"));
    let problems = views::problems(&plan, &set, &points);
    let report = StudyReport {
        plan: &plan,
        points: &points,
        columns: plan.study.columns(),
    };
    report.write_page(&out, &problems).map_err(status::refuse)?;
    Ok(status::print(format_args!("{} written", out.display())))
}

/// A point, a parameter, and the point that has the first value of this parameter and all other
/// values equal.
type PointPair<'a> = (&'a PointResults<'a>, &'a str, &'a PointResults<'a>);

/// A study with its results.
struct StudyReport<'r> {
    plan: &'r StudyPlan,
    points: &'r [PointResults<'r>],
    /// Columns of the measures.
    columns: Vec<String>,
}

impl StudyReport<'_> {
    /// Writes the page to `out`, and its content beside it.
    fn write_page(&self, out: &Path, problems: &str) -> Result<(), String> {
        let study = &self.plan.study;
        let progress = StudyStatus::new(study, self.points);
        let folder = self.plan.folder.path();
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        let title = format!("Study {} of {}", name.display(), study.program);
        let command = format!(
            "simrun study run {0}/study.toml --out {0}",
            folder.display()
        );
        let mut warnings: Vec<String> = problems.lines().map(str::to_owned).collect();
        let mut charts: Vec<Chart> = Vec::new();
        for column in &self.columns {
            charts.extend(self.charts(column));
        }
        if charts.len() > CHARTS_MAX {
            let more = charts.len() - CHARTS_MAX;
            warnings.push(format!("{more} more pictures are not shown."));
            charts.truncate(CHARTS_MAX);
        }
        let pairs = self.pairs();
        let effects = self.effects(&pairs);
        let headline = effects.first().map_or_else(
            || format!("{} points", progress.points),
            |effect| effect.sentence(),
        );
        let mut later_tables = vec![self.results(), self.comparisons(&pairs)];
        later_tables.retain(|table| !table.rows.is_empty());
        let mut tables = vec![effects_table(&effects)];
        tables.retain(|table| !table.rows.is_empty());
        let facts = views::status_text(&progress).trim_end().to_owned();
        let page = StudyPage {
            title: &title,
            headline,
            facts,
            command: &command,
            warnings,
            tables,
            charts,
            later_tables,
        };
        let content = page.page_content().map_err(|error| error.to_string())?;
        content.write_files(out)
    }

    fn column_summary(&self, point: &PointResults<'_>, column: &str) -> Option<Summary> {
        let confidence = self.plan.study.replication.confidence();
        Summary::new(&point.column_values(column), confidence)
    }

    /// Returns the values of a parameter in the order of the study.
    fn parameter_values(&self, parameter: &str) -> Vec<&Value> {
        let mut values: Vec<&Value> = Vec::new();
        for point in self.points {
            if let Some(value) = point.point.parameters.get(parameter)
                && !values.contains(&value)
            {
                values.push(value);
            }
        }
        values
    }

    /// Returns the parameter of the x axis: that with the most numbers, else with the most values.
    fn x_parameter(&self) -> Option<&str> {
        let parameters = self.plan.study.parameters.iter();
        let weight = |parameter: &&String| {
            let values = self.parameter_values(parameter);
            let numbers = values
                .iter()
                .filter(|value| value.to_number().is_some())
                .count();
            (
                if numbers == values.len() { numbers } else { 0 },
                values.len(),
            )
        };
        // The first one of equals.
        let most = parameters.rev().max_by_key(weight)?;
        (self.parameter_values(most).len() > 1).then_some(most.as_str())
    }

    /// Returns the pictures of a measure.
    fn charts(&self, column: &str) -> Vec<Chart> {
        let Some(x) = self.x_parameter() else {
            return Vec::new();
        };
        let values = self.parameter_values(x);
        let has_numbers = values.iter().all(|value| value.to_number().is_some());
        let place = |value: &Value| {
            let position = values.iter().position(|other| *other == value);
            value
                .to_number()
                .filter(|_| has_numbers)
                .or(position.map(position_of))
        };
        let mut curves: Vec<ChartCurve> = Vec::new();
        for point in self.points {
            let (Some(summary), Some(at)) = (
                self.column_summary(point, column),
                point.point.parameters.get(x).and_then(place),
            ) else {
                continue;
            };
            let name = others(point, x);
            let chart_point = ChartPoint {
                x: at,
                y: summary.mean,
                interval: summary.interval.map(|it| (it.low, it.high)),
            };
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(chart_point),
                None => curves.push(ChartCurve {
                    name,
                    points: vec![chart_point],
                }),
            }
        }
        for curve in &mut curves {
            curve.points.sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        let y_name = scale_times(&mut curves, column);
        let names: Vec<(f64, String)> = values
            .iter()
            .filter_map(|value| Some((place(value)?, axis_text(value))))
            .collect();
        // A picture for each value of the first other parameter, if they are too many for one.
        let is_split = curves.len() > CURVES_MAX;
        let first = |curve: &ChartCurve| curve.name.split(", ").next().map(str::to_owned);
        let groups = curves.chunk_by(|one, other| !is_split || first(one) == first(other));
        let parts = groups
            .flat_map(|group| group.chunks(CURVES_MAX))
            .enumerate();
        let chart = |(number, curves): (usize, &[ChartCurve])| {
            let mut curves = curves.to_vec();
            let constants = split_constants(&mut curves);
            Chart {
                id: format!("{column}-{number}"),
                title: [format!("{column} over {x}")]
                    .into_iter()
                    .chain(constants)
                    .collect::<Vec<_>>()
                    .join(", "),
                x: x.to_owned(),
                y: y_name.clone(),
                names: names.clone(),
                marks: crossings(&curves),
                curves,
            }
        };
        parts.map(chart).collect()
    }

    /// Returns the table of the points.
    fn results(&self) -> Table<'_> {
        let parameters = self.plan.study.parameters.iter().map(String::as_str);
        let mut columns: Vec<&str> = parameters.collect();
        for column in &self.columns {
            columns.extend([column.as_str(), "interval", "runs"]);
        }
        let row = |point: &PointResults<'_>| {
            let mut row: Vec<Cell> = values_of(point);
            for column in &self.columns {
                let Some(summary) = self.column_summary(point, column) else {
                    row.extend([Cell::from("–"), Cell::from("–"), number_cell(0.0)]);
                    continue;
                };
                let interval = match summary.interval {
                    Some(it) => format!("{} to {}", three_digits(it.low), three_digits(it.high)),
                    None if point.deterministic() => "deterministic".to_owned(),
                    None => "too few runs".to_owned(),
                };
                let note = if summary.long_values.is_some() {
                    interval + ", long values"
                } else {
                    interval
                };
                row.extend([
                    number_cell(summary.mean),
                    Cell::from(note),
                    count_cell(summary.n),
                ]);
            }
            row
        };
        Table {
            id: "results",
            title: "Results",
            note: shortened("Means of the runs of each point.", self.points.len()),
            columns,
            rows: self.points.iter().take(ROWS_MAX).map(row).collect(),
            footer: Vec::new(),
        }
    }

    /// Returns the comparisons of each point with that of the first value of a parameter, all
    /// others equal.
    fn comparisons<'a>(&'a self, pairs: &[PointPair<'a>]) -> Table<'a> {
        let confidence = self.plan.study.replication.confidence();
        let mut found = Vec::new();
        for &(point, parameter, base) in pairs {
            for column in &self.columns {
                let (base_values, values) = base.paired_values(point, column);
                if let Ok(comparison) = PairedComparison::new(&base_values, &values, confidence)
                    && comparison.interval.is_some()
                {
                    found.push((point, parameter, base, column, comparison));
                }
            }
        }
        let p_values: Vec<f64> = found.iter().filter_map(|it| it.4.p_value).collect();
        let corrected = holm(&p_values);
        let rows = found.iter().zip(&corrected).take(ROWS_MAX);
        let rows = rows.map(|((point, parameter, base, column, comparison), p_value)| {
            let of = |point: &PointResults<'_>| {
                let value = point.point.parameters.get(parameter);
                value.map(ToString::to_string).unwrap_or_default()
            };
            let interval = comparison
                .interval
                .map(|it| format!("{:.4} to {:.4}", it.low, it.high));
            vec![
                Cell::from(column.as_str()),
                Cell::from(format!("{parameter} = {} against {}", of(point), of(base))),
                Cell::from(others(point, parameter)),
                Cell::number(comparison.ratio, format!("{:.4}", comparison.ratio)),
                Cell::from(interval.unwrap_or_default()),
                Cell::number(*p_value, format!("{p_value:.2e}")),
            ]
        });
        Table {
            id: "comparisons",
            title: "Comparisons on the same seeds",
            note: shortened(
                "Ratios with intervals of the differences of logarithms; p-values by Holm's correction.",
                found.len(),
            ),
            columns: vec!["measure", "compared", "at", "ratio", "interval", "p"],
            rows: rows.collect(),
            footer: Vec::new(),
        }
    }

    /// Returns the pairs of points that differ in one parameter alone, of which the second has its
    /// first value.
    fn pairs(&self) -> Vec<PointPair<'_>> {
        let mut by_values: BTreeMap<String, &PointResults<'_>> = BTreeMap::new();
        for point in self.points {
            by_values.insert(point.point.parameters.shown(), point);
        }
        let mut pairs = Vec::new();
        for parameter in &self.plan.study.parameters {
            let Some(first) = self.parameter_values(parameter).first().copied() else {
                continue;
            };
            for point in self.points {
                let is_first = point.point.parameters.get(parameter) == Some(first);
                let base = point.point.parameters.with_value(parameter, first).shown();
                if let Some(base) = by_values.get(&base).filter(|_| !is_first) {
                    pairs.push((point, parameter.as_str(), *base));
                }
            }
        }
        pairs
    }

    /// Returns the effect of each parameter on each measure, the largest first.
    fn effects<'a>(&'a self, pairs: &[PointPair<'a>]) -> Vec<ParameterEffect<'a>> {
        let mut ratios: BTreeMap<(&str, &str), (f64, f64, usize)> = BTreeMap::new();
        for &(point, parameter, base) in pairs {
            for column in &self.columns {
                let mean = |point| {
                    self.column_summary(point, column)
                        .map(|summary| summary.mean)
                };
                let (Some(mean), Some(base)) = (mean(point), mean(base)) else {
                    continue;
                };
                if mean > 0.0 && base > 0.0 {
                    let entry = ratios.entry((column, parameter));
                    let (low, high, pairs) = entry.or_insert((1.0, 1.0, 0));
                    let ratio = mean / base;
                    *low = low.min(ratio);
                    *high = high.max(ratio);
                    *pairs += 1;
                }
            }
        }
        let effect = |((column, parameter), (low, high, pairs))| ParameterEffect {
            column,
            parameter,
            low,
            high,
            pairs,
        };
        let mut effects: Vec<ParameterEffect<'_>> = ratios.into_iter().map(effect).collect();
        effects.sort_by(|one, other| other.effect_size().total_cmp(&one.effect_size()));
        effects
    }
}

/// The effect of a parameter on a measure, relative to the first value of the parameter.
struct ParameterEffect<'r> {
    column: &'r str,
    parameter: &'r str,
    /// Smallest and largest ratio.
    low: f64,
    high: f64,
    /// Number of pairs of points.
    pairs: usize,
}

impl ParameterEffect<'_> {
    fn effect_size(&self) -> f64 {
        self.high.max(1.0 / self.low)
    }

    fn sentence(&self) -> String {
        format!(
            "{} changes most with {}: × {} to × {}, all others equal",
            self.column,
            self.parameter,
            three_digits(self.low),
            three_digits(self.high)
        )
    }
}

/// Returns the name of a column with the unit in brackets: `time (us)` for `time_us`.
fn column_with_unit(column: &str) -> String {
    match column.rsplit_once('_') {
        Some((rate, _)) if rate.ends_with("_per") => column.to_owned(),
        Some((name, unit)) if ["s", "ms", "us", "ns", "B", "Bps", "Hz"].contains(&unit) => {
            format!("{name} ({unit})")
        }
        _ => column.to_owned(),
    }
}

fn effects_table<'a>(effects: &[ParameterEffect<'a>]) -> Table<'a> {
    let row = |effect: &ParameterEffect<'a>| {
        vec![
            Cell::from(effect.column),
            Cell::from(effect.parameter),
            number_cell(effect.low),
            number_cell(effect.high),
            count_cell(effect.pairs),
        ]
    };
    Table {
        id: "effects",
        title: "Effects of the parameters",
        note:
            "Ratios of means to the point with the first value of the parameter, all others equal."
                .to_owned(),
        columns: vec![
            "measure",
            "parameter",
            "smallest ratio",
            "largest ratio",
            "pairs",
        ],
        rows: effects.iter().map(row).collect(),
        footer: Vec::new(),
    }
}

/// Converts times in seconds to the unit that suits the longest one, and returns the name of the
/// axis with the unit.
fn scale_times(curves: &mut [ChartCurve], column: &str) -> String {
    let in_seconds = column.strip_suffix("_s").filter(|it| !it.ends_with("_per"));
    let Some(name) = in_seconds else {
        return column_with_unit(column);
    };
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (scale, unit) = time_unit(points().fold(0.0, |most, point| point.y.abs().max(most)));
    for point in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        point.y *= scale;
        point.interval = point
            .interval
            .map(|(low, high)| (low * scale, high * scale));
    }
    format!("{name} ({unit})")
}

/// Returns the values of parameters that all curves share, as `ranks = 16`, and removes them from
/// the names of the curves; a lone curve keeps its name.
fn split_constants(curves: &mut [ChartCurve]) -> Vec<String> {
    let parts =
        |curve: &ChartCurve| -> Vec<String> { curve.name.split(", ").map(str::to_owned).collect() };
    let [first, others @ ..] = &*curves else {
        return Vec::new();
    };
    // The names have the same parameters in the same order; a value may have several parts.
    let has = |curve: &ChartCurve, at: usize, part: &String| parts(curve).get(at) == Some(part);
    let is_shared: Vec<bool> = (parts(first).iter().enumerate())
        .map(|(at, part)| !others.is_empty() && others.iter().all(|curve| has(curve, at, part)))
        .collect();
    let at = |position: usize| is_shared.get(position) == Some(&true);
    let shared = (0..)
        .zip(parts(first))
        .filter(|(position, _)| at(*position));
    let shared = shared.map(|(_, part)| part).collect();
    for curve in curves {
        let own = (0..)
            .zip(parts(curve))
            .filter(|(position, _)| !at(*position));
        curve.name = own.map(|(_, part)| part).collect::<Vec<_>>().join(", ");
    }
    shared
}

/// Returns the text of a value beside an axis: a size in bytes has the unit that suits the size.
fn axis_text(value: &Value) -> String {
    let text = value.to_string();
    let bytes = text.strip_suffix('B').and_then(|bytes| bytes.parse().ok());
    match bytes {
        Some(bytes) if bytes % 1024.0 == 0.0 => format_size(bytes, "KiB"),
        _ => text,
    }
}

/// Returns the places at which another curve becomes the lowest.
fn crossings(curves: &[ChartCurve]) -> Vec<(f64, f64)> {
    let mut all: Vec<f64> = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|it| it.x)
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let at = |curve: &ChartCurve, x: f64| curve.points.iter().find(|it| it.x == x).map(|it| it.y);
    let lowest = |x: f64| {
        let known = curves
            .iter()
            .filter_map(|curve| Some((curve, at(curve, x)?)));
        known
            .min_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(curve, _)| curve)
    };
    let mut marks = Vec::new();
    for pair in all.windows(2) {
        let (left, right) = (pair[0], pair[1]);
        let (Some(one), Some(other)) = (lowest(left), lowest(right)) else {
            continue;
        };
        if one.name == other.name {
            continue;
        }
        let ends = |curve| Some((at(curve, left)?, at(curve, right)?));
        if let (Some(one), Some(other)) = (ends(one), ends(other)) {
            let (before, after) = (other.0 - one.0, other.1 - one.1);
            // Curves that only touch do not cross.
            if before > 0.0 && after < 0.0 {
                let share = before / (before - after);
                let x = left + (right - left) * share;
                marks.push((x, one.0 + (one.1 - one.0) * share));
            }
        }
    }
    marks
}

/// Returns the values of all parameters but one, in words.
fn others(point: &PointResults<'_>, parameter: &str) -> String {
    let values = point.point.parameters.iter();
    let others = values.filter(|(name, _)| *name != parameter);
    let shown: Vec<String> = others
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if shown.is_empty() {
        "all".to_owned()
    } else {
        shown.join(", ")
    }
}

fn values_of(point: &PointResults<'_>) -> Vec<Cell> {
    let cell = |value: &Value| match value.to_number() {
        Some(number) => Cell::number(number, value.to_string()),
        None => Cell::from(value.to_string()),
    };
    point
        .point
        .parameters
        .iter()
        .map(|(_, value)| cell(value))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "positions are small")]
const fn position_of(position: usize) -> f64 {
    position as f64
}

fn number_cell(number: f64) -> Cell {
    Cell::number(number, three_digits(number))
}

fn count_cell(count: usize) -> Cell {
    Cell::number(position_of(count), count.to_string())
}

fn shortened(note: &str, rows: usize) -> String {
    if rows > ROWS_MAX {
        format!("{note} The first {ROWS_MAX} of {rows} rows.")
    } else {
        note.to_owned()
    }
}
