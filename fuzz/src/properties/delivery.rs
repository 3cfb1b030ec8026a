//! Messages arrive as they were sent: on RO connections in order and once, on RU connections once,
//! on UU connections any number of times. The last ones may be missing where no command awaits
//! them: the connection may have ended before.

use std::collections::BTreeMap;

use crate::command::{Attribute, Command};
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::pattern::content;
use crate::response::Response;

/// Messages to one worker on one connection, in the order of their sends or arrivals.
type Messages<T> = BTreeMap<(u32, u32), Vec<T>>;

pub(super) fn check(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let (attributes, sent) = sent(interaction);
    let mut received: Messages<&[u8]> = Messages::new();
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::Received {
                connection,
                message,
            } = response
            {
                let messages = received.entry((worker, *connection)).or_default();
                messages.push(message);
            }
        }
    }
    received.iter().find_map(|(key, received)| {
        let none = Vec::new();
        let sent = sent.get(key).unwrap_or(&none);
        let attribute = attributes.get(&key.1).copied().unwrap_or(Attribute::Ro);
        (!holds(attribute, sent, received)).then(|| {
            format!(
                "worker {} on connection {} received {:?}, sent was {:?} ({attribute:?})",
                key.0,
                key.1,
                texts(received),
                texts(sent)
            )
        })
    })
}

fn holds(attribute: Attribute, sent: &[Vec<u8>], received: &[&[u8]]) -> bool {
    match attribute {
        Attribute::Ro => {
            received.len() <= sent.len()
                && sent.iter().zip(received).all(|(one, other)| one == other)
        }
        Attribute::Ru => {
            let mut left: Vec<&Vec<u8>> = sent.iter().collect();
            received.iter().all(|message| {
                let at = left.iter().position(|one| *one == message);
                at.map(|at| left.swap_remove(at)).is_some()
            })
        }
        Attribute::Uu => received
            .iter()
            .all(|one| sent.iter().any(|sent| sent == one)),
    }
}

fn texts<T: AsRef<[u8]>>(messages: &[T]) -> Vec<String> {
    let text = |message: &T| {
        let text = String::from_utf8_lossy(message.as_ref());
        let short: String = text.chars().take(24).collect();
        if short.len() < text.len() {
            format!("{short}… ({} bytes)", message.as_ref().len())
        } else {
            short
        }
    };
    messages.iter().map(text).collect()
}

/// Returns the attributes of connections, and the messages that were sent to each worker.
fn sent(interaction: &Interaction) -> (BTreeMap<u32, Attribute>, Messages<Vec<u8>>) {
    let (mut attributes, mut ends) = (BTreeMap::new(), BTreeMap::new());
    let mut sent = Messages::new();
    for one in interaction.commands() {
        match one.command {
            Command::ConnectTo {
                to,
                connection,
                attribute,
                ..
            } => {
                attributes.insert(connection, attribute);
                ends.insert(connection, (one.worker, to));
            }
            Command::Send {
                connection,
                message,
                length,
                ..
            } => {
                let Some(&(from, to)) = ends.get(&connection) else {
                    continue;
                };
                let receiver = if one.worker == from { to } else { from };
                let messages = sent.entry((receiver, connection)).or_default();
                messages.push(content(message, length));
            }
            _ => {}
        }
    }
    (attributes, sent)
}
