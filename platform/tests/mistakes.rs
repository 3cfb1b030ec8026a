//! Promise: a mistake in a platform file is answered with its place, what was found and what was
//! expected, all at once.

use std::fs;
use std::path::PathBuf;

use platform::{LoadError, Platform};

/// Two hosts and a link, without a mistake.
const GOOD: &str = r#"version = 1
[hosts.alice]
speed = "16Gf"
[hosts.bob]
speed = "16Gf"
[links.wan]
bandwidth = "10Gbps"
latency = "20ms"
[[routes]]
from = "alice"
to = "bob"
links = ["wan"]
"#;

fn error(text: &str) -> LoadError {
    Platform::parse("p.toml", text).expect_err("a mistake")
}

/// Asserts that replacing `from` by `to` in the good file gives exactly `message`.
#[track_caller]
fn check(from: &str, to: &str, message: &str) {
    assert!(GOOD.contains(from));
    assert_eq!(error(&GOOD.replacen(from, to, 1)).to_string(), message);
}

#[test]
fn the_good_file_is_good() {
    Platform::parse("p.toml", GOOD).expect("no mistake");
}

#[test]
fn files_that_cannot_be_read() {
    let message = |path: &PathBuf| Platform::load(path).expect_err("a mistake").to_string();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let missing = folder.join("missing.toml");
    assert_eq!(
        message(&missing),
        format!("cannot read platform file {missing:?}: there is no such file")
    );
    assert_eq!(
        message(&folder),
        format!("cannot read platform file {folder:?}: it is a directory; name a .toml file in it")
    );
    let binary = folder.join("binary.toml");
    fs::write(&binary, b"version = 1\nname = \"\xff\"\n").expect("a temporary file");
    assert_eq!(
        message(&binary),
        format!(
            "cannot read platform file {binary:?}: it is not UTF-8 text: byte 0xff at line 2, column 9"
        )
    );
}

#[test]
fn syntax() {
    check(
        "speed = \"16Gf\"",
        "speed = ",
        "p.toml:3:9: TOML syntax: string values must be quoted, expected literal string: unexpected end of line",
    );
    check(
        "[hosts.bob]",
        "[hosts.alice]",
        "p.toml:4:8: duplicate host \"alice\": it is already declared above",
    );
    check(
        "latency",
        "bandwidth",
        "p.toml:8:1: duplicate key \"bandwidth\": it is already declared above",
    );
}

#[test]
fn versions() {
    check(
        "version = 1\n",
        "",
        "p.toml:1:1: the platform file has no \"version\": expected version = 1 before the first table; \
         add: version = 1",
    );
    check(
        "version = 1",
        "version = 2",
        "p.toml:1:11: unknown version 2: expected 1",
    );
    check(
        "version = 1",
        "version = \"1\"",
        "p.toml:1:11: wrong type: the string \"1\": expected the number 1",
    );
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = Platform::load("/dev/zero")
        .expect_err("not a platform")
        .to_string();
    let expected =
        "\"/dev/zero\": it has more than 64 MiB: expected a platform file of at most 64 MiB";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn keys() {
    check(
        "bandwidth",
        "bandwith",
        "p.toml:6:8: the link \"wan\" has no \"bandwidth\": expected the key \"bandwidth\" in it; \
         add: bandwidth = \"10Gbps\"\n\
         p.toml:7:1: unknown key \"bandwith\": the link \"wan\" can have the keys bandwidth, latency, sharing, \
         bandwidth_profile, latency_profile, state_profile; did you mean \"bandwidth\"?",
    );
    check(
        "version = 1",
        "version = 1\nlink = 3",
        "p.toml:2:1: unknown key \"link\": the platform file can have the keys version, name, network, protocol, \
         connection, collectives, noise, routing, wifi, gateway, to_itself, routers, hosts, links, clusters, zones, routes; did you mean \"links\"?",
    );
    check(
        "version = 1",
        "version = 1\nnetwork = { model = \"lv80\" }",
        "p.toml:2:21: unknown network model \"lv80\": expected \"flow\" or \"raw\" or \"cm02\" or \"lv08\" or \"smpi\" or \
         \"ib\" or \"constant\" or \"loggops\"; did you mean \"lv08\"?",
    );
}

#[test]
fn parameters_of_network_models() {
    let check = |network: &str, message: &str| {
        let text = format!("version = 1\nnetwork = {{ {network} }}");
        check("version = 1", &text, &format!("p.toml:2:{message}"));
    };
    check(
        "model = \"flow\", duration = \"1s\"",
        "40: key \"duration\" in the network table of model \"flow\": this model has no such parameter",
    );
    check(
        "model = \"cm02\", gap = \"1us\"",
        "35: key \"gap\" in the network table of model \"cm02\": this model has no such parameter",
    );
    check(
        "os = 3",
        "18: wrong type: the number 3: expected an array of { above = SIZE, time = DURATION, per_byte = DURATION }",
    );
    check(
        "crosstraffic = 2",
        "28: wrong type: the number 2: expected true, false, or the share of the acknowledgements, a number from 0 to 1",
    );
    check(
        "latency_factor = -1",
        "30: wrong type: the number -1: expected a number from 0 to 1e6, without quotes",
    );
    check(
        "bandwidth_factor = 0",
        "32: wrong type: the number 0: expected a number above 0 and up to 1e6, without quotes",
    );
    check(
        "bandwidth_factor = [{ above = \"1kB\", factor = 0 }]",
        "59: wrong type: the number 0: expected a number above 0 and up to 1e6, without quotes",
    );
    check(
        "bandwidth_factor = \"0.97\"",
        "32: wrong type: the string \"0.97\": expected a number, or an array of { above = SIZE, factor = NUMBER }",
    );
    check(
        "latency_factor = [{ above = \"1kB\", factor = 2 }, { above = \"1kB\", factor = 3 }]",
        "62: step 1kB after step 1kB: expected increasing sizes",
    );
    check(
        "model = \"ib\", ib_penalty_factors = { be = 1, bs = 1 }",
        "48: the ib_penalty_factors has no \"ys\": expected the key \"ys\" in it; add: ys = 1.35",
    );
    check(
        "compat = \"simgrid\"",
        "22: unknown compat \"simgrid\": expected \"simgrid-4.1\"",
    );
}

#[test]
fn quantities() {
    const EXPECTED: &str =
        "expected a bandwidth, such as \"100Gbps\" (bits/s) or \"12.5GBps\" (bytes/s)";
    let bandwidth = |value: &str, message: &str| {
        check("\"10Gbps\"", value, &format!("p.toml:7:13: {message}"));
    };
    bandwidth(
        "\"100Gbs\"",
        &format!("unknown unit \"Gbs\" in \"100Gbs\": {EXPECTED}; did you mean \"100Gbps\"?"),
    );
    bandwidth(
        "\"-1Gbps\"",
        &format!("negative value \"-1Gbps\": {EXPECTED}"),
    );
    bandwidth(
        "\"inf Gbps\"",
        &format!("infinite or undefined value \"inf Gbps\": {EXPECTED}"),
    );
    bandwidth(
        "\"nanGbps\"",
        &format!("infinite or undefined value \"nanGbps\": {EXPECTED}"),
    );
    bandwidth(
        "\"0Gbps\"",
        &format!("zero is not allowed: \"0Gbps\": {EXPECTED}"),
    );
    bandwidth(
        "\"1e-20bps\"",
        &format!("time overflow (beyond 1e20 s) with \"1e-20bps\": {EXPECTED}"),
    );
    bandwidth("\"10\"", &format!("no unit in \"10\": {EXPECTED}"));
    bandwidth(
        "1e9",
        "wrong type: the number 1e9: expected a bandwidth in quotes, such as \"100Gbps\" (bits/s) or \
         \"12.5GBps\" (bytes/s)",
    );
    check(
        "\"20ms\"",
        "20",
        "p.toml:8:11: wrong type: the number 20: expected a duration in quotes, such as \"1.3us\", \"500ns\", \
         \"20ms\" or \"1s\"",
    );
    check(
        "\"16Gf\"",
        "\"16Gf\"\ncores = 0",
        "p.toml:4:9: zero is not allowed: expected a whole number, at least 1, without quotes",
    );
}

#[test]
fn words() {
    check(
        "latency = \"20ms\"",
        "latency = \"20ms\"\nsharing = \"fat-pipe\"",
        "p.toml:9:11: unknown sharing \"fat-pipe\": expected \"shared\" or \"split-duplex\" or \"fatpipe\"; \
         did you mean \"fatpipe\"?",
    );
}

#[test]
fn routes() {
    check(
        "to = \"bob\"",
        "to = \"bobo\"",
        "p.toml:11:6: unknown host or cluster \"bobo\": expected the name of a [hosts.NAME] or [clusters.NAME] \
         table; did you mean \"bob\"?",
    );
    check(
        "links = [\"wan\"]",
        "links = [\"wam\"]",
        "p.toml:12:10: unknown link \"wam\": expected the name of a [links.NAME] table; did you mean \"wan\"?",
    );
    check(
        "links = [\"wan\"]",
        "links = []",
        "p.toml:12:9: a route without links: expected an array of link names, such as [\"wan\"]",
    );
    check(
        "links = [\"wan\"]",
        "links = [{ link = \"wan\", direction = \"down\" }]",
        "p.toml:12:19: link \"wan\" has no directions: only a link with sharing = \"split-duplex\" has a direction \
         \"down\"",
    );
    check(
        "links = [\"wan\"]",
        "links = [\"wan\"]\n[[routes]]\nfrom = \"bob\"\nto = \"alice\"\nlinks = [\"wan\"]",
        "p.toml:14:8: duplicate route from \"bob\" to \"alice\": line 10 already declares it; \
         routes are symmetric unless symmetric = false",
    );
}

const CLUSTER: &str = "\nspeed = \"1Gf\"\nbandwidth = \"1Gbps\"\nlatency = \"1us\"\n";

#[test]
fn clusters() {
    let with = |hosts: &str, more: &str, message: &str| {
        let cluster = format!("[clusters.nodes]\nhosts = \"{hosts}\"{CLUSTER}{more}");
        assert_eq!(error(&format!("{GOOD}{cluster}")).to_string(), message);
    };
    let pattern = |hosts: &str, message: &str| {
        const EXPECTED: &str =
            "expected names such as \"node-[0-63]\", \"n[0-3,8-11]\" or \"node-[00-63]\"";
        let (problem, help) = message.split_once(';').unwrap_or((message, ""));
        let help = if help.is_empty() {
            String::new()
        } else {
            format!(";{help}")
        };
        with(
            hosts,
            "",
            &format!("p.toml:14:9: {problem}: {hosts:?}: {EXPECTED}{help}"),
        );
    };
    pattern(
        "node-[5-2]",
        "descending range \"5-2\"; did you mean \"2-5\"?",
    );
    pattern(
        "1000000000",
        "a number without a range, which names one host",
    );
    pattern("node-[0-2", "unclosed bracket in the host pattern");
    pattern("node-[0-x]", "\"0-x\" is not a range of numbers");
    pattern(
        "node-[0-99999999999]",
        "the pattern names more than 67108864 hosts",
    );
    pattern("n[0-3,2]", "duplicate host \"n2\" in the pattern");
    with(
        "[1-3],alice",
        "[clusters.other]\nhosts = \"alice\"\nspeed = \"1Gf\"\nbandwidth = \"1Gbps\"\nlatency = \"1us\"\n",
        "p.toml:18:11: duplicate host \"alice\": the host is in this cluster and in [hosts.alice]",
    );
    with(
        "n[0-9]",
        "[clusters.other]\nhosts = \"n[09-10]\"\nspeed = \"1Gf\"\nbandwidth = \"1Gbps\"\nlatency = \"1us\"\n\
         [clusters.third]\nhosts = \"n[8-10]\"\nspeed = \"1Gf\"\nbandwidth = \"1Gbps\"\nlatency = \"1us\"\n",
        "p.toml:23:11: duplicate host \"n9\": the host is in this cluster and in cluster \"nodes\"\n\
         p.toml:23:11: duplicate host \"n10\": the host is in this cluster and in cluster \"other\"",
    );
    with(
        "n[0-9]",
        "[[routes]]\nfrom = \"alice\"\nto = \"n3\"\nlinks = [\"wan\"]\n\
         [[routes]]\nfrom = \"nodes\"\nto = \"nodes\"\nlinks = [\"wan\"]\n",
        "p.toml:20:6: \"n3\" is a host of cluster \"nodes\": routes join single hosts and whole clusters; \
         write \"nodes\"\n\
         p.toml:24:6: a route from cluster \"nodes\" to itself: the hosts of a cluster reach each other over its own \
         links",
    );
    with(
        "n[0-9]",
        "backbone = { bandwidth = \"1Gbps\", latency = \"1us\", sharing = \"split-duplex\" }",
        "p.toml:18:62: a backbone has no directions: \"split-duplex\": expected \"shared\" or \"fatpipe\"",
    );
}

#[test]
fn a_pattern_where_one_host_is_meant() {
    check(
        "[hosts.bob]",
        "[hosts.\"b[0-3]\"]",
        "p.toml:4:8: host name contains brackets: \"b[0-3]\": expected a name without brackets; \
         for many equal hosts, write [clusters.NAME] with hosts = \"node-[0-63]\"\n\
         p.toml:11:6: unknown host or cluster \"bob\": expected the name of a [hosts.NAME] or [clusters.NAME] table",
    );
}

#[test]
fn an_empty_platform() {
    assert_eq!(
        error("version = 1\n").to_string(),
        "p.toml:1:1: the platform has no hosts: expected [hosts.NAME] or [clusters.NAME] tables"
    );
    assert!(
        error("")
            .report(false)
            .contains("the platform has no hosts")
    );
}

#[test]
fn all_mistakes_come_at_once_with_their_lines() {
    let text = r#"version = 1

[hosts.alice]
speed = "16Gflip"

[links.wan]
bandwidth = 10
latency = "20ms"

[[routes]]
from = "alice"
to = "alce"
links = ["wan"]
"#;
    let report = error(text).report(false);
    let wanted = r#"error: unknown unit "Gflip" in "16Gflip"
  ╭▸ p.toml:4:9
  │
3 │ [hosts.alice]
4 │ speed = "16Gflip"
  │         ━━━━━━━━━ expected a speed, such as "16Gf" (flop/s)
  │
  ╰ help: did you mean "16Gflops"?
error: wrong type: the number 10
  ╭▸ p.toml:7:13
  │
6 │ [links.wan]
7 │ bandwidth = 10
  │             ━━ expected a bandwidth in quotes, such as "100Gbps" (bits/s) or "12.5GBps" (bytes/s)
8 │ latency = "20ms"
  ╰╴
error: unknown host or cluster "alce"
   ╭▸ p.toml:12:6
   │
11 │ from = "alice"
12 │ to = "alce"
   │      ━━━━━━ expected the name of a [hosts.NAME] or [clusters.NAME] table
13 │ links = ["wan"]
   │
   ╰ help: did you mean "alice"?
3 mistakes
"#;
    assert_eq!(report, wanted);
    assert!(!report.contains('\u{1b}'));
    assert!(error(text).report(true).contains('\u{1b}'));
}

#[test]
fn parameters_of_queue_pairs() {
    let wrong = |network: &str| {
        let text = GOOD.replacen("[hosts.alice]", &format!("{network}\n[hosts.alice]"), 1);
        error(&text).to_string()
    };
    for (network, problem, expected) in [
        (
            "[network]\ndevice = \"rdma\"",
            "unknown device \"rdma\"",
            "expected \"verbs\"",
        ),
        (
            "[network]\nverbs.mtu = \"256B\"",
            "table \"verbs\" in a network table without device = \"verbs\"",
            "expected the device",
        ),
        (
            "[network]\ndevice = \"verbs\"\nverbs.mtu = \"1000B\"",
            "mtu = 1000B",
            "expected 256B, 512B, 1024B, 2048B or 4096B",
        ),
        (
            "[network]\ndevice = \"verbs\"\nverbs.buffer = \"4KiB\"",
            "buffer = 4KiB for packets of 4096B",
            "expected at least 4224 bytes",
        ),
        (
            "[network]\ndevice = \"verbs\"\nverbs.doorbel = \"1us\"",
            "unknown key \"doorbel\"",
            "doorbell",
        ),
        (
            "[network]\ndevice = \"verbs\"\nverbs.doorbell = \"1GBps\"",
            "1GBps",
            "expected",
        ),
    ] {
        let message = wrong(network);
        assert!(message.contains(problem), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}
