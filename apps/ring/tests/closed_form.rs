//! Duration of the ring, against formulas; equal runs have equal records.
//!
//! Only one token is in transit at any time, so a hop takes latency + size / bandwidth of the
//! route, whatever other routes exist. Control messages of a rendezvous take no time in the flow
//! model and every rank has posted the receive long before the token arrives, so eager and
//! rendezvous take the same time.

use serde_json::Value;

/// The record of a run, given the options and the program's arguments.
fn ring(platform: &str, options: &str, arguments: &str) -> Value {
    testing::apps::record(env!("CARGO_BIN_EXE_ring"), platform, options, arguments)
}

/// Checks the simulated time of a token of `size` bytes that goes round three times; `round`
/// returns the time of one round.
#[track_caller]
fn check(platform: &str, ranks: &str, round: impl Fn(f64) -> f64) {
    for mode in [
        "",
        "--protocol eager",
        "--protocol rendezvous",
        "--protocol threshold=1024B",
    ] {
        for size in [0_u32, 1, 1024, 65_535, 65_536, 1 << 20] {
            let record = ring(
                platform,
                &format!("{ranks} {mode}"),
                &format!("--rounds 3 --size {size}"),
            );
            let found = testing::apps::simulated_s(&record);
            let expected = 3.0 * round(f64::from(size));
            assert!(
                (found - expected).abs() <= 1e-9 * expected,
                "{platform} {ranks} {mode}, {size} bytes: {found} s, but the formula says {expected} s"
            );
        }
    }
}

/// A hop from node to node of `cluster.toml`: two links of 625 ns, 12.5 GB/s.
fn cluster_hop(size: f64) -> f64 {
    2.0 * 625e-9 + size / 12.5e9
}

/// A hop from a rank to another one on the same host: the implicit loopback, 10 GB/s without
/// latency.
fn same_host(size: f64) -> f64 {
    size / 10e9
}

#[test]
fn on_the_cluster_each_hop_crosses_two_links() {
    check("cluster", "", |size| 64.0 * cluster_hop(size));
    check("cluster", "-n 2", |size| 2.0 * cluster_hop(size));
    check("cluster", "-n 7", |size| 7.0 * cluster_hop(size));
}

#[test]
fn one_rank_sends_to_itself() {
    check("cluster", "-n 1", same_host);
}

#[test]
fn two_ranks_per_host() {
    // Block: from the first to the second rank of a host, then on to the next host.
    check("cluster", "-n 128", |size| {
        64.0 * (same_host(size) + cluster_hop(size))
    });
    // Cyclic: every hop goes to the next host.
    check("cluster", "-n 128 --map cyclic", |size| {
        128.0 * cluster_hop(size)
    });
}

#[test]
fn between_two_hosts_each_hop_crosses_the_cable() {
    check("two-hosts", "", |size| 2.0 * (1.25e-6 + size / 12.5e9));
}

#[test]
fn between_two_sites_two_hops_cross_the_wide_area() {
    // 15 hops in each site over two links of 10 µs; one hop to the other site and one back over 9.8
    // ms more. All links on the way have 10 Gbit/s, the switches 100.
    check("grid", "", |size| {
        30.0 * (20e-6 + size / 1.25e9) + 2.0 * (20e-6 + 9.8e-3 + size / 1.25e9)
    });
    // Dealt out over sites so that every hop crosses: lyon-0, oslo-0, lyon-1, oslo-1, …
    let folder = std::env::temp_dir().join(format!("simrun-ring-{}", std::process::id()));
    let hosts: String = (0..16)
        .map(|host| format!("lyon-{host}\noslo-{host}\n"))
        .collect();
    std::fs::write(&folder, hosts).unwrap();
    check("grid", &format!("--map {}", folder.display()), |size| {
        32.0 * (20e-6 + 9.8e-3 + size / 1.25e9)
    });
    std::fs::remove_file(&folder).unwrap();
}

#[test]
fn tokens_on_different_links_do_not_wait_for_each_other() {
    let time = |rounds: u32, arguments: &str| {
        let record = ring(
            "cluster",
            "",
            &format!("--rounds {rounds} --size 1024 {arguments}"),
        );
        assert_eq!(record["messages"], rounds * 64);
        testing::apps::simulated_s(&record)
    };
    for tokens in [1, 2, 8, 64] {
        let found = time(3, &format!("--tokens {tokens}"));
        let expected = 3.0 * 64.0 / f64::from(tokens) * cluster_hop(1024.0);
        assert!(
            (found - expected).abs() <= 1e-9 * expected,
            "{tokens} tokens: {found} s"
        );
    }
    // Rank 0 waits for the token of the last rank.
    let found = time(1, "--tokens 64 --skew 1e-3");
    let expected = 63e-3 + cluster_hop(1024.0);
    assert!((found - expected).abs() <= 1e-9 * expected, "{found} s");
}

#[test]
fn counts_messages_and_bytes() {
    let record = ring("cluster", "-n 5", "--rounds 3 --size 100");
    assert_eq!(record["messages"], 15);
    assert_eq!(record["bytes"], 1500.0);
    assert_eq!(record["ranks"], 5);
}

#[test]
fn the_digest_is_that_of_the_run() {
    let digest = |options: &str| ring("grid", options, "--rounds 2")["digest"].clone();
    let first = digest("");
    // The same run, and what must not change it.
    for same in [
        "",
        "--payload phantom",
        "--payload real",
        "--seed 5",
        "--log trace",
        "--until 1000s",
        "--map block -n 32",
        "--map cyclic",
    ] {
        assert_eq!(digest(same), first, "{same}");
    }
    // What does.
    for other in ["--map random", "-n 31", "--protocol rendezvous"] {
        assert_ne!(digest(other), first, "{other}");
    }
    assert_ne!(
        digest("--map random --seed 1"),
        digest("--map random --seed 2")
    );
    assert_eq!(
        digest("--map random --seed 1"),
        digest("--map random --seed 1")
    );
    assert_ne!(digest("-n 64 --map block"), digest("-n 64 --map cyclic"));
    assert_ne!(ring("grid", "", "--rounds 2 --size 1025")["digest"], first);
}

#[test]
fn a_run_is_replayed() {
    for mode in ["", "--protocol rendezvous"] {
        let program = env!("CARGO_BIN_EXE_ring");
        let (run, replay) = testing::apps::replayed(program, &format!("-n 4 {mode}"), "--rounds 2");
        assert_eq!(run.status.code(), Some(0), "{run:?}");
        assert_eq!(replay.status.code(), Some(0), "{replay:?}");
        let text = String::from_utf8_lossy(&replay.stdout);
        // Simulated time, which the ring prints, stands still there.
        assert!(
            text.starts_with("round 0: 0.000 us\nround 1: 0.000 us\n"),
            "{text}"
        );
        assert!(text.contains("ring: finished after "), "{text}");
    }
}
