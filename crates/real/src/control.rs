//! Messages between a rank and the coordinator of its run after the handshake: JSON, preceded by
//! the length (4 bytes, little-endian).
//!
//! The coordinator is the launcher, or in an allocation a thread of rank 0. Order: the rank sends
//! [`RankMessage::Here`]. When all ranks are connected, [`CoordinatorMessage::AddressList`] brings
//! the addresses and the start time, unless a rank cannot start. During the run, the rank sends its
//! [collectives](RankMessage::Calls), at the end [`RankMessage::Ended`]. It receives
//! [`CoordinatorMessage::Over`] when the run no longer needs this rank.

use std::io::{self, ErrorKind};

use run::ConnectionTotals;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::call_batch::CallBatch;

/// The longest message: a book of 100 000 addresses.
pub(super) const LENGTH_MAX: usize = 16 << 20;

/// Messages of a rank.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(super) enum RankMessage {
    /// The rank has started.
    Here {
        /// Number of the rank.
        rank: u32,
        /// Number of ranks that the rank expects.
        size: u32,
        /// The address on which the rank listens for other ranks.
        business_card: String,
        /// The name of the host of the rank.
        host: String,
        /// The boot number of the host: processes with the same number have the same clock.
        boot: String,
        /// The revision of the program.
        revision: String,
        /// The reason if the rank already knows that it cannot start: its machine cannot fulfil the
        /// options.
        refusal: Option<String>,
    },
    /// Collective calls that the rank has made.
    Calls(CallBatch),
    /// The rank has ended its program.
    Ended(RankReport),
}

/// End of a rank.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct RankReport {
    /// When, in seconds since the start.
    pub time_s: f64,
    /// Messages that the rank has sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: f64,
    /// Packets that came, timers and computations that ended.
    pub events: u64,
    /// The failure of the rank, if the rank failed.
    pub failure: Option<RankFailure>,
    /// Operations that the rank left unfinished.
    pub unfinished_operations: Vec<String>,
    /// Counts of the connections of the rank.
    pub connections: ConnectionTotals,
    /// Time that messages waited for the connection to another rank, in seconds.
    pub waited: Vec<(u32, f64)>,
    /// The congestion control of the sockets that carried packets: one name, unless the system's
    /// default has changed meanwhile.
    pub congestion_controls: Vec<String>,
}

impl RankReport {
    /// Returns the report of a rank that failed to start, this many seconds after the start.
    pub(super) fn refusal(time_s: f64, message: String) -> Self {
        let failure = RankFailure {
            message,
            kind: FailureKind::Refusal,
            after_loss: false,
        };
        Self {
            time_s,
            failure: Some(failure),
            ..Self::default()
        }
    }
}

/// Why a rank failed.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct RankFailure {
    /// The panic's message or the error's text.
    pub message: String,
    /// Kind of the failure.
    pub kind: FailureKind,
    /// The rank knew before that other ranks are lost, which may be the reason.
    pub after_loss: bool,
}

/// Kinds of failures that end a rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub enum FailureKind {
    /// The program returned an error, or the process died.
    #[default]
    Error,
    /// The program panicked.
    Panic,
    /// The program was not begun: the machine of the rank cannot fulfil the options.
    Refusal,
}

/// Messages of the coordinator.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(super) enum CoordinatorMessage {
    /// All ranks are here.
    AddressList {
        /// Where they listen, by rank.
        cards: Vec<String>,
        /// The boot of the coordinator's host.
        boot: String,
        /// The moment of the start on the clock of that host, in nanoseconds.
        start_ns: u64,
    },
    /// A rank is lost.
    Lost {
        /// Number of the rank.
        rank: u32,
    },
    /// The run ends now, because another rank ended it.
    Stop,
    /// Everybody is over.
    Over,
}

/// A message in bytes.
pub(super) fn encode(message: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(message).expect("messages have only keys that JSON knows");
    let length = u32::try_from(json.len()).expect("a message is shorter than 4 GiB");
    [&length.to_le_bytes()[..], &json].concat()
}

/// Takes a message out of the input; `None` if the message is not complete.
pub(super) fn decode_message<M: DeserializeOwned>(input: &mut Vec<u8>) -> io::Result<Option<M>> {
    let Some((length, rest)) = input.split_first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > LENGTH_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let Some(json) = rest.get(..length) else {
        return Ok(None);
    };
    let message = serde_json::from_slice(json)?;
    input.drain(..4 + length);
    Ok(Some(message))
}
