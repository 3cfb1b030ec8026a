//! Promise: load and congestion of links equal the values known by hand; bytes are conserved.

use std::collections::BTreeMap;

use mpi::prelude::*;
use observe::LogEntry;
use report::network::{LinkLoad, NetworkAnalysis, NetworkReport};
use sim_core::Outcome;

use crate::common::{observed, read, table};

/// Returns the analysis of a run of a program.
fn analysed<Fut>(platform: &str, ranks: u32, program: fn(Comm) -> Fut) -> NetworkReport
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let (log, run) = observed(platform, ranks, program);
    assert_eq!(run.outcome, Outcome::Finished);
    let mut analysis = NetworkAnalysis::new(ranks);
    let reader = read(&log, |entry, _| match entry {
        LogEntry::Rank(rank, time, event) => analysis.handle_event(rank, time, &event),
        LogEntry::Network(time, event) => analysis.handle_network_event(time, &event),
    });
    analysis.finish_report(&reader)
}

/// Two hosts on each side of a trunk of 1 GB/s and 1 ms.
const TRUNK: &str = r#"
version = 1
[network]
model = "flow"
[protocol]
eager_threshold = "1GB"
[hosts]
left-0 = { speed = "1Gf" }
left-1 = { speed = "1Gf" }
right-0 = { speed = "1Gf" }
right-1 = { speed = "1Gf" }
[links.trunk]
bandwidth = "1GBps"
latency = "1ms"
sharing = "split-duplex"
[links.wire]
bandwidth = "4GBps"
latency = "0s"
sharing = "split-duplex"
[[routes]]
from = "left-0"
to = "right-0"
links = ["wire", "trunk"]
[[routes]]
from = "left-1"
to = "right-1"
links = ["trunk"]
# Not used.
[[routes]]
from = "left-0"
to = "left-1"
links = ["wire"]
[[routes]]
from = "left-0"
to = "right-1"
links = ["wire"]
[[routes]]
from = "left-1"
to = "right-0"
links = ["wire"]
[[routes]]
from = "right-0"
to = "right-1"
links = ["wire"]
"#;

/// The app `congestion`: 300 MB, and 100 MB of another job from 0.1 s on.
async fn congestion(world: Comm) -> Result<()> {
    let rank = world.rank();
    for (source, bytes, delay) in [(0, 300_000_000, 0.0), (1, 100_000_000, 0.1)] {
        let mut message = world.buffer(bytes);
        if rank == source {
            world.sleep(delay).await;
            world.send(&message, source + 2, 0).await?;
        } else if rank == source + 2 {
            world.recv(&mut message, source, 0).await?;
        }
    }
    Ok(())
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs(),
        "{found}, but {expected} by hand"
    );
}

fn link<'a>(report: &'a NetworkReport, name: &str) -> &'a LinkLoad {
    let found = report.links.iter().find(|link| link.name == name);
    found.unwrap_or_else(|| panic!("no {name}: {:?}", report.links))
}

#[test]
fn congestion_of_a_shared_link_by_hand() {
    let report = analysed(TRUNK, 4, congestion);
    // From 1 ms to 101 ms A alone: 100 MB; then both at 500 MB/s until B has its 100 MB at 301 ms;
    // then A alone again: the last 100 MB until 401 ms.
    near(report.end_s, 0.401);
    let trunk = link(&report, "trunk:up");
    near(trunk.bytes, 400e6);
    near(trunk.busy_s, 0.4);
    near(trunk.congested_s, 0.2);
    // Each is half as fast for 0.2 s.
    near(trunk.delay_s, 0.2);
    near(trunk.utilisation, 0.4 / 0.401);
    near(trunk.flows_mean, (0.4 + 0.2) / 0.401);
    assert_eq!(trunk.flows_max, 2);
    let pairs = trunk.pairs.iter();
    let pairs: Vec<_> = pairs
        .map(|pair| (pair.source, pair.destination, pair.bytes, pair.error_bytes))
        .collect();
    assert_eq!(pairs, [(0, 2, 300e6, 0.0), (1, 3, 100e6, 0.0)]);
    let wire = link(&report, "wire:up");
    near(wire.bytes, 300e6);
    near(wire.busy_s, 0.4);
    near(wire.utilisation, 300e6 / (4e9 * 0.401));
    assert_eq!((wire.congested_s, wire.delay_s), (0.0, 0.0));
    assert_eq!((report.links.len(), report.other_delay_s), (2, 0.0));

    let by_delay = report.hot.by_delay.iter().map(|link| &*link.name);
    assert_eq!(by_delay.collect::<Vec<_>>(), ["trunk:up"]);
    let text = report.to_string();
    let expected = "links that delay most:\n  trunk:up: 400.000 MB, 99.8% used, congested for 200.000 ms of 401.000 ms, delays its flows by 200.000 ms; ranks 0 to 2 75.0%, 1 to 3 25.0%\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn the_utilisation_of_a_link_that_changes_is_that_of_what_it_can_carry() {
    let profile = "[links.trunk]\nbandwidth_profile = { points = [[\"401ms\", \"500MBps\"]] }";
    let platform = TRUNK.replace("[links.trunk]", profile);
    let platform = platform.replace("\nbandwidth = \"1GBps\"", "\nbandwidth = \"2GBps\"");
    // All is over before the change.
    let report = analysed(&platform, 4, congestion);
    let end = report.end_s;
    let trunk = link(&report, "trunk:up");
    near(trunk.bytes, 400e6);
    near(trunk.utilisation, 400e6 / (2e9 * end));
    let early = platform.replace("401ms", "100ms");
    let report = analysed(&early, 4, congestion);
    let trunk = link(&report, "trunk:up");
    let capacity = 2e9 * 0.1 + 0.5e9 * (report.end_s - 0.1);
    near(trunk.bytes, 400e6);
    near(trunk.utilisation, 400e6 / capacity);
    // It is full all the time, at 2 GB/s and from 100 ms on at 500 MB/s, also in the bin between.
    let over_time = &report.over_time;
    assert_eq!(over_time.links[0], "trunk:up");
    let parts = &over_time.utilisation[0];
    assert!(parts.len() > 200, "{}", parts.len());
    let is_full = |part: &f64| (part - 1.0).abs() < 1e-9;
    assert!(parts[2..].iter().all(is_full), "{parts:?}");
}

#[test]
fn utilisation_as_a_function_of_time() {
    let report = analysed(TRUNK, 4, congestion);
    let over_time = &report.over_time;
    assert_eq!(over_time.links, ["trunk:up", "wire:up"]);
    // Bins of 2^-10 s: 0.401 s are 411 of them.
    assert_eq!(over_time.bin_s, 1.0 / 1024.0);
    let trunk = &over_time.utilisation[0];
    assert_eq!(trunk.len(), 411);
    // Nothing moves in the first ms, which is longer than the first bin.
    assert_eq!(trunk[0], 0.0);
    near(trunk[1], 2.0 - 1.024);
    assert!(trunk[2..].iter().all(|part| (part - 1.0).abs() < 1e-9));
    // The other has a quarter, or an eighth.
    let wire = &over_time.utilisation[1];
    near(wire[50], 0.25);
    near(wire[200], 0.125);
}

#[test]
fn tables_have_a_row_for_each_link_pair_and_length() {
    let report = analysed(TRUNK, 4, congestion);
    let pairs = table(|out| report.write_pairs(out));
    assert_eq!(
        pairs,
        "source,destination,ranks_per_block,messages,bytes\n0,2,1,1,300000000\n1,3,1,1,100000000\n"
    );
    let sizes = table(|out| report.write_sizes(out));
    let lines: Vec<&str> = sizes.lines().collect();
    let [_, row_a, row_b] = &lines[..] else {
        panic!("{sizes}");
    };
    assert!(row_a.ends_with(",false,67108864,1,100000000"), "{sizes}");
    assert!(row_b.ends_with(",false,268435456,1,300000000"), "{sizes}");
    let links = table(|out| report.write_links(out));
    assert!(
        links.contains("\ntrunk:up,1000000000,400000000,"),
        "{links}"
    );
    assert_eq!(links.lines().count(), 3);
}

const CLUSTER: &str = r#"
version = 1
[protocol]
eager_threshold = "10KiB"
[clusters.nodes]
hosts = "node-[0-3]"
speed = "1Gf"
cores = 2
bandwidth = "1GBps"
latency = "1us"
"#;

const LOGGOPS: &str = r#"
[network]
model = "loggops"
latency = "2us"
overhead = "1us"
gap = "1us"
gap_per_byte = "1ns"
overhead_per_byte = "0ns"
"#;

async fn exchange(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for distance in 1..size {
        let message = world.buffer(1000 * (rank as u64 + distance as u64));
        let mut answer = world.buffer(20_000);
        let mut sending = world.isend(message, (rank + distance) % size, 0)?;
        let source = (rank + size - distance) % size;
        world.recv(&mut answer, source, 0).await?;
        sending.wait().await?;
    }
    let own = world.buffer(4096);
    world.allreduce(&own, &Op::sum::<u64>()).await.map(drop)
}

/// Σ bytes of the links out of hosts = Σ bytes of messages between hosts, and the same into hosts.
#[test]
fn bytes_are_conserved() {
    for model in ["flow", "lv08", "ib"] {
        let platform = format!("{CLUSTER}[network]\nmodel = \"{model}\"\n");
        let report = analysed(&platform, 8, exchange);
        // A host has the ranks of its cores.
        let host = |rank: u32| rank / 2;
        let entries = report.matrix.entries.iter();
        let inter = entries.filter(|entry| host(entry.source) != host(entry.destination));
        let (mut out, mut into) = (BTreeMap::new(), BTreeMap::new());
        for entry in inter {
            *out.entry(host(entry.source)).or_insert(0) += entry.bytes;
            *into.entry(host(entry.destination)).or_insert(0) += entry.bytes;
        }
        assert_eq!((out.len(), into.len()), (4, 4));
        for (direction, bytes) in [("up", out), ("down", into)] {
            for (host, bytes) in bytes {
                let link = link(&report, &format!("node-{host}:{direction}"));
                near(link.bytes, bytes as f64);
                assert!(link.congested_s <= link.busy_s && link.busy_s <= report.end_s);
                assert!(link.utilisation <= 1.0 + 1e-9);
            }
        }
        let calls: u64 = report.sizes.iter().map(|call| call.bytes).sum();
        let pairs: u64 = report.matrix.entries.iter().map(|entry| entry.bytes).sum();
        assert_eq!(calls, pairs);
        let classes: Vec<_> = report.classes.iter().map(|class| &*class.pattern).collect();
        assert!(classes.contains(&"node-*:up"), "{classes:?}");
        let mut calls = report.sizes.iter();
        assert!(calls.any(|call| call.call == "allreduce" && call.collective));
    }
}

/// Rank 0 computes while two messages come, and takes them 1 s and 2 s later.
async fn late_receiver(world: Comm) -> Result<()> {
    let mut message = world.buffer(1000);
    if world.rank() > 0 {
        return world.send(&message, 0, 0).await;
    }
    for _ in 1..world.size() {
        world.sleep(1.0).await;
        world.recv(&mut message, ANY_SOURCE, 0).await?;
    }
    Ok(())
}

#[test]
fn unexpected_messages_by_hand() {
    let report = analysed(CLUSTER, 3, late_receiver);
    let [rank] = &report.unexpected[..] else {
        panic!("{:?}", report.unexpected);
    };
    assert_eq!((rank.rank, rank.messages, rank.bytes), (0, 2, 2000));
    assert_eq!((rank.waiting_max, rank.bytes_max), (2, 2000));
    // Two for 1 s and one for another, less the times of flight: 2 us of latency, and half of the
    // receiver's link.
    near(report.end_s, 2.0);
    let flights = 2.0 * (2e-6 + 2000.0 / 1e9);
    near(rank.waiting_mean, (3.0 - flights) / 2.0);
    // The oldest first, each time.
    assert_eq!((rank.distance_max, rank.distance_mean), (1, 1.0));
}

#[test]
fn the_page_tells_unexpected_messages_of_a_network_without_links() {
    let platform = format!("{CLUSTER}{LOGGOPS}");
    let report = analysed(&platform, 3, late_receiver);
    assert!(report.links.is_empty());
    let expected =
        "unexpected messages: 2; ranks with some: 1; at most 2 wait at once, at rank 0\n";
    assert_eq!(report.to_string(), expected);
}

/// Rank 0 receives the messages of rank 1 in tag order 3, 0, 1, 2; rank 1 sends tags 0 to 3.
async fn out_of_order(world: Comm) -> Result<()> {
    let mut message = world.buffer(1000);
    if world.rank() > 0 {
        for tag in 0..4 {
            world.send(&message, 0, tag).await?;
        }
        return Ok(());
    }
    world.sleep(1.0).await;
    for tag in [3, 0, 1, 2] {
        world.recv(&mut message, 1, tag).await?;
    }
    Ok(())
}

#[test]
fn the_match_distance_by_hand() {
    let report = analysed(CLUSTER, 2, out_of_order);
    let [rank] = &report.unexpected[..] else {
        panic!("{:?}", report.unexpected);
    };
    // It examines 4 messages, and then the first of 3, 2 and 1.
    assert_eq!((rank.distance_max, rank.distance_mean), (4, 7.0 / 4.0));
    let table = table(|out| report.write_unexpected(out));
    let (columns, row) = (table.lines().next(), table.lines().nth(1));
    assert!(columns.is_some_and(|all| all.ends_with(",distance_max,distance_mean")));
    assert!(row.is_some_and(|row| row.ends_with(",4,1.75")), "{table}");
}

/// Passes a token of few bytes; most of the time of the run is latency.
async fn ring(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut token = world.buffer(100);
    for _ in 0..50 {
        if rank == 0 {
            world.send(&token, 1, 0).await?;
        }
        world.recv(&mut token, (rank + size - 1) % size, 0).await?;
        if rank > 0 {
            world.send(&token, (rank + 1) % size, 0).await?;
        }
    }
    Ok(())
}

/// Rounding is no delay.
#[test]
fn messages_one_at_a_time_are_not_delayed() {
    for model in ["flow", "lv08"] {
        let platform = format!("{CLUSTER}[network]\nmodel = \"{model}\"\n");
        let report = analysed(&platform, 8, ring);
        assert!(report.hot.by_delay.is_empty(), "{:?}", report.hot.by_delay);
        assert_eq!(report.other_delay_s, 0.0);
        let text = report.to_string();
        let title = "links with most bytes; none delays a message:\n";
        assert!(text.starts_with(title), "{text}");
    }
}
