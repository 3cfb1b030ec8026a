//! Messages arrive as they were sent: on RO connections once and in order, on RU connections once,
//! on UU connections any number of times.

use std::collections::BTreeMap;

use crate::driver::Outcome;
use crate::interaction::{Attribute, Command, Interaction};
use crate::worker::{Response, content};

/// Messages to one worker on one connection, in the order of their sends or arrivals.
type Messages = BTreeMap<(u32, u32), Vec<Vec<u8>>>;

pub(super) fn check(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let (attributes, sent) = sent(interaction);
    let mut received = Messages::new();
    for (worker, responses) in (0..).zip(&outcome.responses) {
        for response in responses {
            if let Response::Received {
                connection,
                message,
            } = response
            {
                let messages = received.entry((worker, *connection)).or_default();
                messages.push(message.clone());
            }
        }
    }
    let none = Vec::new();
    let keys = sent.keys().chain(received.keys());
    keys.into_iter().find_map(|key| {
        let (sent, received) = (
            sent.get(key).unwrap_or(&none),
            received.get(key).unwrap_or(&none),
        );
        let attribute = attributes.get(&key.1).copied().unwrap_or(Attribute::Ro);
        let holds = match attribute {
            Attribute::Ro => sent == received,
            Attribute::Ru => sorted(sent) == sorted(received),
            Attribute::Uu => received.iter().all(|message| sent.contains(message)),
        };
        (!holds).then(|| {
            let text = |messages: &[Vec<u8>]| -> Vec<String> {
                let text = |message: &Vec<u8>| String::from_utf8_lossy(message).into_owned();
                messages.iter().map(text).collect()
            };
            format!(
                "worker {} on connection {} received {:?}, expected {:?} ({attribute:?})",
                key.0,
                key.1,
                text(received),
                text(sent)
            )
        })
    })
}

fn sorted(messages: &[Vec<u8>]) -> Vec<&Vec<u8>> {
    let mut sorted: Vec<&Vec<u8>> = messages.iter().collect();
    sorted.sort_unstable();
    sorted
}

/// Returns the attributes of connections, and the messages that were sent to each worker.
fn sent(interaction: &Interaction) -> (BTreeMap<u32, Attribute>, Messages) {
    let (mut attributes, mut ends) = (BTreeMap::new(), BTreeMap::new());
    let commands = interaction.steps.iter().flat_map(|step| &step.commands);
    for one in commands.clone() {
        if let Command::ConnectTo {
            to,
            connection,
            attribute,
        } = one.command
        {
            attributes.insert(connection, attribute);
            ends.insert(connection, (one.worker, to));
        }
    }
    let mut sent = Messages::new();
    for one in commands {
        if let Command::Send {
            connection,
            message,
            length,
        } = one.command
            && let Some(&(from, to)) = ends.get(&connection)
        {
            let receiver = if one.worker == from { to } else { from };
            let messages = sent.entry((receiver, connection)).or_default();
            messages.push(content(message, length));
        }
    }
    (attributes, sent)
}
