//! Results of ping-pong, against formulas.
//!
//! One message is in transit at any time and the receive is posted before the arrival, so half a
//! round trip is latency + size / bandwidth of the route, eager or by rendezvous, real or phantom.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output};

fn pingpong(platform: &str, options: &str, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pingpong"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args([
            "-p",
            &format!("platforms/{platform}.toml"),
            "--format",
            "json",
        ])
        .args(options.split_whitespace())
        .arg("--")
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

/// Checks the figures that are printed, to their three digits in µs, and the length of the whole
/// run.
#[track_caller]
fn check(platform: &str, options: &str, latency: f64, bandwidth: f64) {
    let sizes = [0_u32, 1, 1000, 65_536, 10_000_000];
    let texts = sizes.map(|size| size.to_string()).join(",");
    for mode in [
        "",
        "--protocol eager",
        "--protocol rendezvous",
        "--payload phantom",
    ] {
        let output = pingpong(
            platform,
            &format!("{options} {mode}"),
            &format!("--sizes {texts} --repetitions 4"),
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        // After the heading, a line per size: the size, then mean, minimum and median, each with
        // its unit.
        let figures: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().skip(1).step_by(2))
            .map(|words| words.map(|word| word.parse().unwrap()).collect())
            .collect();
        assert_eq!(figures.len(), sizes.len(), "{text}");
        let mut total = 0.0;
        for (&size, found) in sizes.iter().zip(figures) {
            let half = latency + f64::from(size) / bandwidth;
            assert_eq!(found.len(), 3, "{text}");
            assert!(
                found
                    .iter()
                    .all(|found| (found - half * 1e6).abs() <= 0.000_51),
                "{platform} {options} {mode}, {size} bytes: {found:?} µs, not {half} s"
            );
            total += 8.0 * half;
        }
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = record["simulated_s"].as_f64().unwrap();
        assert!(
            (found / total - 1.0).abs() < 1e-9,
            "{found} s, not {total} s"
        );
        assert_eq!(record["messages"], 40);
    }
}

#[test]
fn between_two_nodes() {
    check("cluster", "", 1.25e-6, 12.5e9);
    check("cluster", "-n 2", 1.25e-6, 12.5e9);
    check("two-hosts", "", 1.25e-6, 12.5e9);
}

#[test]
fn on_one_host() {
    check("cluster", "-n 128", 0.0, 10e9);
}

#[test]
fn in_a_site_and_between_sites() {
    check("grid", "", 20e-6, 1.25e9);
    let file = std::env::temp_dir().join(format!("simrun-pingpong-{}", std::process::id()));
    std::fs::write(&file, "lyon-3\noslo-15\n").unwrap();
    check(
        "grid",
        &format!("--map {}", file.display()),
        20e-6 + 9.8e-3,
        1.25e9,
    );
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn payloads_do_not_change_the_digest() {
    let digest = |options: &str| {
        let output = pingpong("cluster", options, "");
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        record["digest"].as_str().unwrap().to_owned()
    };
    assert_eq!(digest("--payload phantom"), digest("--payload real"));
    assert_ne!(digest("--protocol rendezvous"), digest("--protocol eager"));
}

#[test]
fn one_rank_is_too_few() {
    let output = pingpong("cluster", "-n 1", "");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "error: rank 0 on host node-0 failed at 0 s: ping-pong needs at least 2 ranks, but there is only 1\n"
    );
}
