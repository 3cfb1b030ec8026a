//! `[connection]`: connections between ranks, and its reader. The platform only stores the table.

use settings::{AtLimit, ConnectionMode, ConnectionSettings, DcEndpoints};
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, word};
use super::section::Collector;
use crate::NetworkParameters;
use crate::units::{Duration, Size};

/// `[connection]`, with sizes and times as they are written.
pub type Connection = ConnectionSettings<Size, Duration>;

/// All keys of `[connection]`.
const KEYS: [&str; 12] = [
    "mode",
    "endpoints",
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

/// The only kind of endpoints that share initiators.
struct DcKind;

impl ParseField for DcKind {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        word(value, "kind of endpoints", &["dc"], &[()]).map(|()| Self)
    }
}

fn read_endpoints(collector: &mut Collector, value: &Spanned<DeValue<'_>>) -> Option<DcEndpoints> {
    let keys = ["kind", "above", "initiators"];
    let section = collector.section(value, value.span(), "endpoints table".to_owned(), &keys)?;
    let kind = collector.required::<DcKind>(&section, "kind", "\"dc\"");
    let above = collector.required(&section, "above", "60");
    let initiators = collector.required(&section, "initiators", "8");
    kind.and(Some(DcEndpoints {
        above: above?,
        initiators: initiators?,
    }))
}

/// Reads the table into `connection`, on this network.
pub(super) fn read_connection(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    (connection, network): (&mut Connection, &NetworkParameters),
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
    let shared = section.get("endpoints");
    connection.endpoints = shared.and_then(|value| read_endpoints(collector, value));
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
    let has_adapters = network.device.is_some() || network.loggops.is_some();
    let is_instant = connection.mode == ConnectionMode::Instant;
    if connection.endpoints.is_some() && (has_adapters || !is_instant) {
        let problem = "endpoints that share initiators".to_owned();
        let expected = "expected no device, a model of the network besides \"loggops\", and mode = \"instant\"";
        collector.add(value.span(), problem, expected, None);
    }
    if network.device.is_some() && !is_instant {
        let problem = "connection mode with [network] device = \"verbs\"".to_owned();
        let expected = "expected mode = \"instant\": queue pairs are connected at their first message, at no cost";
        collector.add(value.span(), problem, expected, None);
    }
}
