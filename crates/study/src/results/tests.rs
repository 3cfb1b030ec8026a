//! Tests of results on the disk.

use super::*;
use crate::testing::{TestFolder, result};

fn name(worker: &str) -> String {
    format!("{RESULTS_FOLDER}/{worker}.jsonl")
}

#[test]
fn results_are_read_back() {
    let folder = TestFolder::new("read-back");
    assert_eq!(ResultSet::read(folder.path()), Ok(ResultSet::default()));
    let mut writer = ResultWriter::open(folder.path(), "host-1").expect("a file");
    let results: Vec<ResultLine> = (0..3).map(|seed| result(seed, 0.5, "d")).collect();
    for result in &results {
        writer.append(result).expect("written");
    }
    let set = ResultSet::read(folder.path()).expect("results");
    for result in &results {
        assert_eq!(set.get(&result.key), Some(result));
    }
    assert_eq!(set.iter().count(), 3);
}

#[test]
fn a_kill_at_any_byte_loses_only_the_last_line() {
    let folder = TestFolder::new("torn");
    let mut writer = ResultWriter::open(folder.path(), "host-1").expect("a file");
    writer.append(&result(0, 0.5, "d")).expect("written");
    let one = fs::read(folder.path().join(name("host-1")))
        .expect("a file")
        .len();
    writer.append(&result(1, 0.5, "d")).expect("written");
    let path = folder.path().join(name("host-1"));
    let whole = fs::read(&path).expect("a file");
    for cut in one..whole.len() {
        fs::write(&path, &whole[..cut]).expect("written");
        // Ignored by others.
        let set = ResultSet::read(folder.path()).expect("results");
        assert_eq!(set.iter().count(), 1, "{cut}");
        // Cut by its own worker, whose next line is whole.
        let mut writer = ResultWriter::open(folder.path(), "host-1").expect("a file");
        writer.append(&result(1, 0.5, "d")).expect("written");
        assert_eq!(fs::read(&path).expect("a file"), whole, "{cut}");
    }
}

#[test]
fn different_digests_of_one_key_are_reported() {
    let folder = TestFolder::new("conflict");
    for (worker, digest) in [("a", "1"), ("b", "1"), ("c", "2")] {
        let mut writer = ResultWriter::open(folder.path(), worker).expect("a file");
        writer.append(&result(7, 0.5, digest)).expect("written");
    }
    let set = ResultSet::read(folder.path()).expect("results");
    assert_eq!((set.iter().count(), set.conflicts().len()), (1, 1));
    let message = set.conflicts()[0].to_string();
    assert!(message.contains("has digest 1 in ") && message.contains("a.jsonl and 2 in "));
    assert!(message.ends_with("c.jsonl: expected one digest; this is a defect of simrun"));
}

#[test]
fn a_retry_that_succeeds_replaces_a_failure() {
    let folder = TestFolder::new("retry");
    let mut writer = ResultWriter::open(folder.path(), "a").expect("a file");
    let good = result(0, 0.5, "d");
    let failed = ResultLine {
        outcome: "failed".to_owned(),
        digest: None,
        ..good.clone()
    };
    for line in [&failed, &good, &failed] {
        writer.append(line).expect("written");
    }
    let set = ResultSet::read(folder.path()).expect("results");
    assert_eq!(set.get(&good.key), Some(&good));
    assert!(set.conflicts().is_empty());
}

#[test]
fn a_foreign_line_is_named() {
    let folder = TestFolder::new("foreign");
    let mut writer = ResultWriter::open(folder.path(), "a").expect("a file");
    writer.append(&result(0, 0.5, "d")).expect("written");
    let path = folder.path().join(name("a"));
    let mut file = OpenOptions::new().append(true).open(path).expect("a file");
    file.write_all(b"{}\n").expect("written");
    let error = ResultSet::read(folder.path())
        .expect_err("a mistake")
        .to_string();
    assert!(
        error.contains("a.jsonl:2: no result (missing field"),
        "{error}"
    );
}

#[test]
fn numbers_keep_every_bit() {
    let folder = TestFolder::new("bits");
    ResultWriter::open(folder.path(), "b").expect("a file");
    let mut stream = sim_core::Stream::new(5, "bits");
    let results: Vec<ResultLine> = (0..2000)
        .map(|seed| {
            let bits = f64::from_bits(stream.bits());
            result(seed, if bits.is_finite() { bits } else { 0.1 + 0.2 }, "d")
        })
        .collect();
    let mut lines = Vec::new();
    for result in &results {
        serde_json::to_writer(&mut lines, result).expect("JSON");
        lines.push(b'\n');
    }
    fs::write(folder.path().join(name("b")), lines).expect("written");
    let set = ResultSet::read(folder.path()).expect("results");
    for result in &results {
        assert_eq!(set.get(&result.key), Some(result));
    }
}
