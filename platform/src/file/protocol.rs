//! Reading `[protocol]`: the eager threshold, and the limits of the message layer.

use settings::{RendezvousMode, TransportMode};
use toml::Spanned;
use toml::de::DeValue;

use super::Protocol;
use super::field::{InvalidValue, ParseField, word};
use super::section::{Collector, Section};
use crate::protocol::{ControlMessageMode, ReadySendMode, SsendProtocol};
use crate::units::Size;

/// All keys of `[protocol]`.
const KEYS: [&str; 21] = [
    "eager_threshold",
    "eager_threshold_nonblocking",
    "rendezvous",
    "rendezvous_cost",
    "copy_bandwidth",
    "packet_size",
    "send_buffers",
    "credits",
    "reserved_credits",
    "max_eager_messages",
    "max_eager_bytes",
    "unexpected_memory",
    "post_batch",
    "zero_copy",
    "control_messages",
    "control_size",
    "ssend_protocol",
    "ready_send",
    "transport",
    "post_cost_per_packet",
    "post_cost_per_batch",
];

/// Reads words as the values that they name.
macro_rules! words {
    ($($kind:ident, $what:literal;)*) => {$(
        impl ParseField for $kind {
            fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
                word(value, $what, &Self::WORDS, &Self::ALL)
            }
        }
    )*};
}

words! {
    ControlMessageMode, "mode of control messages";
    ReadySendMode, "mode of ready sends";
    SsendProtocol, "protocol of synchronous sends";
}

impl ParseField for TransportMode {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let values = [Self::Packet, Self::Stream];
        word(value, "transport", &["packet", "stream"], &values)
    }
}

impl ParseField for RendezvousMode {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let values = [Self::Put, Self::Get];
        word(value, "rendezvous", &["put", "get"], &values)
    }
}

/// A count that may be 0.
struct Count(u32);

impl ParseField for Count {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let number = value.get_ref().as_integer();
        number
            .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
            .map(Self)
            .ok_or_else(|| {
                let expected = "a whole number from 0, below 2^32, without quotes";
                InvalidValue::kind(value.get_ref(), expected)
            })
    }
}

/// Reads the table into `protocol`.
pub(super) fn read_protocol(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    protocol: &mut Protocol,
) {
    let section = collector.section(value, value.span(), "protocol table".to_owned(), &KEYS);
    let Some(section) = section else { return };
    if let Some(Some(size)) = collector.optional(&section, "eager_threshold") {
        protocol.eager_threshold = size;
    }
    if let Some(bandwidth) = collector.optional(&section, "copy_bandwidth") {
        protocol.copy_bandwidth = bandwidth;
    }
    let limits = &mut protocol.limits;
    let packet: Option<Size> = limit(collector, &section, "packet_size");
    if let Some(packet) = packet {
        if packet.bytes() > 0 {
            limits.packet = Some(packet);
        } else if let Some(value) = section.get("packet_size") {
            let problem = "packet size of 0".to_owned();
            collector.add(
                value.span(),
                problem,
                "expected a size of at least 1B",
                None,
            );
        }
    }
    limits.buffers = limit(collector, &section, "send_buffers");
    limits.credits = limit(collector, &section, "credits");
    if let Some(Count(reserved)) = limit(collector, &section, "reserved_credits") {
        limits.reserved = reserved;
    }
    limits.eager_messages =
        limit(collector, &section, "max_eager_messages").map(|Count(count)| count);
    limits.eager_bytes = limit(collector, &section, "max_eager_bytes");
    limits.unexpected = limit(collector, &section, "unexpected_memory");
    if let Some(batch) = limit(collector, &section, "post_batch") {
        limits.batch = batch;
    }
    if let Some(direct) = limit(collector, &section, "zero_copy") {
        limits.direct = direct;
    }
    read_rendezvous(collector, &section, protocol);
    protocol.control_messages = limit(collector, &section, "control_messages");
    protocol.control_size = limit(collector, &section, "control_size");
    protocol.ssend_protocol = limit(collector, &section, "ssend_protocol");
    protocol.ready_send = limit(collector, &section, "ready_send");
    protocol.transport = limit(collector, &section, "transport");
    protocol.post_cost_per_packet = limit(collector, &section, "post_cost_per_packet");
    protocol.post_cost_per_batch = limit(collector, &section, "post_cost_per_batch");
}

/// Reads the keys of the rendezvous of a library.
fn read_rendezvous(collector: &mut Collector, section: &Section<'_>, protocol: &mut Protocol) {
    const NONBLOCKING: &str = "eager_threshold_nonblocking";
    let rendezvous = &mut protocol.rendezvous;
    rendezvous.eager_threshold_nonblocking = limit(collector, section, NONBLOCKING);
    rendezvous.mode = limit(collector, section, "rendezvous").unwrap_or_default();
    rendezvous.cost = limit(collector, section, "rendezvous_cost");
    let blocking = &protocol.eager_threshold;
    if let Some(threshold) = &rendezvous.eager_threshold_nonblocking
        && threshold.bytes() > blocking.bytes()
        && let Some(value) = section.get(NONBLOCKING)
    {
        let problem = format!("{NONBLOCKING} = \"{threshold}\"");
        let expected = format!("expected at most eager_threshold, which is {blocking}");
        collector.add(value.span(), problem, &expected, None);
    }
}

/// The value of a key that may be absent or wrong.
fn limit<T: ParseField>(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
) -> Option<T> {
    collector.optional(section, key).flatten()
}
