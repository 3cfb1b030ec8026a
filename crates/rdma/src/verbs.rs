//! The interface between programs and adapters.
//!
//! Object-safe, with `&self` throughout: an adapter belongs to one thread and is shared within it.

use std::fmt;

use crate::{
    Access, AsyncEvent, CompletionQueue, DeviceAttributes, Gid, GidType, MemoryRegion,
    PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes, QpModify,
    QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, VerbsError, WorkCompletion,
};

/// An open adapter.
///
/// # Promises
///
/// * Requests of one queue begin in the order in which they were posted, and complete in that
///   order; between queues there is no order. The effects of requests at the other side are ordered
///   only as IBA 9.5 states: a request after a read or an atomic may take effect before this read
///   or atomic, unless the request has a [fence](crate::SendFlags::fence).
/// * When a completion has been polled, the data of its request are in memory, and the memory that
///   the request named may be used again.
/// * A call that is refused changes no state.
pub trait Verbs: fmt::Debug {
    /// Returns the abilities. `ibv_query_device(3)`.
    fn query_device(&self) -> &DeviceAttributes;

    /// Returns the abilities and state of a port of the adapter. `ibv_query_port(3)`.
    ///
    /// # Errors
    /// If there is no such port; ports count from 1.
    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError>;

    /// Returns a global identifier of a port. `ibv_query_gid_ex(3)`.
    ///
    /// # Errors
    /// If there is no such port or index, or the entry is empty.
    fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError>;

    /// Makes a protection domain. `ibv_alloc_pd(3)`.
    ///
    /// # Errors
    /// If there is no room.
    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError>;

    /// Frees a protection domain. `ibv_dealloc_pd(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Busy`] if an object belongs to the protection domain.
    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError>;

    /// Registers memory: from now on the adapter owns the memory. `ibv_reg_mr(3)`.
    ///
    /// # Errors
    /// The error contains the memory. The memory is empty, the rights are not
    /// [consistent](Access::is_consistent), read-only memory has a right to write, or there is no
    /// room (often a limit on locked memory: `ulimit -l`).
    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError>;

    /// Returns registered memory to the program. Requests that name the region fail from now on,
    /// also requests that were posted before. `ibv_dereg_mr(3)`.
    ///
    /// # Errors
    /// If there is no such region.
    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError>;

    /// Copies bytes out of registered memory, also while requests write to the memory: then each
    /// byte has its old or its new value. Eight bytes at an address that is a multiple of 8 are
    /// read together.
    ///
    /// # Errors
    /// If there is no such region, or the range is not within the region.
    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError>;

    /// Copies bytes into registered memory, in the same way.
    ///
    /// # Errors
    /// If there is no such region, the range is not within the region, or the memory is [only
    /// read](RegionMemory::ReadOnly).
    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError>;

    /// Creates a completion queue for at least this many completions. A queue that overflows is
    /// broken, and so are the queue pairs that use it. `ibv_create_cq(3)`.
    ///
    /// # Errors
    /// If there is no room.
    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError>;

    /// Destroys a completion queue. `ibv_destroy_cq(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Busy`] if a queue pair uses the completion queue.
    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError>;

    /// Creates a queue pair in state RESET. Its capabilities are at least the requested ones.
    /// `ibv_create_qp(3)`.
    ///
    /// # Errors
    /// If there is no such protection domain or completion queue, or no room.
    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError>;

    /// Returns the attributes of a queue pair at the moment. `ibv_query_qp(3)`.
    ///
    /// # Errors
    /// If there is no such queue pair.
    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError>;

    /// Changes a queue pair. `ibv_modify_qp(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Invalid`] if the state does not allow the change, an attribute is missing or
    /// not allowed, or a value is out of range. Then no attribute has changed.
    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError>;

    /// Destroys a queue pair. Its requests complete no more; completions that were not polled may
    /// be lost. `ibv_destroy_qp(3)`.
    ///
    /// # Errors
    /// If there is no such queue pair.
    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError>;

    /// Posts requests to the send queue, in this order. `ibv_post_send(3)`.
    ///
    /// # Errors
    /// From the first request on that is refused: the queue is full ([`VerbsError::NoRoom`]), the
    /// state is neither RTS, SQD nor ERR, or the request has too many entries or too many inline
    /// bytes. The requests before it have been posted.
    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError>;

    /// Posts requests to the receive queue, in this order. `ibv_post_recv(3)`.
    ///
    /// # Errors
    /// At the first refused request: the queue is full, the state is RESET, or the
    /// request has too many entries. The requests before it have been posted.
    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError>;

    /// Appends at most `most` completions to `completions`, the oldest first, and returns their
    /// number. `ibv_poll_cq(3)`.
    ///
    /// # Errors
    /// If there is no such queue, or the queue is broken.
    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError>;

    /// Requests one notification of the next completion in the queue; with `solicited_only`, of the
    /// next [solicited](crate::SendFlags::solicited) or failed one. Completions already in the
    /// queue do not count: poll again afterwards. `ibv_req_notify_cq(3)`.
    ///
    /// # Errors
    /// If there is no such queue.
    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError>;

    /// Returns the next queue whose requested notification has come. Does not wait.
    /// `ibv_get_cq_event(3)`, with `ibv_ack_cq_events(3)`.
    ///
    /// # Errors
    /// If the adapter is broken.
    fn get_cq_event(&self) -> Result<Option<CompletionQueue>, VerbsError>;

    /// The next thing that happened to the adapter without having been asked for. Does not wait.
    /// `ibv_get_async_event(3)`, with `ibv_ack_async_event(3)`.
    ///
    /// # Errors
    /// If the adapter is broken.
    fn get_async_event(&self) -> Result<Option<AsyncEvent>, VerbsError>;
}
