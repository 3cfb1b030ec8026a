//! How many distinguishable orders producers and consumers have, against figures of independent enumerations.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

use serde_json::Value;

#[track_caller]
fn check(items: u32, room: u32, expected: u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_producer-consumer"))
        .args(["check", "--format", "json", "-n", "2", "--"])
        .args(["--items", &items.to_string(), "--room", &room.to_string()])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{found}");
    assert_eq!(found["traces"], expected);
    assert_eq!(found["blocked"], 0);
}

#[test]
fn two_and_two() {
    check(1, 1, 4);
    check(1, 2, 64);
    check(2, 1, 36);
}

/// A published checker says 25,754; three enumerations say this.
#[test]
fn two_and_two_with_two_items_and_room_for_two() {
    check(2, 2, 25_812);
}
