//! One leader in every order, and two where two nodes have the greatest number.

use serde_json::Value;

fn check(nodes: u32, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments = format!("-n {nodes} -- {}", arguments.join(" "));
    testing::apps::check(env!("CARGO_BIN_EXE_leader-election"), &arguments)
}

#[test]
fn nothing_depends_on_who_is_faster() {
    for nodes in [1, 2, 3, 5, 8] {
        let (status, found) = check(nodes, &[]);
        assert_eq!(
            (status, &found["executions"]),
            (Some(0), &1.into()),
            "{found}"
        );
    }
}

#[test]
fn twins_are_two_leaders() {
    for nodes in [2, 3, 5] {
        let (status, found) = check(nodes, &["--twins"]);
        assert_eq!(status, Some(1));
        assert_eq!(found["executions"], 2, "{found}");
        assert_eq!(found["failed"], 2, "{found}");
        assert_eq!(found["findings"][0]["message"], "2 leaders: expected 1");
        // The same failure in both orders is told once.
        assert_eq!(found["findings"].as_array().unwrap().len(), 1);
    }
}
