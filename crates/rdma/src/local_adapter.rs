//! [`Verbs`] for programs that share a process with a [`ChannelAdapter`], such as simulated ranks
//! and tests.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use crate::{
    Access, AsyncEvent, ChannelAdapter, CompletionQueue, DeviceAttributes, Gid, GidType,
    MemoryRegion, PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes,
    QpModify, QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, Verbs, VerbsError,
    WorkCompletion,
};

/// The environment of an adapter: its clock, and the carrier of its packets.
pub trait AdapterHost {
    /// Returns the time in picoseconds.
    fn now(&self) -> u64;

    /// Tells that a call was made after which the adapter may have packets to send or another next
    /// timeout.
    fn ring_doorbell(&self);
}

/// The clock of adapters whose owner polls them for packets after every call. The time is the last
/// time that was set, and 0 at first. All clones are one clock.
#[derive(Clone, Default, Debug)]
pub struct PolledClock(Rc<Cell<u64>>);

impl PolledClock {
    /// Sets the time in picoseconds.
    pub fn set(&self, now: u64) {
        self.0.set(now);
    }
}

impl AdapterHost for PolledClock {
    fn now(&self) -> u64 {
        self.0.get()
    }

    /// Has no effect: the owner polls for packets.
    fn ring_doorbell(&self) {}
}

/// Access to a [`ChannelAdapter`] of the same process, like the result of `ibv_open_device`.
/// Several accesses share an adapter, and each gets the asynchronous events of its own objects.
#[derive(Clone)]
pub struct LocalAdapter<H> {
    adapter: Rc<RefCell<ChannelAdapter>>,
    host: H,
    /// A copy, to lend.
    attributes: Rc<DeviceAttributes>,
    own: Rc<RefCell<OwnObjects>>,
}

/// Objects that were created through one access.
#[derive(Default)]
struct OwnObjects {
    queue_pairs: BTreeSet<QueuePair>,
    completion_queues: BTreeSet<CompletionQueue>,
}

impl OwnObjects {
    fn concerns(&self, event: AsyncEvent) -> bool {
        match event {
            AsyncEvent::CqErr(cq) => self.completion_queues.contains(&cq),
            AsyncEvent::QpFatal(qp)
            | AsyncEvent::QpReqErr(qp)
            | AsyncEvent::QpAccessErr(qp)
            | AsyncEvent::CommEst(qp)
            | AsyncEvent::SqDrained(qp) => self.queue_pairs.contains(&qp),
            _ => true,
        }
    }
}

impl<H> fmt::Debug for LocalAdapter<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalAdapter")
            .field(&self.attributes.name)
            .finish()
    }
}

impl<H: AdapterHost> LocalAdapter<H> {
    /// Returns access to an adapter.
    #[must_use]
    pub fn new(adapter: Rc<RefCell<ChannelAdapter>>, host: H) -> Self {
        let attributes = Rc::new(adapter.borrow().attributes().clone());
        Self {
            adapter,
            host,
            attributes,
            own: Rc::default(),
        }
    }

    /// Creates a queue pair of unreliable datagrams (`IBV_QPT_UD`) in the state RESET.
    ///
    /// # Errors
    /// As [`Verbs::create_qp`].
    pub fn create_datagram_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        let qp = self.now().create_datagram_qp(init)?;
        self.own.borrow_mut().queue_pairs.insert(qp);
        Ok(qp)
    }

    /// Returns the adapter at the time of the host.
    fn now(&self) -> RefMut<'_, ChannelAdapter> {
        let mut adapter = self.adapter.borrow_mut();
        adapter.set_time(self.host.now());
        adapter
    }

    /// Rings the doorbell of the host after a call, and returns the result of the call.
    fn rung<T>(&self, result: T) -> T {
        self.host.ring_doorbell();
        result
    }
}

impl<H: AdapterHost> Verbs for LocalAdapter<H> {
    fn query_device(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError> {
        self.now().query_port(port_num)
    }

    fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError> {
        self.now().query_gid(port_num, index)
    }

    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError> {
        Ok(self.now().alloc_pd())
    }

    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError> {
        self.now().dealloc_pd(pd)
    }

    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError> {
        self.now().reg_mr(pd, memory, access)
    }

    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError> {
        self.now().dereg_mr(region)
    }

    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError> {
        self.now().read_mr(region, offset, bytes)
    }

    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError> {
        self.now().write_mr(region, offset, bytes)
    }

    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError> {
        let cq = self.now().create_cq(cqe)?;
        self.own.borrow_mut().completion_queues.insert(cq);
        Ok(cq)
    }

    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError> {
        self.now().destroy_cq(cq)?;
        self.own.borrow_mut().completion_queues.remove(&cq);
        Ok(())
    }

    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError> {
        let qp = self.now().create_qp(init)?;
        self.own.borrow_mut().queue_pairs.insert(qp);
        Ok(qp)
    }

    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError> {
        self.now().query_qp(qp)
    }

    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError> {
        let result = self.now().modify_qp(qp, modify);
        self.rung(result)
    }

    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError> {
        self.now().destroy_qp(qp)?;
        self.own.borrow_mut().queue_pairs.remove(&qp);
        Ok(())
    }

    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError> {
        let result = self.now().post_send(qp, requests);
        self.rung(result)
    }

    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError> {
        let result = self.now().post_recv(qp, requests);
        self.rung(result)
    }

    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError> {
        self.now().poll_cq(cq, most, completions)
    }

    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError> {
        self.now().req_notify_cq(cq, solicited_only)
    }

    fn get_cq_event(&self) -> Result<Option<CompletionQueue>, VerbsError> {
        let own = &self.own.borrow().completion_queues;
        Ok(self.now().get_cq_event(|cq| own.contains(&cq)))
    }

    fn get_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError> {
        let own = self.own.borrow();
        Ok(self.now().get_async_event(|event| own.concerns(event)))
    }
}
