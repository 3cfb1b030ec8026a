//! `simrun real`: runs a program for real, as processes that send each other messages over a
//! network.
//!
//! The same program is the launcher and, started by it, each rank.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use platform::units;
use real::{
    Backend, Compute, Connecting, FailureKind, FailurePolicy, LaunchInfo, LaunchMode,
    LaunchOptions, OutputListener, OutputMode, ProcessPlace, RankOptions, RealOrigin, RealOutcome,
    RealRecord, RealRun, Wait,
};
use run::{Folder, MessageProtocol, Program, RankMap};

use crate::args::{OutputArgs, PrefixArgs, RecordArgs, period, protocol, ranks};
use crate::arrival_args::StartupArgs;
use crate::observation::EventArgs;
use crate::tcp_args::TcpArgs;
use crate::transport_args::{self, Network};
use crate::verbs_args::{NO_VERBS, VerbsArgs};
use crate::{REVISION, entry, status, summary};

/// Meanings of the exit statuses, for the end of help texts.
pub const EXIT_STATUS: &str = "\
Exit status: 0 finished, 1 a rank failed, 2 usage or input error or startup failure, 3 limit reached, 130 interrupted.";

/// Reaction to the death of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnLossArg {
    /// Abort the run.
    #[default]
    Abort,
    /// Notify the other ranks.
    Notify,
}

/// Wait modes of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum WaitArg {
    /// Sleep in the operating system.
    #[default]
    Block,
    /// Busy polling.
    Spin,
}

impl From<WaitArg> for Wait {
    fn from(wait: WaitArg) -> Self {
        match wait {
            WaitArg::Block => Self::Block,
            WaitArg::Spin => Self::Spin,
        }
    }
}

/// Execution of computations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ComputeArg {
    /// Busy loop.
    #[default]
    Spin,
    /// Sleep.
    Sleep,
}

/// Output modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OutputArg {
    /// At once.
    #[default]
    Now,
    /// When the rank ends.
    AtEnd,
}

/// Connection setup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ConnectArg {
    /// A pair at its first message.
    #[default]
    OnDemand,
    /// All pairs at startup.
    Static,
}

/// Eager threshold, in bytes.
pub(crate) const EAGER_THRESHOLD: u64 = 16 * 1024;

/// The options of a real run.
#[derive(Args, Clone, Debug)]
pub struct RealArgs {
    /// Back end: tcp, or verbs (InfiniBand or RoCE adapter)
    #[arg(
        long,
        value_name = "BACKEND",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub backend: Network,

    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, value_parser = ranks)]
    pub ranks: Option<u32>,

    /// Message protocol: eager (a send does not wait for its receive), rendezvous (it does)
    /// or threshold=SIZE (rendezvous from SIZE on) [default: threshold=16KiB]
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    pub protocol: Option<MessageProtocol>,

    /// Options of TCP.
    #[command(flatten)]
    pub tcp: TcpArgs,

    /// Options of adapters.
    #[command(flatten)]
    pub verbs: VerbsArgs,

    /// Wait mode: block (sleep in the operating system) or spin (busy polling, which is
    /// faster if each rank has a core)
    #[arg(
        long,
        value_name = "block|spin",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Ranks"
    )]
    pub wait: WaitArg,

    /// Connection setup: on-demand (at the first message) or static (all pairs at
    /// startup)
    #[arg(
        long,
        value_name = "on-demand|static",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Ranks"
    )]
    pub connect: ConnectArg,

    /// Execution of computations: spin (busy loop) or sleep
    #[arg(
        long,
        value_name = "spin|sleep",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Ranks"
    )]
    pub compute: ComputeArg,

    /// Host speed, which determines the duration of a computation
    #[arg(long, value_name = "SPEED", value_parser = host_speed, default_value = "1Gf", help_heading = "Ranks")]
    pub host_speed: units::Speed,

    /// Bind each rank to its own core
    #[arg(long, help_heading = "Ranks")]
    pub bind_to_core: bool,

    /// Action when a rank dies: abort (end the run) or notify (the others get an error
    /// when they wait for it)
    #[arg(
        long,
        value_name = "abort|notify",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Ranks"
    )]
    pub on_loss: OnLossArg,

    /// Compare the collective calls of all ranks, and end the run where they differ, as a
    /// simulated run does
    #[arg(long, help_heading = "Ranks")]
    pub compare_collectives: bool,

    /// Start the ranks on the hosts of a file with lines HOST, HOST:COUNT or HOST slots=COUNT
    #[arg(long, value_name = "FILE", help_heading = "Launch")]
    pub hosts: Option<PathBuf>,

    /// Remote shell command [default: ssh -o BatchMode=yes, with a ServerAliveInterval
    /// from --network-timeout]
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "hosts",
        help_heading = "Launch"
    )]
    pub remote_shell: Option<String>,

    /// Where ranks connect, and how long that may take.
    #[command(flatten)]
    pub arrival: StartupArgs,

    /// Stop after this time
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub until: Option<units::Duration>,

    /// Output options.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Record of the run.
    #[command(flatten)]
    pub record: RecordArgs,

    /// Options of timelines and analyses.
    #[command(flatten)]
    pub(crate) observation: EventArgs,

    /// Print the number of ranks that have finished after each such time, on standard error
    #[arg(long, value_name = "TIME", value_parser = period, help_heading = "Output")]
    pub progress: Option<units::Duration>,

    /// Prefix of program output.
    #[command(flatten)]
    pub prefix: PrefixArgs,

    /// Output mode: now, or at-end (buffered until the rank ends, so that printing does not
    /// disturb measurements; the lines of a killed rank are lost)
    #[arg(
        long = "output",
        value_name = "now|at-end",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub output_mode: OutputArg,

    /// Arguments of the program
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS OF APP", hide = true)]
    pub arguments: Vec<OsString>,
}

/// Runs a program for real, or one rank of it.
pub(crate) fn run_real(
    name: &str,
    program: &dyn Program,
    args: &RealArgs,
    arguments: &[OsString],
) -> ExitCode {
    if !program.has_ranks() {
        return status::refuse(format_args!(
            "{name} is an actor program and can only be simulated: expected an async fn of mpi::Comm"
        ));
    }
    if let Err(wrong) = check_options(args) {
        return status::refuse(wrong);
    }
    if backend(args).is_none() {
        return status::refuse(NO_VERBS);
    }
    if std::env::var_os(real::RANK_VARIABLE).is_some() {
        return run_as_rank(program, args);
    }
    match transport_args::placed(args.ranks) {
        Ok(Some(place)) => run_as_allocated_rank(name, program, (args, arguments), &place),
        Ok(None) => launch_ranks(name, args, arguments),
        Err(wrong) => status::refuse(wrong),
    }
}

/// Returns contradictions among the options.
fn check_options(args: &RealArgs) -> Result<(), String> {
    match args.backend {
        Network::Tcp => args.verbs.check_absent(args.backend.name())?,
        Network::Verbs => args.tcp.check_absent(args.backend.name())?,
    }
    args.verbs.check_options()
}

fn run_as_rank(program: &dyn Program, args: &RealArgs) -> ExitCode {
    let launch_info = match LaunchInfo::read(io::stdin().lock()) {
        Ok(launch_info) => launch_info,
        Err(error) => {
            return status::refuse(format_args!(
                "no launch information on standard input: the launcher of a run starts this command: {error}"
            ));
        }
    };
    let finished = real::run_rank(program, &rank_options(args, false), &launch_info);
    ended(launch_info.rank, finished)
}

/// The status of a process that was a rank.
pub fn ended(rank: u32, finished: io::Result<bool>) -> ExitCode {
    match finished {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(status::FAILED),
        Err(error) => status::refuse(format_args!("rank {rank}: {error}")),
    }
}

/// A rank that another launcher has started, as srun and mpirun do.
fn run_as_allocated_rank(
    name: &str,
    program: &dyn Program,
    (args, arguments): (&RealArgs, &[OsString]),
    place: &ProcessPlace,
) -> ExitCode {
    let launch = match launch_options(args, LaunchMode::Elsewhere(place.size), place.rank == 0) {
        Ok(launch) => launch,
        Err(code) => return code,
    };
    let told = (name.to_owned(), args.clone(), arguments.to_vec());
    let finished = real::run_in_allocation(
        program,
        &rank_options(args, args.prefixes()),
        place,
        launch,
        {
            move |run| {
                let (name, args, arguments) = told;
                report_run(&name, run, &args, &arguments).into()
            }
        },
    );
    ended(place.rank, finished)
}

fn rank_options(args: &RealArgs, prefix: bool) -> RankOptions {
    RankOptions {
        backend: backend(args).unwrap_or_default(),
        eager_threshold: args
            .protocol
            .map_or(EAGER_THRESHOLD, MessageProtocol::threshold),
        wait: args.wait.into(),
        connecting: Connecting {
            is_static: args.connect == ConnectArg::Static,
            keepalive_timeout: args.arrival.keepalive_timeout(),
            ..Connecting::default()
        },
        startup: args.arrival.startup_timeout(),
        compute: match args.compute {
            ComputeArg::Spin => Compute::Spin,
            ComputeArg::Sleep => Compute::Sleep,
        },
        flop_per_s: args.host_speed.flop_per_s(),
        bind_to_core: args.bind_to_core,
        log: args.output.log.clone(),
        prefix,
        print: match args.output_mode {
            OutputArg::Now => OutputMode::Now,
            OutputArg::AtEnd => OutputMode::AtEnd,
        },
        compare_calls: args.compare_collectives,
        revision: REVISION.to_owned(),
    }
}

/// Returns the back end that carries packets; `None` if it was not built.
fn backend(args: &RealArgs) -> Option<Backend> {
    match args.backend {
        Network::Tcp => Some(args.tcp.backend()),
        Network::Verbs => {
            let threshold = args
                .protocol
                .map_or(EAGER_THRESHOLD, MessageProtocol::threshold);
            args.verbs.backend(threshold)
        }
    }
}

/// Returns the way in which a run is launched and watched, here if it is `ours` to stop it.
fn launch_options(
    args: &RealArgs,
    starts: LaunchMode,
    ours: bool,
) -> Result<LaunchOptions, ExitCode> {
    let stop = if ours {
        let ranks = starts.rank_count().map_err(status::refuse)?;
        args.observation
            .check_options(ranks, None)
            .map_err(ExitCode::from)?;
        entry::watch_signals()
            .map_err(|error| status::refuse(format_args!("cannot watch for Ctrl-C: {error}")))?
    } else {
        Arc::default()
    };
    Ok(LaunchOptions {
        starts,
        listen: args.arrival.listen_address(),
        revision: REVISION.to_owned(),
        arrival: args.arrival.startup_timeout(),
        keepalive_timeout: args.arrival.keepalive_timeout(),
        until: args
            .until
            .as_ref()
            .map(|until| Duration::from_secs_f64(until.as_secs())),
        progress: args
            .progress
            .as_ref()
            .map(|period| Duration::from_secs_f64(period.as_secs())),
        on_loss: match args.on_loss {
            OnLossArg::Abort => FailurePolicy::Abort,
            OnLossArg::Notify => FailurePolicy::Notify,
        },
        observe: !args.observation.is_empty(),
        stop,
    })
}

fn launch_ranks(name: &str, args: &RealArgs, arguments: &[OsString]) -> ExitCode {
    if let Err(error) = args.record.open_record() {
        return status::refuse(error);
    }
    let launch = starts(name, args, arguments)
        .map_err(status::refuse)
        .and_then(|starts| launch_options(args, starts, true));
    let launch = match launch {
        Ok(launch) => launch,
        Err(code) => return code,
    };
    let mut lines = Lines {
        prefix: args.prefixes(),
        is_json: args.output.format.is_for_programs(),
        problem: None,
    };
    let code = real::launch(&launch, &mut lines, |run| match run.outcome {
        RealOutcome::Unheard => status::SUCCESS,
        _ => report_run(name, run, args, arguments),
    });
    match (code, lines.problem) {
        (Err(error), _) => status::refuse(error),
        (Ok(_), Some(problem)) => {
            // Nobody reads on, as in `… | head`: not an error.
            status::output_failed(&problem).unwrap_or(ExitCode::SUCCESS)
        }
        (Ok(code), None) => ExitCode::from(code),
    }
}

/// Returns the command that is started for each rank.
fn starts(name: &str, args: &RealArgs, arguments: &[OsString]) -> Result<LaunchMode, String> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| format!("{name}: cannot find itself: {error}"))?;
    let mut command = vec![program.into_os_string(), OsString::from("real")];
    command.extend_from_slice(arguments);
    let Some(hosts) = &args.hosts else {
        let ranks = args.ranks;
        let ranks = ranks.ok_or("no number of ranks: expected -n N, such as -n 4")?;
        // Elsewhere, ranks find that out themselves.
        args.tcp.check_here()?;
        return Ok(LaunchMode::here(&command, ranks));
    };
    if args.arrival.listen.is_none() {
        return Err(
            "--hosts without --listen: expected --listen host, or an address of this machine that the hosts reach"
                .to_owned(),
        );
    }
    let file = RankMap::read_map(hosts).map_err(|error| error.to_string())?;
    let hosts = file
        .host_names(args.ranks)
        .map_err(|error| error.to_string())?;
    if let Some(host) = hosts.iter().find(|host| host.starts_with('-')) {
        return Err(format!("{host}: expected the name of a host"));
    }
    let ssh = args
        .remote_shell
        .clone()
        .unwrap_or_else(|| ssh(args.arrival.keepalive_timeout()));
    let ssh: Vec<OsString> = ssh.split_whitespace().map(OsString::from).collect();
    if ssh.is_empty() {
        return Err("--remote-shell is empty: expected a command, such as ssh".to_owned());
    }
    let folder = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
    Ok(real::ssh_processes(&hosts, &ssh, &folder, &command))
}

/// The command for ranks on hosts that ends when the host is silent for that time.
fn ssh(keepalive_timeout: Option<Duration>) -> String {
    const COUNT: u32 = 2;
    let plain = "ssh -o BatchMode=yes";
    let Some(keepalive_timeout) = keepalive_timeout else {
        return plain.to_owned();
    };
    let interval = (keepalive_timeout / COUNT).as_secs().max(1);
    format!("{plain} -o ServerAliveInterval={interval} -o ServerAliveCountMax={COUNT}")
}

/// Prints what the ranks print.
struct Lines {
    prefix: bool,
    is_json: bool,
    problem: Option<io::Error>,
}

impl OutputListener for Lines {
    fn line(&mut self, rank: u32, is_error: bool, line: &[u8]) -> bool {
        let mut text = Vec::with_capacity(line.len() + 8);
        if self.prefix {
            let _ = write!(text, "[{rank}] ");
        }
        text.extend_from_slice(line);
        text.push(b'\n');
        if is_error || self.is_json {
            // Nobody can be told that standard error is closed.
            let _ = io::stderr().lock().write_all(&text);
            return true;
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(&text).and_then(|()| stdout.flush()) {
            Ok(()) => true,
            Err(problem) => {
                self.problem = Some(problem);
                false
            }
        }
    }

    fn report_progress(&mut self, time_s: f64, (finished, ranks): (usize, usize)) {
        let line = progress_line(time_s, finished, ranks);
        // Progress is a courtesy: nothing depends on it.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Returns the line about the progress of a run.
fn progress_line(time_s: f64, finished: usize, ranks: usize) -> String {
    let (time, running) = (summary::seconds(time_s), ranks - finished);
    format!("{time} real, {finished} of {ranks} ranks finished, {running} running")
}

/// Prints what happened and keeps it, and says with which status that ends.
fn report_run(name: &str, run: &RealRun, args: &RealArgs, arguments: &[OsString]) -> u8 {
    let origin = RealOrigin {
        revision: REVISION.to_owned(),
        program: name.to_owned(),
        arguments: arguments
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        backend: args.backend.name(),
        until: args.until.as_ref().map(ToString::to_string),
    };
    let record = RealRecord::new(run, origin);
    let mut stderr = io::stderr().lock();
    if !args.output.quiet {
        for warning in &record.warnings {
            let _ = writeln!(stderr, "warning: {warning}");
        }
    }
    let code = outcome_status(&run.outcome);
    if let Some(problem) = problem(run, args) {
        let _ = writeln!(stderr, "{problem}");
    }
    drop(stderr);
    let kept = args.record.out.as_deref().map(|folder| {
        // A record that it holds has been refused before the run.
        let folder = Folder::open_folder(folder, true)?;
        folder.write_files(&[("record.json", record.to_json() + "\n")])
    });
    let mut stdout = io::stdout().lock();
    let OutputArgs { format, quiet, .. } = args.output;
    let printed = if format.is_for_programs() || !quiet {
        let summary = || summary::real(&record, &args.how());
        let result = format.write_result(summary, || record.to_json());
        writeln!(stdout, "{result}")
    } else {
        Ok(())
    };
    let printed = printed.and_then(|()| stdout.flush());
    if let Err(problem) = printed
        && problem.kind() != io::ErrorKind::BrokenPipe
    {
        status::refuse(format_args!("standard output: cannot write: {problem}"));
        return status::USAGE;
    }
    if let Some(Err(error)) = kept {
        status::refuse(error);
        return status::USAGE;
    }
    let analysed = args.observation.finish_real(run, &args.output);
    analysed.err().unwrap_or(code)
}

const fn outcome_status(outcome: &RealOutcome) -> u8 {
    match outcome {
        RealOutcome::Finished | RealOutcome::Unheard => status::SUCCESS,
        RealOutcome::Failed(failure) => match failure.kind {
            FailureKind::Error | FailureKind::Panic => status::FAILED,
            FailureKind::Refusal => status::USAGE,
        },
        RealOutcome::Missing { .. } => status::USAGE,
        RealOutcome::Limit => status::LIMIT,
        RealOutcome::Interrupted => status::INTERRUPTED,
    }
}

/// Returns what went wrong, for standard error; `None` if nothing did.
fn problem(run: &RealRun, args: &RealArgs) -> Option<String> {
    match &run.outcome {
        RealOutcome::Finished | RealOutcome::Unheard => None,
        RealOutcome::Failed(failure) => Some(format!("error: {failure}")),
        RealOutcome::Interrupted => Some("interrupted; all ranks terminated".to_owned()),
        RealOutcome::Limit => {
            let until = args.until.as_ref().map(ToString::to_string);
            let until = until.unwrap_or_default();
            Some(format!("stopped at the limit --until {until}"))
        }
        RealOutcome::Missing {
            ranks,
            waited,
            startup_error,
        } => {
            let text: Vec<String> = ranks.iter().map(u32::to_string).collect();
            let (verb, what) = if ranks.len() == 1 {
                ("has", "rank")
            } else {
                ("have", "ranks")
            };
            let startup_error = startup_error
                .as_ref()
                .map_or_else(String::new, |text| format!("; {text}"));
            Some(format!(
                "error: {what} {} {verb} not connected within {}{startup_error}",
                text.join(", "),
                summary::seconds(waited.as_secs_f64())
            ))
        }
    }
}

impl RealArgs {
    /// Returns true if each line of a rank begins with its number.
    fn prefixes(&self) -> bool {
        self.prefix.unwrap_or(true)
    }

    /// Describes how ranks waited and what their sockets were given, in a few words.
    fn how(&self) -> String {
        let waits = match self.wait {
            WaitArg::Block => "blocking",
            WaitArg::Spin => "spinning",
        };
        match &self.tcp.tcp_congestion {
            Some(name) => format!("{waits}, congestion control {name}"),
            None => waits.to_owned(),
        }
    }
}

/// Reads a speed above 0.
fn host_speed(text: &str) -> Result<units::Speed, String> {
    let speed: units::Speed = text.parse().map_err(|error| format!("{error}"))?;
    if speed.flop_per_s() > 0.0 {
        Ok(speed)
    } else {
        Err("expected more than 0".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use real::RealFailure;

    use super::*;

    #[test]
    fn ssh_notices_a_host_that_falls_silent_when_ranks_do() {
        assert_eq!(ssh(None), "ssh -o BatchMode=yes");
        assert_eq!(
            ssh(Some(Duration::from_secs(10))),
            "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=2"
        );
    }

    #[test]
    fn what_cannot_begin_is_bad_input_and_what_dies_has_failed() {
        let failed = |kind| {
            let failure = RealFailure {
                rank: 0,
                host: String::new(),
                time_s: None,
                message: "--gid-index 200: port 1 of rxe0 has 2 global identifiers, from 0"
                    .to_owned(),
                kind,
                last_lines: Vec::new(),
            };
            outcome_status(&RealOutcome::Failed(failure))
        };
        assert_eq!(failed(FailureKind::Refusal), status::USAGE);
        assert_eq!(failed(FailureKind::Error), status::FAILED);
        assert_eq!(failed(FailureKind::Panic), status::FAILED);
    }
}
