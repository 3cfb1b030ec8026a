//! `cargo xtask instructions`: the cost of a message, a transition of the checker, a `yield`, a
//! `sleep` and an interaction of the fuzzer.
//!
//! Each workload runs twice under callgrind, which counts executed instructions, with two lengths.
//! The difference leaves out the start of the process. Counts do not depend on the load of the
//! machine, and hardly on the processor; [`RISE_MAX`] is well above such effects. *Not counted*:
//! the kernel of the operating system, cache misses.

mod page;
mod workloads;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Verdict, print};
use page::{Page, PageRow};
use workloads::{ALL, Per, Workload};

/// Largest rise that is no finding, in percent.
const RISE_MAX: u64 = 3;

/// Counts the workloads with `only` in their name, and compares with the stored counts, or stores.
pub(crate) fn count_workloads(root: &Path, only: &str, bless: bool) -> Verdict {
    let chosen: Vec<&Workload> = ALL.iter().filter(|one| one.name.contains(only)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        return Err(format!(
            "{only:?}: no such workload: expected part of one of {names:?}"
        ));
    }
    let mut page = Page::parse(&crate::read(root, page::PATH)?)?;
    build(root, &chosen)?;
    let programs = programs(root)?;
    let mut is_good = true;
    for workload in chosen {
        let now = cost((root, &programs), workload)?;
        let row = page.workload_row(workload.name)?;
        let (text, is_within) = judge(row, now);
        print(&format!(
            "{}: {now} instructions per {}{text}",
            workload.name, row.per
        ));
        is_good &= bless || is_within;
        if bless {
            page.store_figure(workload.name, now);
        }
    }
    if bless {
        crate::write_file(root, page::PATH, &page.page_text())?;
    }
    Ok(is_good)
}

/// Compares a figure with the stored figure: returns a text, and true if the figure has not risen.
fn judge(row: &PageRow, now: u64) -> (String, bool) {
    let goal = format!("goal {}", row.goal);
    let Some(stored) = row.stored else {
        return (format!(", none stored, {goal}"), true);
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of one message are small"
    )]
    let percent = (now as f64 / stored as f64 - 1.0) * 100.0;
    if now * 100 > stored * (100 + RISE_MAX) {
        return (
            format!(
                ", {percent:+.1} %: expected at most +{RISE_MAX} % of {stored} in {}",
                page::PATH
            ),
            false,
        );
    }
    (format!(", stored {stored} ({percent:+.1} %), {goal}"), true)
}

/// Builds the programs as users do.
fn build(root: &Path, workloads: &[&Workload]) -> Result<(), String> {
    let mut command = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    command
        .current_dir(root)
        .args(["build", "--release", "--locked"]);
    // An example that is named would keep cargo from building programs.
    command.arg("--bins");
    for workload in workloads {
        command.args(workload.build);
    }
    let status = command
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    status
        .success()
        .then_some(())
        .ok_or("the programs do not build".to_owned())
}

/// Returns the folder of release builds.
fn programs(root: &Path) -> Result<PathBuf, String> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec();
    let target = metadata.map_err(|error| error.to_string())?;
    Ok(target.target_directory.join("release").into())
}

/// Returns the instructions per message, transition, yield or sleep, rounded; `places` are the
/// repository and the folder of the release builds.
fn cost(places: (&Path, &Path), workload: &Workload) -> Result<u64, String> {
    let short = count_instructions(places, workload, workload.short)?;
    let long = count_instructions(places, workload, workload.long)?;
    let units = match workload.per {
        Per::Known(units) => units,
        Per::Transition => long.transitions()? - short.transitions()?,
    };
    let instructions = long.instructions - short.instructions;
    Ok((instructions + units / 2) / units)
}

/// One run under callgrind.
struct Counted {
    instructions: u64,
    /// Standard output of the program.
    output: String,
}

impl Counted {
    /// Returns the number of transitions that a search of the checker reports.
    fn transitions(&self) -> Result<u64, String> {
        let results: Value = serde_json::from_str(&self.output)
            .map_err(|error| format!("not the results of a search: {error}"))?;
        results["transitions"]
            .as_u64()
            .ok_or_else(|| "results without transitions".to_owned())
    }
}

fn count_instructions(
    (root, programs): (&Path, &Path),
    workload: &Workload,
    length: &str,
) -> Result<Counted, String> {
    let program = programs.join(workload.program);
    let file = std::env::temp_dir().join(format!("simrun-{}.events", std::process::id()));
    let arguments = workload.arguments.replace("LENGTH", length);
    let words = arguments.split_whitespace().map(OsStr::new);
    let words = words.map(|word| {
        if word == "FILE" {
            file.as_os_str()
        } else {
            word
        }
    });
    // The environment lies on the stack, and could move what follows it.
    let output = Command::new("valgrind")
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&program)
        .args(words)
        .output()
        .map_err(|error| {
            format!("cannot start valgrind: {error}: `apt-get install valgrind` has it on Debian")
        })?;
    let _ = std::fs::remove_file(file);
    let log = String::from_utf8_lossy(&output.stderr);
    let instructions = collected(&log).filter(|_| output.status.success());
    let instructions = instructions.ok_or_else(|| {
        format!(
            "{} {arguments}: {}:\n{log}",
            program.display(),
            output.status
        )
    })?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Counted {
        instructions,
        output,
    })
}

/// Returns the count in the log of callgrind: `==1== Collected : 123`.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_more_than_3_percent_is_found() {
        let row = |stored: Option<u64>| PageRow {
            per: "message".to_owned(),
            goal: "10".to_owned(),
            stored,
        };
        assert!(judge(&row(Some(1000)), 1030).1);
        assert!(judge(&row(Some(1000)), 500).1);
        assert!(judge(&row(None), 500).1);
        let (text, is_within) = judge(&row(Some(1000)), 1031);
        assert!(!is_within);
        let expected = ", +3.1 %: expected at most +3 % of 1000 in results/instructions.md";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_count_is_read_from_the_log() {
        let log = "==7== Events    : Ir\n==7== Collected : 11114175\n==7==\n";
        assert_eq!(collected(log), Some(11_114_175));
        assert_eq!(collected("killed"), None);
    }
}
