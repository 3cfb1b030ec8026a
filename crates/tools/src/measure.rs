//! `simrun measure`: samples of a network as a file that `simrun calibrate` reads.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use files::Output;
use real::{RANK_VARIABLE, RealRun};
use validation::{
    Effort, KernelSelection, MachineInfo, MeasureOptions, ReportProgress, Session,
    measure_simulated, samples_as_csv,
};

use simrun::transport_args::{self, Network, TransportArgs};
use simrun::{REVISION, Size, load, status};

use crate::measure_real;

/// A measurement: its subject, its device, and where the samples go.
#[derive(Args, Clone, Debug)]
pub(crate) struct MeasureCommand {
    /// Back end: tcp, verbs (InfiniBand or RoCE adapter) or simulated (a platform)
    #[arg(long, value_enum, value_name = "BACKEND", hide_possible_values = true)]
    backend: Backend,

    /// Platform file, for --backend simulated
    #[arg(long, value_name = "FILE")]
    platform: Option<PathBuf>,

    /// Number of ranks [default: 2]; ranks beyond two are idle during the ping-pong
    #[arg(short = 'n', long = "ranks", value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(2..))]
    ranks: Option<u32>,

    /// Output file for the samples (CSV)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) plan: PlanArgs,

    #[command(flatten)]
    pub(crate) way: TransportArgs,

    /// Of a rank: which session it belongs to.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) session: Option<u32>,
}

/// Back ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Backend {
    Tcp,
    Verbs,
    Simulated,
}

/// Sizes, order and time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Samples")]
pub(crate) struct PlanArgs {
    /// Measurement effort: 30 s, 2 min or 10 min
    #[arg(long, value_enum, default_value_t = EffortArg::Standard)]
    effort: EffortArg,

    /// Seed of the sizes and their order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of sessions (restarts of all processes)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) sessions: u32,

    /// Time limit of a session in seconds [default: by effort]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,

    /// Largest message size
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    max_size: Size,

    /// Number of training sizes [default: by effort]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    sizes: Option<u32>,

    /// Number of held-out sizes [default: by effort]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=10_000))]
    held_out: Option<u32>,

    /// Target half-width of the 95 % confidence interval, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    target_precision: f64,

    /// Measurement kernels besides the ping-pong: all; pp (none); prtt (streams, time inside a
    /// send); or (time inside a receive, and inside a send that does not block); late (eager
    /// threshold); sharing (incast, outcast, bidirectional); ring (over all ranks, at the held-out
    /// sizes); copy (bandwidth of memory); reduce (bandwidth of a sum of doubles)
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "all"
    )]
    kernels: Vec<KernelArg>,

    /// Known breakpoint; repeatable
    #[arg(long = "breakpoint", value_name = "SIZE")]
    breaks: Vec<Size>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EffortArg {
    Quick,
    Standard,
    Thorough,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum KernelArg {
    All,
    Pp,
    Prtt,
    Or,
    Late,
    Sharing,
    Ring,
    Copy,
    Reduce,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let right = number.filter(|number| number.is_finite() && *number > 0.0);
    right.ok_or_else(|| "expected a number of seconds above 0, such as 30".to_owned())
}

impl PlanArgs {
    /// The options of session number `session`.
    pub(crate) fn session_options(&self, session: u32) -> MeasureOptions {
        let effort = match self.effort {
            EffortArg::Quick => Effort::Quick,
            EffortArg::Standard => Effort::Standard,
            EffortArg::Thorough => Effort::Thorough,
        };
        let usual = MeasureOptions::from_effort(effort);
        let has = |kernel| self.kernels.contains(&kernel) || self.kernels.contains(&KernelArg::All);
        MeasureOptions {
            seed: self.seed,
            session,
            sizes: self.sizes.unwrap_or(usual.sizes),
            held_out: self.held_out.unwrap_or(usual.held_out),
            size_max: self.max_size.0.max(1),
            target: self.target_precision / 100.0,
            time_limit_s: self.time_limit.unwrap_or(usual.time_limit_s),
            kernels: KernelSelection {
                streams: has(KernelArg::Prtt),
                calls: has(KernelArg::Or),
                late: has(KernelArg::Late),
                sharing: has(KernelArg::Sharing),
                rings: has(KernelArg::Ring),
                copy: has(KernelArg::Copy),
                reduce: has(KernelArg::Reduce),
            },
            thresholds: self.breaks.iter().map(|size| size.0).collect(),
            ..usual
        }
    }
}

/// Measures, writes the samples, and says what was found.
pub(crate) fn run_command(command: &MeasureCommand) -> ExitCode {
    if let Err(wrong) = check_output(command) {
        return status::refuse(wrong);
    }
    let network = match command.backend {
        Backend::Tcp => Network::Tcp,
        Backend::Verbs => Network::Verbs,
        Backend::Simulated => {
            return match simulated(command) {
                Ok(sessions) => write_samples(command, &sessions, None),
                Err(code) => code,
            };
        }
    };
    if std::env::var_os(RANK_VARIABLE).is_some() {
        return measure_real::run_as_rank(command, network);
    }
    if let Err(missing) = command.way.check_options(network) {
        return status::refuse(missing);
    }
    match transport_args::placed(command.ranks) {
        Err(wrong) => status::refuse(wrong),
        Ok(Some(place)) => measure_real::run_as_allocated_rank(command, network, &place),
        Ok(None) => match measure_real::sessions(command, network) {
            Ok((sessions, run)) => write_samples(command, &sessions, Some(&run)),
            Err(code) => code,
        },
    }
}

/// Refuses a place for the samples before anything is measured.
fn check_output(command: &MeasureCommand) -> Result<(), String> {
    if let Some(platform) = &command.platform {
        files::add_input(platform);
    }
    let output = Output::new(&command.out).map_err(|error| error.to_string())?;
    if output.is_stdout() && command.backend != Backend::Simulated {
        return Err(format!(
            "{output}: rank 0 leaves its samples beside this file: expected the name of a file"
        ));
    }
    Ok(())
}

/// Writes the samples of all sessions, the last of which was this real run, and says what was
/// found.
pub(crate) fn write_samples(
    command: &MeasureCommand,
    sessions: &[Session],
    run: Option<&RealRun>,
) -> ExitCode {
    let text = samples_as_csv(&head(command, run), sessions);
    let written = Output::new(&command.out).and_then(|output| {
        output.write(&text)?;
        Ok(output)
    });
    match written {
        Ok(output) => {
            let printed = status::print_beside(&output, summary_text(sessions, &command.out));
            if sessions.iter().any(Session::has_ping_pongs) {
                return printed;
            }
            status::failed(format_args!(
                "{}: no ping-pong was measured within the time limit: increase --time-limit",
                command.out.display()
            ))
        }
        Err(error) => status::refuse(error),
    }
}

fn simulated(command: &MeasureCommand) -> Result<Vec<Session>, ExitCode> {
    let fits = command.way.tcp.check_absent("simulated");
    fits.map_err(status::refuse)?;
    let fits = command.way.verbs.check_absent("simulated");
    fits.map_err(status::refuse)?;
    let path = command.platform.as_deref().ok_or_else(|| {
        status::refuse("no platform: expected --platform FILE with --backend simulated")
    })?;
    let platform = Arc::new(load(path, &[])?);
    let session = |number: u32| {
        let options = command.plan.session_options(number);
        measure_simulated(
            &platform,
            command.rank_count(),
            &options,
            progress_printer(),
        )
        .map_err(status::refuse)
    };
    (1..=command.plan.sessions).map(session).collect()
}

impl MeasureCommand {
    /// Returns the number of ranks, where they are started here.
    pub(crate) fn rank_count(&self) -> u32 {
        self.ranks.unwrap_or(2)
    }
}

/// Where the samples come from: lines of the file.
fn head(command: &MeasureCommand, run: Option<&RealRun>) -> String {
    let mut text = String::from("# Samples of a network, by `simrun measure`.\n");
    let _ = writeln!(text, "# revision: {REVISION}");
    match (command.backend, &command.platform) {
        (Backend::Simulated, Some(path)) => {
            let _ = writeln!(text, "# backend: simulated\n# platform: {}", path.display());
        }
        (Backend::Simulated, None) => {}
        (Backend::Tcp, _) => text.push_str(&real_head(command, Network::Tcp, run)),
        (Backend::Verbs, _) => text.push_str(&real_head(command, Network::Verbs, run)),
    }
    let plan = &command.plan;
    let _ = writeln!(
        text,
        "# plan: {:?}, seed {}, up to {}, {} session(s)",
        plan.effort, plan.seed, plan.max_size, plan.sessions
    );
    text
}

/// Describes how and where ranks ran. The machine is that of rank 0: the others are taken to be
/// like it.
fn real_head(command: &MeasureCommand, network: Network, run: Option<&RealRun>) -> String {
    let mut text = command.way.as_comments(network);
    if let Some(found) = run.and_then(RealRun::congestion_control) {
        let _ = writeln!(text, "# congestion_control: {found}");
    }
    let hosts = run.map_or(&[][..], |run| &run.hosts);
    let on = |host: &String| hosts.iter().filter(|other| *other == host).count();
    let most = hosts.iter().map(on).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "# hosts: {}\n# ranks_per_host: {most}",
        hosts.join(" ")
    );
    text + &MachineInfo::here().as_comments()
}

/// Shows progress on a terminal, on one line that is written over.
pub(crate) fn progress_printer() -> ReportProgress {
    let is_terminal = std::io::stderr().is_terminal();
    Rc::new(move |elapsed, left, what| {
        if is_terminal {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K{elapsed:.0} s, {left:.0} s left: {what}");
            let _ = stderr.flush();
        }
    })
}

fn summary_text(sessions: &[Session], out: &Path) -> String {
    let samples: usize = sessions
        .iter()
        .flat_map(|session| &session.blocks)
        .map(|block| block.times_s.len())
        .sum();
    let blocks: usize = sessions.iter().map(|session| session.blocks.len()).sum();
    let mut text = format!("{}: {samples} samples in {blocks} blocks", out.display());
    for (number, session) in (1..).zip(sessions) {
        for note in &session.notes {
            let _ = write!(text, "\nsession {number}: {note}");
        }
        if let Some(threshold) = session.eager_threshold {
            let _ = write!(text, "\nsession {number}: eager threshold {threshold} B");
        }
    }
    text
}
