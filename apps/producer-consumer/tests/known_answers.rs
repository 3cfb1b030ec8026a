//! Number of distinguishable orders of producers and consumers, against independent
//! enumerations.

#[track_caller]
fn check(items: u32, room: u32, expected: u64) {
    let arguments = format!("-n 2 -- --items {items} --room {room}");
    let (status, found) = testing::apps::check(env!("CARGO_BIN_EXE_producer-consumer"), &arguments);
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(found["executions"], expected);
    assert_eq!(found["sleep_set_blocked"], 0);
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
