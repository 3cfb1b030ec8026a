//! Messages between a rank and the coordinator of its run after the handshake: JSON with its
//! length before it (4 bytes, little-endian).
//!
//! The coordinator is the launcher, or in an allocation a thread of rank 0. Order: the rank says
//! [`RankMessage::Here`]; when all are here, they get the [`CoordinatorMessage::AddressList`] of
//! addresses and the moment to begin, unless one of them cannot; meanwhile it says which
//! [collectives](RankMessage::Calls) it calls; at the end the rank says
//! [`RankMessage::Ended`] and is told [`CoordinatorMessage::Over`] when nobody needs it any more.

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
    /// It has started.
    Here {
        /// Its rank.
        rank: u32,
        /// Number of ranks that it expects.
        size: u32,
        /// Where it listens for others.
        business_card: String,
        /// The name of its host.
        host: String,
        /// The number of its host's boot: who has the same one has the same clock.
        boot: String,
        /// The revision of the program.
        revision: String,
        /// Why it failed to start, if it knows that already: what was asked for cannot be done
        /// where it is.
        refusal: Option<String>,
    },
    /// Collective calls that it has made.
    Calls(CallBatch),
    /// It is over with its program.
    Ended(RankReport),
}

/// End of a rank.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct RankReport {
    /// When, in seconds since the start.
    pub time_s: f64,
    /// Messages that it has sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: f64,
    /// Packets that came, timers and computations that ended.
    pub events: u64,
    /// Why it failed, if it did.
    pub failure: Option<RankFailure>,
    /// Operations that it left unfinished.
    pub unfinished_operations: Vec<String>,
    /// Counts of its connections.
    pub connections: ConnectionTotals,
    /// Time that messages waited for the connection to another rank, in seconds.
    pub waited: Vec<(u32, f64)>,
    /// The congestion control of the sockets that carried packets: one name, unless the system's
    /// default has changed meanwhile.
    pub congestion_controls: Vec<String>,
}

impl RankReport {
    /// That of a rank that failed to start, this many seconds after the start.
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
    /// It had heard before that others are lost, which may be the reason.
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
    /// The program was not begun: what was asked for cannot be done where the rank is.
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
        /// Its rank.
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

/// Takes a message out of what was read; `None` if it is not complete.
pub(super) fn decode<M: DeserializeOwned>(input: &mut Vec<u8>) -> io::Result<Option<M>> {
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
