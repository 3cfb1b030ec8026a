//! Handles of the things that an adapter made: numbers, each used once per adapter.
//!
//! A handle means nothing to another adapter than the one that gave it; another one refuses it or
//! has something else under that number.

/// A protection domain: queue pairs of it may use memory regions of it. `ibv_alloc_pd(3)`; IBA
/// 10.2.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProtectionDomain(
    /// The adapter's number for it.
    pub u32,
);

/// A completion queue. `ibv_create_cq(3)`; IBA 10.2.6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CompletionQueue(
    /// The adapter's number for it.
    pub u32,
);

/// A queue pair of the service *reliable connection*. `ibv_create_qp(3)`; IBA 10.2.4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueuePair {
    /// The adapter's number for it.
    pub handle: u32,
    /// Its number on the wire, 24 bits (`qp_num`): what the other side sends to, and what
    /// completions name. Unlike `handle` it may be used again after the queue pair is gone.
    pub qp_num: u32,
}
