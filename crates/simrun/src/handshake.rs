//! The handshake between `simrun` and a program: the program answers with the name and version of
//! simrun.
//!
//! `simrun` starts the file with one argument and first reads one line of output. Any other file
//! runs once with that argument, so a script that ignores its arguments runs once; the results are
//! not used. A file that gives the right answer passes, even without being such a program.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use signal_hook::consts::SIGKILL;

use crate::entry::VERSION;
use crate::rerun::PROGRAM_MAX;
use crate::status;

/// The argument that asks a program for the handshake answer.
const ARGUMENT: &str = "--simrun-handshake";

/// The beginning of the answer; the version follows.
const ANSWER: &str = "simrun-program ";

/// Time limit for the answer of a program: much longer than a start on a busy machine.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest number of bytes read of an answer.
const LENGTH_MAX: u64 = 4096;

/// Prefix of a line in the answer of a compiled MPI program; the path of one of the program's own
/// libraries follows.
const LIBRARY: &str = "library ";

/// Gives the answer of a program with these own libraries.
pub fn answer_handshake<'a>(libraries: impl IntoIterator<Item = &'a PathBuf>) -> ExitCode {
    // The constant stands in the file of every program, where `has_answer` finds it.
    let mut text = format!("{}{VERSION}", std::hint::black_box(ANSWER));
    for library in libraries {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{LIBRARY}{}", library.display());
    }
    status::print(text)
}

/// Returns true for the arguments that ask a program for the handshake answer.
#[must_use]
pub fn is_asked(arguments: &[OsString]) -> bool {
    matches!(arguments, [only] if only == ARGUMENT)
}

/// Starts a file and checks that the file is a program of this version of simrun.
///
/// # Errors
/// A text with the actual answer of the file, without the name of the file.
pub(crate) fn verify_program(program: &Path) -> Result<(), String> {
    let version = version(program)?;
    if version_number(&version) == version_number(VERSION) {
        return Ok(());
    }
    Err(format!(
        "it is built with simrun {version}, and this is simrun {VERSION}: build it again"
    ))
}

/// Starts a file and returns the version of simrun in the program, and the revision.
///
/// # Errors
/// A text with the actual answer of the file, without the name of the file.
pub(crate) fn version(program: &Path) -> Result<String, String> {
    let mut child = Command::new(program)
        .arg(ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| {
            format!(
                "cannot start it: {error}: expected a program that is built with simrun{}",
                damage(program)
            )
        })?;
    let line = first_line(&mut child);
    // What has ended by itself keeps its status.
    let _ = child.kill();
    let signal = child.wait().ok().and_then(|status| status.signal());
    let Some(line) = line else {
        let seconds = HANDSHAKE_TIMEOUT.as_secs();
        return Err(stranger(&format!("did not answer within {seconds} s"), ""));
    };
    match (line.strip_prefix(ANSWER).map(str::trim_end), signal) {
        (Some(version), _) => Ok(version.to_owned()),
        (None, Some(signal)) if signal != SIGKILL => {
            let ended = format!("ended with signal {signal}");
            Err(stranger(&ended, &damage(program)))
        }
        (None, _) => Err(stranger("did not give the answer", "")),
    }
}

/// Returns the own libraries of the compiled MPI program that a command of simrun starts; `None`
/// if the file is no such program.
pub(crate) fn libraries(mut command: Command) -> Option<Vec<PathBuf>> {
    command.arg(ARGUMENT).stdin(Stdio::null());
    let output = String::from_utf8(command.output().ok()?.stdout).ok()?;
    let mut lines = output.lines();
    let version = lines.next()?.strip_prefix(ANSWER)?;
    let files = lines.filter_map(|line| line.strip_prefix(LIBRARY).map(PathBuf::from));
    (version_number(version) == version_number(VERSION)).then(|| files.collect())
}

/// The message about a file that is no program of simrun.
fn stranger(what: &str, hint: &str) -> String {
    format!(
        "not a program of simrun: asked who it is, it {what}: \
         expected a program that is built with simrun{hint}"
    )
}

/// Returns the first line of a program's output, or `None` if the line takes too long.
fn first_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    #[expect(
        clippy::disallowed_methods,
        reason = "a program may keep silent; no simulation is running"
    )]
    std::thread::spawn(move || {
        let mut line = Vec::new();
        // What cannot be read is no answer, and nobody may be waiting for it any more.
        let _ = BufReader::new(stdout.take(LENGTH_MAX)).read_until(b'\n', &mut line);
        let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
    });
    receiver.recv_timeout(HANDSHAKE_TIMEOUT).ok()
}

/// Returns true if a file contains the handshake answer of simrun. Such a file is no MPI program of
/// a C compiler, and need not be started to find that out.
pub(crate) fn has_answer(program: &Path) -> bool {
    let file = files::read_bytes(program, PROGRAM_MAX);
    file.is_ok_and(|file| memchr::memmem::find(&file, ANSWER.as_bytes()).is_some())
}

/// Returns the version without the revision.
fn version_number(version: &str) -> &str {
    version.split(' ').next().unwrap_or_default()
}

/// Returns true for a file that begins like a binary.
pub(crate) fn is_binary(program: &Path) -> bool {
    let mut magic = [0; 4];
    let file = File::open(program);
    file.is_ok_and(|mut file| file.read_exact(&mut magic).is_ok()) && &magic == b"\x7fELF"
}

/// A hint if a file that cannot run begins like a binary.
fn damage(program: &Path) -> String {
    if is_binary(program) {
        let length = program.metadata().map_or(0, |metadata| metadata.len());
        return format!(
            "; this binary of {length} bytes may be cut short, or for another machine: build it again"
        );
    }
    String::new()
}
