//! Output of benchmarks as rows and samples. The headers of the files in `data` name the origins.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use accuracy::{JobHosts, MeasuredRow, ReadRows, judge_rows};
use measured_import::{JobSize, convert_samples, read_rows};
use platform::Platform;
use validation::{ElementType, LoopTiming, Measurements, read};

const OSU: &str = include_str!("data/osu.txt");
const IMB: &str = include_str!("data/imb.txt");
const NCCL: &str = include_str!("data/nccl.txt");
const SIMGRID: &str = include_str!("data/simgrid.csv");

const fn job_of(ranks: u32, ranks_per_node: u32) -> JobSize {
    JobSize::new(Some(ranks), Some(ranks_per_node))
}

/// Returns line, operation, bytes and microseconds.
fn in_short(row: &MeasuredRow) -> (u64, &'static str, u64, f64) {
    let us = (row.median_s * 1e8).round() / 100.0;
    (row.line, row.operation.name(), row.bytes, us)
}

fn reasons_in(found: &ReadRows) -> Vec<(&str, usize)> {
    let reasons = found.skipped.iter();
    reasons.map(|(why, n)| (&why[..], *n)).collect()
}

/// Returns a platform of four hosts.
fn platform_with(selector: &str) -> Platform {
    let text = format!(
        "version = 1\n[collectives]\nselector = \"{selector}\"\n[clusters.n]\n\
         hosts = \"n-[0-3]\"\nspeed = \"1Gf\"\nbandwidth = \"10GBps\"\nlatency = \"1us\"\n"
    );
    Platform::parse("platform", &text).unwrap()
}

fn mistake_in(text: &str, size: JobSize) -> String {
    read_rows(text, None, size).unwrap_err().to_string()
}

#[test]
fn tables_of_osu_are_rows() {
    let found = read_rows(OSU, None, job_of(2, 1)).unwrap();
    let rows: Vec<_> = found.rows.iter().map(in_short).collect();
    assert_eq!(rows.len(), 19);
    // Two ranks have two blocks of 1 B.
    assert_eq!(rows[10], (27, "allgather", 2, 15988.15));
    assert_eq!(rows[0], (9, "allreduce", 4, 6882.26));
    assert_eq!(rows[5], (18, "bcast", 1, 6.18));
    assert_eq!(rows[13], (33, "barrier", 0, 15999.48));
    assert_eq!(rows[18], (42, "reduce_scatter", 64, 6963.18));
    let row = &found.rows[0];
    assert_eq!((row.nodes, row.ranks_per_node), (2, 1));
    assert_eq!((row.element, row.half_spread), (ElementType::Byte, None));
    let timings = [0, 5].map(|at: usize| found.rows[at].timing);
    assert_eq!(timings, [LoopTiming::Mean, LoopTiming::Slowest]);
    assert!(found.skipped.is_empty());
}

#[test]
fn the_job_of_osu_has_a_size() {
    let expected = "line 9: OSU MPI Allreduce Latency Test v7.4: expected the number of ranks, \
                    which the output lacks, as --ranks N";
    assert_eq!(mistake_in(OSU, JobSize::default()), expected);
    let uneven = read_rows(OSU, None, job_of(6, 4)).unwrap();
    assert_eq!(uneven.skipped["6 ranks do not fill nodes of 4"], 19);
    let few = read_rows(OSU, None, job_of(2, 4)).unwrap();
    assert_eq!((few.rows[0].nodes, few.rows[0].ranks_per_node), (1, 2));
    let many = read_rows(OSU, None, job_of(8, 4)).unwrap();
    assert_eq!((many.rows[0].nodes, many.rows[0].ranks_per_node), (2, 4));
    assert_eq!(many.skipped["fewer elements than ranks"], 1);
}

/// Returns rows and reasons, or the mistake, of a case: a line of options, and the text.
fn find_outcome(case: &str) -> Vec<String> {
    let (options, text) = case.split_once('\n').unwrap();
    let words: Vec<&str> = options.split_whitespace().collect();
    let option = |name: &str| Some(words[words.iter().position(|word| *word == name)? + 1]);
    let number = |name: &str| option(name).map(|number| number.parse().unwrap());
    let size = JobSize::new(number("--ranks"), number("--ppn"));
    let found = match read_rows(text, option("--machine"), size) {
        Ok(found) => found,
        Err(mistake) => return vec![mistake.to_string()],
    };
    let rows = found.rows.iter().map(|row| {
        let (line, operation, bytes, us) = in_short(row);
        let (job, timing) = ((row.nodes, row.ranks_per_node), row.timing);
        let row = format!(
            "{} x {}, {operation} of {bytes} B, {:?}",
            job.0, job.1, row.element
        );
        format!("line {line}: {row}: {us} us, {timing:?}")
    });
    let reasons = reasons_in(&found).into_iter();
    rows.chain(reasons.map(|(why, count)| format!("{count} times: {why}")))
        .collect()
}

#[test]
fn cases_have_their_rows_reasons_and_mistakes() {
    for case in include_str!("data/cases.txt").split("\n== ") {
        let (text, expected) = case.split_once("\n=> ").unwrap();
        let outcome = find_outcome(&format!("{text}\n"));
        let mut lines = outcome.iter().zip(expected.trim_end().split("\n=> "));
        let is_expected = lines.all(|(line, start)| line.starts_with(start));
        let count = expected.split("\n=> ").count();
        assert!(
            is_expected && outcome.len() == count,
            "{case}\n{outcome:#?}"
        );
    }
}

#[test]
fn tables_of_imb_are_rows() {
    let found = read_rows(IMB, None, JobSize::default()).unwrap();
    let rows: Vec<_> = found.rows.iter().map(in_short).collect();
    let expected = [
        (42, "allreduce", 8, 19794.94),
        (43, "allreduce", 16, 19040.29),
        (51, "allreduce", 8, 36811.74),
        (52, "allreduce", 16, 41896.66),
        // A size is the size of a block since 2019.
        (61, "reduce_scatter", 16, 18594.15),
        (62, "reduce_scatter", 32, 18792.14),
        (70, "reduce_scatter", 32, 39591.18),
        (71, "reduce_scatter", 64, 31203.17),
        (79, "barrier", 0, 1.39),
        (86, "barrier", 0, 25770.5),
    ];
    assert_eq!(rows, expected);
    let row = &found.rows[2];
    assert_eq!((row.nodes, row.ranks_per_node), (4, 1));
    assert_eq!(row.timing, LoopTiming::Slowest);
    assert_eq!(row.element, ElementType::Float);
    let expected = [("benchmark PingPong of IMB", 3), ("no bytes", 4)];
    assert_eq!(reasons_in(&found), expected);
}

#[test]
fn options_of_imb_change_the_rows() {
    let four = read_rows(IMB, None, job_of(4, 2)).unwrap();
    assert_eq!((four.rows[0].nodes, four.rows[0].ranks_per_node), (2, 2));
    assert_eq!(four.rows.len(), 5);
    assert_eq!(four.skipped["another number of ranks than --ranks"], 7);
    let old = IMB.replace("Benchmarks 2021.11", "Benchmarks 2018");
    let old = read_rows(&old, None, JobSize::default()).unwrap();
    assert_eq!(in_short(&old.rows[6]), (71, "reduce_scatter", 16, 31203.17));
    let loose = IMB.replace("-msglog 3:4", "-sync off");
    let loose = read_rows(&loose, None, JobSize::default()).unwrap();
    assert_eq!(in_short(&loose.rows[0]), (42, "allreduce", 8, 9901.58));
    assert_eq!(loose.rows[0].timing, LoopTiming::MeanWithoutBarriers);
    let groups = IMB.replace("2 additional processes waiting", "2 groups of 2 processes");
    let groups = read_rows(&groups, None, JobSize::default()).unwrap();
    assert_eq!(groups.skipped["groups of processes that run at once"], 7);
}

#[test]
fn tables_of_nccl_tests_are_rows() {
    let found = read_rows(NCCL, None, JobSize::default()).unwrap();
    let rows: Vec<_> = found.rows.iter().map(in_short).collect();
    let expected = [
        (16, "allreduce", 1024, 31.52),
        (17, "allreduce", 1 << 20, 102.4),
        (37, "allgather", 1024, 28.11),
    ];
    assert_eq!(rows, expected);
    let row = &found.rows[0];
    assert_eq!((row.nodes, row.ranks_per_node), (2, 2));
    assert_eq!(row.timing, LoopTiming::MeanWithoutBarriers);
    assert_eq!(found.skipped["unknown type half"], 1);
    let gpus = read_rows(NCCL, None, JobSize::new(None, Some(1))).unwrap();
    assert_eq!((gpus.rows[0].nodes, gpus.rows[0].ranks_per_node), (4, 1));
    let cpu = NCCL.replace("    time   ", " cputime   ");
    let mistake = mistake_in(&cpu, JobSize::default());
    assert!(
        mistake.ends_with(": expected a column \"time\""),
        "{mistake}"
    );
}

#[test]
fn the_selector_of_the_platform_chooses() {
    let simulated = |text: &str, size, selector: &str| -> Vec<f64> {
        let mut rows = read_rows(text, None, size).unwrap();
        let (platform, hosts) = (platform_with(selector), JobHosts::default());
        let judged = judge_rows(&platform, &mut rows, &hosts, &|_, _| {}).unwrap();
        judged.iter().map(|judged| judged.simulated_s).collect()
    };
    let osu = simulated(OSU, job_of(4, 1), "openmpi-4.1");
    assert_eq!(osu.len(), 19);
    assert!(
        osu.iter().all(|time| *time > 0.0 && *time < 1e-3),
        "{osu:?}"
    );
    let nccl = ["openmpi-4.1", "nccl"].map(|selector| {
        let times = simulated(NCCL, JobSize::new(None, Some(1)), selector);
        times[1]
    });
    assert!(nccl[0] != nccl[1], "{nccl:?}");
}

#[test]
fn the_mean_of_all_ranks_is_shorter_than_the_slowest() {
    let text = "# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)  Max Latency(us)\n\
                1024  9  9\n";
    let platform = platform_with("ours");
    let time_of = |timing, bytes| {
        let mut rows = read_rows(text, None, job_of(4, 1)).unwrap();
        (rows.rows[0].timing, rows.rows[0].bytes) = (timing, bytes);
        let judged = judge_rows(&platform, &mut rows, &JobHosts::default(), &|_, _| {});
        judged.unwrap()[0].simulated_s
    };
    let timings = [
        LoopTiming::Slowest,
        LoopTiming::Mean,
        LoopTiming::MeanWithoutBarriers,
    ];
    let [slowest, mean, pipelined] = timings.map(|timing| time_of(timing, 1024));
    // Short messages cost the processor no time here, and the links are not full.
    assert!(
        mean < slowest && pipelined < mean,
        "{mean} {slowest} {pipelined}"
    );
    let [_, _, full] = timings.map(|timing| time_of(timing, 1 << 20));
    assert!(full > 1e-4, "{full}");
}

#[test]
fn the_calibration_of_simgrid_is_samples() {
    let samples = convert_samples(SIMGRID).unwrap();
    let lines: Vec<&str> = samples.lines().collect();
    assert_eq!(lines[0], "kernel,size_bytes,time_us");
    // Half of 10.986 us + 11.22784 ms.
    assert!(lines[1].starts_with("pp,8,5619.41"), "{}", lines[1]);
    assert_eq!(lines[15], "ois,8,8.222");
    assert!(lines[35].starts_with("or,8,10.576"), "{}", lines[35]);
    assert_eq!(lines.len(), 1 + 14 + 20 + 20);
    let Measurements::Samples(_) = read("samples", &samples).unwrap() else {
        panic!("samples");
    };
    let other = "size_bytes,time_us\n8,1\n";
    assert_eq!(convert_samples(other).unwrap(), other);
}

#[test]
fn mistakes_of_a_calibration_have_their_line() {
    let mistake = |text: &str| convert_samples(text).unwrap_err().to_string();
    let form =
        "expected FUNCTION,bytes,start,seconds, such as MPI_Isend,765921,20.096913,2.536e-06";
    for wrong in [
        "MPI_Isend,8,0.1",
        "MPI_Isend,8,0.1,0",
        "MPI_Wtime,8,0.1,-1",
        "MPI_Isend,8,0.1,NaN",
        "MPI_Isend,-8,0.1,1e-6",
        "MPI_Bcast,8,0.1,1e-6",
    ] {
        let text = format!("MPI_Isend,8,0.1,1e-6\n{wrong}\n");
        assert_eq!(mistake(&text), format!("line 2: {wrong:?}: {form}"));
    }
    assert_eq!(
        mistake("MPI_Send,8,0.1,1e-6\nMPI_Recv,8,0.2,1e-6\n"),
        "line 2: \"MPI_Recv,8,0.2,1e-6\": expected MPI_Recv,8,0.1,SECONDS after the MPI_Send"
    );
    assert_eq!(
        mistake("MPI_Wtime,8,0.1,0\nMPI_Send,8,0.1,1e-6\n"),
        "line 2: no line after the MPI_Send: expected MPI_Recv,8,0.1,SECONDS after the MPI_Send"
    );
}
