//! `simrun collectives tune`: every algorithm of an operation is simulated at some sizes, and the
//! fastest at each size becomes a row of a selector.
//!
//! The time of a call is from the end of a barrier to the time at which the last rank leaves the
//! call. Between two sizes the algorithm of the lower one is selected.
//!
//! *Not tuned*: segments and radices, which are those of the algorithms; calls with other numbers
//! of ranks, for which the rows hold too.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use collectives::{Algorithm, Call, Collective, messages, named};
use files::Output;
use platform::{Override, suggest_word};
use report::{Marker, Scatter, Series, plot_scatter};
use simrun::args::SimulationArgs;
use simrun::{ProgressLine, Size, status};
use validation::{ElementType, TimedCall};

use super::kind;
use crate::command_line;
use crate::message_costs::warn_of_free_messages;

/// A selection for a platform.
#[derive(Args, Clone, Debug)]
pub(crate) struct TuneCommand {
    /// Kind of operation, such as allreduce
    #[arg(value_parser = kind)]
    kind: Collective,
    #[command(flatten)]
    simulation: SimulationArgs,
    /// Sizes [default: powers of four from 8B to 4MiB]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Algorithms [default: all that suit the call]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// Largest number of messages of a simulated call; algorithms with more are left out
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    max_messages: u64,
    /// File for the selector, which collectives.selector accepts
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// File for a picture of the times, SVG or PNG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// The times of an algorithm.
struct Times {
    algorithm: &'static Algorithm,
    /// By size in seconds; `None` where it does not suit the call.
    seconds: Vec<Option<f64>>,
}

impl TuneCommand {
    /// Returns the number of ranks, 0 if there is no such option.
    fn rank_count(&self) -> u32 {
        self.simulation.ranks.unwrap_or(0)
    }
}

/// Runs the command.
pub(super) fn run(command: &TuneCommand) -> ExitCode {
    match tune(command) {
        Ok(text) => status::print(text.trim_end()),
        Err(code) => code,
    }
}

fn tune(command: &TuneCommand) -> Result<String, ExitCode> {
    files::add_input(command.simulation.platform_file()?);
    if command.rank_count() < 2 {
        let found = command.rank_count();
        return Err(status::refuse(format_args!(
            "{found} ranks: expected -n N with at least 2"
        )));
    }
    let outputs = [&command.out, &command.plot];
    for path in outputs.into_iter().flatten() {
        Output::new(path).map_err(status::refuse)?;
    }
    let sizes = sizes(command)?;
    let wanted = algorithms(command)?;
    warn_of_free_messages(
        command.simulation.platform_file()?,
        &command.simulation.load_platform()?,
    );
    let mut line = ProgressLine::new();
    let mut all = Vec::new();
    for (number, algorithm) in wanted.iter().enumerate() {
        line.show(|| format!("{} of {}: {}", number + 1, wanted.len(), algorithm.name));
        all.push(times(command, algorithm, &sizes)?);
    }
    drop(line);
    all.retain(|times| times.seconds.iter().any(Option::is_some));
    let best: Vec<&Times> = (0..sizes.len())
        .filter_map(|at| fastest(all.iter(), at))
        .collect();
    if best.len() < sizes.len() {
        return Err(status::refuse(format_args!(
            "no algorithm of {} can be simulated at every size: expected fewer ranks, or a larger --max-messages",
            command.kind
        )));
    }
    if let Some(path) = &command.out {
        files::write(path, selector(command, &sizes, &best)).map_err(status::refuse)?;
    }
    if let Some(path) = &command.plot {
        plot_scatter(&picture(command, &sizes, &all, &best), path).map_err(status::refuse)?;
    }
    Ok(table(&sizes, &all, &best))
}

fn sizes(command: &TuneCommand) -> Result<Vec<u64>, ExitCode> {
    let mut sizes: Vec<u64> = command.sizes.iter().map(|size| size.0).collect();
    if sizes.is_empty() {
        sizes.extend((0..10).map(|power| 8 << (2 * power)));
    }
    sizes.sort_unstable();
    sizes.dedup();
    let odd = sizes.iter().find(|size| !size.is_multiple_of(8));
    if let Some(odd) = odd.filter(|_| command.kind.has_operation()) {
        return Err(status::refuse(format_args!(
            "--sizes {}: expected whole numbers of elements of 8B",
            Size(*odd)
        )));
    }
    if command.kind == Collective::Barrier {
        sizes = vec![0];
    }
    Ok(sizes)
}

fn algorithms(command: &TuneCommand) -> Result<Vec<&'static Algorithm>, ExitCode> {
    let known = |name: &String| {
        collectives::find(command.kind, name).ok_or_else(|| {
            let all: Vec<&str> = named(command.kind)
                .map(|algorithm| algorithm.name)
                .collect();
            status::refuse(format_args!(
                "unknown algorithm {name:?} of {}: expected {}{}",
                command.kind,
                all.join(", "),
                suggest_word(name, all.iter().copied())
            ))
        })
    };
    if command.algorithms.is_empty() {
        return Ok(named(command.kind).collect());
    }
    command.algorithms.iter().map(known).collect()
}

/// Simulates an algorithm at all sizes.
fn times(
    command: &TuneCommand,
    algorithm: &'static Algorithm,
    sizes: &[u64],
) -> Result<Times, ExitCode> {
    let change = format!("collectives.{}={}", command.kind, algorithm.name);
    let change = change.parse::<Override>().map_err(status::refuse)?;
    let mut simulation = command.simulation.clone();
    simulation.changes.push(change);
    let platform = Arc::new(simulation.load_platform()?);
    let options = simulation.run_options().map_err(status::refuse)?;
    let mut seconds = Vec::new();
    for &size in sizes {
        let mut call = Call::new(command.kind, 0, command.rank_count(), size);
        call.element = size.clamp(1, 8);
        let selector = platform.collectives().to_selector();
        let selected = selector.select(&mut call, collectives::Facts::default());
        let is_it = selected.is_ok_and(|selected| selected.name == algorithm.name);
        if !is_it || count(algorithm, &call) > command.max_messages {
            seconds.push(None);
            continue;
        }
        let timed = TimedCall {
            operation: command.kind,
            bytes: size,
            element: ElementType::Double,
            iterations: 1,
        };
        let time = timed.simulate_loop(&platform, options.clone());
        seconds.push(Some(time.map_err(status::refuse)?));
    }
    Ok(Times { algorithm, seconds })
}

/// Returns the number of messages of all ranks, estimated from some of them.
fn count(algorithm: &Algorithm, call: &Call) -> u64 {
    const SAMPLED: u32 = 64;
    let sampled = call.size.min(SAMPLED);
    let step = call.size / sampled;
    let of_rank = |number: u32| {
        let rank = number * step;
        let own = Call {
            rank,
            ..call.clone()
        };
        messages(algorithm, &own).len() as u64
    };
    let sum: u64 = (0..sampled).map(of_rank).sum();
    sum * u64::from(call.size) / u64::from(sampled)
}

/// Returns the fastest algorithm at a size; the first of equally fast ones.
fn fastest<'a>(all: impl Iterator<Item = &'a Times>, at: usize) -> Option<&'a Times> {
    let seconds = |times: &Times| times.seconds[at].unwrap_or(f64::INFINITY);
    all.filter(|times| times.seconds[at].is_some())
        .min_by(|a, b| seconds(a).total_cmp(&seconds(b)))
}

fn table(sizes: &[u64], all: &[Times], best: &[&Times]) -> String {
    let mut text = format!(
        "{:>10}  {:28}  {:>14}  {:28}  {:>14}\n",
        "size", "fastest", "time", "second", "time"
    );
    for (at, (&size, first)) in sizes.iter().zip(best).enumerate() {
        let others = (all.iter()).filter(|times| times.algorithm.name != first.algorithm.name);
        let second = fastest(others, at);
        let time = |times: &Times| {
            let seconds = times.seconds[at].unwrap_or(f64::NAN);
            format!("{:.3} us", seconds * 1e6)
        };
        let (name, second) = second.map_or((String::new(), String::new()), |second| {
            (second.algorithm.name.to_owned(), time(second))
        });
        let _ = writeln!(
            text,
            "{:>10}  {:28}  {:>14}  {name:28}  {second:>14}",
            Size(size).to_string(),
            first.algorithm.name,
            time(first)
        );
    }
    text
}

fn selector(command: &TuneCommand, sizes: &[u64], best: &[&Times]) -> String {
    let kind = command.kind;
    let mut text = format!(
        "# Made with {}\nversion = 1\nname = \"tuned-{kind}-{}\"\n",
        command_line(),
        command.rank_count()
    );
    let mut from = 0;
    for (at, times) in best.iter().enumerate() {
        let next = best.get(at + 1);
        if next.is_some_and(|next| next.algorithm.name == times.algorithm.name) {
            continue;
        }
        let _ = write!(text, "\n[[{kind}]]\n");
        if let Some(next) = sizes.get(at + 1) {
            let _ = writeln!(text, "bytes = [{from}, {}]", next - 1);
            from = *next;
        }
        let _ = writeln!(text, "algorithm = \"{}\"", times.algorithm.name);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "sizes of a picture")]
fn picture(command: &TuneCommand, sizes: &[u64], all: &[Times], best: &[&Times]) -> Scatter {
    let points = |times: &Times| {
        let points = sizes.iter().zip(&times.seconds);
        points
            .filter_map(|(size, seconds)| Some((*size as f64, (*seconds)? * 1e6)))
            .collect::<Vec<(f64, f64)>>()
    };
    let is_best = |times: &Times| {
        let mut best = best.iter();
        best.any(|best| best.algorithm.name == times.algorithm.name)
    };
    const MARKERS: [Marker; 3] = [Marker::Line, Marker::Second, Marker::Third];
    let mut markers = MARKERS.into_iter().cycle();
    let mut series: Vec<Series> = Vec::new();
    for times in all.iter().filter(|times| !is_best(times)) {
        series.push(Series {
            name: String::new(),
            mark: Marker::Thin,
            points: points(times),
        });
    }
    for times in all.iter().filter(|times| is_best(times)) {
        series.push(Series {
            name: times.algorithm.name.to_owned(),
            mark: markers.next().unwrap_or(Marker::Line),
            points: points(times),
        });
    }
    let crossings = best.windows(2).zip(&sizes[1..]).filter_map(|(pair, size)| {
        let differ = pair[0].algorithm.name != pair[1].algorithm.name;
        differ.then_some(*size as f64)
    });
    Scatter {
        title: format!(
            "{} of {} ranks: fastest algorithms",
            command.kind,
            command.rank_count()
        ),
        x: "size in bytes".to_owned(),
        log_x: true,
        y: "time in us".to_owned(),
        log_y: true,
        series,
        verticals: crossings.collect(),
    }
}
