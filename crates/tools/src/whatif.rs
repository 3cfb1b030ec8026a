//! `simrun whatif`: the effect of each parameter of a platform on the time of a program, one at a
//! time.
//!
//! Each latency, bandwidth, speed, cost and threshold of the platform file is divided and
//! multiplied by a factor, and once changed by 1 % in both directions; the program is simulated
//! with each change. The *tolerance* is the largest factor on all latencies together for which the
//! time grows by less than a given part, found by runs.
//!
//! Beside the measured effects stands the one that the critical path of a single run predicts. They
//! differ where a change of 1 % moves the path or a bottleneck, and where transfers share links.
//!
//! *Not varied*: two parameters at once, the number of ranks, and values that are 0.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Mutex;

use clap::Args;
use platform::Platform;
use report::{Tornado, TornadoBar, plot_tornado};
use serde_json::{Value, json};
use simrun::args::{Format, ProgramArgs};
use simrun::package::{self, Executable};
use simrun::{ProgressLine, Size, status};
use toml::Table as TomlTable;

use crate::message_costs::warn_of_free_messages;
use crate::{analyse, command_line};

mod checked;
mod prediction;
mod tolerance;

use checked::Derivative;
use prediction::{Prediction, TemporaryLog};
use tolerance::{FACTOR_MAX, tolerance};

/// Keys of a platform file that are varied.
const VARIED: [&str; 12] = [
    "latency",
    "bandwidth",
    "speed",
    "overhead",
    "overhead_per_byte",
    "gap",
    "gap_per_byte",
    "eager_threshold",
    "copy_bandwidth",
    "reduce_bandwidth",
    "switch_latency",
    "pcie_bandwidth",
];

/// Number of entries of a table above which they are changed together.
const TOGETHER: usize = 8;

/// Growth of the time for which the tolerance is searched.
const GROWTHS: [f64; 3] = [0.01, 0.02, 0.05];

/// Small change for derivatives.
const SMALL: f64 = 0.01;

/// Subject and factors.
#[derive(Args, Clone, Debug)]
pub(crate) struct WhatifCommand {
    /// Package directory or executable
    #[arg(value_name = "APP")]
    app: PathBuf,

    #[command(flatten)]
    program: ProgramArgs,

    /// Factor by which each parameter is divided and multiplied
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = factor)]
    factor: f64,

    /// Do not search the tolerance of latency
    #[arg(long)]
    no_tolerance: bool,

    /// Write the analysis of the run without changes to this directory; its report has the
    /// greatest derivatives beside those by runs
    #[arg(
        long,
        value_name = "DIR",
        require_equals = true,
        help_heading = "Output"
    )]
    analyse: Option<PathBuf>,

    /// Draw the effects: SVG or PNG
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,

    /// Arguments of the program
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS OF APP")]
    arguments: Vec<OsString>,
}

fn factor(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let right = number.filter(|number| number.is_finite() && *number > 1.0);
    right.ok_or_else(|| "expected a number above 1, such as 2".to_owned())
}

/// The effect of a parameter.
struct ParameterEffect {
    path: String,
    /// Times with the parameter divided and multiplied, in seconds.
    times: [f64; 2],
    /// Relative change of the time for a relative change of the parameter: by runs with less and
    /// more of it.
    elasticities: [f64; 2],
    /// The same, as the critical path predicts it.
    predicted: Option<f64>,
}

impl ParameterEffect {
    /// Returns the relative change of the time for a relative change of the parameter.
    const fn elasticity(&self) -> f64 {
        let [less, more] = self.elasticities;
        less.midpoint(more)
    }
}

/// The effects of all parameters.
struct Effects {
    /// The time without changes, in seconds.
    time: f64,
    /// True if there is an event log of the run without changes.
    is_observed: bool,
    effects: Vec<ParameterEffect>,
    /// The greatest derivatives by links and hosts, if the report has them.
    derivatives: Vec<Derivative>,
    /// Factors on all latencies: growth, and the factor; `None` above [`FACTOR_MAX`].
    tolerances: Vec<(f64, Option<f64>)>,
}

/// Simulates, and prints the table.
pub(crate) fn run_command(command: &WhatifCommand) -> ExitCode {
    let log = TemporaryLog::new();
    let all = match effects(command, log.as_ref().ok()) {
        Ok(all) => all,
        Err(code) => return code,
    };
    if let Some(folder) = &command.analyse {
        let written = match &log {
            Ok(log) if all.is_observed => all.write_analysis(&log.log_path(), command, folder),
            Ok(_) => Err("--analyse: the program cannot be observed".to_owned()),
            Err(error) => Err(format!("--analyse: no event log: {error}")),
        };
        if let Err(problem) = written {
            return status::refuse(problem);
        }
    }
    if let Some(path) = &command.plot {
        let tornado = all.tornado(command);
        if let Err(error) = plot_tornado(&tornado, path) {
            return status::refuse(error);
        }
    }
    let text = || all.as_text(command.factor);
    let result = (command.format).write_result(text, || all.as_json(command.factor));
    status::print(result.trim_end())
}

/// Checks the outputs before the runs, and makes the directory of `--analyse`.
fn check_outputs(command: &WhatifCommand) -> Result<(), ExitCode> {
    let compute = &command.program.compute;
    if let Some(file) = compute.gdb.as_ref().or(compute.record_compute.as_ref()) {
        return Err(status::refuse(format_args!(
            "{}: each of many runs would write this file: expected --gdb and --record-compute \
             with simrun run alone",
            file.display()
        )));
    }
    files::add_input(command.program.simulation.platform_file()?);
    files::add_input(&command.app);
    if let Some(folder) = &command.analyse {
        std::fs::create_dir_all(folder)
            .map_err(|error| status::refuse(format_args!("{}: {error}", folder.display())))?;
    }
    if let Some(path) = &command.plot {
        files::Output::new(path).map_err(status::refuse)?;
    }
    Ok(())
}

fn effects(command: &WhatifCommand, log: Option<&TemporaryLog>) -> Result<Effects, ExitCode> {
    check_outputs(command)?;
    let platform = command.program.simulation.load_platform()?;
    warn_of_free_messages(command.program.simulation.platform_file()?, &platform);
    let table: TomlTable = (platform.to_toml().parse())
        .map_err(|error| status::refuse(format_args!("the platform as a file: {error}")))?;
    let parameters = parameters(&table);
    let quiet = command.format.is_for_programs();
    let program = package::executable(&command.app, quiet, &[])
        .map_err(|error| status::refuse(error.to_string()))?;
    let simulate = |changes: &[String]| {
        simulate_time(command, &program, changes, None).map_err(status::refuse)
    };
    let observed = log.and_then(|log| observed(command, &program, &platform, log));
    let (base, prediction) = match observed {
        Some((time, prediction)) => (time, Some(prediction)),
        None => (simulate(&[])?, None),
    };
    let predicted = |parameter: &Parameter| {
        let prediction = prediction.as_ref()?;
        prediction.elasticity(&parameter.path, |by| parameter.scaled(by))
    };
    let by = command.factor;
    let factors = [1.0 / by, by, 1.0 - SMALL, 1.0 + SMALL];
    let pairs = (parameters.iter()).flat_map(|parameter| factors.map(|by| (parameter, by)));
    let runs: Vec<Vec<String>> = pairs
        .map(|(parameter, by)| vec![parameter.scaled(by)])
        .collect();
    let times = side_by_side(&runs, &simulate)?;
    let mut effects: Vec<ParameterEffect> = (parameters.iter().zip(times.chunks(factors.len())))
        .map(|(parameter, times)| ParameterEffect {
            path: parameter.path.clone(),
            times: [times[0], times[1]],
            elasticities: elasticities(base, &times[2..]),
            predicted: predicted(parameter),
        })
        .collect();
    let derivatives = match &prediction {
        Some(prediction) if command.analyse.is_some() => {
            checked::derivatives(prediction, &table, base, &simulate)?
        }
        _ => Vec::new(),
    };
    let size = |time: f64| (time - base).abs();
    let most = |effect: &ParameterEffect| effect.times.map(size).into_iter().fold(0.0, f64::max);
    effects.sort_by(|one, other| most(other).total_cmp(&most(one)));
    let latencies: Vec<&Parameter> = (parameters.iter())
        .filter(|parameter| parameter.path.ends_with("latency"))
        .collect();
    let mut tolerances = Vec::new();
    if !command.no_tolerance && !latencies.is_empty() {
        let with = |by: f64| {
            let changes: Vec<String> = (latencies.iter())
                .map(|parameter| parameter.scaled(by))
                .collect();
            simulate(&changes)
        };
        // The part of the time that is latency on the critical path.
        let part: Option<f64> = latencies.iter().map(|latency| predicted(latency)).sum();
        for growth in GROWTHS {
            let factor = part.map(|part| 1.0 + growth / part);
            tolerances.push((growth, tolerance(base * (1.0 + growth), factor, with)?));
        }
    }
    Ok(Effects {
        time: base,
        is_observed: prediction.is_some(),
        effects,
        derivatives,
        tolerances,
    })
}

/// Returns the relative changes of the time `base` for a relative change of a parameter. `times`:
/// with less of it, and with more.
fn elasticities(base: f64, times: &[f64]) -> [f64; 2] {
    [base - times[0], times[1] - base].map(|change| change / (SMALL * base))
}

/// A parameter of a platform file.
#[derive(Clone, PartialEq, Debug)]
struct Parameter {
    path: String,
    /// Its value in bytes, if it is a size: sizes are whole numbers.
    bytes: Option<u64>,
}

impl Parameter {
    /// Returns the parameter as a change by a factor.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size is rounded to whole bytes"
    )]
    fn scaled(&self, by: f64) -> String {
        let path = &self.path;
        match self.bytes {
            Some(bytes) => format!("{path}={}B", (bytes as f64 * by).round() as u64),
            None => format!("{path}*={by}"),
        }
    }
}

/// Simulates all changes, one run on each processor at a time. Returns the times in their order.
fn side_by_side(
    runs: &[Vec<String>],
    simulate: &(dyn Fn(&[String]) -> Result<f64, ExitCode> + Sync),
) -> Result<Vec<f64>, ExitCode> {
    let next = Mutex::new((0, ProgressLine::new()));
    let results = Mutex::new(vec![Ok(0.0); runs.len()]);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || loop {
        let at = {
            let mut next = next.lock().expect("no worker panics");
            let at = next.0;
            next.0 += 1;
            next.1.show(|| format!("run {} of {}", at + 1, runs.len()));
            at
        };
        let Some(changes) = runs.get(at) else {
            return;
        };
        let result = simulate(changes);
        results.lock().expect("no worker panics")[at] = result;
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.min(runs.len()) {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().expect("no worker panics");
    results.into_iter().collect()
}

/// Returns the paths of the parameters that are varied. Entries of a table of many are changed
/// together.
fn parameters(table: &TomlTable) -> Vec<Parameter> {
    let mut found = BTreeMap::new();
    collect_parameters(table, &mut Vec::new(), &mut found);
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let family = |path: &[String]| (path[0].clone(), path[path.len() - 1].clone());
    for path in found.keys().filter(|path| path.len() > 2) {
        *counts.entry(family(path)).or_default() += 1;
    }
    let mut all: Vec<Parameter> = (found.iter())
        .map(|(path, bytes): (&Vec<String>, &Option<u64>)| {
            let mut parts: Vec<String> = path.iter().map(|part| quoted(part)).collect();
            if path.len() > 2 && counts[&family(path)] > TOGETHER {
                "*".clone_into(&mut parts[1]);
            }
            Parameter {
                path: parts.join("."),
                bytes: *bytes,
            }
        })
        .collect();
    all.dedup_by(|one, other| one.path == other.path);
    all
}

fn quoted(part: &str) -> String {
    if part.contains('.') {
        format!("\"{part}\"")
    } else {
        part.to_owned()
    }
}

/// Finds the parameters in a table at `path`.
fn collect_parameters(
    table: &TomlTable,
    path: &mut Vec<String>,
    found: &mut BTreeMap<Vec<String>, Option<u64>>,
) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            toml::Value::Table(inner) => collect_parameters(inner, path, found),
            toml::Value::String(text) if VARIED.contains(&key.as_str()) => {
                let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
                let number: f64 = text[..digits.unwrap_or(text.len())].parse().unwrap_or(0.0);
                if number > 0.0 {
                    let is_size = key.ends_with("threshold");
                    let size = || text.parse::<Size>().ok().map(|size| size.0);
                    found.insert(path.clone(), is_size.then(size).flatten());
                }
            }
            _ => {}
        }
        path.pop();
    }
}

/// Simulates without changes, and reads the event log of the run. `None` if the program cannot be
/// observed, as one without ranks, or does not end.
fn observed<'a>(
    command: &WhatifCommand,
    program: &Executable,
    platform: &'a Platform,
    log: &TemporaryLog,
) -> Option<(f64, Prediction<'a>)> {
    let time = simulate_time(command, program, &[], Some(&log.log_path())).ok()?;
    let prediction = Prediction::from_log(platform, &log.log_path()).ok()?;
    Some((time, prediction))
}

/// Returns the simulated time of a run in seconds. `log`: file for its events.
fn simulate_time(
    command: &WhatifCommand,
    program: &Executable,
    changes: &[String],
    log: Option<&Path>,
) -> Result<f64, String> {
    let mut simulation = program.program_command();
    simulation.args(command.program.simulation.platform_arguments());
    simulation.args(command.program.as_arguments());
    for change in changes {
        simulation.args(["--set", change]);
    }
    if let Some(ranks) = command.program.simulation.ranks {
        simulation.args(["-n", &ranks.to_string()]);
    }
    if let Some(log) = log {
        simulation.arg("--log-events").arg(log);
    }
    simulation.args(["--quiet", "--format", "json", "--"]);
    simulation.args(&command.arguments);
    let output = simulation
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: cannot start it: {error}", program.file().display()))?;
    let with = if changes.is_empty() {
        String::new()
    } else {
        format!(" with {}", changes.join(" "))
    };
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        let ended = output.status;
        return Err(format!(
            "the run{with} ended with {ended}\n{}",
            problem.trim_end()
        ));
    }
    let record: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the run{with} printed no record: {error}"))?;
    let time = record["simulated_s"].as_f64().filter(|time| *time > 0.0);
    time.ok_or_else(|| format!("the run{with} took no time: nothing can be compared"))
}

impl Effects {
    fn relative(&self, time: f64) -> f64 {
        time / self.time - 1.0
    }

    /// Writes the analysis of the run without changes from its log.
    fn write_analysis(
        &self,
        log: &Path,
        command: &WhatifCommand,
        folder: &Path,
    ) -> Result<(), String> {
        analyse::write_results(
            log,
            &command.program.simulation,
            &command_line(),
            folder,
            checked::derivative_table(self),
        )
    }

    fn as_text(&self, factor: f64) -> String {
        let mut text = format!(
            "{:.6} ms simulated; each parameter divided and multiplied by {factor}\n\n",
            1e3 * self.time
        );
        let width = self.effects.iter().map(|effect| effect.path.len()).max();
        let width = width.unwrap_or(0).max(10);
        let _ = writeln!(
            text,
            "  {:<width$}{:>12}{:>12}{:>14}{:>14}",
            "parameter", "divided", "multiplied", "per +1 %", "predicted"
        );
        for effect in &self.effects {
            let [less, more] = effect.times.map(|time| 100.0 * self.relative(time));
            let predicted = effect.predicted;
            let predicted = predicted.map_or("–".to_owned(), |part| format!("{part:+.4}%"));
            let _ = writeln!(
                text,
                "  {:<width$}{less:>+11.2}%{more:>+11.2}%{:>+13.4}%{predicted:>14}",
                effect.path,
                effect.elasticity()
            );
        }
        for (growth, factor) in &self.tolerances {
            let percent = 100.0 * growth;
            let _ = match factor {
                Some(factor) => write!(
                    text,
                    "\nall latencies × {factor:.3}: the time grows by {percent} %"
                ),
                None => write!(
                    text,
                    "\nall latencies × {FACTOR_MAX}: the time grows by less than {percent} %"
                ),
            };
        }
        text
    }

    fn as_json(&self, factor: f64) -> String {
        let effects: Vec<Value> = (self.effects.iter())
            .map(|effect| {
                json!({
                    "parameter": effect.path,
                    "divided_s": effect.times[0],
                    "multiplied_s": effect.times[1],
                    "elasticity": effect.elasticity(),
                    "elasticity_less": effect.elasticities[0],
                    "elasticity_more": effect.elasticities[1],
                    "predicted_elasticity": effect.predicted,
                })
            })
            .collect();
        let tolerances: Vec<Value> = (self.tolerances.iter())
            .map(|(growth, factor)| json!({ "growth": growth, "latency_factor": factor }))
            .collect();
        json!({
            "simulated_s": self.time,
            "factor": factor,
            "effects": effects,
            "tolerances": tolerances,
        })
        .to_string()
    }

    fn tornado(&self, command: &WhatifCommand) -> Tornado {
        let app = command.app.file_name().unwrap_or_default();
        let bars = self.effects.iter().map(|effect| TornadoBar {
            name: effect.path.clone(),
            effects: effect.times.map(|time| self.relative(time)),
        });
        Tornado {
            title: format!(
                "{}: change of the time of {:.6} ms",
                app.display(),
                1e3 * self.time
            ),
            legend: [
                format!("÷ {}", command.factor),
                format!("× {}", command.factor),
            ],
            bars: bars
                .filter(|bar| bar.effects.iter().any(|effect| *effect != 0.0))
                .collect(),
        }
    }
}
