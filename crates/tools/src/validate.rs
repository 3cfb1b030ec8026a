//! `simrun validate`: simulates the calls of a table of measurements of collective operations, and
//! tells the errors and the regret of the algorithms that the simulation would choose.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use accuracy::{
    Grouping, JobHosts, JudgedRow, NoiseFloor, ReadRows, Regret, RegretSummary, find_regrets,
    group_errors, judge_rows, read_rows, summarise_errors,
};
use clap::Args;
use platform::Override;
use simrun::args::Format;
use simrun::{ProgressLine, load, status};
use validation::{ErrorLimit, missed_limits};

use crate::message_costs::warn_of_free_messages;

/// A table of measurements and the platform to be judged.
#[derive(Args, Clone, Debug)]
pub(crate) struct ValidateCommand {
    /// Table of measured times of collective operations: the flat table of PICO
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Platform file of the machine: TOML, or SimGrid XML
    #[arg(short, long, value_name = "FILE")]
    platform: PathBuf,
    /// Set a platform value: PATH=VALUE or PATH*=FACTOR; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Override>,
    /// Machine of the table, if the table has several
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Table of the hosts of jobs (docs/validation.md); other jobs take the first hosts
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Leave out rows with more ranks
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    max_ranks: u32,
    /// Exit with 1 above these errors: median, p90, worst, as median=10%,p90=40%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    require: Vec<ErrorLimit>,
    /// Output format
    #[arg(
        long,
        value_name = "text|json",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    format: Format,
}

/// All that was found out about a table.
struct Verdict {
    judged: Vec<JudgedRow>,
    rows: ReadRows,
    regrets: Vec<Regret>,
}

/// Runs the command.
pub(crate) fn run(command: &ValidateCommand) -> ExitCode {
    let verdict = match reach_verdict(command) {
        Ok(verdict) => verdict,
        Err(code) => return code,
    };
    let text = match command.format {
        Format::Text => write_text(&verdict),
        Format::Json => write_json(&verdict),
    };
    let printed = status::print(text.trim_end());
    match missed_limits(&command.require, summarise_errors(&verdict.judged).as_ref()) {
        Some(missed) => status::failed(missed),
        None => printed,
    }
}

fn reach_verdict(command: &ValidateCommand) -> Result<Verdict, ExitCode> {
    let platform = load(&command.platform, &command.changes)?;
    warn_of_free_messages(&command.platform, &platform);
    let name = command.data.display();
    let refuse = |problem: String| status::refuse(format_args!("{name}: {problem}"));
    let text = files::read_text(&command.data).map_err(|error| refuse(error.to_string()))?;
    let rows = read_rows(&text, command.machine.as_deref());
    let mut rows = rows.map_err(|error| refuse(error.to_string()))?;
    let hosts = read_hosts(command.hosts.as_deref())?;
    let line = Mutex::new(ProgressLine::new());
    let progress = |done, all| {
        if let Ok(mut line) = line.lock() {
            line.show(|| format!("{done} of {all} rows"));
        }
    };
    rows.keep_faultless(|row| {
        let most = command.max_ranks;
        (row.rank_count() > most).then(|| format!("more than {most} ranks"))
    });
    let judged = judge_rows(&platform, &mut rows, &hosts, &progress);
    drop(line);
    let judged = judged.map_err(|error| refuse(error.to_string()))?;
    let regrets = find_regrets(&judged, &rows.rows);
    Ok(Verdict {
        judged,
        rows,
        regrets,
    })
}

fn read_hosts(path: Option<&Path>) -> Result<JobHosts, ExitCode> {
    let Some(path) = path else {
        return Ok(JobHosts::default());
    };
    let text = files::read_text(path).map_err(|error| error.to_string());
    let hosts = text.and_then(|text| JobHosts::read_table(&text));
    hosts.map_err(|problem| status::refuse(format_args!("{}: {problem}", path.display())))
}

fn write_text(verdict: &Verdict) -> String {
    let mut text = format!(
        "{} rows judged, {} of the library's choice, {} left out:\n",
        verdict.judged.len(),
        verdict.rows.rows.len(),
        verdict.rows.skipped.values().sum::<usize>()
    );
    for (reason, count) in &verdict.rows.skipped {
        let _ = writeln!(text, "  {count:>5}  {reason}");
    }
    let _ = writeln!(
        text,
        "\n{:36} {:>6} {:>9} {:>9} {:>10} {:>9}",
        "error", "rows", "median", "p90", "worst", "bias"
    );
    for grouping in Grouping::ALL {
        for (name, errors) in group_errors(&verdict.judged, grouping) {
            let parts = [errors.median, errors.p90, errors.worst, errors.bias];
            let [median, p90, worst, bias] = parts.map(|part| 100.0 * part);
            let count = errors.count;
            let _ = writeln!(
                text,
                "{name:36} {count:>6} {median:>7.1} % {p90:>7.1} % {worst:>8.1} % {bias:>+7.1} %"
            );
        }
        text.push('\n');
    }
    write_noise(&mut text, &NoiseFloor::new(&verdict.judged));
    write_regrets(&mut text, &verdict.regrets);
    text
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

fn write_json(verdict: &Verdict) -> String {
    let rows = verdict.judged.iter().map(|judged| {
        let row = &judged.row;
        serde_json::json!({
            "line": row.line, "nodes": row.nodes, "ranks_per_node": row.ranks_per_node,
            "operation": row.operation.name(), "algorithm": row.algorithm,
            "bytes": row.bytes, "measured_s": row.median_s, "simulated_s": judged.simulated_s,
        })
    });
    let groups = Grouping::ALL.into_iter().flat_map(|grouping| {
        let groups = group_errors(&verdict.judged, grouping).into_iter();
        groups.map(move |(name, errors)| {
            serde_json::json!({
                "grouping": format!("{grouping:?}").to_lowercase(), "group": name, "rows": errors.count,
                "median": errors.median, "p90": errors.p90, "worst": errors.worst,
                "bias": errors.bias,
            })
        })
    });
    let regrets = verdict.regrets.iter().map(|regret| {
        serde_json::json!({
            "nodes": regret.nodes, "ranks_per_node": regret.ranks_per_node,
            "operation": regret.operation.name(), "bytes": regret.bytes,
            "chosen": regret.chosen, "best": regret.best,
            "of_choice": regret.of_choice, "of_default": regret.of_default,
        })
    });
    let noise = NoiseFloor::new(&verdict.judged);
    let value = serde_json::json!({
        "skipped": verdict.rows.skipped,
        "errors": groups.collect::<Vec<_>>(),
        "noise": { "within_jobs": noise.within_jobs, "between_jobs": noise.between_jobs },
        "regrets": regrets.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    });
    format!("{value:#}")
}
