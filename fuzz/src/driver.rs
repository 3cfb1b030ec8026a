//! The driver: runs an interaction in lock step, in simulated time.
//!
//! All workers of a step get their commands; those that wait poll until what they wait for has
//! happened. Workers without a command do not poll, but adapters work. A step in which nothing can
//! happen any more is blocked at once; one that takes longer than its budget is blocked, too.

use endpoint::EndpointSettings;

use crate::interaction::{Command, Interaction};
use crate::worker::{Response, Worker};
use crate::world::World;

/// Simulated time that a step may take, in picoseconds: 60 s, more than all retries. \[choice\]
const STEP_BUDGET: u64 = 60_000_000_000_000;

/// Result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Observations of each worker.
    pub responses: Vec<Vec<Response>>,
    /// The step that was blocked and its workers.
    pub blocked: Option<(usize, Vec<u32>)>,
    /// The simulated end, in picoseconds.
    pub end: u64,
}

/// Runs an interaction on endpoints with these settings.
///
/// # Errors
/// If the workers cannot be made.
pub fn run(interaction: &Interaction, settings: EndpointSettings) -> Result<Outcome, String> {
    let count = interaction.workers();
    let mut world = World::new(count, interaction.faults, settings)?;
    let mut workers: Vec<Worker> = (0..count).map(|_| Worker::default()).collect();
    let mut blocked = None;
    for (number, step) in interaction.steps.iter().enumerate() {
        let mut active: Vec<(u32, &Command)> = step
            .commands
            .iter()
            .map(|one| (one.worker, &one.command))
            .collect();
        for (worker, command) in &active {
            workers[*worker as usize].begin(command, world.endpoint(*worker));
        }
        let limit = world.now() + STEP_BUDGET;
        loop {
            active.retain(|(worker, command)| {
                let state = &mut workers[*worker as usize];
                state.poll(world.endpoint(*worker));
                !state.has_ended(command)
            });
            if active.is_empty() {
                break;
            }
            if world.now() > limit || !world.advance() {
                blocked = Some((number, active.iter().map(|(worker, _)| *worker).collect()));
                break;
            }
        }
        if blocked.is_some() {
            break;
        }
    }
    Ok(Outcome {
        responses: workers.into_iter().map(|worker| worker.responses).collect(),
        blocked,
        end: world.now(),
    })
}
