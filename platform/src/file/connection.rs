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
    "descriptor_limit_policy",
    "idle_timeout",
    "connect_time",
    "accept_time",
    "message_time",
    "transport_packet_size",
    "request_size",
    "response_size",
    "close_size",
];

impl ParseField for ConnectionMode {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const VALUES: [ConnectionMode; 3] = [
            ConnectionMode::Instant,
            ConnectionMode::Static,
            ConnectionMode::OnDemand,
        ];
        let words = ["instant", "static", "on-demand"];
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
        ($($field:ident = $key:literal),*) => {
            $(if let Some(Some(value)) = collector.optional(&section, $key) {
                connection.$field = value;
            })*
        };
    }
    read!(mode = "mode", at_limit = "descriptor_limit_policy");
    read!(
        connect_time = "connect_time",
        accept_time = "accept_time",
        message_time = "message_time"
    );
    read!(
        socket_size = "transport_packet_size",
        request_size = "request_size",
        response_size = "response_size",
        close_size = "close_size"
    );
    connection.descriptors = collector.optional(&section, "descriptors").flatten();
    connection.idle_close = collector.optional(&section, "idle_timeout").flatten();
    if let Some(idle) = &connection.idle_close
        && idle.as_secs() == 0.0
        && let Some(value) = section.get("idle_timeout")
    {
        let problem = "idle timeout of 0".to_owned();
        let expected = "expected a duration above 0, such as \"10ms\"";
        collector.add(value.span(), problem, expected, None);
    }
}
