//! The driver: runs an interaction in lock step, in simulated time.
//!
//! All workers of a step get their commands; a worker that waits polls until the awaited event has
//! happened. With [`Mode::Lockstep`] workers without a command do not poll, but adapters work. A
//! step without any possible event is blocked at once; a step that takes longer than the budget is
//! blocked, too.

use endpoint::simulated::{Network, NetworkSettings, ProgressDriver};
use sim_core::Digest;

use crate::command::{Command, MICROSECOND};
use crate::coverage::Coverage;
use crate::interaction::{Interaction, InteractionStep};
use crate::response::Response;
use crate::worker::Worker;

/// Simulated time that a step may take besides the times in the interaction, in picoseconds: 1 s,
/// more than all retries. \[choice\]
const STEP_BUDGET: u64 = 1_000_000_000_000;

/// Polling of workers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub enum Mode {
    /// Workers poll during their commands.
    #[default]
    Lockstep,
    /// All workers poll all the time: fewer orders of events are determined.
    Polling,
}

/// Parameters of a run.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct RunSettings {
    /// Parameters of the network; the faults are taken from the interaction.
    pub network: NetworkSettings,
    /// Polling of workers.
    pub mode: Mode,
}

/// A step that did not end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The step.
    pub step: usize,
    /// Workers with commands that have not ended.
    pub workers: Vec<u32>,
    /// The step ends if all workers poll.
    pub ends_if_all_poll: bool,
}

/// Result of a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Outcome {
    /// Observations of each worker.
    pub responses: Vec<Vec<Response>>,
    /// The step that was blocked.
    pub blocked: Option<Blocked>,
    /// The end in picoseconds.
    pub end: u64,
    /// Pairs of command and stage.
    pub coverage: Coverage,
}

impl Outcome {
    /// Returns the digest of the observations, the blocked step and the date of the end.
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        for response in self.responses.iter().flatten() {
            mix_response(&mut digest, response);
        }
        let step = self.blocked.as_ref().map_or(0, |blocked| blocked.step + 1);
        digest.mix(step as u64, self.end);
        digest
    }
}

/// Folds a response into a digest, field by field: a campaign makes one digest a run, and a
/// text of the bytes would take longer than the run.
fn mix_response(digest: &mut Digest, response: &Response) {
    let (kind, connection, message, status, bytes): (u64, _, _, _, &[u8]) = match response {
        Response::Connected { connection } => (0, *connection, 0, None, &[]),
        Response::Rejected { connection } => (1, *connection, 0, None, &[]),
        Response::TimedOut { connection } => (2, *connection, 0, None, &[]),
        Response::RequestAccepted { connection } => (3, *connection, 0, None, &[]),
        Response::RequestRejected { connection } => (4, *connection, 0, None, &[]),
        Response::RequestIgnored { connection } => (5, *connection, 0, None, &[]),
        Response::HandleArrived { connection } => (6, *connection, 0, None, &[]),
        Response::KeepaliveTimedOut { connection } => (7, *connection, 0, None, &[]),
        Response::Received {
            connection,
            message,
        } => (8, *connection, 0, None, message),
        Response::Content { connection, bytes } => (9, *connection, 0, None, bytes),
        Response::Sent {
            connection,
            message,
            status,
        } => (10, *connection, *message, Some(*status), &[]),
        Response::RmaEnded {
            connection,
            message,
            status,
            bytes,
        } => (11, *connection, *message, Some(*status), bytes),
        Response::RmaArrived {
            connection,
            message,
            bytes,
        } => (12, *connection, *message, None, bytes),
        Response::Failed(why) => (13, 0, 0, None, why.as_bytes()),
        Response::Ended(how) => (14, 0, 0, None, how.as_bytes()),
    };
    let status = status.map_or(0, |status| status as u64 + 1);
    digest.mix(
        kind << 32 | u64::from(connection),
        status << 32 | u64::from(message),
    );
    digest.mix_bytes(bytes);
}

/// Runs an interaction on simulated endpoints.
pub fn run(interaction: &Interaction, settings: &RunSettings) -> Result<Outcome, String> {
    let mut run = Run::new(interaction, settings)?;
    let mut blocked = None;
    let mut active = Vec::new();
    for (number, step) in interaction.steps.iter().enumerate() {
        if let Some(workers) = run.run_step(step, &mut active) {
            let polls = settings.network.progress == ProgressDriver::Polling;
            let ends_if_all_poll = polls && run.ends_if_all_poll(step, &workers);
            blocked = Some(Blocked {
                step: number,
                workers,
                ends_if_all_poll,
            });
            break;
        }
    }
    Ok(run.finish_run(blocked))
}

/// Returns the longest time that a command names, in picoseconds.
pub(crate) fn longest_time(interaction: &Interaction) -> u64 {
    let times = interaction.commands().filter_map(|one| match one.command {
        Command::ConnectTo { timeout, .. } => timeout,
        Command::SetKeepalive { timeout, .. } => Some(timeout),
        Command::Pause { time, .. } => Some(time),
        _ => None,
    });
    times.max().unwrap_or(0) * MICROSECOND
}

/// A run.
struct Run {
    network: Network,
    workers: Vec<Worker>,
    mode: Mode,
    /// Time that a step may take, in picoseconds.
    budget: u64,
    coverage: Coverage,
}

impl Run {
    fn new(interaction: &Interaction, settings: &RunSettings) -> Result<Self, String> {
        let count = interaction.workers();
        let network = NetworkSettings {
            faults: interaction.faults,
            ..settings.network
        };
        let network = Network::new(count, network).map_err(|error| error.to_string())?;
        let workers = (0..count).map(|_| Worker::new(network.uris()));
        Ok(Self {
            workers: workers.collect(),
            network,
            mode: settings.mode,
            budget: STEP_BUDGET + longest_time(interaction),
            coverage: Coverage::default(),
        })
    }

    /// Runs a step; returns the workers that are blocked, if some are. `active` is for the commands
    /// that have not ended.
    fn run_step<'a>(
        &mut self,
        step: &'a InteractionStep,
        active: &mut Vec<(u32, &'a Command)>,
    ) -> Option<Vec<u32>> {
        let now = self.network.now();
        for one in &step.commands {
            let worker = &mut self.workers[one.worker as usize];
            let endpoint = self.network.endpoint(one.worker);
            let stage = worker.stage(one.command.connection(), endpoint);
            self.coverage.insert(&one.command, stage);
            worker.begin(&one.command, endpoint, now);
        }
        let commands = step.commands.iter();
        active.clear();
        active.extend(commands.map(|one| (one.worker, &one.command)));
        let blocked = self.wait_for_commands(active, self.mode);
        (!blocked.is_empty()).then_some(blocked)
    }

    /// Waits for the ends of commands; returns the workers that are blocked.
    fn wait_for_commands(&mut self, active: &mut Vec<(u32, &Command)>, mode: Mode) -> Vec<u32> {
        let limit = self.network.now() + self.budget;
        loop {
            let now = self.network.now();
            if mode == Mode::Polling {
                for (number, worker) in (0..).zip(&mut self.workers) {
                    worker.poll(self.network.endpoint(number));
                }
            }
            active.retain(|(number, command)| {
                let worker = &mut self.workers[*number as usize];
                let endpoint = self.network.endpoint(*number);
                worker.poll(endpoint);
                !worker.has_ended(command, endpoint, now)
            });
            let alarms = active.iter().filter_map(|(number, _)| self.alarm(*number));
            let alarm = alarms.min();
            if active.is_empty() || now > limit || !self.network.advance_time(alarm) {
                return active.iter().map(|(worker, _)| *worker).collect();
            }
        }
    }

    fn alarm(&self, worker: u32) -> Option<u64> {
        self.workers[worker as usize].alarm()
    }

    /// Returns true if a step that is blocked ends when all workers poll.
    fn ends_if_all_poll(&mut self, step: &InteractionStep, blocked: &[u32]) -> bool {
        let commands = step.commands.iter();
        let active = commands.filter(|one| blocked.contains(&one.worker));
        let mut active = active.map(|one| (one.worker, &one.command)).collect();
        self.wait_for_commands(&mut active, Mode::Polling)
            .is_empty()
    }

    /// Destroys the endpoints and returns the result.
    fn finish_run(mut self, blocked: Option<Blocked>) -> Outcome {
        let end = self.network.now();
        if blocked.is_none() {
            for (number, worker) in (0..).zip(&mut self.workers) {
                worker.finish(self.network.endpoint(number));
                if let Err(error) = self.network.destroy_endpoint(number) {
                    worker.cannot_destroy(&error.to_string());
                }
            }
        }
        Outcome {
            responses: self
                .workers
                .into_iter()
                .map(Worker::into_responses)
                .collect(),
            blocked,
            end,
            coverage: self.coverage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use endpoint::Status;

    #[test]
    fn each_field_changes_the_digest() {
        let ended = |connection, message, status, bytes: &[u8]| Response::RmaEnded {
            connection,
            message,
            status,
            bytes: bytes.to_vec(),
        };
        let responses = [
            Response::Connected { connection: 1 },
            Response::Rejected { connection: 1 },
            Response::Received {
                connection: 1,
                message: vec![],
            },
            Response::Content {
                connection: 1,
                bytes: vec![],
            },
            ended(1, 2, Status::Success, &[3]),
            ended(2, 2, Status::Success, &[3]),
            ended(1, 3, Status::Success, &[3]),
            ended(1, 2, Status::Refused, &[3]),
            ended(1, 2, Status::Success, &[3, 0]),
            ended(1, 2, Status::Success, &[4]),
            Response::Failed("a".to_owned()),
            Response::Ended("a".to_owned()),
        ];
        let digest = |response: &Response| {
            let mut digest = Digest::default();
            mix_response(&mut digest, response);
            digest.value()
        };
        for (at, one) in responses.iter().enumerate() {
            for other in &responses[at + 1..] {
                assert_ne!(digest(one), digest(other), "{one:?} and {other:?}");
            }
        }
    }
}
