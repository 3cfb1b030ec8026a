//! The program works without SimGrid, and the table is well formed.

use std::process::Command;

#[test]
fn a_quick_run_of_our_side_prints_a_whole_table() {
    let kernel = [
        "yield",
        "1e4 actors",
        "1e6 actors",
        "1e7",
        "mutex",
        "ping-pong",
    ];
    whole_table("kernel", &kernel);
    let messages = [
        "ring of 4096",
        "alltoall of 1024",
        "waits in recv",
        "1e5 unexpected",
    ];
    whole_table("messages", &messages);
}

#[test]
fn a_name_that_no_workload_has_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args(["messages", "--ours-only", "--only", "nonsense"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("it speaks UTF-8");
    assert!(said.contains("--only nonsense: no workload"), "{said}");
    assert!(said.contains("smpi-ring-4096"), "{said}");
}

fn whole_table(page: &str, titles: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args([page, "--quick", "--ours-only"])
        .output()
        .expect("it runs and speaks UTF-8");
    let text = String::from_utf8(output.stdout).expect("it runs and speaks UTF-8");
    assert!(output.status.success(), "{text}");
    let said = String::from_utf8(output.stderr).expect("it runs and speaks UTF-8");
    assert!(said.contains("libsimgrid-dev"), "{said}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(
        rows.len() >= 2 + 8,
        "head, rule and a line per figure:\n{text}"
    );
    for row in &rows {
        assert_eq!(row.matches('|').count(), 7, "six columns: {row}");
        assert!(!row.contains("NaN"), "a figure is missing: {row}");
    }
    for title in titles {
        assert!(
            rows.iter().any(|row| row.contains(title)),
            "{title}:\n{text}"
        );
    }
    assert!(text.contains("How these figures were obtained"), "{text}");
}

/// Returns true if SimGrid is available, which `SIMRUN_REQUIRE_SIMGRID` requires if set.
fn has_simgrid() -> bool {
    let mut compiler = Command::new("g++");
    compiler.args([
        "-E",
        "-include",
        "simgrid/s4u.hpp",
        "-x",
        "c++",
        "/dev/null",
    ]);
    compiler
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn the_dates_of_random_flows_are_those_of_simgrid() {
    let folder = format!("{}/flows", env!("CARGO_TARGET_TMPDIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args(["flows", "--quick", "--out", &folder])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let text = std::fs::read_to_string(format!("{folder}/flows.md")).unwrap();
    let rows = |after: &str| -> Vec<String> {
        let part = text.split(after).nth(1).unwrap_or_default();
        let lines = part.lines().skip_while(|line| !line.starts_with('|'));
        let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
        lines.map(str::to_owned).collect()
    };
    assert!(rows("# Random flows").len() >= 16, "{text}");
    let required = std::env::var_os("SIMRUN_REQUIRE_SIMGRID").is_some();
    if has_simgrid() || required {
        let dates = rows("## Dates");
        assert_eq!(dates.len(), rows("# Random flows").len(), "{text}");
        for row in dates {
            assert!(row.contains("| yes |") && !row.contains(" 0 ends"), "{row}");
        }
    }
    let picture = std::fs::read_to_string(format!("{folder}/flows.svg")).unwrap();
    assert!(
        picture.contains("flows kept in flight") && picture.contains("simrun, grows as flows^")
    );
}

#[test]
fn an_unknown_workload_is_refused() {
    let status = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args(["--child", "nonsense"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
