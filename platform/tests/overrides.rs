//! Promise: `--set` changes what it names, checks units like a file, and answers a path that matches nothing.

use platform::{HostId, Override, Platform};

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
        .with("p.toml", &changes)
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
    let platform = platform.with("p.toml", &changes).expect("a platform");
    assert!(
        platform
            .summary()
            .to_string()
            .contains("\n          L 5us, o 1500ns, g 1000ns, G 3ns/B, O 0ns/B\n")
    );
}

#[test]
fn what_matches_nothing_is_answered_with_the_nearest_names() {
    let check = |change: &str, message: &str| {
        assert_eq!(
            with(&[change]).expect_err("a mistake"),
            format!("{change:?}: {message}")
        );
    };
    check(
        "links.wam.latency=1s",
        "nothing in links is called \"wam\"; did you mean \"wan\"?",
    );
    check(
        "linkz.wan.latency=1s",
        "nothing in the platform file is called \"linkz\"; did you mean \"links\"?",
    );
    check(
        "links.q*.latency=1s",
        "nothing in links is called \"q*\"; there are wan, x.y",
    );
    check(
        "links.wan.latencie*=2",
        "nothing in links.wan is called \"latencie\"; did you mean \"latency\"?",
    );
    check(
        "links.wan.sharing*=2",
        "\"shared\" is no quantity that can be multiplied by 2",
    );
    check("links.wan.latency*=x", "expected a number above 0 after *=");
    check(
        "links.wan.latency",
        "expected PATH=VALUE or PATH*=FACTOR, such as links.wan.bandwidth=10Gbps",
    );
    check("links..latency=1", "a part of the path is empty");
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

/// Nobody has written the text that changes are made in, least of all beside an XML file.
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
        let platform = Platform::parse("p.xml", xml).expect("a platform");
        platform.with("p.xml", &changes).expect_err("a mistake")
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
        let changed = parsed(from).with("p.toml", &[change]).expect("a platform");
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

/// The model has no links: what takes their place must be said, not assumed.
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
        .with("p.toml", &[change])
        .expect("a platform");
    assert_eq!(again.network(), platform.network());
    // Without links nothing is ignored.
    let file = "version = 1\nhosts.a.speed = \"1Gf\"\nnetwork.model = \"loggops\"";
    Platform::parse("p.toml", file).expect("a platform");
}

/// The limits of the message layer stand in `[protocol]`, are told, are written back, and can be set from outside.
#[test]
fn limits_of_the_message_layer() {
    let text = "version = 1\n[protocol]\ncredits = 4\nreserved = 0\nunexpected = \"1MiB\"\ndirect = false\n\
                [hosts.a]\nspeed = \"1f\"\n";
    let platform = Platform::parse("p.toml", text).unwrap();
    let protocol = platform.protocol();
    assert_eq!((protocol.credits, protocol.reserved), (Some(4), Some(0)));
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

/// What the protocols cost stands there too.
#[test]
fn presets_and_costs_of_the_protocol() {
    let text = "version = 1\n[protocol]\npreset = \"explicit\"\ncontrol = \"48B\"\nsynchronous = \"acknowledged\"\n\
                ready = \"strict\"\ncarriage = \"stream\"\npacket_cost = \"100ns\"\nbatch_cost = \"1us\"\n[hosts.a]\nspeed = \"1f\"\n";
    let platform = Platform::parse("p.toml", text).unwrap();
    assert!(platform.protocol().is_explicit() && platform.protocol().is_limited());
    let shown = platform.summary().to_string();
    let line = "explicit control messages, 48B per control message, 100ns per packet, 1us per posting, \
                short synchronous messages acknowledged, ready sends strict, streams";
    assert!(shown.contains(line), "{shown}");
    let again = Platform::parse("again.toml", &platform.to_toml()).unwrap();
    assert_eq!(again.protocol(), platform.protocol());
    let text = "version = 1\n[protocol]\npreset = \"explicitt\"\nready = \"perhaps\"\ncarriage = 3\npacket_cost = \"4B\"\n\
                [hosts.a]\nspeed = \"1f\"\n";
    let report = Platform::parse("p.toml", text).unwrap_err().report(false);
    for part in [
        "unknown preset of the protocol \"explicitt\"",
        "did you mean \"explicit\"?",
        "expected \"lenient\" or \"strict\"",
        "the number 3",
        "p.toml:6:",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn wrong_limits_are_all_reported() {
    let text = "version = 1\n[protocol]\ncredits = 0\npacket = \"0B\"\nbuffer = 3\nreserved = -1\n[hosts.a]\nspeed = \"1f\"\n";
    let error = Platform::parse("p.toml", text).unwrap_err();
    let report = error.report(false);
    for part in [
        "zero is not possible here",
        "packets of no bytes",
        "unknown key \"buffer\"",
        "expected a whole number from 0",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn a_single_host_of_a_cluster_is_told_what_to_change_instead() {
    let text = "version = 1\n[clusters.nodes]\nhosts = \"node-[0-7]\"\nspeed = \"1Gf\"\n\
                bandwidth = \"1Gbps\"\nlatency = \"1us\"\n";
    for (change, message) in [
        (
            "hosts.node-3.speed=2Gf",
            "\"node-3\" belongs to the cluster \"nodes\", whose hosts and cables are all alike; \
             expected clusters.nodes.speed, or a [hosts.NAME] of its own for this host",
        ),
        (
            "links.node-3:up.bandwidth*=2",
            "expected clusters.nodes.bandwidth",
        ),
    ] {
        let platform = Platform::parse("p.toml", text).expect("a platform");
        let change = change.parse().expect("a change");
        let error = platform.with("p.toml", &[change]).expect_err("a mistake");
        assert!(error.to_string().contains(message), "{error}");
    }
}
