//! Packets under way. Among packets of one source, destination, kind and key, the first that was
//! posted is the first that arrives.

use std::collections::BTreeMap;

use observe::{NameId, PacketKind};

use super::profile::{PathTime, Profile};

/// The history of the message of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MessageOrigin {
    /// The rank that sends the message.
    pub(crate) sender: u32,
    /// The time in seconds at which its program began the send, or entered the collective operation
    /// of which it is a step.
    pub(crate) began: f64,
    /// The call in which the sender spent time before, and its line.
    pub(crate) doing: (NameId, NameId),
    /// The rank that receives it, the time in seconds at which its program posted the receive, and
    /// what it did before; `None` if the receive was there first.
    pub(crate) receive: Option<LateReceive>,
}

/// A receive that was posted after its message had been announced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LateReceive {
    pub(crate) rank: u32,
    pub(crate) posted: f64,
    pub(crate) doing: (NameId, NameId),
}

/// Durations of a transfer in seconds, as far as they are known before it has ended.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct TransferParts {
    /// Its latency, and its duration alone on its route; `None` if the log does not tell them.
    pub(crate) alone: Option<(f64, f64)>,
}

impl TransferParts {
    /// Returns the parts of a transfer that has taken this long.
    pub(crate) fn of(self, seconds: f64) -> [(PathTime, f64); 3] {
        let Some((latency, alone)) = self.alone else {
            return [
                (PathTime::Transfer, seconds),
                (PathTime::Bandwidth, 0.0),
                (PathTime::Contention, 0.0),
            ];
        };
        let latency = latency.clamp(0.0, seconds.max(0.0));
        let alone = alone.clamp(latency, seconds.max(latency));
        [
            (PathTime::Latency, latency),
            (PathTime::Bandwidth, alone - latency),
            (PathTime::Contention, (seconds - alone).max(0.0)),
        ]
    }
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// The time at which it was posted, in seconds.
    pub(crate) posted: f64,
    pub(crate) parts: TransferParts,
    pub(crate) origin: Option<MessageOrigin>,
    /// Of the path to its post.
    pub(crate) profile: Profile,
}

/// Identity of packets: source, destination, kind, key.
type Identity = (u32, u32, PacketKind, u32);

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// All packets under way.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    queues: BTreeMap<Identity, Queue>,
    /// Flights with the next one of their queue, or the next free place.
    slots: Vec<(Flight, u32)>,
    free: Option<u32>,
}

impl Flights {
    /// A packet is posted.
    pub(crate) fn post(&mut self, identity: Identity, flight: Flight) {
        let slot = match self.free {
            Some(slot) => {
                let next = self.slots[slot as usize].1;
                self.free = (next != NONE).then_some(next);
                self.slots[slot as usize] = (flight, NONE);
                slot
            }
            None => {
                self.slots.push((flight, NONE));
                u32::try_from(self.slots.len() - 1).expect("packets under way fit 32 bits")
            }
        };
        let fresh = Queue {
            first: NONE,
            last: NONE,
        };
        let queue = self.queues.entry(identity).or_insert(fresh);
        if queue.last == NONE {
            queue.first = slot;
        } else {
            self.slots[queue.last as usize].1 = slot;
        }
        queue.last = slot;
    }

    /// The network tells the durations of a packet: of the one that was posted last, or the first
    /// of which it has not told them.
    pub(crate) fn inject(&mut self, identity: Identity, parts: TransferParts) {
        let Some(queue) = self.queues.get(&identity) else {
            return;
        };
        let mut slot = queue.last;
        if self.slots[slot as usize].0.parts.alone.is_some() {
            slot = queue.first;
            while slot != NONE && self.slots[slot as usize].0.parts.alone.is_some() {
                slot = self.slots[slot as usize].1;
            }
        }
        if slot != NONE {
            self.slots[slot as usize].0.parts = parts;
        }
    }

    /// A packet arrives; `None` if its post was not observed.
    pub(crate) fn arrive(&mut self, identity: Identity) -> Option<Flight> {
        let queue = self.queues.get_mut(&identity)?;
        let slot = queue.first;
        let (flight, next) = self.slots[slot as usize];
        if next == NONE {
            self.queues.remove(&identity);
        } else {
            queue.first = next;
        }
        self.slots[slot as usize].1 = self.free.unwrap_or(NONE);
        self.free = Some(slot);
        Some(flight)
    }
}
