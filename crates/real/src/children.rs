//! The processes of a run: starting them, reading their output line by line, ending them.
//!
//! A process gets its [ticket](super::launch_info) on its standard input, so that the secret is on
//! no command line and in no environment. The process leads its own process group: Ctrl-C reaches
//! only the launcher, which ends all processes with their children (`descendants` ends children
//! that have left the group).
//!
//! The launcher waits for an ended process only after it has killed the process group: until then,
//! no other process can get the number of the process or of the group.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use mio::unix::pipe::Receiver;
use mio::{Interest, Registry, Token};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

/// Number of last lines of a process that are kept.
const LAST_LINES: usize = 5;

/// A longer line is broken.
const LINE_MAX: usize = 1 << 20;

/// A rank's process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Standard output and standard error of the process.
    pipes: [Option<OutputPipe>; 2],
    last: VecDeque<String>,
    status: Option<ExitStatus>,
    /// True after the group was killed and the process reaped: its number may then be reused.
    is_reaped: bool,
}

#[derive(Debug)]
struct OutputPipe {
    receiver: Receiver,
    rest: Vec<u8>,
}

impl Process {
    /// Starts a process that reads `launch_info`; the events of the two pipes have the tokens from
    /// `first` on.
    pub(super) fn start_process(
        command: &[OsString],
        environment: &[(&str, &str)],
        launch_info: &str,
        (registry, first): (&Registry, usize),
    ) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut pipes = [None, None];
        let receivers = [
            child.stdout.take().map(Receiver::from),
            child.stderr.take().map(Receiver::from),
        ];
        for (place, receiver) in receivers.into_iter().enumerate() {
            let Some(mut receiver) = receiver else {
                continue;
            };
            receiver.set_nonblocking(true)?;
            registry.register(&mut receiver, Token(first + place), Interest::READABLE)?;
            let rest = Vec::new();
            pipes[place] = Some(OutputPipe { receiver, rest });
        }
        if let Some(mut input) = child.stdin.take() {
            // If it does not read, it will not come, and that is told by name. The pipe holds a
            // ticket without anybody reading.
            let _ = input.write_all(launch_info.as_bytes());
        }
        Ok(Self {
            child,
            pipes,
            last: VecDeque::new(),
            status: None,
            is_reaped: false,
        })
    }

    /// Reads the new data of one pipe; `line` gets each line without its end.
    pub(super) fn receive_output(&mut self, place: usize, line: &mut impl FnMut(&[u8])) {
        let Some(pipe) = &mut self.pipes[place] else {
            return;
        };
        let mut chunk = [0; 16 * 1024];
        let mut all = Vec::new();
        let ended = loop {
            match pipe.receiver.read(&mut chunk) {
                Ok(0) => break true,
                Ok(count) => {
                    pipe.rest.extend_from_slice(&chunk[..count]);
                    take_lines(&mut pipe.rest, &mut |text| all.push(text.to_vec()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break true,
            }
        };
        if ended {
            let rest = std::mem::take(&mut pipe.rest);
            all.extend(Some(rest).filter(|rest| !rest.is_empty()));
            self.pipes[place] = None;
        }
        for text in &all {
            line(text);
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            self.last
                .push_back(String::from_utf8_lossy(text).into_owned());
        }
    }

    /// Returns the last output.
    pub(super) fn last_lines(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }

    /// Checks whether the process has ended, without waiting.
    pub(super) fn check_exit(&mut self) {
        let Some(pid) = self.pid().filter(|_| self.status.is_none()) else {
            return;
        };
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if let Ok(Some(ended)) = waitid(WaitId::Pid(pid), how) {
            self.status = Some(status_of(&ended));
        }
    }

    /// Returns the status found by the latest check.
    pub(super) const fn exit_status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Returns the process number, as long as no other process can have this number.
    pub(super) fn pid(&self) -> Option<Pid> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        pid.filter(|_| !self.is_reaped)
    }

    /// Ends the process with its process group.
    pub(super) fn kill_group(&mut self) {
        if let Some(group) = self.pid() {
            let _ = kill_process_group(group, Signal::KILL);
            let ended = self.child.wait().ok();
            self.status = self.status.or(ended);
            self.is_reaped = true;
        }
    }
}

/// Converts the status of an ended process to the type of the standard library.
fn status_of(ended: &WaitIdStatus) -> ExitStatus {
    let signal = ended.terminating_signal().unwrap_or(0);
    ExitStatus::from_raw(ended.exit_status().unwrap_or(0) << 8 | signal)
}

/// Takes the complete lines out of the data that were read.
fn take_lines(rest: &mut Vec<u8>, line: &mut impl FnMut(&[u8])) {
    let mut begin = 0;
    while let Some(length) = rest[begin..].iter().position(|&byte| byte == b'\n') {
        line(&rest[begin..begin + length]);
        begin += length + 1;
    }
    rest.drain(..begin);
    if rest.len() > LINE_MAX {
        line(rest);
        rest.clear();
    }
}

/// Describes the end of a process in words.
pub(super) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("process exited with status {code}"),
        (None, Some(signal)) => {
            let name = signal_hook::low_level::signal_name(signal);
            let name = name.map_or_else(String::new, |name| format!(" ({name})"));
            format!("process killed by signal {signal}{name}")
        }
        (None, None) => "its process ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_when_they_are_complete_and_never_lost() {
        let mut rest = b"one\ntwo\n\nthr".to_vec();
        let mut all = Vec::new();
        let mut take = |text: &[u8]| all.push(String::from_utf8_lossy(text).into_owned());
        take_lines(&mut rest, &mut take);
        rest.extend_from_slice(b"ee\n");
        take_lines(&mut rest, &mut take);
        assert_eq!(all, ["one", "two", "", "three"]);
        assert!(rest.is_empty());
        let mut endless = vec![b'x'; LINE_MAX + 1];
        let mut length = 0;
        take_lines(&mut endless, &mut |text| length = text.len());
        assert_eq!((length, endless.len()), (LINE_MAX + 1, 0));
    }

    #[test]
    fn an_end_is_told_by_status_or_signal() {
        let ended = |raw| describe_exit(ExitStatus::from_raw(raw));
        assert_eq!(ended(3 << 8), "process exited with status 3");
        assert_eq!(ended(9), "process killed by signal 9 (SIGKILL)");
    }
}
