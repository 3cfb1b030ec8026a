//! Each step ends, and no process of a worker ends before it is told to.

use crate::driver::{Blocked, Outcome};
use crate::interaction::Interaction;
use crate::response::Response;

/// Checks that no worker has ended, and that no step is blocked.
pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let ended = (0..).zip(&outcome.responses);
    let ended = ended.into_iter().find_map(|(worker, responses): (u32, _)| {
        let how = responses.iter().find_map(|response| match response {
            Response::Ended(how) => Some(how),
            _ => None,
        })?;
        Some(format!("worker {worker} has ended ({how})"))
    });
    if ended.is_some() {
        return ended;
    }
    let blocked = outcome.blocked.as_ref()?;
    (!blocked.ends_if_all_poll).then(|| description(interaction, blocked))
}

/// Checks that no step is blocked because a worker does not poll.
pub(super) fn check_polling(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let blocked = outcome.blocked.as_ref()?;
    let description = description(interaction, blocked);
    let what = format!("{description}; it ends if all workers poll");
    blocked.ends_if_all_poll.then_some(what)
}

fn description(interaction: &Interaction, blocked: &Blocked) -> String {
    let commands = &interaction.steps[blocked.step].commands;
    let of = |worker: &u32| {
        let found = commands.iter().find(|one| one.worker == *worker);
        found.map(|one| format!("worker {worker} waits in {:?}", one.command))
    };
    let waits: Vec<String> = blocked.workers.iter().filter_map(of).collect();
    format!("step {} is blocked: {}", blocked.step, waits.join(", "))
}
