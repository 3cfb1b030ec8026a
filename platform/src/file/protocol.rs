//! Reading `[protocol]`: the eager threshold, and what the message layer may use up.

use settings::TransportMode;
use toml::Spanned;
use toml::de::DeValue;

use super::Protocol;
use super::field::{InvalidValue, ParseField, word};
use super::section::{Collector, Section};
use crate::protocol::{Preset, Ready, Synchronous};
use crate::units::Size;

/// All keys of `[protocol]`.
const KEYS: [&str; 18] = [
    "eager_threshold",
    "copy_bandwidth",
    "packet",
    "buffers",
    "credits",
    "reserved",
    "eager_messages",
    "eager_bytes",
    "unexpected",
    "batch",
    "direct",
    "preset",
    "control",
    "synchronous",
    "ready",
    "carriage",
    "packet_cost",
    "batch_cost",
];

/// Words are read as what they stand for.
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
    Preset, "preset of the protocol";
    Ready, "meaning of ready sends";
    Synchronous, "synchronous send protocol";
}

impl ParseField for TransportMode {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let values = [Self::Packet, Self::Stream];
        word(value, "carriage", &["packet", "stream"], &values)
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
pub(super) fn protocol(
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
    let packet: Option<Size> = limit(collector, &section, "packet");
    if let Some(packet) = packet {
        if packet.bytes() > 0 {
            limits.packet = Some(packet);
        } else if let Some(value) = section.get("packet") {
            let problem = "packet size of 0".to_owned();
            collector.add(
                value.span(),
                problem,
                "expected a size of at least 1B",
                None,
            );
        }
    }
    limits.buffers = limit(collector, &section, "buffers");
    limits.credits = limit(collector, &section, "credits");
    if let Some(Count(reserved)) = limit(collector, &section, "reserved") {
        limits.reserved = reserved;
    }
    limits.eager_messages = limit(collector, &section, "eager_messages").map(|Count(count)| count);
    limits.eager_bytes = limit(collector, &section, "eager_bytes");
    limits.unexpected = limit(collector, &section, "unexpected");
    if let Some(batch) = limit(collector, &section, "batch") {
        limits.batch = batch;
    }
    if let Some(direct) = limit(collector, &section, "direct") {
        limits.direct = direct;
    }
    protocol.preset = limit(collector, &section, "preset");
    protocol.control = limit(collector, &section, "control");
    protocol.synchronous = limit(collector, &section, "synchronous");
    protocol.ready = limit(collector, &section, "ready");
    protocol.carriage = limit(collector, &section, "carriage");
    protocol.packet_cost = limit(collector, &section, "packet_cost");
    protocol.batch_cost = limit(collector, &section, "batch_cost");
}

/// The value of a key that may be absent or wrong.
fn limit<T: ParseField>(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
) -> Option<T> {
    collector.optional(section, key).flatten()
}
