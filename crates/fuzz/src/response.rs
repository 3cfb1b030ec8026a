//! Observations of workers.

use serde::{Deserialize, Serialize};
use sim_core::Digest;

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
    /// Folds the response into a digest, field by field: a campaign makes one digest a run, and a
    /// text of the bytes would take longer than the run.
    pub(crate) fn mix_into(&self, digest: &mut Digest) {
        let (kind, connection, message, status, bytes): (u64, _, _, _, &[u8]) = match self {
            Self::Connected { connection } => (0, *connection, 0, None, &[]),
            Self::Rejected { connection } => (1, *connection, 0, None, &[]),
            Self::TimedOut { connection } => (2, *connection, 0, None, &[]),
            Self::RequestAccepted { connection } => (3, *connection, 0, None, &[]),
            Self::RequestRejected { connection } => (4, *connection, 0, None, &[]),
            Self::RequestIgnored { connection } => (5, *connection, 0, None, &[]),
            Self::HandleArrived { connection } => (6, *connection, 0, None, &[]),
            Self::KeepaliveTimedOut { connection } => (7, *connection, 0, None, &[]),
            Self::Received {
                connection,
                message,
            } => (8, *connection, 0, None, message),
            Self::Content { connection, bytes } => (9, *connection, 0, None, bytes),
            Self::Sent {
                connection,
                message,
                status,
            } => (10, *connection, *message, Some(*status), &[]),
            Self::RmaEnded {
                connection,
                message,
                status,
                bytes,
            } => (11, *connection, *message, Some(*status), bytes),
            Self::RmaArrived {
                connection,
                message,
                bytes,
            } => (12, *connection, *message, None, bytes),
            Self::Failed(why) => (13, 0, 0, None, why.as_bytes()),
            Self::Ended(how) => (14, 0, 0, None, how.as_bytes()),
        };
        let status = status.map_or(0, |status| status as u64 + 1);
        digest.mix(
            kind << 32 | u64::from(connection),
            status << 32 | u64::from(message),
        );
        digest.mix_bytes(bytes);
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use endpoint::Status;

    #[test]
    fn each_field_changes_the_digest() {
        let ended = |connection, message, status, bytes: &[u8]| Response::RmaEnded {
            connection,
            message,
            status,
            bytes: bytes.to_vec(),
        };
        let responses = [
            Response::Connected { connection: 1 },
            Response::Rejected { connection: 1 },
            Response::Received {
                connection: 1,
                message: vec![],
            },
            Response::Content {
                connection: 1,
                bytes: vec![],
            },
            ended(1, 2, Status::Success, &[3]),
            ended(2, 2, Status::Success, &[3]),
            ended(1, 3, Status::Success, &[3]),
            ended(1, 2, Status::Refused, &[3]),
            ended(1, 2, Status::Success, &[3, 0]),
            ended(1, 2, Status::Success, &[4]),
            Response::Failed("a".to_owned()),
            Response::Ended("a".to_owned()),
        ];
        let digest = |response: &Response| {
            let mut digest = Digest::default();
            response.mix_into(&mut digest);
            digest.value()
        };
        for (at, one) in responses.iter().enumerate() {
            for other in &responses[at + 1..] {
                assert_ne!(digest(one), digest(other), "{one:?} and {other:?}");
            }
        }
    }
}
