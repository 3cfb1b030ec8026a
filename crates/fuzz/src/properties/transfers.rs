//! Remote memory has the contents of a sequential execution: reads return the bytes of earlier
//! writes, completion messages arrive after their data, and the buffers have the right bytes at the
//! end. Generated transfers are ordered by the queue pair or by fences wherever they overlap.

use std::collections::BTreeMap;

use crate::command::{BUFFER, Command, Span};
use crate::driver::Outcome;
use crate::interaction::Interaction;
use crate::pattern::{pattern, pattern_bytes};
use crate::response::Response;

/// Expected bytes; `None` for bytes that later transfers may have changed.
type Expected = Vec<Option<u8>>;

pub(super) fn find_violation(interaction: &Interaction, outcome: &Outcome) -> Option<String> {
    let mut model = Model::default();
    for one in interaction.commands() {
        model.execute_command(one.worker, &one.command);
    }
    for (worker, responses) in (0..).zip(&outcome.responses) {
        let mut contents = 0;
        for response in responses {
            let (what, connection, number, bytes) = match response {
                Response::RmaEnded {
                    connection,
                    message,
                    bytes,
                    ..
                } => ("read", *connection, *message, bytes),
                Response::RmaArrived {
                    connection,
                    message,
                    bytes,
                } => ("write", *connection, *message, bytes),
                Response::Content { connection, bytes } => {
                    contents += 1;
                    ("buffer", *connection, contents, bytes)
                }
                _ => continue,
            };
            let expected = model.expected.get(&(what, worker, connection, number));
            if let Some(place) = expected.and_then(|expected| first_difference(expected, bytes)) {
                return Some(format!(
                    "worker {worker} on connection {connection}: {what} {number} has a wrong byte at {place} of {}",
                    bytes.len()
                ));
            }
        }
    }
    None
}

/// Returns the place of the first byte that is not as expected.
fn first_difference(expected: &[Option<u8>], found: &[u8]) -> Option<usize> {
    // Bytes of a buffer that is gone cannot be compared.
    if found.is_empty() {
        return None;
    }
    let differs = |place: &usize| {
        let expected = expected.get(*place).copied().flatten();
        expected.is_some_and(|byte| found.get(*place) != Some(&byte))
    };
    (0..expected.len()).find(differs)
}

/// A sequential execution.
#[derive(Default)]
struct Model {
    /// Workers of a connection.
    ends: BTreeMap<u32, (u32, u32)>,
    /// Buffers, by worker and connection.
    buffers: BTreeMap<(u32, u32), Vec<u8>>,
    /// Buffers that are free, by worker.
    free: BTreeMap<u32, Vec<Vec<u8>>>,
    /// By worker and connection: true if the next exchange uses a free buffer.
    reuses: BTreeMap<(u32, u32), bool>,
    /// By kind, worker, connection and message; contents of buffers by their count at the worker.
    expected: BTreeMap<(&'static str, u32, u32, u32), Expected>,
    /// Writes with a completion message for which the peer has not waited: worker, connection,
    /// message and place.
    open: Vec<((u32, u32, u32), u32)>,
    contents: BTreeMap<u32, u32>,
}

impl Model {
    fn execute_command(&mut self, worker: u32, command: &Command) {
        let connection = command.connection();
        let key = (worker, connection);
        match command {
            Command::ConnectTo { to, .. } => {
                self.ends.insert(connection, (worker, *to));
            }
            Command::RmaReuseHandle { .. } => {
                self.reuses.insert(key, true);
            }
            Command::RmaHandleExchange { .. } => self.exchange_handles(key),
            Command::RmaPrepareRead { message, .. } => {
                let bytes = pattern_bytes(*message, BUFFER);
                self.buffers.insert(key, bytes);
            }
            Command::RmaWrite { message, span, .. } => self.apply_write(key, *message, *span),
            Command::RmaRead { message, span, .. } => self.apply_read(key, *message, *span),
            Command::RmaWait { message, .. } => {
                self.open
                    .retain(|(of, _)| *of != (worker, connection, *message));
            }
            Command::RmaContent { .. } => {
                let count = self.contents.entry(worker).or_default();
                *count += 1;
                if let Some(buffer) = self.buffers.get(&key) {
                    let bytes = buffer.iter().copied().map(Some).collect();
                    let key = ("buffer", worker, connection, *count);
                    self.expected.insert(key, bytes);
                }
            }
            Command::RmaFreeHandles { .. } => {
                let free = self.free.entry(worker).or_default();
                free.extend(self.buffers.remove(&key));
            }
            Command::RmaDeregister { .. } => {
                self.buffers.remove(&key);
            }
            _ => {}
        }
    }

    fn exchange_handles(&mut self, key: (u32, u32)) {
        if self.buffers.contains_key(&key) {
            return;
        }
        let reused = if self.reuses.remove(&key).unwrap_or(false) {
            self.free.entry(key.0).or_default().pop()
        } else {
            None
        };
        let fresh = || vec![0; BUFFER as usize];
        self.buffers.insert(key, reused.unwrap_or_else(fresh));
    }

    fn peer(&self, (worker, connection): (u32, u32)) -> Option<(u32, u32)> {
        let (from, to) = *self.ends.get(&connection)?;
        Some((if worker == from { to } else { from }, connection))
    }

    fn apply_write(&mut self, key: (u32, u32), message: u32, span: Span) {
        let Some(peer) = self.peer(key) else {
            return;
        };
        for place in 0..span.length {
            let byte = pattern(message, place);
            if let Some(buffer) = self.buffers.get_mut(&key) {
                buffer[(span.local + place) as usize] = byte;
            }
            if let Some(buffer) = self.buffers.get_mut(&peer) {
                buffer[(span.remote + place) as usize] = byte;
            }
            self.mark_unknown(peer, span.remote + place);
        }
        let bytes = pattern_bytes(message, span.length);
        let bytes = bytes.into_iter().map(Some).collect();
        let place = (peer.0, peer.1, message);
        let entry = ("write", place.0, place.1, place.2);
        self.expected.insert(entry, bytes);
        self.open.push((place, span.remote));
    }

    /// Notes that a byte may have changed when the completion messages of earlier writes arrive.
    fn mark_unknown(&mut self, (worker, connection): (u32, u32), place: u32) {
        for ((of, at, message), begin) in &self.open {
            if (*of, *at) == (worker, connection)
                && let Some(offset) = place.checked_sub(*begin)
                && let Some(bytes) = self.expected.get_mut(&("write", *of, *at, *message))
                && let Some(byte) = bytes.get_mut(offset as usize)
            {
                *byte = None;
            }
        }
    }

    fn apply_read(&mut self, key: (u32, u32), message: u32, span: Span) {
        let remote = self.peer(key).and_then(|peer| self.buffers.get(&peer));
        let Some(remote) = remote else {
            return;
        };
        let begin = span.remote as usize;
        let bytes = remote[begin..begin + span.length as usize].to_vec();
        if let Some(buffer) = self.buffers.get_mut(&key) {
            let begin = span.local as usize;
            buffer[begin..begin + bytes.len()].copy_from_slice(&bytes);
        }
        let bytes = bytes.into_iter().map(Some).collect();
        self.expected.insert(("read", key.0, key.1, message), bytes);
    }
}
