//! Times in the tables, against formulas.

const PROGRAM: &str = env!("CARGO_BIN_EXE_osu");

/// The rows of a table: sizes and times or bandwidths.
fn rows(options: &str, arguments: &str) -> Vec<(u32, f64)> {
    let run = format!("{options} -- {arguments}");
    let output = testing::apps::output(PROGRAM, &run);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let table = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let (size, value) = line.split_once(' ').expect("two columns");
        let value = value.trim().parse().expect("a number");
        (size.parse().expect("a size"), value)
    };
    table.map(row).collect()
}

/// Checks a table on the cluster, rounded to 0.01, against a formula of the size.
#[track_caller]
fn check(options: &str, arguments: &str, expected: impl Fn(f64) -> f64) {
    let run = format!("-q -p platforms/cluster.toml {options}");
    let rows = rows(&run, &format!("--iterations 3 {arguments}"));
    assert!(!rows.is_empty());
    for (size, found) in rows {
        let expected = expected(f64::from(size));
        assert!(
            (found - expected).abs() < 0.006,
            "{size}: {found}, not {expected}"
        );
    }
}

#[test]
fn times_are_those_of_the_network() {
    // 1.25 us and 12.5 GB/s between two hosts.
    let hop = |bytes: f64| 1.25 + bytes / 12.5e3;
    for payload in ["", "--payload phantom"] {
        check(&format!("-n 2 {payload}"), "--test latency", hop);
        check(&format!("-n 3 {payload}"), "--test latency --max 16B", hop);
        check(
            &format!("-n 2 {payload}"),
            "--test allreduce --max 1KiB",
            |bytes| hop(bytes.max(4.0)),
        );
        check(
            &format!("-n 2 {payload}"),
            "--test alltoall --max 1KiB",
            hop,
        );
        // The root leaves at once. The other rank leaves the barrier before, when the root
        // has entered it, and waits for the root in the broadcast.
        check(
            &format!("-n 2 {payload}"),
            "--test bcast --max 1KiB",
            |bytes| f64::midpoint(hop(bytes), hop(0.0)),
        );
    }
}

#[test]
fn a_window_of_messages_shares_the_link() {
    // 64 messages share the link, and an answer of 4 bytes comes back.
    check("-n 2", "--test bandwidth --min 64KiB", |bytes| {
        let us = 1.25 + 64.0 * bytes / 12.5e3 + 1.25 + 4.0 / 12.5e3;
        64.0 * bytes / us
    });
}

#[test]
fn sizes_are_doubled() {
    let sizes = |arguments: &str| -> Vec<u32> {
        let rows = rows("-q -p platforms/cluster.toml -n 2", arguments);
        rows.into_iter().map(|(size, _)| size).collect()
    };
    assert_eq!(sizes("--min 3B --max 12B --iterations 1"), [3, 6, 12]);
    assert_eq!(sizes("--test allreduce --max 8B --iterations 1"), [4, 8]);
    assert_eq!(sizes("--max 1MiB --iterations 1").len(), 21);
}

#[test]
fn real_runs_have_the_same_tables() {
    let options = "real --backend tcp -n 3 -q --prefix-rank=false";
    for test in ["latency", "bandwidth", "allreduce", "alltoall", "bcast"] {
        let arguments = format!("--test {test} --min 4B --max 64B --iterations 3");
        let sizes: Vec<u32> = rows(options, &arguments).iter().map(|row| row.0).collect();
        assert_eq!(sizes, [4, 8, 16, 32, 64], "{test}");
    }
}

#[test]
fn no_order_of_messages_matters() {
    for test in ["latency", "bandwidth", "allreduce", "alltoall", "bcast"] {
        let arguments = format!("-n 3 -- --test {test} --max 4B --iterations 1 --warmup 0");
        let (status, found) = testing::apps::check(PROGRAM, &arguments);
        assert_eq!(status, Some(0), "{found}");
        assert_eq!(found["executions"], 1, "{found}");
    }
}
