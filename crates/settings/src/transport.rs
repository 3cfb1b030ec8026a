//! The transport service below the message layer.

use serde::Serialize;

/// Transport of packets between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum TransportMode {
    /// Separate packets: each leaves a packet buffer and arrives in one at the peer, as with
    /// InfiniBand verbs.
    #[default]
    Packet,
    /// One byte stream to each peer with its own flow control, like TCP: a message of any length is
    /// one packet, and data do not wait for buffers or credits.
    Stream,
}
