//! A wake-up is lost in the orders with a wake-up that comes too early, and never in a plain run.

use serde_json::Value;

/// Returns the exit status, and the result of a search with the counts of orders.
fn check(arguments: &str) -> (Option<i32>, Value) {
    testing::apps::check(env!("CARGO_BIN_EXE_lost-wakeup"), arguments)
}

/// The order of the first two locks decides: two orders.
#[test]
fn one_waiter_may_be_late() {
    let (status, found) = check("-n 1");
    assert_eq!(status, Some(1));
    assert_eq!(found["finished"], 1);
    assert_eq!(found["deadlocks"], 1);
    let sleeper = &found["findings"][0]["actors"][0];
    assert_eq!(sleeper["name"], "waiter-0");
    assert_eq!(sleeper["operation"], "wait on condition variable 0");
}

#[test]
fn with_a_flag_nobody_is_late() {
    let (status, found) = check("-n 1 -- --fixed");
    assert_eq!((status, &found["executions"]), (Some(0), &2.into()));
    for waiters in [2, 3] {
        let (status, found) = check(&format!("-n {waiters} -- --fixed"));
        assert_eq!((status, &found["deadlocks"]), (Some(0), &0.into()));
    }
    assert_eq!(check("-n 2").0, Some(1));
}

#[test]
fn a_plain_run_notices_nothing() {
    let ran = testing::apps::output(
        env!("CARGO_BIN_EXE_lost-wakeup"),
        "-q -p platforms/cluster.toml -n 4",
    );
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}
