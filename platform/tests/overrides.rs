//! Promise: `--set` changes the keys that it names, checks units like a file, and reports a path
//! without a match.

use platform::{HostId, Override, Platform};
use testing::cases::read_cases;

const FILE: &str = r#"version = 1
[hosts.zoe]
speed = "1Gf"
[hosts.adam]
speed = "2Gf"
[links.wan]
bandwidth = "10Gbps"
latency = "20ms"
[links."x.y"]
bandwidth = "10Gbps"
latency = "1ms"
[clusters.nodes]
hosts = "n[0-3]"
speed = "1Gf"
cores = 2
bandwidth = "1Gbps"
latency = "1us"
[[routes]]
from = "zoe"
to = "adam"
links = ["wan", "x.y"]
"#;

fn with(changes: &[&str]) -> Result<Platform, String> {
    let changes: Result<Vec<Override>, _> = changes.iter().map(|text| text.parse()).collect();
    let changes = changes.map_err(|error| error.to_string())?;
    let platform = Platform::parse("p.toml", FILE).expect("a platform");
    platform
        .with_overrides("p.toml", &changes)
        .map_err(|error| error.to_string())
}

fn latency(platform: &Platform) -> f64 {
    let route = platform.route(HostId(0), HostId(1)).expect("a route");
    route.latency_s
}

#[test]
fn values_are_set_and_multiplied() {
    let platform = with(&["links.wan.bandwidth=5Gbps", "links.*.latency*=2"]).expect("a platform");
    let route = platform.route(HostId(0), HostId(1)).expect("a route");
    assert_eq!(route.hops[0].bandwidth, 0.625e9);
    assert!((latency(&platform) - 42e-3).abs() < 1e-12);
    // Hosts keep their numbers.
    assert_eq!(platform.host_name(HostId(0)), "zoe");
    let platform = with(&[
        "hosts.z*.cores=16",
        "clusters.nodes.cores*=3",
        "hosts.*.speed*=0.5",
    ])
    .expect("a platform");
    assert_eq!(
        (platform.cores(HostId(0)), platform.cores(HostId(1))),
        (16, 1)
    );
    assert_eq!(platform.cores(HostId(2)), 6);
    assert_eq!(platform.speed(HostId(1)), 1e9);
    let platform =
        with(&["links.\"x.y\".latency=0s", "clusters.nodes.limiter=3GBps"]).expect("a platform");
    assert_eq!(latency(&platform), 20e-3);
    assert_eq!(
        platform
            .route(HostId(2), HostId(3))
            .expect("a route")
            .hops
            .len(),
        4
    );
    let kept = platform.to_toml();
    assert!(kept.contains("limiter = \"3GBps\"") && kept.contains("latency = \"0s\""));
    let again = Platform::parse("kept.toml", &kept).expect("the same platform");
    assert_eq!(latency(&again), 20e-3);
}

#[test]
fn parameters_of_a_model() {
    let changes = [
        "network.model=loggops",
        "network.latency=5us",
        "network.overhead=0s",
        "network.gap=0s",
        "network.gap_per_byte=100ps",
    ];
    // Those of the model before go with it.
    let printed = with(&changes).expect("a platform").to_toml();
    for line in [
        "model = \"loggops\"",
        "latency = \"5us\"",
        "gap_per_byte = \"100ps\"",
    ] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
    assert!(!printed.contains("latency_factor"), "{printed}");
    let file = "version = 1\nhosts.a.speed = \"1Gf\"\nnetwork.model = \"loggops\"";
    let changes = ["network.latency=5us", "network.gap_per_byte*=0.5"];
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let platform = Platform::parse("p.toml", file).expect("a platform");
    let platform = platform
        .with_overrides("p.toml", &changes)
        .expect("a platform");
    assert!(
        platform
            .summary()
            .to_string()
            .contains("\n          L 5us, o 1500ns, g 1000ns, G 3ns/B, O 0ns/B\n")
    );
}

#[test]
fn values_are_checked_like_those_of_a_file() {
    let error = with(&["links.wan.bandwidth=10Gbs"]).expect_err("a mistake");
    assert!(
        error.starts_with("p.toml with --set links.wan.bandwidth=10Gbs:1:1:")
            && error.contains("unknown unit \"Gbs\" in \"10Gbs\": expected a bandwidth"),
        "{error}"
    );
    let error = with(&["links.wan.bandwith=10Gbps"]).expect_err("a mistake");
    assert!(
        error.contains("unknown key \"bandwith\"") && error.contains("did you mean \"bandwidth\"?"),
        "{error}"
    );
    let error = with(&["clusters.nodes.cores*=0.3"]).expect_err("a mistake");
    assert!(error.contains("is no quantity"), "{error}");
}

/// The text in which changes are made is generated, and a user has never seen it.
#[test]
fn mistakes_are_shown_at_the_changes_that_make_them() {
    let xml = r#"<platform version="4.1"><zone id="w" routing="Full">
        <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
        <link id="l" bandwidth="1GBps" latency="1us"/> <link id="m" bandwidth="1GBps"/>
        <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#;
    let show = |changes: &[&str]| {
        let changes: Vec<Override> = changes
            .iter()
            .map(|change| change.parse().expect("a change"))
            .collect();
        let platform = simgrid_import::parse("p.xml", xml).expect("a platform");
        platform
            .with_overrides("p.xml", &changes)
            .expect_err("a mistake")
    };
    // Both links are wrong by the same change: one mistake.
    let error = show(&["hosts.a.cores=2", "links.*.bandwidth=10Gbs"]);
    let text = error.to_string();
    let place = "p.xml with --set hosts.a.cores=2 --set links.*.bandwidth=10Gbs:2:1: ";
    assert!(text.starts_with(place), "{text}");
    assert!(text.ends_with("did you mean \"10Gbps\"?"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let report = error.report(false);
    assert!(
        report.contains("2 │ --set links.*.bandwidth=10Gbs\n"),
        "{report}"
    );
    assert!(!report.contains("[links"), "{report}");
    // Each of two that make the same mistake, and what only both together make.
    let text = show(&["hosts.a.cores=0", "hosts.b.cores=0"]).to_string();
    assert!(
        text.contains("cores=0:1:1: zero") && text.contains("cores=0:2:1: zero"),
        "{text}"
    );
    let text = show(&["network.model=loggops", "network.latency=1us"]).to_string();
    assert!(
        text.contains("latency=1us:1:1: model \"loggops\" without overhead"),
        "{text}"
    );
}

#[test]
fn another_model_comes_with_its_own_parameters() {
    let names = ["flow", "raw", "cm02", "lv08", "smpi", "ib", "constant"];
    for (from, to) in names.iter().flat_map(|from| names.map(|to| (from, to))) {
        let file = |model: &str| format!("{FILE}[network]\nmodel = \"{model}\"\n");
        let change = format!("network.model={to}").parse().expect("a change");
        let parsed = |model| Platform::parse("p.toml", &file(model)).expect("a platform");
        let changed = parsed(from)
            .with_overrides("p.toml", &[change])
            .expect("a platform");
        assert_eq!(changed.network(), parsed(to).network(), "{from} to {to}");
    }
    // What is set beside it holds, in any order.
    for changes in [
        ["network.model=lv08", "network.crosstraffic=0"],
        ["network.crosstraffic=0", "network.model=lv08"],
    ] {
        let network = with(&changes).expect("a platform").network().clone();
        let fluid = network.fluid.expect("parameters");
        assert_eq!((fluid.crosstraffic, fluid.rtt_penalty), (0.0, true));
    }
    let error = with(&["network.model=lv80"]).expect_err("no model");
    assert!(error.contains("lv08"), "{error}");
}

/// The model has no links: the parameters that replace links must be set, and are not assumed.
#[test]
fn loggops_on_a_platform_with_links_needs_its_costs() {
    let problem = |missing: &str| {
        format!("model \"loggops\" without {missing} on a platform with links: expected these keys")
    };
    let file = format!("{FILE}[network]\nmodel = \"loggops\"\ngap = \"1us\"\noverhead = \"1us\"\n");
    let error = Platform::parse("p.toml", &file).expect_err("a mistake");
    let missing = problem("latency, gap_per_byte");
    assert!(error.to_string().contains(&missing), "{error}");
    let error = with(&["network.model=loggops", "network.gap=1us"]).expect_err("a mistake");
    let missing = problem("latency, overhead, gap_per_byte");
    assert!(error.contains(&missing), "{error}");
    // A file that has them keeps them when the model is named again.
    let file = format!("{file}latency = \"7us\"\ngap_per_byte = \"1ns\"\n");
    let change = "network.model=loggops".parse().expect("a change");
    let platform = Platform::parse("p.toml", &file).expect("a platform");
    let again = platform
        .clone()
        .with_overrides("p.toml", &[change])
        .expect("a platform");
    assert_eq!(again.network(), platform.network());
    // Without links nothing is ignored.
    let file = "version = 1\nhosts.a.speed = \"1Gf\"\nnetwork.model = \"loggops\"";
    Platform::parse("p.toml", file).expect("a platform");
}

/// The limits of the message layer stand in `[protocol]`, are told, are written back, and can be
/// set from outside.
#[test]
fn limits_of_the_message_layer() {
    let text = "version = 1\n[protocol]\ncredits = 4\nreserved_credits = 0\nunexpected_memory = \"1MiB\"\nzero_copy = false\n\
                [hosts.a]\nspeed = \"1f\"\n";
    let platform = Platform::parse("p.toml", text).unwrap();
    let protocol = platform.protocol();
    assert_eq!(
        (protocol.limits.credits, protocol.limits.reserved),
        (Some(4), 0)
    );
    assert!(protocol.is_limited());
    let shown = platform.summary().to_string();
    let line = "limits: 4 credits per connection, 0 of each reserved for control, \
                1MiB of unexpected messages per rank, rendezvous packed";
    assert!(shown.contains(line), "{shown}");
    let again = Platform::parse("again.toml", &platform.to_toml()).unwrap();
    assert_eq!(again.protocol(), protocol);
    let plain = Platform::parse("p.toml", "version = 1\n[hosts.a]\nspeed = \"1f\"\n").unwrap();
    assert!(!plain.protocol().is_limited() && !plain.summary().to_string().contains("limits"));
}

/// Checks that the summary lists the costs of the protocols too.
#[test]
fn presets_and_costs_of_the_protocol() {
    let text = "version = 1\n[protocol]\ncontrol_messages = \"simulated\"\ncontrol_size = \"48B\"\nssend_protocol = \"acknowledged\"\n\
                ready_send = \"strict\"\ntransport = \"stream\"\npost_cost_per_packet = \"100ns\"\npost_cost_per_batch = \"1us\"\n[hosts.a]\nspeed = \"1f\"\n";
    let platform = Platform::parse("p.toml", text).unwrap();
    assert!(platform.protocol().simulates_control_messages() && platform.protocol().is_limited());
    let shown = platform.summary().to_string();
    let line = "simulated control messages, 48B per control message, 100ns per packet, 1us per posting, \
                short synchronous messages acknowledged, ready sends strict, streams";
    assert!(shown.contains(line), "{shown}");
    let again = Platform::parse("again.toml", &platform.to_toml()).unwrap();
    assert_eq!(again.protocol(), platform.protocol());
    let text = "version = 1\n[protocol]\ncontrol_messages = \"simulatedd\"\nready_send = \"perhaps\"\ntransport = 3\npost_cost_per_packet = \"4B\"\n\
                [hosts.a]\nspeed = \"1f\"\n";
    let report = Platform::parse("p.toml", text).unwrap_err().report(false);
    for part in [
        "unknown mode of control messages \"simulatedd\"",
        "did you mean \"simulated\"?",
        "expected \"lenient\" or \"strict\"",
        "the number 3",
        "p.toml:6:",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn wrong_limits_are_all_reported() {
    let text = "version = 1\n[protocol]\ncredits = 0\npacket_size = \"0B\"\nsend_buffer = 3\nreserved_credits = -1\n[hosts.a]\nspeed = \"1f\"\n";
    let error = Platform::parse("p.toml", text).unwrap_err();
    let report = error.report(false);
    for part in [
        "zero is not allowed",
        "packet size of 0",
        "unknown key \"send_buffer\"",
        "expected a whole number from 0",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

/// Former names of keys and words are refused, and the message has the current ones.
#[test]
fn renamed_keys() {
    let text = "version = 1\n[protocol]\npacket = \"1KiB\"\ncarriage = \"stream\"\n\
                [connection]\nmode = \"free\"\nidle_close = \"10ms\"\n[hosts.a]\nspeed = \"1f\"\n";
    let report = Platform::parse("p.toml", text).unwrap_err().report(false);
    for new in ["packet_size", "transport", "instant", "idle_timeout"] {
        let part = format!("it is called {new:?} now");
        assert!(report.contains(&part), "{part}: {report}");
    }
}

/// A cluster in a zone, and one of the platform.
const CLUSTERS: &str = r#"version = 1
[clusters.flat]
hosts = "node-[0-7]"
speed = ["1Gf", "3Gf"]
cores = 4
bandwidth = "1Gbps"
latency = "1us"
backbone = { bandwidth = "4Gbps", latency = "1us" }
limiter = "2Gbps"
[zones.site]
routing = "star"
[zones.site.clusters.tree]
topology = "fat-tree"
hosts = "leaf-[0-7]"
down = [4, 2]
up = [1, 2]
speed = "1Gf"
bandwidth = "1Gbps"
latency = "1us"
"#;

/// The platform `CLUSTERS` with changes, printed and read again.
fn clusters_with(changes: &[&str]) -> Result<Platform, String> {
    let changes = changes.iter().map(|text| text.parse().expect("a change"));
    let changes: Vec<Override> = changes.collect();
    let platform = Platform::parse("p.toml", CLUSTERS).expect("a platform");
    let platform = platform.with_overrides("p.toml", &changes);
    let platform = platform.map_err(|error| error.to_string())?;
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same platform");
    assert_eq!(again.to_toml(), platform.to_toml());
    Ok(again)
}

#[test]
fn single_hosts_of_clusters_are_changed() {
    let platform = clusters_with(&[
        "hosts.node-3.speed=2Gf",
        "hosts.node-4.cores*=2",
        "hosts.node-4.pstate=1",
        "hosts.leaf-2.speed*=0.5",
        "zones.site.hosts.leaf-3.speed=5Gf",
        // The others, not those with a value of their own.
        "clusters.flat.cores=3",
    ])
    .expect("a platform");
    let host = |name| platform.host_by_name(name).expect("a host");
    let figures = |name| (platform.speed(host(name)), platform.cores(host(name)));
    assert_eq!(figures("node-2"), (1e9, 3));
    assert_eq!(figures("node-3"), (2e9, 3));
    assert_eq!(figures("node-4"), (3e9, 8));
    assert_eq!(platform.pstate_count(host("node-2")), 2);
    assert_eq!(platform.pstate_count(host("node-3")), 1);
    assert_eq!(platform.pstate(host("node-4")), 1);
    assert_eq!(figures("leaf-2"), (0.5e9, 1));
    assert_eq!(figures("leaf-3"), (5e9, 1));
    assert_eq!(figures("leaf-4"), (1e9, 1));
}

#[test]
fn single_links_of_clusters_are_changed() {
    let platform = clusters_with(&[
        "links.node-3.bandwidth=500Mbps",
        "links.node-3:down.bandwidth*=0.5",
        "links.node-4:up.latency=3us",
        "links.node-5:limiter.bandwidth*=0.5",
        "links.flat:backbone.bandwidth=5Gbps",
        "links.\"tree/1.1/0:down\".bandwidth*=4",
        "zones.site.links.leaf-6.latency*=2",
    ])
    .expect("a platform");
    let link = |name: &str| {
        let link = platform.link_by_name(name).expect("a link");
        let found = platform.link(link);
        assert_eq!(found.name, name);
        (found.bandwidth * 8.0, found.latency.as_secs())
    };
    assert_eq!(link("node-2:up"), (1e9, 1e-6));
    assert_eq!(link("node-3:up"), (0.5e9, 1e-6));
    assert_eq!(link("node-3:down"), (0.25e9, 1e-6));
    assert_eq!(link("node-4:up"), (1e9, 3e-6));
    assert_eq!(link("node-4:down"), (1e9, 1e-6));
    assert_eq!(link("node-5:limiter"), (1e9, 0.0));
    assert_eq!(link("flat:backbone"), (5e9, 1e-6));
    assert_eq!(link("tree/1.1/0:up"), (1e9, 1e-6));
    assert_eq!(link("tree/1.1/0:down"), (4e9, 1e-6));
    assert_eq!(link("leaf-6:up"), (1e9, 2e-6));
    // Routes cross the same links.
    let host = |name| platform.host_by_name(name).expect("a host");
    for (from, to) in [
        ("node-4", "node-3"),
        ("leaf-6", "leaf-0"),
        ("leaf-0", "leaf-6"),
    ] {
        let route = platform.route(host(from), host(to)).expect("a route");
        let mut latency_s = 0.0;
        for hop in &route.hops {
            let found = platform.link(hop.link);
            assert_eq!(found.bandwidth, hop.bandwidth, "{}", found.name);
            latency_s += found.latency.as_secs();
        }
        assert_eq!(route.latency_s, latency_s);
    }
}

#[test]
fn mistakes_in_changes() {
    for case in read_cases(include_str!("overrides.txt")) {
        let error = match case.given_parts() {
            ["file", change] => with(&[change]).expect_err(change),
            [_, change] => clusters_with(&[change]).expect_err(change),
        };
        case.assert_expected("overrides.txt", &error);
    }
}
