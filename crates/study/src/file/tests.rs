//! Tests of the study file.

use super::*;
use crate::statistics::StoppingRule;
use testing::cases::read_cases;

const HEAD: &str = "program = 'apps/ring'\nplatform = 'p.toml'\n";

fn study(rest: &str) -> Study {
    Study::parse("STUDY.toml", &format!("{HEAD}{rest}")).expect("a study")
}

fn mistakes(rest: &str) -> Vec<String> {
    let error = Study::parse("STUDY.toml", &format!("{HEAD}{rest}")).expect_err("mistakes");
    error.to_string().lines().map(str::to_owned).collect()
}

fn shown(study: &Study) -> Vec<String> {
    study
        .points
        .iter()
        .map(|point| point.parameters.shown())
        .collect()
}

#[test]
fn grid_zip_and_points_are_combined_in_order() {
    let study = study(
        "arguments = ['{a}', '{b}', '{c}', '{d}']
        where = 'a < 2 or d == 30'
        [grid]
        a = '1..2 +1'
        [zip]
        b = ['x', 'y']
        c = [true, false]
        [[points]]
        d = 30
        [[points]]
        d = 40",
    );
    assert_eq!(study.parameters, ["a", "b", "c", "d"]);
    assert_eq!(
        shown(&study),
        [
            "a = 1, b = x, c = true, d = 30",
            "a = 1, b = x, c = true, d = 40",
            "a = 1, b = y, c = false, d = 30",
            "a = 1, b = y, c = false, d = 40",
            "a = 2, b = x, c = true, d = 30",
            "a = 2, b = y, c = false, d = 30",
        ]
    );
    assert_eq!(study.points[2].arguments, ["1", "y", "false", "30"]);
}

#[test]
fn a_study_without_parameters_has_one_point() {
    let study = study("");
    assert_eq!(study.points.len(), 1);
    assert_eq!(study.points[0].platform, "p.toml");
    assert_eq!(study.measures[0].column(), "time_s");
    assert_eq!(study.replication.confidence(), 0.95);
}

#[test]
fn all_tables_are_read() {
    let study = study(
        "options = ['--ranks', '{ranks}']
        [grid]
        ranks = [2, 4]
        [set]
        \"links.*.bandwidth\" = '{ranks}Gbps'
        [replicate]
        precision = 0.02
        max = 50
        [limits]
        time = '10s'
        memory = '2GiB'
        events = 1000
        [measure]
        time = { json = 'simulated_s', unit = 's' }
        half = { line = 'half ([0-9.]+)', unit = 'us' }",
    );
    assert_eq!(study.points[1].options, ["--ranks", "4"]);
    assert_eq!(study.points[1].changes, ["links.*.bandwidth=4Gbps"]);
    let rule = StoppingRule {
        precision: 0.02,
        confidence: 0.95,
        min: 10,
        max: 50,
    };
    assert_eq!(study.replication, Replication::Precision(rule));
    let limits = RunLimits {
        time_s: Some(10.0),
        memory: Some(2 << 30),
        events: Some(1000),
    };
    assert_eq!(study.limits, limits);
    let columns: Vec<String> = study.measures.iter().map(Measure::column).collect();
    assert_eq!(columns, ["time_s", "half_us"]);
}

#[test]
fn all_mistakes_come_at_once_with_their_lines() {
    let found = mistakes(
        "arguments = ['{sizes}', '{size']
where = 'size < 3 and'
colour = 1
[grid]
size = '1..8'
ranks = []
[replicate]
seeds = 0
[limits]
time = '10KiB'
[measure]
time = { json = 'a', line = 'b' }
half = { line = '(' }",
    );
    let starts = [
        "STUDY.toml:3:14: there is no parameter \"sizes\": expected",
        "STUDY.toml:3:25: a brace is not closed in \"{size\": expected",
        "STUDY.toml:4:9: an operand is missing at column 13: expected a condition",
        "STUDY.toml:5:1: the file has an unknown key \"colour\": expected one of program",
        "STUDY.toml:7:8: range \"1..8\" has no step: expected",
        "STUDY.toml:8:9: ranks has no values: expected at least one",
        "STUDY.toml:10:9: seeds is no such number: expected a whole number from 1 on",
        "STUDY.toml:12:8: time is not such a quantity, above 0: expected a quantity such as \"10s\"",
        "STUDY.toml:14:8: measure time has 2 sources: expected one of json, analysis and line",
        "STUDY.toml:15:17: the pattern is malformed: ",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found}\n{start}");
    }
}

#[test]
fn each_mistake_has_its_message() {
    for case in read_cases(include_str!("mistakes.txt")) {
        let [text] = case.given_parts();
        case.assert_expected("mistakes.txt", &mistakes(text).join("\n"));
    }
}

#[test]
fn syntax_and_missing_keys() {
    let error = |text: &str| Study::parse("S", text).expect_err("mistakes").to_string();
    let missing = error("");
    assert!(
        missing.contains("the file has no program: expected a text"),
        "{missing}"
    );
    assert!(
        missing.contains("the file has no platform: expected a path"),
        "{missing}"
    );
    assert!(error("program = \nx = [").starts_with("S:1:"));
    let many = mistakes("arguments = ['{a}{b}']\n[grid]\na = '1..2000 +1'\nb = '1..2000 +1'");
    assert!(many[0].contains("have 4000000 combinations: expected at most 1000000"));
}

#[test]
fn batches_are_of_lines_that_a_run_prints_many_times() {
    let text = |measure: &str| format!("[measure]\nm = {{ {measure} }}");
    let found = mistakes(&text("json = 'a', batches = 20"));
    assert!(
        found[0].contains("batches of measure m, which is one number of a run"),
        "{found:?}"
    );
    let found = mistakes(&text("line = '(.)', batches = 2"));
    assert!(
        found[0].contains("batches is no such number: expected a whole number from 3 on"),
        "{found:?}"
    );
    let good = "program = 'a'\nplatform = 'p'\n".to_owned() + &text("line = '(.)', batches = 20");
    let study = Study::parse("S", &good).expect("a study");
    assert_eq!(study.measures[0].batches, Some(20));
}

/// The example of the documentation.
fn example() -> String {
    let header = include_str!("../file.rs").lines();
    let lines = header.skip_while(|line| *line != "//! ```toml").skip(1);
    let lines = lines.take_while(|line| *line != "//! ```");
    let lines = lines.map(|line| line.trim_start_matches("//!").trim_start_matches(' '));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_of_the_documentation_is_a_study() {
    let study = Study::parse("STUDY.toml", &example()).expect("a study");
    // 11 sizes, 3 numbers of ranks, 2 speeds with their delays, 1 algorithm.
    assert_eq!(study.points.len(), 66);
    assert_eq!(
        study.points[0].changes,
        [
            "links.*.bandwidth=100Gbps",
            "links.*.latency=1.3us",
            "collectives.allreduce=ring"
        ]
    );
    assert_eq!(study.measures.len(), 3);
}

#[test]
fn damaged_files_are_mistakes_within_the_text() {
    let letters: Vec<char> = example().chars().collect();
    let mut stream = sim_core::Stream::new(1, "damage");
    let mut below = |limit: usize| {
        let number = stream.below(limit as u64);
        usize::try_from(number).expect("an index")
    };
    let other = [
        '{', '}', '"', '\'', '(', '*', '=', '[', '\n', '9', 'é', '.', '-',
    ];
    for _ in 0..1000 {
        let mut damaged = letters.clone();
        for _ in 0..=below(3) {
            let at = below(damaged.len());
            match below(3) {
                0 => drop(damaged.remove(at)),
                1 => damaged.insert(at, other[below(other.len())]),
                _ => damaged[at] = other[below(other.len())],
            }
        }
        let text: String = damaged.iter().collect();
        if let Err(LoadError::Diagnostics(found)) = Study::parse("S", &text) {
            assert!(!found.as_slice().is_empty());
            for mistake in found.as_slice() {
                assert!(mistake.span.end <= text.len(), "{text}");
                assert!(found.line_and_column(mistake).0 <= text.lines().count() + 1);
            }
        }
    }
}
