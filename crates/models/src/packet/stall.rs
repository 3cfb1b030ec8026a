//! Deadlocks at run time: cycles of full buffers in which no packet can ever move.
//!
//! A queue waits for a buffer if the head of the queue is refused *credits* there; a busy link or a
//! lost arbitration is no reason. A buffer is dead if all queues that hold its packets wait for
//! dead buffers (the greatest such set: a knot, not merely a cycle). Detection runs when no event
//! is left, and periodically while a port has been without credits for a whole period.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::HostId;

use super::arena::{NONE, PacketArena};
use super::credit_loop::LaneOfLink;
use super::event_queue::{EventKind, PacketEvent};
use super::network::{HeldSinks, InputFifos, PacketNetwork};
use super::overhead::BLOCK_BYTES;
use super::port::{NEVER, Port};
use super::topology::{PACKET_LINKS_MAX, PacketTopology};

/// A buffer of a deadlock, and the packet at its head that waits for the next buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StalledBuffer {
    /// The link before the buffer, and the virtual lane.
    pub buffer: LaneOfLink,
    /// Tag of the packet that waits.
    pub tag: u64,
    /// Destination of that packet.
    pub destination: HostId,
}

/// The reason for which packets inside the network never move again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PacketStall {
    /// A cycle of full buffers.
    CreditLoop {
        /// The buffers; each waits for the next, and the last for the first.
        cycle: Vec<StalledBuffer>,
        /// The time of the last start of a packet into these buffers, in picoseconds.
        last_move: u64,
        /// The time at which the last of these packets could have left, in picoseconds.
        formed_at: u64,
    },
    /// A packet is larger than the buffer that the packet needs.
    BufferTooSmall {
        /// The link before the buffer, and the virtual lane.
        buffer: LaneOfLink,
        /// Size of the buffer, in blocks.
        buffer_blocks: u32,
        /// Size of the packet, in blocks.
        packet_blocks: u32,
    },
    /// A host takes no packets.
    StalledSink {
        /// The host.
        host: HostId,
    },
}

impl PacketStall {
    /// Returns the stall in words: the cause, and a line for each buffer of a cycle, with the names
    /// of the topology.
    pub fn report_lines(&self, topology: &dyn PacketTopology) -> Vec<String> {
        let lane = |(link, vl): LaneOfLink| format!("lane {vl} of {}", topology.link_name(link));
        match self {
            Self::CreditLoop { cycle, .. } => {
                let count = cycle.len();
                let mut lines = vec![format!(
                    "network deadlock: a credit loop of {count} full buffers, each waits for the next; more virtual lanes avoid it"
                )];
                let next = cycle.iter().cycle().skip(1);
                lines.extend(cycle.iter().zip(next).map(|(buffer, next)| {
                    format!(
                        "buffer of {}: a packet to {} waits for the buffer of {}",
                        lane(buffer.buffer),
                        topology.host_name(buffer.destination),
                        lane(next.buffer)
                    )
                }));
                lines
            }
            Self::BufferTooSmall {
                buffer,
                buffer_blocks,
                packet_blocks,
            } => vec![format!(
                "network deadlock: the buffer of {} has {} bytes, and a packet needs {}",
                lane(*buffer),
                buffer_blocks * BLOCK_BYTES,
                packet_blocks * BLOCK_BYTES
            )],
            Self::StalledSink { host } => vec![format!(
                "network deadlock: host {} takes no packets",
                topology.host_name(*host)
            )],
        }
    }
}

/// A buffer: the position of the port and the virtual lane.
type Buffer = (u32, u8);

/// The waiting packets of the network, by buffers.
#[derive(Default)]
struct WaitGraph {
    /// For each buffer, the buffers that refuse packets of this buffer, with a packet at the head.
    waits: BTreeMap<Buffer, BTreeMap<Buffer, u32>>,
    /// Buffers from which a packet can move, now or after planned events.
    live: BTreeSet<Buffer>,
}

/// The queues and buffers of a network in which a search looks for packets that never move.
struct StallSearch<'a> {
    ports: &'a [Port],
    packets: &'a PacketArena,
    input_fifos: &'a InputFifos,
    held_sinks: &'a HeldSinks,
}

impl PacketNetwork {
    /// Returns the first deadlock found, if any.
    pub const fn stall(&self) -> Option<&PacketStall> {
        self.stall.as_ref()
    }

    /// Looks for a deadlock if no event is left although packets are inside.
    pub(super) fn check_when_idle(&mut self) {
        let planned = usize::from(self.is_check_planned);
        if self.events.len() > planned || self.packets.live() == 0 || self.stall.is_some() {
            return;
        }
        if self.ports.iter().any(|port| !port.waiting.is_empty()) {
            let search = self.stall_search();
            search.verify_refusals();
            self.stall = search.find_stall();
            assert!(
                self.stall.is_some(),
                "packets wait in an idle network for no reason: credits are lost"
            );
        }
    }

    /// Plans the periodic check for deadlocks; called when a port has lost the last credits.
    pub(super) fn plan_check(&mut self, now: u64) {
        if !self.is_check_planned && self.stall.is_none() {
            self.is_check_planned = true;
            let time = now + self.settings.deadlock_check_ps;
            self.events.push(PacketEvent::new(
                time,
                PACKET_LINKS_MAX,
                EventKind::Check,
                NONE,
            ));
        }
    }

    /// Handles the periodic look.
    pub(super) fn check_periodically(&mut self, now: u64) {
        self.is_check_planned = false;
        let period = self.settings.deadlock_check_ps;
        let mut blocked = self
            .ports
            .iter()
            .filter(|port| port.credit_blocked && port.wake_at == NEVER)
            .peekable();
        if blocked.peek().is_none() || self.events.is_empty() {
            return;
        }
        if blocked.any(|port| port.blocked_since + period <= now) {
            self.stall = self.stall_search().find_stall();
        }
        self.plan_check(now);
    }

    const fn stall_search(&self) -> StallSearch<'_> {
        StallSearch {
            ports: self.ports.as_slice(),
            packets: &self.packets,
            input_fifos: &self.input_fifos,
            held_sinks: &self.held_sinks,
        }
    }

    /// Makes a host keep arriving packets in their buffers.
    pub fn hold_sink(&mut self, host: HostId) {
        self.held_sinks.entry(host).or_default();
    }

    /// Makes a host take packets again; the host first takes the packets that it kept.
    pub fn release_sink(&mut self, now: u64, host: HostId) {
        for packet in self.held_sinks.remove(&host).unwrap_or_default() {
            self.deliver_packet(packet, now);
        }
    }
}

impl StallSearch<'_> {
    /// Verifies that every waiting head is refused credits: an idle network in which a packet could
    /// move is a defect of the engine.
    fn verify_refusals(&self) {
        for port in self.ports {
            for queue in &port.waiting {
                let blocks = self.packets[queue.head].blocks;
                assert!(
                    port.credits_in_sight(queue.vl()) < u32::from(blocks),
                    "a packet waits at {:?} although it has credits",
                    port.link
                );
            }
        }
    }

    /// Returns the deadlock of the present state.
    fn find_stall(&self) -> Option<PacketStall> {
        let graph = self.wait_graph();
        // The greatest set of buffers whose waits all lead into the set.
        let mut dead: BTreeSet<Buffer> = graph.waits.keys().copied().collect();
        dead.retain(|buffer| !graph.live.contains(buffer));
        loop {
            let before = dead.len();
            let is_dead = dead.clone();
            dead.retain(|buffer| {
                graph.waits[buffer]
                    .keys()
                    .all(|next| is_dead.contains(next))
            });
            if dead.len() == before {
                break;
            }
        }
        // The buffer with the smallest link, whatever the order in which links were used.
        let first = dead
            .iter()
            .min_by_key(|(port, vl)| (self.ports[*port as usize].link, *vl));
        match first {
            Some(first) => Some(self.cycle_from(*first, &graph)),
            None => self.other_stall(),
        }
    }

    fn wait_graph(&self) -> WaitGraph {
        let mut graph = WaitGraph::default();
        let mut queued: BTreeMap<Buffer, u32> = BTreeMap::new();
        for (out, port) in (0..).zip(self.ports) {
            for queue in &port.waiting {
                let head = &self.packets[queue.head];
                let is_refused = port.credits_in_sight(queue.vl()) < u32::from(head.blocks);
                let mut at = queue.head;
                while at != NONE {
                    let packet = &self.packets[at];
                    let buffer = (packet.stored_at, packet.vl);
                    if packet.stored_at != NONE {
                        *queued.entry(buffer).or_default() += u32::from(packet.blocks);
                        if is_refused {
                            let waits = graph.waits.entry(buffer).or_default();
                            waits.entry((out, queue.vl())).or_insert(queue.head);
                        } else {
                            graph.live.insert(buffer);
                        }
                    }
                    at = packet.next;
                }
            }
        }
        // Behind the head of an input without virtual output queues nothing moves either.
        for (buffer, fifo) in self.input_fifos {
            for (_, packet) in fifo.iter().skip(1) {
                *queued.entry(*buffer).or_default() += u32::from(self.packets[*packet].blocks);
            }
        }
        // Packets on the wire into a buffer, or at its host, can still move.
        for (&buffer, &blocks) in &queued {
            let port = &self.ports[buffer.0 as usize];
            if port
                .capacity
                .saturating_sub(port.credits_in_sight(buffer.1))
                > blocks
            {
                graph.live.insert(buffer);
            }
        }
        graph
    }

    /// Follows waits from a dead buffer until they repeat.
    fn cycle_from(&self, start: Buffer, graph: &WaitGraph) -> PacketStall {
        let mut path: Vec<(Buffer, u32)> = Vec::new();
        let mut at = start;
        let begin = loop {
            if let Some(begin) = path.iter().position(|(buffer, _)| *buffer == at) {
                break begin;
            }
            let waits = graph.waits[&at].iter();
            let next = waits.min_by_key(|((port, vl), _)| (self.ports[*port as usize].link, *vl));
            let (next, head) = next.expect("a dead buffer waits for another");
            path.push((at, *head));
            at = *next;
        };
        let members = &path[begin..];
        let port = |buffer: &Buffer| &self.ports[buffer.0 as usize];
        let times = |time: fn(&Port) -> u64| {
            let times = members.iter().map(|(buffer, _)| time(port(buffer)));
            times.max().unwrap_or_default()
        };
        PacketStall::CreditLoop {
            cycle: members
                .iter()
                .map(|(buffer, head)| StalledBuffer {
                    buffer: (port(buffer).link, buffer.1),
                    tag: self.packets[*head].tag,
                    destination: HostId(self.packets[*head].destination),
                })
                .collect(),
            last_move: times(|port| port.last_start),
            formed_at: times(|port| port.last_start + port.forward_delay),
        }
    }

    /// Returns the reason for which packets stay inside, if the reason is not a cycle.
    fn other_stall(&self) -> Option<PacketStall> {
        for port in self.ports {
            for queue in &port.waiting {
                let packet_blocks = u32::from(self.packets[queue.head].blocks);
                if port.has_credits && port.capacity < packet_blocks {
                    return Some(PacketStall::BufferTooSmall {
                        buffer: (port.link, queue.vl()),
                        buffer_blocks: port.capacity,
                        packet_blocks,
                    });
                }
            }
        }
        let held = self.held_sinks.iter().find(|(_, held)| !held.is_empty());
        held.map(|(host, _)| PacketStall::StalledSink { host: *host })
    }
}
