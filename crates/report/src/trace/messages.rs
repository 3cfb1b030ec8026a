//! Messages in flight, reassembled from the packets of an event log.
//!
//! Packets are identified as documented in `observe`. A message waits in one queue after another;
//! each queue is first in, first out: begun, on its way (eager) or announced (rendezvous), cleared,
//! data on their way. Queues are lists within one table, so a message in flight costs one entry of
//! the table and at most one queue.
//!
//! *Not modelled*: messages that are cancelled, or cut by a receive that is too short; these stay
//! in the table until their sender begins another with the same key. Data of cleared messages of
//! one pair of ranks can overtake each other, because the senders pack at different speeds; such
//! data are distinguished by length only.

use std::collections::BTreeMap;

use observe::PacketKind;

/// No entry.
const NONE: u32 = u32::MAX;

/// A message from the begin of its send until its last byte has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TracedMessage {
    /// Number of the message, from 0.
    pub id: u64,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// Number of bytes that have not arrived.
    left: u64,
    next: u32,
    /// The lane of the message in flight, a number of the sink.
    pub lane: u16,
    /// True if the message is in flight: bytes of the message have left the sender.
    flies: bool,
    /// True if the receive had to be posted before the data of the message left.
    pub is_rendezvous: bool,
    /// True if the arrow of the message begins at its send.
    pub has_send: bool,
}

/// The queue that a message is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
enum MessageStage {
    /// The send has begun.
    Begun,
    /// A first packet with all or some bytes of the message is on its way.
    Eager,
    /// Further packets are on their way.
    EagerNext,
    /// A request to send is on its way.
    Announced,
    /// The receiver knows the message.
    Known,
    /// The sender may send the data.
    Cleared,
    /// Data are on their way.
    Data,
}

/// Source, destination, stage, key of the packet.
type Queue = (u32, u32, MessageStage, u32);

/// A change of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageChange {
    /// The first byte of a message leaves. The entry of [`Messages::message_mut`].
    Departs(u32),
    /// The last byte of a message has arrived.
    Arrives(TracedMessage),
}

/// All messages that are begun and have not arrived.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    table: Vec<TracedMessage>,
    /// The first free entry.
    free: Option<u32>,
    /// First and last entry of each queue that is not empty.
    queues: BTreeMap<Queue, (u32, u32)>,
    /// Number of messages begun so far.
    begun: u64,
}

impl Messages {
    /// Returns a message, so that its lane can be set.
    pub(crate) fn message_mut(&mut self, entry: u32) -> &mut TracedMessage {
        &mut self.table[entry as usize]
    }

    fn insert_message(&mut self, bytes: u64) -> u32 {
        let message = TracedMessage {
            id: self.begun,
            bytes,
            left: bytes,
            next: NONE,
            lane: u16::MAX,
            flies: false,
            is_rendezvous: false,
            has_send: false,
        };
        self.begun += 1;
        if let Some(entry) = self.free {
            let old = std::mem::replace(&mut self.table[entry as usize], message);
            self.free = (old.next != NONE).then_some(old.next);
            return entry;
        }
        self.table.push(message);
        u32::try_from(self.table.len() - 1).unwrap_or(NONE)
    }

    fn remove_message(&mut self, entry: u32) -> TracedMessage {
        let slot = &mut self.table[entry as usize];
        let message = *slot;
        slot.next = self.free.unwrap_or(NONE);
        self.free = Some(entry);
        message
    }

    fn push(&mut self, queue: Queue, entry: u32) {
        self.table[entry as usize].next = NONE;
        let (_, last) = self.queues.entry(queue).or_insert((entry, entry));
        if *last != entry {
            let before = std::mem::replace(last, entry);
            self.table[before as usize].next = entry;
        }
    }

    /// Takes the first message of a queue that fits; the first if none does.
    fn take_message(&mut self, queue: Queue, fits: impl Fn(&TracedMessage) -> bool) -> Option<u32> {
        let (first, last) = *self.queues.get(&queue)?;
        let (mut before, mut entry) = (NONE, first);
        while entry != NONE && !fits(&self.table[entry as usize]) {
            before = entry;
            entry = self.table[entry as usize].next;
        }
        if entry == NONE {
            (before, entry) = (NONE, first);
        }
        let next = self.table[entry as usize].next;
        if before == NONE {
            if next == NONE {
                self.queues.remove(&queue);
            } else {
                self.queues.insert(queue, (next, last));
            }
        } else {
            self.table[before as usize].next = next;
            if next == NONE {
                self.queues.insert(queue, (first, before));
            }
        }
        Some(entry)
    }

    /// Returns the first message of a queue.
    fn first_message(&self, queue: Queue) -> Option<u32> {
        self.queues.get(&queue).map(|&(first, _)| first)
    }

    /// Begins a message. Returns the number of the message.
    pub(crate) fn begin_message(
        &mut self,
        (from, to): (u32, u32),
        bytes: u64,
        has_send: bool,
    ) -> u64 {
        let entry = self.insert_message(bytes);
        self.table[entry as usize].has_send = has_send;
        self.push((from, to, MessageStage::Begun, 0), entry);
        self.table[entry as usize].id
    }

    /// Takes the begun message of a first packet, or begins one that no send has begun.
    fn begun(&mut self, from: u32, to: u32, bytes: u64, is_whole: bool) -> u32 {
        let fits = |message: &TracedMessage| {
            message.bytes == bytes || (!is_whole && message.bytes > bytes)
        };
        let found = self.take_message((from, to, MessageStage::Begun, 0), fits);
        found.unwrap_or_else(|| self.insert_message(bytes))
    }

    fn departs(&mut self, entry: u32) -> Option<MessageChange> {
        let message = &mut self.table[entry as usize];
        (!std::mem::replace(&mut message.flies, true)).then_some(MessageChange::Departs(entry))
    }

    /// Takes a packet that a rank passes to its device.
    pub(crate) fn post_packet(
        &mut self,
        (rank, peer): (u32, u32),
        packet: PacketKind,
        key: u32,
        bytes: u64,
    ) -> Option<MessageChange> {
        match packet {
            PacketKind::Eager => {
                let entry = self.begun(rank, peer, bytes, false);
                self.push((rank, peer, MessageStage::Eager, 0), entry);
                self.departs(entry)
            }
            PacketKind::Rts => {
                let entry = self.begun(rank, peer, bytes, true);
                self.table[entry as usize].is_rendezvous = true;
                self.push((rank, peer, MessageStage::Announced, key), entry);
                None
            }
            PacketKind::Data => {
                let queue = (rank, peer, MessageStage::Data, key);
                if self.first_message(queue).is_some() {
                    return None;
                }
                let entry = self
                    .take_message((rank, peer, MessageStage::Cleared, 0), |message| {
                        message.bytes == bytes
                    })?;
                self.push(queue, entry);
                self.departs(entry)
            }
            // The receiver lets it leave from its peer.
            PacketKind::Pull => {
                let entry = self.take_message((peer, rank, MessageStage::Known, 0), |message| {
                    message.bytes == bytes
                })?;
                self.push((peer, rank, MessageStage::Data, key), entry);
                self.departs(entry)
            }
            PacketKind::EagerNext
            | PacketKind::Cts
            | PacketKind::Ack
            | PacketKind::Rma
            | PacketKind::Other => None,
        }
    }

    /// Takes a packet that a rank handles.
    pub(crate) fn handle_arrival(
        &mut self,
        (rank, peer): (u32, u32),
        packet: PacketKind,
        key: u32,
        bytes: u64,
    ) -> Option<MessageChange> {
        let any = |_: &TracedMessage| true;
        match packet {
            PacketKind::Eager => {
                let entry = self.take_message((peer, rank, MessageStage::Eager, 0), any)?;
                self.push((peer, rank, MessageStage::EagerNext, 0), entry);
                // Only the last of the queue has just come.
                self.arrived_last(peer, rank, entry, bytes)
            }
            PacketKind::EagerNext => {
                let queue = (peer, rank, MessageStage::EagerNext, 0);
                let entry = self.first_message(queue)?;
                self.arrived(queue, entry, bytes)
            }
            PacketKind::Rts => {
                let entry = self.take_message((peer, rank, MessageStage::Announced, key), any)?;
                let known = (peer, rank, MessageStage::Known, key);
                // An operation has one message: that of an earlier one was cancelled. Messages
                // whose senders have continued share the key 0.
                if key != 0
                    && let Some(cancelled) = self.take_message(known, any)
                {
                    self.remove_message(cancelled);
                }
                self.push(known, entry);
                None
            }
            PacketKind::Cts => {
                // Those before it were cancelled, or their senders have continued.
                let is_last = |message: &TracedMessage| message.next == NONE;
                let entry = self.take_message((rank, peer, MessageStage::Known, key), is_last)?;
                self.push((rank, peer, MessageStage::Cleared, 0), entry);
                None
            }
            PacketKind::Data => {
                let queue = (peer, rank, MessageStage::Data, key);
                let entry = self.first_message(queue)?;
                self.arrived(queue, entry, bytes)
            }
            PacketKind::Ack | PacketKind::Pull | PacketKind::Rma | PacketKind::Other => None,
        }
    }

    /// Counts the first bytes of an eager message.
    fn arrived_last(
        &mut self,
        peer: u32,
        rank: u32,
        entry: u32,
        bytes: u64,
    ) -> Option<MessageChange> {
        let message = &mut self.table[entry as usize];
        message.left = message.left.saturating_sub(bytes);
        if message.left > 0 {
            return None;
        }
        let number = message.id;
        let queue = (peer, rank, MessageStage::EagerNext, 0);
        let entry = self.take_message(queue, |message| message.id == number)?;
        Some(MessageChange::Arrives(self.remove_message(entry)))
    }

    /// Counts bytes of the first message of a queue.
    fn arrived(&mut self, queue: Queue, entry: u32, bytes: u64) -> Option<MessageChange> {
        let message = &mut self.table[entry as usize];
        message.left = message.left.saturating_sub(bytes);
        if message.left > 0 {
            return None;
        }
        let entry = self.take_message(queue, |_| true)?;
        Some(MessageChange::Arrives(self.remove_message(entry)))
    }
}
