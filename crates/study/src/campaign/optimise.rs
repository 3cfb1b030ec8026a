//! `simrun optimise`: the best point of a parameter space, within a number of runs.
//!
//! An optimisation is a study whose points are chosen one after another: its folder is that of a
//! study. The choice depends on the file and the results only. So a second start chooses the same
//! points, finds their results, and continues where the first one has ended.
//!
//! The value of a point is the mean of its replications; a point with a failed run, or that `where`
//! excludes, has none. A point is begun only if the budget has room for as many runs as it may
//! need: those of all seeds, or one as long as no run has drawn a random number.
//!
//! *Not modelled*: the best of many means is too good by chance. A user sees it again worse with
//! other seeds, and the comparison with other points on the same seeds, which does not correct it.

mod search;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use report::three_digits;
use simrun::status;

use super::plan::{Choice, Sources, StudyPlan};
use super::runner::{Runner, Start, interrupted};
use super::share::Share;
use super::signals::Signals;
use super::{JobArgs, views};
use crate::statistics::{PairedComparison, Summary};
use crate::{Key, Optimisation, PlannedPoint, PointResults, ResultError, ResultSet};
use search::{Objective, search};

/// Meanings of the exit statuses, for the end of help texts.
const EXIT_STATUS: &str = "\
Example:
  simrun optimise studies/optimise/bcast-segment.toml --out segment

Exit status: 0 there is a best point, 1 no point has a value, 2 usage or input error, 130 interrupted.";

/// The name of the table of points in the order of their choice.
const TRAJECTORY: &str = "trajectory.csv";

/// Search the best point of a parameter space.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXIT_STATUS)]
pub struct OptimiseCommand {
    /// Study file with tables vary and optimise
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,

    /// Directory of the study, which has or gets its results
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    jobs: JobArgs,
}

/// Runs an optimisation, or continues it.
pub(super) fn run_command(command: &OptimiseCommand) -> Result<ExitCode, ExitCode> {
    let (plan, sources) = StudyPlan::begin_study(&command.file, &command.out, Choice::Search)?;
    let signals = Signals::watch_signals().map_err(status::refuse)?;
    let Some(optimisation) = plan.study.optimisation.clone() else {
        unreachable!("a study without [vary] was refused");
    };
    let steps = optimisation.variables.iter().map(|it| it.range.steps());
    let steps: Vec<Option<usize>> = steps.collect();
    let (start, seed) = (optimisation.start, optimisation.seed);
    // A folder that has just been made has no list of points.
    let known = plan.folder.points().unwrap_or_default();
    let mut evaluation = Evaluation {
        optimisation,
        plan,
        sources,
        known,
        jobs: command.jobs.jobs,
        signals,
        values: BTreeMap::new(),
        rows: Vec::new(),
        spent: 0,
        draws: false,
        problem: None,
    };
    search(&mut evaluation, &steps, start, seed);
    if let Some(problem) = evaluation.problem {
        return Err(problem);
    }
    if evaluation.signals.any() {
        return Ok(interrupted());
    }
    evaluation.conclude()
}

/// The objective as runs of the program.
struct Evaluation {
    optimisation: Optimisation,
    plan: StudyPlan,
    sources: Sources,
    /// The points of an earlier start.
    known: Vec<PlannedPoint>,
    jobs: Option<NonZeroUsize>,
    signals: Signals,
    /// Values of the points so far; infinite ones are failures.
    values: BTreeMap<Key, f64>,
    /// The points in the order of their choice.
    rows: Vec<TrajectoryPoint>,
    /// Number of runs so far.
    spent: usize,
    /// True if a run has drawn a random number.
    draws: bool,
    /// The status of bad input, which has ended the search.
    problem: Option<ExitCode>,
}

/// A point of the trajectory.
#[derive(Clone, Copy)]
struct TrajectoryPoint {
    /// Number of runs up to it.
    runs: usize,
    /// Mean of the measure, if all runs have it.
    value: Option<f64>,
}

impl Objective for Evaluation {
    fn point_values(&mut self, points: &[Vec<f64>]) -> Vec<f64> {
        self.evaluate(points).unwrap_or_else(|problem| {
            self.problem = Some(problem);
            Vec::new()
        })
    }

    fn known(&self) -> usize {
        self.values.len()
    }
}

impl Evaluation {
    /// Runs the points that are new and within the budget, and returns the values up to the first
    /// that is not.
    fn evaluate(&mut self, points: &[Vec<f64>]) -> Result<Vec<f64>, ExitCode> {
        let mut wanted = Vec::new();
        let mut new = Vec::new();
        for coordinates in points {
            let point = self.optimisation.point(coordinates);
            let Some(point) = point.map_err(status::refuse)? else {
                wanted.push(None);
                continue;
            };
            let content = self.sources.chosen(&point)?;
            let key = content.key(0);
            if !self.values.contains_key(&key) && new.iter().all(|(_, _, other)| *other != key) {
                let each = self.most_runs();
                if self.spent + (new.len() + 1) * each > self.optimisation.runs {
                    break;
                }
                new.push((point, content, key.clone()));
                // The first point tells if there is anything random.
                if self.rows.is_empty() && new.len() == 1 {
                    self.run_new_points(std::mem::take(&mut new))?;
                }
            }
            wanted.push(Some(key));
        }
        if !new.is_empty() {
            self.run_new_points(new)?;
        }
        if self.signals.any() {
            return Ok(Vec::new());
        }
        let value = |key: &Option<Key>| {
            let value = key.as_ref().and_then(|key| self.values.get(key));
            value.copied().unwrap_or(f64::INFINITY)
        };
        Ok(wanted.iter().map(value).collect())
    }

    /// Returns the number of runs that a point may need.
    fn most_runs(&self) -> usize {
        if self.rows.is_empty() || !self.draws {
            1
        } else {
            self.plan.study.replication.max()
        }
    }

    /// Runs new points.
    fn run_new_points(
        &mut self,
        new: Vec<(crate::Point, crate::KeyContent, Key)>,
    ) -> Result<(), ExitCode> {
        let before = self.plan.points.len();
        self.sources
            .keep_sources(&self.plan.folder)
            .map_err(status::refuse)?;
        let chosen = new.into_iter().map(|(point, content, _)| (point, content));
        self.plan.add_points(chosen.collect(), &self.known)?;
        let runner = Runner::new(&self.plan, self.jobs, false, Start::Pending)?;
        runner.execute_share(&Share::ALL, &self.signals)?;
        if self.signals.any() {
            return Ok(());
        }
        let set = self.read_results()?;
        let results = self.plan.results(&set);
        for (planned, results) in self.plan.points.iter().zip(&results).skip(before) {
            self.spent += results.results.len();
            self.draws |= !results.deterministic();
            let value = self.mean_measure(results);
            self.rows.push(TrajectoryPoint {
                runs: self.spent,
                value,
            });
            let sign = if self.optimisation.maximises {
                -1.0
            } else {
                1.0
            };
            let cost = value.map_or(f64::INFINITY, |value| sign * value);
            self.values.insert(planned.key.clone(), cost);
        }
        Ok(())
    }

    fn read_results(&self) -> Result<ResultSet, ExitCode> {
        ResultSet::read(self.plan.folder.path()).map_err(status::refuse)
    }

    /// Returns the mean of the measure at a point, if all of its runs have it.
    fn mean_measure(&self, results: &PointResults<'_>) -> Option<f64> {
        if !results.failed_seeds().is_empty() {
            return None;
        }
        let values = results.column_values(&self.optimisation.column);
        let summary = Summary::new(&values, self.plan.study.replication.confidence());
        summary.map(|summary| summary.mean)
    }

    /// Returns true if one value is better than another.
    fn better(&self, one: f64, other: f64) -> bool {
        if self.optimisation.maximises {
            one > other
        } else {
            one < other
        }
    }

    /// Writes the tables, and prints the improvements and the best point.
    fn conclude(&self) -> Result<ExitCode, ExitCode> {
        let set = self.read_results()?;
        let points = self.plan.results(&set);
        views::write_tables(&self.plan, &points).map_err(status::refuse)?;
        self.write_trajectory(&points).map_err(status::refuse)?;
        let mut text = format!(
            "{} points, {} of at most {} runs\n",
            self.rows.len(),
            self.spent,
            self.optimisation.runs
        );
        let mut order: Vec<(usize, f64)> = Vec::new();
        let mut improved = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let Some(value) = row.value else { continue };
            if order.iter().all(|(_, other)| self.better(value, *other)) {
                let parameters = points[at].point.parameters.shown();
                let _ = writeln!(improved, "{:>6}  {value:<14.6e}  {parameters}", row.runs);
            }
            order.push((at, value));
        }
        // Stable: of equal ones the first.
        order.sort_by(|(_, one), (_, other)| match self.optimisation.maximises {
            true => other.total_cmp(one),
            false => one.total_cmp(other),
        });
        if let Some((best, _)) = order.first() {
            let column = &self.optimisation.column;
            let _ = write!(text, "  runs  {column:<14}  best so far at\n{improved}");
            text += &self.best(&points, *best, &order);
        }
        text += &views::problems(&self.plan, &set, &points);
        let folder = self.plan.folder.path().display();
        let _ = writeln!(text, "results: {folder}/{TRAJECTORY}, {folder}/summary.csv");
        status::print(text.trim_end());
        Ok(ExitCode::from(u8::from(order.is_empty())))
    }

    /// Returns lines about the best point, and its comparison with the second best and the first.
    fn best(&self, points: &[PointResults<'_>], best: usize, order: &[(usize, f64)]) -> String {
        let column = &self.optimisation.column;
        let confidence = self.plan.study.replication.confidence();
        let mut text = format!("best: {}", points[best].point.parameters.shown());
        let values = points[best].column_values(column);
        if let Some(summary) = Summary::new(&values, confidence) {
            let _ = write!(text, "\n      {column} {}", three_digits(summary.mean));
            match summary.interval {
                _ if points[best].deterministic() => text += ", deterministic",
                Some(interval) => {
                    let (low, high) = (interval.low, interval.high);
                    let _ = write!(
                        text,
                        ", {:.0} % interval {} to {}",
                        confidence * 100.0,
                        three_digits(low),
                        three_digits(high)
                    );
                }
                None => {}
            }
        }
        text.push('\n');
        let second = order.get(1).map(|(at, _)| *at);
        let first = order.iter().map(|(at, _)| *at).min();
        for (name, other) in [("second best", second), ("first point", first)] {
            let Some(other) = other.filter(|other| *other != best) else {
                continue;
            };
            let parameters = points[other].point.parameters.shown();
            let _ = write!(text, "{name}: {parameters}");
            let (of_best, of_other) = points[best].paired_values(&points[other], column);
            if let Ok(found) = PairedComparison::new(&of_best, &of_other, confidence) {
                let _ = write!(text, "\n      {:.4} times the best", found.ratio);
                if let (Some(interval), true) = (found.interval, self.draws) {
                    let (low, high) = (interval.low, interval.high);
                    let _ = write!(text, ", {low:.4} to {high:.4} on the same seeds");
                }
            }
            text.push('\n');
        }
        text
    }

    /// Writes the points in the order of their choice.
    fn write_trajectory(&self, points: &[PointResults<'_>]) -> Result<(), ResultError> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let column = &self.optimisation.column;
        let names = self.plan.study.parameters.iter().cloned();
        let ends = [column.clone(), format!("{column}_best")];
        let mut rows = vec![Vec::from_iter(
            ["runs".to_owned()].into_iter().chain(names).chain(ends),
        )];
        let mut best = None;
        let shown = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:?}"));
        for (row, point) in self.rows.iter().zip(points) {
            let is_better = |value: &f64| best.is_none_or(|best| self.better(*value, best));
            best = row.value.filter(is_better).or(best);
            let mut cells = vec![row.runs.to_string()];
            let values = point.point.parameters.iter();
            cells.extend(values.map(|(_, value)| value.to_string()));
            cells.extend([shown(row.value), shown(best)]);
            rows.push(cells);
        }
        let written = rows.iter().try_for_each(|row| csv.write_record(row));
        written.expect("memory can be written to");
        let bytes = csv.into_inner().expect("memory can be written to");
        files::write(&self.plan.folder.path().join(TRAJECTORY), bytes)?;
        Ok(())
    }
}
