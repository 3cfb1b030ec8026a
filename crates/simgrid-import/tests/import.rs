//! Promise: SimGrid's XML platforms become our platforms with the same routes, omissions are listed
//! by line, and no XML makes the reader panic, hang or use much memory.

use platform::{Compat, NetworkModel, NetworkParameters, Platform};
use proptest::prelude::*;
use proptest::sample::Index;
use simgrid_import::import;
use testing::cases::read_cases;
use testing::lab::Lab;
use testing::readers::xml as survive;

fn toml(xml: &str) -> String {
    import("p.xml", xml)
        .unwrap_or_else(|mistakes| panic!("{}", platform::LoadError::Diagnostics(mistakes)))
        .toml
}

fn load(xml: &str) -> Platform {
    let toml = toml(xml);
    Platform::parse("p.toml", &toml).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

fn names(platform: &Platform, from: &str, to: &str) -> String {
    let host = |name: &str| platform.host_by_name(name).expect("a host");
    let route = platform
        .route(host(from), host(to))
        .unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = route
        .hops
        .iter()
        .map(|hop| platform.link(hop.link).name)
        .collect();
    names.join(" ")
}

#[track_caller]
fn refused(xml: &str, message: &str) {
    let mistakes = import("p.xml", xml).expect_err("a mistake");
    let error = platform::LoadError::Diagnostics(mistakes).to_string();
    assert!(error.contains(message), "{error}");
}

/// Two sites around a wide-area link, with everything that can be carried over.
const SITES: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- two sites -->
<platform version="4.1">
  <zone id="world" routing="Full">
    <zone id="east" routing="Cluster">
      <router id="east-gate"/>
      <host id="e0" speed="1Gf" core="4"/>
      <host id="e1" speed="2e9"/>
      <link id="e0-up" bandwidth="1GBps" latency="10us"/>
      <link id="e0-down" bandwidth="1GBps" latency="10us"/>
      <link id="e1-cable" bandwidth="8Gbps" latency="1m" sharing_policy="SPLITDUPLEX"/>
      <host_link id="e0" up="e0-up" down="e0-down"/>
      <host_link id="e1" up="e1-cable_UP" down="e1-cable_DOWN"/>
      <backbone id="e-bone" bandwidth="2GBps" latency="5us"/>
    </zone>
    <cluster id="west" prefix="w-" suffix=".x" radical="0-3,08" speed="5Gf" bw="1GBps" lat="2us" limiter_link="3GBps"/>
    <zone id="south" routing="Floyd">
      <host id="s0" speed="1Gf"/>
      <host id="s1" speed="1Gf"/>
      <router id="sr"/>
      <link id="sa" bandwidth="1GBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
      <link id="sb" bandwidth="1GBps" latency="1ms" sharing_policy="FATPIPE"/>
      <route src="s0" dst="sr"><link_ctn id="sa" direction="UP"/></route>
      <route src="sr" dst="s1"><link_ctn id="sb"/></route>
    </zone>
    <link id="wan" bandwidth="1GBps" latency="20ms" sharing_policy="SPLITDUPLEX"/>
    <link id="lane" bandwidth="1GBps" latency="30ms"/>
    <zoneRoute src="east" dst="west" gw_src="east-gate" gw_dst="w-west_router.x">
      <link_ctn id="wan_UP"/>
    </zoneRoute>
    <zoneRoute src="west" dst="south" gw_src="w-2.x" gw_dst="sr" symmetrical="NO">
      <link_ctn id="lane"/>
    </zoneRoute>
  </zone>
</platform>
"#;

#[test]
fn zones_gateways_and_directions() {
    let platform = load(SITES);
    assert_eq!(platform.name(), Some("world"));
    assert_eq!(platform.host_count(), 9);
    assert_eq!(names(&platform, "e0", "e1"), "e0-up e-bone e1-cable:down");
    assert_eq!(names(&platform, "e0", "e0"), "e0-up e-bone e0-down");
    let way = "e1-cable:up e-bone wan:up w-8.x:down w-8.x:limiter";
    assert_eq!(names(&platform, "e1", "w-8.x"), way);
    // The name of the link has the direction, so the way back takes the same one.
    let back = "w-8.x:limiter w-8.x:up wan:up e-bone e1-cable:down";
    assert_eq!(names(&platform, "w-8.x", "e1"), back);
    let way = "w-0.x:limiter w-0.x:up w-2.x:down w-2.x:limiter lane sb";
    assert_eq!(names(&platform, "w-0.x", "s1"), way);
    assert_eq!(names(&platform, "s1", "s0"), "sb sa:down");
    let host = |name| platform.host_by_name(name).expect("a host");
    assert!(platform.route(host("s1"), host("w-0.x")).is_err());
    let minute = platform.route(host("e1"), host("e0")).expect("a route");
    assert!((minute.latency_s - 60.000_015).abs() < 1e-9);
    assert_eq!(platform.speed(host("e1")), 2e9);
    assert_eq!(platform.cores(host("e0")), 4);
}

/// One mistake for all programs that a file places, and no mistake about a missing platform.
#[test]
fn deployment_files_name_the_way_to_place_ranks() {
    let advice = "belongs to a deployment file: expected a platform; simrun places ranks with \
                  --map FILE, one host per line";
    let actor = "<actor host=\"e0\" function=\"f\">\n<argument value=\"9\"/></actor>";
    let process = "<process host=\"e1\" function=\"f\"/>";
    let deployment = format!("<platform version=\"4.1\">\n{actor}\n{process}\n</platform>");
    let in_platform = SITES.replace("</platform>", &format!("{actor}</platform>"));
    let in_zone = SITES.replace(
        "</zone>\n</platform>",
        &format!("{process}</zone></platform>"),
    );
    for (text, tag) in [
        (deployment, "<actor>"),
        (in_platform, "<actor>"),
        (in_zone, "<process>"),
    ] {
        let error = simgrid_import::parse("d.xml", &text)
            .expect_err("a mistake")
            .to_string();
        let at = text.find(&tag[..tag.len() - 1]).expect("the tag");
        let line = text[..=at].lines().count();
        assert!(error.starts_with(&format!("d.xml:{line}:")), "{error}");
        assert!(error.contains(&format!("{tag} {advice}")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_loaded_file_prints_as_the_same_platform() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("sites.xml");
    std::fs::write(&file, SITES).expect("a temporary file");
    let platform = simgrid_import::load(&file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.host_count(), 9);
    assert!(platform.notes().is_empty());
    let printed = Platform::parse("again.toml", &platform.to_toml()).expect("the same platform");
    for from in platform.hosts() {
        for to in platform.hosts() {
            assert_eq!(platform.route(from, to).ok(), printed.route(from, to).ok());
        }
    }
}

fn cluster(topology: &str, parameters: &str, radical: &str, more: &str) -> String {
    format!(
        r#"<platform version="4"><AS id="w" routing="Full"><cluster id="c" prefix="n" suffix="" radical="{radical}"
        speed="1Gf" bw="1GBps" lat="1us" topology="{topology}" topo_parameters="{parameters}" {more}/></AS></platform>"#
    )
}

#[test]
fn regular_clusters() {
    let tree = load(&cluster(
        "FAT_TREE",
        "2;4,4;1,2;1,2",
        "0-15",
        "loopback_bw=\"100MBps\" loopback_lat=\"0\"",
    ));
    assert_eq!(
        names(&tree, "n0", "n10"),
        "n0:up c/1.0/2:up c/1.2/0:down n10:down"
    );
    assert_eq!(names(&tree, "n3", "n3"), "n3:loopback");
    let torus = load(&cluster("TORUS", "3,2,2", "0-11", ""));
    assert_eq!(names(&torus, "n0", "n10"), "n0/0:up n1/1:up n4/2:up");
    let fly = load(&cluster(
        "DRAGONFLY",
        "3,4;4,3;5,1;2",
        "0-119",
        "limiter_link=\"150MBps\"",
    ));
    let way =
        "n0:limiter n0:up c/0.0.0:limiter c/black/0.0-1.0:up c/0.1.0:limiter n10:down n10:limiter";
    assert_eq!(names(&fly, "n0", "n10"), way);
    let flat = load(&cluster(
        "FLAT",
        "",
        "0-3",
        "bb_bw=\"2GBps\" bb_lat=\"1us\" sharing_policy=\"SHARED\"",
    ));
    assert_eq!(names(&flat, "n0", "n1"), "n0:link c:backbone n1:link");
    assert_eq!(names(&flat, "n0", "n0"), "n0:link c:backbone");
    let million = load(&cluster("TORUS", "100,100,100", "0-999999", ""));
    assert_eq!(million.host_count(), 1_000_000);
}

#[test]
fn peers_and_cabinets() {
    let peers = load(
        r#"<platform version="4.1"><zone id="w" routing="Vivaldi">
        <peer id="a" speed="1Gf" bw_in="10MBps" bw_out="5MBps" coordinates="0 0 1"/>
        <peer id="b" speed="1Gf" bw_in="10MBps" bw_out="5MBps" coordinates="3 4 0.5"/></zone></platform>"#,
    );
    assert_eq!(names(&peers, "a", "b"), "link_a_UP link_b_DOWN");
    let host = |name| peers.host_by_name(name).expect("a host");
    let route = peers.route(host("a"), host("b")).expect("a route");
    assert!((route.latency_s - 6.5e-3).abs() < 1e-12);
    assert_eq!(route.hops[0].bandwidth, 5e6);
    let cabinet = load(
        r#"<platform version="4.1"><zone id="w" routing="Cluster">
        <cabinet id="k" prefix="k" suffix="" radical="1-3" speed="1Gf" bw="1GBps" lat="1us"/></zone></platform>"#,
    );
    assert_eq!(names(&cabinet, "k1", "k3"), "link_k1:up link_k3:down");
}

#[test]
fn what_cannot_be_carried_over_is_listed_by_line() {
    let xml = r#"<platform version="4.1">
<config id="General"><prop id="network/model" value="CM02"/><prop id="cpu/optim" value="TI"/></config>
<zone id="w" routing="Full">
<host id="a" speed="1Gf,2Gf" speed_file="a.trace"><disk id="d" read_bw="1MBps" write_bw="1MBps"/></host>
<host id="b" speed="1Gf">
  <prop id="watt" value="3"/>
</host>
<link id="l" bandwidth="1GBps" latency="1us" state_file="l.trace"/>
<route src="a" dst="b"><link_ctn id="l"/></route>
<bypassRoute src="a" dst="b"><link_ctn id="l"/></bypassRoute>
</zone>
<trace_connect kind="SPEED" trace="t" element="c"/>
</platform>"#;
    let imported = import("p.xml", xml).expect("a platform");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "p.xml:2: the flag \"cpu/optim\" with the value \"TI\" is not supported",
            "p.xml:6: the property \"watt\" means nothing to a run",
            "p.xml:12: the trace \"t\" of \"c\" is not supported: there is no host or <link> of that name",
        ]
    );
}

fn with_flags(flags: &[(&str, &str)]) -> String {
    let props: String = flags
        .iter()
        .map(|(id, value)| format!("<prop id=\"{id}\" value=\"{value}\"/>\n"))
        .collect();
    format!(
        "<platform version=\"4.1\"><config>\n{props}</config><zone id=\"w\" routing=\"Full\">\
         <host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\
         <link id=\"l\" bandwidth=\"1GBps\" latency=\"1ms\"/>\
         <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>"
    )
}

#[test]
fn flags_of_the_network_models() {
    let network = |flags: &[(&str, &str)]| load(&with_flags(flags)).network().clone();
    let lv08 = NetworkModel::by_name("lv08").expect("a model");
    assert_eq!(network(&[]).model, lv08);
    let without = load(&with_flags(&[]).replace("<config>\n</config>", ""));
    assert_eq!(*without.network(), NetworkParameters::preset(lv08));
    for model in ["CM02", "LV08", "SMPI", "IB", "Raw", "Constant"] {
        let found = network(&[("network/model", model)]);
        let expected = NetworkModel::by_name(&model.to_lowercase());
        assert_eq!(Some(found.model), expected);
        assert_eq!(found, NetworkParameters::preset(found.model));
    }
    let all = network(&[
        ("network/model", "SMPI"),
        ("network/TCP-gamma", "20000"),
        ("network/crosstraffic", "no"),
        ("network/weight-S", "1000.0"),
        ("network/latency-factor", "65:2;0:1.5"),
        ("smpi/bw-factor", "0.5"),
        ("network/loopback-bw", "498000000"),
        ("network/loopback-lat", "0.000015"),
        ("smpi/async-small-thresh", "128"),
        ("smpi/os", "0:1e-6:2e-9"),
        ("smpi/or", "0:0:0:0:0"),
    ]);
    let fluid = all.fluid.expect("a fluid model");
    assert_eq!(fluid.tcp_gamma.bytes(), 20_000);
    assert_eq!((fluid.crosstraffic, fluid.weight_s.bytes()), (0.0, 1_000));
    let factors = [64.0, 65.0, 66.0].map(|size| fluid.latency_factor.factor_for(size));
    assert_eq!(factors, [1.5, 1.5, 2.0]);
    assert_eq!(fluid.bandwidth_factor.factor_for(1.0), 0.5);
    assert_eq!(fluid.loopback.bandwidth.bytes_per_s(), 498e6);
    assert_eq!(fluid.loopback.latency.as_secs(), 15e-6);
    assert_eq!(
        fluid.async_small_threshold.map(|size| size.bytes()),
        Some(128)
    );
    assert_eq!(fluid.overheads.os.sections().len(), 1);
    assert_eq!(fluid.overheads.os.sections()[0].per_byte.as_secs(), 2e-9);
    assert!(fluid.overheads.or.is_empty());
}

#[test]
fn old_names_of_flags_are_read() {
    let network = |flags: &[(&str, &str)]| load(&with_flags(flags)).network().clone();
    for (old, new, value) in [
        ("network/TCP_gamma", "network/TCP-gamma", "20000.0"),
        ("network/weight_S", "network/weight-S", "1000"),
        ("network/latency_factor", "network/latency-factor", "2"),
        (
            "network/bandwidth_factor",
            "network/bandwidth-factor",
            "0.5",
        ),
        ("smpi/lat_factor", "network/latency-factor", "65:2;0:1.5"),
        ("smpi/bw_factor", "network/bandwidth-factor", "65:0.5;0:0.7"),
        ("smpi/lat-factor", "network/latency-factor", "65:2;0:1.5"),
        ("smpi/bw-factor", "network/bandwidth-factor", "65:0.5;0:0.7"),
        ("smpi/async_small_thres", "smpi/async-small-thresh", "128"),
        ("smpi/async_small_thresh", "smpi/async-small-thresh", "128"),
        ("smpi/os", "smpi/os", "1:1e-6:0"),
    ] {
        let (old, new) = ([(old, value)], [(new, value)]);
        assert_eq!(network(&old), network(&new), "{old:?}");
        assert_ne!(network(&old), network(&[]), "{old:?}");
        let imported = import("p.xml", &with_flags(&old)).expect("a platform");
        assert_eq!(imported.notes, [], "{old:?}");
    }
    assert_eq!(network(&[("smpi/os", "1:0:0:0:0")]), network(&[]));
    let old = ("smpi/IB_penalty_factors", "0.9;0.8;1.2");
    let new = ("smpi/IB-penalty-factors", old.1);
    let ib = ("network/model", "IB");
    assert_eq!(network(&[ib, old]), network(&[ib, new]));
    assert_ne!(network(&[ib, old]), network(&[ib]));
    for detached in [
        "smpi/send_is_detached_thres",
        "smpi/send-is-detached-thresh",
    ] {
        let platform = load(&with_flags(&[(detached, "77")]));
        assert_eq!(
            platform.protocol().eager_threshold.bytes(),
            77,
            "{detached}"
        );
    }
}

#[test]
fn properties_are_one_note() {
    let hosts: String = (0..100)
        .map(|host| {
            format!(
                "<host id=\"h{host}\" speed=\"1Gf\">\n<prop id=\"ram\" value=\"1\"/>\n\
                 <prop id=\"p{}\" value=\"1\"/></host>",
                host % 6
            )
        })
        .collect();
    let xml = with_flags(&[("network/other", "1")]).replace("</zone>", &format!("{hosts}</zone>"));
    let imported = import("p.xml", &xml).expect("a platform");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    let [flag, properties] = &notes[..] else {
        panic!("{notes:?}");
    };
    assert!(flag.contains("\"network/other\""), "{flag}");
    assert_eq!(
        properties,
        "p.xml:4: 200 properties mean nothing to a run: \"ram\", \"p0\", \"p1\", \"p2\" and 3 other names"
    );
}

/// The figures are dates of SimGrid 3.32 for the same file.
#[test]
fn routes_without_latency_share_as_in_simgrid() {
    let xml = with_flags(&[])
        .replace("latency=\"1ms\"", "latency=\"0\"")
        .replace(
            "</zone>",
            "<link id=\"m\" bandwidth=\"100MBps\" latency=\"0\"/>\
         <host id=\"c\" speed=\"1Gf\"/><route src=\"a\" dst=\"c\">\
         <link_ctn id=\"l\"/><link_ctn id=\"m\"/></route></zone>",
        );
    let mut lab = Lab::from_platform(load(&xml));
    lab.send("a", "b", 1e9);
    lab.send("a", "c", 5e7);
    lab.expect(
        &[(0.541_237_113_402, &[1]), (1.136_597_938_144, &[0])],
        1e-11,
    );
    let compat = |xml: &str| load(xml).network().compat;
    assert_eq!(compat(&xml), Some(Compat::Simgrid41));
    assert_eq!(compat(&with_flags(&[])), None, "each link has a latency");
    let unweighted = "<config><prop id=\"network/weight-S\" value=\"0\"/>";
    assert_eq!(compat(&xml.replace("<config>", unweighted)), None);
}

/// The figures are dates of SimGrid 3.32 for the same files.
#[test]
fn dates_under_flags() {
    let xml = |flags: &[(&str, &str)]| {
        with_flags(flags).replace(
            "</zone>",
            "<host id=\"c\" speed=\"1Gf\"/><link id=\"m\" bandwidth=\"12MBps\" latency=\"5us\"/>\
             <link id=\"k\" bandwidth=\"10MBps\" latency=\"1ms\"/><host id=\"d\" speed=\"1Gf\"/>\
             <route src=\"c\" dst=\"d\"><link_ctn id=\"k\"/><link_ctn id=\"m\"/></route>\
             <route src=\"a\" dst=\"d\"><link_ctn id=\"m\"/></route></zone>",
        )
    };
    let dates = |flags: &[(&str, &str)], long: f64, short: f64| {
        let mut lab = Lab::from_platform(load(&xml(flags)));
        lab.send("c", "d", 5e6);
        lab.send("a", "d", 5e6);
        lab.expect(&[(short, &[1]), (long, &[0])], 1e-11);
    };
    let factors = [
        ("network/latency-factor", "3.5"),
        ("network/bandwidth-factor", "0.8"),
        ("network/weight-S", "1000"),
    ];
    let cm02 = [
        ("network/model", "CM02"),
        ("network/TCP-gamma", "20000"),
        ("network/crosstraffic", "no"),
    ];
    let [a, b, c] = factors;
    let [d, e, f] = cm02;
    dates(&[a, b, c, d, e, f], 1.141_054_030_622, 0.559_306_186_302);
    let lv08 = [
        a,
        b,
        c,
        ("network/TCP-gamma", "50000000"),
        ("network/crosstraffic", "yes"),
    ];
    dates(&lv08, 1.195_064_274_194, 0.587_283_629_032);
}

#[test]
fn flags_that_are_left_out_or_wrong() {
    let notes = |flags: &[(&str, &str)]| -> Vec<String> {
        let imported = import("p.xml", &with_flags(flags)).expect("a platform");
        imported.notes.iter().map(ToString::to_string).collect()
    };
    let gamma = ("network/TCP-gamma", "20000");
    assert!(notes(&[gamma]).is_empty());
    let constant =
        "p.xml:3: the flag \"network/TCP-gamma\" with the value \"20000\" is not supported";
    assert_eq!(notes(&[("network/model", "Constant"), gamma]), [constant]);
    let other = "p.xml:2: the flag \"network/model\" with the value \"ns-3\" is not supported";
    assert_eq!(notes(&[("network/model", "ns-3")]), [other]);
    let penalties = [("network/model", "IB"), ("smpi/IB-penalty-factors", "1;2")];
    refused(&with_flags(&penalties), "expected three numbers");
}

#[test]
fn mistakes_name_the_line_of_the_xml() {
    refused("", "p.xml:1:1: no tag: expected <platform version=\"4.1\">");
    for case in read_cases(include_str!("mistakes.txt")) {
        let given: Vec<&str> = case.given.iter().map(String::as_str).collect();
        let (file, text, shown) = match given[..] {
            ["sites", from, to] => ("sites.xml", SITES.replacen(from, to, 1), to),
            ["flag", id, value] => ("p.xml", with_flags(&[(id, value)]), ""),
            ["cluster", kind, parameters, radical] => {
                ("p.xml", cluster(kind, parameters, radical, ""), "")
            }
            _ => ("p.xml", given[0].to_owned(), ""),
        };
        let error = simgrid_import::parse(file, &text).expect_err("a diagnostic");
        case.assert_expected("mistakes.txt", &error.to_string());
        // The report shows the line itself.
        assert!(
            error.report(false).contains(shown),
            "mistakes.txt:{}",
            case.line
        );
    }
}

#[test]
fn nothing_small_becomes_large() {
    let laughs: String = (1..30)
        .map(|at| {
            format!(
                "<!ENTITY l{at} \"{}\">",
                format!("&l{};", at - 1).repeat(10)
            )
        })
        .collect();
    let laughs = format!(
        "<!DOCTYPE platform [<!ENTITY l0 \"ha\">{laughs}]><platform version=\"4.1\"><zone id=\"&l29;\" \
         routing=\"Full\"/></platform>"
    );
    refused(&laughs, "the attribute \"id\"");
    refused(&"<a>".repeat(100_000), "tags nest more than 64 deep");
    refused(&"<!".repeat(100_000), "XML syntax");
    let many: String = (0..100).map(|at| format!("a{at}=\"\" ")).collect();
    refused(&format!("<platform {many}/>"), "more than 64 attributes");
    let zones = "<zone id=\"z\" routing=\"Full\">".repeat(40) + &"</zone>".repeat(40);
    let deep = format!("<platform version=\"4.1\">{zones}</platform>");
    let toml = import("p.xml", &deep).map(|imported| imported.toml);
    if let Ok(toml) = toml {
        assert!(Platform::parse("p.toml", &toml).is_err());
    }
}

const PIECES: [&str; 16] = [
    "<",
    ">",
    "/>",
    "</zone>",
    "\"",
    "=",
    "&amp;",
    "&x;",
    "<![CDATA[",
    "-->",
    "<!DOCTYPE",
    "0-99999999",
    "_UP",
    "*",
    "\0",
    "µ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn mutations_of_valid_files(
        flat in any::<bool>(),
        edits in prop::collection::vec((any::<Index>(), 0_usize..12, any::<Index>(), any::<bool>()), 0..6),
    ) {
        let fly = cluster("DRAGONFLY", "3,4;4,3;5,1;2", "0-119", "limiter_link=\"150MBps\"");
        let mut letters: Vec<char> = if flat { fly.chars().collect() } else { SITES.chars().collect() };
        for (at, cut, piece, copy) in edits {
            let at = at.index(letters.len() + 1);
            let end = (at + cut).min(letters.len());
            let put: Vec<char> = if copy {
                let from = piece.index(letters.len() + 1);
                letters[from..(from + 30).min(letters.len())].to_vec()
            } else {
                PIECES[piece.index(PIECES.len())].chars().collect()
            };
            letters.splice(at..end, put);
        }
        survive(&letters.into_iter().collect::<String>());
    }

    #[test]
    fn random_clusters_keep_their_routes(
        down in prop::collection::vec(1_u32..4, 1..4), up in 1_u32..4, cables in 1_u32..3, loopback in any::<bool>(),
    ) {
        let list = |numbers: &[u32]| {
            let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
            texts.join(",")
        };
        let hosts: u32 = down.iter().product();
        let (ups, counts) = (vec![up; down.len()], vec![cables; down.len()]);
        let parameters = format!("{};{};{};{}", down.len(), list(&down), list(&ups), list(&counts));
        let more = if loopback { "loopback_bw=\"1GBps\"" } else { "" };
        let xml = load(&cluster("FAT_TREE", &parameters, &format!("0-{}", hosts - 1), more));
        let more = if loopback {
            "loopback = { bandwidth = \"1GBps\", latency = \"0s\" }"
        } else {
            "to_itself = \"links\""
        };
        let ours = format!(
            "version = 1\n[clusters.c]\ntopology = \"fat-tree\"\nhosts = \"n[0-{}]\"\nspeed = \"1Gf\"\n\
             bandwidth = \"1GBps\"\nlatency = \"1us\"\ndown = {down:?}\nup = {ups:?}\ncables = {counts:?}\n\
             compat = \"simgrid-4.1\"\n{more}\n",
            hosts - 1
        );
        let ours = Platform::parse("ours.toml", &ours).unwrap_or_else(|error| panic!("{error}"));
        for from in ours.hosts() {
            for to in ours.hosts() {
                prop_assert_eq!(xml.route(from, to).expect("a route"), ours.route(from, to).expect("a route"));
            }
        }
    }
}

/// SimGrid's names of hosts reach single hosts of a cluster.
#[test]
fn traces_of_hosts_of_a_cluster() {
    let trace = "<trace id=\"t\" periodicity=\"-1\">\n1 0.5\n</trace>";
    let connect = |element: &str, kind: &str| {
        format!("<trace_connect trace=\"t\" element=\"{element}\" kind=\"{kind}\"/>")
    };
    let more = [
        trace.to_owned(),
        connect("n2", "SPEED"),
        connect("n2", "HOST_AVAIL"),
        connect("c_link_2_UP", "BANDWIDTH"),
    ];
    let text = cluster("FLAT", "", "0-3", "");
    let text = text.replace("</platform>", &format!("{}</platform>", more.join("\n")));
    let platform = simgrid_import::parse("p.xml", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.profiles().len(), 2);
    let printed = platform.to_toml();
    assert!(
        printed.contains("[clusters.c.host_overrides.n2"),
        "{printed}"
    );
    let notes: Vec<String> = platform.notes().iter().map(ToString::to_string).collect();
    let again =
        "the trace \"t\" is connected again: SimGrid takes a trace for the first element only";
    let unknown = "the trace \"t\" of \"c_link_2_UP\" is not supported: there is no host or <link> of that name";
    assert_eq!(
        notes,
        [
            format!("p.xml:6: {again}"),
            format!("p.xml:7: {again}"),
            format!("p.xml:7: {unknown}"),
        ]
    );
}

/// Drawn profiles are kept as laws; mistakes are one line that names the trace, or the file.
#[test]
fn stochastic_profiles_are_read() {
    let kept = "<trace id=\"t\" periodicity=\"-1\">STOCHASTIC LOOP\nDET 1 UNIF 0 1\n</trace>\n\
                <trace_connect trace=\"t\" kind=\"SPEED\" element=\"n2\"/>";
    let text = cluster("FLAT", "", "0-3", "");
    let with_trace = text.replace("</platform>", &format!("\n{kept}\n</platform>"));
    let platform = simgrid_import::parse("p.xml", &with_trace).expect("a platform");
    let printed = platform.to_toml();
    let entry = "drawn = [\"DET 1 UNIF 0 1\"]";
    assert!(printed.contains(entry), "{printed}");
    let again = Platform::parse("again.toml", &printed).expect("it was printed so");
    assert_eq!(again.profiles(), platform.profiles());
    let trace = "<trace id=\"t\" periodicity=\"-1\">STOCHASTIC LOOP\nDET 0 UNIF 0 1\n</trace>";
    let text = text.replace("</platform>", &format!("\n{trace}\n</platform>"));
    let error = simgrid_import::parse("p.xml", &text).expect_err("a mistake");
    let error = error.to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    let place = "p.xml:3:1: trace \"t\": line 1: \"STOCHASTIC LOOP\": expected a delay of more than \
                 0 s in a profile that comes again";
    assert!(error.starts_with(place), "{error}");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("load.profile"), "STOCHASTIC\nEXP 1 UNIF 0\n").expect("a file");
    let file = folder.join("stochastic.xml");
    let text = "<platform version=\"4.1\"><zone id=\"w\" routing=\"None\">\n\
                <host id=\"a\" speed=\"1Gf\" speed_file=\"load.profile\"/></zone></platform>";
    std::fs::write(&file, text).expect("a file");
    let error = simgrid_import::load(&file)
        .expect_err("a mistake")
        .to_string();
    let problem = "profile file \"load.profile\": line 2: \"EXP 1 UNIF 0\": expected the law";
    assert!(
        error.contains(":2:1: ") && error.contains(problem),
        "{error}"
    );
}
