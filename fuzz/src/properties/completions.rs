//! Each operation completes once, silent ones never.

use std::collections::BTreeMap;

use crate::command::Command;
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::response::Response;

/// Least and greatest number of completions, and the number found.
#[derive(Clone, Copy, Default)]
struct Count {
    least: u32,
    most: u32,
    found: u32,
}

pub(super) fn check(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    // By worker, connection and message.
    let mut counts: BTreeMap<(u32, u32, u32), Count> = BTreeMap::new();
    for one in interaction.commands() {
        let message = one.command.message().unwrap_or(0);
        let key = (one.worker, one.command.connection(), message);
        match one.command {
            Command::Send { flags, .. } => {
                let count = counts.entry(key).or_default();
                count.most = u32::from(!flags.silent);
                count.least = u32::from(flags.blocking);
            }
            Command::RmaHandleExchange { .. }
            | Command::RmaWrite { .. }
            | Command::RmaRead { .. } => counts.entry(key).or_default().most = 1,
            Command::WaitSendCompletion { .. }
            | Command::RmaWait { .. }
            | Command::RmaWaitExchange { .. } => {
                if let Some(count) = counts.get_mut(&key) {
                    count.least = 1;
                }
            }
            _ => {}
        }
    }
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::Sent {
                connection,
                message,
                ..
            }
            | Response::RmaEnded {
                connection,
                message,
                ..
            } = response
            {
                let key = (worker, *connection, *message);
                counts.entry(key).or_default().found += 1;
            }
        }
    }
    let is_wrong = |count: &Count| !(count.least..=count.most).contains(&count.found);
    let found = counts.iter().find(|(_, count)| is_wrong(count));
    let ((worker, connection, message), count) = found?;
    Some(format!(
        "worker {worker}: {} completions of message {message} on connection {connection}, expected {}",
        count.found, count.most
    ))
}
