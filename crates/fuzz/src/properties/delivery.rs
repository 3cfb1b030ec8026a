//! Messages arrive as they were sent: on RO connections in order and once, on RU connections once,
//! on UU connections any number of times. The last ones may be missing where no command awaits
//! them: the connection may have ended before.

use std::collections::BTreeMap;

use crate::command::{Attribute, Command};
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::pattern::{content, number_of, write_content};
use crate::response::Response;

/// A worker and a connection on which it receives messages.
type Receiver = (u32, u32);

/// Number and length of a message.
type Sent = (u32, u32);

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let mut received: Vec<(Receiver, &[u8])> = Vec::new();
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::Received {
                connection,
                message,
            } = response
            {
                received.push(((worker, *connection), message));
            }
        }
    }
    // By receiver; messages keep their order.
    received.sort_by_key(|(receiver, _)| *receiver);
    let (connections, sent) = sent(interaction);
    let mut text = Vec::new();
    received
        .chunk_by(|one, other| one.0 == other.0)
        .find_map(|received| {
            let receiver = received[0].0;
            let connection = connections.get(&receiver.1);
            let attribute = connection.map_or(Attribute::Ro, |(attribute, ..)| *attribute);
            let begin = sent.partition_point(|(other, _)| *other < receiver);
            let end = sent.partition_point(|(other, _)| *other <= receiver);
            (!holds(attribute, &sent[begin..end], received, &mut text)).then(|| {
                let received: Vec<&[u8]> = received.iter().map(|(_, message)| *message).collect();
                let sent = sent[begin..end].iter();
                let sent: Vec<Vec<u8>> = sent
                    .map(|(_, (one, length))| content(*one, *length))
                    .collect();
                format!(
                    "worker {} on connection {} received {:?}, sent was {:?} ({attribute:?})",
                    receiver.0,
                    receiver.1,
                    texts(&received),
                    texts(&sent)
                )
            })
        })
}

/// Checks the messages of one receiver; `expected` is a buffer for the content of one.
fn holds(
    attribute: Attribute,
    sent: &[(Receiver, Sent)],
    received: &[(Receiver, &[u8])],
    expected: &mut Vec<u8>,
) -> bool {
    let mut is_sent = |(_, (number, length)): &(Receiver, Sent), message: &[u8]| {
        number_of(message) == Some(*number) && {
            write_content(expected, *number, *length);
            expected == message
        }
    };
    match attribute {
        Attribute::Ro => {
            let mut pairs = sent.iter().zip(received);
            received.len() <= sent.len() && pairs.all(|(one, (_, message))| is_sent(one, message))
        }
        Attribute::Ru => {
            let mut left: Vec<&(Receiver, Sent)> = sent.iter().collect();
            received.iter().all(|(_, message)| {
                let at = left.iter().position(|one| is_sent(one, message));
                at.map(|at| left.swap_remove(at)).is_some()
            })
        }
        Attribute::Uu => received
            .iter()
            .all(|(_, message)| sent.iter().any(|one| is_sent(one, message))),
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

/// The attribute and the two workers of a connection.
type Connection = (Attribute, u32, u32);

/// Returns the connections, and the messages that were sent, by their receivers and in the order of
/// their sends.
fn sent(interaction: &Interaction) -> (BTreeMap<u32, Connection>, Vec<(Receiver, Sent)>) {
    let mut connections = BTreeMap::new();
    let mut sent = Vec::new();
    for one in interaction.commands() {
        match one.command {
            Command::ConnectTo {
                to,
                connection,
                attribute,
                ..
            } => {
                connections.insert(connection, (attribute, one.worker, to));
            }
            Command::Send {
                connection,
                message,
                length,
                ..
            } => {
                let Some(&(_, from, to)) = connections.get(&connection) else {
                    continue;
                };
                let receiver = if one.worker == from { to } else { from };
                sent.push(((receiver, connection), (message, length)));
            }
            _ => {}
        }
    }
    sent.sort_by_key(|(receiver, _)| *receiver);
    (connections, sent)
}
