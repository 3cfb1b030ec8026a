//! Promise: disks share the bandwidth of reads, of writes, and of both together; disks are
//! described in the file, and mistakes in this description are reported with their place.
//!
//! The dates of sharing are the dates that `SimGrid` 3.32 gives for `io_init` on a disk of 2e8 and
//! 1e8 bytes/s, and closed forms.

use platform::{DiskId, DiskInfo, LoadError, Override, Platform, profile};
use sim_core::{Change, End, HostId, Io, Resource, Work};
use simgrid_import::import;
use testing::lab::Lab;

const HOST: &str = r#"
version = 1
[hosts.a]
speed = "1Gf"
[hosts.a.disks.d]
read_bandwidth = "200MBps"
write_bandwidth = "100MBps"
"#;

fn with_total(total: &str) -> Lab {
    Lab::new(&format!("{HOST}total_bandwidth = \"{total}\"\n"))
}

#[test]
fn one_operation_has_the_bandwidth_of_its_side() {
    let mut lab = Lab::new(HOST);
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.expect(&[(1.0, &[0])], 0.0);
    lab.io(("a", "d"), Io::Write, 2e8, 1.0);
    lab.expect(&[(3.0, &[1])], 0.0);
    // No bytes take no time, and no host computes.
    lab.io(("a", "d"), Io::Write, 0.0, 1.0);
    lab.exec("a", 1e9, 1.0, f64::INFINITY);
    lab.expect(&[(3.0, &[2]), (4.0, &[3])], 0.0);
}

#[test]
fn operations_share_a_side_and_the_disk() {
    // Two readers: 1e8 each until the first ends, then 2e8.
    let mut lab = Lab::new(HOST);
    lab.io(("a", "d"), Io::Read, 1e8, 1.0);
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.expect(&[(1.0, &[0]), (1.5, &[1])], 1e-15);
    // One of each: 1e8 each, as the disk does 2e8 in all.
    let mut lab = Lab::new(HOST);
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.io(("a", "d"), Io::Write, 1e8, 1.0);
    lab.expect(&[(1.0, &[1]), (1.5, &[0])], 1e-15);
    // Two writers have half of 1e8 each, which leaves 1e8 for the reader.
    let mut lab = Lab::new(HOST);
    lab.io(("a", "d"), Io::Write, 1e8, 1.0);
    lab.io(("a", "d"), Io::Write, 2e8, 1.0);
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.expect(&[(2.0, &[0, 2]), (3.0, &[1])], 1e-15);
}

#[test]
fn a_total_limits_both_sides_together() {
    // 150 MB/s in all: 75 each; then the writer has its 100.
    let mut lab = with_total("150MBps");
    lab.io(("a", "d"), Io::Read, 7.5e7, 1.0);
    lab.io(("a", "d"), Io::Write, 1.75e8, 1.0);
    lab.expect(&[(1.0, &[0]), (2.0, &[1])], 1e-15);
    // More than both sides together limits nothing.
    let mut lab = with_total("1GBps");
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.io(("a", "d"), Io::Write, 1e8, 1.0);
    lab.expect(&[(1.0, &[0, 1])], 1e-15);
    // Less than one side limits that one alone.
    let mut lab = with_total("50MBps");
    lab.io(("a", "d"), Io::Read, 1e8, 1.0);
    lab.expect(&[(2.0, &[0])], 1e-15);
}

#[test]
fn priorities_weigh() {
    // Two thirds and one third: 2e8 in 1.5 s; the other has 1e8 left.
    let mut lab = Lab::new(HOST);
    lab.io(("a", "d"), Io::Read, 2e8, 2.0);
    let second = lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.expect(&[(1.5, &[0]), (2.0, &[1])], 1e-15);
    // A priority changes while it runs; a bound means nothing.
    let first = lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    let other = lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    let (model, now) = lab.model();
    model.update(first, Change::Priority(3.0), now);
    model.update(other, Change::Bound(1.0), now);
    lab.expect(&[(2.0 + 4.0 / 3.0, &[2]), (4.0, &[3])], 1e-15);
    assert_eq!(second.number, 1);
}

#[test]
fn operations_are_suspended_cancelled_and_fail_with_their_host() {
    let mut lab = Lab::new(HOST);
    let first = lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.wait_until(0.25);
    assert_eq!(lab.remaining(first), 1.5e8);
    let (model, now) = lab.model();
    model.set_suspended(first, true, now);
    lab.wait_until(1.0);
    assert_eq!(lab.remaining(first), 1.5e8);
    let (model, now) = lab.model();
    model.set_suspended(first, false, now);
    let second = lab.io(("a", "d"), Io::Write, 1e8, 1.0);
    let (model, now) = lab.model();
    model.cancel(second, now);
    lab.wait_until(1.5);
    assert_eq!(lab.remaining(first), 5e7);
    lab.change(profile::Change::Host(HostId(0), false));
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((1.5, vec![(0, End::Failed)]))
    );
    // What starts on it while it is off fails at once.
    lab.io(("a", "d"), Io::Write, 1.0, 1.0);
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((1.5, vec![(2, End::Failed)]))
    );
}

const CLUSTER: &str = r#"
version = 1
[hosts.z]
speed = "1Gf"
[hosts.front]
speed = "1Gf"
disks.root = { read_bandwidth = "1GBps", write_bandwidth = "2GBps" }
disks.data = { read_bandwidth = "1GBps", write_bandwidth = "1GBps", total_bandwidth = "1.5GBps" }
[clusters.nodes]
hosts = "node-[0-99]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
disks.scratch = { read_bandwidth = "3GBps", write_bandwidth = "1GBps" }
disks.tape = { read_bandwidth = "1MBps", write_bandwidth = "1MBps" }
[clusters.bare]
hosts = "bare-[0-9]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

fn parse(text: &str) -> Platform {
    Platform::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_host_of_a_cluster_has_its_own_disks() {
    let platform = parse(CLUSTER);
    assert_eq!(platform.disk_count(), 202);
    let mut seen = Vec::new();
    for host in platform.hosts() {
        let name = platform.host_name(host).into_owned();
        let names: &[&str] = match &name {
            name if name.starts_with("node") => &["scratch", "tape"],
            name if name == "front" => &["root", "data"],
            _ => &[],
        };
        for disk in names {
            let id = platform.disk_by_name(host, disk).expect("a disk");
            let info = platform.disk(id).expect("the same");
            assert_eq!((info.host, info.name), (host, *disk));
            assert_eq!(platform.disk_host(id), host);
            seen.push(id);
        }
        assert_eq!(platform.disk_by_name(host, "none"), None);
        assert_eq!(
            platform.disk_by_name(host, "tape").is_some(),
            names.contains(&"tape")
        );
    }
    assert_eq!(seen, (0..202).map(DiskId).collect::<Vec<_>>());
    assert_eq!(platform.disk(DiskId(202)), None);
    let front = platform.host_by_name("front").expect("a host");
    let root = platform.disk_by_name(front, "root").expect("a disk");
    let wanted = DiskInfo {
        name: "root",
        host: front,
        read_bandwidth: 1e9,
        write_bandwidth: 2e9,
        total_bandwidth: 2e9,
    };
    assert_eq!(platform.disk(root), Some(wanted));
}

#[test]
fn disks_of_different_hosts_do_not_meet() {
    let mut lab = Lab::new(CLUSTER);
    lab.io(("node-3", "scratch"), Io::Read, 3e9, 1.0);
    lab.io(("node-4", "scratch"), Io::Read, 3e9, 1.0);
    lab.io(("node-4", "tape"), Io::Read, 1e6, 1.0);
    lab.io(("front", "data"), Io::Read, 1e9, 1.0);
    lab.io(("node-99", "tape"), Io::Write, 1e6, 1.0);
    lab.expect(&[(1.0, &[0, 1, 2, 3, 4])], 1e-15);
}

#[test]
fn a_summary_shows_them_and_a_change_of_a_side_changes_the_total() {
    let platform = parse(CLUSTER);
    let summary = platform.summary().to_string();
    for line in [
        "disk      root of front: reads 1GBps, writes 2GBps, in all 2GBps\n",
        "disk      data of front: reads 1GBps, writes 1GBps, in all 1.5GBps\n",
        "disk      scratch of each host of nodes: reads 3GBps, writes 1GBps, in all 3GBps\n",
    ] {
        assert!(summary.contains(line), "{line} in {summary}");
    }
    let again = parse(&platform.to_toml());
    assert_eq!(again.to_toml(), platform.to_toml());
    let change: Override = "*.*.disks.*.read_bandwidth*=4".parse().expect("a change");
    let faster = platform
        .with_overrides("p.toml", &[change])
        .expect("a platform");
    let front = faster.host_by_name("front").expect("a host");
    let disk = |name| {
        let id = faster.disk_by_name(front, name).expect("a disk");
        faster.disk(id).expect("the same")
    };
    assert_eq!(
        (disk("root").read_bandwidth, disk("root").total_bandwidth),
        (4e9, 4e9)
    );
    assert_eq!(
        (disk("data").read_bandwidth, disk("data").total_bandwidth),
        (4e9, 1.5e9)
    );
}

#[test]
fn mistakes_have_their_place() {
    let text = r#"version = 1
[hosts.a]
speed = "1Gf"
[hosts.a.disks.one]
read_bandwidth = "200MB"
write_bandwith = "100MBps"
[hosts.a.disks.two]
read_bandwidth = "0Bps"
write_bandwidth = 100
total_bandwidth = "1GBps"
[hosts.b]
speed = "1Gf"
disks = "many"
[hosts.c]
speed = "1Gf"
disks.ssd = 3
disks."" = { read_bandwidth = "1Bps", write_bandwidth = "1Bps" }
"#;
    let error = Platform::parse("p.toml", text).expect_err("mistakes");
    let found = error.to_string();
    for part in [
        "p.toml:5:18: ",
        "p.toml:6:1: unknown key \"write_bandwith\"",
        "did you mean \"write_bandwidth\"?",
        "p.toml:4:16: the disk \"one\" has no \"write_bandwidth\"",
        "p.toml:8:18: ",
        "p.toml:9:19: wrong type: the number 100",
        "p.toml:13:9: wrong type: the string \"many\": expected named tables, such as [hosts.alice.disks.ssd]",
        "p.toml:16:13: wrong type: the number 3",
        "p.toml:17:7: empty name",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    let many = "version = 1\n[clusters.c]\nhosts = \"n[0-67108863]\"\nspeed = \"1f\"\nbandwidth = \"1Bps\"\nlatency = \"0s\"\n";
    let disks: String = (0..5)
        .map(|at| {
            format!("disks.d{at} = {{ read_bandwidth = \"1Bps\", write_bandwidth = \"1Bps\" }}\n")
        })
        .collect();
    let error = Platform::parse("p.toml", &format!("{many}{disks}")).expect_err("too many");
    assert!(
        error.to_string().contains("more than 268435456 disks"),
        "{error}"
    );
}

#[test]
fn a_disk_that_is_not_there_is_refused() {
    let mut lab = Lab::new(HOST);
    let io = |disk, bytes, priority| Work::Io {
        disk: DiskId(disk),
        operation: Io::Read,
        bytes,
        priority,
    };
    for (work, message) in [
        (io(1, 1.0, 1.0), "disk number 1 of a platform with 1 disks"),
        (
            io(0, -1.0, 1.0),
            "an amount of work must be finite and at least 0, not -1",
        ),
        (
            io(0, f64::NAN, 1.0),
            "an amount of work must be finite and at least 0, not NaN",
        ),
        (
            io(0, f64::INFINITY, 1.0),
            "an amount of work must be finite and at least 0, not inf",
        ),
        (
            io(0, 1.0, 0.0),
            "a priority or a rate limit must be above 0, not 0",
        ),
        (
            io(0, 1.0, f64::NAN),
            "a priority or a rate limit must be above 0, not NaN",
        ),
    ] {
        let error = lab.try_start(&work).expect_err("it is refused");
        assert_eq!(error.to_string(), message);
    }
    // Nothing of them is left.
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.expect(&[(1.0, &[6])], 0.0);
}

#[test]
fn disks_come_from_xml() {
    let xml = r#"<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"><disk id="d" read_bw="200MBps" write_bw="100000000"/><disk id="e" read_bw="1Bps" write_bw="1Bps">
<prop id="size" value="500GiB"/></disk></host>
</zone></platform>"#;
    let imported = import("p.xml", xml).expect("a platform");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        ["p.xml:3: the property \"size\" means nothing to a run"]
    );
    let mut lab = Lab::new(&imported.toml);
    lab.io(("a", "d"), Io::Read, 2e8, 1.0);
    lab.io(("a", "d"), Io::Write, 1e8, 1.0);
    lab.expect(&[(1.0, &[1]), (1.5, &[0])], 1e-15);
    let wrong = xml
        .replace("id=\"e\"", "id=\"d\"")
        .replace("read_bw=\"200MBps\"", "read_bw=\"fast\"");
    let found = import("p.xml", &wrong).expect_err("mistakes");
    let found = LoadError::Diagnostics(found).to_string();
    assert!(
        found.contains("p.xml:2:") && found.contains("read_bw"),
        "{found}"
    );
}
