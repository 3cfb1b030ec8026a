//! The one command works on our side alone, and its table is well formed.

use std::process::Command;

#[test]
fn a_quick_run_of_our_side_prints_a_whole_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args(["--quick", "--ours-only"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let said = String::from_utf8(output.stderr).unwrap();
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
    for title in [
        "yield",
        "1e4 actors",
        "1e6 actors",
        "1e7",
        "mutex",
        "ping-pong",
    ] {
        assert!(
            rows.iter().any(|row| row.contains(title)),
            "{title}:\n{text}"
        );
    }
    assert!(text.contains("How these figures were obtained"), "{text}");
}

#[test]
fn an_unknown_workload_is_refused() {
    let status = Command::new(env!("CARGO_BIN_EXE_versus-simgrid"))
        .args(["--child", "nonsense"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
