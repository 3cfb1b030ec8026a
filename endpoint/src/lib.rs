//! Connection-oriented endpoints: active messages over queue pairs.
//!
//! The interface is that of CCI (Atchley et al., *The Common Communication Interface*, Hot
//! Interconnects 2011): an [`Endpoint`] has a [`Uri`]; connections have an [`Attribute`]; what
//! happens comes as [`Event`]s that are returned. It has neither sockets nor a clock: its owner
//! hands it datagrams and the time and takes datagrams from it, as with `rdma::ChannelAdapter`.
//!
//! * *Handshake*: datagrams, repeated until they are acknowledged; so connecting is reliable with
//!   every attribute. File `handshake`.
//! * *Reliable connections* are queue pairs of the service RC: messages are sends into posted
//!   receives. Reliable unordered connections keep the order, too. File `messages`.
//! * *Unreliable connections* send datagrams.
//!
//! *Not modelled*: remote memory access, keepalive, silent and blocking sends, multicast,
//! priorities of devices. A program that needs them finds no call for them.

mod connection;
mod defect;
mod endpoint;
mod event;
mod handshake;
mod messages;
mod wire;

pub use connection::ConnectionId;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use endpoint::{Endpoint, EndpointSettings};
pub use event::{Event, EventId, EventKind, RequestId, Status};
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
    /// All send buffers are in use (`CCI_ENOBUFS`).
    NoBuffers,
    /// The adapter refused a call.
    Adapter(rdma::VerbsError),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::MessageSize => f.write_str("the message is longer than the connection takes"),
            Self::Disconnected => f.write_str("the connection has ended"),
            Self::NoBuffers => f.write_str("all send buffers are in use"),
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
