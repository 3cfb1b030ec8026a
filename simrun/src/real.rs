//! `simrun real`: runs a program for real, as processes that send each other messages over a network.
//!
//! The same program is the launcher and, started by it, each rank.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use platform::units;
use run::{LogFilter, Program, SendMode};
use validation::real::{
    Backend, Compute, Connecting, Launch, Listener, RankOptions, RealOutcome, RealRun, Ticket, Wait,
};

use crate::args::{Format, ranks, send_mode};
use crate::{REVISION, entry, status, summary};

/// What the exit statuses mean, for the end of help texts.
pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 finished, 1 a rank failed or died, 2 bad usage or input, or a rank that did not come, 130 interrupted.";

/// What carries packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum BackendArg {
    /// Sockets.
    #[default]
    Tcp,
    /// An adapter for InfiniBand or RoCE.
    Verbs,
}

/// How long messages travel over an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum RendezvousArg {
    /// The sender writes.
    #[default]
    Write,
    /// The receiver reads.
    Read,
}

/// How a rank waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum WaitArg {
    /// Asleep.
    #[default]
    Block,
    /// By looking again and again.
    Spin,
}

/// How computations pass the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ComputeArg {
    /// On the core.
    #[default]
    Burn,
    /// Asleep.
    Sleep,
}

/// How ranks get connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ConnectArg {
    /// A pair at its first message.
    #[default]
    OnDemand,
    /// All pairs before the program begins.
    Static,
}

/// Messages of so many bytes and more go by rendezvous.
const EAGER_THRESHOLD: u64 = 16 * 1024;

/// No packet over an adapter is longer: each connection has receives for many of that length.
#[cfg(feature = "verbs")]
const PACKET_MAX: u64 = 1 << 20;

/// The options of a real run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RealArgs {
    /// What carries packets: tcp, or verbs (an adapter for InfiniBand or RoCE)
    #[arg(
        long,
        value_name = "BACKEND",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) backend: BackendArg,

    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = ranks)]
    pub(crate) ranks: Option<u32>,

    /// When a send waits for its receive: eager (never), rendezvous (always) or
    /// threshold=SIZE (from SIZE on); without it threshold=16KiB
    #[arg(long, value_name = "MODE", value_parser = send_mode, verbatim_doc_comment)]
    pub(crate) send_mode: Option<SendMode>,

    /// Adapter, as ibv_devices lists them; without it the first one
    #[arg(long, value_name = "NAME", help_heading = "Verbs")]
    pub(crate) device: Option<String>,

    /// Port of the adapter
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Verbs")]
    pub(crate) port: u8,

    /// Which of the port's global identifiers; without it the first of RoCE v2 over
    /// IPv4, else of RoCE v2, else the first
    #[arg(long, value_name = "N", help_heading = "Verbs", verbatim_doc_comment)]
    pub(crate) gid_index: Option<u8>,

    /// Largest payload of the network's packets: 256, 512, 1024, 2048 or 4096 bytes;
    /// without it what both ports can
    #[arg(long, value_name = "BYTES", value_parser = path_mtu, help_heading = "Verbs", verbatim_doc_comment)]
    pub(crate) path_mtu: Option<u32>,

    /// How long to wait for an acknowledgement: 4.096 us times 2^N, 0 for ever
    #[arg(
        long,
        value_name = "N",
        default_value_t = 18,
        value_parser = clap::value_parser!(u8).range(0..32),
        help_heading = "Verbs"
    )]
    pub(crate) ack_timeout: u8,

    /// How often to send again what was not acknowledged
    #[arg(
        long,
        value_name = "N",
        default_value_t = 7,
        value_parser = clap::value_parser!(u8).range(0..8),
        help_heading = "Verbs"
    )]
    pub(crate) retries: u8,

    /// How long messages travel: write (the sender writes them) or read (the receiver
    /// reads them)
    #[arg(
        long,
        value_name = "write|read",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Verbs",
        verbatim_doc_comment
    )]
    pub(crate) rendezvous: RendezvousArg,

    /// How a rank waits: block (asleep) or spin (looking again and again, which is
    /// faster if each rank has a core)
    #[arg(
        long,
        value_name = "block|spin",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    pub(crate) wait: WaitArg,

    /// When ranks get connected: on-demand (at their first message) or static (all
    /// pairs before the program begins)
    #[arg(
        long,
        value_name = "on-demand|static",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    pub(crate) connect: ConnectArg,

    /// How a computation passes its time: burn (on the core, where nothing else goes
    /// on) or sleep
    #[arg(
        long,
        value_name = "burn|sleep",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        verbatim_doc_comment
    )]
    pub(crate) compute: ComputeArg,

    /// How much a host computes, which says how long a computation takes
    #[arg(long, value_name = "SPEED", default_value = "1Gf")]
    pub(crate) host_speed: units::Speed,

    /// Keep each rank to a core of its own
    #[arg(long)]
    pub(crate) pin: bool,

    /// How long ranks may take to come
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        help_heading = "Launch"
    )]
    pub(crate) arrival: units::Duration,

    /// Address at which ranks come to the launcher
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = listen, help_heading = "Launch")]
    pub(crate) listen: Option<SocketAddr>,

    /// Form of the results; with json the program's own output goes to standard
    /// error
    #[arg(
        verbatim_doc_comment,
        long,
        value_name = "text|json",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) format: Format,

    /// Begin each line of the program's output with its rank
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) prefix: bool,

    /// Log lines to show: off, error, warn, info, debug or trace, and per rank,
    /// as in info,3=debug,8-15=off
    #[arg(
        long,
        value_name = "FILTER",
        default_value = "warn",
        verbatim_doc_comment,
        help_heading = "Output"
    )]
    pub(crate) log: LogFilter,

    /// Show only the program's own output and errors
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENTS OF APP", hide = true)]
    pub(crate) arguments: Vec<OsString>,
}

fn path_mtu(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(bytes),
        _ => Err("expected 256, 512, 1024, 2048 or 4096".to_owned()),
    }
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    let address: Result<IpAddr, _> = text.parse();
    let address = address.map(|address| SocketAddr::new(address, 0));
    address
        .or_else(|_| text.parse())
        .map_err(|_| "expected an address such as 10.0.0.1 or 10.0.0.1:4000".to_owned())
}

/// Runs a program for real, or one rank of it.
pub(crate) fn run(
    name: &str,
    program: &dyn Program,
    args: &RealArgs,
    arguments: &[OsString],
) -> ExitCode {
    if !program.has_ranks() {
        return status::refuse(format_args!(
            "{name} is an actor program, which only a simulation can run: expected a program of ranks, an async fn of mpi::Comm"
        ));
    }
    if std::env::var_os(validation::real::RANK_VARIABLE).is_some() {
        return be_rank(program, args);
    }
    if backend(args).is_none() {
        return status::refuse(
            "this program was built without verbs: build it with --features simrun/verbs, as simrun real --backend verbs does for the folder of a package (docs/verbs.md)",
        );
    }
    let Some(ranks) = args.ranks else {
        return status::refuse("no number of ranks: expected -n N, such as -n 4");
    };
    launch(name, ranks, args, arguments)
}

fn be_rank(program: &dyn Program, args: &RealArgs) -> ExitCode {
    let ticket = match Ticket::read(io::stdin().lock()) {
        Ok(ticket) => ticket,
        Err(error) => {
            return status::refuse(format_args!(
                "no ticket on standard input, which the launcher of a run gives: {error}"
            ));
        }
    };
    let rank = ticket.rank;
    match validation::real::run_rank(program, &options(args), &ticket) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(status::FAILED),
        Err(error) => status::refuse(format_args!("rank {rank}: {error}")),
    }
}

fn options(args: &RealArgs) -> RankOptions {
    RankOptions {
        backend: backend(args).unwrap_or_default(),
        eager_threshold: args.send_mode.map_or(EAGER_THRESHOLD, SendMode::threshold),
        wait: match args.wait {
            WaitArg::Block => Wait::Block,
            WaitArg::Spin => Wait::Spin,
        },
        connecting: Connecting {
            is_static: args.connect == ConnectArg::Static,
            ..Connecting::default()
        },
        compute: match args.compute {
            ComputeArg::Burn => Compute::Burn,
            ComputeArg::Sleep => Compute::Sleep,
        },
        flop_per_s: args.host_speed.flop_per_s(),
        pin: args.pin,
        log: args.log.clone(),
        revision: REVISION.to_owned(),
    }
}

/// What carries packets; `None` if that was not built.
fn backend(args: &RealArgs) -> Option<Backend> {
    match args.backend {
        BackendArg::Tcp => Some(Backend::Tcp),
        BackendArg::Verbs => verbs(args),
    }
}

#[cfg(not(feature = "verbs"))]
const fn verbs(_: &RealArgs) -> Option<Backend> {
    None
}

/// Verbs with the options that were given. An eager message has to fit into a packet.
#[cfg(feature = "verbs")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "without the feature there is nothing"
)]
fn verbs(args: &RealArgs) -> Option<Backend> {
    let mut options = mpi::packet_channel::Options {
        rendezvous: match args.rendezvous {
            RendezvousArg::Write => mpi::packet_channel::Rendezvous::Write,
            RendezvousArg::Read => mpi::packet_channel::Rendezvous::Read,
        },
        eager_threshold: args
            .send_mode
            .map_or(EAGER_THRESHOLD, SendMode::threshold)
            .min(PACKET_MAX),
        ..mpi::packet_channel::Options::default()
    };
    let connection = &mut options.connection;
    connection.port_num = args.port;
    connection.gid_index = args.gid_index;
    connection.path_mtu = args.path_mtu.and_then(rdma::Mtu::from_bytes);
    connection.timeout = args.ack_timeout;
    connection.retry_cnt = args.retries;
    Some(Backend::Verbs {
        device: args.device.clone(),
        options,
    })
}

fn launch(name: &str, ranks: u32, args: &RealArgs, arguments: &[OsString]) -> ExitCode {
    let stop = match entry::watch_signals() {
        Ok(stop) => stop,
        Err(error) => return status::refuse(format_args!("cannot watch for Ctrl-C: {error}")),
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return status::refuse(format_args!("{name}: cannot find itself: {error}")),
    };
    let mut command = vec![program.into_os_string(), OsString::from("real")];
    command.extend_from_slice(arguments);
    let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let launch = Launch {
        ranks: (0..ranks).map(|rank| (command.clone(), rank)).collect(),
        listen: args.listen.unwrap_or(loopback),
        is_local: true,
        revision: REVISION.to_owned(),
        arrival: Duration::from_secs_f64(args.arrival.as_secs()),
        stop: Arc::clone(&stop),
    };
    let mut lines = Lines {
        prefix: args.prefix,
        is_json: args.format == Format::Json,
        problem: None,
    };
    let run = match validation::real::launch(&launch, &mut lines) {
        Ok(run) => run,
        Err(error) => return status::refuse(error),
    };
    if let Some(problem) = lines.problem {
        // Nobody reads on, as in `… | head`: not an error.
        return status::output_failed(&problem).unwrap_or(ExitCode::SUCCESS);
    }
    tell(name, &run, args)
}

/// Prints what the ranks print.
struct Lines {
    prefix: bool,
    is_json: bool,
    problem: Option<io::Error>,
}

impl Listener for Lines {
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
}

/// Prints what happened, and says with which status that ends.
fn tell(name: &str, run: &RealRun, args: &RealArgs) -> ExitCode {
    let (problem, code) = match &run.outcome {
        RealOutcome::Finished | RealOutcome::Unheard => (None, 0),
        RealOutcome::Failed(failure) => (Some(format!("error: {failure}")), status::FAILED),
        RealOutcome::Interrupted => (Some("interrupted".to_owned()), status::INTERRUPTED),
        RealOutcome::Missing {
            ranks,
            waited,
            complaint,
        } => {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            let complaint = complaint
                .as_ref()
                .map_or_else(String::new, |text| format!("; {text}"));
            let text = format!(
                "error: after {} these ranks have not come: {}{complaint}",
                summary::seconds(waited.as_secs_f64()),
                ranks.join(", ")
            );
            (Some(text), status::USAGE)
        }
    };
    if let Some(problem) = problem {
        let _ = writeln!(io::stderr().lock(), "{problem}");
    }
    if args.format == Format::Text && !args.quiet {
        let reports = run.reports.iter().flatten();
        let messages = reports.map(|report| report.messages).sum();
        let text = format!(
            "{name} {} at {} measured, {} real\n  {}, {}",
            if code == 0 { "finished" } else { "failed" },
            summary::rounded(run.measured_s),
            summary::rounded(run.wall_s),
            summary::count(run.reports.len() as u64, "rank"),
            summary::count(messages, "message"),
        );
        let printed = status::print(text);
        if code == 0 {
            return printed;
        }
    }
    ExitCode::from(code)
}
