//! Comparison of executions of a rank program.
//!
//! Each device must finish, and each rank must receive the messages to it. Without a wildcard for
//! the source all receives of all devices agree. A small program is model-checked; the checker must
//! find each execution. *Not compared*: dates, which are in the digest.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::{End, Observer, Options, Run, explore};
use run::{MessageProtocol, explorable, without_panic_messages};
use sim_core::Digest;

use super::device::{Device, Execution, ExecutionEnd, as_object, devices};
use super::generate::generate_program;
use super::interpreter::{ReceiveLog, Received, digest, message_content};
use super::program::RankProgram;
use crate::choices::Choices;
use crate::{Comparison, Layer};

/// The layer of message passing.
#[derive(Debug)]
pub struct MpiLayer {
    /// The devices, the reference first.
    pub devices: Vec<Device>,
    /// Maximum of executions of the model checker; beyond, no result. 0 for no model checking.
    pub executions_max: u64,
}

impl MpiLayer {
    /// Returns the layer with all simulated devices.
    pub fn new(executions_max: u64) -> Result<Self, String> {
        Ok(Self {
            devices: devices()?,
            executions_max,
        })
    }
}

impl Layer for MpiLayer {
    type Program = RankProgram;

    fn generate(&self, choices: &mut Choices<'_>) -> RankProgram {
        generate_program(choices)
    }

    fn compare_executions(&self, program: &RankProgram, digest: &mut Digest) -> Comparison {
        let mut executions: Vec<(&str, Execution)> = Vec::new();
        for device in &self.devices {
            let execution = device.execute_program(program);
            fold(&execution, digest);
            let found = against_program(device.name(), program, &execution);
            let found = found.or_else(|| {
                let (reference, first) = executions.first()?;
                if program.has_choice() {
                    return None;
                }
                let names = (*reference, device.name());
                find_difference(names, &first.received, &execution.received)
            });
            if let Some(different) = found {
                return different;
            }
            executions.push((device.name(), execution));
        }
        self.against_checker(program, &executions)
    }
}

/// Folds a simulated execution into a digest.
fn fold(execution: &Execution, digest: &mut Digest) {
    let Some(date) = execution.date else {
        return;
    };
    digest.mix(date.as_secs().to_bits(), execution.received.len() as u64);
    for one in execution.received.iter().flatten() {
        digest.mix(one.receive as u64, one.source as u64);
        digest.mix(u64::from(one.tag), one.bytes);
        digest.mix(one.digest, 0);
    }
}

/// Returns the difference between an execution and the messages of the program.
fn against_program(
    device: &str,
    program: &RankProgram,
    execution: &Execution,
) -> Option<Comparison> {
    match &execution.end {
        ExecutionEnd::Finished => {}
        ExecutionEnd::Deadlock => {
            let text = format!("{device}: deadlock");
            return Some(Comparison::different("completes", text));
        }
        ExecutionEnd::Failed(how) => {
            let text = format!("{device}: {how}");
            return Some(Comparison::different("calls-succeed", text));
        }
    }
    for (rank, received) in execution.received.iter().enumerate() {
        // Without the receive, which a wildcard decides.
        let key = |one: &Received| (one.source, one.tag, one.bytes, one.digest);
        let mut found: Vec<_> = received.iter().map(key).collect();
        let messages = program.messages.iter().enumerate();
        let to_rank = messages.filter(|(_, one)| one.to == rank);
        let sent = to_rank.map(|(number, one)| {
            let digest = digest(&message_content(number, one.bytes));
            (one.from, one.tag, one.bytes, digest)
        });
        let mut sent: Vec<_> = sent.collect();
        found.sort_unstable();
        sent.sort_unstable();
        if found != sent {
            let text = format!("{device}: rank {rank} received {found:?}, sent were {sent:?}");
            return Some(Comparison::different("messages-arrive-as-sent", text));
        }
    }
    None
}

fn find_difference(
    (reference, device): (&str, &str),
    first: &[Vec<Received>],
    other: &[Vec<Received>],
) -> Option<Comparison> {
    let ranks = first.iter().zip(other).enumerate();
    let (rank, (first, other)) = ranks
        .into_iter()
        .find(|(_, (first, other))| first != other)?;
    let text = format!("rank {rank}: {reference}: {first:?}, {device}: {other:?}");
    Some(Comparison::different("same-receives", text))
}

/// Receives of all executions that the checker finds, and their ends.
struct ReceiveOutcomes {
    log: ReceiveLog,
    found: BTreeSet<(End, Vec<Vec<Received>>)>,
}

impl Observer for ReceiveOutcomes {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let mut received = self.log.borrow().clone();
        received.iter_mut().for_each(|one| one.sort_unstable());
        self.found.insert((run.end, received));
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        self.found.clear();
    }
}

impl MpiLayer {
    fn against_checker(
        &self,
        program: &RankProgram,
        executions: &[(&str, Execution)],
    ) -> Comparison {
        if self.executions_max == 0 {
            return Comparison::Same;
        }
        let ranks = u32::try_from(program.ranks.len()).unwrap_or(0);
        let (object, log) = as_object(program);
        let protocol = MessageProtocol::Threshold(program.eager_threshold);
        let options = Options {
            executions_max: self.executions_max,
            ..Options::default()
        };
        let found = BTreeSet::new();
        let mut seen = ReceiveOutcomes { log, found };
        let (statistics, broken) = without_panic_messages(|| {
            explore(
                &mut explorable(object, ranks, protocol),
                &options,
                &mut seen,
            )
        });
        if let Some(text) = broken {
            return Comparison::different("is-deterministic", text);
        }
        if let Some((end, _)) = seen.found.iter().find(|(end, _)| *end != End::Finished) {
            return Comparison::different(
                "checker-completes",
                format!("the checker finds the end {end:?}"),
            );
        }
        if !statistics.bounds.is_empty() {
            return Comparison::TooLarge;
        }
        if !program.has_choice() && seen.found.len() > 1 {
            let text = format!("{} results without a wildcard", seen.found.len());
            return Comparison::different("checker-agrees", text);
        }
        let is_missing = |(_, execution): &&(&str, Execution)| {
            let key = (End::Finished, execution.received.clone());
            !seen.found.contains(&key)
        };
        executions
            .iter()
            .find(is_missing)
            .map_or(Comparison::Same, |(device, execution)| {
                let text = format!("{device}: the checker misses {:?}", execution.received);
                Comparison::different("checker-agrees", text)
            })
    }
}
