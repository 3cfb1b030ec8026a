//! Sends that only work because they are buffered: no deadlock when eager, always one by rendezvous.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

use serde_json::Value;

fn check(options: &str) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_two-senders"))
        .args(["check", "--format", "json"])
        .args(options.split_whitespace())
        .output()
        .unwrap();
    let found = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), found)
}

#[test]
fn the_send_mode_decides() {
    for mode in ["", "--send-mode eager", "--send-mode threshold=1025B"] {
        let (status, found) = check(mode);
        assert_eq!(
            (status, &found["verdict"]),
            (Some(0), &"ok".into()),
            "{mode}"
        );
    }
    for mode in ["--send-mode rendezvous", "--send-mode threshold=1024B"] {
        let (status, found) = check(mode);
        assert_eq!((status, &found["finished"]), (Some(1), &0.into()), "{mode}");
        let finding = &found["findings"][0];
        assert_eq!(finding["kind"], "deadlock");
        assert_eq!(finding["cycle"], serde_json::json!([1, 2]));
        // Every run ends so.
        assert_eq!(finding["critical"]["is"], "everything");
    }
}
