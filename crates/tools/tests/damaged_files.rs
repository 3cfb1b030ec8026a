//! Promise: no file that a command reads makes a command panic or take much memory. Each file of
//! the corpus of `crates/tools/fuzz` is read whole, cut after each byte, and with 10 000 mutations.

use crate::readers;
use std::fs;
use std::path::Path;

use testing::damage::read_damaged;

/// Returns the files of a corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let entries = fs::read_dir(folder.join(name)).expect("a corpus");
    let files = entries.map(|entry| fs::read(entry.expect("an entry").path()));
    let files: Vec<Vec<u8>> = files.map(|file| file.expect("a file")).collect();
    assert!(!files.is_empty(), "{name}");
    files
}

/// Defines one test for each reader; the corpus has the name of the reader.
macro_rules! damaged_files {
    ($($reader:ident)*) => {
        $(
            #[test]
            fn $reader() {
                for file in corpus(stringify!($reader)) {
                    read_damaged(&file, readers::$reader);
                }
            }
        )*
    };
}

damaged_files! {
    event_log study point result mapping record schedule selector profile interaction requests
    rounds session figure
}

/// A header alone must not take memory for ranks that the log does not name.
#[test]
fn a_log_names_the_hosts_of_many_ranks_before_its_first_event() {
    let mut log = corpus("event_log").swap_remove(0);
    log[16..20].copy_from_slice(&100_000_000_u32.to_le_bytes());
    let error = observe::LogReader::new(&log[..]).map(drop);
    let error = error.expect_err("too many ranks").to_string();
    assert!(error.contains("expected those of all 100000000"), "{error}");
}
