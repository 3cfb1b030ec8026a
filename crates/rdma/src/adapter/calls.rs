//! The calls of [`Verbs`](crate::Verbs) on a channel adapter, and the reasons to refuse a call.

use super::completion_ring::CompletionRing;
use super::{AdapterParts, ChannelAdapter, FIRST_QP, QueuePairSlot};
use crate::qp::{AnyQueuePair, DatagramQueuePair, RcQueuePair};
use crate::{
    Access, AsyncEvent, CompletionQueue, DatagramRequest, Gid, GidType, MemoryRegion,
    PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes, QpModify,
    QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, VerbsError, WorkCompletion,
};

fn no_such(what: &'static str, handle: u32) -> VerbsError {
    VerbsError::NoSuchHandle { what, handle }
}

fn invalid<T>(why: String) -> Result<T, VerbsError> {
    Err(VerbsError::Invalid { why })
}

fn busy<T>(what: &'static str) -> Result<T, VerbsError> {
    Err(VerbsError::Busy { what })
}

/// Refuses a value above its limit.
fn check_most(name: &str, value: u64, most: u64) -> Result<(), VerbsError> {
    if value > most {
        return invalid(format!("{name} is {value}, it may be at most {most}"));
    }
    Ok(())
}

impl ChannelAdapter {
    fn allocate_handle(&mut self) -> u32 {
        let number = self.next_handle;
        self.next_handle += 1;
        number
    }

    pub(crate) fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        if port_num != 1 {
            return Err(no_such("port", port_num.into()));
        }
        Ok(self.port_attributes())
    }

    pub(crate) fn query_gid(&self, port: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        self.query_port(port)?;
        if index != 0 {
            return Err(no_such("GID", index.into()));
        }
        Ok(self.port.gid)
    }

    pub(crate) fn alloc_pd(&mut self) -> ProtectionDomain {
        let pd = ProtectionDomain(self.allocate_handle());
        self.pds.push(pd);
        pd
    }

    pub(crate) fn dealloc_pd(&mut self, pd: ProtectionDomain) -> Result<(), VerbsError> {
        let Some(position) = self.pds.iter().position(|other| *other == pd) else {
            return Err(no_such("protection domain", pd.0));
        };
        let in_use = self.regions.uses(pd) || self.slots().any(|slot| slot.qp.init().pd == pd);
        if in_use {
            return busy("protection domain");
        }
        self.pds.remove(position);
        Ok(())
    }

    fn slots(&self) -> impl Iterator<Item = &QueuePairSlot> {
        self.qps.iter().flatten()
    }

    pub(crate) fn reg_mr(
        &mut self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        let is_shared = matches!(memory, RegionMemory::ReadOnly(_));
        let checked = if !self.pds.contains(&pd) {
            Err(no_such("protection domain", pd.0))
        } else if memory.is_empty() {
            invalid("a region needs at least one byte".to_owned())
        } else if !access.is_consistent() {
            invalid("remote write and atomic access need local write access".to_owned())
        } else if is_shared && access.writes() {
            invalid("memory that is only read cannot have write access".to_owned())
        } else {
            check_most("length", memory.len(), self.attributes.max_mr_size)
        };
        if let Err(error) = checked {
            return Err(RegisterError { error, memory });
        }
        if self.regions.registered + memory.len() > self.settings.max_registered {
            let error = VerbsError::NoRoom {
                what: "registered memory",
            };
            return Err(RegisterError { error, memory });
        }
        let handle = self.allocate_handle();
        Ok(self.regions.insert(handle, pd, memory, access))
    }

    pub(crate) fn dereg_mr(&mut self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError> {
        let removed = self.regions.remove(region.handle);
        let removed = removed.ok_or_else(|| no_such("memory region", region.handle))?;
        Ok(removed.into_memory())
    }

    pub(crate) fn read_mr(
        &mut self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError> {
        let found = self.regions.get_mut(region.handle);
        let found = found.ok_or_else(|| no_such("memory region", region.handle))?;
        let from = byte_range(offset, bytes.len()).and_then(|range| found.range(range));
        match from {
            Some(from) => bytes.copy_from_slice(from),
            None => return outside(region, offset, bytes.len()),
        }
        Ok(())
    }

    pub(crate) fn write_mr(
        &mut self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), VerbsError> {
        let found = self.regions.get_mut(region.handle);
        let found = found.ok_or_else(|| no_such("memory region", region.handle))?;
        if found.is_read_only() {
            return invalid("the region is only read".to_owned());
        }
        let to = byte_range(offset, bytes.len()).and_then(|range| found.range_mut(range));
        match to {
            Some(to) => to.copy_from_slice(bytes),
            None => return outside(region, offset, bytes.len()),
        }
        Ok(())
    }

    pub(crate) fn create_cq(&mut self, cqe: u32) -> Result<CompletionQueue, VerbsError> {
        if cqe == 0 {
            return invalid("a completion queue needs at least one entry".to_owned());
        }
        check_most("cqe", cqe.into(), self.attributes.max_cqe.into())?;
        let cq = CompletionQueue(self.allocate_handle());
        let ring = CompletionRing::new(cqe as usize);
        self.completions.rings.insert(cq.0, ring);
        Ok(cq)
    }

    pub(crate) fn destroy_cq(&mut self, cq: CompletionQueue) -> Result<(), VerbsError> {
        let uses =
            |slot: &QueuePairSlot| slot.qp.init().send_cq == cq || slot.qp.init().recv_cq == cq;
        if self.slots().any(uses) {
            return busy("completion queue");
        }
        let removed = self.completions.rings.remove(&cq.0);
        removed
            .map(|_| ())
            .ok_or_else(|| no_such("completion queue", cq.0))
    }

    pub(crate) fn create_qp(&mut self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        self.create_qp_with(init, |handle| {
            AnyQueuePair::Rc(RcQueuePair::new(handle, *init))
        })
    }

    /// Makes a queue pair of unreliable datagrams, to be used like the others but for
    /// [`post_datagram`](Self::post_datagram).
    ///
    /// # Errors
    /// As [`Verbs::create_qp`](crate::Verbs::create_qp).
    pub(crate) fn create_datagram_qp(
        &mut self,
        init: &QpInitAttributes,
    ) -> Result<QueuePair, VerbsError> {
        let mtu = self.port.mtu.bytes();
        self.create_qp_with(init, |handle| {
            AnyQueuePair::Ud(DatagramQueuePair::new(handle, *init, mtu))
        })
    }

    fn create_qp_with(
        &mut self,
        init: &QpInitAttributes,
        make: impl FnOnce(QueuePair) -> AnyQueuePair,
    ) -> Result<QueuePair, VerbsError> {
        if !self.pds.contains(&init.pd) {
            return Err(no_such("protection domain", init.pd.0));
        }
        for cq in [init.send_cq, init.recv_cq] {
            if !self.completions.rings.contains_key(&cq.0) {
                return Err(no_such("completion queue", cq.0));
            }
        }
        let (cap, device) = (&init.cap, &self.attributes);
        let limits = [
            ("max_send_wr", cap.max_send_wr, device.max_qp_wr),
            ("max_recv_wr", cap.max_recv_wr, device.max_qp_wr),
            ("max_send_sge", cap.max_send_sge, device.max_sge),
            ("max_recv_sge", cap.max_recv_sge, device.max_sge),
            (
                "max_inline_data",
                cap.max_inline_data,
                self.settings.max_inline_data,
            ),
        ];
        for (name, value, most) in limits {
            check_most(name, value.into(), most.into())?;
        }
        let free = self.qps.iter().position(Option::is_none);
        let position = free.unwrap_or(self.qps.len());
        let qp_num = u32::try_from(position).map_or(u32::MAX, |at| at.saturating_add(FIRST_QP));
        if qp_num >= 1 << 24 || position >= self.attributes.max_qp as usize {
            return Err(VerbsError::NoRoom {
                what: "queue pairs",
            });
        }
        let handle = self.allocate_handle();
        let handle = QueuePair { handle, qp_num };
        if free.is_none() {
            self.qps.push(None);
        }
        self.qps[position] = Some(QueuePairSlot {
            qp: make(handle),
            is_ready: false,
            timeout: None,
        });
        Ok(handle)
    }

    /// Returns the position of a queue pair.
    fn qp_position(&self, qp: QueuePair) -> Result<u32, VerbsError> {
        let position = qp.qp_num.wrapping_sub(FIRST_QP);
        match self.qps.get(position as usize) {
            Some(Some(slot)) if slot.qp.handle() == qp => Ok(position),
            _ => Err(no_such("queue pair", qp.handle)),
        }
    }

    fn with_qp<T>(
        &mut self,
        qp: QueuePair,
        call: impl FnOnce(&mut AnyQueuePair, &mut AdapterParts<'_>) -> Result<T, VerbsError>,
    ) -> Result<T, VerbsError> {
        let position = self.qp_position(qp)?;
        let result = self.with_qp_at(position, call);
        result.unwrap_or_else(|| Err(no_such("queue pair", qp.handle)))
    }

    pub(crate) fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError> {
        let position = self.qp_position(qp)? as usize;
        let slot = self.qps[position].as_ref();
        slot.map(|slot| slot.qp.attributes())
            .ok_or_else(|| no_such("queue pair", qp.handle))
    }

    pub(crate) fn modify_qp(&mut self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError> {
        self.check_ranges(modify)?;
        self.with_qp(qp, |qp, parts| qp.modify(parts, modify))
    }

    /// Checks each attribute against its legal range.
    fn check_ranges(&self, modify: &QpModify) -> Result<(), VerbsError> {
        if let Some(port) = modify.port_num
            && port != 1
        {
            return invalid(format!("port_num is {port}, the adapter has port 1 only"));
        }
        if let Some(mtu) = modify.path_mtu
            && mtu > self.port.mtu
        {
            let (mtu, most) = (mtu.bytes(), self.port.mtu.bytes());
            return check_most("path_mtu", mtu.into(), most.into());
        }
        let device = &self.attributes;
        let initiates = device.max_qp_init_rd_atom;
        let limits = [
            ("pkey_index", modify.pkey_index.map(u32::from), 0),
            ("dest_qp_num", modify.dest_qp_num, (1 << 24) - 1),
            ("rq_psn", modify.rq_psn, (1 << 24) - 1),
            ("sq_psn", modify.sq_psn, (1 << 24) - 1),
            (
                "max_rd_atomic",
                modify.max_rd_atomic.map(u32::from),
                initiates,
            ),
            (
                "max_dest_rd_atomic",
                modify.max_dest_rd_atomic.map(u32::from),
                device.max_qp_rd_atom,
            ),
            ("min_rnr_timer", modify.min_rnr_timer.map(u32::from), 31),
            ("timeout", modify.timeout.map(u32::from), 31),
            ("retry_cnt", modify.retry_cnt.map(u32::from), 7),
            ("rnr_retry", modify.rnr_retry.map(u32::from), 7),
        ];
        for (name, value, most) in limits {
            check_most(name, value.unwrap_or(0).into(), most.into())?;
        }
        Ok(())
    }

    pub(crate) fn destroy_qp(&mut self, qp: QueuePair) -> Result<(), VerbsError> {
        let position = self.qp_position(qp)?;
        let slot = &mut self.qps[position as usize];
        if let Some(at) = slot.as_ref().and_then(|slot| slot.timeout) {
            self.timeouts.remove(&(at, position));
        }
        *slot = None;
        self.ready.retain(|ready| *ready != position);
        Ok(())
    }

    pub(crate) fn post_send(
        &mut self,
        qp: QueuePair,
        requests: &[SendRequest<'_>],
    ) -> Result<(), PostError> {
        self.post_requests(qp, requests, AnyQueuePair::post_send)
    }

    /// Posts datagrams; the datagrams before a refused one are posted.
    ///
    /// # Errors
    /// As [`Verbs::post_send`](crate::Verbs::post_send), also for a queue pair of connections.
    pub fn post_datagram(
        &mut self,
        qp: QueuePair,
        requests: &[DatagramRequest<'_>],
    ) -> Result<(), PostError> {
        self.post_requests(qp, requests, AnyQueuePair::post_datagram)
    }

    pub(crate) fn post_recv(
        &mut self,
        qp: QueuePair,
        requests: &[RecvRequest<'_>],
    ) -> Result<(), PostError> {
        if let ([_, _, ..], Ok(position)) = (requests, self.qp_position(qp))
            && let Some(Some(slot)) = self.qps.get_mut(position as usize)
        {
            slot.qp.reserve_receives(requests.len());
        }
        self.post_requests(qp, requests, AnyQueuePair::post_recv)
    }

    fn post_requests<R>(
        &mut self,
        qp: QueuePair,
        requests: &[R],
        post: impl Fn(&mut AnyQueuePair, &mut AdapterParts<'_>, &R) -> Result<(), VerbsError>,
    ) -> Result<(), PostError> {
        let position = self.qp_position(qp);
        let position = position.map_err(|error| PostError { taken: 0, error })?;
        let posted = self.with_qp_at(position, |qp, parts| {
            for (taken, request) in requests.iter().enumerate() {
                post(qp, parts, request).map_err(|error| PostError { taken, error })?;
            }
            Ok(())
        });
        let error = || no_such("queue pair", qp.handle);
        posted.unwrap_or_else(|| {
            Err(PostError {
                taken: 0,
                error: error(),
            })
        })
    }

    pub(crate) fn poll_cq(
        &mut self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        let ring = self.completions.rings.get_mut(&cq.0);
        let ring = ring.ok_or_else(|| no_such("completion queue", cq.0))?;
        if ring.has_overflowed {
            return invalid("the completion queue has overflowed".to_owned());
        }
        let count = most.min(ring.entries.len());
        if count == 0 {
            return Ok(0);
        }
        for entry in ring.entries.drain(..count) {
            let position = entry.completion.qp_num.wrapping_sub(FIRST_QP) as usize;
            if let Some(Some(slot)) = self.qps.get_mut(position) {
                slot.qp.free_places(entry.sends, entry.receives);
            }
            completions.push(entry.completion);
        }
        Ok(count)
    }

    pub(crate) fn req_notify_cq(
        &mut self,
        cq: CompletionQueue,
        solicited_only: bool,
    ) -> Result<(), VerbsError> {
        let ring = self.completions.rings.get_mut(&cq.0);
        let ring = ring.ok_or_else(|| no_such("completion queue", cq.0))?;
        ring.request_notification(solicited_only);
        Ok(())
    }

    pub(crate) fn get_cq_event(
        &mut self,
        is_wanted: impl Fn(CompletionQueue) -> bool,
    ) -> Option<CompletionQueue> {
        let notifications = &mut self.completions.notifications;
        let at = notifications.iter().position(|cq| is_wanted(*cq))?;
        notifications.remove(at)
    }

    pub(crate) fn get_async_event(
        &mut self,
        is_wanted: impl Fn(AsyncEvent) -> bool,
    ) -> Option<AsyncEvent> {
        let at = self.events.iter().position(|event| is_wanted(*event))?;
        self.events.remove(at)
    }
}

fn byte_range(offset: u64, length: usize) -> Option<std::ops::Range<usize>> {
    let offset = usize::try_from(offset).ok()?;
    Some(offset..offset.checked_add(length)?)
}

fn outside<T>(region: &MemoryRegion, offset: u64, length: usize) -> Result<T, VerbsError> {
    invalid(format!(
        "{length} bytes at offset {offset} are not within the region of {} bytes",
        region.length
    ))
}
