//! `[connection]`: how ranks get connected, and reading it. The platform only carries it.

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, word};
use super::section::Collector;
use crate::units::{Duration, Size};

/// When ranks get connected.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionMode {
    /// From the beginning, for nothing.
    #[default]
    Free,
    /// All pairs before the program begins.
    Static,
    /// Each pair at its first message.
    OnDemand,
}

/// What happens when a rank has no descriptor left and no connection is idle.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// The send waits.
    #[default]
    Wait,
    /// The send fails.
    Fail,
}

/// `[connection]`: how ranks get connected. Nothing but `mode` matters where it is `free`.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct Connection {
    /// When.
    pub mode: ConnectionMode,
    /// How many sockets a rank may have; more are made when idle ones are closed, those idle for longest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors: Option<u32>,
    /// What happens when none is idle.
    pub at_limit: AtLimit,
    /// A connection that has not been used for so long is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_close: Option<Duration>,
    /// The processor time to open a socket.
    pub connect_time: Duration,
    /// The processor time to accept one.
    pub accept_time: Duration,
    /// The processor time to read a message of the handshake or of the close protocol.
    pub message_time: Duration,
    /// The packets that open and end a socket.
    pub socket_size: Size,
    /// The request to open a connection.
    pub request_size: Size,
    /// Its answer.
    pub response_size: Size,
    /// A packet of the close protocol.
    pub close_size: Size,
}

/// All keys of `[connection]`.
const KEYS: [&str; 11] = [
    "mode",
    "descriptors",
    "at_limit",
    "idle_close",
    "connect_time",
    "accept_time",
    "message_time",
    "socket_size",
    "request_size",
    "response_size",
    "close_size",
];

impl Default for Connection {
    /// No time of the processor, and packets of 64 bytes, the shortest frame of Ethernet (IEEE 802.3).
    fn default() -> Self {
        let nothing: Duration = "0s".parse().expect("a duration");
        let frame: Size = "64B".parse().expect("a size");
        Self {
            mode: ConnectionMode::Free,
            descriptors: None,
            at_limit: AtLimit::Wait,
            idle_close: None,
            connect_time: nothing.clone(),
            accept_time: nothing.clone(),
            message_time: nothing,
            socket_size: frame.clone(),
            request_size: frame.clone(),
            response_size: frame.clone(),
            close_size: frame,
        }
    }
}

impl ParseField for ConnectionMode {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const VALUES: [ConnectionMode; 3] = [
            ConnectionMode::Free,
            ConnectionMode::Static,
            ConnectionMode::OnDemand,
        ];
        let words = ["free", "static", "on-demand"];
        word(value, "connection mode", &words, &VALUES)
    }
}

impl ParseField for AtLimit {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const VALUES: [AtLimit; 2] = [AtLimit::Wait, AtLimit::Fail];
        word(value, "descriptor limit policy", &["wait", "fail"], &VALUES)
    }
}

/// Reads the table into `connection`.
pub(super) fn connection(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    connection: &mut Connection,
) {
    let section = collector.section(value, value.span(), "connection table".to_owned(), &KEYS);
    let Some(section) = section else { return };
    macro_rules! read {
        ($($key:ident),*) => {
            $(if let Some(Some(value)) = collector.optional(&section, stringify!($key)) {
                connection.$key = value;
            })*
        };
    }
    read!(mode, at_limit);
    read!(connect_time, accept_time, message_time);
    read!(socket_size, request_size, response_size, close_size);
    connection.descriptors = collector.optional(&section, "descriptors").flatten();
    connection.idle_close = collector.optional(&section, "idle_close").flatten();
    if let Some(idle) = &connection.idle_close
        && idle.as_secs() == 0.0
        && let Some(value) = section.get("idle_close")
    {
        let problem = "idle timeout of 0".to_owned();
        let expected = "expected a duration above 0, such as \"10ms\"";
        collector.add(value.span(), problem, expected, None);
    }
}
