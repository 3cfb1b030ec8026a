//! Unfinished operations of a rank when the rank ended, in words: for warnings.
//!
//! One line per kind and, for messages, per sender and tag, so that a thousand forgotten messages
//! are one line.

use std::collections::BTreeMap;

use crate::Envelope;
use crate::matching::envelope::TagInWords;
use crate::protocol::engine::ProtocolEngine;

/// The lines about one rank; `undelivered` are messages that had not even arrived.
pub(crate) fn list_leftovers(
    engine: &ProtocolEngine,
    undelivered: &[(Envelope, u64)],
) -> Vec<String> {
    let operations = &engine.requests.operations;
    let mut texts: Vec<String> = operations
        .list_posted(false)
        .map(|(pattern, at)| format!("unmatched receive ({pattern}) posted at {at}"))
        .collect();
    let unreceived = engine.unreceived().chain(undelivered.iter().copied());
    let mut unreceived: Vec<(Envelope, u64)> = unreceived
        .filter(|(envelope, _)| !envelope.is_partition())
        .collect();
    let (some, any): (Vec<_>, Vec<_>) = operations
        .list_posted(true)
        .partition(|(pattern, _)| pattern.source.is_some());
    let mut given_up = some.into_iter().chain(any).filter(|(pattern, _)| {
        // The run was over before the message came.
        let mut messages = unreceived.iter();
        let found = messages.position(|(envelope, _)| pattern.accepts(envelope));
        found.map(|position| unreceived.remove(position)).is_none()
    });
    let first = given_up.next();
    let others = given_up.count();
    if let Some((pattern, at)) = first {
        texts.push(match others {
            0 => format!("unmatched receive ({pattern}) dropped, posted at {at}"),
            others => format!(
                "{} receives were dropped and got no message, the first ({pattern}) posted at {at}",
                others + 1
            ),
        });
    }
    let dropped = engine.requests.rare.dropped_requests();
    if let Some((envelope, at, count)) = dropped.and_then(|all| all.lost.as_deref()) {
        let (source, tag) = (envelope.source, TagInWords(envelope.tag));
        texts.push(format!(
            "{count} of the receives that were given up had their messages, the first (from rank {source}, tag {tag}) posted at {at}: these data are lost"
        ));
    }
    if let Some((at, count)) = dropped.and_then(|all| all.forgotten) {
        texts.push(format!(
            "{count} of the requests were dropped and never waited for or freed, the first started at {at}"
        ));
    }
    let mut messages: BTreeMap<(u32, u32, u32), (u64, u64)> = BTreeMap::new();
    for (envelope, length) in unreceived {
        let key = (envelope.context, envelope.source, envelope.tag);
        let (count, bytes) = messages.entry(key).or_default();
        *count += 1;
        *bytes += length;
    }
    texts.extend(messages.into_iter().map(|((_, source, tag), (count, bytes))| {
        let tag = TagInWords(tag);
        if count == 1 {
            format!("unreceived message: {bytes} bytes from rank {source}, tag {tag}")
        } else {
            format!("unreceived: {count} messages, {bytes} bytes in all, from rank {source}, tag {tag}")
        }
    }));
    texts
}
