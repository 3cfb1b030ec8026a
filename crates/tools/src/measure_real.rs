//! Real measurements: the sessions of `simrun measure`. Each session launches processes that run
//! this program again, or uses the ranks of an allocation, which run this program too. Rank 0
//! writes the results to a file beside the requested file.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use real::{
    FailureKind, FailurePolicy, LaunchInfo, LaunchMode, LaunchOptions, OutputListener,
    ProcessPlace, RealOutcome, RealRun,
};
use run::{Program, RankProgram};
use validation::{ReportProgress, Session, measure, samples_as_csv};

use simrun::transport_args::Network;
use simrun::{REVISION, ended, status, watch_signals};

use crate::measure::MeasureCommand;

/// Where rank 0 leaves a session.
fn session_path(command: &MeasureCommand, session: u32) -> PathBuf {
    let mut name = command.out.as_os_str().to_owned();
    name.push(format!(".session-{session}.part"));
    PathBuf::from(name)
}

/// One rank of a session, started by [`sessions`].
pub(crate) fn run_as_rank(command: &MeasureCommand, network: Network) -> ExitCode {
    let launch_info = match LaunchInfo::read(io::stdin().lock()) {
        Ok(launch_info) => launch_info,
        Err(error) => {
            return status::refuse(format_args!(
                "no launch information on standard input: {error}"
            ));
        }
    };
    let progress: ReportProgress = Rc::new(|elapsed, left, what| {
        // A line of its own, which the launcher writes over the last one.
        let _ = writeln!(
            io::stderr().lock(),
            "{elapsed:.0} s, {left:.0} s left: {what}"
        );
    });
    let options = match command.way.rank_options(network) {
        Ok(options) => options,
        Err(missing) => return status::refuse(missing),
    };
    let program = measuring(command, &progress);
    ended(
        launch_info.rank,
        real::run_rank(&program, &options, &launch_info),
    )
}

/// One rank that another launcher has started, as srun and mpirun do. Rank 0 writes the samples.
pub(crate) fn run_as_allocated_rank(
    command: &MeasureCommand,
    network: Network,
    place: &ProcessPlace,
) -> ExitCode {
    if place.size < 2 {
        return status::refuse("at least 2 ranks are required");
    }
    if command.plan.sessions > 1 {
        return status::refuse(format_args!(
            "--sessions {}: processes started by {} cannot be restarted; use one session per file",
            command.plan.sessions, place.launcher
        ));
    }
    let (options, stop) = match (command.way.rank_options(network), stop(place.rank == 0)) {
        (Ok(options), Ok(stop)) => (options, stop),
        (Err(missing), _) => return status::refuse(missing),
        (_, Err(code)) => return code,
    };
    let launch = launch_options(command, LaunchMode::Elsewhere(place.size), stop);
    let program = measuring(command, &crate::measure::progress_printer());
    let told = command.clone();
    let tell = move |run: &RealRun| {
        let session = finished(run).and_then(|()| read_session(&told, 1));
        let code = match session {
            Ok(session) => crate::measure::write_samples(&told, &[session], Some(run)),
            Err(code) => code,
        };
        // Nobody can ask an exit code for its number.
        let known = [status::SUCCESS, status::USAGE, status::INTERRUPTED];
        let known = known.into_iter().find(|&one| code == ExitCode::from(one));
        i32::from(known.unwrap_or(status::FAILED))
    };
    let finished = real::run_in_allocation(&program, &options, place, launch, tell);
    ended(place.rank, finished)
}

/// Returns the rank program. Rank 0 writes the results to a file.
fn measuring(command: &MeasureCommand, progress: &ReportProgress) -> impl Program + use<> {
    let number = command.session.unwrap_or(1);
    let mut options = command.plan.session_options(number);
    options.thresholds.push(command.way.eager_threshold.0);
    options
        .thresholds
        .retain(|at| *at > 0 && *at <= options.size_max);
    let (options, progress) = (Rc::new(options), Rc::clone(progress));
    let session = Rc::new(RefCell::new(Session::default()));
    // Written by the rank itself, before it ends: after that the launcher may end the process at
    // any time.
    let path: Rc<std::path::Path> = session_path(command, number).into();
    RankProgram::new(move |world| {
        let (options, progress) = (Rc::clone(&options), Rc::clone(&progress));
        let (found, path) = (Rc::clone(&session), Rc::clone(&path));
        async move {
            let is_leader = world.rank() == 0;
            measure(world, options, Rc::clone(&found), progress)
                .await
                .map_err(|error| error.to_string())?;
            if is_leader {
                let text = samples_as_csv("", &[found.take()]);
                files::write(&path, &text).map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        }
    })
}

/// All sessions, one after the other, and how the last of them ran.
pub(crate) fn sessions(
    command: &MeasureCommand,
    network: Network,
) -> Result<(Vec<Session>, RealRun), ExitCode> {
    let _ = command.way.rank_options(network).map_err(status::refuse)?;
    command.way.tcp.check_here().map_err(status::refuse)?;
    let mut sessions = Vec::new();
    let mut number = 1;
    loop {
        let run = launched(command, number)?;
        finished(&run)?;
        sessions.push(read_session(command, number)?);
        if number == command.plan.sessions {
            return Ok((sessions, run));
        }
        number += 1;
    }
}

/// Returns the results that rank 0 has left.
fn read_session(command: &MeasureCommand, number: u32) -> Result<Session, ExitCode> {
    let path = session_path(command, number);
    let text = files::read_state(&path)
        .map_err(|error| status::refuse(format_args!("{}: {error}", path.display())))?;
    // What was read is in the file that was asked for.
    let _ = std::fs::remove_file(&path);
    Session::from_csv(&path.display().to_string(), &text).map_err(status::refuse)
}

/// Returns a flag that becomes true when the run is to be stopped, if this process stops the run.
fn stop(ours: bool) -> Result<Arc<AtomicBool>, ExitCode> {
    if !ours {
        return Ok(Arc::default());
    }
    watch_signals()
        .map_err(|error| status::refuse(format_args!("cannot watch for Ctrl-C: {error}")))
}

fn launch_options(
    command: &MeasureCommand,
    starts: LaunchMode,
    stop: Arc<AtomicBool>,
) -> LaunchOptions {
    LaunchOptions {
        starts,
        listen: command.way.arrival.listen_address(),
        revision: REVISION.to_owned(),
        arrival: command.way.arrival.startup_timeout(),
        keepalive_timeout: command.way.arrival.keepalive_timeout(),
        until: None,
        progress: None,
        on_loss: FailurePolicy::Abort,
        observe: false,
        stop,
    }
}

/// Starts the processes of a session, which are this program again, and waits for them.
fn launched(command: &MeasureCommand, number: u32) -> Result<RealRun, ExitCode> {
    let stop = stop(true)?;
    let program = std::env::current_exe()
        .map_err(|error| status::refuse(format_args!("cannot find simrun itself: {error}")))?;
    let mut line = vec![program.into_os_string()];
    line.extend(std::env::args_os().skip(1));
    line.push(OsString::from(format!("--session={number}")));
    let launch = launch_options(command, LaunchMode::here(&line, command.rank_count()), stop);
    real::launch(&launch, &mut ProgressLine::default(), RealRun::clone).map_err(status::refuse)
}

/// An error if the run did not finish.
pub(crate) fn finished(run: &RealRun) -> Result<(), ExitCode> {
    match &run.outcome {
        RealOutcome::Finished | RealOutcome::Unheard | RealOutcome::Limit => Ok(()),
        RealOutcome::Failed(failure) if failure.kind == FailureKind::Refusal => {
            Err(status::refuse(failure))
        }
        RealOutcome::Failed(failure) => Err(status::failed(failure)),
        RealOutcome::Interrupted => {
            let _ = writeln!(io::stderr().lock(), "interrupted");
            Err(ExitCode::from(status::INTERRUPTED))
        }
        RealOutcome::Missing {
            ranks,
            startup_error,
            ..
        } => {
            let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
            let startup_error = startup_error.as_ref();
            let startup_error = startup_error.map_or_else(String::new, |text| format!("; {text}"));
            Err(status::refuse(format_args!(
                "ranks not connected: {}{startup_error}",
                ranks.join(", ")
            )))
        }
    }
}

/// Shows the progress of rank 0 on one line of a terminal, and other output on separate lines.
#[derive(Default)]
struct ProgressLine {
    shown: bool,
}

impl OutputListener for ProgressLine {
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

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
