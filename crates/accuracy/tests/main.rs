//! Tables that simrun has made itself: the same platform has no error, another one has.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use accuracy::{
    AlgorithmTimes, FastestAlgorithms, FitSample, JobHosts, JudgedRow, MeasuredRow, NoiseFloor,
    PlatformFit, ReadRows, RegretSummary, find_regrets, group_errors, judge_rows, read_rows,
    summarise_errors,
};
use collectives::{Collective, TunedLibrary};
use platform::{Override, Platform};
use run::Options;
use validation::{ElementType, LoopTiming, TimedCall};

const PLATFORM: &str = r#"
version = 1
[network]
model = "flow"
os = [{ above = "0B", time = "200ns", per_byte = "50ps" }]
or = [{ above = "0B", time = "100ns", per_byte = "50ps" }]
[collectives]
selector = "openmpi-4.1"
[clusters.n]
hosts = "n-[0-15]"
speed = "1Gf"
bandwidth = "10GBps"
latency = "1us"
"#;

/// Names in the table and in simrun.
const ALGORITHMS: [(Collective, &str, &str); 6] = [
    (Collective::Bcast, "binomial_ompi", "openmpi:binomial"),
    (Collective::Bcast, "knomial_ompi", "openmpi:knomial"),
    (Collective::Allgather, "ring_ompi", "openmpi:ring"),
    (Collective::Allgather, "neighbor_ompi", "openmpi:neighbor"),
    (Collective::Allreduce, "ring_ompi", "openmpi:ring"),
    (
        Collective::Allreduce,
        "recursive_doubling_ompi",
        "openmpi:recursive_doubling",
    ),
];

fn platform(changes: &[&str]) -> Platform {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let platform = Platform::parse("platform", PLATFORM).unwrap();
    platform.with_overrides("platform", &changes).unwrap()
}

fn judge(platform: &Platform, rows: &mut ReadRows) -> Vec<JudgedRow> {
    judge_rows(platform, rows, &JobHosts::default(), &|_, _| {}).unwrap()
}

/// Returns the table that a machine like [`PLATFORM`] would give; the times of the algorithm
/// `of(n)` stand in the rows of algorithm n.
fn table(of: impl Fn(usize) -> usize) -> String {
    let mut table = "machine,timestamp,nodes,ppn,collective,library,gpu,algorithm,segment,dtype,\
                     bytes,p25_us,median_us,p75_us\n"
        .to_owned();
    for (number, (operation, label, _)) in ALGORITHMS.iter().enumerate() {
        let (_, _, algorithm) = ALGORITHMS[of(number)];
        let forced = format!("collectives.{operation}={algorithm}");
        let platform = Arc::new(platform(&[
            &forced,
            "collectives.barrier=openmpi:recursive_doubling",
        ]));
        for total in [2048_u64, 1 << 20] {
            let bytes = match operation {
                Collective::Allgather => total / 16,
                _ => total,
            };
            let call = TimedCall {
                operation: *operation,
                bytes,
                element: ElementType::Int32,
                iterations: 4,
                timing: LoopTiming::Slowest,
            };
            let options = Options {
                ranks: Some(16),
                ..Options::default()
            };
            let time = call.simulate_loop(&platform, options).unwrap() * 1e6;
            let (low, high) = (0.98 * time, 1.02 * time);
            let _ = writeln!(
                table,
                "m,j,16,1,{operation},OMPI,,{label},,int32,{total},{low},{time},{high}"
            );
        }
    }
    table
}

#[test]
fn a_machine_like_the_platform_has_no_error() {
    let mut rows = read_rows(&table(|number| number), None).unwrap();
    let judged = judge(&platform(&[]), &mut rows);
    let all = summarise_errors(&judged).unwrap();
    assert_eq!(all.count, 12);
    assert!(all.worst < 1e-12, "{all:?}");
    let regrets = find_regrets(&judged, &rows.rows);
    let of_choice: Vec<f64> = regrets.iter().map(|regret| regret.of_choice).collect();
    assert_eq!(of_choice, [1.0; 6]);
    assert_eq!(RegretSummary::new(&of_choice).unwrap().exact, 1.0);
    let (median, _) = NoiseFloor::new(&judged).within_jobs.unwrap();
    assert!((median - 0.02).abs() < 1e-12, "{median}");
}

#[test]
fn another_machine_has_an_error_of_its_size() {
    let mut rows = read_rows(&table(|number| number), None).unwrap();
    let slow = platform(&[
        "clusters.n.latency*=2",
        "clusters.n.bandwidth*=0.5",
        "network.os.0.time*=2",
        "network.os.0.per_byte*=2",
        "network.or.0.time*=2",
        "network.or.0.per_byte*=2",
    ]);
    let judged = judge(&slow, &mut rows);
    // All costs are doubled, and so are all times.
    for (name, errors) in group_errors(&judged, accuracy::Grouping::Algorithm) {
        assert!((errors.median - 1.0).abs() < 1e-9, "{name}: {errors:?}");
        assert!((errors.bias - 1.0).abs() < 1e-9, "{name}: {errors:?}");
    }
}

#[test]
fn times_of_other_algorithms_are_errors() {
    let swapped = table(|number| number ^ 1);
    let mut rows = read_rows(&swapped, None).unwrap();
    let judged = judge(&platform(&[]), &mut rows);
    let all = summarise_errors(&judged).unwrap();
    assert!(all.worst > 0.2, "{all:?}");
    let regrets = find_regrets(&judged, &rows.rows);
    assert!(regrets.iter().all(|regret| regret.chosen != regret.best));
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let text = table(|number| number);
    let mut rows = read_rows(&text, None).unwrap();
    let small = Platform::parse("platform", &PLATFORM.replace("n-[0-15]", "n-[0-7]")).unwrap();
    assert_eq!(judge(&small, &mut rows), []);
    let reason = "more nodes than the 8 hosts of the platform";
    assert_eq!(rows.skipped[reason], 12);
}

/// Keys that another machine has at other values.
const KEYS: [(&str, f64); 5] = [
    ("clusters.n.latency", 1.5),
    ("clusters.n.bandwidth", 0.6),
    ("network.os.0.time", 0.5),
    ("network.or.0.time", 1.8),
    ("network.o*.0.per_byte", 2.0),
];

#[test]
fn values_of_a_machine_are_found_again() {
    let rows = read_rows(&table(|number| number), None).unwrap();
    let changes = KEYS.map(|(key, factor)| format!("{key}*={factor}"));
    let other = platform(&changes.each_ref().map(String::as_str));
    let keys = KEYS.map(|(key, _)| key.to_owned());
    let fit = PlatformFit::new(&other, &keys, (&rows.rows, &JobHosts::default()), &|| ());
    let fit = fit.unwrap();
    for (found, (_, factor)) in fit.factors.iter().zip(KEYS) {
        assert!((found.factor * factor - 1.0).abs() < 0.03, "{found}");
        assert!(found.width < 0.2, "{found}");
    }
    let judged = judge(&fit.platform, &mut rows.clone());
    assert!(summarise_errors(&judged).unwrap().worst < 0.01);
}

#[test]
fn keys_without_effect_and_too_many_keys_are_refused() {
    let rows = read_rows(&table(|number| number), None).unwrap();
    let fail = |keys: &[&str], rows: &[MeasuredRow]| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let hosts = JobHosts::default();
        let fit = PlatformFit::new(&platform(&[]), &keys, (rows, &hosts), &|| ());
        fit.unwrap_err().to_string()
    };
    let without = fail(&["clusters.n.speed"], &rows.rows);
    assert!(
        without.starts_with("clusters.n.speed: expected a key"),
        "{without}"
    );
    let few = fail(
        &["clusters.n.latency", "clusters.n.bandwidth"],
        &rows.rows[..1],
    );
    assert!(few.starts_with("1 rows to fit, and 2 keys"), "{few}");
}

#[test]
fn rows_are_drawn_by_algorithm() {
    let rows = read_rows(&table(|number| number), None).unwrap();
    let draw = |share, nodes_max, bytes_max, seed| {
        let sample = FitSample {
            share,
            jobs: Vec::new(),
            nodes_max,
            bytes_max,
            seed,
        };
        sample.draw_rows(&rows)
    };
    let half = draw(0.5, 16, u64::MAX, 1);
    let algorithms = half
        .iter()
        .map(|row| (row.operation.name(), &row.label[..]));
    assert_eq!(
        algorithms.collect::<BTreeSet<_>>().len(),
        6,
        "one row of each"
    );
    assert_eq!(half, draw(0.5, 16, u64::MAX, 1));
    assert!((2..9).any(|seed| draw(0.5, 16, u64::MAX, seed) != half));
    assert_eq!(draw(1.0, 16, u64::MAX, 1), rows.rows);
    assert!(draw(1.0, 16, 2048, 1).iter().all(|row| row.bytes == 2048));
    assert_eq!(draw(1.0, 15, u64::MAX, 1), []);
}

#[test]
fn rows_are_drawn_from_the_named_jobs_and_judged_by_job() {
    let text = table(|number| number);
    let (header, rows) = text.split_once('\n').unwrap();
    let later = rows.replace("m,j,", "m,k1,");
    let rows = read_rows(&format!("{header}\n{rows}{later}"), None).unwrap();
    let sample = |names: &[&str]| FitSample {
        share: 1.0,
        jobs: names.iter().map(|&name| name.to_owned()).collect(),
        nodes_max: u32::MAX,
        bytes_max: u64::MAX,
        seed: 1,
    };
    let drawn = sample(&["k"]).draw_rows(&rows);
    assert_eq!(drawn.len(), rows.rows.len() / 2);
    assert!(drawn.iter().all(|row| row.job == "k1"), "{drawn:?}");
    assert_eq!(sample(&["k1", "j"]).draw_rows(&rows), rows.rows);
    let jobs = |mut rows: ReadRows| -> Vec<String> {
        let judged = judge(&platform(&[]), &mut rows);
        let groups = group_errors(&judged, accuracy::Grouping::Job);
        groups.into_iter().map(|(name, _)| name).collect()
    };
    let one = ReadRows {
        rows: drawn,
        ..ReadRows::default()
    };
    assert_eq!(jobs(one), [""; 0]);
    assert_eq!(jobs(rows), ["job j", "job k1"]);
}

#[test]
fn the_fastest_algorithms_become_files() {
    let times = |name: &str, seconds: [f64; 3]| AlgorithmTimes {
        name: name.to_owned(),
        seconds: seconds.map(Some).to_vec(),
    };
    let all = [
        times("openmpi:ring", [3.0, 2.0, 1.0]),
        times("openmpi:recursive_doubling", [1.0, 1.0, 4.0]),
    ];
    let best = (0..3).map(|at| AlgorithmTimes::find_fastest(all.iter(), at).unwrap());
    let best: Vec<&AlgorithmTimes> = best.collect();
    let fastest = FastestAlgorithms::new((Collective::Allgather, 16), &[8, 64, 512], &best);
    let selector = fastest.write_selector();
    let rows = "\n[[allgather]]\nbytes = [0, 511]\nalgorithm = \"openmpi:recursive_doubling\"\n\
                \n[[allgather]]\nalgorithm = \"openmpi:ring\"\n";
    assert!(selector.ends_with(rows), "{selector}");
    let rules = fastest
        .write_library_file(TunedLibrary::OpenMpi, &[])
        .expect("rules");
    let rows = "\n0 3 0 0  # recursive_doubling\n8192 4 0 0  # ring\n";
    assert!(rules.ends_with(rows), "{rules}");
}

/// `simrun platform list` prints these figures.
#[test]
fn the_errors_beside_the_platforms_are_those_of_the_results() {
    let read = |path: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(path).unwrap()
    };
    let page = read("../../results/accuracy.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').skip(2).take(3).map(str::trim).collect());
    let cells: Vec<Vec<&str>> = cells.collect();
    let lines = read("../../platforms/accuracy.csv");
    let lines = lines.lines().skip(1);
    let fields = lines.map(|line| line.split(',').skip(1).take(3).collect());
    assert_eq!(cells, fields.collect::<Vec<Vec<&str>>>());
}
