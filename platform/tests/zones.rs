//! Promise: zones nest, and a way through zones is the route in the common zone with the ways to
//! and from the gateways of this route.

use platform::{HostId, Platform};
use testing::cases::read_cases;

fn parse(text: &str) -> Platform {
    Platform::parse("z.toml", text).unwrap_or_else(|error| panic!("{error}"))
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

/// Links with the bandwidth 1GBps and the latency 1ms.
fn links(names: &[&str]) -> String {
    let line = |name: &&str| {
        format!(
            "{name} = {{ bandwidth = \"1GBps\", latency = \"1ms\", sharing = \"split-duplex\" }}\n"
        )
    };
    names.iter().map(line).collect()
}

/// Two sites in a country, and a third one outside.
fn nested() -> String {
    format!(
        r#"
version = 1
[links]
{}
[clusters.lab]
hosts = "lab-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"

[zones.country]
routing = "dijkstra"
gateway = "border"
routers = ["border"]

[zones.country.zones.north]
routing = "star"
routers = ["north-door"]
gateway = "north-door"
hosts = {{ n0 = {{ speed = "1Gf" }}, n1 = {{ speed = "2Gf" }} }}
routes = [{{ from = "n0", to = "*", links = ["n0", "north"] }}, {{ from = "n1", to = "*", links = ["n1", "north"] }}]

[zones.country.zones.south]
routing = "full"
hosts = {{ s0 = {{ speed = "1Gf" }}, s1 = {{ speed = "1Gf" }} }}
routes = [{{ from = "s0", to = "s1", links = ["s01"] }}]

[[zones.country.routes]]
from = "north"
to = "border"
links = ["nb"]

[[zones.country.routes]]
from = "border"
to = "south"
gateway_to = "s1"
links = ["bs"]

[[routes]]
from = "lab"
to = "country"
links = ["world"]
"#,
        links(&["world", "n0", "n1", "north", "s01", "nb", "bs"])
    )
}

#[test]
fn a_way_leads_over_all_gateways_and_back_on_the_other_direction() {
    let platform = parse(&nested());
    assert_eq!(platform.host_count(), 8);
    assert_eq!(
        names(&platform, "n0", "n1"),
        "n0:up north:up north:down n1:down"
    );
    assert_eq!(names(&platform, "n0", "s1"), "n0:up north:up nb:up bs:up");
    assert_eq!(
        names(&platform, "n0", "s0"),
        "n0:up north:up nb:up bs:up s01:down"
    );
    assert_eq!(
        names(&platform, "lab-2", "s0"),
        "lab-2:up world:up bs:up s01:down"
    );
    assert_eq!(
        names(&platform, "s0", "lab-2"),
        "s01:up bs:down world:down lab-2:down"
    );
    assert_eq!(
        names(&platform, "lab-0", "n1"),
        "lab-0:up world:up nb:down north:down n1:down"
    );
    let all: Vec<HostId> = platform.hosts().collect();
    platform.check_routes(&all).expect("all hosts are joined");
}

#[test]
fn zones_print_back_as_the_same_platform() {
    let platform = parse(&nested());
    let printed = platform.to_toml();
    let again = parse(&printed);
    assert_eq!(again.to_toml(), printed);
    for from in platform.hosts() {
        for to in platform.hosts() {
            let (one, two) = (platform.route(from, to), again.route(from, to));
            assert_eq!(one.expect("a route"), two.expect("a route"));
        }
    }
}

#[test]
fn a_link_that_is_twice_on_a_way_through_a_star_counts_once() {
    let shared = nested().replace(
        "north = { bandwidth = \"1GBps\", latency = \"1ms\", sharing = \"split-duplex\" }",
        "north = { bandwidth = \"1GBps\", latency = \"1ms\" }",
    );
    let platform = parse(&shared);
    assert_eq!(names(&platform, "n0", "n1"), "n0:up north n1:down");
    let host = |name| platform.host_by_name(name).expect("a host");
    let route = platform.route(host("n0"), host("n1")).expect("a route");
    assert!((route.latency_s - 3e-3).abs() < 1e-12);
    assert_eq!(names(&platform, "n0", "n0"), "loopback");
    let itself = shared.replace(
        "routing = \"star\"",
        "routing = \"star\"\nto_itself = \"links\"",
    );
    assert_eq!(names(&parse(&itself), "n0", "n0"), "n0:up north n0:down");
}

/// A ring of eight routers with a host at each, and a chord.
fn ring(routing: &str) -> Platform {
    use std::fmt::Write as _;
    let mut text = format!("version = 1\nrouting = \"{routing}\"\nrouters = [");
    for at in 0..8 {
        write!(text, "\"r{at}\", ").expect("text");
    }
    text.push_str("]\n[links]\n");
    for at in 0..8 {
        text.push_str(&links(&[&format!("h{at}"), &format!("ring{at}")]));
    }
    text.push_str(&links(&["chord"]));
    for at in 0..8 {
        writeln!(text, "[hosts.h{at}]\nspeed = \"1Gf\"").expect("text");
    }
    let mut route = |from: String, to: String, link: String| {
        writeln!(
            text,
            "[[routes]]\nfrom = \"{from}\"\nto = \"{to}\"\nlinks = [\"{link}\"]"
        )
        .expect("text");
    };
    for at in 0..8 {
        route(format!("h{at}"), format!("r{at}"), format!("h{at}"));
        route(
            format!("r{at}"),
            format!("r{}", (at + 1) % 8),
            format!("ring{at}"),
        );
    }
    route("r0".to_owned(), "r4".to_owned(), "chord".to_owned());
    parse(&text)
}

#[test]
fn shortest_ways_are_found_by_dijkstra_and_floyd() {
    for routing in ["dijkstra", "floyd"] {
        let ring = ring(routing);
        assert_eq!(names(&ring, "h0", "h2"), "h0:up ring0:up ring1:up h2:down");
        assert_eq!(names(&ring, "h0", "h4"), "h0:up chord:up h4:down");
        assert_eq!(
            names(&ring, "h5", "h0"),
            "h5:up ring4:down chord:down h0:down"
        );
        let all: Vec<HostId> = ring.hosts().collect();
        ring.check_routes(&all).expect("all hosts are joined");
        for from in ring.hosts() {
            for to in ring.hosts() {
                let there = ring.route(from, to).expect("a route").hops.len();
                let back = ring.route(to, from).expect("a route").hops.len();
                assert_eq!(there, back);
            }
        }
    }
}

#[test]
fn vivaldi_adds_the_distance_of_coordinates() {
    let text = format!(
        r#"
version = 1
routing = "vivaldi"
[links]
{}
[hosts.a]
speed = "1Gf"
coordinates = [0, 0, 1]
[hosts.b]
speed = "1Gf"
coordinates = [3.0, 4.0, 0.5]
[[routes]]
from = "a"
to = "*"
links = ["a"]
[[routes]]
from = "b"
to = "*"
links = ["b"]
"#,
        links(&["a", "b"])
    );
    let platform = parse(&text);
    assert_eq!(names(&platform, "a", "b"), "a:up b:down");
    let route = platform.route(HostId(0), HostId(1)).expect("a route");
    assert!((route.latency_s - 8.5e-3).abs() < 1e-12);
    // Without links the distance is the whole way, and a host reaches itself as everywhere.
    let (start, _) = text.split_once("[[routes]]").expect("routes");
    let platform = parse(start);
    let route = platform.route(HostId(0), HostId(1)).expect("a route");
    assert!(route.hops.is_empty());
    assert!((route.latency_s - 6.5e-3).abs() < 1e-12, "{route:?}");
    assert_eq!(names(&platform, "a", "a"), "loopback");
    let all: Vec<HostId> = platform.hosts().collect();
    assert_eq!(platform.check_routes(&all), Ok(()));
}

#[test]
fn a_bypass_is_taken_before_the_ways_of_its_zone() {
    let text = r#"
version = 1
routing = "star"
hosts = { a = { speed = "1f" }, b = { speed = "1f" } }
links = { la = { bandwidth = "1Bps", latency = "1s" }, lb = { bandwidth = "1Bps", latency = "1s" }, x = { bandwidth = "1Bps", latency = "1s", sharing = "split-duplex" } }
routes = [
  { from = "a", to = "*", links = ["la"] },
  { from = "b", to = "*", links = ["lb"] },
  { from = "a", to = "b", links = ["x"], bypass = true },
]
"#;
    let platform = parse(text);
    assert_eq!(names(&platform, "a", "b"), "x:up");
    assert_eq!(names(&platform, "b", "a"), "x:down");
    let printed = parse(&platform.to_toml());
    assert_eq!(names(&printed, "b", "a"), "x:down");
    let one_way = parse(&text.replace("bypass = true", "bypass = true, symmetric = false"));
    assert_eq!(names(&one_way, "a", "b"), "x:up");
    assert_eq!(names(&one_way, "b", "a"), "lb la");
    let refused = |from: &str, to: &str| {
        let text = text.replace(from, to);
        let error = Platform::parse("z.toml", &text).expect_err("a mistake");
        error.to_string()
    };
    let found = refused("to = \"b\"", "to = \"c\"");
    let expected =
        "no host, router, cluster or zone \"c\" in this zone: a bypass joins members of the zone";
    assert!(found.contains(expected), "{found}");
    let found = refused("to = \"b\"", "to = \"a\"");
    assert!(
        found.contains("a bypass from \"a\" to itself: expected two different members"),
        "{found}"
    );
    let twice = "{ from = \"a\", to = \"b\", links = [\"x\"], bypass = true },\n  ";
    let found = refused(
        "{ from = \"b\", to = \"*\"",
        &format!("{twice}{{ from = \"b\", to = \"*\""),
    );
    assert!(
        found.contains("duplicate route from \"a\" to \"b\""),
        "{found}"
    );
}

#[test]
fn a_gateway_may_be_a_host_of_a_cluster() {
    let text = format!(
        r#"
version = 1
[links]
{}
[clusters.tree]
topology = "fat-tree"
hosts = "t-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
down = [2, 2]
up = [1, 1]
gateway = "t-1"
[clusters.lab]
hosts = "lab-[0-3]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
[[routes]]
from = "tree"
to = "lab"
gateway_to = "lab-3"
links = ["wan"]
"#,
        links(&["wan"])
    );
    let platform = parse(&text);
    assert_eq!(
        names(&platform, "t-0", "lab-0"),
        "t-0:up t-1:down wan:up lab-3:up lab-0:down"
    );
    assert_eq!(names(&platform, "t-1", "lab-3"), "wan:up");
    assert_eq!(
        names(&platform, "lab-3", "t-2"),
        "wan:down t-1:up tree/1.0:up tree/1.1:down t-2:down"
    );
    let without = text.replace("gateway = \"t-1\"\n", "");
    let error = Platform::parse("z.toml", &without)
        .expect_err("a mistake")
        .to_string();
    assert!(
        error.ends_with(
            "missing gateway: cluster \"tree\" has no gateway for its routes: expected one of its hosts as \
             gateway_from in the route, or as gateway in the cluster"
        ),
        "{error}"
    );
}

#[test]
fn what_is_not_joined_is_said_with_the_table_to_write() {
    let text = nested().replace(
        "[[zones.country.routes]]\nfrom = \"north\"",
        "[[zones.country.routes]]\nsymmetric = false\nfrom = \"north\"",
    );
    let platform = parse(&text);
    let host = |name| platform.host_by_name(name).expect("a host");
    let error = platform
        .route(host("s0"), host("n0"))
        .expect_err("no route");
    assert_eq!(
        error.to_string(),
        "no route from host \"s0\" to host \"n0\": add [[zones.country.routes]] with from = \
         \"south\", to = \"north\""
    );
    let all: Vec<HostId> = platform.hosts().collect();
    assert!(platform.check_routes(&all).is_err());
    let none = parse(
        "version = 1\nrouting = \"none\"\nhosts = { a = { speed = \"1f\" }, b = { speed = \"1f\" } }\n",
    );
    assert!(none.route(HostId(0), HostId(1)).is_err());
    assert_eq!(names(&none, "a", "a"), "loopback");
}

#[test]
fn mistakes() {
    for case in read_cases(include_str!("zones.txt")) {
        let ([from, to], text) = (case.given_parts(), nested());
        assert!(text.contains(from), "zones.txt:{}", case.line);
        let found = Platform::parse("z.toml", &text.replacen(from, to, 1))
            .map_err(|error| error.to_string());
        case.assert_expected("zones.txt", &found.expect_err(&case.expected));
    }
    let deep: String = (0..20).map(|depth| format!("zones.z{depth}.")).collect();
    let deep = format!("version = 1\n[hosts.a]\nspeed = \"1f\"\n[{deep}hosts.b]\nspeed = \"1f\"\n");
    let error = Platform::parse("z.toml", &deep).expect_err("a mistake");
    assert!(
        error
            .to_string()
            .contains("zones nest more than 16 deep: expected fewer zones around it")
    );
}

#[test]
fn members_that_are_not_joined_are_found_zone_by_zone() {
    assert_eq!(parse(&nested()).unreachable(), []);
    let gap = |from: &str, to: &str| {
        let text = nested();
        assert!(text.contains(from), "{from}");
        let found = parse(&text.replacen(from, to, 1)).unreachable();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        found.join("\n")
    };
    // One direction of one route between zones, and a zone whose members have no ways at all.
    assert_eq!(
        gap("from = \"lab\"", "symmetric = false\nfrom = \"lab\""),
        "\"country\" does not reach \"lab\": expected a route from \"country\" to \"lab\" in [[routes]]"
    );
    let none = parse(
        "version = 1\nrouting = \"none\"\nhosts = { a = { speed = \"1f\" }, b = { speed = \"1f\" } }\n",
    );
    assert_eq!(none.unreachable().len(), 1);
    let ring = parse(
        r#"
version = 1
routing = "floyd"
routers = ["r"]
hosts = { a = { speed = "1f" }, b = { speed = "1f" }, c = { speed = "1f" } }
links = { l = { bandwidth = "1Bps", latency = "1s" } }
routes = [{ from = "a", to = "r", links = ["l"] }, { from = "r", to = "b", links = ["l"] }]
"#,
    );
    let gap = &ring.unreachable()[0];
    assert_eq!((gap.from.as_str(), gap.to.as_str()), ("a", "c"));
    let star = parse(
        "version = 1\nrouting = \"star\"\nlinks = { l = { bandwidth = \"1Bps\", latency = \"1s\" } }\n\
         hosts = { a = { speed = \"1f\" }, b = { speed = \"1f\" } }\n\
         routes = [{ from = \"a\", to = \"*\", links = [\"l\"] }]\n",
    );
    let gap = &star.unreachable()[0];
    assert_eq!((gap.from.as_str(), gap.to.as_str()), ("b", "a"));
}
