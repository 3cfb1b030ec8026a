//! The table in Markdown, with the conditions of the measurement.

use std::fmt::Write as _;

use crate::simgrid::{PACKAGE, SimGrid};
use crate::workload::{Goal, Metric, Side, WorkloadRow};
use crate::{Measured, PageArg};

/// The whole page of a part.
pub(crate) fn markdown(
    part: PageArg,
    results: &[Measured],
    simgrid: Option<&SimGrid>,
    runs: u32,
    quick: bool,
) -> String {
    let mut text = String::from(match part {
        PageArg::Messages => "# Our message layer and SimGrid's SMPI\n\n",
        PageArg::Kernel | PageArg::Flows => "# Our kernel and SimGrid\n\n",
    });
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
            let (line, reached) = table_line(measured, row, quick);
            text.push_str(&line);
            if let (Some(limit), Some(false), false) = (row.limit, reached, quick) {
                let _ = writeln!(notes, "* What limits \"{}\": {limit}.", row.title);
            }
        }
        if let (Err(reason), true) = (
            &measured.theirs,
            simgrid.is_some() && measured.workload.side != Side::None,
        ) {
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
    let _ = write!(text, "\n{}", obtained(part, simgrid, runs));
    wrap_lines(&text)
}

/// Breaks the lines of a page at 100 columns, but for rows of tables.
pub(crate) fn wrap_lines(text: &str) -> String {
    let wrap_line = |line: &str| {
        let is_item = line.starts_with("* ");
        let options = textwrap::Options::new(100)
            .subsequent_indent(if is_item { "  " } else { "" })
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        match line.starts_with('|') {
            true => line.to_owned(),
            false => textwrap::fill(line, options),
        }
    };
    text.lines().map(|line| wrap_line(line) + "\n").collect()
}

/// One line, and whether the goal is reached, if that can be told.
fn table_line(measured: &Measured, row: &WorkloadRow, quick: bool) -> (String, Option<bool>) {
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let size = measured.workload.size(quick) as f64;
    let ours = measured.ours.figure(row.metric, size);
    let theirs = measured.theirs.as_ref().ok();
    let theirs = theirs.map(|sample| sample.figure(row.metric, size));
    let ratio = theirs.map(|theirs| row.metric.ratio(ours, theirs));
    let reached = match row.goal {
        Goal::AtMost(limit) => Some(ours <= limit),
        Goal::AtLeast(limit) => Some(ours >= limit),
        Goal::None => None,
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

fn goal(row: &WorkloadRow) -> String {
    match row.goal {
        Goal::AtMost(limit) => format!("≤ {}", amount(row.metric, limit)),
        Goal::AtLeast(limit) if limit > 0.0 => format!("≥ {}", amount(row.metric, limit)),
        Goal::AtLeast(_) => "finish".to_owned(),
        Goal::None => "-".to_owned(),
        Goal::Times(times) => format!("≥ {times}×"),
    }
}

fn amount(metric: Metric, figure: f64) -> String {
    match metric {
        Metric::Nanoseconds => format!("{figure:.1} ns"),
        Metric::PerSecond if figure >= 1e6 => format!("{:.2} M/s", figure / 1e6),
        Metric::PerSecond => format!("{:.0} k/s", figure / 1e3),
        Metric::Seconds => format!("{figure:.3} s"),
        Metric::BytesEach => format!("{figure:.0} bytes"),
        Metric::Gigabytes => format!("{figure:.2} GB"),
    }
}

/// Returns the paragraph that says how the figures were obtained.
fn obtained(part: PageArg, simgrid: Option<&SimGrid>, runs: u32) -> String {
    let mut text = String::from("## How these figures were obtained\n\n");
    let name = match part {
        PageArg::Messages => "messages",
        PageArg::Kernel | PageArg::Flows => "kernel",
    };
    let _ = writeln!(
        text,
        "`cargo run --release -p versus-simgrid -- {name}` writes this page.\n"
    );
    let _ = writeln!(text, "* Machine: {}.", machine());
    let _ = writeln!(
        text,
        "* Each workload runs {runs} times per side, ours and SimGrid's alternately, each run in a process of its own; \
         the table has medians. What takes SimGrid more than 30 s it does once."
    );
    text.push_str(match part {
        PageArg::Messages => RANKS,
        PageArg::Kernel | PageArg::Flows => ACTORS,
    });
    if let Some(simgrid) = simgrid {
        let how = match part {
            PageArg::Messages => {
                "compiled by smpicc -O2, ended after 120 s (status 124), run by smpirun without privatization of variables and without the time of computations"
            }
            PageArg::Kernel | PageArg::Flows => {
                "g++ -O2, stacks of 8 KiB without guard pages, network model CM02 on two hosts and one link, LV08 on a crossbar where the row says so"
            }
        };
        let _ = writeln!(
            text,
            "* SimGrid {}: programs of `bench/versus-simgrid/cpp`, {how}.",
            simgrid.version
        );
    }
    text
}

const ACTORS: &str = "\
* Time is user CPU time from the moment at which the platform stands, so it includes the creation and the end of the actors. \
Our side repeats the short workloads in one process, so that there is enough to measure.
* Memory is peak resident memory beyond what the process had before its actors, divided by their number.
* Our side: release profile with overflow checks, digest on.
";

const RANKS: &str = "\
* Both sides run the same program on a crossbar of as many hosts as ranks, under the model `smpi`, with messages of 1 KiB.
* Time is user CPU time. Ours includes reading the platform and ends with the process; SimGrid's begins when the first rank has \
begun and ends when the last one has all its messages. Our side repeats the short workloads in one process.
* Memory is peak resident memory beyond what the process had before, for one rank where the row says so.
* Our side: release profile with overflow checks, digest on, buffers without content.
";

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
