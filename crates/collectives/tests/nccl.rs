//! Promise: the selector `nccl` selects as the formulas of NCCL do in a calculation by hand, and
//! its trees over nodes compute the results of the operation for all placements of ranks.

use crate::common::{Job, Protocol, add};
use collectives::{Call, Collective, Explanation, Facts, Nodes, Reason, Selector, explain, find};

/// Returns a selector for a machine that differs from the machine of `nccl` by these lines.
fn machine(lines: &str) -> Result<Selector, String> {
    let head = "version = 1\nname = \"mine\"\nbase = \"nccl\"\n[nccl]\n";
    Selector::parse(&format!("{head}{lines}"))
}

fn explained(
    selector: &Selector,
    kind: Collective,
    ranks: u32,
    each: u32,
    bytes: u64,
) -> Explanation {
    let mut call = Call::new(kind, 0, ranks, bytes);
    call.nodes = (each > 1).then(|| Nodes::blocks(ranks, each));
    let facts = Facts::from_nodes(call.nodes.as_ref());
    explain(selector, &call, facts).expect("an algorithm")
}

/// Asserts the choice, and the estimates in µs, from the shortest to the longest.
fn check(found: &Explanation, name: &str, expected: &[(&str, f64)]) {
    assert_eq!(found.name, name);
    let Reason::Estimate { all, .. } = &found.reason else {
        panic!("estimates: {}", found.reason);
    };
    let names: Vec<String> = (all.iter())
        .map(|one| format!("{} {}", one.algorithm, one.protocol))
        .collect();
    let wanted: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, wanted, "{}", found.reason);
    for (one, (name, time)) in all.iter().zip(expected) {
        let difference = (one.microseconds - time).abs() / time;
        assert!(difference < 1e-5, "{name}: {} {time}", one.microseconds);
    }
}

fn nccl() -> &'static Selector {
    Selector::built_in("nccl").expect("a selector")
}

#[test]
fn short_allreduce_within_a_node() {
    let found = explained(nccl(), Collective::Allreduce, 8, 8, 1024);
    check(
        &found,
        "nccl:ring",
        &[
            // 6.6 + 14 · 0.6, and 1024 B at min(141, 320 / 2) · 8 / 14 GB/s.
            ("ring LL", 15.0 + 0.012_709),
            // 6.8 + 2 · 7 · 0.6, and min(294.4 / 3.8, 141) / 2 · 0.9 GB/s.
            ("tree LL", 15.2 + 0.029_372),
            // 14 + 2 · 7 · 1.25, and 294.4 · 7 / 9 / 2 · 1 GB/s.
            ("tree LL128", 31.5 + 0.008_944),
            // 14 + 14 · 1.9, and 294.4 · 8 / 14 GB/s.
            ("ring LL128", 40.6 + 0.006_087),
            // 8.4 + 14 · 3.4, and 320 · 8 / 14 GB/s.
            ("ring Simple", 56.0 + 0.005_6),
            // 8.4 + 2 · 7 · 4, and 294.4 / 2 · 0.9 GB/s.
            ("tree Simple", 64.4 + 0.007_729),
        ],
    );
    assert_eq!(found.algorithm.name, "chunked_ring");
    // 1024 B are less than 8 B for each rank and thread: one channel with steps of 32 KiB.
    assert_eq!(found.segment, 8 * (32 << 10));
}

#[test]
fn allreduce_with_a_rank_on_each_node() {
    let found = explained(nccl(), Collective::Allreduce, 64, 1, 1 << 20);
    check(
        &found,
        "nccl:tree",
        &[
            // 14 + 2 · 6 · 8.5, and 294.4 · 120 / 128 / 2 · 0.6 GB/s.
            ("tree LL128", 116.0 + 12.663_96),
            // 8.4 + 2 · 6 · 14, and 294.4 / 2 · 0.5 GB/s.
            ("tree Simple", 176.4 + 14.246_96),
            // 6.8 + 2 · 6 · 5, and 20.4 / 2 · 0.5 GB/s.
            ("tree LL", 66.8 + 205.603_14),
            // 6.6 + 126 · 5 (the latency of trees), and 20.4 · 64 / 126 GB/s.
            ("ring LL", 636.6 + 101.195_29),
            ("ring LL128", 14.0 + 126.0 * 8.5 + 7.012_18),
            // On the plateau: 1024 B for each channel and rank.
            ("ring Simple", (8.4 + 126.0 * 14.0) * 1.4 + 6.451_20),
        ],
    );
    assert_eq!(found.algorithm.name, "double_tree");
    // 600 KiB are halved down to less than 32 KiB, of which a sixteenth are flags.
    assert_eq!(found.segment, 8 * 19_200 / 16 * 15);
    // Each tree has 63 edges, and each of 4 segments goes up and down along each.
    let counts = found.counts.expect("few ranks");
    assert_eq!(counts.messages, 2 * 2 * 63 * 4);
    assert_eq!(counts.bytes, (2 * 63) << 20);
}

#[test]
fn long_allreduce_on_two_nodes() {
    let found = explained(nccl(), Collective::Allreduce, 16, 8, 1 << 30);
    // A hop within a node takes 3.4 µs: longer than the 3 µs of posting to the network.
    let ring = (8.4 + 28.0 * 3.4 + 2.0 * 14.0) * 1.4;
    check(
        &found,
        "nccl:ring",
        &[
            ("ring Simple", ring + 6291.456),
            ("ring LL128", 14.0 + 28.0 * 1.9 + 2.0 * 4.0 + 6838.539),
            ("tree Simple", 8.4 + 2.0 * (7.0 * 4.0 + 14.0) + 7294.442),
            ("tree LL128", 14.0 + 2.0 * (7.0 * 1.25 + 8.5) + 7780.738),
            ("ring LL", 6.6 + 28.0 + 2.0 * 2.7 + 51_622.203),
            ("tree LL", 6.8 + 2.0 * (7.0 * 0.6 + 5.0) + 55_063.683),
        ],
    );
    // 4 steps of 512 KiB of 16 channels for each rank.
    assert_eq!(found.segment, 512 << 20);
}

#[test]
fn other_operations() {
    let found = explained(nccl(), Collective::Allgather, 64, 1, 8);
    check(
        &found,
        "nccl:pat",
        &[
            // 8 + 6 · 14 / 3.5 + 64 · 2.8, and 512 B at 240 GB/s.
            ("pat Simple", 211.2 + 0.002_133),
            ("ring LL", 6.6 + 63.0 * 5.0 + 0.024_706),
            ("ring LL128", 14.0 + 63.0 * 8.5 + 0.001_712),
            ("ring Simple", 8.4 + 63.0 * 14.0 + 0.001_575),
        ],
    );
    let found = explained(nccl(), Collective::Bcast, 16, 8, 1 << 20);
    check(
        &found,
        "nccl:ring",
        &[
            ("ring LL128", 18.0 + 3.561_739),
            ("ring Simple", 22.4 + 3.2768),
            ("ring LL", 9.3 + 26.886_564),
        ],
    );
    assert_eq!(
        (found.algorithm.name, found.segment),
        ("pipeline", 16 * 576_000)
    );
    let found = explained(nccl(), Collective::Alltoall, 16, 8, 64);
    assert_eq!(found.name, "nccl:p2p");
    // NCCL has no such operation.
    let found = explained(nccl(), Collective::Scan, 16, 8, 64);
    assert!(
        found.reason.to_string().starts_with("ours, row"),
        "{}",
        found.reason
    );
}

#[test]
fn machines_differ() {
    // PCI has no LL128. With AMD, posting takes 2 µs, and 6 with Simple: longer than a hop.
    let slow = machine("gpu = \"volta\"\nlink = \"pci\"\ncpu = \"amd\"\ngpus_per_node = 4\n")
        .expect("a machine");
    let found = explained(&slow, Collective::Allreduce, 8, 1, 1 << 20);
    check(
        &found,
        "nccl:tree",
        &[
            // 8.4 + 2 · (3 · 4 + 14), and 294.4 / 2 · 0.5 GB/s: less than 16 channels of 18.5.
            ("tree Simple", 60.4 + 14.246_957),
            // 6.6 + 12 · 2 + 2 · 2.7, and 22.5 · 8 / 14 GB/s.
            ("ring LL", 36.0 + 81.555_911),
            // 6.8 + 2 · (3 · 1 + 5), and 22.5 / 2 · 0.5 GB/s.
            ("tree LL", 22.8 + 186.413_511),
            // 12 hops within nodes, 2 between them, and the plateau before Ampere.
            ("ring Simple", (8.4 + 12.0 * 6.0 + 28.0) * 1.9 + 5.734_4),
        ],
    );
}

#[test]
fn mistakes_in_the_machine() {
    let error = |lines: &str| machine(lines).expect_err("a mistake");
    assert_eq!(
        error("channels = 0"),
        "nccl: channels = 0: expected at least 1"
    );
    assert_eq!(
        error("bandwidth_in_node = -1.0"),
        "nccl: bandwidth_in_node = -1: expected a number above 0"
    );
    assert_eq!(
        error("gpus_per_node = 0"),
        "nccl: gpus_per_node = 0: expected at least 1"
    );
    let found = error("links = 1");
    assert!(found.contains("unknown field `links`"), "{found}");
    let found = error("gpu = \"turing\"");
    assert!(found.contains("unknown variant `turing`"), "{found}");
}

#[test]
fn the_double_tree_over_nodes_reduces_everything() {
    let tree = find(Collective::Allreduce, "double_tree").expect("an algorithm");
    let mut placements: Vec<Vec<u32>> = vec![
        vec![0, 0, 0],
        vec![0, 0, 0, 1],
        vec![2, 1, 2, 1, 2],
        vec![3, 0, 0, 3, 3, 7, 7, 0, 3],
    ];
    for (size, each) in [(8, 2), (12, 4), (24, 3), (21, 2)] {
        placements.push((0..size).map(|rank| rank / each).collect());
        placements.push((0..size).map(|rank| rank % each).collect());
    }
    for hosts in placements {
        let size = u32::try_from(hosts.len()).expect("few ranks");
        for (bytes, segment) in [(0, 0), (1, 0), (7, 2), (1000, 33), (999, 0), (64, 1)] {
            let call = |rank| Call {
                nodes: Some(Nodes::from_hosts(&hosts)),
                segment,
                ..Call::new(Collective::Allreduce, rank, size, bytes)
            };
            let byte = |rank: u32, at: u64| (u64::from(rank * 7 + 1) * (at + 3) % 251) as u8;
            let own = |rank| (0..bytes).map(|at| byte(rank, at)).collect::<Vec<u8>>();
            let sum = |at| (0..size).fold(0, |sum: u8, rank| sum.wrapping_add(byte(rank, at)));
            let expected: Vec<u8> = (0..bytes).map(sum).collect();
            for protocol in [Protocol::Eager, Protocol::Rendezvous] {
                let buffers = (0..size).map(|rank| (Vec::new(), own(rank))).collect();
                let job = Job::new(tree, (0..size).map(call).collect(), buffers, protocol);
                for found in job.reducing(add).run() {
                    assert_eq!(
                        found, expected,
                        "{bytes} {segment} {protocol:?} on {hosts:?}"
                    );
                }
            }
        }
    }
}

/// More segments than a window has, for all numbers of ranks and as `--map block:N` places them.
#[test]
fn the_double_tree_reduces_everything_on_3_to_65_ranks() {
    const BYTES: u64 = 2 * 20;
    let tree = find(Collective::Allreduce, "double_tree").expect("an algorithm");
    let own =
        |rank: u32| (0..BYTES).map(move |at| (u64::from(rank * 7 + 1) * (at + 3) % 251) as u8);
    for size in (3..=17).chain([24, 31, 32, 33, 63, 64, 65]) {
        let mut expected = vec![0; BYTES as usize];
        (0..size).for_each(|rank| add(&own(rank).collect::<Vec<u8>>(), &mut expected));
        for block in [1, 2, 4, 8] {
            let hosts: Vec<u32> = (0..size).map(|rank| rank / block).collect();
            let call = |rank| Call {
                nodes: (block > 1).then(|| Nodes::from_hosts(&hosts)),
                segment: 2,
                ..Call::new(Collective::Allreduce, rank, size, BYTES)
            };
            let protocol = match (size + block) % 4 {
                0 | 1 => Protocol::Eager,
                _ => Protocol::Rendezvous,
            };
            let buffers = (0..size).map(|rank| (Vec::new(), own(rank).collect()));
            let calls = (0..size).map(call).collect();
            let job = Job::new(tree, calls, buffers.collect(), protocol);
            for found in job.reducing(add).run() {
                assert_eq!(found, expected, "{size} ranks by {block}, {protocol:?}");
            }
        }
    }
}
