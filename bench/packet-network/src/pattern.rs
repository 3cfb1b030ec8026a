//! Traffic patterns: which host sends to which, and the settings of the network.

use models::packet::{FlowControl, Forwarding, PacketSettings, PfcSettings};
use sim_core::Stream;

/// Hosts of the tree.
pub(crate) const HOSTS: u32 = 1024;

/// Flows of each pattern.
const FLOWS: u32 = 1000;

/// A traffic pattern.
pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    /// Returns the pairs of source and destination.
    pub(crate) flows: fn() -> Vec<(u32, u32)>,
    /// Returns the settings of the network.
    pub(crate) settings: fn() -> PacketSettings,
}

/// All patterns, in the order of the table.
pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "shift",
        flows: shift,
        settings: PacketSettings::default,
    },
    Pattern {
        name: "permutation",
        flows: permutation,
        settings: PacketSettings::default,
    },
    Pattern {
        name: "uniform",
        flows: uniform,
        settings: PacketSettings::default,
    },
    Pattern {
        name: "incast",
        flows: incast,
        settings: PacketSettings::default,
    },
    Pattern {
        name: "permutation, 130 blocks",
        flows: permutation,
        settings: || PacketSettings {
            buffer_blocks: 130,
            ..PacketSettings::default()
        },
    },
    Pattern {
        name: "permutation, 2 lanes",
        flows: permutation,
        settings: || PacketSettings {
            data_vls: 2,
            ..PacketSettings::default()
        },
    },
    Pattern {
        name: "permutation, PFC",
        flows: permutation,
        settings: pfc,
    },
    Pattern {
        name: "incast, PFC",
        flows: incast,
        settings: pfc,
    },
];

/// Returns the settings of RoCE switches with pauses at 64 KiB per port.
pub(crate) fn pfc() -> PacketSettings {
    let pfc = PfcSettings {
        fixed_threshold: Some(64 << 10),
        ..PfcSettings::default()
    };
    PacketSettings {
        flow_control: FlowControl::Pfc(pfc),
        forwarding: Forwarding::StoreAndForward,
        delimiter_bytes: 0,
        ..PacketSettings::default()
    }
}

fn shift() -> Vec<(u32, u32)> {
    (0..FLOWS)
        .map(|host| (host, (host + 512) % HOSTS))
        .collect()
}

pub(crate) fn permutation() -> Vec<(u32, u32)> {
    let mut targets: Vec<u32> = (0..HOSTS).collect();
    Stream::new(1, "permutation").shuffle(&mut targets);
    let pairs = (0..HOSTS).zip(targets).filter(|(from, to)| from != to);
    pairs.take(FLOWS as usize).collect()
}

fn uniform() -> Vec<(u32, u32)> {
    let mut stream = Stream::new(1, "uniform");
    let mut other = |from| loop {
        let to = u32::try_from(stream.below(u64::from(HOSTS))).expect("a host");
        if to != from {
            return to;
        }
    };
    (0..FLOWS).map(|from| (from, other(from))).collect()
}

/// Groups of 64 hosts send to one host of another group.
fn incast() -> Vec<(u32, u32)> {
    (0..FLOWS)
        .map(|host| (host, (host / 64 * 64 + 96) % HOSTS))
        .collect()
}
