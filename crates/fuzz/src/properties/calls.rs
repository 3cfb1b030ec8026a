//! Calls succeed, operations with an awaited end succeed, and transfers of deregistered memory
//! fail.

use std::collections::BTreeSet;

use endpoint::Status;

use crate::command::Command;
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::response::Response;

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let is_noteworthy = |response: &&Response| match response {
        Response::Failed(_) | Response::RmaEnded { .. } => true,
        Response::Sent { status, .. } => *status != Status::Success,
        _ => false,
    };
    outcome.responses.iter().flatten().find(is_noteworthy)?;
    let expected = Expected::from_interaction(interaction);
    let workers = (0..).zip(&outcome.responses);
    workers.into_iter().find_map(|(worker, responses)| {
        let mut responses = responses.iter().filter(is_noteworthy);
        let failed = responses.find_map(|response| expected.failure(response))?;
        Some(format!("worker {worker}: {failed}"))
    })
}

/// Operations by the way in which they end, by connection and message.
#[derive(Default)]
struct Expected {
    /// Sends without a command that awaits the end: the connection may end before.
    abandoned: BTreeSet<(u32, u32)>,
    /// Transfers during which memory is deregistered.
    uncertain: BTreeSet<(u32, u32)>,
    /// Transfers of deregistered memory.
    failing: BTreeSet<(u32, u32)>,
}

impl Expected {
    fn from_interaction(interaction: &Interaction) -> Self {
        let mut expected = Self::default();
        let mut deregistered = BTreeSet::new();
        // Transfers that have not been waited for.
        let mut open: BTreeSet<(u32, u32)> = BTreeSet::new();
        for one in interaction.commands() {
            let connection = one.command.connection();
            let key = (connection, one.command.message_number().unwrap_or(0));
            match one.command {
                Command::Send { flags, .. } if !flags.blocking => {
                    expected.abandoned.insert(key);
                }
                Command::WaitSendCompletion { .. } => {
                    expected.abandoned.remove(&key);
                }
                Command::RmaWrite { .. } | Command::RmaRead { .. } => {
                    open.insert(key);
                    if deregistered.contains(&connection) {
                        expected.failing.insert(key);
                    }
                }
                Command::RmaWait { .. } => {
                    open.remove(&key);
                }
                Command::RmaDeregister { .. } => {
                    deregistered.insert(connection);
                    let during = open.iter().filter(|key| key.0 == connection);
                    expected.uncertain.extend(during);
                }
                _ => {}
            }
        }
        expected
    }

    fn failure(&self, response: &Response) -> Option<String> {
        match response {
            Response::Failed(why) => Some(why.clone()),
            Response::Sent {
                connection,
                message,
                status,
            } if *status != Status::Success => {
                let is_abandoned = self.abandoned.contains(&(*connection, *message));
                let what = format!(
                    "the send of message {message} on connection {connection} failed: {status:?}"
                );
                (!is_abandoned).then_some(what)
            }
            Response::RmaEnded {
                connection,
                message,
                status,
                ..
            } => {
                let key = (*connection, *message);
                let fails = self.failing.contains(&key);
                if self.uncertain.contains(&key) || fails != (*status == Status::Success) {
                    return None;
                }
                let expected = if fails { "a failure" } else { "success" };
                Some(format!(
                    "transfer {message} on connection {connection} ended with {status:?}, expected {expected}"
                ))
            }
            _ => None,
        }
    }
}
