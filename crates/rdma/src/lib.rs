//! InfiniBand without I/O and without a clock: the trait [`Verbs`] of adapters, and the formats of
//! packets on the [wire].
//!
//! Implementations: real adapters through `libibverbs` (crate `real`, feature `verbs`), and the
//! [`ChannelAdapter`] in software, without I/O and without a clock, through [`LocalAdapter`]. The
//! message layer knows this trait and no adapter.
//!
//! # How to use an adapter
//!
//! 1. [`alloc_pd`](Verbs::alloc_pd), [`create_cq`](Verbs::create_cq),
//!    [`create_qp`](Verbs::create_qp), and [`reg_mr`](Verbs::reg_mr) for the memory that messages
//!    leave from and arrive in.
//! 2. [`prepare`] brings the queue pair from RESET to INIT and gives its [`Endpoint`]. Post
//!    receives: the first message may arrive as soon as the *other* side is connected.
//! 3. Give the endpoint to the other side, by any other way, and get the one of the other side.
//! 4. [`connect`] with both and some [`ConnectionAttributes`]: over RTR to RTS. What the other side
//!    sends before that is lost, and sent again after its `timeout`.
//! 5. [`post_recv`](Verbs::post_recv), [`post_send`](Verbs::post_send),
//!    [`poll_cq`](Verbs::poll_cq).
//!
//! # What it is not
//!
//! * Only reliable connections (RC); unreliable datagrams (UD) of [`ChannelAdapter`] are beside the
//!   trait. No shared receive queues, no memory windows, no
//!   multicast, no path migration.
//! * **Nothing waits.** Every call returns at once. Who has nothing to do asks for a
//!   [notification](Verbs::req_notify_cq) and then waits by means of the implementation: for a file
//!   descriptor with a real adapter, for virtual time with a simulated one.
//! * **Nothing is freed by itself** before the adapter is dropped: handles are numbers, and
//!   `destroy_*`, `dealloc_pd` and `dereg_mr` are calls, as in C. Dropping the adapter frees
//!   everything. A number is never used again, so that an old handle is refused and never taken for
//!   another.
//! * **Memory is owned by the adapter while it is registered** ([`RegionMemory`]), because the
//!   adapter and remote peers write to it at any moment. So there is nothing that a safe program
//!   could break.
//!
//! # Sources
//!
//! Names are those of rdma-core (`ibv_` left out, spelled as in Rust); each item names the manual
//! page of rdma-core that describes it, and the section of the InfiniBand Architecture
//! Specification, volume 1, release 1.2.1 (*IBA*) where the rule comes from there.

#![warn(clippy::missing_errors_doc)]

mod adapter;
mod capture;
mod completion;
#[cfg(feature = "conformance")]
pub mod conformance;
mod connect;
mod device;
pub mod dialogue;
mod error;
mod handle;
mod local_adapter;
mod memory;
mod psn;
mod qp;
mod queue_pair;
mod verbs;
pub mod wire;
mod work;

pub use adapter::{AdapterPort, ChannelAdapter};
pub use capture::{Capture, CaptureLink};
pub use completion::{AdapterFault, AsyncEvent, WcOpcode, WcStatus, WorkCompletion};
pub use connect::{ConnectionAttributes, Endpoint, EndpointError, RNR_TIMER_US, connect, prepare};
pub use device::{
    AtomicCap, DeviceAttributes, Gid, GidType, LinkLayer, Mtu, PortAttributes, PortState,
};
pub use error::{PostError, RegisterError, VerbsError};
pub use handle::{CompletionQueue, ProtectionDomain, QueuePair};
pub use local_adapter::{AdapterHost, LocalAdapter, PolledClock};
pub use memory::{Access, MemoryRegion, RegionMemory};
pub use psn::Psn;
#[cfg(feature = "seeded-defects")]
pub use qp::Defect;
pub use qp::{SoftAdapterSettings, Transmit};
pub use queue_pair::{
    AddressVector, GlobalRoute, QpAttributes, QpCapabilities, QpInitAttributes, QpModify, QpState,
};
pub use verbs::Verbs;
pub use work::{DatagramRequest, Operation, Payload, RecvRequest, SendFlags, SendRequest, Sge};
