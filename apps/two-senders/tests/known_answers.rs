//! Sends that only work because they are buffered: no deadlock when eager, always one by
//! rendezvous.

use serde_json::Value;

fn check(options: &str) -> (Option<i32>, Value) {
    testing::apps::check(env!("CARGO_BIN_EXE_two-senders"), options)
}

#[test]
fn the_send_mode_decides() {
    for mode in ["--protocol eager", "--protocol threshold=1025B"] {
        let (status, found) = check(mode);
        assert_eq!(
            (status, &found["verdict"]),
            (Some(0), &"ok".into()),
            "{mode}"
        );
    }
    for mode in ["--protocol rendezvous", "--protocol threshold=1024B"] {
        let (status, found) = check(mode);
        assert_eq!((status, &found["finished"]), (Some(1), &0.into()), "{mode}");
        let finding = &found["findings"][0];
        assert_eq!(finding["kind"], "deadlock");
        assert_eq!(finding["cycle"], serde_json::json!([1, 2]));
        // Every run ends so.
        assert_eq!(finding["critical"]["kind"], "all_executions");
    }
}

#[test]
fn without_a_send_mode_needing_buffers_is_a_mistake() {
    let (status, found) = check("");
    assert_eq!((status, &found["verdict"]), (Some(1), &"found".into()));
    assert_eq!(found["findings"][0]["kind"], "deadlock");
    assert_eq!(found["warnings"], serde_json::json!([]));
}

#[test]
fn a_run_is_replayed_and_so_is_its_deadlock() {
    let program = env!("CARGO_BIN_EXE_two-senders");
    for (size, status, end) in [
        ("1KiB", 0, "two-senders: finished after 2 steps"),
        ("1MiB", 1, "deadlock\n"),
    ] {
        let (run, replay) = testing::apps::replayed(program, "-n 2", &format!("--size {size}"));
        assert_eq!(run.status.code(), Some(status), "{run:?}");
        assert_eq!(replay.status.code(), Some(status), "{replay:?}");
        let text = String::from_utf8_lossy(&replay.stdout);
        assert!(text.contains(end), "{text}");
    }
}
