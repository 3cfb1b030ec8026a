//! One rank's packet buffers and connections if [limits](Limits) are set: this module executes the
//! tables of [`machine`].
//!
//! Inputs are messages to send ([`FlowControl::send`]), packets that have left
//! ([`FlowControl::handle_left`]), and reports of the peer ([`FlowControl::apply_credit_return`]);
//! outputs are [`FlowAction`]s, in their order. No I/O, no clock: the time is an argument.
//!
//! A *credit* stands for a packet buffer at the peer. Each packet except a flow-control update
//! takes a credit. The credit comes back when the packet is used up: at once, except for an eager
//! message that waits for its receive in its packets. The first packet in either direction makes
//! the state of a connection.

mod connection;
mod lost;
mod receiving;
mod reporting;
mod sending;
mod told;

use std::collections::{BTreeMap, VecDeque};

pub(crate) use connection::{
    FlowControlledConnection, Hold, MessageType, OutboundMessage, PacketSlot,
};
pub use told::{ConnectionReport, FlowReport};

use observe::Resource;

use crate::channel::{CreditReturn, Packet, PostingCost, Settings, Token};
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::protocol::machine;
use crate::{Limits, TransportMode};

/// Action for the engine.
#[derive(Clone, Debug)]
pub(crate) enum FlowAction {
    /// Send a packet; if there is a slot, call [`FlowControl::handle_left`] when the packet has
    /// left.
    Post {
        peer: u32,
        packet: Packet,
        slot: Option<PacketSlot>,
    },
    /// The message of an operation has left the program's memory.
    Finished(Token),
    /// The eager message of an operation goes by rendezvous.
    Converted(Token),
    /// Let this many seconds pass in which the packets for a peer are packed; then
    /// [`FlowControl::handle_packed`].
    Pack { peer: u32, seconds: f64 },
    /// Packets for a peer have waited for a resource for this many seconds, and do not any more.
    Held {
        peer: u32,
        resource: Resource,
        seconds: f64,
    },
}

/// Number of times that each transition was taken, by its place in the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Of [`machine::send_machine()`].
    pub send: Vec<u64>,
    /// Of [`machine::receive_machine()`].
    pub receive: Vec<u64>,
    /// Of [`machine::credits()`].
    pub credits: Vec<u64>,
}

/// The connections of a rank, and their shared resources.
#[derive(Clone, Debug)]
pub(crate) struct FlowControl {
    limits: Limits,
    costs: Costs,
    shared: SharedResources,
    connections: BTreeMap<u32, Box<FlowControlledConnection>>,
    /// The connections that wait for packet buffers, in the order in which they began to.
    line: VecDeque<u32>,
    /// Memory in use for unexpected messages, in bytes, and its maximum so far.
    memory: u64,
    memory_peak: u64,
    taken: Taken,
    pub(crate) defects: ProtocolDefects,
}

/// Parameters of the cost of posting packets.
#[derive(Clone, Copy, Debug)]
struct Costs {
    posting: PostingCost,
    copy_bandwidth: f64,
}

/// Resources shared by the connections of a rank.
#[derive(Clone, Debug)]
struct SharedResources {
    /// Free packet buffers.
    buffers: Option<u32>,
    /// Packets and machines that each operation still waits for.
    activities: BTreeMap<Token, u32>,
    /// Packets that hold a resource until they have left.
    under_way: u32,
    effects: VecDeque<FlowAction>,
}

impl FlowControl {
    /// Returns the resources of a rank for a channel with these settings; limits must be set.
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let limits = settings.limits.as_ref().expect("limits are set");
        let mut flow = match settings.variant {
            TransportMode::Packet => Self::new(limits),
            // The stream cuts messages up, holds senders back and keeps what was not read, by
            // itself.
            TransportMode::Stream => Self::new(&Limits {
                packet: None,
                credits: None,
                direct: true,
                ..limits.clone()
            }),
        };
        flow.costs = Costs {
            posting: settings.posting,
            copy_bandwidth: settings.copy_bandwidth,
        };
        flow
    }

    pub(crate) fn new(limits: &Limits) -> Self {
        let limits = Limits {
            buffers: limits.buffers.map(|buffers| buffers.max(1)),
            ..limits.clone()
        };
        Self {
            costs: Costs {
                posting: PostingCost::default(),
                copy_bandwidth: f64::INFINITY,
            },
            shared: SharedResources {
                buffers: limits.buffers,
                activities: BTreeMap::new(),
                under_way: 0,
                effects: VecDeque::new(),
            },
            limits,
            connections: BTreeMap::new(),
            line: VecDeque::new(),
            memory: 0,
            memory_peak: 0,
            taken: Taken {
                send: vec![0; machine::send::ROWS.len()],
                receive: vec![0; machine::receive::ROWS.len()],
                credits: vec![0; machine::credits::ROWS.len()],
            },
            defects: ProtocolDefects::default(),
        }
    }

    /// The largest payload of a packet.
    pub(crate) fn max_packet(&self) -> u64 {
        self.limits.packet_max()
    }

    /// The next thing to do.
    pub(crate) fn effect(&mut self) -> Option<FlowAction> {
        self.shared.effects.pop_front()
    }

    fn connection(&mut self, peer: u32, now: f64) -> &mut FlowControlledConnection {
        let limits = &self.limits;
        let fresh = || Box::new(FlowControlledConnection::new(peer, limits, now));
        self.connections.entry(peer).or_insert_with(fresh)
    }

    /// Puts a message into the queue of a connection.
    pub(crate) fn queue_message(&mut self, peer: u32, message: OutboundMessage, now: f64) {
        let connection = self.connection(peer, now);
        if message.kind == MessageType::Answer {
            connection.answers.push_back(message);
        } else {
            connection.queue.push_back(message);
            if self.defects.has(ProtocolDefect::LatestFirst) {
                let queue = &mut self.connection(peer, now).queue;
                queue.rotate_right(1);
            }
        }
        self.run_machines(peer, now);
    }

    /// Handles the peer's report of the packets that the peer has used up.
    pub(crate) fn apply_credit_return(&mut self, peer: u32, returned: &CreditReturn, now: f64) {
        let limits = self.limits.clone();
        self.connection(peer, now)
            .apply_credit_return(&limits, returned);
        self.run_machines(peer, now);
    }

    /// Handles a packet that has left for good: frees its resource and continues waiting peers.
    pub(crate) fn handle_left(&mut self, slot: PacketSlot, now: f64) {
        self.shared.under_way -= 1;
        match slot.hold {
            Hold::Nothing => {}
            Hold::Pool if self.defects.has(ProtocolDefect::BufferLost) => {}
            Hold::Pool => self.shared.give_back(1),
            Hold::Reserved => {
                self.connection(slot.peer, now).reserved += 1;
                self.run_machines(slot.peer, now);
            }
        }
        if let Some(operation) = slot.operation {
            self.shared.drop_activity(operation);
        }
        if !self.defects.has(ProtocolDefect::NoWakeOnBuffers) {
            self.serve(now);
        }
    }

    /// Handles the end of packing of the next packet to a peer.
    pub(crate) fn handle_packed(&mut self, peer: u32, now: f64) {
        self.connection(peer, now).packed = true;
        self.run_machines(peer, now);
    }

    /// Takes a message out of the queue of a connection, unless its first packet has left or is
    /// being packed.
    pub(crate) fn withdraw_message(&mut self, peer: u32, send: Token, now: f64) -> bool {
        let Some(connection) = self.connections.get_mut(&peer) else {
            return false;
        };
        let is_it = |message: &OutboundMessage| {
            message.operation == Some(send) || message.waiting_send() == Some(send)
        };
        if let Some(position) = connection.queue.iter().position(is_it) {
            connection.queue.remove(position);
            return true;
        }
        if !connection.can_cancel() || !connection.message.as_ref().is_some_and(is_it) {
            return false;
        }
        connection.withdrawn = true;
        self.run_machines(peer, now);
        self.serve(now);
        true
    }

    /// Continues the connections that wait for buffers.
    fn serve(&mut self, now: f64) {
        for _ in 0..self.line.len() {
            if self.shared.buffers == Some(0) {
                break;
            }
            if let Some(peer) = self.line.pop_front() {
                self.connection(peer, now).in_line = false;
                self.run_machines(peer, now);
            }
        }
    }

    /// Lets the machines of a connection continue as far as they can. At the end of an event, so
    /// that answers may take along the news for the peer.
    pub(crate) fn run_machines(&mut self, peer: u32, now: f64) {
        // What is sent takes along what there is to tell the peer.
        self.run_send(peer, now);
        self.run_credits(peer);
        let connection = self.connection(peer, now);
        if connection.awaits_buffer() && !connection.in_line {
            connection.in_line = true;
            self.line.push_back(peer);
        }
    }

    /// Returns true if no message is queued and no packet is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        let mut all = self.connections.values();
        self.shared.under_way == 0 && all.all(|connection| connection.is_idle())
    }

    /// The most memory that unexpected messages have ever taken, in bytes.
    pub(crate) const fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    pub(crate) const fn taken(&self) -> &Taken {
        &self.taken
    }

    /// All connections, by peer.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &FlowControlledConnection> {
        self.connections.values().map(|connection| &**connection)
    }

    /// Returns the resource that the connection to a peer waits for, in words.
    pub(crate) fn waits_for(&self, peer: u32) -> Option<&'static str> {
        self.connections.get(&peer)?.waits_for()
    }

    /// The state that determines the next events, as text, without data that is only reported.
    #[cfg(test)]
    pub(crate) fn key(&self) -> String {
        let (shared, memory) = (&self.shared, self.memory);
        format!("{shared:?} {:?} {:?} {memory}", self.connections, self.line)
    }

    /// Returns the peer of a connection with a machine that waits for an available resource.
    #[cfg(test)]
    pub(crate) fn find_missed_wakeup(&self) -> Option<u32> {
        let mut all = self.connections();
        let found = all.find(|connection| {
            let event = connection.current_event(&self.limits, &self.costs, self.shared.buffers);
            event.is_some()
        });
        found.map(|connection| connection.peer)
    }

    /// Returns true if everything that was taken is back.
    fn is_settled(&self) -> bool {
        let buffers = self.shared.buffers == self.limits.buffers;
        buffers && self.memory == 0 && self.shared.activities.is_empty() && self.is_idle()
    }
}

impl SharedResources {
    /// One of the things that an operation waits for is over; with the last one the message has
    /// left.
    fn drop_activity(&mut self, operation: Token) {
        let count = self.activities.get_mut(&operation);
        let count = count.expect("an operation with activities is known");
        *count = count
            .checked_sub(1)
            .expect("activities are never below 0 (M-13)");
        if *count == 0 {
            self.activities.remove(&operation);
            self.effects.push_back(FlowAction::Finished(operation));
        }
    }
}

#[cfg(test)]
mod tests;
