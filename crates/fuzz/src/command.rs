//! Commands of workers.

use serde::{Deserialize, Serialize};

/// Delivery of the messages of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    /// Reliable, ordered.
    Ro,
    /// Reliable, unordered.
    Ru,
    /// Unreliable, unordered.
    Uu,
}

/// Flags of a send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SendFlags {
    /// No event reports the end.
    #[serde(skip_serializing_if = "is_false")]
    pub silent: bool,
    /// The command ends with the send.
    #[serde(skip_serializing_if = "is_false")]
    pub blocking: bool,
    /// The bytes are lent, not copied.
    #[serde(skip_serializing_if = "is_false")]
    pub lent: bool,
}

/// Bytes of a transfer between the buffers of two workers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Span {
    /// Offset in the buffer of the worker with the command, in bytes.
    pub local: u32,
    /// Offset in the buffer of the peer, in bytes.
    pub remote: u32,
    /// Number of bytes.
    pub length: u32,
    /// The transfer is ordered with earlier and later ones.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fence: bool,
    /// There is no completion message.
    #[serde(default, skip_serializing_if = "is_false")]
    pub quiet: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Picoseconds in a microsecond.
pub(crate) const MICROSECOND: u64 = 1_000_000;

/// Length of the buffer for remote memory access that a worker has for a connection, in bytes.
pub(crate) const BUFFER: u32 = 4096;

/// A command of a worker. Connections and messages have numbers of the interaction; times are in
/// microseconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "command")]
pub enum Command {
    /// Starts to connect to a worker.
    ConnectTo {
        /// The worker.
        to: u32,
        /// The connection.
        connection: u32,
        /// Attribute of the connection.
        attribute: Attribute,
        /// Time after which to give up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Accepts the request of this connection when it arrives.
    Accept {
        /// The connection.
        connection: u32,
    },
    /// Rejects the request of this connection when it arrives.
    Reject {
        /// The connection.
        connection: u32,
    },
    /// Neither accepts nor rejects the request of this connection when it arrives.
    Ignore {
        /// The connection.
        connection: u32,
    },
    /// Polls until the connection is in use, or was rejected or given up.
    WaitConnection {
        /// The connection.
        connection: u32,
    },
    /// Polls until the request of the connection has arrived and was treated as announced.
    WaitRequest {
        /// The connection.
        connection: u32,
    },
    /// Ends the connection at this worker.
    Disconnect {
        /// The connection.
        connection: u32,
    },
    /// Sends an active message; polls while all send buffers are in use.
    Send {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The length in bytes.
        length: u32,
        /// The flags of the send.
        #[serde(flatten)]
        flags: SendFlags,
    },
    /// Polls until the send of the message has ended.
    WaitSendCompletion {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
    /// Polls until the message has arrived.
    WaitReceive {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
    /// The next exchange of handles on this connection uses a buffer that is free, if there is one.
    RmaReuseHandle {
        /// The connection.
        connection: u32,
    },
    /// Takes or registers a buffer and sends its handle to the peer.
    RmaHandleExchange {
        /// The connection.
        connection: u32,
        /// The message with the handle.
        message: u32,
    },
    /// Polls until the handle of the peer has arrived, and the send of the own one has ended.
    RmaWaitExchange {
        /// The connection.
        connection: u32,
        /// The message with the own handle.
        message: u32,
    },
    /// Fills the buffer with the pattern of a message.
    RmaPrepareRead {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
    /// Fills a part of the buffer with the pattern of a message and writes this part to the buffer
    /// of the peer, with a completion message.
    RmaWrite {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The bytes.
        #[serde(flatten)]
        span: Span,
    },
    /// Reads a part of the buffer of the peer, with a completion message.
    RmaRead {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The bytes.
        #[serde(flatten)]
        span: Span,
    },
    /// At the worker that has started the transfer: polls until the transfer has ended. At the
    /// peer: polls until the completion message has arrived.
    RmaWait {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
    },
    /// Reports the content of the buffer.
    RmaContent {
        /// The connection.
        connection: u32,
    },
    /// Puts the buffer on the list of free buffers; the buffer stays registered.
    RmaFreeHandles {
        /// The connection.
        connection: u32,
    },
    /// Deregisters the buffer.
    RmaDeregister {
        /// The connection.
        connection: u32,
    },
    /// Supervises the peer.
    SetKeepalive {
        /// The connection.
        connection: u32,
        /// Time after which a silent peer is reported.
        timeout: u64,
    },
    /// Polls until the peer was reported as silent.
    WaitKeepalive {
        /// The connection.
        connection: u32,
    },
    /// Polls for a time.
    Pause {
        /// The connection of the pause.
        connection: u32,
        /// The time.
        time: u64,
    },
}

impl Command {
    /// Returns the connection that the command is about.
    pub const fn connection(&self) -> u32 {
        match self {
            Self::ConnectTo { connection, .. }
            | Self::Accept { connection }
            | Self::Reject { connection }
            | Self::Ignore { connection }
            | Self::WaitConnection { connection }
            | Self::WaitRequest { connection }
            | Self::Disconnect { connection }
            | Self::Send { connection, .. }
            | Self::WaitSendCompletion { connection, .. }
            | Self::WaitReceive { connection, .. }
            | Self::RmaReuseHandle { connection }
            | Self::RmaHandleExchange { connection, .. }
            | Self::RmaWaitExchange { connection, .. }
            | Self::RmaPrepareRead { connection, .. }
            | Self::RmaWrite { connection, .. }
            | Self::RmaRead { connection, .. }
            | Self::RmaWait { connection, .. }
            | Self::RmaContent { connection }
            | Self::RmaFreeHandles { connection }
            | Self::RmaDeregister { connection }
            | Self::SetKeepalive { connection, .. }
            | Self::WaitKeepalive { connection }
            | Self::Pause { connection, .. } => *connection,
        }
    }

    /// Returns the message that the command is about.
    pub const fn message_number(&self) -> Option<u32> {
        match self {
            Self::Send { message, .. }
            | Self::WaitSendCompletion { message, .. }
            | Self::WaitReceive { message, .. }
            | Self::RmaHandleExchange { message, .. }
            | Self::RmaWaitExchange { message, .. }
            | Self::RmaPrepareRead { message, .. }
            | Self::RmaWrite { message, .. }
            | Self::RmaRead { message, .. }
            | Self::RmaWait { message, .. } => Some(*message),
            _ => None,
        }
    }

    /// Returns true if the command is one of remote memory access.
    pub const fn is_rma(&self) -> bool {
        matches!(
            self,
            Self::RmaReuseHandle { .. }
                | Self::RmaHandleExchange { .. }
                | Self::RmaWaitExchange { .. }
                | Self::RmaPrepareRead { .. }
                | Self::RmaWrite { .. }
                | Self::RmaRead { .. }
                | Self::RmaWait { .. }
                | Self::RmaContent { .. }
                | Self::RmaFreeHandles { .. }
                | Self::RmaDeregister { .. }
        )
    }

    /// Returns the place of the command in [`NAMES`](Self::NAMES).
    pub const fn name_index(&self) -> usize {
        match self {
            Self::ConnectTo { .. } => 0,
            Self::Accept { .. } => 1,
            Self::Reject { .. } => 2,
            Self::Ignore { .. } => 3,
            Self::WaitConnection { .. } => 4,
            Self::WaitRequest { .. } => 5,
            Self::Disconnect { .. } => 6,
            Self::Send { .. } => 7,
            Self::WaitSendCompletion { .. } => 8,
            Self::WaitReceive { .. } => 9,
            Self::RmaReuseHandle { .. } => 10,
            Self::RmaHandleExchange { .. } => 11,
            Self::RmaWaitExchange { .. } => 12,
            Self::RmaPrepareRead { .. } => 13,
            Self::RmaWrite { .. } => 14,
            Self::RmaRead { .. } => 15,
            Self::RmaWait { .. } => 16,
            Self::RmaContent { .. } => 17,
            Self::RmaFreeHandles { .. } => 18,
            Self::RmaDeregister { .. } => 19,
            Self::SetKeepalive { .. } => 20,
            Self::WaitKeepalive { .. } => 21,
            Self::Pause { .. } => 22,
        }
    }

    /// Names of all commands.
    pub const NAMES: [&'static str; 23] = [
        "connect-to",
        "accept",
        "reject",
        "ignore",
        "wait-connection",
        "wait-request",
        "disconnect",
        "send",
        "wait-send-completion",
        "wait-receive",
        "rma-reuse-handle",
        "rma-handle-exchange",
        "rma-wait-exchange",
        "rma-prepare-read",
        "rma-write",
        "rma-read",
        "rma-wait",
        "rma-content",
        "rma-free-handles",
        "rma-deregister",
        "set-keepalive",
        "wait-keepalive",
        "pause",
    ];
}
