//! The queue of future events, ordered by (time, link, kind) and never by insertion.
//!
//! A 4-ary heap: half as deep as a binary one, and the children of an entry share a cache line.

use super::topology::PacketLinkId;

/// The kind of an event; equal-time events of one link happen in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventKind {
    /// The packet can leave the switch at the end of the link.
    Eligible = 0,
    /// The last bit has reached the buffer at the end of the link (credit packets).
    Received = 1,
    /// The last bit of the packet has reached the host at the end of the link.
    Delivered = 2,
    /// The last bit has reached the switch at the end of the link (PFC).
    Stored = 3,
    /// The last bit has left the buffer at the end of the link (credit packets; PFC, if the sender
    /// is paused).
    Released = 4,
    /// The last bit of the head has left the queue of an input (no virtual output queues).
    HeadLeft = 10,
    /// A pause frame for the sender of the link takes effect (PFC).
    Pause = 5,
    /// A flow-control packet has reached the end of the link (credit packets).
    CreditArrival = 6,
    /// The link, once free, sends a flow-control packet (credit packets).
    CreditSend = 7,
    /// The port at the beginning of the link looks for a packet to send.
    Wake = 8,
    /// The periodic look for deadlocks.
    Check = 9,
}

/// An event as one integer, ordered by one comparison: 64 bits time, 28 link, 4 kind, 32 subject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PacketEvent(u128);

impl PacketEvent {
    /// Packs an event; `subject` is the packet, or the port of a wake-up.
    pub(super) const fn new(time: u64, link: u32, kind: EventKind, subject: u32) -> Self {
        let low = (link as u64) << 36 | (kind as u64) << 32 | subject as u64;
        Self((time as u128) << 64 | low as u128)
    }

    pub(super) const fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(super) const fn kind(self) -> EventKind {
        match (self.0 >> 32) as u8 & 0xf {
            0 => EventKind::Eligible,
            1 => EventKind::Received,
            2 => EventKind::Delivered,
            3 => EventKind::Stored,
            4 => EventKind::Released,
            5 => EventKind::Pause,
            6 => EventKind::CreditArrival,
            7 => EventKind::CreditSend,
            8 => EventKind::Wake,
            10 => EventKind::HeadLeft,
            _ => EventKind::Check,
        }
    }

    pub(super) const fn link(self) -> PacketLinkId {
        PacketLinkId((self.0 >> 36) as u32 & 0xfff_ffff)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lowest 32 bits")]
    pub(super) const fn subject(self) -> u32 {
        self.0 as u32
    }
}

/// A min-heap of events.
#[derive(Clone, Default, Debug)]
pub(super) struct EventQueue {
    heap: Vec<PacketEvent>,
}

const ARITY: usize = 4;

impl EventQueue {
    pub(super) const fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn peek(&self) -> Option<PacketEvent> {
        self.heap.first().copied()
    }

    pub(super) fn push(&mut self, event: PacketEvent) {
        self.heap.push(event);
        self.sift_up(self.heap.len() - 1, event);
    }

    /// Puts an event into `hole`, or above `hole`.
    fn sift_up(&mut self, mut hole: usize, event: PacketEvent) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= event {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = event;
    }

    /// Removes and returns the first event. The hole of this event moves to a leaf, and the last
    /// event moves from there upwards: the last event is one of the latest and stays low, so
    /// comparisons on the way down would be in vain.
    pub(super) fn pop(&mut self) -> Option<PacketEvent> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some(last);
        };
        let mut hole = 0;
        loop {
            let begin = hole * ARITY + 1;
            let children = self.heap.get(begin..).unwrap_or_default();
            let offset = match children.first_chunk::<ARITY>() {
                Some(four) => least_of(four),
                None if children.is_empty() => break,
                None => (1..children.len()).fold(0, |least, at| {
                    if children[at] < children[least] {
                        at
                    } else {
                        least
                    }
                }),
            };
            self.heap[hole] = children[offset];
            hole = begin + offset;
        }
        self.sift_up(hole, last);
        Some(first)
    }
}

/// Returns the place of the least of four events: two independent comparisons and one more.
fn least_of(four: &[PacketEvent; ARITY]) -> usize {
    let left = usize::from(four[1] < four[0]);
    let right = 2 + usize::from(four[3] < four[2]);
    if four[right] < four[left] {
        right
    } else {
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_leave_by_time_then_link_then_kind() {
        let mut stream = sim_core::Stream::new(1, "heap");
        let mut queue = EventQueue::default();
        let mut expected = Vec::new();
        for _ in 0..1000 {
            let kind = [EventKind::Eligible, EventKind::Delivered, EventKind::Wake]
                [usize::try_from(stream.below(3)).unwrap()];
            let link = u32::try_from(stream.below(8)).unwrap();
            let packet = u32::try_from(stream.below(50)).unwrap();
            let time = stream.below(20);
            expected.push((time, link, kind as u8, packet));
            queue.push(PacketEvent::new(time, link, kind, packet));
        }
        expected.sort_unstable();
        let mut found = Vec::new();
        while let Some(event) = queue.pop() {
            found.push((
                event.time(),
                event.link().0,
                event.kind() as u8,
                event.subject(),
            ));
        }
        assert_eq!(found, expected);
    }
}
