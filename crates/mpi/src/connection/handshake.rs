//! Messages between connections, and their format: the only place that forms or reads such
//! messages.
//!
//! Numbers are big-endian and have a fixed width, so that different machines understand each other
//! (N-13). A message begins with a byte for its kind. The name of the process group follows the
//! request without such a byte, because the request contains the length of the name.
//!
//! *Not modelled*: the packets of the protocols above, which are opaque here.

use super::accept::Verdict;

/// A message on a connection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HandshakeMessage {
    /// The request to open a connection: from this rank of a group. The name of the group follows.
    OpenReq {
        /// The length of the name in bytes.
        group_length: u32,
        /// The asking rank.
        rank: u32,
    },
    /// The name of the asking process's group.
    Group(String),
    /// The request to open a connection to a port.
    ConnAccept {
        /// Number of the port.
        port: u32,
    },
    /// The answer to a request.
    OpenResp {
        /// Acceptance, or the reason for a refusal.
        verdict: Verdict,
    },
    /// The close protocol.
    Close {
        /// True if the sender has got the peer's CLOSE.
        acknowledges: bool,
    },
    /// A packet of the protocols above.
    Data(u64),
}

/// The bytes of each message but for a group's name.
pub const MESSAGE_LENGTH: usize = 9;

const fn verdict_code(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::Accept | Verdict::Replace | Verdict::Reopen => 0,
        Verdict::Tie => 1,
        Verdict::Finalizing => 2,
        // A request that is kept is not answered.
        Verdict::Unknown | Verdict::Later => 3,
    }
}

impl HandshakeMessage {
    /// The message in bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, high, low) = match *self {
            Self::Group(ref name) => return name.as_bytes().to_vec(),
            Self::OpenReq { group_length, rank } => (1, group_length, rank),
            Self::ConnAccept { port } => (2, 0, port),
            Self::OpenResp { verdict } => (3, 0, verdict_code(verdict)),
            Self::Close { acknowledges } => (4, 0, u32::from(acknowledges)),
            #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
            Self::Data(packet) => (5, (packet >> 32) as u32, packet as u32),
        };
        let mut bytes = vec![kind];
        bytes.extend(high.to_be_bytes());
        bytes.extend(low.to_be_bytes());
        bytes
    }

    /// Decodes a message that is not the name of a group; `None` if the bytes are no such message.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; MESSAGE_LENGTH]) -> Option<Self> {
        let [kind, h0, h1, h2, h3, l0, l1, l2, l3] = *bytes;
        let high = u32::from_be_bytes([h0, h1, h2, h3]);
        let low = u32::from_be_bytes([l0, l1, l2, l3]);
        let message = match (kind, high, low) {
            (1, group_length, rank) => Self::OpenReq { group_length, rank },
            (2, 0, port) => Self::ConnAccept { port },
            (3, 0, low) => Self::OpenResp {
                verdict: match low {
                    0 => Verdict::Accept,
                    1 => Verdict::Tie,
                    2 => Verdict::Finalizing,
                    3 => Verdict::Unknown,
                    _ => return None,
                },
            },
            (4, 0, low @ 0..=1) => Self::Close {
                acknowledges: low == 1,
            },
            (5, high, low) => Self::Data(u64::from(high) << 32 | u64::from(low)),
            _ => return None,
        };
        Some(message)
    }
}
