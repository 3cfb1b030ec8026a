//! A worker of `simrun fuzz` that is a process: its endpoint, and the commands that it reads from
//! standard input.

use std::io::{BufRead as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use clap::Args;
use endpoint_host::{Adapter, EndpointHost};
use simrun::status;

use crate::{Command, EndpointSettings, FromWorker, Response, ToWorker, Worker};

/// Parameters of a worker.
#[derive(Args, Clone, Debug)]
pub struct WorkerCommand {
    /// Use an adapter of libibverbs
    #[arg(long)]
    verbs: bool,

    /// Name of the adapter
    #[arg(long)]
    device: Option<String>,

    /// Poll all the time
    #[arg(long)]
    polls: bool,

    /// Make progress only when polling
    #[arg(long)]
    no_thread: bool,

    #[arg(long)]
    send_buffers: u32,

    #[arg(long)]
    receive_buffers: u32,

    #[arg(long)]
    poison: bool,
}

/// Time to sleep at most, and so by which a pause of an interaction may be longer. \[choice\]
const NAP: Duration = Duration::from_millis(20);

/// Works until it is told to end.
pub fn run_worker(command: &WorkerCommand) -> ExitCode {
    match Process::start_endpoint(command).and_then(Process::execute_commands) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => status::refuse(error),
    }
}

impl WorkerCommand {
    fn selected_adapter(&self) -> Adapter {
        #[cfg(feature = "verbs")]
        if self.verbs {
            return Adapter::Verbs(self.device.clone());
        }
        let _ = (self.verbs, &self.device);
        Adapter::Tcp
    }

    fn endpoint_settings(&self) -> EndpointSettings {
        let mut settings = EndpointSettings {
            send_buffers: self.send_buffers,
            receive_buffers: self.receive_buffers,
            poisons: self.poison,
            // A process may wait long for a processor.
            resend_after: 20_000_000_000,
            ..EndpointSettings::default()
        };
        // 134 ms, seven times.
        settings.queue_pairs.timeout = 15;
        settings.queue_pairs.rnr_retry = 7;
        settings
    }
}

/// A worker and its surroundings.
struct Process {
    host: EndpointHost,
    worker: Worker,
    lines: Receiver<ToWorker>,
    /// Observations that were written.
    written: usize,
    polls: bool,
    has_thread: bool,
}

impl Process {
    fn start_endpoint(command: &WorkerCommand) -> Result<Self, String> {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let host = EndpointHost::new(
            any,
            &command.selected_adapter(),
            command.endpoint_settings(),
        );
        let mut host = host.map_err(|error| error.to_string())?;
        let lines = read_lines(&host)?;
        answer_driver(&FromWorker::Address(host.endpoint().uri().to_string()))?;
        let Ok(ToWorker::Addresses(addresses)) = lines.recv() else {
            return Err("expected the addresses of all workers".to_owned());
        };
        Ok(Self {
            host,
            worker: Worker::new(Rc::new(addresses.into_iter().map(Into::into).collect())),
            lines,
            written: 0,
            polls: command.polls,
            has_thread: !command.no_thread,
        })
    }

    fn execute_commands(mut self) -> Result<(), String> {
        loop {
            match self.lines.try_recv() {
                Ok(ToWorker::Command(command)) => self.execute_command(&command)?,
                Ok(ToWorker::Quit) => return self.quit(),
                Ok(ToWorker::Addresses(_)) => return Err("unexpected addresses".to_owned()),
                Err(TryRecvError::Disconnected) => return Ok(()),
                Err(TryRecvError::Empty) => self.idle()?,
            }
        }
    }

    /// Does what happens without a command.
    fn idle(&mut self) -> Result<(), String> {
        if self.polls {
            self.poll_worker()?;
        } else if self.has_thread {
            self.host.progress().map_err(|error| error.to_string())?;
        } else {
            self.host.carry().map_err(|error| error.to_string())?;
        }
        self.host.wait(NAP).map_err(|error| error.to_string())
    }

    fn poll_worker(&mut self) -> Result<(), String> {
        self.host.progress().map_err(|error| error.to_string())?;
        self.worker.poll(self.host.endpoint());
        self.host.progress().map_err(|error| error.to_string())
    }

    fn execute_command(&mut self, command: &Command) -> Result<(), String> {
        let now = self.host.now();
        self.host.progress().map_err(|error| error.to_string())?;
        self.worker.begin(command, self.host.endpoint(), now);
        loop {
            self.poll_worker()?;
            let now = self.host.now();
            let ended = self.worker.has_ended(command, self.host.endpoint(), now);
            self.write_responses()?;
            if ended {
                return answer_driver(&FromWorker::Idle);
            }
            self.host.wait(NAP).map_err(|error| error.to_string())?;
        }
    }

    fn write_responses(&mut self) -> Result<(), String> {
        for response in &self.worker.responses()[self.written..] {
            answer_driver(&FromWorker::Response(response.clone()))?;
        }
        self.written = self.worker.responses().len();
        Ok(())
    }

    fn quit(mut self) -> Result<(), String> {
        self.worker.finish(self.host.endpoint());
        self.write_responses()?;
        if let Err(error) = self.host.destroy() {
            let what = format!("the endpoint cannot be destroyed: {error}");
            answer_driver(&FromWorker::Response(Response::Failed(what)))?;
        }
        answer_driver(&FromWorker::Idle)
    }
}

/// Writes a line to the driver.
fn answer_driver(line: &FromWorker) -> Result<(), String> {
    let text = serde_json::to_string(line).map_err(|error| error.to_string())?;
    let mut output = std::io::stdout().lock();
    let written = writeln!(output, "{text}").and_then(|()| output.flush());
    written.map_err(|error| error.to_string())
}

/// Reads the lines of the driver; each wakes the worker.
#[expect(
    clippy::disallowed_methods,
    reason = "standard input is read by a thread; nothing is simulated"
)]
fn read_lines(host: &EndpointHost) -> Result<Receiver<ToWorker>, String> {
    let waker = host.waker().map_err(|error| error.to_string())?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let line = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(line) = line else {
                break;
            };
            if sender.send(line).is_err() {
                break;
            }
            // Without it the worker sees the line after its nap.
            let _ = waker.wake();
        }
    });
    Ok(lines)
}
