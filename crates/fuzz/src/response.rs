//! Observations of workers.

use serde::{Deserialize, Serialize};

/// An observation of a worker.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Response {
    /// A connection that the worker has initiated or accepted is in use.
    Connected {
        /// The connection.
        connection: u32,
    },
    /// The request of the worker was rejected.
    Rejected {
        /// The connection.
        connection: u32,
    },
    /// The request of the worker was not answered in time.
    TimedOut {
        /// The connection.
        connection: u32,
    },
    /// A request arrived and was accepted.
    RequestAccepted {
        /// The connection.
        connection: u32,
    },
    /// A request arrived and was rejected.
    RequestRejected {
        /// The connection.
        connection: u32,
    },
    /// A request arrived and was ignored, as announced.
    RequestIgnored {
        /// The connection.
        connection: u32,
    },
    /// A message arrived.
    Received {
        /// The connection.
        connection: u32,
        /// The bytes of the message.
        message: Vec<u8>,
    },
    /// A send has ended.
    Sent {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The status at the end of the send.
        status: endpoint::Status,
    },
    /// The handle of the peer's buffer arrived.
    HandleArrived {
        /// The connection.
        connection: u32,
    },
    /// A transfer has ended at the worker that has started the transfer.
    RmaEnded {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The status at the end of the transfer.
        status: endpoint::Status,
        /// The bytes that a read has brought.
        bytes: Vec<u8>,
    },
    /// The completion message of the peer's transfer arrived.
    RmaArrived {
        /// The connection.
        connection: u32,
        /// The message.
        message: u32,
        /// The bytes that a write has brought.
        bytes: Vec<u8>,
    },
    /// The content of the buffer.
    Content {
        /// The connection.
        connection: u32,
        /// The bytes of the buffer.
        bytes: Vec<u8>,
    },
    /// The peer was reported as silent.
    KeepaliveTimedOut {
        /// The connection.
        connection: u32,
    },
    /// A call failed, or an event was not expected.
    Failed(String),
    /// The process of the worker has ended too early: the signal or the status.
    Ended(String),
}

/// The longest line, in bytes. \[choice\]
const LINE: usize = 160;

impl Response {
    /// Returns the response on one line. A long line is cut, and a hash of the cut part follows.
    pub fn line(&self) -> String {
        let mut line = format!("{self:?}");
        if line.len() > LINE {
            let end = (0..=LINE).rev().find(|at| line.is_char_boundary(*at));
            let rest = line.split_off(end.unwrap_or(0));
            // FNV-1a.
            let hash = rest.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
            line.push_str(&format!("… #{hash:016x}"));
        }
        line
    }
}
