//! Connection-oriented endpoints: active messages and remote memory access over queue pairs.
//!
//! The interface follows CCI (Atchley et al., *The Common Communication Interface*, Hot
//! Interconnects 2011): an [`Endpoint`] has a [`Uri`]; connections have an [`Attribute`]; changes
//! are reported by [`EndpointEvent`]s that are returned. An endpoint has neither sockets nor a
//! clock: its owner passes datagrams and the time in and takes datagrams out, as with
//! `rdma::ChannelAdapter`. [`simulated`] is an owner in simulated time. Endpoints use only the
//! random streams of `sim-core`: processes and hosts of the kernel or of `fabric` would cost more
//! than an interaction of the fuzzer.
//!
//! * *Handshake*: datagrams, repeated until they are acknowledged; so connecting is reliable with
//!   every attribute. Files `stage` (the table of stages) and `handshake`.
//! * *Reliable connections* are queue pairs of the service RC: messages are sends into posted
//!   receives. Reliable unordered connections keep the order, too. File `messages`.
//! * *Remote memory access* (RMA) is RDMA READ and WRITE on the same queue pair. File `rma`.
//! * *Unreliable connections* send datagrams.
//!
//! *Not modelled*: multicast, priorities of devices, waiting on a handle of the system. Registered
//! memory belongs to the endpoint until it is deregistered, so regions never overlap.
//!
//! ```
//! use endpoint::simulated::{Network, NetworkSettings};
//! use endpoint::{Attribute, EventKind, Flags, MessageBytes};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut network = Network::new(2, NetworkSettings::default())?;
//! let server = network.endpoint(1).uri().clone();
//! let attribute = Attribute::ReliableOrdered;
//! network.endpoint(0).connect(&server, (attribute, b"hello"), 7, None)?;
//! let mut received = None;
//! while received.is_none() && network.advance_time(None) {
//!     for worker in 0..2 {
//!         while let Some(event) = network.endpoint(worker).get_event()? {
//!             let endpoint = network.endpoint(worker);
//!             match event.kind {
//!                 EventKind::ConnectRequest { request, .. } => endpoint.accept(request, 8)?,
//!                 EventKind::Connect { result: Ok(id), .. } => {
//!                     endpoint.send(id, 1, MessageBytes::Copied(b"ping"), Flags::default())?;
//!                 }
//!                 EventKind::Receive { message, .. } => received = Some(message),
//!                 _ => {}
//!             }
//!             endpoint.return_event(event.id)?;
//!         }
//!     }
//! }
//! assert_eq!(received.as_deref(), Some(&b"ping"[..]));
//! # Ok(())
//! # }
//! ```

mod connection;
mod defect;
mod endpoint;
mod event;
mod handshake;
mod keepalive;
mod messages;
mod operations;
mod rma;
pub mod simulated;
mod stage;
mod wire;

pub use connection::{ConnectionId, OperationId};
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use endpoint::{Endpoint, EndpointSettings};
pub use event::{EndpointEvent, EventId, EventKind, RequestId, Status};
pub use messages::MessageBytes;
pub use operations::Flags;
pub use rdma::Access;
pub use rma::{Direction, RmaHandle, Transfer};
pub use stage::{ConnectionStage, StageEvent, StageTransition, TRANSITIONS};
pub use wire::{Attribute, Uri};

/// A call that an endpoint refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of range (`CCI_EINVAL`).
    Invalid(&'static str),
    /// The message is longer than the connection takes (`CCI_EMSGSIZE`).
    MessageSize,
    /// The connection has ended, or there is none of this number (`CCI_ERR_DISCONNECTED`).
    Disconnected,
    /// All send buffers are in use; or no event can come until events are returned, since they
    /// have all receive buffers of a connection (`CCI_ENOBUFS`).
    NoBuffers,
    /// The handle does not name registered memory (`CCI_ERR_RMA_HANDLE`).
    RmaHandle,
    /// The handle does not permit the operation (`CCI_ERR_RMA_OP`).
    RmaOperation,
    /// The adapter refused a call.
    Adapter(rdma::VerbsError),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::MessageSize => f.write_str("the message is longer than the connection takes"),
            Self::Disconnected => f.write_str("the connection has ended"),
            Self::NoBuffers => f.write_str("all buffers are in use"),
            Self::RmaHandle => f.write_str("the handle is not that of registered memory"),
            Self::RmaOperation => f.write_str("the handle does not permit the operation"),
            Self::Adapter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<rdma::VerbsError> for Error {
    fn from(error: rdma::VerbsError) -> Self {
        Self::Adapter(error)
    }
}
