//! The options of `simrun check`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, value_parser};
use mpi::channel::CollectiveWaits;
use platform::units::Duration;
use run::{Mapping, MessageProtocol};
use sim_core::Schedule;

use crate::Size;
use crate::args::{OutputArgs, SimulationArgs};

/// Meanings of the exit statuses, for the end of help texts.
pub const EXIT_STATUS: &str = "\
Exit status: 0 no errors found, 1 errors found, 2 usage or input error, 3 search incomplete, 101 bug, 130 interrupted.";

/// Number of findings that are kept. Those of them that differ in kind or place are shown.
const FINDINGS_MAX: usize = 100;

/// Number of ranks by default: the smallest with messages.
const RANKS: u32 = 2;

/// Partial-order reductions of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Reduction {
    /// Each Mazurkiewicz trace exactly once (optimal DPOR).
    #[default]
    Odpor,
    /// Each trace at least once (source DPOR).
    Sdpor,
    /// Every interleaving, without reduction.
    None,
}

/// Durations of activities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Transfers {
    /// Arbitrary: an activity may end before or after any other step.
    #[default]
    Lasting,
    /// Zero.
    Instant,
}

/// The waits of a rank in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum CollectiveWaitsArg {
    /// For the calls of the ranks that send data to the rank.
    #[default]
    Data,
    /// For the messages of the algorithm.
    Algorithm,
}

/// Orders in which reductions combine their operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Reductions {
    /// That of the algorithm.
    #[default]
    Algorithm,
    /// Also others, which must have the same result.
    Any,
}

/// Strategies of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strategy {
    DepthFirst,
    Uniform,
    Pct(u32),
}

fn strategy(text: &str) -> Result<Strategy, String> {
    match (text, text.strip_prefix("pct=").map(str::parse)) {
        ("depth-first", _) => Ok(Strategy::DepthFirst),
        ("uniform", _) => Ok(Strategy::Uniform),
        (_, Some(Ok(depth))) if depth > 0 => Ok(Strategy::Pct(depth)),
        _ => {
            Err("expected depth-first, uniform or pct=DEPTH with a DEPTH of at least 1".to_owned())
        }
    }
}

/// The limits of a search and of the work after the search.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum number of steps of an execution
    #[arg(
        long,
        value_name = "N",
        default_value = "100000",
        conflicts_with = "replay"
    )]
    max_depth: usize,

    /// Stop after N executions
    #[arg(long, value_name = "N", conflicts_with = "replay")]
    max_executions: Option<u64>,

    /// Stop after about N transitions
    #[arg(long, value_name = "N", conflicts_with = "replay")]
    max_transitions: Option<u64>,

    /// Stop after this wall-clock time, for example 10s or 300s
    #[arg(long, value_name = "TIME", conflicts_with = "replay")]
    max_time: Option<Duration>,

    /// Time for the explanation of findings after the search: shorter counterexamples, critical
    /// transitions, and the comparison of repeated runs
    #[arg(long, value_name = "TIME", default_value = "10s")]
    explain_time: Duration,
}

/// The options of a search.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Options of every simulation.
    #[command(flatten)]
    pub simulation: SimulationArgs,

    /// Messages of collectives: data (each rank sends what the others need when it calls) or
    /// algorithm (the messages of the selected algorithm); with both a call
    /// may wait for all ranks
    #[arg(
        long,
        value_enum,
        value_name = "COLLECTIVES",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Model"
    )]
    collectives: CollectiveWaitsArg,

    /// Orders of the operands of reductions: algorithm (that of the algorithm) or any (also
    /// random ones; an operation of the program with another result is an error, rounded
    /// sums of floating-point numbers are a note)
    #[arg(
        long,
        value_enum,
        value_name = "REDUCTIONS",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Model"
    )]
    reductions: Reductions,

    /// Duration of a matched transfer of an actor program: lasting (a test, a cancellation
    /// or a failure may come before its end) or instant (as in the formal
    /// model)
    #[arg(
        long,
        value_enum,
        value_name = "TRANSFERS",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Model"
    )]
    transfers: Transfers,

    /// Explore timeouts: a timed wait may time out at any step [default: only when no other
    /// step is enabled, the earliest timeout first]
    #[arg(long, help_heading = "Model")]
    pub(super) explore_timeouts: bool,

    /// Also report communicators that are never freed
    #[arg(long, help_heading = "Model")]
    leaks: bool,

    /// Inject up to N host or link failures into each execution, at any step
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Model")]
    pub(super) max_faults: u32,

    /// Hosts and links that may fail [default: all hosts]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "max_faults",
        help_heading = "Model"
    )]
    pub(super) fault_targets: Vec<String>,

    /// Replay this schedule instead of searching: ACTOR or ACTOR/BRANCH, separated by ';';
    /// *N after a step repeats it; or a file with a schedule, as --schedule of a run writes
    #[arg(long, value_name = "STEPS|FILE", value_parser = schedule)]
    pub(super) replay: Option<Schedule>,

    /// Partial-order reduction: odpor (each Mazurkiewicz trace once), sdpor (each at least
    /// once) or none (every interleaving)
    #[arg(
        long,
        value_enum,
        value_name = "REDUCTION",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    reduction: Reduction,

    /// Search strategy: depth-first (all executions), uniform (random steps) or pct=DEPTH
    /// (random priorities, for bugs of depth DEPTH); the random ones need a limit and
    /// prove nothing
    #[arg(
        long,
        value_name = "STRATEGY",
        value_parser = strategy,
        default_value = "depth-first",
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    strategy: Strategy,

    /// Number of threads; findings and counts do not depend on it
    #[arg(
        long,
        value_name = "N",
        value_parser = value_parser!(u32).range(1..=256),
        default_value = "1",
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    pub(super) threads: u32,

    /// Checkpoint file: the search in FILE is continued if it exists; the search is saved
    /// there regularly, and when a limit or Ctrl-C stops it
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    pub(super) checkpoint: Option<PathBuf>,

    /// Interval at which the search is saved
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        help_heading = "Search",
        requires = "checkpoint"
    )]
    pub(super) checkpoint_every: Duration,

    /// Stop at the first finding
    #[arg(long, help_heading = "Search", conflicts_with = "replay")]
    stop_at_first: bool,

    /// Limits.
    #[command(flatten)]
    limits: LimitArgs,

    /// Output options.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Draw the first counterexample, or the replay, as a happens-before diagram: .svg,
    /// .png, .dot or .json
    #[arg(
        long,
        value_name = "FILE",
        value_parser = crate::drawing::check,
        help_heading = "Output"
    )]
    pub(super) timeline: Option<PathBuf>,

    /// Command line of the user, for commands to paste
    #[arg(long, hide = true)]
    called_as: Option<String>,

    /// Arguments of the program
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS OF APP", hide = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// The schedule that `text` is, or that stands in the file of this name after lines that begin with
/// `#`.
fn schedule(text: &str) -> Result<Schedule, String> {
    let parse = |text: &str| {
        text.parse()
            .map_err(|error: sim_core::ParseScheduleError| error.to_string())
    };
    let problem = match parse(text) {
        Ok(schedule) => return Ok(schedule),
        Err(problem) => problem,
    };
    let steps = match files::read_text(Path::new(text)) {
        Ok(steps) => steps,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("{problem}, or the name of a file with them"));
        }
        Err(error) => return Err(format!("cannot read it: {error}")),
    };
    let lines = steps.lines().filter(|line| !line.starts_with('#'));
    parse(&lines.collect::<String>())
}

impl CheckArgs {
    /// The seed of all random streams.
    pub(super) const fn seed(&self) -> u64 {
        self.simulation.seed
    }

    /// Returns true if activities take no time.
    pub(super) fn transfers_are_instant(&self) -> bool {
        self.transfers == Transfers::Instant
    }

    /// Returns the waits of a rank in a collective.
    const fn collective_waits(&self) -> CollectiveWaits {
        match self.collectives {
            CollectiveWaitsArg::Algorithm => CollectiveWaits::Algorithm,
            CollectiveWaitsArg::Data => CollectiveWaits::Data,
        }
    }

    /// Returns true if reductions are compared with other orders of their operands.
    fn orders_operands(&self) -> bool {
        self.reductions == Reductions::Any
    }

    /// Returns true if a random search has no limit.
    pub(super) const fn never_ends(&self) -> bool {
        !matches!(self.strategy, Strategy::DepthFirst)
            && self.replay.is_none()
            && self.limits.max_executions.is_none()
            && self.limits.max_transitions.is_none()
            && self.limits.max_time.is_none()
    }

    /// Returns the option that the chosen strategy and reduction do not support.
    pub(super) fn contradiction(&self) -> Option<String> {
        if self.simulation.platform.is_none()
            && (self.simulation.has_mapping() || !self.simulation.changes.is_empty())
        {
            return Some("--set and --map: expected them with --platform FILE".to_owned());
        }
        let is_optimal =
            self.strategy == Strategy::DepthFirst && self.reduction == Reduction::Odpor;
        let option = match &self.checkpoint {
            _ if is_optimal => return None,
            Some(_) => "--checkpoint",
            None if self.threads > 1 => "--threads",
            None => return None,
        };
        Some(format!(
            "{option} requires --reduction odpor and --strategy depth-first"
        ))
    }

    /// The most seconds of real time, if they are limited.
    pub(super) fn max_seconds(&self) -> Option<f64> {
        self.limits.max_time.as_ref().map(Duration::as_secs)
    }

    /// The most seconds of real time for the explanation of findings.
    pub(super) fn explain_seconds(&self) -> f64 {
        self.limits.explain_time.as_secs()
    }

    /// The bounds, the strategy and the reduction of the search.
    pub(super) fn explore_options(&self) -> explore::Options {
        let defaults = explore::Options::default();
        explore::Options {
            reduction: match self.reduction {
                Reduction::Odpor => explore::Reduction::Odpor,
                Reduction::Sdpor => explore::Reduction::Sdpor,
                Reduction::None => explore::Reduction::None,
            },
            strategy: match self.strategy {
                Strategy::DepthFirst => explore::Strategy::DepthFirst,
                Strategy::Uniform => explore::Strategy::Uniform {
                    seed: self.simulation.seed,
                },
                Strategy::Pct(depth) => explore::Strategy::Pct {
                    seed: self.simulation.seed,
                    depth,
                },
            },
            depth_max: self.limits.max_depth,
            executions_max: self
                .limits
                .max_executions
                .unwrap_or(defaults.executions_max),
            transitions_max: self
                .limits
                .max_transitions
                .unwrap_or(defaults.transitions_max),
            seconds_max: self.max_seconds().unwrap_or(defaults.seconds_max),
            findings_max: if self.stop_at_first { 1 } else { FINDINGS_MAX },
            goes_on: !self.stop_at_first,
            ..defaults
        }
    }

    /// Returns the number of ranks.
    pub(super) fn rank_count(&self) -> u32 {
        self.simulation.ranks.unwrap_or(RANKS)
    }

    /// Returns the options of the program under test.
    pub(super) fn run_options(
        &self,
        mapping: Mapping,
        protocol: Option<MessageProtocol>,
    ) -> run::Options {
        run::Options {
            ranks: Some(self.rank_count()),
            mapping,
            seed: self.simulation.seed,
            protocol,
            leaks: self.leaks,
            collective_waits: self.collective_waits(),
            orders_operands: self.orders_operands(),
            ..run::Options::default()
        }
    }

    /// The command that replays a schedule.
    pub(super) fn replay_command(
        &self,
        name: &str,
        replay: &Schedule,
        protocol: Option<MessageProtocol>,
    ) -> String {
        let called = self.called_as.clone();
        let mut command = called.unwrap_or_else(|| {
            let program = std::env::args().next();
            format!("{} check", quoted(program.as_deref().unwrap_or(name)))
        });
        command.push_str(&self.program_options(protocol));
        let _ = write!(command, " --replay '{replay}'");
        if !self.arguments.is_empty() {
            command.push_str(" --");
        }
        for argument in &self.arguments {
            let _ = write!(command, " {}", quoted(&argument.to_string_lossy()));
        }
        command
    }

    /// The options that identify a search, besides the program.
    pub(super) fn search_options(&self) -> String {
        let depth = self.limits.max_depth;
        format!(
            "{} --max-depth {depth}",
            self.program_options(self.simulation.protocol)
        )
    }

    /// The arguments of the program.
    pub(super) fn program_arguments(&self) -> Vec<String> {
        let words = self.arguments.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    /// Returns the options of the program under test as text.
    fn program_options(&self, protocol: Option<MessageProtocol>) -> String {
        let mut command = format!(" -n {}", self.rank_count());
        command.push_str(&self.simulation.as_check_options());
        command.push_str(&protocol_option(protocol));
        let switches = [
            (self.transfers_are_instant(), " --transfers instant"),
            (self.explore_timeouts, " --explore-timeouts"),
            (
                self.collectives == CollectiveWaitsArg::Algorithm,
                " --collectives algorithm",
            ),
            (self.orders_operands(), " --reductions any"),
            (self.leaks, " --leaks"),
        ];
        for (is_set, option) in switches {
            command.push_str(if is_set { option } else { "" });
        }
        if self.max_faults > 0 {
            let _ = write!(command, " --max-faults {}", self.max_faults);
        }
        if !self.fault_targets.is_empty() {
            let _ = write!(
                command,
                " --fault-targets {}",
                quoted(&self.fault_targets.join(","))
            );
        }
        command
    }
}

/// A message protocol as an option, with a space before it; nothing for that of the platform.
pub(crate) fn protocol_option(protocol: Option<MessageProtocol>) -> String {
    match protocol {
        None => String::new(),
        Some(MessageProtocol::Eager) => " --protocol eager".to_owned(),
        Some(MessageProtocol::Rendezvous) => " --protocol rendezvous".to_owned(),
        Some(MessageProtocol::Threshold(bytes)) => format!(" --protocol threshold={}", Size(bytes)),
    }
}

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("apps/ring"), "apps/ring");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
