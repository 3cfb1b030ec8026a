//! Promise: an error of the disk names the file that could not be written, not the input.

use std::path::Path;
use std::process::Command;

/// Runs `simrun-tools` with a limit of 0 for the length of files, which is as a full disk.
fn run_on_a_full_disk(words: &[&str]) -> (Option<i32>, String) {
    let tools = env!("CARGO_BIN_EXE_simrun-tools");
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", tools])
        .args(words)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_timeline_that_cannot_be_written_is_named() {
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fuzz/corpus/event_log/combined.log"
    );
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("full-disk.csv");
    let out = out.to_str().unwrap();
    for words in [
        &["trace", "convert", log, "-o", out][..],
        &["analyse", log, "--no-text", "--trace", out],
    ] {
        let (status, text) = run_on_a_full_disk(words);
        assert_eq!(status, Some(2), "{text}");
        assert!(
            text.contains(&format!("{out}: cannot write it: ")),
            "{text}"
        );
        assert!(!text.contains(".log: "), "{text}");
        assert!(!Path::new(out).exists());
    }
}
