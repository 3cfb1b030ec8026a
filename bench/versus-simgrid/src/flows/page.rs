//! The page `flows.md`: the costs of completions, the agreement of the dates, and the curve with a
//! picture.

use std::fmt::Write as _;
use std::path::Path;

use report::{Marker, Scatter, Series, plot_scatter};

use super::Measured;
use super::child::Mode;
use crate::simgrid::SimGrid;
use crate::workload::Sample;

/// Writes the page and, if there are points, the picture of the curve.
pub(crate) fn write_page(
    results: &[Measured],
    simgrid: Option<&SimGrid>,
    runs: u32,
    quick: bool,
    folder: &Path,
) -> Result<(), String> {
    let curves = curves(results, simgrid);
    crate::write_file(
        &folder.join("flows.md"),
        &markdown(results, simgrid, runs, quick),
    )?;
    if curves.series.iter().any(|curve| curve.points.len() > 1) {
        for name in ["flows.svg", "flows.png"] {
            plot_scatter(&curves, &folder.join(name)).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// The whole page.
pub(crate) fn markdown(
    results: &[Measured],
    simgrid: Option<&SimGrid>,
    runs: u32,
    quick: bool,
) -> String {
    let mut text = String::from("# Random flows: ours and SimGrid's\n\n");
    if quick {
        text.push_str("Sizes of `--quick`: these figures say nothing about speed.\n\n");
    }
    if simgrid.is_none() {
        let package = crate::simgrid::PACKAGE;
        let _ = writeln!(
            text,
            "SimGrid is not installed here (Debian package `{package}`): its side was not measured.\n"
        );
    }
    text.push_str(&costs(results, simgrid));
    if simgrid.is_some() {
        text.push_str(&dates(results));
    }
    text.push_str(&curve(results, simgrid));
    text.push_str(&obtained(simgrid, runs));
    crate::table::wrap_lines(&text)
}

fn version(simgrid: Option<&SimGrid>) -> String {
    simgrid.map_or_else(
        || "SimGrid (missing)".to_owned(),
        |simgrid| format!("SimGrid {}", simgrid.version),
    )
}

/// Microseconds of user CPU time per completion.
fn cost(sample: &Sample) -> f64 {
    sample.user_s / sample.operations * 1e6
}

/// Megabytes of the whole process.
fn megabytes(sample: &Sample) -> f64 {
    sample.memory_kib * 1024.0 / 1e6
}

/// With three digits, or all in front of the point.
fn digits(number: f64) -> String {
    let places: usize = match number.abs() {
        0.0..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{number:.places$}")
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn costs(results: &[Measured], simgrid: Option<&SimGrid>) -> String {
    let name = version(simgrid);
    let mut text = format!(
        "| workload, LV08 | ours, µs per completion | {name}, µs | ratio | goal | reached | the same with `optim:Full`, µs | \
         memory, ours | SimGrid's |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    let mut notes = String::new();
    for measured in results {
        let ours = cost(&measured.ours);
        let theirs = measured.theirs.as_ref().ok();
        let ratio = theirs.map(|theirs| cost(theirs) / ours);
        let goal = measured.case.goal;
        let reached = goal.and_then(|goal| Some(ratio? >= goal));
        let memory = megabytes(&measured.ours);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {memory:.0} MB | {} |",
            measured.case.title(),
            digits(ours),
            or_dash(theirs.map(|sample| digits(cost(sample)))),
            or_dash(ratio.map(|ratio| format!("{}×", digits(ratio)))),
            or_dash(goal.map(|goal| format!("≥ {goal}×"))),
            or_dash(reached.map(|reached| yes(reached).to_owned())),
            or_dash(measured.full.as_ref().map(|sample| digits(cost(sample)))),
            or_dash(theirs.map(|sample| format!("{:.0} MB", megabytes(sample)))),
        );
        if let Some(limit) = measured.case.megabytes {
            let _ = writeln!(
                notes,
                "* {}: at most {limit:.0} MB wanted, reached: {}.",
                measured.case.title(),
                yes(memory <= limit)
            );
        }
        if let (Err(reason), Some(_)) = (&measured.theirs, simgrid) {
            let _ = writeln!(
                notes,
                "* SimGrid did not finish `{}`: {reason}.",
                measured.case.name
            );
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
    text
}

fn dates(results: &[Measured]) -> String {
    let mut text = String::from(
        "\n## Dates\n\nOurs against those of SimGrid with `network/optim:Full`: the end of each flow where the schedule is fixed, \
         completions per simulated second where ends decide what starts. The last column is how far SimGrid as it is by default \
         (`Lazy`) is from its own full solution.\n\n\
         | workload | compared | largest relative difference | limit | holds | SimGrid's default |\n|---|---|---|---|---|---|\n",
    );
    for measured in results {
        let Some(dates) = &measured.dates else {
            continue;
        };
        let what = match measured.case.mode {
            Mode::Churn => format!("pace of {} completions", dates.count),
            Mode::Drain | Mode::Arrivals => format!("{} ends", dates.count),
        };
        let _ = writeln!(
            text,
            "| {} | {what} | {:.1e} | {:.0e} | {} | {:.1e} |",
            measured.case.title(),
            dates.difference,
            dates.limit,
            yes(dates.holds()),
            dates.default,
        );
    }
    text
}

/// Ours and SimGrid's: microseconds per completion by flows in flight.
fn curves(results: &[Measured], simgrid: Option<&SimGrid>) -> Scatter {
    let mut on: Vec<&Measured> = results
        .iter()
        .filter(|measured| measured.case.is_on_the_curve())
        .collect();
    on.sort_by_key(|measured| measured.case.flows);
    let point =
        |measured: &Measured, sample: &Sample| (f64::from(measured.case.flows), cost(sample));
    let ours = on.iter().map(|measured| point(measured, &measured.ours));
    let theirs = on.iter().filter_map(|measured| {
        let sample = measured.theirs.as_ref().ok()?;
        Some(point(measured, sample))
    });
    let curve = |name: &str, mark: Marker, points: Vec<(f64, f64)>| match growth_exponent(&points) {
        Some(exponent) => Series::new(
            &format!("{name}, grows as flows^{exponent:.2}"),
            mark,
            points,
        ),
        None => Series::new(name, mark, points),
    };
    let mut series = vec![curve("simrun", Marker::Curve, ours.collect())];
    if simgrid.is_some() {
        let theirs = curve(&version(simgrid), Marker::SecondCurve, theirs.collect());
        series.insert(0, theirs);
    }
    Scatter {
        title: "Cost of a completion, random flows on a fat tree of 4096 hosts, LV08".to_owned(),
        x: "flows kept in flight".to_owned(),
        log_x: true,
        y: "user CPU time per completion (µs)".to_owned(),
        log_y: true,
        series,
        verticals: Vec::new(),
    }
}

/// Returns the exponent a of the power law y = c xᵃ nearest to the points: the slope of the least
/// squares of the logarithms. `None` if there are not two different x.
fn growth_exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logarithms: Vec<(f64, f64)> = (points.iter())
        .map(|(x, y)| (x.log10(), y.log10()))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "points are few")]
    let count = logarithms.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = (logarithms.iter())
        .map(|point| (point.0 - x) * (point.0 - x))
        .sum();
    let both: f64 = (logarithms.iter())
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    (spread > 0.0).then(|| both / spread)
}

fn curve(results: &[Measured], simgrid: Option<&SimGrid>) -> String {
    let curves = curves(results, simgrid);
    let mut text = String::new();
    if curves.series.iter().all(|curve| curve.points.len() < 2) {
        return text;
    }
    text.push_str("\n## Growth\n\n![Cost per completion against flows in flight](flows.svg)\n\n");
    for curve in &curves.series {
        let points: Vec<String> = curve
            .points
            .iter()
            .map(|(flows, cost)| format!("{flows}: {}", digits(*cost)))
            .collect();
        let _ = writeln!(
            text,
            "* {} (least squares of the logarithms of all points). µs by flows: {}",
            curve.name,
            points.join(", ")
        );
    }
    text
}

fn obtained(simgrid: Option<&SimGrid>, runs: u32) -> String {
    let mut text = String::from("\n## How these figures were obtained\n\n");
    text.push_str(
        "`cargo run --release -p versus-simgrid -- flows` writes this page and the picture.\n\n",
    );
    let _ = writeln!(text, "* Machine: {}.", crate::table::machine());
    let _ = writeln!(
        text,
        "* Each workload runs {runs} times on our side, alternately with as many of SimGrid's (one where there are \
         more than 2000 flows), each run in a process of its own; the table has medians."
    );
    text.push_str(
        "* Random pairs of hosts, 1e8 to 2e8 bytes; links of 1.25 GB/s and 1 µs, the backbone 125 GB/s; fat trees of 16×8×8 and \
         16×16×16 hosts with 1, 8, 4 and 1, 8, 8 parents; a dragonfly of 8 groups, 8 chassis, 16 routers and 4 hosts; a torus of 16×16×16. Both sides \
         read the same XML file and draw the same numbers; the links and latencies of 100 routes are compared.\n\
         * On both sides each flow belongs to an actor, which waits for it and in a churn takes the next one.\n\
         * Time is user CPU time. In a churn it runs from the first completion on, so platform, fill and first solution are \
         excluded, and ends after 100 000 completions or some seconds (on our side 2, and 8 from 30 000 flows on; 4 on SimGrid's). Otherwise it is the whole \
         simulation from the moment at which the platform stands, which our side repeats 20 times.\n\
         * Memory is the peak of the whole process.\n\
         * Our side: release profile with overflow checks, digest on.\n",
    );
    if let Some(simgrid) = simgrid {
        let _ = writeln!(
            text,
            "* SimGrid {}: `bench/versus-simgrid/cpp/flows.cpp`, g++ -O2, stacks of 8 KiB without guard pages, which are part of its memory.",
            simgrid.version
        );
    }
    text
}
