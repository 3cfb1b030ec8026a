//! Each operation completes once, silent ones never.

use crate::command::Command;
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::response::Response;

/// A worker, a connection and a message.
type Key = (u32, u32, u32);

/// Least and greatest number of completions, and the number found.
#[derive(Clone, Copy, Default)]
struct Count {
    key: Key,
    least: u32,
    most: u32,
    found: u32,
}

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let mut counts = operations(interaction);
    let find = |counts: &[Count], key: &Key| counts.binary_search_by_key(key, |count| count.key);
    for one in interaction.commands() {
        if let Command::WaitSendCompletion { .. }
        | Command::RmaWait { .. }
        | Command::RmaWaitExchange { .. } = one.command
            && let Ok(at) = find(&counts, &command_key(one.worker, &one.command))
        {
            counts[at].least = 1;
        }
    }
    // Completions of no operation.
    let mut unknown: Vec<Count> = Vec::new();
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
                match find(&counts, &key) {
                    Ok(at) => counts[at].found += 1,
                    Err(_) => unknown.push(Count {
                        key,
                        found: 1,
                        ..Count::default()
                    }),
                }
            }
        }
    }
    let is_wrong = |count: &&Count| !(count.least..=count.most).contains(&count.found);
    let wrong = counts.iter().chain(&unknown).filter(is_wrong);
    let count = wrong.min_by_key(|count| count.key)?;
    let (worker, connection, message) = count.key;
    Some(format!(
        "worker {worker}: {} completions of message {message} on connection {connection}, expected {}",
        count.found, count.most
    ))
}

fn command_key(worker: u32, command: &Command) -> Key {
    (
        worker,
        command.connection(),
        command.message_number().unwrap_or(0),
    )
}

/// Returns the operations, in the order of their keys.
fn operations(interaction: &Interaction) -> Vec<Count> {
    let operation = |worker: u32, command: &Command| {
        let (least, most) = match command {
            Command::Send { flags, .. } => (u32::from(flags.blocking), u32::from(!flags.silent)),
            Command::RmaHandleExchange { .. }
            | Command::RmaWrite { .. }
            | Command::RmaRead { .. } => (0, 1),
            _ => return None,
        };
        Some(Count {
            key: command_key(worker, command),
            least,
            most,
            found: 0,
        })
    };
    let commands = interaction.commands();
    let operations = commands.filter_map(|one| operation(one.worker, &one.command));
    let mut counts: Vec<Count> = operations.collect();
    counts.sort_by_key(|count| count.key);
    counts
}
