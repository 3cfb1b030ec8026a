//! Programs of work requests, and their text.
//!
//! A program has rounds: in each, both sides of all connections post receives, then work requests,
//! and wait for the completions that the model predicts. *Not decided here*: the meaning of a
//! request; the model decides the meaning, and refuses programs with results that depend on time.

use std::collections::BTreeSet;

use rdma::{Access, Mtu};
use serde::{Deserialize, Serialize};

use super::layout;
use super::model::Model;
use crate::FuzzProgram;

/// Rights of requests to the target region of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetAccess {
    /// `IBV_ACCESS_REMOTE_WRITE`.
    pub write: bool,
    /// `IBV_ACCESS_REMOTE_READ`.
    pub read: bool,
    /// `IBV_ACCESS_REMOTE_ATOMIC`.
    pub atomic: bool,
}

impl TargetAccess {
    /// All rights.
    pub const ALL: Self = Self {
        write: true,
        read: true,
        atomic: true,
    };

    /// Returns the rights of the registered region.
    pub(super) fn rights(self) -> Access {
        let mut rights = Access::LOCAL_WRITE;
        for (is_set, right) in [
            (self.write, Access::REMOTE_WRITE),
            (self.read, Access::REMOTE_READ),
            (self.atomic, Access::REMOTE_ATOMIC),
        ] {
            if is_set {
                rights |= right;
            }
        }
        rights
    }
}

/// Two connected queue pairs, one at each side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The first packet sequence number of both sides.
    pub psn: u32,
    /// Reads and atomics that may be outstanding.
    pub max_rd_atomic: u8,
    /// Number of times to send a packet again that was not acknowledged.
    pub retry_cnt: u8,
    /// Number of times to send a message again that met no receive; 7 is for ever.
    pub rnr_retry: u8,
    /// Rights of requests to the target regions.
    pub access: TargetAccess,
}

/// Operation of a work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendWithImm,
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate data.
    WriteWithImm,
    /// RDMA READ.
    Read,
    /// FETCH & ADD.
    FetchAdd,
    /// COMPARE & SWAP.
    CompareSwap,
}

impl RequestKind {
    /// Returns true if the operation changes or reads the target region.
    pub const fn has_target(self) -> bool {
        !matches!(self, Self::Send | Self::SendWithImm)
    }

    /// Returns true for FETCH & ADD and COMPARE & SWAP.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    /// Returns true if data come back.
    pub const fn returns_data(self) -> bool {
        matches!(self, Self::Read) || self.is_atomic()
    }

    /// Returns true if the operation consumes a receive.
    pub const fn consumes_receive(self) -> bool {
        matches!(self, Self::Send | Self::SendWithImm | Self::WriteWithImm)
    }

    /// Returns true if the operation has immediate data.
    pub const fn has_immediate(self) -> bool {
        matches!(self, Self::SendWithImm | Self::WriteWithImm)
    }
}

/// A mistake in a work request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestFault {
    /// The remote key names no region.
    WrongRkey,
    /// The last byte is behind the target region.
    OutOfRange,
    /// The address of an atomic operation is no multiple of 8.
    Unaligned,
    /// The local key names no region.
    WrongLkey,
}

/// A work request on a send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The connection.
    pub connection: usize,
    /// The side that posts the request, 0 or 1.
    pub side: usize,
    /// The operation.
    pub kind: RequestKind,
    /// Number of bytes; 8 for an atomic operation.
    pub length: u32,
    /// Offset in the target region.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: u32,
    /// Immediate data, the addend, or the new value of COMPARE & SWAP.
    #[serde(default, skip_serializing_if = "is_default")]
    pub value: u32,
    /// The expected value of COMPARE & SWAP.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compare: u32,
    /// No completion on success. The last request of a side in a round has a completion.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unsignaled: bool,
    /// Begins when all earlier reads and atomics are over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fence: bool,
    /// The completion of the receive is a solicited event.
    #[serde(default, skip_serializing_if = "is_default")]
    pub solicited: bool,
    /// The bytes are copied when the request is posted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inline: bool,
    /// A mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<RequestFault>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A work request on a receive queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// The connection.
    pub connection: usize,
    /// The side that posts the receive, 0 or 1.
    pub side: usize,
    /// Number of bytes.
    pub length: u32,
}

/// Receives and requests that are posted together, receives first.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Round {
    /// Receives, in the order in which they are posted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receives: Vec<Receive>,
    /// Requests, in the order in which they are posted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
}

/// Kind of a fault of the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketFaultKind {
    /// The packet is lost.
    Loss,
    /// The packet arrives twice.
    Duplicate,
    /// The packet is delayed by 20 µs, so that later packets overtake it.
    Delay,
}

/// A fault of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketFault {
    /// The connection.
    pub connection: usize,
    /// The side that sends the packet.
    pub side: usize,
    /// The number of the packet among the packets of the side on the connection, from 0.
    pub packet: u32,
    /// The fault.
    pub kind: PacketFaultKind,
}

/// A program of work requests on two adapters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerbsProgram {
    /// Version of the format.
    pub version: u32,
    /// The path MTU in bytes.
    pub mtu: u32,
    /// The connections, by number.
    pub connections: Vec<Connection>,
    /// The rounds.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// Faults of a network that has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<PacketFault>,
}

/// The most connections. \[choice\]
const CONNECTIONS_MAX: usize = 8;

/// The most requests and receives that a side posts on a connection: the size of the queues.
pub(super) const QUEUE_MAX: usize = 64;

/// The most bytes of an inline request. \[choice\]
pub(super) const INLINE_MAX: u32 = 64;

/// The last packet sequence number.
pub(super) const PSN_MAX: u32 = (1 << 24) - 1;

/// The most retries. 7, which the standard permits, is for ever on Linux's rxe.
pub(super) const RETRY_MAX: u8 = 6;

/// The most faults of the network: fewer than retries, so that none is exhausted. \[choice\]
pub(super) const FAULTS_MAX: usize = 5;

impl VerbsProgram {
    /// Returns the path MTU.
    pub(super) fn path_mtu(&self) -> Mtu {
        Mtu::from_bytes(self.mtu).unwrap_or(Mtu::Mtu256)
    }

    /// Returns all requests that an end, a connection and a side, posts, in their order.
    pub(super) fn requests(&self, end: (usize, usize)) -> impl Iterator<Item = &Request> {
        let requests = self.rounds.iter().flat_map(|round| &round.requests);
        requests.filter(move |one| (one.connection, one.side) == end)
    }

    /// Returns all receives that an end, a connection and a side, posts, in their order.
    pub(super) fn receives(&self, end: (usize, usize)) -> impl Iterator<Item = &Receive> {
        let receives = self.rounds.iter().flat_map(|round| &round.receives);
        receives.filter(move |one| (one.connection, one.side) == end)
    }

    fn validate_side(&self, connection: usize, side: usize) -> Result<(), String> {
        if connection >= self.connections.len() {
            let count = self.connections.len();
            return Err(format!(
                "connection = {connection}: expected a number below {count}"
            ));
        }
        if side > 1 {
            return Err(format!("side = {side}: expected 0 or 1"));
        }
        Ok(())
    }

    fn validate_request(&self, request: &Request) -> Result<(), String> {
        self.validate_side(request.connection, request.side)?;
        let (kind, length) = (request.kind, request.length);
        let end = u64::from(request.offset) + u64::from(length);
        if kind.is_atomic() && length != 8 {
            return Err(format!("length = {length}: expected 8"));
        }
        if length > layout::TARGET || kind.has_target() && end > u64::from(layout::TARGET) {
            return Err(format!(
                "offset = {}, length = {length}: expected an end of at most {}",
                request.offset,
                layout::TARGET
            ));
        }
        if kind.is_atomic() && !request.offset.is_multiple_of(8) {
            let offset = request.offset;
            return Err(format!("offset = {offset}: expected a multiple of 8"));
        }
        if request.inline && (kind.returns_data() || length > INLINE_MAX) {
            return Err(format!(
                "inline: expected a send or write of at most {INLINE_MAX} bytes"
            ));
        }
        let fits = match request.fault {
            None => true,
            Some(RequestFault::WrongRkey | RequestFault::OutOfRange) => kind.has_target(),
            Some(RequestFault::Unaligned) => kind.is_atomic(),
            Some(RequestFault::WrongLkey) => !kind.returns_data() && !request.inline,
        };
        if !fits || request.fault.is_some() && length == 0 {
            return Err(format!(
                "fault = {:?}: expected an operation that can have it",
                request.fault
            ));
        }
        Ok(())
    }

    fn validate_connections(&self) -> Result<(), String> {
        if Mtu::from_bytes(self.mtu).is_none_or(|mtu| mtu > Mtu::Mtu1024) {
            return Err(format!("mtu = {}: expected 256, 512 or 1024", self.mtu));
        }
        let count = self.connections.len();
        if !(1..=CONNECTIONS_MAX).contains(&count) {
            return Err(format!(
                "{count} connections: expected 1 to {CONNECTIONS_MAX}"
            ));
        }
        for (number, connection) in self.connections.iter().enumerate() {
            for (key, value, range) in [
                ("psn", connection.psn, 0..=PSN_MAX),
                ("max_rd_atomic", connection.max_rd_atomic.into(), 1..=16),
                (
                    "retry_cnt",
                    connection.retry_cnt.into(),
                    1..=RETRY_MAX.into(),
                ),
                ("rnr_retry", connection.rnr_retry.into(), 0..=7),
            ] {
                if !range.contains(&value) {
                    return Err(format!(
                        "connections[{number}].{key} = {value}: expected {} to {}",
                        range.start(),
                        range.end()
                    ));
                }
            }
            for side in [0, 1] {
                let requests = self.requests((number, side)).count();
                let most = requests.max(self.receives((number, side)).count());
                if most > QUEUE_MAX {
                    return Err(format!(
                        "connections[{number}]: {most} requests or receives of side {side}: \
                         expected at most {QUEUE_MAX}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn validate_round(&self, number: usize) -> Result<(), String> {
        let round = &self.rounds[number];
        for (at, receive) in round.receives.iter().enumerate() {
            let place = |error| format!("rounds[{number}].receives[{at}]: {error}");
            self.validate_side(receive.connection, receive.side)
                .map_err(place)?;
            if receive.length > layout::TARGET {
                let (length, most) = (receive.length, layout::TARGET);
                let error = format!("length = {length}: expected at most {most}");
                return Err(place(error));
            }
        }
        // From the last one on: sides that have posted a request with a completion.
        let mut signaled = BTreeSet::new();
        for (at, request) in round.requests.iter().enumerate().rev() {
            let place = |error| format!("rounds[{number}].requests[{at}]: {error}");
            self.validate_request(request).map_err(place)?;
            let is_last = signaled.insert((request.connection, request.side));
            if is_last && request.unsignaled {
                return Err(place(
                    "unsignaled: expected a completion of the last request of a round".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

impl FuzzProgram for VerbsProgram {
    const VERSION: u32 = 1;

    fn operations(&self) -> usize {
        let rounds = self.rounds.iter();
        rounds
            .map(|round| round.requests.len() + round.receives.len())
            .sum()
    }

    fn validate(&self) -> Result<(), String> {
        self.validate_connections()?;
        for number in 0..self.rounds.len() {
            self.validate_round(number)?;
        }
        if self.faults.len() > FAULTS_MAX {
            let count = self.faults.len();
            return Err(format!("{count} faults: expected at most {FAULTS_MAX}"));
        }
        for (at, fault) in self.faults.iter().enumerate() {
            self.validate_side(fault.connection, fault.side)
                .map_err(|error| format!("faults[{at}]: {error}"))?;
        }
        Model::expected_observation(self).map(|_| ())
    }
}
