//! A channel adapter without I/O and without a clock. The adapter offers all functions of
//! [`Verbs`](crate::Verbs) over queue pairs, and the caller carries their packets. IBA 10.
//!
//! The owner of an adapter calls these functions with a time in picoseconds that never goes back:
//!
//! 1. [`handle_packet`](ChannelAdapter::handle_packet) for each packet that arrives;
//! 2. [`handle_timeout`](ChannelAdapter::handle_timeout) at the time that
//!    [`next_timeout`](ChannelAdapter::next_timeout) returns;
//! 3. [`next_packet`](ChannelAdapter::next_packet) while a packet is ready and the link takes it.
//!
//! Programs call an adapter through [`LocalAdapter`](crate::LocalAdapter).
//!
//! *Not modelled*: costs of memory accesses and of the adapter's own processing, which the owner
//! adds by carrying packets later. An adapter serves its queue pairs round robin, packet by packet.

mod calls;
mod completion_ring;
mod regions;
mod zeroed;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) use regions::Regions;

use crate::qp::{AnyQueuePair, Defect, SoftAdapterSettings, Transmit, earlier};
use crate::wire::Packet;
use crate::{
    AsyncEvent, AtomicCap, CompletionQueue, DeviceAttributes, Gid, GidType, LinkLayer, Mtu,
    PortAttributes, PortState, ProtectionDomain, WorkCompletion,
};
use completion_ring::{CompletionEntry, CompletionRing};

/// The number of the first queue pair. Queue pairs 0 and 1 are for management (IBA 3.9.1), and
/// adapters reserve some more numbers.
const FIRST_QP: u32 = 0x11;

/// Properties of a port. IBA 14.2.5.6.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AdapterPort {
    /// The link layer.
    pub link_layer: LinkLayer,
    /// The largest path MTU.
    pub mtu: Mtu,
    /// The local identifier; 0 on Ethernet.
    pub lid: u16,
    /// The global identifier at index 0, and the type of the identifier.
    pub gid: (Gid, GidType),
}

/// Parts of an adapter that a queue pair uses.
#[derive(Debug)]
pub(crate) struct AdapterParts<'a> {
    pub(crate) now: u64,
    pub(crate) settings: &'a SoftAdapterSettings,
    pub(crate) regions: &'a mut Regions,
    pub(crate) events: &'a mut VecDeque<AsyncEvent>,
    completions: &'a mut Completions,
}

/// The completion queues and the completions on their way to them.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Completions {
    rings: BTreeMap<u32, CompletionRing>,
    /// Completions that cannot be polled yet, with the time from which they can.
    pending: VecDeque<(u64, CompletionQueue, CompletionEntry)>,
    /// Notifications that were not fetched.
    notifications: VecDeque<CompletionQueue>,
    /// Completion queues that overflowed and whose queue pairs are not yet in the error state.
    overflowed: Vec<CompletionQueue>,
}

impl AdapterParts<'_> {
    /// Returns true if this is the seeded defect of the adapter.
    pub(crate) const fn has_defect(&self, defect: Defect) -> bool {
        self.settings.has_defect(defect)
    }

    /// Adds a completion. Polling it frees this many places of the send and the receive queue.
    pub(crate) fn add_completion(
        &mut self,
        cq: CompletionQueue,
        completion: WorkCompletion,
        solicited: bool,
        (sends, receives): (u32, u32),
    ) {
        let entry = CompletionEntry {
            completion,
            solicited,
            sends,
            receives,
        };
        let delay = self.settings.completion_delay;
        if delay == 0 && self.completions.pending.is_empty() {
            self.completions.push_entry(cq, entry, self.events);
        } else {
            let at = self.now + delay;
            self.completions.pending.push_back((at, cq, entry));
        }
    }
}

impl Completions {
    /// Moves each completion that can be polled now to its queue.
    #[inline]
    fn deliver_ready(&mut self, now: u64, events: &mut VecDeque<AsyncEvent>) {
        if !self.pending.is_empty() {
            self.deliver_pending(now, events);
        }
    }

    fn deliver_pending(&mut self, now: u64, events: &mut VecDeque<AsyncEvent>) {
        while self.pending.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, cq, entry)) = self.pending.pop_front() else {
                return;
            };
            self.push_entry(cq, entry, events);
        }
    }

    /// Adds an entry to a completion queue.
    fn push_entry(
        &mut self,
        cq: CompletionQueue,
        entry: CompletionEntry,
        events: &mut VecDeque<AsyncEvent>,
    ) {
        let Some(ring) = self.rings.get_mut(&cq.0) else {
            return;
        };
        let was_usable = !ring.has_overflowed;
        if ring.push_entry(entry) {
            self.notifications.push_back(cq);
        }
        if was_usable && ring.has_overflowed {
            self.overflowed.push(cq);
            events.push_back(AsyncEvent::CqErr(cq));
        }
    }
}

/// A queue pair with its place in the lists of the adapter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct QueuePairSlot {
    qp: AnyQueuePair,
    is_ready: bool,
    /// Time of the queue pair in the list of timeouts, not later than its next timeout.
    timeout: Option<u64>,
}

/// A channel adapter with one port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ChannelAdapter {
    attributes: DeviceAttributes,
    port: AdapterPort,
    settings: SoftAdapterSettings,
    now: u64,
    /// The number of the next handle.
    next_handle: u32,
    pds: Vec<ProtectionDomain>,
    regions: Regions,
    completions: Completions,
    /// By their numbers from [`FIRST_QP`] on.
    qps: Vec<Option<QueuePairSlot>>,
    /// Positions of queue pairs that may have a packet to send.
    ready: VecDeque<u32>,
    /// Times and positions.
    timeouts: BTreeSet<(u64, u32)>,
    events: VecDeque<AsyncEvent>,
}

impl ChannelAdapter {
    /// Returns an adapter with an active port.
    #[must_use]
    pub fn new(
        attributes: DeviceAttributes,
        port: AdapterPort,
        settings: SoftAdapterSettings,
    ) -> Self {
        Self {
            attributes,
            port,
            settings,
            now: 0,
            next_handle: 1,
            pds: Vec::new(),
            regions: Regions::default(),
            completions: Completions::default(),
            qps: Vec::new(),
            ready: VecDeque::new(),
            timeouts: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the properties of the adapter.
    #[must_use]
    pub const fn attributes(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn port_attributes(&self) -> PortAttributes {
        PortAttributes {
            state: PortState::Active,
            link_layer: self.port.link_layer,
            max_mtu: self.port.mtu,
            active_mtu: self.port.mtu,
            gid_tbl_len: 1,
            lid: self.port.lid,
            max_msg_sz: self.settings.max_message,
        }
    }

    /// Sets the time, in picoseconds.
    ///
    /// # Panics
    /// If the time goes back.
    #[inline]
    pub fn set_time(&mut self, now: u64) {
        if now != self.now {
            self.pass_time(now);
        }
    }

    fn pass_time(&mut self, now: u64) {
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        self.now = now;
        self.completions.deliver_ready(now, &mut self.events);
        self.end_overflowed();
    }

    /// Takes a packet that arrives now, with valid checksums. A packet that no queue pair of the
    /// adapter accepts is dropped.
    pub fn handle_packet(&mut self, now: u64, packet: &Packet<'_>) {
        self.set_time(now);
        // Index 0 of the partition table has the default partition, and membership does not matter.
        if packet.bth().pkey & 0x7FFF != 0x7FFF {
            return;
        }
        if let Some(at) = packet.bth().dest_qp.checked_sub(FIRST_QP) {
            self.with_qp_at(at, |qp, parts| qp.handle_packet(parts, packet));
        }
    }

    /// Handles the timeouts that are due.
    pub fn handle_timeout(&mut self, now: u64) {
        self.set_time(now);
        while let Some(&(at, position)) = self.timeouts.first()
            && at <= now
        {
            self.timeouts.pop_first();
            if let Some(Some(slot)) = self.qps.get_mut(position as usize) {
                slot.timeout = None;
            }
            self.with_qp_at(position, AnyQueuePair::handle_timeout);
        }
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has to be called next, in
    /// picoseconds.
    #[must_use]
    pub fn next_timeout(&mut self) -> Option<u64> {
        while let Some(&(at, position)) = self.timeouts.first()
            && at > self.now
        {
            let Some(Some(slot)) = self.qps.get_mut(position as usize) else {
                self.timeouts.pop_first();
                continue;
            };
            let next = slot.qp.next_timeout(self.now);
            if next == Some(at) {
                break;
            }
            self.timeouts.pop_first();
            slot.timeout = next;
            self.timeouts.extend(next.map(|at| (at, position)));
        }
        let timeout = self.timeouts.first().map(|(at, _)| *at);
        let completion = self.completions.pending.front().map(|(at, ..)| *at);
        earlier(timeout, completion)
    }

    /// Returns the next packet that leaves now, and appends the payload to `payload`.
    pub fn next_packet(&mut self, now: u64, payload: &mut Vec<u8>) -> Option<Transmit> {
        self.set_time(now);
        while let Some(position) = self.ready.pop_front() {
            let Some(Some(slot)) = self.qps.get_mut(position as usize) else {
                continue;
            };
            slot.is_ready = false;
            let packet = self.call_qp(position, |qp, parts| qp.next_packet(parts, payload));
            if let Some(Some(packet)) = packet {
                self.mark_ready(position);
                return Some(packet);
            }
        }
        None
    }

    /// Calls a queue pair, which may have a packet to send afterwards.
    fn with_qp_at<T>(
        &mut self,
        position: u32,
        call: impl FnOnce(&mut AnyQueuePair, &mut AdapterParts<'_>) -> T,
    ) -> Option<T> {
        let result = self.call_qp(position, call)?;
        self.mark_ready(position);
        Some(result)
    }

    fn mark_ready(&mut self, position: u32) {
        if let Some(Some(slot)) = self.qps.get_mut(position as usize)
            && !slot.is_ready
        {
            slot.is_ready = true;
            self.ready.push_back(position);
        }
    }

    /// Calls a queue pair with the parts of the adapter, and records its next timeout.
    fn call_qp<T>(
        &mut self,
        position: u32,
        call: impl FnOnce(&mut AnyQueuePair, &mut AdapterParts<'_>) -> T,
    ) -> Option<T> {
        let slot = self.qps.get_mut(position as usize)?.as_mut()?;
        let mut parts = AdapterParts {
            now: self.now,
            settings: &self.settings,
            regions: &mut self.regions,
            events: &mut self.events,
            completions: &mut self.completions,
        };
        let result = call(&mut slot.qp, &mut parts);
        if let Some(at) = slot.qp.next_timeout(self.now)
            && slot.timeout.is_none_or(|old| at < old)
        {
            if let Some(old) = slot.timeout.replace(at) {
                self.timeouts.remove(&(old, position));
            }
            self.timeouts.insert((at, position));
        }
        self.end_overflowed();
        Some(result)
    }

    /// Ends the queue pairs of completion queues that overflowed. IBA 11.6.3.1.
    #[inline]
    fn end_overflowed(&mut self) {
        if !self.completions.overflowed.is_empty() {
            self.end_queue_pairs();
        }
    }

    #[cold]
    fn end_queue_pairs(&mut self) {
        while let Some(cq) = self.completions.overflowed.pop() {
            for position in 0..self.qps.len() {
                let uses = |slot: &QueuePairSlot| {
                    let init = slot.qp.init();
                    init.send_cq == cq || init.recv_cq == cq
                };
                if self.qps[position].as_ref().is_some_and(uses) {
                    #[expect(clippy::cast_possible_truncation, reason = "numbers have 24 bits")]
                    self.with_qp_at(position as u32, |qp, parts| {
                        let event = AsyncEvent::QpFatal(qp.handle());
                        parts.events.push_back(event);
                        qp.enter_error(parts);
                    });
                }
            }
        }
    }
}

impl DeviceAttributes {
    /// Returns the properties of an adapter in software.
    #[must_use]
    pub fn of_model(name: &str, node_guid: u64) -> Self {
        Self {
            name: name.to_owned(),
            fw_ver: String::new(),
            node_guid,
            max_mr_size: u64::MAX,
            max_mr: 1 << 24,
            max_pd: u32::MAX,
            max_qp: 1 << 23,
            max_qp_wr: 1 << 15,
            max_sge: 32,
            max_cq: u32::MAX,
            max_cqe: 1 << 22,
            max_qp_rd_atom: 16,
            max_qp_init_rd_atom: 16,
            atomic_cap: AtomicCap::Hca,
            local_ca_ack_delay: 0,
            phys_port_cnt: 1,
        }
    }
}

#[cfg(test)]
mod tests;
