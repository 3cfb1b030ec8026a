//! A process that runs points of a study, one after another.
//!
//! The process is the program itself (`APP study-worker`), or simrun as a compiled MPI program. It
//! is in a separate process group, so that Ctrl-C on the terminal does not reach it, and is killed
//! when the thread that has started it ends. If a run ends the process, that run has failed, and
//! the next run gets a new process.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use simrun::package::Executable;

use crate::RunLimits;

/// Time after the limit of a run until the worker process is killed: simrun ends a run by itself
/// within this time. \[choice\]
const GRACE: Duration = Duration::from_secs(30);

/// Output of a run, and the end of the worker process.
#[derive(Debug)]
pub(super) struct RunEnd {
    /// Standard output, which ends with the record.
    pub(super) stdout: String,
    /// Standard error, with the output of the program.
    pub(super) stderr: String,
    /// The status of the process, if the process has ended.
    pub(super) ended: Option<ExitStatus>,
    /// True if the process was killed because the run did not end.
    pub(super) timed_out: bool,
}

/// A place for one process, which is started on demand.
#[derive(Debug)]
pub(super) struct Worker {
    program: Executable,
    limits: RunLimits,
    stdout: File,
    stderr: File,
    process: Option<WorkerProcess>,
}

#[derive(Debug)]
struct WorkerProcess {
    child: Child,
    socket: UnixStream,
}

impl Worker {
    /// Makes a place.
    pub(super) fn new(program: &Executable, limits: RunLimits) -> io::Result<Self> {
        Ok(Self {
            program: program.clone(),
            limits,
            stdout: unnamed_file()?,
            stderr: unnamed_file()?,
            process: None,
        })
    }

    /// Runs a command line. `started` receives the number of the process that runs it.
    pub(super) fn run_command_line(
        &mut self,
        arguments: &[String],
        started: impl Fn(u32),
    ) -> io::Result<RunEnd> {
        self.stdout.set_len(0)?;
        self.stderr.set_len(0)?;
        if self.process.is_none() {
            self.process = Some(self.start_process()?);
        }
        let Some(process) = &mut self.process else {
            unreachable!("it was started");
        };
        started(process.child.id());
        let mut request = serde_json::to_vec(arguments)?;
        request.push(b'\n');
        // A process that has ended in between has no answer either.
        let answer = process
            .socket
            .write_all(&request)
            .and_then(|()| process.socket.read_exact(&mut [0]));
        let (mut ended, mut timed_out) = (None, false);
        if let Err(error) = answer {
            timed_out = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            ended = Some(self.end_process()?);
        }
        Ok(RunEnd {
            stdout: file_content(&self.stdout)?,
            stderr: file_content(&self.stderr)?,
            ended,
            timed_out,
        })
    }

    /// Returns the largest memory of the process so far in bytes, if the system tells.
    pub(super) fn peak(&self) -> Option<u64> {
        let id = self.process.as_ref()?.child.id();
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(1024 * kilobytes)
    }

    fn start_process(&self) -> io::Result<WorkerProcess> {
        let (socket, theirs) = UnixStream::pair()?;
        let limit = self
            .limits
            .time_s
            .map(|time| Duration::from_secs_f64(time) + GRACE);
        socket.set_read_timeout(limit)?;
        let child = self
            .program
            .program_command()
            .arg("study-worker")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(self.stdout.try_clone()?))
            .stderr(Stdio::from(self.stderr.try_clone()?))
            .process_group(0)
            .spawn()
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("{}: {error}", self.program.file().display()),
                )
            })?;
        if let (Some(memory), Some(pid)) = (self.limits.memory, pid(child.id())) {
            let limit = Rlimit {
                current: Some(memory),
                maximum: Some(memory),
            };
            rustix::process::prlimit(Some(pid), Resource::As, limit)?;
        }
        Ok(WorkerProcess { child, socket })
    }

    /// Ends the process and all child processes.
    fn end_process(&mut self) -> io::Result<ExitStatus> {
        let Some(mut process) = self.process.take() else {
            unreachable!("a process was asked");
        };
        // By itself, if it has closed the socket at its end.
        drop(process.socket);
        for _ in 0..100 {
            if let Some(ended) = process.child.try_wait()? {
                return Ok(ended);
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        kill_process(process.child.id());
        process.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            kill_process(process.child.id());
            // It has no results that are still needed.
            let _ = process.child.wait();
        }
    }
}

/// Kills a worker's process and all child processes.
pub(super) fn kill_process(process: u32) {
    if let Some(pid) = pid(process) {
        // It may have ended.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

/// Returns a file without a name, to which lines are appended.
fn unnamed_file() -> io::Result<File> {
    let file = tempfile::Builder::new().append(true).tempfile()?;
    Ok(file.into_file())
}

fn file_content(file: &File) -> io::Result<String> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
