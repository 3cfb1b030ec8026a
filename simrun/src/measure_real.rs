//! Measuring for real: the sessions of `simrun measure`, each a launch of processes that are this program again. Rank 0 leaves what it found in a file beside
//! the one that was asked for.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use run::{LogFilter, RankProgram};
use validation::real::{
    Backend, Compute, Connecting, Launch, Listener, OnLoss, RankOptions, RealOutcome, RealRun,
    Starts, Ticket, Wait,
};
use validation::{Session, Tell, measure, samples_as_csv};

use crate::measure::MeasureCommand;
use crate::real::WaitArg;
use crate::size::Size;
use crate::{REVISION, entry, status};

/// How ranks come and wait.
#[derive(Args, Clone, Debug)]
pub(crate) struct WayArgs {
    /// How a rank waits: block (asleep) or spin (looking again and again, for which each rank needs a core)
    #[arg(
        long,
        value_name = "block|spin",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) wait: WaitArg,

    /// Keep each rank to a core of its own
    #[arg(long)]
    pub(crate) pin: bool,

    /// From which size on messages go by rendezvous
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    pub(crate) eager_threshold: Size,

    /// Of a rank: which session it belongs to.
    #[arg(long, value_name = "N", hide = true)]
    session: Option<u32>,
}

impl WayArgs {
    /// Lines of the file of samples.
    pub(crate) fn as_comments(&self) -> String {
        let wait = match self.wait {
            WaitArg::Block => "block",
            WaitArg::Spin => "spin",
        };
        let mut text = String::new();
        let _ = writeln!(text, "# wait: {wait}\n# pinned: {}", self.pin);
        text
    }

    /// How ranks run.
    pub(crate) fn options(&self) -> RankOptions {
        RankOptions {
            backend: Backend::Tcp,
            eager_threshold: self.eager_threshold.0,
            wait: match self.wait {
                WaitArg::Block => Wait::Block,
                WaitArg::Spin => Wait::Spin,
            },
            connecting: Connecting::default(),
            compute: Compute::Burn,
            flop_per_s: 1e9,
            pin: self.pin,
            log: LogFilter::default(),
            prefix: false,
            revision: REVISION.to_owned(),
        }
    }
}

/// How long ranks may take to come.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Where rank 0 leaves a session.
fn left(command: &MeasureCommand, session: u32) -> PathBuf {
    let mut name = command.out.as_os_str().to_owned();
    name.push(format!(".session-{session}.part"));
    PathBuf::from(name)
}

/// One rank of a session.
pub(crate) fn be_rank(command: &MeasureCommand) -> ExitCode {
    let ticket = match Ticket::read(io::stdin().lock()) {
        Ok(ticket) => ticket,
        Err(error) => return status::refuse(format_args!("no ticket on standard input: {error}")),
    };
    let number = command.way.session.unwrap_or(1);
    let mut options = command.plan.options(number);
    options.thresholds.push(command.way.eager_threshold.0);
    options
        .thresholds
        .retain(|at| *at > 0 && *at <= options.size_max);
    let options = Rc::new(options);
    let session = Rc::new(RefCell::new(Session::default()));
    let progress: Tell = Rc::new(|elapsed, left, what| {
        // A line of its own, which the launcher writes over the last one.
        let _ = writeln!(
            io::stderr().lock(),
            "{elapsed:.0} s, {left:.0} s left: {what}"
        );
    });
    // Written by the rank itself, before it ends: after that the launcher may end the process at any time.
    let path: Rc<std::path::Path> = left(command, number).into();
    let program = RankProgram::new(move |world| {
        let (options, progress) = (Rc::clone(&options), Rc::clone(&progress));
        let (found, path) = (Rc::clone(&session), Rc::clone(&path));
        async move {
            let is_leader = world.rank() == 0;
            measure(world, options, Rc::clone(&found), progress)
                .await
                .map_err(|error| error.to_string())?;
            if is_leader {
                let text = samples_as_csv("", &[found.take()]);
                crate::calibrate::write(&path, &text)
                    .map_err(|error| format!("{}: cannot write it: {error}", path.display()))?;
            }
            Ok::<(), String>(())
        }
    });
    match validation::real::run_rank(&program, &command.way.options(), &ticket) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(status::FAILED),
        Err(error) => status::refuse(format_args!("rank {}: {error}", ticket.rank)),
    }
}

/// All sessions, one after the other.
pub(crate) fn sessions(command: &MeasureCommand) -> Result<Vec<Session>, ExitCode> {
    (1..=command.plan.sessions)
        .map(|number| one_session(command, number))
        .collect()
}

fn one_session(command: &MeasureCommand, number: u32) -> Result<Session, ExitCode> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    arguments.push(OsString::from(format!("--session={number}")));
    let run = launched(command.ranks, arguments)?;
    finished(&run)?;
    let path = left(command, number);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| status::refuse(format_args!("{}: {error}", path.display())))?;
    // What was read is in the file that was asked for.
    let _ = std::fs::remove_file(&path);
    Session::from_csv(&path.display().to_string(), &text).map_err(status::refuse)
}

/// Starts so many processes of this program, and waits for them.
fn launched(ranks: u32, arguments: Vec<OsString>) -> Result<RealRun, ExitCode> {
    let stop = entry::watch_signals()
        .map_err(|error| status::refuse(format_args!("cannot watch for Ctrl-C: {error}")))?;
    let program = std::env::current_exe()
        .map_err(|error| status::refuse(format_args!("cannot find simrun itself: {error}")))?;
    let mut command = vec![program.into_os_string()];
    command.extend(arguments);
    let launch = Launch {
        starts: Starts::here(&command, ranks),
        listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        revision: REVISION.to_owned(),
        arrival: ARRIVAL,
        until: None,
        on_loss: OnLoss::End,
        stop: Arc::clone(&stop),
    };
    validation::real::launch(&launch, &mut Progress::default(), RealRun::clone)
        .map_err(status::refuse)
}

/// An error if the run did not finish.
pub(crate) fn finished(run: &RealRun) -> Result<(), ExitCode> {
    match &run.outcome {
        RealOutcome::Finished | RealOutcome::Unheard | RealOutcome::Limit => Ok(()),
        RealOutcome::Failed(failure) => Err(status::failed(failure)),
        RealOutcome::Interrupted => {
            let _ = writeln!(io::stderr().lock(), "interrupted");
            Err(ExitCode::from(status::INTERRUPTED))
        }
        RealOutcome::Missing { ranks, .. } => {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            Err(status::refuse(format_args!(
                "these ranks have not come: {}",
                ranks.join(", ")
            )))
        }
    }
}

/// Shows what rank 0 tells, on one line of a terminal; what others say on lines of their own.
#[derive(Default)]
struct Progress {
    shown: bool,
}

impl Listener for Progress {
    fn line(&mut self, rank: u32, _: bool, line: &[u8]) -> bool {
        use std::io::IsTerminal as _;
        let text = String::from_utf8_lossy(line);
        let is_progress = rank == 0 && text.contains(" s left: ");
        let mut stderr = io::stderr().lock();
        let written = if !is_progress {
            writeln!(stderr, "[{rank}] {text}")
        } else if io::stderr().is_terminal() {
            self.shown = true;
            write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush())
        } else {
            Ok(())
        };
        // Progress is a courtesy.
        let _ = written;
        true
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
