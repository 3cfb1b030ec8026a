//! The state of one directed link: output port, credits, and the queues in front of the port.
//!
//! A virtual output queue holds the packets of one (virtual lane, input) that wait for this output.
//! It exists while it has packets, so an idle port needs no memory for inputs. Freed buffer space
//! is recorded in a list of returns, and added up when the port next looks.

use std::collections::VecDeque;

use sim_core::Stream;

use super::arena::{NONE, PacketArena};
use super::faults::FaultState;
use super::rate::WireRate;
use super::settings::{CREDITS_MAX, FlowControl, PacketSettings};
use super::topology::{PacketLinkId, PacketLinkSpec};
use super::vl_arbiter::{VlArbiter, VlArbitrationTables};

/// A wake-up that is not planned.
pub(super) const NEVER: u64 = u64::MAX;

/// Credits of a lane that needs no credits; 0 while the lane is paused.
pub(super) const UNLIMITED: u32 = u32::MAX;

/// The input of a virtual output queue that holds packets of the host itself.
pub(super) const SOURCE_INPUT: u32 = 0;

const INPUT_BITS: u32 = 28;

/// Packets of one input that wait for one virtual lane of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualOutputQueue {
    /// Virtual lane, then input; the queues of a port are sorted by this key.
    key: u32,
    pub(super) head: u32,
    tail: u32,
}

impl VirtualOutputQueue {
    pub(super) const fn vl(&self) -> u8 {
        (self.key >> INPUT_BITS) as u8
    }

    /// Returns the number of the input, equal to the result of [`input_of`].
    pub(super) const fn input(&self) -> u32 {
        self.key & ((1 << INPUT_BITS) - 1)
    }
}

const fn queue_key(vl: u8, input: u32) -> u32 {
    (vl as u32) << INPUT_BITS | input
}

/// Returns the number of an input: inputs are ordered by their links, after the host itself.
pub(super) const fn input_of(link: PacketLinkId) -> u32 {
    link.0 + 1
}

/// State per virtual lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Blocks that may be sent.
    pub(super) credits: u32,
    /// The input that sent last.
    last_input: u32,
    /// Bytes that wait in the queues of this lane.
    pub(super) queued_bytes: u64,
    /// Packets sent since the last one that was marked.
    pub(super) unmarked: u32,
}

/// Buffer space that becomes known to the sender.
#[derive(Clone, Copy, Debug)]
struct CreditReturn {
    due: u64,
    blocks: u16,
    vl: u8,
}

/// A directed link.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) link: PacketLinkId,
    pub(super) rate: WireRate,
    pub(super) propagation: u64,
    /// Propagation and latency of the switch at the end.
    pub(super) forward_delay: u64,
    pub(super) busy_until: u64,
    /// The time of the planned look for a packet to send; `NEVER` if none is planned.
    pub(super) wake_at: u64,
    /// The time of the last start of a packet.
    pub(super) last_start: u64,
    /// On a contention-free link, the time of the last arrival.
    pub(super) last_arrival: u64,
    pub(super) contention_free: bool,
    pub(super) dateline: bool,
    /// True if senders know free buffer space by credits.
    pub(super) has_credits: bool,
    /// True if packets wait and none has credits.
    pub(super) credit_blocked: bool,
    /// The time since which no waiting packet has credits.
    pub(super) blocked_since: u64,
    /// Blocks of the buffer at the end, per lane.
    pub(super) capacity: u32,
    last_vl: u8,
    pub(super) waiting: Vec<VirtualOutputQueue>,
    returns: VecDeque<CreditReturn>,
    pub(super) lanes: Box<[Lane]>,
    arbiter: Option<Box<VlArbiter>>,
    pub(super) faults: Option<Box<FaultState>>,
    /// Random stream of marks.
    pub(super) marks: Option<Box<Stream>>,
    /// The host at the end; `NONE` for a switch or an unknown end.
    pub(super) end_host: u32,
}

impl Port {
    pub(super) fn new(
        link: PacketLinkId,
        spec: &PacketLinkSpec,
        settings: &PacketSettings,
    ) -> Self {
        let buffer = spec.buffer_blocks.unwrap_or(settings.buffer_blocks);
        let has_credits =
            !spec.contention_free && !matches!(settings.flow_control, FlowControl::Pfc(_));
        let credits = if has_credits {
            buffer.min(CREDITS_MAX)
        } else {
            UNLIMITED
        };
        let latency = spec.switch_latency_ps.unwrap_or(settings.switch_latency_ps);
        let lane = Lane {
            credits,
            last_input: NONE,
            queued_bytes: 0,
            unmarked: 0,
        };
        Self {
            link,
            rate: spec.rate,
            propagation: spec.propagation_ps,
            forward_delay: spec.propagation_ps + latency,
            busy_until: 0,
            wake_at: NEVER,
            last_start: 0,
            last_arrival: 0,
            contention_free: spec.contention_free,
            dateline: spec.dateline,
            has_credits,
            credit_blocked: false,
            blocked_since: 0,
            capacity: if has_credits { credits } else { 0 },
            last_vl: settings.data_vls - 1,
            waiting: Vec::new(),
            returns: VecDeque::new(),
            lanes: vec![lane; usize::from(settings.data_vls)].into_boxed_slice(),
            arbiter: settings
                .vl_arbitration
                .as_ref()
                .map(|tables| Box::new(VlArbiter::new(tables))),
            faults: None,
            marks: None,
            end_host: NONE,
        }
    }

    /// Adds a packet to the queue of a lane and an input.
    pub(super) fn enqueue(&mut self, vl: u8, input: u32, packet: u32, packets: &mut PacketArena) {
        self.lanes[usize::from(vl)].queued_bytes += u64::from(packets[packet].wire_bytes);
        packets[packet].next = NONE;
        let key = queue_key(vl, input);
        match self.waiting.binary_search_by_key(&key, |queue| queue.key) {
            Ok(at) => {
                let queue = &mut self.waiting[at];
                packets[queue.tail].next = packet;
                queue.tail = packet;
            }
            Err(at) => {
                let queue = VirtualOutputQueue {
                    key,
                    head: packet,
                    tail: packet,
                };
                self.waiting.insert(at, queue);
            }
        }
    }

    /// Takes the head of the queue at a position.
    pub(super) fn dequeue(&mut self, at: usize, packets: &PacketArena) -> u32 {
        let queue = &mut self.waiting[at];
        let (packet, vl) = (queue.head, queue.vl());
        self.lanes[usize::from(vl)].queued_bytes -= u64::from(packets[packet].wire_bytes);
        if queue.head == queue.tail {
            self.waiting.remove(at);
        } else {
            queue.head = packets[packet].next;
        }
        packet
    }

    /// Records that an input has sent on a lane; arbitration continues behind this input.
    pub(super) fn note_winner(&mut self, vl: u8, input: u32) {
        self.last_vl = vl;
        self.lanes[usize::from(vl)].last_input = input;
    }

    /// Returns the time until which no packet can start: the end of the last one, or of an outage.
    pub(super) fn busy_until(&mut self, now: u64) -> u64 {
        if let Some(faults) = &self.faults
            && let Some(up) = faults.down_until(now)
        {
            self.busy_until = self.busy_until.max(up);
        }
        self.busy_until
    }

    /// Adds up the credits that are known by `now`.
    pub(super) fn absorb_credits(&mut self, now: u64) {
        while let Some(first) = self.returns.front()
            && first.due <= now
        {
            self.lanes[usize::from(first.vl)].credits += u32::from(first.blocks);
            self.returns.pop_front();
        }
    }

    /// Notes that blocks become known to the sender at `due`.
    pub(super) fn return_credits(&mut self, due: u64, blocks: u16, vl: u8) {
        if !self.has_credits {
            return;
        }
        let entry = CreditReturn { due, blocks, vl };
        // Almost always the last: packets leave a buffer in the order of their ends.
        let at = self.returns.iter().rposition(|other| other.due <= due);
        match at.map_or(0, |at| at + 1) {
            at if at == self.returns.len() => self.returns.push_back(entry),
            at => self.returns.insert(at, entry),
        }
    }

    /// Returns the position of the queue that sends next, or `None` if no head has credits.
    ///
    /// The arbitration tables select the lane; without tables lanes take turns. The input is the
    /// next input in turn behind the last input that sent on this lane.
    pub(super) fn choose_queue(
        &mut self,
        packets: &PacketArena,
        tables: Option<&VlArbitrationTables>,
    ) -> Option<usize> {
        if let (Some(mut arbiter), Some(tables)) = (self.arbiter.take(), tables) {
            let grant = arbiter.grant(tables, &mut |vl| self.choose_input(vl, packets).is_some());
            let queue = grant.and_then(|grant| self.choose_input(grant.vl, packets));
            if let (Some(grant), Some(queue)) = (grant, queue) {
                let packet = &packets[self.waiting[queue].head];
                let size = (u32::from(packet.wire_bytes), u32::from(packet.blocks));
                arbiter.note_sent(tables, grant, size);
            }
            self.arbiter = Some(arbiter);
            return queue;
        }
        let lanes = u8::try_from(self.lanes.len()).expect("at most 15 lanes");
        (1..=lanes)
            .map(|step| (self.last_vl + step) % lanes)
            .find_map(|vl| self.choose_input(vl, packets))
    }

    /// Returns the position of the next queue of a lane, among queues with credits for the head.
    fn choose_input(&self, vl: u8, packets: &PacketArena) -> Option<usize> {
        let lane = self.lanes.get(usize::from(vl))?;
        if lane.queued_bytes == 0 {
            return None;
        }
        let position = |key| self.waiting.partition_point(|queue| queue.key < key);
        let (begin, end) = if self.lanes.len() == 1 {
            (0, self.waiting.len())
        } else {
            (position(queue_key(vl, 0)), position(queue_key(vl + 1, 0)))
        };
        let behind = match lane.last_input {
            NONE => begin,
            input => position(queue_key(vl, input + 1)),
        };
        (behind..end).chain(begin..behind).find(|&at| {
            let head = self.waiting[at].head;
            u32::from(packets[head].blocks) <= lane.credits
        })
    }

    /// Returns the time at which the first waiting packet has credits, if returns suffice.
    pub(super) fn next_credit(&self, packets: &PacketArena) -> Option<u64> {
        let mut earliest = None;
        let mut at = 0;
        while at < self.waiting.len() {
            let vl = self.waiting[at].vl();
            let same = self.waiting[at..]
                .iter()
                .take_while(|queue| queue.vl() == vl);
            let (count, least) = same.fold((0, u16::MAX), |(count, least), queue| {
                (count + 1, packets[queue.head].blocks.min(least))
            });
            at += count;
            let mut credits = self.lanes[usize::from(vl)].credits;
            for entry in self.returns.iter().filter(|entry| entry.vl == vl) {
                credits += u32::from(entry.blocks);
                if credits >= u32::from(least) {
                    earliest = Some(earliest.map_or(entry.due, |time: u64| time.min(entry.due)));
                    break;
                }
            }
        }
        earliest
    }

    /// Returns the credits of a lane, including credits that are on their way.
    pub(super) fn credits_in_sight(&self, vl: u8) -> u32 {
        let returns = self.returns.iter().filter(|entry| entry.vl == vl);
        let coming: u32 = returns.map(|entry| u32::from(entry.blocks)).sum();
        self.lanes[usize::from(vl)].credits + coming
    }

    /// Returns the bytes of the lists of the port.
    pub(super) fn memory_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<VirtualOutputQueue>()
            + self.returns.capacity() * size_of::<CreditReturn>()
            + self.lanes.len() * size_of::<Lane>()
    }
}
