//! `APP study-worker`: many runs of a program in one process, for `simrun study`.
//!
//! Standard input is a socket. Each line that comes from it is the command line of a run, as a JSON
//! list of texts. The run is that of the command line: it prints to standard output and standard
//! error, and writes its files. A newline goes back through the socket when it has ended. A run
//! that ends the process, by `exit` or a signal, ends the worker without an answer. Termination is
//! ignored: batch systems send it to all processes of a job, and the parent decides when to end.
//!
//! *Not modelled*: a program that keeps state in statics sees that of earlier runs of the worker,
//! as under `simrun check`.

use sim_core::SourceLocation;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGTERM};

use crate::entry::run_command;
use crate::{App, status};

/// The word that makes a program a worker.
pub(crate) const WORKER: &str = "study-worker";

/// The word that makes a program describe its arguments.
pub(crate) const ARGUMENTS: &str = "study-arguments";

/// The name of a program, and its place in reports.
type Named = (&'static str, SourceLocation);

/// Runs what the socket asks for, until it is closed.
pub(crate) fn run_worker<Shape, A: App<Shape> + Clone>(named: Named, app: &A) -> ExitCode {
    match serve(named, app) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => status::refuse(format_args!("{WORKER}: the socket: {error}")),
    }
}

fn serve<Shape, A: App<Shape> + Clone>(named: Named, app: &A) -> io::Result<()> {
    for signal in [SIGHUP, SIGTERM] {
        // Nobody reads the flag.
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let mut socket = socket()?;
    for line in BufReader::new(socket.try_clone()?).lines() {
        let arguments: Vec<OsString> = serde_json::from_str::<Vec<String>>(&line?)
            .map(|words| words.into_iter().map(OsString::from).collect())?;
        // The exit status is not asked for: the record has the outcome.
        let _ = run_command(named, app.clone(), &arguments, Arc::<AtomicBool>::default());
        io::stdout().flush()?;
        socket.write_all(b"\n")?;
    }
    Ok(())
}

/// Returns standard input as a socket, and lets programs read nothing. The process is killed when
/// its parent ends.
fn socket() -> io::Result<UnixStream> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let socket = UnixStream::from(socket);
    // Standard input of another kind has no peer.
    socket.peer_addr()?;
    Ok(socket)
}

/// Prints the arguments of a program: a JSON list of their names, defaults and descriptions.
pub(crate) fn describe_arguments(command: Option<&clap::Command>) -> ExitCode {
    let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    let described = arguments.filter_map(|argument| {
        let name = argument.get_long()?;
        let default = argument.get_default_values().first();
        let takes_values = argument.get_action().takes_values();
        let default = default.filter(|_| takes_values);
        Some(json!({
            "name": format!("--{name}"),
            "default": default.map(|value| value.to_string_lossy()),
            "help": argument.get_help().map(ToString::to_string).unwrap_or_default(),
        }))
    });
    let described: Vec<_> = described.collect();
    status::print(json!(described))
}
