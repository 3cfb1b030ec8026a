//! Packets under way. Among packets of one source, destination, kind and key, the first that was
//! posted is the first that arrives.

use std::collections::BTreeMap;

use observe::{NameId, PacketKind, Resource};

use super::profile::{PathPlace, PathTime, SharedProfile};

/// The history of the message of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MessageOrigin {
    /// The rank that sends the message.
    pub(crate) sender: u32,
    /// The time in seconds at which the program of the sender began the send, or entered the
    /// collective operation of which the send is a step.
    pub(crate) began: f64,
    /// The call in which the sender spent time before, and the source line of the call.
    pub(crate) doing: (NameId, NameId),
    /// The receiver, the time in seconds at which its program posted the receive, and its call
    /// before the receive; `None` if the receive was posted first.
    pub(crate) receive: Option<LateReceive>,
    /// The latest wait of the packets of the message for a resource.
    pub(crate) held: Option<Hold>,
}

/// Waits of the packets of a message for a resource, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// The latest one.
    pub(crate) resource: Resource,
    /// Beginning of the first wait.
    pub(crate) from: f64,
    /// End of the last one.
    pub(crate) until: f64,
    /// Their sum.
    pub(crate) seconds: f64,
}

impl Hold {
    /// Returns the wait for a resource that ends at a time.
    pub(crate) const fn ending_at(resource: Resource, until: f64, seconds: f64) -> Self {
        Self {
            resource,
            from: until - seconds,
            until,
            seconds,
        }
    }

    /// Returns their part between two times: all of a single wait, else a proportion.
    pub(crate) fn within(&self, from: f64, until: f64) -> f64 {
        let whole = self.until - self.from;
        let part = (self.until.min(until) - self.from.max(from)).max(0.0);
        if whole > 0.0 {
            part * (self.seconds / whole).min(1.0)
        } else {
            0.0
        }
    }

    /// Adds waits of packets that were posted before.
    pub(crate) const fn after(self, earlier: Self) -> Self {
        Self {
            from: self.from.min(earlier.from),
            seconds: self.seconds + earlier.seconds,
            ..self
        }
    }
}

impl MessageOrigin {
    /// Merges the origin of the earlier packets of a message into the origin of a further packet.
    pub(crate) fn continues(&mut self, earlier: Self) {
        if self.began == f64::NEG_INFINITY && earlier.sender == self.sender {
            self.began = earlier.began;
            self.held = match (self.held, earlier.held) {
                (Some(own), Some(earlier)) => Some(own.after(earlier)),
                (own, earlier) => own.or(earlier),
            };
        }
    }
}

/// A receive that was posted after its message had been announced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LateReceive {
    pub(crate) rank: u32,
    pub(crate) posted: f64,
    pub(crate) doing: (NameId, NameId),
}

/// Durations of a transfer in seconds, as known before the transfer has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TransferParts {
    /// Latency of the transfer; not a number if the log has no latency.
    latency: f64,
    /// Duration of the transfer alone on its route.
    alone: f64,
}

impl Default for TransferParts {
    fn default() -> Self {
        Self::known(f64::NAN, 0.0)
    }
}

impl TransferParts {
    /// Returns a transfer with this latency and this duration alone on its route.
    pub(crate) const fn known(latency: f64, alone: f64) -> Self {
        Self { latency, alone }
    }

    /// Returns true if the log tells them.
    pub(crate) const fn is_known(self) -> bool {
        !self.latency.is_nan()
    }

    /// Returns the parts of a transfer that has taken this long.
    pub(crate) fn split_transfer(self, seconds: f64) -> [(PathTime, f64); 3] {
        if !self.is_known() {
            return [
                (PathTime::Transfer, seconds),
                (PathTime::Bandwidth, 0.0),
                (PathTime::Contention, 0.0),
            ];
        }
        let latency = self.latency.clamp(0.0, seconds.max(0.0));
        let alone = self.alone.clamp(latency, seconds.max(latency));
        [
            (PathTime::Latency, latency),
            (PathTime::Bandwidth, alone - latency),
            (PathTime::Contention, (seconds - alone).max(0.0)),
        ]
    }
}

/// A packet under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// The time in seconds at which the packet was posted.
    pub(crate) posted: f64,
    pub(crate) parts: TransferParts,
    pub(crate) origin: Option<MessageOrigin>,
    /// Profile of the path to the post of the packet.
    pub(crate) profile: SharedProfile,
}

/// Identity of packets: source, destination, kind, key.
pub(crate) type Identity = (u32, u32, PacketKind, u32);

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct QueueEnds {
    first: u32,
    last: u32,
}

/// Packets under way, with a value each.
#[derive(Debug)]
pub(crate) struct PacketQueues<T> {
    queues: BTreeMap<Identity, QueueEnds>,
    /// Values with the next one of their queue, or the next free place.
    slots: Vec<(T, u32)>,
    free: Option<u32>,
}

impl<T> Default for PacketQueues<T> {
    fn default() -> Self {
        Self {
            queues: BTreeMap::new(),
            slots: Vec::new(),
            free: None,
        }
    }
}

impl<T> PacketQueues<T> {
    /// Appends a packet.
    pub(crate) fn push_packet(&mut self, identity: Identity, value: T) {
        let slot = match self.free {
            Some(slot) => {
                let next = self.slots[slot as usize].1;
                self.free = (next != NONE).then_some(next);
                self.slots[slot as usize] = (value, NONE);
                slot
            }
            None => {
                self.slots.push((value, NONE));
                u32::try_from(self.slots.len() - 1).expect("packets under way fit 32 bits")
            }
        };
        let fresh = QueueEnds {
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

    /// Returns the packet that was appended last.
    pub(crate) fn last_mut(&mut self, identity: Identity) -> Option<&mut T> {
        let slot = self.queues.get(&identity)?.last;
        Some(&mut self.slots[slot as usize].0)
    }

    /// Returns the first packet that fits.
    pub(crate) fn find_mut(
        &mut self,
        identity: Identity,
        fits: impl Fn(&T) -> bool,
    ) -> Option<&mut T> {
        let mut slot = self.queues.get(&identity)?.first;
        while slot != NONE && !fits(&self.slots[slot as usize].0) {
            slot = self.slots[slot as usize].1;
        }
        let found = self.slots.get_mut(slot as usize)?;
        Some(&mut found.0)
    }

    /// Changes all packets from a source to a destination.
    pub(crate) fn change_pair(
        &mut self,
        source: u32,
        destination: u32,
        mut change: impl FnMut(&mut T),
    ) {
        let [first, .., last] = PacketKind::ALL;
        let pair = |kind, key| (source, destination, kind, key);
        for queue in self.queues.range(pair(first, 0)..=pair(last, u32::MAX)) {
            let mut slot = queue.1.first;
            while slot != NONE {
                let (value, next) = &mut self.slots[slot as usize];
                change(value);
                slot = *next;
            }
        }
    }
}

impl<T: Default> PacketQueues<T> {
    /// Removes the first packet; `None` if there is none.
    pub(crate) fn pop_packet(&mut self, identity: Identity) -> Option<T> {
        let queue = self.queues.get_mut(&identity)?;
        let slot = queue.first;
        let (value, next) = &mut self.slots[slot as usize];
        let (value, next) = (std::mem::take(value), *next);
        if next == NONE {
            self.queues.remove(&identity);
        } else {
            queue.first = next;
        }
        self.slots[slot as usize].1 = self.free.unwrap_or(NONE);
        self.free = Some(slot);
        Some(value)
    }
}

/// All packets under way.
pub(crate) type Flights = PacketQueues<Flight>;

impl Flights {
    /// Packets to a peer have waited for the connection since they were posted. `at`: the call of
    /// their sender.
    pub(crate) fn add_connection_hold(&mut self, at: PathPlace, peer: u32, hold: Hold) {
        self.change_pair(at.rank, peer, |flight| {
            let seconds = hold.until - flight.posted;
            (flight.profile).spend(PathTime::Resources, at, seconds);
            flight.posted = hold.until;
            if let Some(origin) = &mut flight.origin {
                origin.held = Some(hold);
            }
        });
    }

    /// Takes the durations of a packet from the network. The packet is the last posted packet, or
    /// the first posted packet without durations.
    pub(crate) fn inject(&mut self, identity: Identity, parts: TransferParts) {
        let is_open = |flight: &Flight| !flight.parts.is_known();
        let last = self.last_mut(identity).filter(|flight| is_open(flight));
        if let Some(flight) = last {
            flight.parts = parts;
        } else if let Some(flight) = self.find_mut(identity, is_open) {
            flight.parts = parts;
        }
    }
}
