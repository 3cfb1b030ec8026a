//! Workers as processes: a driver that runs an interaction in lock step over their pipes.
//!
//! A worker announces its address, gets the addresses of all workers, then one command a line. The
//! worker answers with its observations, one a line, and reports the end of the command. A worker
//! that does not answer in time blocks the step; all workers are killed and reaped, and their
//! observations and standard errors are kept. A worker that ends before [`ToWorker::Quit`] is
//! a separate failure, which names the signal or the status.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::driver::{Blocked, Outcome};
use crate::interaction::{Interaction, InteractionStep};
use crate::response::Response;

/// Time without an answer after which a step is blocked, besides the times that the interaction
/// names. haskell-cci: 2000 ms.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time in which workers have to destroy their endpoints and end. \[choice\]
const FAREWELL: Duration = Duration::from_secs(2);

/// A line to a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// The addresses of all workers.
    Addresses(Vec<String>),
    /// A command.
    Command(Command),
    /// Destroys the endpoint and ends.
    Quit,
}

/// A line of a worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// The address of the worker.
    Address(String),
    /// An observation.
    Response(Response),
    /// The command has ended, or the endpoint is destroyed.
    Idle,
}

/// Runs an interaction with workers that `process` starts.
pub fn run_processes(
    interaction: &Interaction,
    process: impl Fn() -> Process,
) -> Result<Outcome, String> {
    let mut workers = Workers::start_workers(interaction.workers(), process)?;
    let mut outcome = Outcome::default();
    workers.introduce()?;
    for (number, step) in interaction.steps.iter().enumerate() {
        match workers.run_step(step, PATIENCE + longest_time(step)) {
            Ok(late) if late.is_empty() => {}
            Ok(late) => {
                outcome.blocked = Some(Blocked {
                    step: number,
                    workers: late,
                    ends_if_all_poll: false,
                });
                break;
            }
            Err(WorkerEnded) => {
                outcome.responses = workers.end_workers();
                return Ok(outcome);
            }
        }
    }
    if outcome.blocked.is_none() {
        workers.quit();
    }
    outcome.responses = workers.end_workers();
    Ok(outcome)
}

fn longest_time(step: &InteractionStep) -> Duration {
    let times = step.commands.iter().filter_map(|one| match one.command {
        Command::Pause { time, .. } => Some(time),
        _ => None,
    });
    Duration::from_micros(times.max().unwrap_or(0))
}

/// A worker ended or wrote a line that is no answer; the last observation tells which.
struct WorkerEnded;

/// A line of the output of a worker, or the end of the output.
enum WorkerLine {
    Answer(FromWorker),
    Unreadable,
    End,
}

/// Processes of workers.
struct Workers {
    children: Vec<Child>,
    inputs: Vec<Option<ChildStdin>>,
    lines: Receiver<(u32, WorkerLine)>,
    readers: Vec<JoinHandle<String>>,
    responses: Vec<Vec<Response>>,
    /// The workers that have been told to end, all of them.
    is_over: bool,
}

impl Workers {
    fn start_workers(count: u32, process: impl Fn() -> Process) -> Result<Self, String> {
        let (sender, lines) = channel();
        let mut workers = Self {
            children: Vec::new(),
            inputs: Vec::new(),
            lines,
            readers: Vec::new(),
            responses: vec![Vec::new(); count as usize],
            is_over: false,
        };
        for number in 0..count {
            let mut process = process();
            process
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let started = process.spawn();
            let mut child = started.map_err(|error| format!("worker {number}: {error}"))?;
            workers.inputs.push(child.stdin.take());
            if let Some(output) = child.stdout.take() {
                read_lines(number, output, sender.clone());
            }
            if let Some(mut errors) = child.stderr.take() {
                workers.readers.push(reader(move || {
                    let mut text = String::new();
                    // What cannot be read is not kept.
                    let _ = errors.read_to_string(&mut text);
                    text
                }));
            }
            workers.children.push(child);
        }
        Ok(workers)
    }

    /// Waits for all addresses, and tells them to all workers.
    fn introduce(&mut self) -> Result<(), String> {
        let mut addresses = vec![None; self.children.len()];
        while addresses.iter().any(Option::is_none) {
            match self.lines.recv_timeout(PATIENCE) {
                Ok((worker, WorkerLine::Answer(FromWorker::Address(address)))) => {
                    addresses[worker as usize] = Some(address);
                }
                Ok((worker, _)) => {
                    let errors = self.reap().join("");
                    return Err(format!("worker {worker} has no address: {}", errors.trim()));
                }
                Err(_) => return Err("a worker does not announce its address".to_owned()),
            }
        }
        let addresses: Vec<String> = addresses.into_iter().flatten().collect();
        for worker in 0..addresses.len() {
            self.write_line(worker, &ToWorker::Addresses(addresses.clone()));
        }
        Ok(())
    }

    /// Writes a line to a worker. The end of a worker is detected in the worker's output.
    fn write_line(&mut self, worker: usize, line: &ToWorker) {
        if let (Some(input), Ok(text)) = (&mut self.inputs[worker], serde_json::to_string(line)) {
            let _ = writeln!(input, "{text}").and_then(|()| input.flush());
        }
    }

    /// Runs a step; returns the workers that have not answered in time.
    fn run_step(
        &mut self,
        step: &InteractionStep,
        patience: Duration,
    ) -> Result<Vec<u32>, WorkerEnded> {
        for one in &step.commands {
            let command = ToWorker::Command(one.command.clone());
            self.write_line(one.worker as usize, &command);
        }
        let active = step.commands.iter().map(|one| one.worker).collect();
        self.wait_for_commands(active, patience)
    }

    /// Waits for the end of commands; returns the workers that have not answered in time.
    fn wait_for_commands(
        &mut self,
        mut active: Vec<u32>,
        patience: Duration,
    ) -> Result<Vec<u32>, WorkerEnded> {
        while !active.is_empty() {
            match self.lines.recv_timeout(patience) {
                Ok((worker, WorkerLine::Answer(FromWorker::Idle))) => {
                    active.retain(|one| *one != worker);
                }
                Ok((worker, WorkerLine::Answer(FromWorker::Response(response)))) => {
                    self.responses[worker as usize].push(response);
                }
                // It has been told to end.
                Ok((worker, WorkerLine::End)) if self.is_over && !active.contains(&worker) => {}
                Ok((worker, line)) => {
                    let last = match line {
                        WorkerLine::End => Response::Ended(self.reap_ended(worker)),
                        _ => Response::Failed("a line of the worker is no answer".to_owned()),
                    };
                    self.responses[worker as usize].push(last);
                    return Err(WorkerEnded);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Ok(active);
                }
            }
        }
        Ok(active)
    }

    /// Reaps a worker after the end of the output; returns the signal or the status in words.
    fn reap_ended(&mut self, worker: u32) -> String {
        let child = &mut self.children[worker as usize];
        // A process that is ending already keeps the signal or the status with which it ends.
        let _ = child.kill();
        match child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, code) => format!("status {}", code.unwrap_or_default()),
            },
            Err(error) => error.to_string(),
        }
    }

    /// Lets all workers destroy their endpoints.
    fn quit(&mut self) {
        for worker in 0..self.children.len() {
            self.write_line(worker, &ToWorker::Quit);
        }
        self.is_over = true;
        let all = (0..).take(self.children.len()).collect();
        for late in self.wait_for_commands(all, FAREWELL).unwrap_or_default() {
            let what = "the endpoint cannot be destroyed in time".to_owned();
            self.responses[late as usize].push(Response::Failed(what));
        }
    }

    /// Kills and reaps all processes; returns the observations, with the text written to standard
    /// error.
    fn end_workers(mut self) -> Vec<Vec<Response>> {
        let errors = self.reap();
        for (responses, errors) in self.responses.iter_mut().zip(errors) {
            if !errors.is_empty() {
                responses.push(Response::Failed(format!("standard error: {errors}")));
            }
        }
        std::mem::take(&mut self.responses)
    }

    /// Kills and reaps all processes; returns the text that they have written to standard error.
    fn reap(&mut self) -> Vec<String> {
        self.inputs.clear();
        for child in &mut self.children {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        let readers = std::mem::take(&mut self.readers).into_iter();
        readers
            .map(|reader| reader.join().unwrap_or_default())
            .collect()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.reap();
    }
}

/// Sends each line of a worker up to a line that is no answer, and the end of the output.
fn read_lines(worker: u32, output: impl Read + Send + 'static, sender: Sender<(u32, WorkerLine)>) {
    reader(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(answer) = serde_json::from_str(&line) else {
                let _ = sender.send((worker, WorkerLine::Unreadable));
                return String::new();
            };
            if sender.send((worker, WorkerLine::Answer(answer))).is_err() {
                return String::new();
            }
        }
        let _ = sender.send((worker, WorkerLine::End));
        String::new()
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "pipes of processes are read by threads; nothing is simulated"
)]
fn reader(read: impl FnOnce() -> String + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(read)
}
