//! The answers of w workers arrive in w! orders, and only one of them is the order of the ranks.

use serde_json::Value;

fn check(arguments: &str) -> (Option<i32>, Value) {
    testing::apps::check(env!("CARGO_BIN_EXE_task-farm"), arguments)
}

#[test]
fn answers_arrive_in_every_order() {
    for (ranks, orders) in [(2, 1), (3, 2), (4, 6), (5, 24)] {
        let mode = if ranks < 5 { "" } else { "--protocol eager" };
        let (status, found) = check(&format!("-n {ranks} {mode}"));
        assert_eq!(
            (status, &found["executions"]),
            (Some(0), &orders.into()),
            "{ranks}: {found}"
        );
    }
    // More tasks than workers, and fewer; and every message by rendezvous.
    for arguments in [
        "-n 3 -- --tasks 4",
        "-n 4 -- --tasks 1",
        "-n 3 --protocol rendezvous",
    ] {
        let (status, found) = check(arguments);
        assert_eq!(status, Some(0), "{found}");
    }
}

#[test]
fn who_believes_in_an_order_is_wrong_in_all_but_one() {
    let (status, found) = check("-n 3 -- --in-order");
    assert_eq!(status, Some(1));
    assert_eq!(found["finished"], 1, "{found}");
    assert_eq!(found["failed"], 1, "{found}");
    assert_eq!(
        found["findings"][0]["message"],
        "answer 0 is from rank 2, not 1"
    );
}

#[test]
fn a_plain_run_notices_nothing() {
    let ran = testing::apps::output(
        env!("CARGO_BIN_EXE_task-farm"),
        "-q -p platforms/cluster.toml -n 8 -- --in-order",
    );
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

/// The order of the answers is not determined, which is no mistake.
#[test]
fn the_order_of_answers_is_a_warning() {
    let (status, found) = check("-n 3");
    assert_eq!((status, &found["verdict"]), (Some(0), &"ok".into()));
    let warning = &found["warnings"][0];
    assert_eq!(warning["kind"], "receive-order");
    assert_eq!(warning["name"], "rank 0");
    assert_eq!(found["warnings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_run_is_replayed() {
    for mode in ["", "--protocol rendezvous"] {
        let program = env!("CARGO_BIN_EXE_task-farm");
        let (run, replay) = testing::apps::replayed(program, &format!("-n 4 {mode}"), "--tasks 7");
        assert_eq!(
            (run.status.code(), replay.status.code()),
            (Some(0), Some(0))
        );
        let text = String::from_utf8_lossy(&replay.stdout);
        assert!(text.contains("task-farm: finished after "), "{text}");
    }
}
