//! The options of `simrun check`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use platform::units::Duration;
use run::SendMode;
use sim_core::Schedule;

use crate::Size;
use crate::args::{OutputArgs, ranks, send_mode};

/// Meanings of the exit statuses, for the end of help texts.
pub const EXIT_STATUS: &str = "\
Exit status: 0 nothing found, 1 found, 2 bad usage or input, 3 nothing found but not all explored, 130 interrupted.";

/// Number of findings that are kept: among so many, those that say something new are shown.
const FINDINGS_MAX: usize = 100;

/// Reductions of the search: orders that are left out because others are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Reduction {
    /// Each class of orders once.
    #[default]
    Odpor,
    /// Each class at least once, by source sets.
    Sdpor,
    /// Every order.
    None,
}

/// Durations of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Transfers {
    /// Longer or shorter than whatever it meets.
    #[default]
    Lasting,
    /// No time.
    Instant,
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

/// The options of a search.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Number of ranks, or of whatever an actor program makes
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, value_parser = ranks, default_value_t = 2)]
    ranks: u32,

    /// Hosts for programs that ask for them: a TOML file, or SimGrid's XML; without it one
    /// host per rank
    #[arg(short, long, value_name = "FILE", verbatim_doc_comment)]
    pub(super) platform: Option<PathBuf>,

    /// Seed of all random streams, and of runs that are drawn at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// When a send waits for its receive: eager (never), rendezvous (always),
    /// threshold=SIZE (from SIZE on) or mixed (each send or not, all ways); without it as
    /// the platform says, and if nothing is wrong with that, again with rendezvous and with
    /// mixed, for a limited number of steps
    #[arg(long, value_name = "MODE", value_parser = sends, verbatim_doc_comment)]
    pub(super) send_mode: Option<SendMode>,

    /// When a transfer of an actor program ends that both sides have posted: lasting (a
    /// test, a cancellation or a failure comes before or after its end) or instant (it is
    /// over, as in the formal model)
    #[arg(
        long,
        value_enum,
        value_name = "TRANSFERS",
        default_value_t,
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    transfers: Transfers,

    /// Let the time of waits with a limit be up at any moment; without it limits are up only
    /// when nothing else can happen, the one that ends first
    #[arg(long, verbatim_doc_comment)]
    pub(super) timeouts: bool,

    /// Report communicators that are never freed, too
    #[arg(long)]
    leaks: bool,

    /// Let up to N hosts or links fail in each run, at any moment
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) failures: u32,

    /// What may fail: names of hosts and links; without it each host
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "failures"
    )]
    pub(super) may_fail: Vec<String>,

    /// Take these steps instead of searching: ACTOR or ACTOR/BRANCH, joined by ';'; *N
    /// after a step repeats it; or a file with them, such as --schedule of a run writes
    #[arg(long, value_name = "STEPS|FILE", value_parser = schedule, verbatim_doc_comment)]
    pub(super) replay: Option<Schedule>,

    /// Which orders are left out because others are the same: odpor (each class of
    /// orders once), sdpor (at least once) or none (every order)
    #[arg(
        long,
        value_enum,
        value_name = "REDUCTION",
        default_value_t,
        hide_possible_values = true,
        verbatim_doc_comment,
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    reduction: Reduction,

    /// How runs are chosen: depth-first (all), uniform (at random) or pct=DEPTH (by
    /// random priorities, for mistakes that take DEPTH orderings); these need a limit
    /// and are no proof
    #[arg(
        long,
        value_name = "STRATEGY",
        value_parser = strategy,
        default_value = "depth-first",
        verbatim_doc_comment,
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    strategy: Strategy,

    /// Run so many threads; what is found and counted does not depend on it
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=256),
        default_value_t = 1,
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    pub(super) threads: u32,

    /// Go on with the search that is kept in FILE, if there is one; it is kept there every
    /// 10 s and when a limit or Ctrl-C stops it, and the same command goes on
    #[arg(
        long,
        value_name = "FILE",
        verbatim_doc_comment,
        help_heading = "Search",
        conflicts_with = "replay"
    )]
    pub(super) resume: Option<PathBuf>,

    /// How often the search is kept in the file of --resume
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10s",
        help_heading = "Search",
        requires = "resume"
    )]
    pub(super) keep_every: Duration,

    /// Stop at the first finding
    #[arg(long, help_heading = "Search", conflicts_with = "replay")]
    stop_at_first: bool,

    /// Cut runs after so many steps
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        help_heading = "Limits",
        conflicts_with = "replay"
    )]
    max_depth: usize,

    /// Stop after so many runs
    #[arg(
        long,
        value_name = "N",
        help_heading = "Limits",
        conflicts_with = "replay"
    )]
    max_traces: Option<u64>,

    /// Stop after about so many executed steps
    #[arg(
        long,
        value_name = "N",
        help_heading = "Limits",
        conflicts_with = "replay"
    )]
    max_transitions: Option<u64>,

    /// Stop after about so much real time, such as 10s or 5min
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Limits",
        conflicts_with = "replay"
    )]
    max_time: Option<Duration>,

    /// Options of what is printed.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Draw the way to the first finding, or the replay, as a happened-before diagram:
    /// .svg, .png, .dot or .json
    #[arg(
        long,
        value_name = "FILE",
        value_parser = crate::drawing::check,
        verbatim_doc_comment,
        help_heading = "Output"
    )]
    pub(super) timeline: Option<PathBuf>,

    /// How the user called this, for commands to paste
    #[arg(long, hide = true)]
    called_as: Option<String>,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENTS OF APP", hide = true)]
    pub(crate) arguments: Vec<OsString>,
}

fn sends(text: &str) -> Result<SendMode, String> {
    match text {
        "mixed" => Ok(SendMode::Mixed),
        _ => send_mode(text).map_err(|error| error.replace("eager,", "mixed, eager,")),
    }
}

/// The schedule that `text` is, or that stands in the file of this name after lines that begin with
/// `#`.
fn schedule(text: &str) -> Result<Schedule, String> {
    let parse = |text: &str| {
        text.parse()
            .map_err(|error: sim_core::BadSchedule| error.to_string())
    };
    let problem = match parse(text) {
        Ok(schedule) => return Ok(schedule),
        Err(problem) => problem,
    };
    let steps = match std::fs::read_to_string(text) {
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
        self.seed
    }

    /// Returns true if work is over as soon as it has begun.
    pub(super) fn transfers_are_instant(&self) -> bool {
        self.transfers == Transfers::Instant
    }

    /// Returns true if the number of transitions is limited.
    pub(super) const fn has_transitions_max(&self) -> bool {
        self.max_transitions.is_some()
    }

    /// Returns true if the search could go on for ever.
    pub(super) const fn never_ends(&self) -> bool {
        !matches!(self.strategy, Strategy::DepthFirst)
            && self.replay.is_none()
            && self.max_traces.is_none()
            && self.max_transitions.is_none()
            && self.max_time.is_none()
    }

    /// Why a way to search does not go with the others.
    pub(super) fn contradiction(&self) -> Option<String> {
        let is_optimal =
            self.strategy == Strategy::DepthFirst && self.reduction == Reduction::Odpor;
        let option = match &self.resume {
            _ if is_optimal => return None,
            Some(_) => "--resume",
            None if self.threads > 1 => "--threads",
            None => return None,
        };
        Some(format!(
            "{option}: expected --reduction odpor and --strategy depth-first beside it"
        ))
    }

    /// The most seconds of real time, if they are limited.
    pub(super) fn max_seconds(&self) -> Option<f64> {
        self.max_time.as_ref().map(Duration::as_secs)
    }

    /// The bounds and the manner of the search.
    pub(super) fn options(&self) -> explore::Options {
        let defaults = explore::Options::default();
        explore::Options {
            reduction: match self.reduction {
                Reduction::Odpor => explore::Reduction::Odpor,
                Reduction::Sdpor => explore::Reduction::Sdpor,
                Reduction::None => explore::Reduction::None,
            },
            strategy: match self.strategy {
                Strategy::DepthFirst => explore::Strategy::DepthFirst,
                Strategy::Uniform => explore::Strategy::Uniform { seed: self.seed },
                Strategy::Pct(depth) => explore::Strategy::Pct {
                    seed: self.seed,
                    depth,
                },
            },
            depth_max: self.max_depth,
            traces_max: self.max_traces.unwrap_or(defaults.traces_max),
            transitions_max: self.max_transitions.unwrap_or(defaults.transitions_max),
            seconds_max: self.max_seconds().unwrap_or(defaults.seconds_max),
            findings_max: if self.stop_at_first { 1 } else { FINDINGS_MAX },
            goes_on: !self.stop_at_first,
            ..defaults
        }
    }

    /// Returns what is chosen about the program.
    pub(super) fn run_options(&self, send_mode: Option<SendMode>) -> run::Options {
        run::Options {
            ranks: Some(self.ranks),
            seed: self.seed,
            send_mode,
            leaks: self.leaks,
            ..run::Options::default()
        }
    }

    /// The command that replays a schedule.
    pub(super) fn replay_command(
        &self,
        name: &str,
        replay: &Schedule,
        send_mode: Option<SendMode>,
    ) -> String {
        let called = self.called_as.clone();
        let mut command = called.unwrap_or_else(|| {
            let program = std::env::args().next();
            format!("{} check", quoted(program.as_deref().unwrap_or(name)))
        });
        command.push_str(&self.program_options(send_mode));
        let _ = write!(command, " --replay '{replay}'");
        if !self.arguments.is_empty() {
            command.push_str(" --");
        }
        for argument in &self.arguments {
            let _ = write!(command, " {}", quoted(&argument.to_string_lossy()));
        }
        command
    }

    /// The options that say what a search is of, besides the program.
    pub(super) fn search_options(&self) -> String {
        let depth = self.max_depth;
        format!(
            "{} --max-depth {depth}",
            self.program_options(self.send_mode)
        )
    }

    /// The arguments of the program.
    pub(super) fn program_arguments(&self) -> Vec<String> {
        let words = self.arguments.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    /// Returns what is chosen about the program, as options.
    fn program_options(&self, send_mode: Option<SendMode>) -> String {
        let mut command = format!(" -n {}", self.ranks);
        if let Some(platform) = &self.platform {
            let _ = write!(
                command,
                " --platform {}",
                quoted(&platform.to_string_lossy())
            );
        }
        if self.seed != 0 {
            let _ = write!(command, " --seed {}", self.seed);
        }
        command.push_str(&send_mode_option(send_mode));
        let switches = [
            (self.transfers_are_instant(), " --transfers instant"),
            (self.timeouts, " --timeouts"),
            (self.leaks, " --leaks"),
        ];
        for (is_set, option) in switches {
            command.push_str(if is_set { option } else { "" });
        }
        if self.failures > 0 {
            let _ = write!(command, " --failures {}", self.failures);
        }
        if !self.may_fail.is_empty() {
            let _ = write!(command, " --may-fail {}", quoted(&self.may_fail.join(",")));
        }
        command
    }
}

/// A send mode as an option, with a space before it; nothing for that of the platform.
pub(crate) fn send_mode_option(send_mode: Option<SendMode>) -> String {
    match send_mode {
        None => String::new(),
        Some(SendMode::Eager) => " --send-mode eager".to_owned(),
        Some(SendMode::Rendezvous) => " --send-mode rendezvous".to_owned(),
        Some(SendMode::Mixed) => " --send-mode mixed".to_owned(),
        Some(SendMode::Threshold(bytes)) => format!(" --send-mode threshold={}", Size(bytes)),
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
