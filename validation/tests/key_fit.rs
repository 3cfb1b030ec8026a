//! Promise: a fit finds the keys of a platform from simulated ping-pongs, and adapter costs that
//! are fitted to half of the sizes of published tables predict the other half.
//!
//! The errors of the tables are the errors in results/verbs-calibration.md.

use platform::{Override, Platform};
use validation::{ErrorSummary, KeyFitError, Measurements, fit_keys, read, simulated_times};

const PERFTEST: &str = include_str!("data/ib-send-lat-by-mtu.csv");
const OSU: &str = include_str!("data/osu-ib-published.csv");
const INFINIBAND: &str = include_str!("../../platforms/infiniband.toml");
const KEYS: [&str; 4] = [
    "network.verbs.completion",
    "network.verbs.dma_read",
    "network.verbs.pcie_bandwidth",
    "clusters.nodes.bandwidth",
];

fn infiniband(changes: &[&str]) -> Platform {
    let platform = Platform::parse("infiniband.toml", INFINIBAND).expect("a platform");
    let changes: Vec<Override> = changes
        .iter()
        .map(|change| change.parse().expect("a change"))
        .collect();
    platform
        .with_overrides("infiniband.toml", &changes)
        .expect("a platform")
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// Returns rows as a table of a benchmark.
fn table(rows: impl IntoIterator<Item = (u64, f64)>) -> Measurements {
    let mut text = "# OSU MPI Latency Test v5.6.3\n# Size  Latency (us)\n".to_owned();
    for (size, us) in rows {
        text += &format!("{size} {us}\n");
    }
    read("table", &text).expect("a table")
}

/// Returns the columns `size_bytes` and the value of the rows that begin with `begin`, above 0
/// bytes.
fn published(text: &str, begin: &str, columns: [usize; 2]) -> Measurements {
    let rows = text.lines().filter(|line| line.starts_with(begin));
    let field = |line: &str, column: usize| {
        // Commas within quotes separate nothing.
        let mut quoted = false;
        let plain: String = line
            .chars()
            .filter(|&letter| {
                quoted ^= letter == '"';
                !(quoted && letter == ',')
            })
            .collect();
        plain.split(',').nth(column).map(str::to_owned)
    };
    let value = |line: &str, column| field(line, column).and_then(|text| text.parse().ok());
    let rows = rows.map(|line| {
        let size: f64 = value(line, columns[0]).expect("a size");
        (size as u64, value(line, columns[1]).expect("a time"))
    });
    table(rows.filter(|(size, _)| *size > 0))
}

#[test]
fn values_are_found_again() {
    let truth = infiniband(&[
        "network.verbs.completion*=1.7",
        "network.verbs.dma_read*=0.6",
        "network.verbs.pcie_bandwidth*=1.3",
        "clusters.nodes.bandwidth*=0.5",
    ]);
    let sizes: Vec<u64> = (0..16).map(|power| 1 << power).collect();
    let wanted: Vec<_> = sizes
        .iter()
        .map(|size| ("pp".parse().expect("a kernel"), *size))
        .collect();
    let times = simulated_times(&truth.into(), 2, &wanted, None).expect("times");
    let rows = sizes
        .iter()
        .copied()
        .zip(times.iter().map(|time| time * 1e6));
    let found = fit_keys(&infiniband(&[]), &keys(&KEYS), &table(rows)).expect("a fit");
    for (factor, expected) in found.factors.iter().zip([1.7, 0.6, 1.3, 0.5]) {
        assert!(
            (factor.factor / expected - 1.0).abs() < 0.02,
            "{:?}",
            found.factors
        );
    }
    let errors = ErrorSummary::new(&found.held_out).expect("errors");
    // The first message of a run also connects its ranks.
    assert!(errors.median < 1e-3 && errors.worst < 0.02, "{errors:?}");
}

/// The messages of perftest are sends without a rendezvous.
#[test]
fn send_latencies_of_perftest_are_predicted() {
    let platform = infiniband(&["protocol.eager_threshold=64KiB"]);
    for mtu in [256, 512, 1024, 2048, 4096] {
        let rows = PERFTEST.lines().filter_map(|line| {
            let mut fields = line.split(',');
            let is_wanted = fields.next() == Some("RC");
            let size = fields.next()?.parse().ok()?;
            let same = fields.next()?.parse() == Ok(mtu);
            let time = fields.next()?.parse().ok()?;
            (is_wanted && same).then_some((size, time))
        });
        let keys = keys(&KEYS[..2]);
        let found = fit_keys(&platform, &keys, &table(rows)).expect("a fit");
        let errors = ErrorSummary::new(&found.held_out).expect("errors");
        assert!(
            errors.count == 2 && errors.worst < 0.10,
            "{mtu}: {errors:?}"
        );
        assert!(errors.median < 0.05, "{mtu}: {errors:?}");
    }
}

/// A table of an MPI library, with copies and thresholds that the adapter model lacks; the table
/// has no long messages.
#[test]
fn latencies_of_an_mpi_library_are_predicted() {
    let platform = infiniband(&["protocol.eager_threshold=16KiB"]);
    let measured = published(OSU, "fdr-cx3-imb", [7, 8]);
    let found = fit_keys(&platform, &keys(&KEYS), &measured).expect("a fit");
    let errors = ErrorSummary::new(&found.held_out).expect("errors");
    assert!(errors.count == 9 && errors.median < 0.06, "{errors:?}");
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let measured = table([(8, 1.0), (64, 1.1), (512, 1.2)]);
    let fail = |key: &[&str]| fit_keys(&infiniband(&[]), &keys(key), &measured).expect_err("a fit");
    let none = fail(&["network.verbs.atomic"]);
    let atomic = "network.verbs.atomic".to_owned();
    assert_eq!(none, KeyFitError::Undetermined(atomic));
    assert_eq!(fail(&KEYS), KeyFitError::TooFewRows { rows: 2, keys: 4 });
    let unknown = fail(&["network.verbs.dma"]).to_string();
    assert!(unknown.contains("network.verbs.dma"), "{unknown}");
}
