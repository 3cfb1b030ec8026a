//! Lines of a summary for changes during a run: power states, profiles and overrides, one line
//! each.

use crate::file::{
    HostOverride, LinkEntry, LinkOverride, Named, PowerState, ProfileEntry, Speeds, ZoneEntry,
};

/// Returns the lines of a zone, without lines of inner zones.
pub(super) fn zone_lines(zone: &ZoneEntry) -> Vec<String> {
    let mut lines = Vec::new();
    for Named { name, entry } in &zone.hosts {
        let name = name.get_ref();
        lines.extend(power(name, &entry.speed, entry.pstate));
        lines.extend(profile(name, "speed", entry.speed_profile.as_deref()));
        lines.extend(profile(name, "state", entry.state_profile.as_deref()));
    }
    for Named { name, entry } in &zone.links {
        lines.extend(link_lines(name.get_ref(), entry));
    }
    for Named { name, entry } in &zone.clusters {
        let name = name.get_ref();
        let hosts = format!("hosts of {name}");
        lines.extend(power(&hosts, &entry.speed, entry.pstate));
        lines.extend(profile(&hosts, "speed", entry.speed_profile.as_deref()));
        lines.extend(profile(
            &hosts,
            "state",
            entry.host_state_profile.as_deref(),
        ));
        let cables = format!("cables of {name}");
        lines.extend(link_lines(&cables, &entry.link));
        lines.extend(profile(
            &cables,
            "state",
            entry.link_state_profile.as_deref(),
        ));
        for (what, inner) in [
            ("backbone", &entry.backbone),
            ("loopbacks", &entry.loopback),
        ] {
            let inner = inner.iter();
            lines.extend(inner.flat_map(|entry| link_lines(&format!("{what} of {name}"), entry)));
        }
        lines.extend(entry.host_overrides.iter().flat_map(host_override));
        lines.extend(entry.link_overrides.iter().flat_map(link_override));
    }
    lines
}

/// The values of one host of a cluster that differ from the others, a line each.
fn host_override(named: &Named<HostOverride>) -> Vec<String> {
    let (name, entry) = (named.name.get_ref(), &named.entry);
    let values = [
        entry.speed.as_ref().map(|speed| format!("speed {speed}")),
        entry.pstate.map(|state| format!("pstate {}", state.0)),
        entry.cores.map(|cores| format!("cores {cores}")),
    ];
    let profiles = [
        profile(name, "speed", entry.speed_profile.as_deref()),
        profile(name, "state", entry.state_profile.as_deref()),
    ];
    let lines = values_of_its_own(name, &values).into_iter();
    lines.chain(profiles.into_iter().flatten()).collect()
}

/// The values of one link of a cluster that differ from the others, a line each.
fn link_override(named: &Named<LinkOverride>) -> Vec<String> {
    let (name, entry) = (named.name.get_ref(), &named.entry);
    let bandwidth = entry.bandwidth.as_ref();
    let latency = entry.latency.as_ref();
    let values = [
        bandwidth.map(|bandwidth| format!("bandwidth {bandwidth}")),
        latency.map(|latency| format!("latency {latency}")),
    ];
    let profiles = [
        profile(name, "bandwidth", entry.bandwidth_profile.as_deref()),
        profile(name, "latency", entry.latency_profile.as_deref()),
        profile(name, "state", entry.state_profile.as_deref()),
    ];
    let lines = values_of_its_own(name, &values).into_iter();
    lines.chain(profiles.into_iter().flatten()).collect()
}

fn values_of_its_own(name: &str, values: &[Option<String>]) -> Option<String> {
    let values: Vec<&str> = values.iter().flatten().map(String::as_str).collect();
    (!values.is_empty()).then(|| format!("override  {name}: {}", values.join(", ")))
}

fn link_lines(name: &str, entry: &LinkEntry) -> Vec<String> {
    let all = [
        profile(name, "bandwidth", entry.bandwidth_profile.as_deref()),
        profile(name, "latency", entry.latency_profile.as_deref()),
        profile(name, "state", entry.state_profile.as_deref()),
    ];
    all.into_iter().flatten().collect()
}

fn power(name: &str, speeds: &Speeds, state: PowerState) -> Option<String> {
    let several = speeds.count() > 1;
    several.then(|| format!("pstates   {name}: {speeds}; {} at the start", state.0))
}

fn profile(name: &str, what: &str, profile: Option<&ProfileEntry>) -> Option<String> {
    let summary = profile?.summary();
    Some(format!("profile   {name}, {what}: {summary}"))
}
