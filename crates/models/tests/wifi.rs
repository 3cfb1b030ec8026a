//! Promise: stations of a Wi-Fi zone share the time of the air; their dates equal the dates of
//! `SimGrid` 3.32 and of closed forms.
//!
//! The figures come from runs of 3.32 (`libsimgrid-dev` of Debian) on the platform of `cell`
//! written as XML with a `routing="Wifi"` zone, with `Link::set_host_wifi_rate(station 2, 1)`, 0
//! for all others, and one `Comm::sendto(from, to, 6.75e6)` per transfer at date 0;
//! `--cfg=network/model:CM02` where the test says so. The decay is the decay of 4.1, which 3.32
//! computes differently: closed forms.

use platform::profile::Change;
use platform::{LoadError, MemberView, Override, Platform, Sharing};
use sim_core::End;
use simgrid_import::import;
use testing::lab::Lab;

/// 32 stations of 54 Mbit/s, number 2 of 36; hosts w (1 ms) and far (3 ms) by wire.
fn cell(network: &str, wifi: &str) -> String {
    let stations: String = (0..32)
        .map(|at| {
            let level = if at == 2 { ", wifi_level = 1" } else { "" };
            format!("s{at} = {{ speed = \"1Gf\"{level} }}\n")
        })
        .collect();
    format!(
        r#"
version = 1
network = {{ {network} }}
[zones.cell]
routing = "wifi"
gateway = "ap"
routers = ["ap"]
wifi = {{ bandwidths = ["54Mbps", "36Mbps"]{wifi} }}
[zones.cell.hosts]
{stations}
[zones.wired]
gateway = "switch"
routers = ["switch"]
[zones.wired.hosts]
w = {{ speed = "1Gf" }}
far = {{ speed = "1Gf" }}
[zones.wired.links]
near = {{ bandwidth = "10GBps", latency = "1ms" }}
long = {{ bandwidth = "10GBps", latency = "2ms" }}
[[zones.wired.routes]]
from = "w"
to = "far"
links = ["long"]
[[zones.wired.routes]]
from = "switch"
to = "w"
links = ["near"]
[[zones.wired.routes]]
from = "switch"
to = "far"
links = ["near", "long"]
[links.door]
bandwidth = "10GBps"
latency = "0s"
[[routes]]
from = "cell"
to = "wired"
links = ["door"]
"#
    )
}

fn lab(network: &str) -> Lab {
    Lab::new(&cell(network, ""))
}

/// A second of a station of 54 Mbit/s alone.
const B: f64 = 54e6 / 8.0;

/// A model, transfers from and to hosts, and their ends.
type Row = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [(f64, &'static [u64])],
);

#[test]
fn dates_of_the_reference() {
    let rows: [Row; 11] = [
        ("lv08", &[("s0", "w")], &[(1.09548422680412, &[0])]),
        ("lv08", &[("w", "s0")], &[(1.09548422680412, &[0])]),
        ("lv08", &[("far", "s0")], &[(1.12150422680412, &[0])]),
        ("lv08", &[("s0", "s1")], &[(2.16494845360825, &[0])]),
        ("lv08", &[("s2", "w")], &[(1.63672134020619, &[0])]),
        ("lv08", &[("s0", "s2")], &[(2.70618556701031, &[0])]),
        // A slow station slows the other.
        (
            "lv08",
            &[("s0", "w"), ("s2", "w")],
            &[(2.71919556701031, &[0, 1])],
        ),
        (
            "lv08",
            &[("w", "s0"), ("s0", "w")],
            &[(2.17795845360825, &[0, 1])],
        ),
        ("cm02", &[("s0", "s1")], &[(2.1, &[0])]),
        ("cm02", &[("s0", "w"), ("s2", "w")], &[(2.626, &[0, 1])]),
        // Unfair by round-trip time: 1 ms against 3 ms.
        (
            "cm02",
            &[("s0", "w"), ("s1", "far")],
            &[(1.40033333333333, &[0]), (2.101, &[1])],
        ),
    ];
    for (model, transfers, ends) in rows {
        let mut lab = lab(&format!("model = \"{model}\""));
        for (from, to) in transfers {
            lab.send(from, to, B);
        }
        lab.expect(ends, 1e-13);
    }
}

#[test]
fn closed_forms_of_the_plain_model() {
    // No acknowledgements: all of the rate alone, half of it between stations, half for each of
    // two.
    let mut lab = lab("model = \"flow\"");
    lab.send("s0", "w", B);
    lab.expect(&[(1.001, &[0])], 1e-13);
    lab.send("s0", "s1", B);
    lab.expect(&[(3.001, &[1])], 1e-13);
    lab.send("s0", "w", B);
    lab.send("w", "s1", B);
    lab.expect(&[(5.002, &[2, 3])], 1e-13);
    // Equal rates x with x/r0 + x/r2 = 1: 0.4 of 54 Mbit/s; alone from then on.
    lab.send("s0", "w", B);
    lab.send("s2", "w", 2.0 * B);
    lab.expect(&[(5.003 + 2.5, &[4]), (5.003 + 2.5 + 1.5, &[5])], 1e-13);
    // By wire nobody needs the air, and a station reaches itself over its loopback.
    lab.send("w", "far", 1e10);
    lab.send("s3", "s3", 1e10);
    lab.send("s4", "w", B);
    lab.expect(&[(10.003, &[7]), (10.004, &[8]), (10.005, &[6])], 1e-12);
}

#[test]
fn the_air_adds_nothing_to_penalties_by_round_trip_time() {
    // In the reference the bandwidth of the air is 1 byte/s, so that the latency hardly matters.
    let mut reference = lab("model = \"lv08\", compat = \"simgrid-4.1\"");
    reference.send("s0", "w", B);
    reference.send("s1", "far", B);
    reference.expect(&[(2.1519383506196, &[0]), (2.17795845360825, &[1])], 1e-9);
    // Here it does not count: penalties of 1 ms and 3 ms, and 2.0537e-6 s twice or three times.
    let mut ours = lab("model = \"lv08\"");
    ours.send("s0", "w", B);
    ours.send("s1", "far", B);
    let wire = 20537.0 / 1e10;
    let (near, far) = (1e-3 + 2.0 * wire, 3e-3 + 3.0 * wire);
    let alone = 1.05 / 0.97;
    // The first has the air for itself until the second has paid, then its share by the inverse
    // penalties.
    let (first, second) = (13.01e-3, 39.03e-3);
    let share = far / (near + far);
    let end = second + (alone - (second - first)) / share;
    let last = first + 2.0 * alone;
    ours.expect(&[(end, &[0]), (last, &[1])], 1e-12);
}

#[test]
fn many_transfers_decay() {
    // The k-th part of the air for each, of a capacity that is less beyond 20.
    for (count, decay, part) in [
        (20, ", decay = true", 1.0),
        (21, ", decay = true", (5_678_270.0 - 5_424.0) / 5_678_270.0),
        (30, ", decay = true", (5_678_270.0 - 54_240.0) / 5_678_270.0),
        (30, ", decay = false", 1.0),
    ] {
        let mut lab = Lab::new(&cell("", decay));
        for at in 3..13 {
            lab.send(&format!("s{at}"), "w", B);
        }
        for at in 10..count {
            lab.send("w", &format!("s{}", at + 2), B);
        }
        let all: Vec<u64> = (0..count).collect();
        lab.expect(&[(0.001 + count as f64 / part, &all)], 1e-12);
    }
    // One ends and the others are 20: what is left of them continues without decay.
    let mut lab = Lab::new(&cell("", ", decay = true"));
    lab.send("s31", "w", B / 2.0);
    for at in 3..23 {
        lab.send(&format!("s{at}"), "w", B);
    }
    let part = (5_678_270.0 - 5_424.0) / 5_678_270.0;
    let first = 0.001 + 21.0 * 0.5 / part;
    let others: Vec<u64> = (1..21).collect();
    lab.expect(&[(first, &[0]), (first + 20.0 * 0.5, &others)], 1e-12);
    // A transfer between two stations has both on the air: 22 of them, with twice the need of each
    // byte.
    let mut both = Lab::new(&cell("", ", decay = true"));
    for at in 0..11 {
        both.send(&format!("s{}", 3 + 2 * at), &format!("s{}", 4 + 2 * at), B);
    }
    let two_beyond = (5_678_270.0 - 2.0 * 5_424.0) / 5_678_270.0;
    let all: Vec<u64> = (0..11).collect();
    both.expect(&[(22.0 / two_beyond, &all)], 1e-12);
    // And one that comes later finds the decayed air.
    for at in 3..24 {
        lab.send(&format!("s{at}"), "w", B);
    }
    let begin = first + 10.0;
    let all: Vec<u64> = (21..42).collect();
    lab.expect(&[(begin + 0.001 + 21.0 / part, &all)], 1e-12);
}

#[test]
fn the_air_fails_and_carries_parallel_tasks() {
    let mut lab = lab("model = \"flow\"");
    lab.send("s0", "w", B);
    lab.send("w", "far", 1e10);
    lab.wait_until(0.5);
    let air = lab.link("s1", "w");
    lab.change(Change::Bandwidth(air, 1.0));
    lab.change(Change::Link(air, false));
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((0.5, vec![(0, End::Failed)]))
    );
    lab.expect(&[(1.002, &[1])], 1e-12);
    lab.change(Change::Link(air, true));
    // From s0 to s1 over both sides, and to w: three times 1 / r of the air for each byte.
    lab.task(
        &["s0", "s1", "w"],
        &[],
        &[0.0, B, B, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    );
    lab.expect(&[(1.002 + 0.001 + 3.0, &[2])], 1e-12);
}

fn parse(text: &str) -> Platform {
    Platform::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn routes_levels_and_names() {
    let platform = parse(&cell("", ", name = \"AP1\""));
    let host = |name: &str| platform.host_by_name(name).expect("a host");
    let route = |from: &str, to: &str| {
        let route = platform.route(host(from), host(to)).expect("a route");
        let hops = route.hops.iter();
        let names: Vec<(String, f64)> = hops
            .map(|hop| (platform.link(hop.link).name, hop.bandwidth))
            .collect();
        (names, route.latency_s)
    };
    let hop = |name: &str, rate: f64| (name.to_owned(), rate);
    let (r0, r2) = (B, 36e6 / 8.0);
    assert_eq!(
        route("s2", "far"),
        (
            vec![
                hop("AP1", r2),
                hop("door", 1e10),
                hop("near", 1e10),
                hop("long", 1e10)
            ],
            0.003
        )
    );
    assert_eq!(
        route("w", "s0"),
        (
            vec![hop("near", 1e10), hop("door", 1e10), hop("AP1", r0)],
            0.001
        )
    );
    assert_eq!(
        route("s0", "s2"),
        (vec![hop("AP1", r0), hop("AP1", r2)], 0.0)
    );
    let air = platform
        .route(host("s0"), host("s1"))
        .expect("a route")
        .hops[0]
        .link;
    assert_eq!(platform.link(air).sharing, Sharing::Wifi);
    platform
        .check_routes(&platform.hosts().collect::<Vec<_>>())
        .expect("all are joined");
    let summary = platform.summary().to_string();
    let line = "wifi      cell, rates by level 0: 54Mbps, 1: 36Mbps\n";
    assert!(summary.contains(line), "{summary}");
    assert_eq!(parse(&platform.to_toml()).to_toml(), platform.to_toml());
}

#[test]
fn levels_and_rates_change_before_a_run() {
    let platform = parse(&cell("", ""));
    let host = |name: &str| platform.host_by_name(name).expect("a host");
    let r2 = 36e6 / 8.0;
    let change: Override = "zones.cell.hosts.s*.wifi_level=1"
        .parse()
        .expect("a change");
    let slow = platform
        .clone()
        .with_overrides("p.toml", &[change])
        .expect("a platform");
    assert_eq!(
        slow.route(host("s0"), host("s2")).expect("a route").hops[0].bandwidth,
        r2
    );
    let change: Override = "zones.cell.wifi.bandwidths.1*=2".parse().expect("a change");
    let fast = platform
        .clone()
        .with_overrides("p.toml", &[change])
        .expect("a platform");
    assert_eq!(
        fast.route(host("s2"), host("w")).expect("a route").hops[0].bandwidth,
        2.0 * r2
    );
}

#[test]
fn a_picture_joins_the_stations_with_the_access_point() {
    let platform = parse(&cell("", ""));
    let sketch = platform.sketch().expect("small enough");
    let MemberView::Zone(cell) = &sketch.members[0] else {
        panic!("{:?}", sketch.members[0]);
    };
    assert_eq!(cell.joins.len(), 32);
    assert_eq!(
        cell.members[cell.joins[0].to.expect("it")],
        MemberView::Router("ap".to_owned())
    );
}

#[test]
fn an_access_point_may_be_a_host_or_nothing() {
    let mut lab = Lab::new(
        r#"
        version = 1
        routing = "wifi"
        wifi = { bandwidths = ["54Mbps"] }
        hosts = { a = { speed = "1f" }, b = { speed = "1f" } }
        "#,
    );
    lab.send("a", "b", B);
    lab.expect(&[(2.0, &[0])], 1e-13);
    let mut lab = Lab::new(
        r#"
        version = 1
        [zones.cell]
        routing = "wifi"
        gateway = "a"
        wifi = { bandwidths = ["54Mbps"] }
        hosts = { a = { speed = "1f" }, b = { speed = "1f" } }
        "#,
    );
    lab.send("a", "b", B);
    lab.expect(&[(1.0, &[0])], 1e-13);
}

const WRONG: &str = r#"version = 1
[zones.one]
routing = "wifi"
gateway = "ap"
routers = ["ap"]
wifi = { bandwidths = ["54Mbps"], decai = true }
[zones.one.hosts]
a = { speed = "1f", wifi_level = 1 }
b = { speed = "1f", wifi_level = -1 }
c = { speed = "1f" }
[[zones.one.routes]]
from = "a"
to = "c"
links = ["wire"]
[zones.one.clusters.nodes]
hosts = "n[0-1]"
speed = "1f"
bandwidth = "1Bps"
latency = "0s"
[zones.one.zones.inner]
[zones.two]
routing = "wifi"
[zones.two.hosts.d]
speed = "1f"
[zones.three]
wifi = { bandwidths = [] }
[zones.four]
routing = "wifi"
wifi = { bandwidths = ["54Mb"] }
[zones.five]
gateway = "e"
hosts.e = { speed = "1f", wifi_level = 0 }
wifi = { bandwidths = ["1Mbps"] }
[links.wire]
bandwidth = "1Bps"
latency = "0s"
[[routes]]
from = "one"
gateway_from = "c"
to = "five"
links = ["wire"]
[[routes]]
from = "two"
to = "five"
links = ["wire"]
[[routes]]
from = "two"
gateway_from = "d"
to = "three"
gateway_to = "a"
links = ["wire"]
"#;

#[test]
fn mistakes_have_their_place() {
    let error = Platform::parse("p.toml", WRONG).expect_err("mistakes");
    let found = error.to_string();
    for part in [
        "p.toml:6:35: unknown key \"decai\"",
        "p.toml:8:34: host \"a\" has the level 1: expected one of the bandwidths of its zone, from 0 to 0",
        "p.toml:9:34: wrong type: the number -1: expected the number of a level, from 0",
        "p.toml:13:6: a route in a zone with routing \"wifi\": its members reach each other over the air",
        "p.toml:15:21: cluster \"nodes\" in a Wi-Fi zone",
        "p.toml:20:18: zone \"inner\" in a Wi-Fi zone",
        "p.toml:21:8: the zone \"two\" has no \"wifi\"",
        "p.toml:26:23: a Wi-Fi zone without rates",
        "p.toml:29:23: ",
        "p.toml:30:8: \"five\" with the air of a Wi-Fi zone has routing \"full\": expected routing = \"wifi\"",
        "p.toml:32:40: host \"e\" has a wifi_level, but no Wi-Fi",
        "p.toml:39:16: \"c\" is a member of a Wi-Fi zone: expected its access point, which is \"ap\"",
        "p.toml:43:8: missing gateway: zone \"two\"",
        "p.toml:48:16: \"d\" is a member of a Wi-Fi zone: expected its access point, which is its gateway, but there is none",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
}

const XML: &str = r#"<?xml version='1.0'?>
<platform version="4.1"><zone id="world" routing="Full">
<zone id="cell" routing="Wifi">
<prop id="access_point" value="ap"/>
<prop id="colour" value="red"/>
<host id="s0" speed="1Gf"/><host id="s1" speed="1Gf"/>
<link id="AP1" sharing_policy="WIFI" bandwidth="54Mbps,36Mbps" latency="0ms"/>
<router id="ap"/></zone>
<zone id="wired" routing="Full"><host id="w" speed="1Gf"/></zone>
<link id="door" bandwidth="10GBps" latency="1ms"/>
<zoneRoute src="cell" dst="wired" gw_src="ap" gw_dst="w"><link_ctn id="door"/></zoneRoute>
</zone></platform>"#;

#[test]
fn cells_come_from_xml() {
    let imported = import("p.xml", XML).expect("a platform");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        ["p.xml:5: the property \"colour\" means nothing to a run"]
    );
    let mut lab = Lab::new(&imported.toml);
    lab.send("s0", "w", B);
    // Without a model in the file it is LV08.
    let alone = 13.01 * 0.001 + 1.05 / 0.97;
    lab.expect(&[(alone, &[0])], 1e-13);
    lab.send("s0", "s1", B);
    lab.expect(&[(alone + 2.1 / 0.97, &[1])], 1e-13);
    let link = lab.link("s0", "w");
    assert_eq!(lab.platform().link(link).name, "AP1");
    for (from, to, part) in [
        (
            "latency=\"0ms\"",
            "latency=\"3ms\"",
            "latency=\"3ms\" of a Wi-Fi link is not supported",
        ),
        ("<prop id=\"access_point\" value=\"ap\"/>", "", ""),
    ] {
        let imported = import("p.xml", &XML.replace(from, to)).expect("a platform");
        let notes = format!("{:?}", imported.notes);
        assert!(
            notes.contains(&part.replace('"', "\\\"")),
            "{part} in {notes}"
        );
    }
    for (from, to, part) in [
        (
            "sharing_policy=\"WIFI\"",
            "",
            "p.xml:3:1: a Wi-Fi <zone> without a Wi-Fi link",
        ),
        ("54Mbps,36Mbps", "54Mbps,fast", "p.xml:7:"),
        (
            " bandwidth=\"54Mbps,36Mbps\"",
            "",
            "<link> has no \"bandwidth\"",
        ),
        (
            "<router id=\"ap\"/>",
            "<link id=\"b\" sharing_policy=\"WIFI\" bandwidth=\"1Bps\"/>",
            "p.xml:8:1: a second Wi-Fi link in one zone",
        ),
    ] {
        let error = import("p.xml", &XML.replace(from, to)).expect_err("a mistake");
        let found = LoadError::Diagnostics(error).to_string();
        assert!(found.contains(part), "{part} in {found}");
    }
}
