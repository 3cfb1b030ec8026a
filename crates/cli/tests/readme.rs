//! All examples in the README and the pages of `docs` are true: each command runs and prints the
//! output on the page.
//!
//! A `console` block is a command after `$`, continued after a backslash, and the output, both
//! streams, errors first. Values that differ from run to run (real time, rates, the revision) are
//! replaced before the comparison. A block without output only has to succeed.
//! `target/release/simrun` stands for the `simrun` of this test, because the tools of that build
//! are there. With `UPDATE_EXPECT=1` the test rewrites the page instead.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::Command;

/// The checkout's root.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The lines of each `console` block.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "```console" {
            blocks.push(lines.by_ref().take_while(|&line| line != "```").collect());
        }
    }
    blocks
}

/// Returns a line with the values that differ from run to run replaced.
fn normal(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for position in 0..words.len() {
        let is = |offset: usize, word: &str| {
            words
                .get(position + offset)
                .is_some_and(|found| found.starts_with(word))
        };
        if is(2, "real") || is(2, "measured") {
            words.splice(position..position + 2, ["TIME"]);
        } else if is(0, "revision") && words.len() > position + 1 {
            words[position + 1] = "REVISION";
        } else if words[position].starts_with('(') && (is(1, "per") || is(2, "per")) {
            words.truncate(position);
            words.push("RATE");
        }
        if position + 1 >= words.len() {
            break;
        }
    }
    words.join(" ")
}

/// Also replaces the times that the program of a real run prints.
fn normal_in(command: &str, line: &str) -> String {
    if !command.contains("simrun real ") {
        return normal(line);
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for position in 1..words.len() {
        if words[position] == "us" {
            words[position - 1] = "TIME";
        }
    }
    normal(&words.join(" "))
}

/// Returns the target folder of this test's own build, so that no package is built twice.
fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_simrun"))
        .parent()
        .and_then(Path::parent)
        .expect("target/debug/simrun")
}

/// Returns the output of a command, both streams, and the exit status if that is not 0.
fn output_of(command: &str) -> Vec<String> {
    let debug = target().join("debug").to_str().unwrap().to_owned();
    let built = command.replace("target/release", &debug);
    let output = Command::new("sh")
        .args(["-c", &format!("{built} 2>&1")])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_TERM_QUIET", "true")
        .output()
        .unwrap();
    let mut lines: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        // Printed by the first command that draws.
        .filter(|line| !line.starts_with("building simrun-tools"))
        .map(|line| line.replace(&debug, "target/release"))
        .collect();
    match output.status.code() {
        Some(0) => {}
        Some(code) => lines.push(format!("[exit {code}]")),
        None => panic!("{command} was killed"),
    }
    lines
}

#[test]
fn what_the_pages_show_is_true() {
    let pages = [
        "README",
        "docs/first-hour",
        "docs/tour",
        "docs/from-smpi",
        "docs/editors",
    ];
    let counts = pages.map(|page| check_page(&format!("{page}.md")));
    assert_eq!(counts, [4, 7, 19, 1, 2]);
}

/// The lines of Rust in the README are lines of the app `ring`, in this order.
#[test]
fn the_program_of_the_readme_is_that_of_the_app() {
    let [readme, app] = ["README.md", "apps/ring/src/main.rs"]
        .map(|page| std::fs::read_to_string(root().join(page)).unwrap());
    let (_, shown) = readme.split_once("```rust\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let mut lines = app.lines().map(str::trim);
    for line in shown.lines().map(str::trim).filter(|&line| line != "// …") {
        assert!(lines.any(|found| found == line), "{line}");
    }
}

/// The folders that commands of the pages make.
const MADE: [&str; 4] = [
    "target/first-hour",
    "target/my-app",
    "target/tour-report",
    "target/tour-study",
];

/// Runs the commands of a page; returns their number.
fn check_page(page: &str) -> usize {
    let mut readme = std::fs::read_to_string(root().join(page)).unwrap();
    let shown = readme.clone();
    let blocks = blocks(&shown);
    let count = blocks.len();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    for folder in MADE.iter().filter(|folder| shown.contains(**folder)) {
        let _ = std::fs::remove_dir_all(root().join(folder));
    }
    for block in blocks {
        let is_continued = |line: &&&str| line.ends_with('\\');
        let (command, block) = block.split_at(block.iter().take_while(is_continued).count() + 1);
        let command = command.join("\n");
        let command = command.strip_prefix("$ ");
        let command = command.expect("a block begins with its command");
        let found = output_of(command);
        if block.is_empty() {
            assert!(
                found.len() > 1 && !found.concat().contains("[exit"),
                "{command}\n{}",
                found.join("\n")
            );
        } else if update {
            readme = readme.replace(&block.join("\n"), &found.join("\n"));
        } else {
            let normal = |line: &str| normal_in(command, line);
            let shown: Vec<String> = block.iter().map(|line| normal(line)).collect();
            let printed: Vec<String> = found.iter().map(|line| normal(line)).collect();
            assert_eq!(printed, shown, "{command}\n{}", found.join("\n"));
        }
    }
    if update {
        std::fs::write(root().join(page), readme).unwrap();
    }
    count
}

#[test]
fn the_readme_names_the_test_command_of_ci() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let ci = std::fs::read_to_string(root().join("xtask/src/ci.rs")).unwrap();
    for command in [
        "cargo test --workspace",
        "cargo run --release -- --platform platforms/cluster.toml apps/ring",
    ] {
        assert!(
            readme
                .lines()
                .any(|line| line.trim_start_matches("$ ") == command),
            "{command}"
        );
        assert!(
            ci.contains(&format!("self.step(\"{command}\")")),
            "{command}"
        );
    }
}
