//! Promise: profiles and power states mean the same inline, in a file and in SimGrid's XML, give
//! the dates of SimGrid, and are kept in the copy of a platform.
//!
//! The dates marked as SimGrid's were printed by programs against SimGrid 3.32 with
//! `exec_init(..)->set_host(..)` and `Comm::sendto_async` at the dates below, on platforms with the
//! same hosts, links and profiles.

use std::fs;
use std::path::PathBuf;

use platform::{Override, Platform};
use sim_core::{Control, Controllable, End, Span};
use testing::lab::{Lab, UNLIMITED};

/// A folder of files for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        for (name, text) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        Self(path)
    }

    fn load(&self, name: &str) -> Platform {
        let path = self.0.join(name);
        let platform = match name.ends_with(".xml") {
            true => simgrid_import::load(path),
            false => Platform::load(path),
        };
        platform.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// One host with a changing speed, and a link with changing bandwidth and latency; one way back has
/// a second link.
const CHANGING: &str = r#"<platform version="4.1"><zone id="w" routing="Full">
<host id="j" speed="25Mf" speed_file="p/speed"/>
<host id="f" speed="25Mf"/>
<link id="1" bandwidth="1MBps" latency="10ms" bandwidth_file="p/bandwidth" latency_file="p/latency"/>
<link id="2" bandwidth="1MBps" latency="10ms"/>
<route src="f" dst="j" symmetrical="NO"><link_ctn id="1"/></route>
<route src="j" dst="f" symmetrical="NO"><link_ctn id="1"/><link_ctn id="2"/></route>
</zone></platform>"#;
const SPEED: &str = "0 0.5\n2 1.0\n4 0.7\n6 0.1\n8 4\nLOOPAFTER 10";
const BANDWIDTH: &str = "2 2000000\n4 3000000\nLOOPAFTER 6\n";
const LATENCY: &str = "1 0.003\n3 0.015\nLOOPAFTER 6\n";

fn changing(name: &str) -> Folder {
    let files = [
        ("w.xml", CHANGING),
        ("p/speed", SPEED),
        ("p/bandwidth", BANDWIDTH),
        ("p/latency", LATENCY),
    ];
    Folder::new(name, &files)
}

fn model(platform: Platform, changes: &[&str]) -> Lab {
    let changes: Vec<Override> = changes
        .iter()
        .map(|text| text.parse().expect("a change"))
        .collect();
    let platform = platform.with_overrides("w.xml", &changes);
    Lab::from_platform(platform.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn computations_under_the_speed_of_an_xml_file() {
    // SimGrid's dates.
    let folder = changing("speed");
    let mut lab = model(folder.load("w.xml"), &[]);
    lab.exec("j", 100e6, 1.0, UNLIMITED);
    lab.wait_until(5.0);
    lab.exec("j", 25e6, 1.0, UNLIMITED);
    lab.expect_first(&[(5.85714285714286, &[0]), (8.1, &[1])], 1e-13);
    lab.wait_until(17.0);
    lab.exec("j", 40e6, 1.0, UNLIMITED);
    lab.expect(&[(17.4, &[2])], 1e-13);
}

#[test]
fn computations_under_a_speed_that_falls_and_returns() {
    // The dates of SimGrid's example of a host whose speed is 1.0, 0.8 and 0.4 of 10 flop/s, again
    // from 30 s on.
    let files = [
        (
            "w.xml",
            r#"<platform version="4.1"><zone id="w" routing="Full">
            <host id="Cpu A" speed="10f"/><host id="Cpu B" speed="10f" speed_file="b"/></zone></platform>"#,
        ),
        ("b", "0 1.0\n10 0.8\n20 0.4\nLOOPAFTER 10\n"),
    ];
    let folder = Folder::new("falling", &files);
    for (start, flops, end) in [
        (0.0, 40.0, 4.0),
        (10.0, 40.0, 15.0),
        (20.0, 40.0, 30.0),
        (0.0, 220.0, 30.0),
    ] {
        let mut lab = Lab::from_platform(folder.load("w.xml"));
        lab.wait_until(start);
        lab.exec("Cpu B", flops, 1.0, UNLIMITED);
        lab.expect(&[(end, &[0])], 1e-12);
    }
}

#[test]
fn transfers_under_the_profiles_of_an_xml_file() {
    // SimGrid's dates. The quirk is the limit that a transfer keeps from its start.
    let folder = changing("links");
    let rows = [
        ("f", "j", 0.0, 1e6, 1.21257422680412, 1.06),
        ("f", "j", 0.0, 1e7, 10.5284212076583, 10.1047619047619),
        ("j", "f", 0.5, 1e7, 11.1285164457536, 10.5904761904762),
        ("f", "j", 3.5, 3e7, 19.268822287678, 18.6333333333333),
        ("f", "j", 1.0, 0.0, 1.03903, 1.003),
        ("f", "j", 2.0, 1e6, 2.58026711340206, 2.528),
    ];
    for (from, to, start, bytes, lv08, cm02) in rows {
        for (name, wanted) in [("lv08", lv08), ("cm02", cm02)] {
            let network = format!("network.model={name}");
            let changes = [&network[..], "network.compat=simgrid-4.1"];
            let mut lab = model(folder.load("w.xml"), &changes);
            lab.wait_until(start);
            lab.send(from, to, bytes);
            lab.expect(&[(wanted, &[0])], 1e-9);
        }
    }
}

#[test]
fn hosts_that_go_off_by_themselves() {
    // SimGrid's dates: off at 1 s, on at 2 s, again from 10 s on; with 10 flop/s, half of it from
    // 11 s and 0.9 from 20 s on.
    let folder = Folder::new(
        "states",
        &[
            (
                "w.xml",
                r#"<platform version="4.1"><zone id="w" routing="Full">
                <host id="a" speed="10f" speed_file="speed" state_file="state"/><host id="b" speed="10f"/>
                <link id="l" bandwidth="10MBps" latency="200ms"/>
                <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#,
            ),
            ("speed", "0 1.0\n11 0.5\n20 0.9\nLOOPAFTER 1\n"),
            ("state", "1 0.0\n2 1.0\nLOOPAFTER 8\n"),
        ],
    );
    for (start, flops, wanted, end) in [
        (0.0, 5.0, 0.5, End::Done),
        (0.0, 15.0, 1.0, End::Failed),
        (2.0, 40.0, 6.0, End::Done),
        (3.0, 90.0, 11.0, End::Failed),
        (12.0, 50.0, 21.0, End::Failed),
        (1.5, 1.0, 1.5, End::Failed),
        (1.0, 1.0, 1.0, End::Failed),
        (2.0, 1.0, 2.1, End::Done),
    ] {
        let mut lab = Lab::from_platform(folder.load("w.xml"));
        lab.wait_until(start);
        lab.exec("a", flops, 1.0, UNLIMITED);
        let (date, ended) = lab.next_end_of_any_kind().expect("an end");
        assert!((date - wanted).abs() < 1e-12, "{date} instead of {wanted}");
        assert_eq!(ended, [(0, end)]);
    }
    for (start, bytes, wanted) in [(0.0, 5e6, 1.0), (0.0, 1e8, 1.0), (2.0, 1e8, 11.0)] {
        let mut lab = model(folder.load("w.xml"), &["network.model=lv08"]);
        lab.wait_until(start);
        lab.send("a", "b", bytes);
        let failed = vec![(0, End::Failed)];
        assert_eq!(lab.next_end_of_any_kind(), Some((wanted, failed)));
    }
}

const INLINE: &str = r#"
version = 1
[hosts.j]
speed = "25Mf"
speed_profile = { points = [["0s", 0.5], ["2s", 1], ["4s", 0.7], ["6s", 0.1], ["8s", 4.0]], period = "18s" }
[hosts.f]
speed = "25Mf"
[links.1]
bandwidth = "1MBps"
latency = "10ms"
bandwidth_profile = { points = [["2s", "2MBps"], ["4s", "3MBps"]], period = "10s" }
latency_profile = { points = [["1s", "3ms"], ["3s", "15ms"]], period = "9s" }
"#;
const IN_FILES: &str = r#"
version = 1
[hosts.j]
speed = "25Mf"
speed_profile = { file = "p/speed" }
[hosts.f]
speed = "25Mf"
[links.1]
bandwidth = "1MBps"
latency = "10ms"
bandwidth_profile.file = "p/bandwidth"
latency_profile.file = "p/latency"
"#;

#[test]
fn inline_in_files_and_in_xml_are_the_same() {
    let folder = changing("same");
    fs::write(folder.0.join("w.toml"), IN_FILES).expect("a file");
    let inline = Platform::parse("inline.toml", INLINE).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(inline.profiles().len(), 3);
    assert_eq!(folder.load("w.toml").profiles(), inline.profiles());
    // Of the XML, the link comes with the number that it has in ours.
    assert_eq!(folder.load("w.xml").profiles(), inline.profiles());
    // What is written for the record, or by an import, needs no other file.
    for text in [
        folder.load("w.toml").to_toml(),
        simgrid_import::import_file(folder.0.join("w.xml"))
            .expect("a platform")
            .toml,
    ] {
        let again = Platform::parse("again.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.profiles(), inline.profiles(), "{text}");
        assert_eq!(
            again.to_toml(),
            Platform::parse("a.toml", &again.to_toml())
                .expect("TOML")
                .to_toml()
        );
    }
    let outline = inline.outline().to_string();
    for line in [
        "profile   j, speed: 5 points, again every 18s",
        "profile   1, bandwidth: 2 points, again every 10s",
    ] {
        assert!(outline.contains(line), "{outline}");
    }
}

#[test]
fn traces_that_are_connected() {
    let folder = Folder::new(
        "traces",
        &[
            (
                "w.xml",
                r#"<platform version="4.1">
                <trace id="slow" periodicity="7">
                  1 0.5
                  3 1.0
                </trace>
                <trace id="weak" periodicity="-1" file="weak.txt"/>
                <zone id="w" routing="Full">
                <host id="a" speed="10f"/><host id="b" speed="10f" state="OFF"/>
                <link id="l" bandwidth="10MBps" latency="200ms"/>
                <route src="a" dst="b"><link_ctn id="l"/></route></zone>
                <trace_connect kind="SPEED" trace="slow" element="a"/>
                <trace_connect kind="BANDWIDTH" trace="weak" element="l"/>
                </platform>"#,
            ),
            ("weak.txt", "% bytes per second\n2 1000\n"),
        ],
    );
    let platform = folder.load("w.xml");
    assert_eq!(platform.notes(), []);
    let facts: Vec<String> = platform
        .profiles()
        .iter()
        .map(|profile| format!("{:?} {:?}", profile.events, profile.period_s))
        .collect();
    let wanted = [
        "[(2.0, 1000.0)] None",
        "[(1.0, 0.5), (3.0, 1.0)] Some(7.0)",
        "[(0.0, 0.0)] None",
    ];
    assert_eq!(facts, wanted);
    let mut lab = Lab::from_platform(platform);
    lab.exec("b", 1.0, 1.0, UNLIMITED);
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((0.0, vec![(0, End::Failed)]))
    );
}

#[test]
fn periodicity_is_the_whole_period() {
    // As SimGrid 3.32 plays it: full speed at 0 s, 10 s, 20 s, …, half of it from 2 s on, a quarter
    // from 4 s on.
    let platform = |repetition: &str| {
        let folder = Folder::new(
            "period",
            &[
                (
                    "w.xml",
                    r#"<platform version="4.1"><zone id="w" routing="None">
                    <host id="a" speed="100f" speed_file="p"/></zone></platform>"#,
                ),
                ("p", &format!("0 1\n2 0.5\n4 0.25\n{repetition}\n")),
            ],
        );
        folder.load("w.xml")
    };
    let mut lab = Lab::from_platform(platform("PERIODICITY 10"));
    // 200 + 100 + 150 flop in a period.
    lab.exec("a", 450.0 + 200.0 + 50.0, 1.0, UNLIMITED);
    lab.expect(&[(13.0, &[0])], 1e-12);
    // The last event is 4 s after the first, and 6 s later everything begins again.
    let mut same = Lab::from_platform(platform("LOOPAFTER 6"));
    same.exec("a", 700.0, 1.0, UNLIMITED);
    same.expect(&[(13.0, &[0])], 1e-12);
}

#[test]
fn a_host_may_stand_still_in_a_power_state() {
    for text in [
        "version = 1\n[hosts.a]\nspeed = [\"0f\", \"10f\"]\n",
        r#"<platform version="4.1"><zone id="w" routing="None"><host id="a" speed="0f,10f"/></zone></platform>"#,
    ] {
        let toml = match text.starts_with('<') {
            true => {
                simgrid_import::import("p.xml", text)
                    .expect("a platform")
                    .toml
            }
            false => text.to_owned(),
        };
        let mut lab = Lab::new(&toml);
        let host = lab.host("a");
        assert_eq!(lab.platform().pstate_speed(host, 0), Some(0.0));
        let (model, _) = lab.model();
        assert_eq!(
            model.power_states(host).map(|states| states.speed),
            Some(0.0)
        );
        lab.exec("a", 20.0, 1.0, UNLIMITED);
        assert_eq!(lab.next_end(), None);
        lab.wait_until(5.0);
        lab.change(platform::profile::Change::PowerState(host, 1));
        lab.expect(&[(7.0, &[0])], 1e-12);
    }
}

/// Four hosts on a switch with a backbone.
fn cluster(more: &str) -> Lab {
    Lab::new(&format!(
        "version = 1\n[clusters.c]\nhosts = \"n[0-3]\"\nspeed = \"10f\"\nbandwidth = \"1MBps\"\n\
         latency = \"0s\"\n{more}\n"
    ))
}

#[test]
fn profiles_of_a_whole_cluster() {
    let mut lab = cluster("speed_profile = { points = [[\"1s\", 0.5]] }");
    lab.exec("n0", 20.0, 1.0, UNLIMITED);
    lab.exec("n3", 15.0, 1.0, UNLIMITED);
    lab.expect(&[(2.0, &[1]), (3.0, &[0])], 1e-13);

    let mut lab = cluster(
        "host_state_profile = { points = [[\"1s\", \"off\"], [\"2s\", \"on\"]], period = \"10s\" }",
    );
    lab.exec("n0", 20.0, 1.0, UNLIMITED);
    lab.exec("n3", 5.0, 1.0, UNLIMITED);
    lab.expect_first(&[(0.5, &[1])], 1e-13);
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((1.0, vec![(0, End::Failed)]))
    );
    let (model, _) = lab.model();
    let mut switched = Vec::new();
    model.take_switched(&mut switched);
    assert_eq!(switched.len(), 4);

    let mut lab = cluster(
        "bandwidth_profile = { points = [[\"1s\", \"2MBps\"]] }\n\
         link_state_profile = { points = [[\"2s\", \"off\"]] }\n\
         backbone = { bandwidth = \"10MBps\", latency = \"0s\", latency_profile = { points = [[\"1s\", \"1s\"]] } }",
    );
    lab.send("n0", "n1", 2e6);
    lab.send("n2", "n3", 4e6);
    lab.expect_first(&[(1.5, &[0])], 1e-12);
    lab.send("n0", "n1", 1.0);
    let failed = vec![(1, End::Failed), (2, End::Failed)];
    assert_eq!(lab.next_end_of_any_kind(), Some((2.0, failed)));
}

#[test]
fn a_large_cluster_may_have_profiles() {
    let mut lab = Lab::new(
        "version = 1\n[clusters.c]\nhosts = \"n[0-99999]\"\nspeed = \"10f\"\nbandwidth = \"1MBps\"\nlatency = \"0s\"\n\
         speed_profile = { points = [[\"1s\", 0.5]] }\nbandwidth_profile = { points = [[\"0s\", \"2MBps\"]] }",
    );
    lab.exec("n7", 20.0, 1.0, UNLIMITED);
    lab.expect(&[(3.0, &[0])], 1e-13);
}

#[test]
fn power_states() {
    let text = "version = 1\n[hosts.a]\nspeed = [\"10f\", \"5f\", \"2f\"]\npstate = 1\n\
                speed_profile = { points = [[\"4s\", 0.5]] }\n";
    let platform = Platform::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        platform.to_toml(),
        Platform::parse("p.toml", &platform.to_toml())
            .expect("TOML")
            .to_toml()
    );
    let mut lab = Lab::from_platform(platform);
    let host = lab.host("a");
    assert_eq!(lab.platform().pstate_count(host), 3);
    // 5 flop/s until 1 s, 10 until 3 s, 2 until 4 s, then 1.
    lab.exec("a", 30.0, 1.0, UNLIMITED);
    for (date, state) in [(1.0, 0), (3.0, 2)] {
        lab.wait_until(date);
        let (model, now) = lab.model();
        let control = Control::PowerState { host, state };
        model.control(control, now).expect("it has such a state");
    }
    let (model, now) = lab.model();
    let states = model.power_states(host).expect("states");
    assert_eq!(
        (states.speeds, states.state, states.speed),
        (vec![10.0, 5.0, 2.0], 2, 2.0)
    );
    let control = Control::PowerState { host, state: 3 };
    let refused = model.control(control, now).expect_err("a mistake");
    assert_eq!(
        refused.to_string(),
        "host \"a\" has no power state 3: its power states are 0 to 2"
    );
    lab.expect(&[(7.0, &[0])], 1e-13);

    let xml = r#"<platform version="4.1"><zone id="w" routing="None"><host id="a" speed="10f, 5f,2f" pstate="1"/>
        <cluster id="c" prefix="n" suffix="" radical="0-3" speed="4f,1f" pstate="1" bw="1MBps" lat="0"/></zone></platform>"#;
    let imported = simgrid_import::import("p.xml", xml).unwrap_or_else(|error| panic!("{error:?}"));
    let platform =
        Platform::parse("p.toml", &imported.toml).unwrap_or_else(|error| panic!("{error}"));
    let host = |name| platform.host_by_name(name).expect("a host");
    assert_eq!(
        (platform.speed(host("a")), platform.pstate_count(host("a"))),
        (5.0, 3)
    );
    assert_eq!(
        (platform.speed(host("n3")), platform.pstate(host("n3"))),
        (1.0, 1)
    );
    assert_eq!(platform.pstate_speed(host("n3"), 0), Some(4.0));
    let outline = platform.outline().to_string();
    assert!(
        outline.contains("pstates   a: 10f or 5f or 2f; 1 at the start"),
        "{outline}"
    );
}

#[test]
fn actors_can_change_links_by_name() {
    let mut lab = cluster("backbone = { bandwidth = \"10MBps\", latency = \"0s\" }");
    for name in ["c:backbone", "n2:up", "n2:down"] {
        let link = lab.platform().link_by_name(name).expect("a link");
        assert_eq!(lab.platform().link(link).name, name);
    }
    assert_eq!(lab.platform().link_by_name("n9:up"), None);
    lab.send("n0", "n2", 1e6);
    lab.wait_until(0.5);
    let (model, now) = lab.model();
    let link = model.link_by_name("n2:up").expect("a link");
    let mut set = |control| model.control(control, now);
    set(Control::Bandwidth {
        link,
        bytes_per_s: 5e5,
    })
    .expect("a bandwidth");
    set(Control::Latency {
        link,
        latency: Span::from_secs(2.0),
    })
    .expect("a latency");
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        set(Control::Bandwidth {
            link,
            bytes_per_s: wrong,
        })
        .expect_err("no bandwidth");
    }
    set(Control::Link {
        link: 1 << 30,
        on: false,
    })
    .expect_err("no link");
    let state = model.link_state(link).expect("a state");
    assert_eq!(
        (state.on, state.bandwidth, state.latency.as_secs()),
        (true, 5e5, 2.0)
    );
    lab.expect(&[(1.5, &[0])], 1e-12);
}

#[test]
fn profiles_can_be_changed_before_a_run() {
    let platform = Platform::parse("w.toml", INLINE).unwrap_or_else(|error| panic!("{error}"));
    let mut lab = model(
        platform,
        &[
            "hosts.j.speed_profile.points.0.1*=2",
            "links.*.bandwidth_profile.period=30s",
            "hosts.f.pstate=0",
        ],
    );
    let periods: Vec<_> = lab
        .platform()
        .profiles()
        .iter()
        .map(|profile| profile.period_s)
        .collect();
    assert_eq!(periods, [Some(30.0), Some(9.0), Some(18.0)]);
    lab.exec("j", 50e6, 1.0, UNLIMITED);
    lab.expect(&[(2.0, &[0])], 1e-13);
}

#[test]
fn mistakes_in_files_of_profiles() {
    let folder = Folder::new(
        "wrong",
        &[
            (
                "w.toml",
                "version = 1\n[hosts.a]\nspeed = \"1f\"\nspeed_profile.file = \"p\"",
            ),
            ("p", "0 1\nx 2\n"),
        ],
    );
    let error = Platform::load(folder.0.join("w.toml"))
        .expect_err("a mistake")
        .to_string();
    assert!(
        error.contains("w.toml:4:22: profile file \"p\": line 2: \"x 2\": expected a date in seconds and a value"),
        "{error}"
    );
}

/// 100 Mbit/s cables of no latency around each host of a torus of 2 x 2; single ones differ.
const TORUS: &str = r#"version = 1
[clusters.grid]
topology = "torus"
hosts = "n[0-3]"
dimensions = [4]
speed = "100f"
bandwidth = "100Bps"
latency = "0s"
speed_profile = { points = [["50s", 2.0]] }
bandwidth_profile = { points = [["40s", "200Bps"]] }
"#;

fn torus(overrides: &str) -> Lab {
    Lab::new(&format!("{TORUS}{overrides}"))
}

#[test]
fn a_host_of_a_cluster_with_a_speed_of_its_own() {
    let mut lab = torus("host_overrides.n1 = { speed = \"50f\" }");
    for host in ["n0", "n1", "n2"] {
        lab.exec(host, 1000.0, 1.0, UNLIMITED);
    }
    // Half the speed takes twice as long; the profile of the cluster is about parts of the speed.
    lab.expect(&[(10.0, &[0, 2]), (20.0, &[1])], 1e-13);
    lab.wait_until(60.0);
    lab.exec("n1", 1000.0, 1.0, UNLIMITED);
    lab.expect(&[(70.0, &[3])], 1e-13);
}

#[test]
fn profiles_of_one_host_of_a_cluster() {
    let mut lab = torus(
        "[clusters.grid.host_overrides.n1]\n\
         speed_profile = { points = [[\"5s\", 0.5]] }\n\
         [clusters.grid.host_overrides.n2]\n\
         state_profile = { points = [[\"3s\", \"off\"], [\"4s\", \"on\"]] }\n",
    );
    for host in ["n0", "n1", "n2", "n3"] {
        lab.exec(host, 1000.0, 1.0, UNLIMITED);
    }
    let failed = lab.next_end_of_any_kind();
    assert_eq!(failed, Some((3.0, vec![(2, End::Failed)])));
    lab.expect(&[(10.0, &[0, 3]), (15.0, &[1])], 1e-13);
    // Its own profile takes the place of that of the cluster, by kind.
    lab.wait_until(60.0);
    for host in ["n1", "n2"] {
        lab.exec(host, 1000.0, 1.0, UNLIMITED);
    }
    lab.expect(&[(65.0, &[5]), (80.0, &[4])], 1e-13);
}

#[test]
fn a_cable_of_a_cluster_with_a_bandwidth_of_its_own() {
    let mut lab = torus(
        "[clusters.grid.link_overrides.\"n1/0:up\"]\nbandwidth = \"50Bps\"\n\
         [clusters.grid.link_overrides.\"n2/0\"]\nlatency = \"7s\"\n",
    );
    // Up from n1 to n2 is slow, down from n2 to n1 is not; both directions pay the latency.
    for (from, to) in [
        ("n1", "n2"),
        ("n2", "n1"),
        ("n0", "n1"),
        ("n2", "n3"),
        ("n3", "n2"),
    ] {
        lab.send(from, to, 1000.0);
    }
    lab.expect(&[(10.0, &[1, 2]), (17.0, &[3, 4]), (20.0, &[0])], 1e-13);
    // It does not follow the bandwidths of the others, which are absolute.
    lab.wait_until(50.0);
    for (from, to) in [("n1", "n2"), ("n2", "n1")] {
        lab.send(from, to, 1000.0);
    }
    lab.expect(&[(55.0, &[6]), (70.0, &[5])], 1e-13);
}

#[test]
fn profiles_of_one_cable_of_a_cluster() {
    let mut lab = torus(
        "[clusters.grid.link_overrides.\"n1/0\"]\n\
         bandwidth_profile = { points = [[\"5s\", \"50Bps\"]] }\n\
         [clusters.grid.link_overrides.\"n1/0:down\"]\n\
         bandwidth_profile = { points = [[\"8s\", \"25Bps\"]] }\n\
         [clusters.grid.link_overrides.\"n3/0:up\"]\n\
         state_profile = { points = [[\"3s\", \"off\"], [\"4s\", \"on\"]] }\n\
         latency_profile = { points = [[\"30s\", \"1s\"]] }\n",
    );
    for (from, to) in [
        ("n1", "n2"),
        ("n2", "n1"),
        ("n3", "n0"),
        ("n0", "n3"),
        ("n0", "n1"),
    ] {
        lab.send(from, to, 1000.0);
    }
    let failed = lab.next_end_of_any_kind();
    assert_eq!(failed, Some((3.0, vec![(2, End::Failed)])));
    // 500 bytes in 5 s, then half as fast; 800 bytes in 8 s, then a quarter.
    lab.expect(&[(10.0, &[3, 4]), (15.0, &[0]), (16.0, &[1])], 1e-13);
    lab.wait_until(50.0);
    for (from, to) in [("n3", "n0"), ("n0", "n3"), ("n1", "n2")] {
        lab.send(from, to, 1000.0);
    }
    lab.expect(&[(55.0, &[6]), (56.0, &[5]), (70.0, &[7])], 1e-13);
    let outline = lab.platform().outline().to_string();
    let line = "profile   n1/0:down, bandwidth: 1 point";
    assert!(outline.contains(line), "{outline}");
}
