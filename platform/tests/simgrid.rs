//! Promise: SimGrid's platforms give SimGrid's dates. The XML files of `tests/simgrid/` are read as they are; the dates beside
//! them are those of SimGrid 3.32 (`tests/simgrid/regenerate.sh` writes them), for transfers alone and together.
//!
//! `SIMGRID_PLATFORMS=FOLDER` compares the files of another folder too, once `regenerate.sh FOLDER` has written their dates.
//!
//! *Not compared*: ways through the router of a zone with `routing="Cluster"`, which 3.32 does not find; and sites whose
//! profiles change speeds, which have tests of their own.

mod lab;

use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use platform::Platform;
use sim_core::ActivityId;

/// Relative to the date.
const LIMIT: f64 = 1e-9;

/// A line of a file of dates.
struct Row {
    together: bool,
    from: String,
    to: String,
    bytes: f64,
    start: f64,
    end: f64,
}

fn rows(file: &Path) -> Vec<Row> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let row = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let [kind, from, to, bytes, start, end] = words[..] else {
            panic!("{}: {line}", file.display())
        };
        let number = |word: &str| word.parse().expect("a number");
        Row {
            together: kind == "together",
            from: from.to_owned(),
            to: to.to_owned(),
            bytes: number(bytes),
            start: number(start),
            end: number(end),
        }
    };
    text.lines().map(row).collect()
}

/// The dates of one platform under one model that are not SimGrid's.
fn wrong(xml: &Path, model: &str) -> Vec<String> {
    let changes = [
        format!("network.model={model}"),
        "network.compat=simgrid-4.1".to_owned(),
    ];
    let changes = changes.map(|change| change.parse().expect("a change"));
    let platform = Platform::load_with(xml, &changes)
        .unwrap_or_else(|error| panic!("{}", error.report(false)));
    let mut lab = Lab::new(&platform.to_toml());
    let mut rows = rows(&xml.with_extension(format!("{model}.dates")));
    assert!(rows.len() > 40, "{} {model}: too few dates", xml.display());
    let mut wrong = Vec::new();
    let mut compare = |row: &Row, date: f64| {
        if (date - row.end).abs() > LIMIT * row.end {
            let kind = if row.together { "together" } else { "alone" };
            wrong.push(format!(
                "{} {model} {kind}: {} to {}, {} bytes at {}: {date}, expected {}",
                xml.display(),
                row.from,
                row.to,
                row.bytes,
                row.start,
                row.end
            ));
        }
    };
    rows.sort_by(|a, b| a.start.total_cmp(&b.start));
    for row in rows.iter().filter(|row| !row.together) {
        lab.wait_until(row.start);
        lab.send(&row.from, &row.to, row.bytes);
        let (date, _) = lab.next_end().expect("an end");
        compare(row, date);
    }
    // Between two starts transfers end, so the dates are taken step by step.
    let together: Vec<&Row> = rows.iter().filter(|row| row.together).collect();
    let mut running: Vec<(ActivityId, &Row)> = Vec::new();
    let mut next = together.into_iter().peekable();
    loop {
        let until = next.peek().map_or(f64::INFINITY, |row| row.start);
        while let Some((date, ended)) = lab.next_end_until(until) {
            for number in ended {
                let at = running.iter().position(|(id, _)| id.number == number);
                let (_, row) = running.swap_remove(at.expect("it runs"));
                compare(row, date);
            }
        }
        let Some(row) = next.next() else { break };
        lab.wait_until(row.start);
        running.push((lab.send(&row.from, &row.to, row.bytes), row));
    }
    assert!(running.is_empty());
    wrong
}

fn all_in(folder: &Path) {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "xml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut all = Vec::new();
    for file in files {
        for model in ["raw", "cm02", "lv08"] {
            all.extend(wrong(&file, model));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn dates_on_imported_platforms() {
    all_in(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid"));
}

#[test]
fn dates_on_the_platforms_of_another_folder() {
    if let Some(folder) = std::env::var_os("SIMGRID_PLATFORMS") {
        all_in(Path::new(&folder));
    }
}
