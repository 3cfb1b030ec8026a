//! The table in Markdown, with how it was obtained.

use std::fmt::Write as _;

use crate::Measured;
use crate::simgrid::{PACKAGE, SimGrid};
use crate::workload::{Goal, Metric, Row};

/// The whole page.
pub(crate) fn markdown(
    results: &[Measured],
    simgrid: Option<&SimGrid>,
    runs: u32,
    quick: bool,
) -> String {
    let mut text = String::from("# Our kernel and SimGrid\n\n");
    let name = simgrid.map_or_else(
        || "SimGrid (missing)".to_owned(),
        |simgrid| format!("SimGrid {}", simgrid.version),
    );
    if quick {
        text.push_str("Sizes of `--quick`: these figures say nothing about speed.\n\n");
    }
    if simgrid.is_none() {
        let _ = writeln!(
            text,
            "SimGrid is not installed here (Debian package `{PACKAGE}`): its side was not measured.\n"
        );
    }
    let _ = writeln!(
        text,
        "| workload | ours | {name} | ratio | goal | reached |"
    );
    text.push_str("|---|---|---|---|---|---|\n");
    let mut notes = String::new();
    for measured in results {
        for row in measured.workload.rows {
            let (line, reached) = line(measured, row, quick);
            text.push_str(&line);
            if let (Some(limit), Some(false), false) = (row.limit, reached, quick) {
                let _ = writeln!(notes, "* What limits \"{}\": {limit}.", row.title);
            }
        }
        if let (Err(reason), Some(_), Some(_)) =
            (&measured.theirs, simgrid, measured.workload.program)
        {
            let _ = writeln!(
                notes,
                "* SimGrid did not finish `{}`: {reason}.",
                measured.workload.name
            );
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
    let _ = write!(text, "\n{}", obtained(simgrid, runs));
    text
}

/// One line, and whether the goal is reached, if that can be told.
fn line(measured: &Measured, row: &Row, quick: bool) -> (String, Option<bool>) {
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let size = measured.workload.size(quick) as f64;
    let ours = measured.ours.figure(row.metric, size);
    let theirs = measured.theirs.as_ref().ok();
    let theirs = theirs.map(|sample| sample.figure(row.metric, size));
    let ratio = theirs.map(|theirs| row.metric.ratio(ours, theirs));
    let reached = match row.goal {
        Goal::AtMost(limit) => Some(ours <= limit),
        Goal::AtLeast(limit) => Some(ours >= limit),
        Goal::Times(times) => ratio.map(|ratio| ratio >= times),
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let text = format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        row.title,
        amount(row.metric, ours),
        or_dash(theirs.map(|theirs| amount(row.metric, theirs))),
        or_dash(ratio.map(|ratio| format!("{ratio:.1}×"))),
        goal(row),
        or_dash(reached.map(|reached| if reached { "yes" } else { "no" }.to_owned())),
    );
    (text, reached)
}

fn goal(row: &Row) -> String {
    match row.goal {
        Goal::AtMost(limit) => format!("≤ {}", amount(row.metric, limit)),
        Goal::AtLeast(limit) if limit > 0.0 => format!("≥ {}", amount(row.metric, limit)),
        Goal::AtLeast(_) => "finish".to_owned(),
        Goal::Times(times) => format!("≥ {times}×"),
    }
}

fn amount(metric: Metric, figure: f64) -> String {
    match metric {
        Metric::Nanoseconds => format!("{figure:.1} ns"),
        Metric::PerSecond if figure >= 1e6 => format!("{:.2} M/s", figure / 1e6),
        Metric::PerSecond => format!("{:.0} k/s", figure / 1e3),
        Metric::BytesEach => format!("{figure:.0} bytes"),
        Metric::Gigabytes => format!("{figure:.2} GB"),
    }
}

/// How the figures were obtained.
fn obtained(simgrid: Option<&SimGrid>, runs: u32) -> String {
    let mut text = String::from("## How these figures were obtained\n\n");
    text.push_str("`cargo run --release -p versus-simgrid -- kernel` writes this page.\n\n");
    let _ = writeln!(text, "* Machine: {}.", machine());
    let _ = writeln!(
        text,
        "* Each workload runs {runs} times per side, ours and SimGrid's alternately, each run in a process of its own; \
         the table has medians."
    );
    text.push_str(
        "* Time is user CPU time from the moment at which the platform stands, so it includes the creation and the \
         end of the actors. Our side repeats the short workloads in one process, so that there is enough to measure.\n\
         * Memory is peak resident memory beyond what the process had before its actors, divided by their number.\n\
         * Our side: release profile with overflow checks, digest on.\n",
    );
    if let Some(simgrid) = simgrid {
        let _ = writeln!(
            text,
            "* SimGrid {}: programs of `bench/versus-simgrid/cpp`, g++ -O2, stacks of 8 KiB without guard pages, \
             network model CM02 on two hosts and one link, LV08 on a crossbar where the row says so.",
            simgrid.version
        );
    }
    text
}

/// Cores and model of the processor.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    format!(
        "{cores} cores, {}",
        model.map_or("unknown processor", str::trim)
    )
}
