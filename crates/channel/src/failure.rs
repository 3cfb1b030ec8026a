//! Reasons for which a message was not sent.
//!
//! *Not decided here*: the class of the error, which the package `mpi` decides.

use std::fmt;

/// Why a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    /// No connection could be made.
    Unreachable,
    /// The peer is lost.
    PeerLost,
    /// The peer has finalized.
    PeerFinalized,
    /// This process has finalized.
    Finalized,
    /// There is no business card of the peer.
    NoAddress,
    /// The limit of descriptors is reached, and no connection is idle.
    NoDescriptor,
    /// A process does not connect to itself.
    Oneself,
    /// The adapter gave up a request to the peer, or one of the peer was wrong.
    Transport(rdma::WcStatus),
    /// Memory for a message from or to the peer could not be registered with the adapter.
    NoMemory,
    /// The adapter refused a resource that the connection needs.
    Adapter,
    /// The adapter reported the failure of a part that the connection needs.
    Fault(rdma::AdapterFault),
}

impl Failure {
    /// Returns true if an adapter says so, and not the machines of connections.
    #[must_use]
    pub const fn is_of_adapter(self) -> bool {
        matches!(
            self,
            Self::Transport(_) | Self::NoMemory | Self::Adapter | Self::Fault(_)
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the peer no longer accepts connections",
            Self::PeerLost => "it is lost",
            Self::PeerFinalized => "it has finalized",
            Self::Finalized => "this rank has finalized",
            Self::NoAddress => "its address is not known",
            Self::NoDescriptor => "descriptor limit reached and no idle connection to close",
            Self::Oneself => "a rank does not connect to itself",
            Self::Transport(status) => return write!(f, "{status} ({})", status.name()),
            Self::NoMemory => {
                "memory registration failed (check the locked-memory limit: `ulimit -l`)"
            }
            Self::Adapter => "the adapter refused a call",
            Self::Fault(fault) => return fault.fmt(f),
        })
    }
}
