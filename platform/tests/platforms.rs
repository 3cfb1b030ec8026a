//! Promise: the platform files that come with the project load, have sources, and print back as the
//! same platform.

use std::fs;
use std::path::PathBuf;

use platform::{HostId, LinkId, NetworkModel, NetworkParameters, Platform};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../platforms")
}

fn load(name: &str) -> Platform {
    Platform::load(folder().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// The bits of everything that a model can ask for; of very large platforms a sample.
fn facts(platform: &Platform) -> String {
    use std::fmt::Write as _;
    let mut facts = format!("{}\n", platform.summary());
    let step = platform.host_count().div_ceil(128) as usize;
    for from in platform.hosts().step_by(step) {
        let name = platform.host_name(from);
        assert_eq!(platform.host_by_name(&name), Some(from));
        writeln!(
            facts,
            "{name} {} {}",
            platform.speed(from),
            platform.cores(from)
        )
        .expect("text");
        for to in platform.hosts().step_by(step) {
            let route = platform.route(from, to);
            writeln!(facts, "{route:?}").expect("text");
        }
    }
    facts
}

#[test]
fn every_file_loads_has_sources_and_round_trips() {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the folder of platforms")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 3);
    for file in files {
        let text = fs::read_to_string(&file).expect("text");
        assert!(
            text.contains("# Sources"),
            "{} has no sources",
            file.display()
        );
        let platform = Platform::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let printed = platform.to_toml();
        let again = Platform::parse("printed.toml", &printed)
            .unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(facts(&platform), facts(&again));
        assert_eq!(again.to_toml(), printed);
        let all: Vec<HostId> = platform.hosts().collect();
        platform.check_routes(&all).expect("all hosts are joined");
    }
}

#[test]
fn every_preset_prints_all_its_parameters_and_reads_back() {
    for &model in NetworkModel::ALL {
        let parse = |network: &str| {
            let text = format!("version = 1\nhosts.a.speed = \"1Gf\"\n[network]\n{network}\n");
            Platform::parse("preset.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
        };
        let platform = parse(&format!("model = \"{}\"", model.name()));
        assert_eq!(platform.network(), &NetworkParameters::preset(model));
        let printed = platform.to_toml();
        let again = Platform::parse("printed.toml", &printed).expect("no mistake");
        assert_eq!(again.network(), platform.network());
        assert_eq!(again.to_toml(), printed);
    }
    // Each parameter replaces that of the preset, and is shown.
    let text = r#"
        version = 1
        hosts.a.speed = "1Gf"
        [network]
        model = "ib"
        compat = "simgrid-4.1"
        latency_factor = [{ above = "1kB", factor = 2 }]
        bandwidth_factor = 0.5
        rtt_penalty = true
        weight_s = "1kB"
        tcp_gamma = "1MiB"
        crosstraffic = 0.1
        loopback = { bandwidth = "1GBps", latency = "1us" }
        envelope = "64B"
        async_small_threshold = "1KiB"
        os = [{ above = "0B", time = "1us", per_byte = "10ps" }, { above = "1kB", time = "2us", per_byte = "0s" }]
        or = [{ above = "8B", time = "3us", per_byte = "1ns" }]
        ib_penalty_factors = { be = 1, bs = 2.5, ys = 3 }
        "#;
    let platform = Platform::parse("all.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.network().envelope_bytes(), 64);
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("no mistake");
    assert_eq!(again.network(), platform.network());
    assert_eq!(
        platform
            .summary()
            .to_string()
            .lines()
            .skip(3)
            .collect::<Vec<_>>()[..],
        [
            "network   ib: cm02 with penalties of concurrent transfers on InfiniBand",
            "          with the quirks of SimGrid 4.1",
            "          penalties be 1, bs 2.5, ys 3",
            "          latency x 2 above 1kB, 1 below",
            "          bandwidth x 0.5",
            "          unfair by latency + 1kB / bandwidth",
            "          window 1MiB",
            "          0.1 of each rate on the way back",
            "          eager messages from 1KiB on leave when they are received",
            "          os 1us + 10ps/B above 0B, 2us + 0s/B above 1kB, 0 below",
            "          or 3us + 1ns/B above 8B, 0 below",
            "          messages grow by 64B",
            "protocol  eager below 64KiB, then rendezvous",
        ]
    );
}

#[test]
fn the_cluster_is_what_its_comments_say() {
    let platform = load("cluster.toml");
    assert_eq!(platform.host_count(), 64);
    assert_eq!(platform.host_name(HostId(63)), "node-63");
    let route = platform.route(HostId(0), HostId(63)).expect("a route");
    assert_eq!(route.latency_s, 1.25e-6);
    let names: Vec<String> = route
        .hops
        .iter()
        .map(|hop| platform.link(hop.link).name)
        .collect();
    assert_eq!(names, ["node-0:up", "node-63:down"]);
    assert!(route.hops.iter().all(|hop| hop.bandwidth == 12.5e9));
    assert_eq!(platform.protocol().eager_threshold.bytes(), 65_536);
    assert!(platform.protocol().copy_bandwidth.is_none());
    assert_eq!(
        platform.summary().to_string(),
        "name      64 nodes, InfiniBand EDR\n\
         hosts     64 (0 single, 64 in clusters)\n\
         cluster   nodes: node-[0-63], 64 hosts of 64 x 36Gf, links of 100Gbps and 625ns, no backbone\n\
         links     64\n\
         routes    0 declared; cluster routes are computed\n\
         network   flow: latency + size / bandwidth, max-min fair sharing\n\
         protocol  eager below 64KiB, then rendezvous"
    );
}

#[test]
fn the_grid_leads_over_both_backbones_and_back_on_the_other_direction() {
    let platform = load("grid.toml");
    let host = |name: &str| platform.host_by_name(name).expect("a host");
    let names = |from: &str, to: &str| -> Vec<String> {
        let route = platform.route(host(from), host(to)).expect("a route");
        let hops = route.hops.iter();
        hops.map(|hop| platform.link(hop.link).name).collect()
    };
    assert_eq!(
        names("lyon-3", "oslo-15"),
        [
            "lyon-3:up",
            "lyon:backbone",
            "wan:up",
            "oslo:backbone",
            "oslo-15:down"
        ]
    );
    assert_eq!(
        names("oslo-15", "lyon-3"),
        [
            "oslo-15:up",
            "oslo:backbone",
            "wan:down",
            "lyon:backbone",
            "lyon-3:down"
        ]
    );
    assert_eq!(
        names("lyon-3", "lyon-4"),
        ["lyon-3:up", "lyon:backbone", "lyon-4:down"]
    );
    assert_eq!(names("lyon-3", "lyon-3"), ["loopback"]);
}

#[test]
fn every_link_number_has_a_name() {
    for file in ["cluster.toml", "two-hosts.toml", "grid.toml"] {
        let platform = load(file);
        for number in 0..platform.link_id_end() {
            assert!(!platform.link(LinkId(number)).name.is_empty());
        }
    }
}

#[test]
fn a_missing_route_is_found_up_front() {
    let platform = Platform::parse(
        "p.toml",
        r#"
        version = 1
        [hosts]
        front = { speed = "1Gf" }
        [links.door]
        bandwidth = "1Gbps"
        latency = "1us"
        [clusters.one]
        hosts = "a[0-999999]"
        speed = "1Gf"
        bandwidth = "1Gbps"
        latency = "1us"
        loopback = { bandwidth = "10GBps", latency = "100ns" }
        [clusters.two]
        hosts = "b[0-999999]"
        speed = "1Gf"
        bandwidth = "1Gbps"
        latency = "1us"
        [[routes]]
        from = "front"
        to = "one"
        links = ["door"]
        [[routes]]
        from = "two"
        to = "one"
        links = ["door"]
        symmetric = false
        "#,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.host_count(), 2_000_001);
    let first: Vec<HostId> = (0..1_000_001).map(HostId).collect();
    platform
        .check_routes(&first)
        .expect("front and one are joined");
    let all: Vec<HostId> = platform.hosts().collect();
    assert_eq!(
        platform
            .check_routes(&all)
            .expect_err("no route")
            .to_string(),
        "no route from host \"front\" to host \"b0\": add [[routes]] with from = \"front\", \
         to = \"two\""
    );
    let (a, b) = (HostId(7), HostId(1_000_007));
    assert!(platform.route(b, a).is_ok());
    assert!(platform.route(a, b).is_err());
    let to_itself = platform.route(a, a).expect("a loopback");
    assert_eq!(platform.link(to_itself.hops[0].link).name, "a6:loopback");
    let last = platform.host_by_name("b999999").expect("a host");
    assert_eq!(last, HostId(2_000_000));
}

#[test]
fn hosts_around_a_switch_and_a_declared_loopback() {
    let platform = Platform::parse(
        "p.toml",
        r#"
        version = 1
        hosts = { a = { speed = "1f" }, b = { speed = "1f" } }
        [links]
        a = { bandwidth = "1Bps", latency = "1s", sharing = "split-duplex" }
        b = { bandwidth = "2Bps", latency = "2s", sharing = "split-duplex" }
        memory = { bandwidth = "9Bps", latency = "0s" }
        [[routes]]
        from = "a"
        to = "b"
        links = ["a", { link = "b", direction = "down" }]
        [[routes]]
        from = "a"
        to = "a"
        links = ["memory"]
        "#,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let names = |from, to| -> Vec<String> {
        let route = platform.route(HostId(from), HostId(to)).expect("a route");
        let hops = route.hops.iter();
        hops.map(|hop| platform.link(hop.link).name).collect()
    };
    assert_eq!(names(0, 1), ["a:up", "b:down"]);
    assert_eq!(names(1, 0), ["b:up", "a:down"]);
    assert_eq!(names(0, 0), ["memory"]);
    assert_eq!(names(1, 1), ["loopback"]);
    let printed = platform.to_toml();
    let again = Platform::parse("p.toml", &printed).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(facts(&again), facts(&platform));
}

#[test]
fn copies_may_take_time() {
    let read = |value: &str| {
        let text =
            format!("version = 1\nhosts.a.speed = \"1Gf\"\n[protocol]\ncopy_bandwidth = {value}\n");
        Platform::parse("copies.toml", &text)
    };
    let platform = read("\"4GBps\"").expect("a platform");
    let rate = platform.protocol().copy_bandwidth.as_ref();
    assert_eq!(rate.map(|rate| rate.bytes_per_s()), Some(4e9));
    let summary = platform.summary().to_string();
    assert!(
        summary.contains("then rendezvous, copies at 4GBps"),
        "{summary}"
    );
    let mistakes = read("\"0GBps\"")
        .expect_err("nothing would ever be copied")
        .to_string();
    assert!(mistakes.starts_with("copies.toml:4:18: zero"), "{mistakes}");
}
