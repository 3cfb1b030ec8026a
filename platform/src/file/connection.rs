//! `[connection]`: how ranks get connected, and reading it. The platform only carries it.

use settings::{AtLimit, ConnectionMode, ConnectionSettings};
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, word};
use super::section::Collector;
use crate::units::{Duration, Size};

/// `[connection]`, with sizes and times as they are written.
pub type Connection = ConnectionSettings<Size, Duration>;

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
