//! InfiniBand without I/O and without a clock: the trait [`Verbs`] of adapters, and the formats of
//! packets on the [wire].
//!
//! Implementations: real adapters through `libibverbs` (crate `real`, feature `verbs`), and the
//! [`ChannelAdapter`] in software, without I/O and without a clock, through [`LocalAdapter`]. The
//! message layer depends on this trait and on no adapter.
//!
//! # How to use an adapter
//!
//! 1. [`alloc_pd`](Verbs::alloc_pd), [`create_cq`](Verbs::create_cq),
//!    [`create_qp`](Verbs::create_qp), and [`reg_mr`](Verbs::reg_mr) for the memory that messages
//!    leave from and arrive in.
//! 2. [`prepare`] brings the queue pair from RESET to INIT and returns its [`Endpoint`]. Post
//!    receives: the first message may arrive as soon as the *other* side is connected.
//! 3. Send the endpoint to the other side, by any other way, and get the endpoint of the other
//!    side.
//! 4. [`connect`] with both endpoints and [`ConnectionAttributes`]: over RTR to RTS. A packet that
//!    the other side sends before this call is lost, and sent again after the `timeout`.
//! 5. [`post_recv`](Verbs::post_recv), [`post_send`](Verbs::post_send),
//!    [`poll_cq`](Verbs::poll_cq).
//!
//! # What it is not
//!
//! * Only reliable connections (RC); unreliable datagrams (UD) of [`ChannelAdapter`] are not in the
//!   trait. No shared receive queues, no memory windows, no multicast, no path migration.
//! * **No call blocks.** Every call returns at once. An idle program requests a
//!   [notification](Verbs::req_notify_cq) and then waits by means of the implementation: for a file
//!   descriptor with a real adapter, for virtual time with a simulated one.
//! * **No object is freed automatically** before the adapter is dropped: handles are numbers, and
//!   `destroy_*`, `dealloc_pd` and `dereg_mr` are calls, as in C. Dropping the adapter frees all
//!   objects. A handle number is never reused, so an old handle is refused and never denotes
//!   another object.
//! * **Memory is owned by the adapter while it is registered** ([`RegionMemory`]), because the
//!   adapter and remote peers write to the memory at any time. So a safe program cannot break
//!   memory safety.
//!
//! # Sources
//!
//! Names are the names of rdma-core (without `ibv_`, spelled as in Rust). Each item names the
//! manual page of rdma-core that describes the item, and the section of the InfiniBand Architecture
//! Specification, volume 1, release 1.2.1 (*IBA*) that states the rule, if there is one.

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
