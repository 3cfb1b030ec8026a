//! Everything that the README shows is true: each command runs and prints what is shown.
//!
//! A `console` block is a command after `$` and its output, both streams, errors first. What
//! differs from run to run (real time, rates, the revision) is replaced before the comparison. A
//! block without output only has to succeed. `target/release/simrun` stands for the `simrun` of
//! this test, because the tools of that build are there. With `UPDATE_EXPECT=1` the README is
//! rewritten instead.

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

/// The text with what differs from run to run replaced.
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

/// The same for what a real run prints: times of the program too.
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

/// The target folder that this test's own program was built into, so that nothing is built twice.
fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_simrun"))
        .parent()
        .and_then(Path::parent)
        .expect("target/debug/simrun")
}

/// Returns what a command prints, both streams, and its exit status if that is not 0.
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
fn what_the_readme_shows_is_true() {
    assert!(check_page("README.md") >= 5, "the README has its examples");
}

#[test]
fn what_the_page_for_users_of_smpi_shows_is_true() {
    assert_eq!(check_page("docs/from-smpi.md"), 1);
}

/// Runs the commands of a page; returns their number.
fn check_page(page: &str) -> usize {
    let mut readme = std::fs::read_to_string(root().join(page)).unwrap();
    let shown = readme.clone();
    let blocks = blocks(&shown);
    let count = blocks.len();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    if page == "README.md" {
        let _ = std::fs::remove_dir_all(root().join("target/readme"));
    }
    for block in blocks {
        let command = block[0]
            .strip_prefix("$ ")
            .expect("a block begins with its command");
        let found = output_of(command);
        if block.len() == 1 {
            assert!(
                found.len() > 1 && !found.concat().contains("[exit"),
                "{command}\n{}",
                found.join("\n")
            );
        } else if update {
            readme = readme.replace(&block[1..].join("\n"), &found.join("\n"));
        } else {
            let normal = |lines: &[String]| {
                let lines = lines.iter().map(|line| normal_in(command, line));
                lines.collect::<Vec<_>>()
            };
            let expected: Vec<String> = block[1..].iter().map(|&line| line.to_owned()).collect();
            assert_eq!(
                normal(&found),
                normal(&expected),
                "{command}\n{}",
                found.join("\n")
            );
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
