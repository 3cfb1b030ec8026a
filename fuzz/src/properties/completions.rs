//! Each send completes exactly once.

use std::collections::BTreeMap;

use crate::driver::Outcome;
use crate::interaction::{Command, Interaction};
use crate::worker::Response;

pub(super) fn check(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    // Commands minus completions, by worker, connection and message.
    let mut counts: BTreeMap<(u32, u32, u32), i64> = BTreeMap::new();
    for one in interaction.steps.iter().flat_map(|step| &step.commands) {
        if let Command::Send {
            connection,
            message,
            ..
        } = one.command
        {
            *counts.entry((one.worker, connection, message)).or_default() += 1;
        }
    }
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::Sent {
                connection,
                message,
                ..
            } = response
            {
                *counts.entry((worker, *connection, *message)).or_default() -= 1;
            }
        }
    }
    let ((worker, connection, message), count) = counts.iter().find(|(_, count)| **count != 0)?;
    let found = 1 - count;
    Some(format!(
        "worker {worker}: {found} completions of message {message} on connection {connection}, expected 1"
    ))
}
