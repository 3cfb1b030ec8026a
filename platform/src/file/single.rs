//! `[clusters.NAME.host_overrides.HOST]` and `[clusters.NAME.link_overrides.LINK]`: hosts and links
//! of a cluster that differ from the others.
//!
//! An absent key has the value of the cluster. A link has the name that
//! [`Platform::link`](crate::Platform::link) gives; without `:up` or
//! `:down` the entry changes both directions, and an entry with a direction takes precedence. A
//! link with its own bandwidth or latency does not follow the `bandwidth_profile` or
//! `latency_profile` of the cluster: the values of these profiles are absolute.
//!
//! *Not modelled*: another sharing or other disks for one link or host. All links of a kind share
//! alike, and all hosts of a cluster have the same disks.

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, cut};
use super::profile::profile;
use super::section::{Collector, Section, in_file_order};
use super::speeds::{PowerState, Speeds};
use super::{Named, ProfileEntry, ProfileKind};
use crate::units::{Bandwidth, Duration};

/// Values of one host that replace the values of its cluster.
#[derive(Clone, Default, Serialize, Debug)]
pub struct HostOverride {
    /// The speed of one core, in each power state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speeds>,
    /// The power state at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pstate: Option<PowerState>,
    /// Number of cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Parts of the speed over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_profile: Option<Box<ProfileEntry>>,
    /// On and off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_profile: Option<Box<ProfileEntry>>,
}

/// Values of one link, or of one direction of a link, that replace the values of its cluster.
#[derive(Clone, Default, Serialize, Debug)]
pub struct LinkOverride {
    /// Bandwidth of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Latency of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Bandwidths over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_profile: Option<Box<ProfileEntry>>,
    /// Latencies in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_profile: Option<Box<ProfileEntry>>,
    /// On and off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_profile: Option<Box<ProfileEntry>>,
}

/// The hosts of a cluster that differ from the others; `None` if there is a mistake.
pub(super) fn host_overrides(
    collector: &mut Collector,
    cluster: &Section<'_>,
) -> Option<Vec<Named<HostOverride>>> {
    const EXAMPLE: &str = "[clusters.nodes.host_overrides.node-3]";
    entries(
        collector,
        cluster,
        "host_overrides",
        EXAMPLE,
        read_host_override,
    )
}

/// The links of a cluster that differ from the others; `None` if there is a mistake.
pub(super) fn link_overrides(
    collector: &mut Collector,
    cluster: &Section<'_>,
) -> Option<Vec<Named<LinkOverride>>> {
    const EXAMPLE: &str = "[clusters.nodes.link_overrides.\"node-3:up\"]";
    entries(
        collector,
        cluster,
        "link_overrides",
        EXAMPLE,
        read_link_override,
    )
}

fn entries<T>(
    collector: &mut Collector,
    cluster: &Section<'_>,
    key: &'static str,
    example: &str,
    read: impl Fn(&mut Collector, &Spanned<String>, &Spanned<DeValue<'_>>) -> Option<T>,
) -> Option<Vec<Named<T>>> {
    let Some(value) = cluster.get(key) else {
        return Some(Vec::new());
    };
    let Some(table) = value.get_ref().as_table() else {
        let expected = format!("named tables, such as {example}");
        collector.wrong(value.span(), InvalidValue::kind(value.get_ref(), &expected));
        return None;
    };
    let all: Vec<Option<Named<T>>> = in_file_order(table)
        .into_iter()
        .map(|(name, value)| {
            let entry = read(collector, &name, value)?;
            Some(Named { name, entry })
        })
        .collect();
    all.into_iter().collect()
}

fn read_host_override(
    collector: &mut Collector,
    name: &Spanned<String>,
    value: &Spanned<DeValue<'_>>,
) -> Option<HostOverride> {
    const KEYS: [&str; 5] = ["speed", "pstate", "cores", "speed_profile", "state_profile"];
    let what = format!("override of host {:?}", cut(name.get_ref()));
    let section = collector.section(value, name.span(), what, &KEYS)?;
    let speed = collector.optional(&section, "speed");
    let pstate = collector.optional(&section, "pstate");
    let cores = collector.optional(&section, "cores");
    let mut profile = |key, kind| profile(collector, &section, key, kind);
    let speed_profile = profile("speed_profile", ProfileKind::Speed);
    let state_profile = profile("state_profile", ProfileKind::State);
    Some(HostOverride {
        speed: speed?,
        pstate: pstate?,
        cores: cores?,
        speed_profile: speed_profile?,
        state_profile: state_profile?,
    })
}

fn read_link_override(
    collector: &mut Collector,
    name: &Spanned<String>,
    value: &Spanned<DeValue<'_>>,
) -> Option<LinkOverride> {
    const KEYS: [&str; 5] = [
        "bandwidth",
        "latency",
        "bandwidth_profile",
        "latency_profile",
        "state_profile",
    ];
    let what = format!("override of link {:?}", cut(name.get_ref()));
    let section = collector.section(value, name.span(), what, &KEYS)?;
    let bandwidth = collector.optional(&section, "bandwidth");
    let latency = collector.optional(&section, "latency");
    let mut profile = |key, kind| profile(collector, &section, key, kind);
    let bandwidth_profile = profile("bandwidth_profile", ProfileKind::Bandwidth);
    let latency_profile = profile("latency_profile", ProfileKind::Latency);
    let state_profile = profile("state_profile", ProfileKind::State);
    Some(LinkOverride {
        bandwidth: bandwidth?,
        latency: latency?,
        bandwidth_profile: bandwidth_profile?,
        latency_profile: latency_profile?,
        state_profile: state_profile?,
    })
}
