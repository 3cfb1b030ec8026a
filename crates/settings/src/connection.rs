//! Connection setup: the time at which ranks connect, and the costs and limits of connections.
//!
//! Times are processor times of a rank; sizes are lengths of packets on the network.

use serde::Serialize;

/// Time at which ranks connect.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionMode {
    /// Before the start, at no cost.
    #[default]
    Instant,
    /// All pairs before the program begins.
    Static,
    /// Each pair at the first message of the pair.
    OnDemand,
}

/// Action if a rank has no free descriptor and no idle connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// The send waits.
    #[default]
    Wait,
    /// The send fails.
    Fail,
}

/// Endpoints of InfiniBand's dynamically connected transport (DC), which share the initiators of a
/// rank: see `fabric::initiators`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(tag = "kind", rename = "dc")]
pub struct DcEndpoints {
    /// Largest number of ranks with another transport, without a limit.
    pub above: u32,
    /// Number of initiators of a rank.
    pub initiators: u32,
}

/// Connection setup, the same at every rank. The other fields have no effect if `mode` is
/// `Instant`.
///
/// `S`: sizes, in bytes if numbers. `T`: times, in seconds if numbers.
#[derive(Clone, Copy, PartialEq, Serialize, Debug)]
pub struct ConnectionSettings<S = u64, T = f64> {
    /// Time at which ranks connect.
    pub mode: ConnectionMode,
    /// Endpoints that share initiators; `None`: no limit. Independent of `mode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<DcEndpoints>,
    /// Maximum number of sockets of a rank; at the limit the least recently used idle connection is
    /// closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u32>,
    /// Action at that limit if no connection is idle.
    #[serde(rename = "descriptor_limit_policy")]
    pub at_limit: AtLimit,
    /// Time after which an idle connection is closed; `None`: never.
    #[serde(rename = "idle_timeout", skip_serializing_if = "Option::is_none")]
    pub idle_close: Option<T>,
    /// Processor time to open a socket, before the first packet leaves.
    pub connect_time: T,
    /// Processor time to accept a socket, before the answer.
    pub accept_time: T,
    /// Processor time to read a message of the handshake or of the close protocol.
    pub message_time: T,
    /// Size of the packets that open and close a socket, below the handshake.
    #[serde(rename = "transport_packet_size")]
    pub socket_size: S,
    /// Size of a connection request.
    pub request_size: S,
    /// Size of the response to a request.
    pub response_size: S,
    /// Size of a packet of the close protocol.
    pub close_size: S,
}

/// Size of each packet by default, in bytes: the shortest frame of Ethernet (IEEE 802.3).
const FRAME: u32 = 64;

impl<S: From<u32>, T: Default> Default for ConnectionSettings<S, T> {
    /// Returns connections that exist from the start; the setup takes no processor time.
    fn default() -> Self {
        Self {
            mode: ConnectionMode::Instant,
            endpoints: None,
            descriptors: None,
            at_limit: AtLimit::Wait,
            idle_close: None,
            connect_time: T::default(),
            accept_time: T::default(),
            message_time: T::default(),
            socket_size: S::from(FRAME),
            request_size: S::from(FRAME),
            response_size: S::from(FRAME),
            close_size: S::from(FRAME),
        }
    }
}

impl<S, T> ConnectionSettings<S, T> {
    /// Returns the number of initiators of a rank among this many; `None` without a limit.
    pub fn initiators_among(&self, ranks: usize) -> Option<u32> {
        let shared = self.endpoints.filter(|dc| ranks > dc.above as usize);
        shared.map(|dc| dc.initiators)
    }

    /// Returns the parameters with converted sizes and times.
    pub fn map<S2, T2>(
        &self,
        size: impl Fn(&S) -> S2,
        time: impl Fn(&T) -> T2,
    ) -> ConnectionSettings<S2, T2> {
        ConnectionSettings {
            mode: self.mode,
            endpoints: self.endpoints,
            descriptors: self.descriptors,
            at_limit: self.at_limit,
            idle_close: self.idle_close.as_ref().map(&time),
            connect_time: time(&self.connect_time),
            accept_time: time(&self.accept_time),
            message_time: time(&self.message_time),
            socket_size: size(&self.socket_size),
            request_size: size(&self.request_size),
            response_size: size(&self.response_size),
            close_size: size(&self.close_size),
        }
    }
}

impl ConnectionSettings {
    /// Connections at the first message, without limits; the setup takes no processor time.
    pub fn on_demand() -> Self {
        Self {
            mode: ConnectionMode::OnDemand,
            ..Self::default()
        }
    }

    /// Returns the parameters for a simulation without time: no costs, and no connection is idle
    /// long enough to be closed.
    pub const fn without_time(&self) -> Self {
        Self {
            idle_close: None,
            connect_time: 0.0,
            accept_time: 0.0,
            message_time: 0.0,
            ..*self
        }
    }
}
