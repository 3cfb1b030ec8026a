//! The seam between programs and adapters.
//!
//! Object-safe, with `&self` throughout: an adapter belongs to one thread and is shared within it.

use std::fmt;

use crate::{
    Access, AsyncEvent, CompletionQueue, DeviceAttributes, Gid, GidType, MemoryRegion,
    PortAttributes, PostError, ProtectionDomain, QpAttributes, QpInitAttributes, QpModify,
    QueuePair, RecvRequest, RegionMemory, RegisterError, SendRequest, VerbsError, WorkCompletion,
};

/// An adapter that is open.
///
/// # Promises
///
/// * Requests of one queue begin in the order in which they were posted, and their completions come
///   in that order; between queues there is no order. Among the effects of requests at the other
///   side only what IBA 9.5 orders is ordered: what comes after a read or an atomic may take effect
///   before it, unless it has a [fence](crate::SendFlags::fence).
/// * When a completion has been polled, what its request brought is in memory, and memory that it
///   named may be used again.
/// * A call that is refused changes nothing.
pub trait Verbs: fmt::Debug {
    /// Returns the abilities. `ibv_query_device(3)`.
    fn query_device(&self) -> &DeviceAttributes;

    /// Returns the abilities and state of one of its ports. `ibv_query_port(3)`.
    ///
    /// # Errors
    /// If there is no such port; they count from 1.
    fn query_port(&self, port_num: u8) -> Result<PortAttributes, VerbsError>;

    /// One of a port's global identifiers. `ibv_query_gid_ex(3)`.
    ///
    /// # Errors
    /// If there is no such port or place, or it is empty.
    fn query_gid(&self, port_num: u8, index: u8) -> Result<(Gid, GidType), VerbsError>;

    /// Makes a protection domain. `ibv_alloc_pd(3)`.
    ///
    /// # Errors
    /// If there is no room.
    fn alloc_pd(&self) -> Result<ProtectionDomain, VerbsError>;

    /// Ends a protection domain. `ibv_dealloc_pd(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Busy`] if something is in it.
    fn dealloc_pd(&self, pd: ProtectionDomain) -> Result<(), VerbsError>;

    /// Registers memory: from now on the adapter owns it. `ibv_reg_mr(3)`.
    ///
    /// # Errors
    /// With the memory, if it is empty, the rights are not [consistent](Access::is_consistent),
    /// memory that is only read is to be written to, or there is no room (often a limit on locked
    /// memory: `ulimit -l`).
    fn reg_mr(
        &self,
        pd: ProtectionDomain,
        memory: RegionMemory,
        access: Access,
    ) -> Result<MemoryRegion, RegisterError>;

    /// Gives memory back. Requests that name it fail from now on, also those that were posted
    /// before. `ibv_dereg_mr(3)`.
    ///
    /// # Errors
    /// If there is no such region.
    fn dereg_mr(&self, region: &MemoryRegion) -> Result<RegionMemory, VerbsError>;

    /// Copies out of registered memory, whatever requests do to it meanwhile: then each of the
    /// bytes is an old or a new one. Eight bytes at an address that is a multiple of 8 come
    /// together.
    ///
    /// # Errors
    /// If there is no such region, or the range is not within it.
    fn read_mr(
        &self,
        region: &MemoryRegion,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), VerbsError>;

    /// Copies into registered memory, in the same way.
    ///
    /// # Errors
    /// If there is no such region, the range is not within it, or its memory is [only
    /// read](RegionMemory::ReadOnly).
    fn write_mr(&self, region: &MemoryRegion, offset: u64, bytes: &[u8]) -> Result<(), VerbsError>;

    /// Makes a completion queue for at least this many completions. It must never hold more: then
    /// it is broken, and what uses it. `ibv_create_cq(3)`.
    ///
    /// # Errors
    /// If there is no room.
    fn create_cq(&self, cqe: u32) -> Result<CompletionQueue, VerbsError>;

    /// Ends a completion queue. `ibv_destroy_cq(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Busy`] if a queue pair uses it.
    fn destroy_cq(&self, cq: CompletionQueue) -> Result<(), VerbsError>;

    /// Makes a queue pair in state RESET; its capabilities are at least what was asked for.
    /// `ibv_create_qp(3)`.
    ///
    /// # Errors
    /// If there is no such domain or queue, or no room.
    fn create_qp(&self, init: &QpInitAttributes) -> Result<QueuePair, VerbsError>;

    /// Returns the attributes of a queue pair at the moment. `ibv_query_qp(3)`.
    ///
    /// # Errors
    /// If there is no such queue pair.
    fn query_qp(&self, qp: QueuePair) -> Result<QpAttributes, VerbsError>;

    /// Changes a queue pair. `ibv_modify_qp(3)`.
    ///
    /// # Errors
    /// [`VerbsError::Invalid`] if that is not allowed in its state, something is missing or too
    /// much, or a value is out of range; then nothing has changed.
    fn modify_qp(&self, qp: QueuePair, modify: &QpModify) -> Result<(), VerbsError>;

    /// Ends a queue pair. Its requests complete no more; completions that were not polled may
    /// vanish. `ibv_destroy_qp(3)`.
    ///
    /// # Errors
    /// If there is no such queue pair.
    fn destroy_qp(&self, qp: QueuePair) -> Result<(), VerbsError>;

    /// Posts requests to the send queue, in this order. `ibv_post_send(3)`.
    ///
    /// # Errors
    /// From the first request on that cannot be taken: the queue is full ([`VerbsError::NoRoom`]),
    /// the state is neither RTS, SQD nor ERR, too many entries, or too many bytes inline. Those
    /// before it have been taken.
    fn post_send(&self, qp: QueuePair, requests: &[SendRequest<'_>]) -> Result<(), PostError>;

    /// Posts requests to the receive queue, in this order. `ibv_post_recv(3)`.
    ///
    /// # Errors
    /// From the first request on that cannot be taken: the queue is full, the state is RESET, or
    /// too many entries. Those before it have been taken.
    fn post_recv(&self, qp: QueuePair, requests: &[RecvRequest<'_>]) -> Result<(), PostError>;

    /// Appends at most `most` completions to `completions`, the oldest first, and tells how many.
    /// `ibv_poll_cq(3)`.
    ///
    /// # Errors
    /// If there is no such queue, or it is broken.
    fn poll_cq(
        &self,
        cq: CompletionQueue,
        most: usize,
        completions: &mut Vec<WorkCompletion>,
    ) -> Result<usize, VerbsError>;

    /// Asks to be told once of the next completion that enters the queue; with `solicited_only` of
    /// the next that is [solicited](crate::SendFlags::solicited) or failed. What is in the queue
    /// already does not count: poll again afterwards. `ibv_req_notify_cq(3)`.
    ///
    /// # Errors
    /// If there is no such queue.
    fn req_notify_cq(&self, cq: CompletionQueue, solicited_only: bool) -> Result<(), VerbsError>;

    /// The next queue of which it was asked to be told, if one has got a completion since. Does not
    /// wait. `ibv_get_cq_event(3)`, with `ibv_ack_cq_events(3)`.
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
