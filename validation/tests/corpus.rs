//! Promise: no file of measurements makes the reader panic. The corpus of the fuzz target is read
//! whole, cut after each byte, and with each byte replaced.

use std::fs;
use std::path::Path;

/// Reads bytes as the fuzz target does; returns true if they are measurements.
fn reads(bytes: &[u8]) -> bool {
    validation::read("m", &String::from_utf8_lossy(bytes)).is_ok()
}

#[test]
fn damaged_files_of_measurements_are_refused_or_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/measurements");
    let mut good = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        good += usize::from(reads(&bytes));
        for at in 0..bytes.len() {
            reads(&bytes[..at]);
            for other in [0, b',', b'9', b'-', b'\n', 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = other;
                reads(&damaged);
            }
        }
    }
    assert!(good >= 3, "{good} files of the corpus are right");
}
