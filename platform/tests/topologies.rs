//! Promise: routes of regular clusters equal the routes of SimGrid 4.1, and size has no cost.
//!
//! Source of the expected routes: printed by SimGrid 4.1 (and again by 3.32) for 64 hosts with
//! cables of 1.25e9 B/s and 1 us, split duplex. Names are ours; they give the place of a cable:
//! `n-0:up` is the cable of a host, `t/1.0/1:up` is cable 1 of switch 0 of level 1.

use platform::{HostId, Platform};

const FAT_TREE: &str = "topology = \"fat-tree\"\ndown = [4, 4, 4]\nup = [1, 2, 2]\n";
const DRAGONFLY: &str =
    "topology = \"dragonfly\"\ngroups = 4\nchassis = 2\nrouters = 4\nnodes = 2\n";
const TORUS: &str = "topology = \"torus\"\ndimensions = [4, 4, 4]\n";

fn cluster(hosts: &str, keys: &str) -> Platform {
    let text = format!(
        "version = 1\n[clusters.t]\nhosts = \"{hosts}\"\nspeed = \"1Gf\"\nbandwidth = \"1.25GBps\"\nlatency = \"1us\"\n\
         {keys}"
    );
    Platform::parse("t.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The names of the links between two hosts of the first cluster.
fn names(platform: &Platform, from: u32, to: u32) -> String {
    let route = platform.route(HostId(from), HostId(to)).expect("a route");
    let names: Vec<String> = route
        .hops
        .iter()
        .map(|hop| platform.link(hop.link).name)
        .collect();
    names.join(" ")
}

#[track_caller]
fn check(platform: &Platform, from: u32, to: u32, latency_us: u32, expected: &str) {
    assert_eq!(names(platform, from, to), expected);
    let route = platform.route(HostId(from), HostId(to)).expect("a route");
    let expected = f64::from(latency_us) * 1e-6;
    assert!((route.latency_s - expected).abs() < 1e-15);
}

/// Returns the number of ordered pairs of hosts, themselves included, with 0, 1, 2 … hops.
fn histogram(platform: &Platform) -> Vec<u32> {
    let mut counts = vec![0; 8];
    for from in platform.hosts() {
        for to in platform.hosts() {
            let route = platform.route(from, to).expect("a route");
            let hops = route.hops.iter().filter(|hop| hop.bandwidth < 9e9).count();
            counts[hops] += 1;
        }
    }
    counts
}

#[test]
fn the_fat_tree() {
    let tree = cluster("n-[0-63]", FAT_TREE);
    check(&tree, 0, 1, 2, "n-0:up n-1:down");
    check(&tree, 0, 13, 4, "n-0:up t/1.0/1:up t/1.3/1:down n-13:down");
    let far = "n-0:up t/1.0/0:up t/2.0/0:up t/2.2/0:down t/1.6/0:down n-24:down";
    check(&tree, 0, 24, 6, far);
    let far = "n-13:up t/1.3/1:up t/2.1/0:up t/2.5/0:down t/1.11/1:down n-45:down";
    check(&tree, 13, 45, 6, far);
    // Without the way of each host to itself, which is 2 hops long in SimGrid.
    assert_eq!(histogram(&tree), [64, 0, 192, 0, 768, 0, 3072, 0]);
}

#[test]
fn the_dragonfly() {
    let fly = cluster("n-[0-63]", DRAGONFLY);
    check(&fly, 0, 1, 2, "n-0:up n-1:down");
    let near = "n-0:up t/green/0.0.0-2:up t/black/0.0-1.2:up n-13:down";
    check(&fly, 0, 13, 4, near);
    let far = "n-0:up t/green/0.0.0-1:up t/blue/0-1:up t/black/1.0-1.0:up n-24:down";
    check(&fly, 0, 24, 5, far);
    let far = "n-13:up t/black/0.0-1.2:down t/blue/0-2:up t/green/2.0.0-2:up t/black/2.0-1.2:up n-45:down";
    check(&fly, 13, 45, 6, far);
    let compat = cluster(
        "n-[0-63]",
        &format!("{DRAGONFLY}compat = \"simgrid-4.1\"\n"),
    );
    assert_eq!(histogram(&compat), [64, 0, 64, 560, 768, 1056, 1152, 432]);
    check(&compat, 13, 45, 6, far);
    check(&fly, 10, 12, 3, "n-10:up t/green/0.1.1-2:up n-12:down");
    let lost = "n-10:up t/green/0.1.1-2:up t/black/0.0-1.2:up n-12:down";
    check(&compat, 10, 12, 4, lost);
}

#[test]
fn the_torus() {
    let torus = cluster("n-[0-63]", TORUS);
    check(&torus, 0, 1, 1, "n-0/0:up");
    check(&torus, 0, 13, 2, "n-0/0:up n-13/1:down");
    check(&torus, 0, 24, 3, "n-0/1:up n-4/1:up n-8/2:up");
    check(&torus, 13, 45, 2, "n-13/2:up n-29/2:up");
    assert_eq!(histogram(&torus), [64, 384, 960, 1280, 960, 384, 64, 0]);
}

#[test]
fn limiters_loopbacks_and_several_cables() {
    let more = "limiter = \"2GBps\"\nloopback = { bandwidth = \"1GBps\", latency = \"1us\" }\n";
    let tree = "topology = \"fat-tree\"\ndown = [4, 4]\nup = [2, 2]\ncables = [3, 2]\n";
    let tree = cluster("n-[0-15]", &format!("{tree}{more}"));
    check(&tree, 3, 3, 1, "n-3:loopback");
    let way = "n-0:limiter n-0/2:up t/1.0:limiter t/1.0/3:up t/1.6/1:down t/2.2:limiter n-14/0:down t/1.6:limiter \
               n-14:limiter";
    check(&tree, 0, 14, 4, way);
    let torus = format!("topology = \"torus\"\ndimensions = [4, 3, 2]\n{more}");
    let way = "n-0:limiter n-3/0:down n-3:limiter n-11/1:down n-11:limiter n-11/2:up n-23:limiter";
    check(&cluster("n-[0-23]", &torus), 0, 23, 3, way);
    let fly = "topology = \"dragonfly\"\ngroups = 4\nchassis = 3\nrouters = 6\nnodes = 2\ncables = [3, 2, 4]\n";
    let fly = cluster("n-[0-143]", &format!("{fly}{more}"));
    let way = "n-0:limiter n-0:up t/0.0.0:limiter t/green/0.0.0-2:up t/blue/0-2:up t/0.0.2:limiter t/2.0.0:limiter \
               t/black/2.0-2.0:up t/2.2.0:limiter n-97:down n-97:limiter";
    check(&fly, 0, 97, 5, way);
    let route = fly.route(HostId(0), HostId(97)).expect("a route");
    let bandwidths: Vec<f64> = route.hops.iter().map(|hop| hop.bandwidth / 1e9).collect();
    assert_eq!(
        bandwidths,
        [2.0, 1.25, 2.0, 5.0, 3.75, 2.0, 2.0, 2.5, 2.0, 1.25, 2.0]
    );
    let flat = format!("backbone = {{ bandwidth = \"1GBps\", latency = \"3us\" }}\n{more}");
    let way = "n-0:limiter n-0:up t:backbone n-1:down n-1:limiter";
    check(&cluster("n-[0-5]", &flat), 0, 1, 5, way);
    let itself = cluster("n-[0-5]", "to_itself = \"links\"\nlimiter = \"2GBps\"\n");
    check(&itself, 2, 2, 2, "n-2:limiter n-2:up n-2:down");
    let shared = "to_itself = \"links\"\nsharing = \"shared\"\n";
    check(&cluster("n-[0-5]", shared), 2, 2, 1, "n-2:link");
}

#[test]
fn every_link_number_has_one_name_and_every_platform_prints_back() {
    let more =
        "limiter = \"2GBps\"\nloopback = { bandwidth = \"1GBps\", latency = \"1us\" }\ncables = ";
    for (hosts, keys) in [
        (
            24,
            format!("topology = \"fat-tree\"\ndown = [2, 3, 4]\nup = [2, 3, 1]\n{more}[2, 1, 3]"),
        ),
        (
            72,
            format!(
                "topology = \"dragonfly\"\ngroups = 3\nchassis = 2\nrouters = 4\nnodes = 3\n{more}[3, 2, 4]"
            ),
        ),
    ] {
        let platform = cluster(&format!("n-[0-{}]", hosts - 1), &keys);
        let ids = 0..platform.link_id_end();
        let mut names: Vec<String> = ids
            .map(|id| platform.link(platform::LinkId(id)).name)
            .collect();
        names.sort();
        // Links without directions have two numbers.
        names.dedup_by(|one, two| one == two && !one.ends_with(":up") && !one.ends_with(":down"));
        assert!(names.is_sorted_by(|one, two| one < two));
        let printed = platform.to_toml();
        let again = Platform::parse("printed.toml", &printed).expect("the same platform");
        for host in platform.hosts() {
            let way = |platform| names_of(platform, HostId(1), host);
            assert_eq!(way(&platform), way(&again));
        }
    }
}

fn names_of(platform: &Platform, from: HostId, to: HostId) -> String {
    names(platform, from.0, to.0)
}

#[test]
fn a_million_hosts_have_computed_routes() {
    let tree = cluster(
        "n-[0-1048575]",
        "topology = \"fat-tree\"\ndown = [32, 32, 32, 32]\nup = [1, 16, 16, 16]\n",
    );
    assert_eq!(tree.host_count(), 1 << 20);
    let route = tree
        .route(HostId(0), HostId((1 << 20) - 1))
        .expect("a route");
    assert_eq!(route.hops.len(), 8);
    let torus = cluster(
        "n-[0-999999]",
        "topology = \"torus\"\ndimensions = [100, 100, 100]\n",
    );
    let route = torus.route(HostId(0), HostId(505_050)).expect("a route");
    assert_eq!(route.hops.len(), 150);
    let all: Vec<HostId> = torus.hosts().collect();
    torus.check_routes(&all).expect("all hosts are joined");
}
