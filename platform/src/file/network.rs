//! Reading `[network]`: the preset, the parameters that replace values of the preset, and keys
//! without meaning for the model.

use std::num::NonZeroU8;

use settings::{LogGopsLoopback, OverheadSection, OverheadTable, Overheads};
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField};
use super::section::{Collector, Section};
use crate::network::{
    Compat, FactorStep, Factors, IbPenaltyFactors, LANES_MAX, LogGops, NetworkDevice, NetworkModel,
    NetworkParameters, PacketFaults, PairDuplex, VerbsParameters,
};
use crate::units::{Duration, Size};

/// All keys of `[network]`.
const KEYS: [&str; 26] = [
    "model",
    "compat",
    "latency_factor",
    MESSAGE_LATENCY,
    "message_gap",
    "bandwidth_factor",
    "rtt_penalty",
    "weight_s",
    "tcp_gamma",
    "crosstraffic",
    LOOPBACK,
    "envelope",
    "async_small_threshold",
    "os",
    "ois",
    "or",
    "ib_penalty_factors",
    PAIR_DUPLEX,
    "duration",
    "latency",
    "overhead",
    "gap",
    "gap_per_byte",
    "overhead_per_byte",
    "device",
    VERBS,
];

/// The table of the costs of messages within a host.
const LOOPBACK: &str = "loopback";
/// The latency between two hosts beside the latency of the links.
const MESSAGE_LATENCY: &str = "message_latency";
/// The table of opposite transfers between two hosts.
const PAIR_DUPLEX: &str = "pair_duplex";
/// The table of the parameters of the device `verbs`.
const VERBS: &str = "verbs";
/// The table of faults in the table of the device `verbs`.
const FAULTS: &str = "faults";
const REORDERING_DELAY: &str = "reordering_delay";

/// The keys for `loggops`.
const OF_LOGGOPS: [&str; 5] = [
    "latency",
    "overhead",
    "gap",
    "gap_per_byte",
    "overhead_per_byte",
];

/// The keys that replace links, on a platform that has links.
pub(crate) const IN_PLACE_OF_LINKS: [&str; 4] = ["latency", "overhead", "gap", "gap_per_byte"];

/// Greatest factor: with larger factors a cost or the time of a message vanishes. \[choice\]
const FACTOR_MAX: f64 = 1e6;

/// A number above 0, up to [`FACTOR_MAX`].
struct Positive(f64);

/// A number from 0 to [`FACTOR_MAX`].
pub(super) struct NotNegative(pub(super) f64);

/// A number of at least 0, or a truth value: `true` is the usual 0.05.
struct Crosstraffic(f64);

fn read_number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let found = match value.get_ref() {
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|whole| whole as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    found.filter(|number: &f64| number.is_finite())
}

impl ParseField for Positive {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        read_number(value)
            .filter(|number| *number > 0.0 && *number <= FACTOR_MAX)
            .map(Self)
            .ok_or_else(|| {
                let expected = "a number above 0 and up to 1e6, without quotes";
                InvalidValue::kind(value.get_ref(), expected)
            })
    }
}

impl ParseField for NotNegative {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        read_number(value)
            .filter(|number| (0.0..=FACTOR_MAX).contains(number))
            .map(Self)
            .ok_or_else(|| {
                InvalidValue::kind(value.get_ref(), "a number from 0 to 1e6, without quotes")
            })
    }
}

impl ParseField for Crosstraffic {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        const EXPECTED: &str =
            "true, false, or the share of the acknowledgements, a number from 0 to 1";
        let share = match value.get_ref() {
            DeValue::Boolean(true) => Some(crate::network::CROSSTRAFFIC),
            DeValue::Boolean(false) => Some(0.0),
            _ => read_number(value).filter(|share| (0.0..=1.0).contains(share)),
        };
        share
            .map(Self)
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), EXPECTED))
    }
}

impl ParseField for Compat {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        super::field::word(value, "compat", &["simgrid-4.1"], &[Self::Simgrid41])
    }
}

/// Reads the table; `None` if the value is not a table.
pub(super) fn read_network(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
) -> Option<NetworkParameters> {
    let section = collector.section(value, value.span(), "network table".to_owned(), &KEYS)?;
    let model: NetworkModel = collector
        .optional(&section, "model")?
        .unwrap_or(NetworkModel::DEFAULT);
    let mut network = NetworkParameters::preset(model);
    refuse_meaningless(collector, &section, &network);
    if let Some(compat) = collector.optional(&section, "compat") {
        network.compat = compat;
    }
    if network.fluid.is_some() {
        fluid(collector, &section, &mut network);
    }
    if network.ib_penalty_factors.is_some()
        && let Some(value) = section.get("ib_penalty_factors")
        && let Some(factors) = ib_penalty_factors(collector, value)
    {
        network.ib_penalty_factors = Some(factors);
    }
    if network.fluid.is_some() && network.ib_penalty_factors.is_none() {
        let value = section.get(PAIR_DUPLEX);
        network.pair_duplex = value.and_then(|value| pair_duplex(collector, value));
    }
    if network.duration.is_some() {
        set(collector, &section, "duration", |read| {
            network.duration = Some(read);
        });
    }
    if let Some(costs) = &mut network.loggops {
        for (key, store) in [
            ("latency", &mut costs.latency),
            ("overhead", &mut costs.overhead),
            ("gap", &mut costs.gap),
            ("gap_per_byte", &mut costs.gap_per_byte),
            ("overhead_per_byte", &mut costs.overhead_per_byte),
        ] {
            set(collector, &section, key, |read| *store = read);
        }
        costs.loopback = loggops_loopback(collector, &section, costs);
    }
    set(collector, &section, "device", |read| {
        network.device = Some(read);
    });
    read_verbs(collector, &section, &mut network);
    Some(network)
}

/// Reads the costs of messages within a host; an absent key has the value of the network.
fn loggops_loopback(
    collector: &mut Collector,
    section: &Section<'_>,
    network: &LogGops,
) -> Option<LogGopsLoopback<Duration>> {
    const KEYS: [&str; 3] = ["latency", "overhead", "gap_per_byte"];
    let value = section.get(LOOPBACK)?;
    let inner = collector.section(value, value.span(), LOOPBACK.to_owned(), &KEYS)?;
    let mut costs = LogGopsLoopback {
        latency: network.latency.clone(),
        overhead: network.overhead.clone(),
        gap_per_byte: network.gap_per_byte.clone(),
    };
    for (key, store) in KEYS.into_iter().zip([
        &mut costs.latency,
        &mut costs.overhead,
        &mut costs.gap_per_byte,
    ]) {
        set(collector, &inner, key, |read| *store = read);
    }
    Some(costs)
}

/// Reads the parameters of the device `verbs`.
fn read_verbs(collector: &mut Collector, section: &Section<'_>, network: &mut NetworkParameters) {
    const KEYS: [&str; 12] = [
        "mtu",
        "doorbell",
        "dma_read",
        "tx_packet",
        "rx_packet",
        "atomic",
        "completion",
        "pcie_bandwidth",
        "switch_latency",
        "buffer",
        "lanes",
        FAULTS,
    ];
    let table = section.get(VERBS);
    if network.device != Some(NetworkDevice::Verbs) {
        if let Some(value) = table {
            let problem = "table \"verbs\" in a network table without device = \"verbs\"";
            let expected = "expected the device whose parameters these are";
            collector.add(value.span(), problem.to_owned(), expected, None);
        }
        return;
    }
    let mut verbs = VerbsParameters::default();
    if let Some(value) = table
        && let Some(inner) = collector.section(value, value.span(), VERBS.to_owned(), &KEYS)
    {
        for (key, store) in [
            ("doorbell", &mut verbs.doorbell),
            ("dma_read", &mut verbs.dma_read),
            ("tx_packet", &mut verbs.tx_packet),
            ("rx_packet", &mut verbs.rx_packet),
            ("atomic", &mut verbs.atomic),
            ("completion", &mut verbs.completion),
            ("switch_latency", &mut verbs.switch_latency),
        ] {
            set(collector, &inner, key, |read| *store = read);
        }
        set(collector, &inner, "pcie_bandwidth", |read| {
            verbs.pcie_bandwidth = read;
        });
        set(collector, &inner, "mtu", |Mtu(read)| verbs.mtu = read);
        set(collector, &inner, "buffer", |read| verbs.buffer = read);
        set(collector, &inner, "lanes", |Lanes(read)| verbs.lanes = read);
        check_buffer(collector, &inner, &verbs);
        verbs.faults = read_faults(collector, &inner);
    }
    network.verbs = Some(verbs);
}

/// Reads the faults of links.
fn read_faults(collector: &mut Collector, section: &Section<'_>) -> PacketFaults {
    let mut faults = PacketFaults::default();
    let keys = [
        ("loss", &mut faults.loss),
        ("bit_error_rate", &mut faults.bit_error_rate),
        ("duplication", &mut faults.duplication),
        ("reordering", &mut faults.reordering),
    ];
    let known = [keys[0].0, keys[1].0, keys[2].0, keys[3].0, REORDERING_DELAY];
    let Some(value) = section.get(FAULTS) else {
        return faults;
    };
    let Some(inner) = collector.section(value, value.span(), FAULTS.to_owned(), &known) else {
        return faults;
    };
    for (key, store) in keys {
        set(collector, &inner, key, |Probability(read)| *store = read);
    }
    set(collector, &inner, REORDERING_DELAY, |read| {
        faults.reordering_delay = read;
    });
    if let Some(value) = inner.get("reordering")
        && faults.reordering > 0.0
        && faults.reordering_delay.as_secs() == 0.0
    {
        let problem = "reordering without reordering_delay".to_owned();
        let expected =
            "expected the delay of such a packet, for example reordering_delay = \"2us\"";
        collector.add(value.span(), problem, expected, None);
    }
    faults
}

/// Checks that a full packet fits into a buffer: in a smaller buffer, the first full packet stops
/// its link for ever.
fn check_buffer(collector: &mut Collector, section: &Section<'_>, verbs: &VerbsParameters) {
    // LRH, GRH, BTH, ICRC, VCRC and the longest extended header, in blocks of 64 bytes.
    let least = (verbs.mtu.bytes() + 8 + 40 + 12 + 28 + 4 + 2).next_multiple_of(64);
    if let Some(value) = section.get("buffer")
        && verbs.buffer.bytes() < least
    {
        let problem = format!("buffer = {} for packets of {}", verbs.buffer, verbs.mtu);
        let expected = format!("expected at least {least} bytes, a packet with its headers");
        collector.add(value.span(), problem, &expected, None);
    }
}

/// A path MTU.
struct Mtu(Size);

impl ParseField for Mtu {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let size = Size::read(value)?;
        if [256, 512, 1024, 2048, 4096].contains(&size.bytes()) {
            return Ok(Self(size));
        }
        Err(InvalidValue {
            problem: format!("mtu = {size}"),
            expected: "expected 256B, 512B, 1024B, 2048B or 4096B".to_owned(),
            help: None,
        })
    }
}

/// A probability.
struct Probability(f64);

impl ParseField for Probability {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let number = f64::read(value)?;
        if (0.0..=1.0).contains(&number) {
            return Ok(Self(number));
        }
        Err(InvalidValue {
            problem: format!("the probability {number}"),
            expected: "expected 0 to 1".to_owned(),
            help: None,
        })
    }
}

/// A number of virtual lanes.
struct Lanes(NonZeroU8);

impl ParseField for Lanes {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let number = u32::read(value)?;
        let lanes = u8::try_from(number).ok().and_then(NonZeroU8::new);
        let lanes = lanes.filter(|_| number <= LANES_MAX);
        lanes.map(Self).ok_or_else(|| InvalidValue {
            problem: format!("lanes = {number}"),
            expected: format!("expected 1 to {LANES_MAX}"),
            help: None,
        })
    }
}

impl ParseField for NetworkDevice {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        super::field::word(value, "device", &["verbs"], &[Self::Verbs])
    }
}

/// Reports the keys that model `loggops` needs on a platform with links: defaults in their place
/// would be the times of another machine, whatever the links are.
pub(super) fn require_costs(collector: &mut Collector, value: &Spanned<DeValue<'_>>) {
    let Some(table) = value.get_ref().as_table() else {
        return;
    };
    let is_absent = |key: &&str| !table.contains_key(*key);
    let absent: Vec<&str> = IN_PLACE_OF_LINKS.into_iter().filter(is_absent).collect();
    if absent.is_empty() {
        return;
    }
    let at = table.get("model").map_or(value.span(), Spanned::span);
    let absent = absent.join(", ");
    collector.add(
        at,
        format!("model \"loggops\" without {absent} on a platform with links"),
        "expected these keys of the network table: the model has no links, and takes none of them \
         from links",
        Some(
            "for one route, `platform show --route FROM TO` prints the latency, and gap_per_byte is \
             1 / bandwidth; without costs of calls, overhead = \"0s\" and gap = \"0s\""
                .to_owned(),
        ),
    );
}

/// Passes the value of a key to `store`, if the key is present and valid.
fn set<T: ParseField>(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
    store: impl FnOnce(T),
) {
    if let Some(Some(read)) = collector.optional(section, key) {
        store(read);
    }
}

/// Reports the keys that the model has no use for.
fn refuse_meaningless(
    collector: &mut Collector,
    section: &Section<'_>,
    preset: &NetworkParameters,
) {
    for key in KEYS {
        let has_meaning = match key {
            "model" | "compat" | "device" | VERBS => true,
            "ib_penalty_factors" => preset.ib_penalty_factors.is_some(),
            PAIR_DUPLEX => preset.fluid.is_some() && preset.ib_penalty_factors.is_none(),
            "duration" => preset.duration.is_some(),
            LOOPBACK => preset.loggops.is_some() || preset.fluid.is_some(),
            key if OF_LOGGOPS.contains(&key) => preset.loggops.is_some(),
            _ => preset.fluid.is_some(),
        };
        if let (false, Some(value)) = (has_meaning, section.get(key)) {
            let model = preset.model.name();
            let problem = format!("key {key:?} in the network table of model {model:?}");
            let expected = "this model has no such parameter";
            collector.add(value.span(), problem, expected, None);
        }
    }
}

fn fluid(collector: &mut Collector, section: &Section<'_>, network: &mut NetworkParameters) {
    let Some(fluid) = &mut network.fluid else {
        return;
    };
    for (key, store) in [
        (LATENCY_FACTOR, &mut fluid.latency_factor),
        ("bandwidth_factor", &mut fluid.bandwidth_factor),
    ] {
        if let Some(value) = section.get(key)
            && let Some(read) = factors(collector, value, key)
        {
            *store = read;
        }
    }
    set(collector, section, "rtt_penalty", |read| {
        fluid.rtt_penalty = read;
    });
    set(collector, section, "weight_s", |read| fluid.weight_s = read);
    set(collector, section, "tcp_gamma", |read| {
        fluid.tcp_gamma = read;
    });
    set(collector, section, "message_gap", |read| {
        fluid.message_gap = Some(read);
    });
    set(collector, section, "envelope", |read| fluid.envelope = read);
    set(collector, section, "async_small_threshold", |read| {
        fluid.async_small_threshold = Some(read);
    });
    let Overheads { os, ois, or } = &mut fluid.overheads;
    let latency = (MESSAGE_LATENCY, &mut fluid.message_latency);
    for (key, store) in [("os", os), ("ois", ois), ("or", or), latency] {
        if let Some(value) = section.get(key)
            && let Some(read) = overhead(collector, value, key)
        {
            *store = read;
        }
    }
    set(collector, section, "crosstraffic", |read: Crosstraffic| {
        fluid.crosstraffic = read.0;
    });
    let Some(value) = section.get(LOOPBACK) else {
        return;
    };
    let what = LOOPBACK.to_owned();
    let inner = collector.section(value, value.span(), what, &["bandwidth", "latency"]);
    if let Some(inner) = inner {
        set(collector, &inner, "bandwidth", |read| {
            fluid.loopback.bandwidth = read;
        });
        set(collector, &inner, "latency", |read| {
            fluid.loopback.latency = read;
        });
    }
}

/// The factor that may be 0: no latency is paid then. A bandwidth of 0 would not let anything end.
const LATENCY_FACTOR: &str = "latency_factor";

/// A factor under a key.
fn factor(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    key: &'static str,
) -> Option<f64> {
    if key == LATENCY_FACTOR {
        collector.value(value).map(|NotNegative(factor)| factor)
    } else {
        collector.value(value).map(|Positive(factor)| factor)
    }
}

/// One number for all sizes, or an array of steps.
fn factors(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    key: &'static str,
) -> Option<Factors> {
    let Some(array) = value.get_ref().as_array() else {
        if read_number(value).is_none() {
            let expected = "a number, or an array of { above = SIZE, factor = NUMBER }";
            collector.wrong(value.span(), InvalidValue::kind(value.get_ref(), expected));
            return None;
        }
        return factor(collector, value, key).map(Factors::Same);
    };
    let mut steps: Vec<FactorStep> = Vec::with_capacity(array.len());
    for step in array {
        let what = format!("step of {key}");
        let section = collector.section(step, step.span(), what, &["above", "factor"])?;
        let above = collector.required(&section, "above", "\"64KiB\"");
        let factor = collector.present(&section, "factor", "0.97");
        let factor = factor.and_then(|value| self::factor(collector, value, key));
        let (above, factor) = (above?, factor?);
        let next = FactorStep { above, factor };
        if let Some(last) = steps.last()
            && last.above.bytes() >= next.above.bytes()
        {
            let problem = format!("step {} after step {}", next.above, last.above);
            collector.add(step.span(), problem, "expected increasing sizes", None);
            return None;
        }
        steps.push(next);
    }
    Some(Factors::Steps(steps))
}

/// An array of sections.
pub(super) fn overhead(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    key: &'static str,
) -> Option<OverheadTable<Size, Duration>> {
    let Some(array) = value.get_ref().as_array() else {
        let expected = "an array of { above = SIZE, time = DURATION, per_byte = DURATION }";
        collector.wrong(value.span(), InvalidValue::kind(value.get_ref(), expected));
        return None;
    };
    let mut sections: Vec<OverheadSection<Size, Duration>> = Vec::with_capacity(array.len());
    for entry in array {
        let keys = ["above", "time", "per_byte"];
        let section = collector.section(entry, entry.span(), format!("section of {key}"), &keys)?;
        let above: Option<Size> = collector.required(&section, "above", "\"64KiB\"");
        let time = collector.required(&section, "time", "\"1us\"");
        let per_byte = collector.required(&section, "per_byte", "\"10ps\"");
        let next = OverheadSection {
            above: above?,
            time: time?,
            per_byte: per_byte?,
        };
        if let Some(last) = sections.last()
            && last.above.bytes() >= next.above.bytes()
        {
            let problem = format!("section {} after section {}", next.above, last.above);
            collector.add(entry.span(), problem, "expected increasing sizes", None);
            return None;
        }
        sections.push(next);
    }
    Some(OverheadTable::new(sections))
}

fn pair_duplex(collector: &mut Collector, value: &Spanned<DeValue<'_>>) -> Option<PairDuplex> {
    let what = PAIR_DUPLEX.to_owned();
    let section = collector.section(value, value.span(), what, &["from", "full"])?;
    let from = collector.required::<Size>(&section, "from", "\"190kB\"");
    let full = collector.required::<Size>(&section, "full", "\"12MB\"");
    let (from, full) = (from?, full?);
    if from.bytes() == 0 || full.bytes() <= from.bytes() {
        let problem = format!("pair_duplex from {from} to {full}");
        collector.add(value.span(), problem, "expected 0 < from < full", None);
        return None;
    }
    Some(PairDuplex { from, full })
}

fn ib_penalty_factors(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
) -> Option<IbPenaltyFactors> {
    let what = "ib_penalty_factors".to_owned();
    let section = collector.section(value, value.span(), what, &["be", "bs", "ys"])?;
    let be = collector.required(&section, "be", "0.965");
    let bs = collector.required(&section, "bs", "0.925");
    let ys = collector.required(&section, "ys", "1.35");
    let (Positive(be), Positive(bs), Positive(ys)) = (be?, bs?, ys?);
    Some(IbPenaltyFactors { be, bs, ys })
}
