//! `simrun collectives tune`: every algorithm of an operation is simulated at some sizes, and the
//! fastest at each size becomes a row of a selector.
//!
//! The time of a call is from the end of a barrier to the time at which the last rank leaves the
//! call. Between two sizes the algorithm of the lower one is selected.
//!
//! With `--export` the algorithms have names of a library, the library reads the file, and the
//! times are compared with the library's own choice.
//!
//! *Not tuned*: segments and radices, which are those of the algorithms; calls with other numbers
//! of ranks, for which the rows hold too, but not in a file for MPICH.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use accuracy::{AlgorithmTimes, FastestAlgorithms, estimate_messages};
use clap::Args;
use collectives::{Algorithm, Call, Collective, TunedLibrary, TunedRow, aliases, named};
use files::Output;
use platform::{Override, suggest_word};
use report::{Marker, Scatter, Series, plot_scatter};
use simrun::args::SimulationArgs;
use simrun::{ProgressLine, Size, status};
use validation::{ElementType, LoopTiming, TimedCall};

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
    /// Write --out for a library, with algorithms of the library: openmpi (a rules file), mpich
    /// (JSON, with --library) or nccl (a table of the tuner)
    #[arg(
        long,
        value_name = "LIBRARY",
        requires = "out",
        conflicts_with = "algorithms"
    )]
    export: Option<TunedLibrary>,
    /// For --export mpich: libmpi.so of MPICH, or generic.json of the sources of MPICH, with the
    /// decisions for all other calls
    #[arg(
        long,
        value_name = "FILE",
        requires = "export",
        required_if_eq("export", "mpich")
    )]
    library: Option<PathBuf>,
    /// Largest number of messages of a simulated call; algorithms with more are left out
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2_000_000,
        hide_short_help = true
    )]
    max_messages: u64,
    /// File for the selector, which collectives.selector accepts
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// File for a picture of the times, SVG or PNG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// An algorithm that may be chosen, by the name in `collectives.OPERATION`.
type Candidate = (String, &'static Algorithm);

impl TuneCommand {
    /// Returns the number of ranks, 0 if there is no such option.
    fn rank_count(&self) -> u32 {
        self.simulation.ranks.unwrap_or(0)
    }
}

/// Runs the command.
pub(super) fn run_command(command: &TuneCommand) -> ExitCode {
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
    let decisions = read_decisions(command)?;
    let sizes = sizes(command)?;
    let wanted = algorithms(command)?;
    let simulation = &command.simulation;
    warn_of_free_messages(simulation.platform_file()?, &simulation.load_platform()?);
    let mut line = ProgressLine::new();
    let mut all = Vec::new();
    for (number, (name, algorithm)) in wanted.iter().enumerate() {
        line.show(|| format!("{} of {}: {name}", number + 1, wanted.len()));
        let change = format!("collectives.{}={name}", command.kind);
        let seconds = times(command, (&change, Some(algorithm)), &sizes)?;
        let name = name.clone();
        all.push(AlgorithmTimes { name, seconds });
    }
    let selector = command.export.map(TunedLibrary::selector_name);
    let change = selector.map(|name| format!("collectives.selector={name}"));
    let default = change.map(|change| times(command, (&change, None), &sizes));
    let default = default.transpose()?;
    drop(line);
    all.retain(|times| times.seconds.iter().any(Option::is_some));
    let best: Vec<&AlgorithmTimes> = (0..sizes.len())
        .filter_map(|at| AlgorithmTimes::find_fastest(all.iter(), at))
        .collect();
    if best.len() < sizes.len() {
        return Err(status::refuse(format_args!(
            "no algorithm of {} can be simulated at every size: expected fewer ranks, or a larger --max-messages",
            command.kind
        )));
    }
    let fastest = FastestAlgorithms::new((command.kind, command.rank_count()), &sizes, &best);
    if let Some(path) = &command.out {
        let text = match command.export {
            Some(library) => fastest.write_library_file(library, &decisions),
            None => Ok(fastest.write_selector()),
        };
        let mut text = text.map_err(|error| refuse_library(command, &error))?;
        // JSON has no comments.
        if command.export != Some(TunedLibrary::Mpich) {
            text.insert_str(0, &format!("# Made with {}\n", command_line()));
        }
        files::write(path, text).map_err(status::refuse)?;
    }
    if let Some(path) = &command.plot {
        plot_scatter(&picture(&fastest, &sizes, &all), path).map_err(status::refuse)?;
    }
    let second = |at: usize, first: &AlgorithmTimes| {
        if let Some(default) = &default {
            return Some(("library's choice", default[at]?));
        }
        let others = all.iter().filter(|times| times.name != first.name);
        let second = AlgorithmTimes::find_fastest(others, at)?;
        Some((&second.name[..], second.seconds[at]?))
    };
    Ok(fastest_table(&sizes, &best, second))
}

/// Reads the decisions of a library that takes all decisions from one file, and checks the file
/// before the first simulation.
fn read_decisions(command: &TuneCommand) -> Result<Vec<u8>, ExitCode> {
    let Some(path) = &command.library else {
        return Ok(Vec::new());
    };
    let Some(library @ TunedLibrary::Mpich) = command.export else {
        return Err(refuse_library(command, "only for --export mpich"));
    };
    let decisions = files::read_bytes(path, files::INPUT_MAX);
    let decisions = decisions.map_err(|error| refuse_library(command, &error.to_string()))?;
    let (kind, ranks) = (command.kind, command.rank_count());
    let names = library.file_algorithms(kind, ranks);
    let row = |(name, _): &Candidate| {
        let alias = aliases::find(kind, name)?;
        Some(TunedRow {
            from_bytes: 0,
            alias,
        })
    };
    let rows: Vec<TunedRow> = names.iter().take(1).filter_map(row).collect();
    let checked = library.write_file(ranks, &rows, &decisions);
    checked.map_err(|error| refuse_library(command, &error))?;
    Ok(decisions)
}

fn refuse_library(command: &TuneCommand, error: &str) -> ExitCode {
    let path = command.library.as_deref().unwrap_or_else(|| Path::new(""));
    status::refuse(format_args!("--library {}: {error}", path.display()))
}

/// Writes the fastest algorithm at each size, and the time saved against another choice.
fn fastest_table<'a>(
    sizes: &[u64],
    best: &[&AlgorithmTimes],
    second: impl Fn(usize, &AlgorithmTimes) -> Option<(&'a str, f64)>,
) -> String {
    let mut text = format!(
        "{:>10}  {:28}  {:>14}  {:28}  {:>14}  {:>7}\n",
        "size", "fastest", "time", "second", "time", "saved"
    );
    for (at, (&size, first)) in sizes.iter().zip(best).enumerate() {
        let (size, name) = (Size(size).to_string(), &first.name);
        let seconds = first.seconds[at].unwrap_or(f64::NAN);
        let _ = write!(text, "{size:>10}  {name:28}  {:>11.3} us", 1e6 * seconds);
        if let Some((other, other_s)) = second(at, first) {
            let (us, saved) = (1e6 * other_s, 100.0 * (1.0 - seconds / other_s));
            let _ = write!(text, "  {other:28}  {us:>11.3} us  {saved:>5.1} %");
        }
        text.push('\n');
    }
    text
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

fn algorithms(command: &TuneCommand) -> Result<Vec<Candidate>, ExitCode> {
    if let Some(library) = command.export {
        let all = library.file_algorithms(command.kind, command.rank_count());
        if all.is_empty() {
            let kind = command.kind;
            return Err(status::refuse(format_args!(
                "--export: files of the library have no rows for {kind}"
            )));
        }
        return Ok(all);
    }
    let own = |algorithm: &'static Algorithm| (algorithm.name.to_owned(), algorithm);
    let known = |name: &String| {
        let found = collectives::find(command.kind, name).map(own);
        found.ok_or_else(|| {
            let all: Vec<&str> = named(command.kind).map(|one| one.name).collect();
            status::refuse(format_args!(
                "unknown algorithm {name:?} of {}: expected {}{}",
                command.kind,
                all.join(", "),
                suggest_word(name, all.iter().copied())
            ))
        })
    };
    if command.algorithms.is_empty() {
        return Ok(named(command.kind).map(own).collect());
    }
    command.algorithms.iter().map(known).collect()
}

/// Simulates an algorithm, or the choice of a selector, at all sizes, and returns the seconds.
fn times(
    command: &TuneCommand,
    (change, algorithm): (&str, Option<&Algorithm>),
    sizes: &[u64],
) -> Result<Vec<Option<f64>>, ExitCode> {
    let change = change.parse::<Override>().map_err(status::refuse)?;
    let mut simulation = command.simulation.clone();
    simulation.changes.push(change);
    let platform = Arc::new(simulation.load_platform()?);
    let options = simulation.run_options().map_err(status::refuse)?;
    let selector = platform.collectives().to_selector();
    let mut seconds = Vec::new();
    for &size in sizes {
        let mut call = Call::new(command.kind, 0, command.rank_count(), size);
        call.element = size.clamp(1, 8);
        let selected = selector.select(&mut call, collectives::Facts::default());
        let suits = selected.is_ok_and(|selected| {
            let is_it = algorithm.is_none_or(|algorithm| algorithm.name == selected.name);
            is_it && estimate_messages(selected, &call) <= command.max_messages
        });
        if !suits {
            seconds.push(None);
            continue;
        }
        let timed = TimedCall {
            operation: command.kind,
            bytes: size,
            element: ElementType::Double,
            iterations: 1,
            timing: LoopTiming::Slowest,
        };
        let time = timed.simulate_loop(&platform, options.clone());
        seconds.push(Some(time.map_err(status::refuse)?));
    }
    Ok(seconds)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of a picture")]
fn picture(fastest: &FastestAlgorithms, sizes: &[u64], all: &[AlgorithmTimes]) -> Scatter {
    let points = |times: &AlgorithmTimes| {
        let points = sizes.iter().zip(&times.seconds);
        points
            .filter_map(|(size, seconds)| Some((*size as f64, (*seconds)? * 1e6)))
            .collect::<Vec<(f64, f64)>>()
    };
    let is_best = |times: &AlgorithmTimes| {
        let mut best = fastest.crossings.iter();
        best.any(|(_, name)| *name == times.name)
    };
    const MARKERS: [Marker; 3] = [Marker::Line, Marker::Second, Marker::Third];
    let mut markers = MARKERS.into_iter().cycle();
    let mut series: Vec<Series> = Vec::new();
    for times in all.iter().filter(|times| !is_best(times)) {
        series.push(Series::new("", Marker::Thin, points(times)));
    }
    for times in all.iter().filter(|times| is_best(times)) {
        let marker = markers.next().unwrap_or(Marker::Line);
        series.push(Series::new(&times.name, marker, points(times)));
    }
    let crossings = fastest.crossings.iter().skip(1);
    let verticals = crossings.map(|(size, _)| *size as f64).collect();
    Scatter {
        title: format!(
            "{} of {} ranks: fastest algorithms",
            fastest.kind, fastest.ranks
        ),
        x: "size in bytes".to_owned(),
        log_x: true,
        y: "time in us".to_owned(),
        log_y: true,
        series,
        verticals,
    }
}
