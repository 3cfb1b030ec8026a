//! Handles of the objects that an adapter created: numbers, each used once per adapter.
//!
//! A handle is valid only at the adapter that returned it. Another adapter refuses the handle, or
//! has a different object with that number.

/// A protection domain: its queue pairs may use its memory regions. `ibv_alloc_pd(3)`; IBA 10.2.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtectionDomain(
    /// The adapter's number for the protection domain.
    pub u32,
);

/// A completion queue. `ibv_create_cq(3)`; IBA 10.2.6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CompletionQueue(
    /// The adapter's number for the completion queue.
    pub u32,
);

/// A queue pair of the service *reliable connection*. `ibv_create_qp(3)`; IBA 10.2.4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueuePair {
    /// The adapter's number for the queue pair.
    pub handle: u32,
    /// Number of the queue pair on the wire, 24 bits (`qp_num`): the destination of packets, and a
    /// field of completions. Unlike `handle`, it may be reused after the queue pair is destroyed.
    pub qp_num: u32,
}
