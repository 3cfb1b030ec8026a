//! Each step ends.

use crate::driver::Outcome;
use crate::interaction::Interaction;

pub(super) fn check(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let (step, workers) = outcome.blocked.as_ref()?;
    let commands = &interaction.steps[*step].commands;
    let of = |worker: &u32| {
        let found = commands.iter().find(|one| one.worker == *worker);
        found.map(|one| format!("worker {worker} waits in {:?}", one.command))
    };
    let waits: Vec<String> = workers.iter().filter_map(of).collect();
    Some(format!("step {step} is blocked: {}", waits.join(", ")))
}
