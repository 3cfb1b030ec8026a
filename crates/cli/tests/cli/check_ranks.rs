//! `simrun check` of rank programs: buffers that MPI does not promise, mistakes that no rank
//! notices, and programs that do not keep to the contract.

use crate::check::shell;
use crate::support::{program, simrun};

#[test]
fn sends_that_need_buffers_are_found() {
    let ranks = program("cases");
    let ran = simrun!("check -n 2 --format json {ranks} -- --case head-to-head");
    ran.exits_with(1);
    let found = ran.json();
    assert_eq!(found["verdict"], "found");
    assert_eq!(found["exhaustive"], true);
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "deadlock");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["cycle"], serde_json::json!([1, 2]));
    let message = finding["message"].as_str().unwrap();
    for rank in 0..2 {
        let condition = format!("the send of rank {rank} at ");
        assert!(message.contains(&condition), "{message}");
    }
    assert_eq!(message.matches("is not buffered").count(), 2, "{message}");
    let command = finding["command"].as_str().unwrap();
    let again = shell(command);
    again
        .exits_with(1)
        .prints_text("occurs only if the send of rank 0 at ");
    let ran = simrun!("check -n 2 {ranks} -- --case head-to-head");
    ran.prints_first("deadlock");
    ran.prints_text("errors in 1 of 1 execution; search complete");
    // Who says what sends do asks for nothing else.
    let eager = format!("check -n 2 --protocol eager --format json {ranks} -- --case head-to-head");
    let ran = simrun(&eager);
    ran.exits_with(0);
    let found = ran.json();
    assert_eq!(found["findings"], serde_json::json!([]));
}

#[test]
fn sends_that_may_wait_add_no_executions() {
    let farm = program("cases");
    for protocol in ["", "--protocol eager", "--protocol rendezvous"] {
        let ran = simrun!("check -n 7 --format json {protocol} {farm} -- --case any-source");
        ran.exits_with(0);
        let found = ran.json();
        assert_eq!(found["verdict"], "ok");
        assert_eq!(found["exhaustive"], true);
        assert_eq!(found["executions"], 720, "six senders have 6! orders");
    }
}

#[test]
fn a_long_search_announces_its_first_finding() {
    let cases = program("cases");
    let ran = simrun!("check -n 11 --max-time 3s -q {cases} -- --case first-refused");
    ran.exits_with(1);
    let (announced, rest) = ran
        .stderr
        .split_once("the search continues\n")
        .expect("an announcement");
    assert!(announced.starts_with("panic of rank 0: "), "{announced}");
    assert!(announced.contains("rank 1 was first"), "{announced}");
    assert!(rest.is_empty(), "{rest}");
    ran.prints_text("rank 1 was first");
}

#[test]
fn what_fails_only_with_long_messages_is_found() {
    let ranks = program("cases");
    let search = format!("check -n 2 --format json {ranks} -- --case overtaken");
    let ran = simrun(&search);
    ran.exits_with(1);
    let found = ran.json();
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "panic");
    // Steps name the call, the ranks, the tag and the line.
    let steps = finding["steps"].as_array().unwrap();
    let delivery = steps
        .iter()
        .find(|step| step["operation"] == "deliver")
        .unwrap();
    let object = delivery["object"].as_str().unwrap();
    assert!(object.starts_with("send (from 0 to 1, tag "), "{finding}");
    let line = delivery["line"].as_str().unwrap();
    assert!(line.contains("cases.rs:"), "{finding}");
    assert!(
        !finding["steps"].to_string().contains("ranks.rs"),
        "{finding}"
    );
    let message = finding["message"].as_str().unwrap();
    assert!(message.contains("the second came first"), "{message}");
    let again = shell(finding["command"].as_str().unwrap());
    again.exits_with(1).prints_first("panic of rank 1");
}

#[test]
fn mistakes_that_a_run_does_not_notice_are_findings() {
    for (case, kind, text) in [
        ("late-ready", "error", "ready send without a posted receive"),
        (
            "groups",
            "error",
            "its 1 members are not the 2 members of the group of rank 0",
        ),
        (
            "member-groups",
            "error",
            "its 2 members are not the 2 members of the group of rank 0",
        ),
        (
            "abandoned",
            "unfinished-operations",
            "1 of the receives that were given up had their messages, the first (from rank 0, tag 0)",
        ),
        (
            "forgotten",
            "unfinished-operations",
            "rank 0: 1 of the requests were dropped and never waited for",
        ),
        (
            "unfreed --leaks",
            "unfinished-operations",
            "was never freed, made at",
        ),
        (
            "difference --reductions any",
            "error",
            "the operation difference is not commutative",
        ),
        ("crossed", "deadlock", "waits for all ranks"),
        (
            "started-twice",
            "error",
            "the persistent request is active: expected its operation to be completed first",
        ),
    ] {
        let (case, option) = case.split_once(' ').unwrap_or((case, ""));
        let ranks = program("cases");
        let search = format!("check -n 2 --format json {option} {ranks} -- --case {case}");
        let ran = simrun(&search);
        ran.exits_with(1);
        let finding = &ran.json()["findings"][0];
        assert_eq!(finding["kind"], kind, "{case}");
        let message = finding["message"].as_str().unwrap();
        assert!(message.contains(text), "{case}: {message}");
        shell(finding["command"].as_str().unwrap()).exits_with(1);
    }
    let ranks = program("cases");
    for without in ["{ranks} -- --case unfreed", "{ranks} -- --case difference"] {
        let ran = simrun!("check -n 2 {}", without.replace("{ranks}", &ranks));
        ran.exits_with(0);
    }
}

#[test]
fn what_differs_from_run_to_run_is_named() {
    let ranks = program("cases");
    let ran = simrun!("check -n 2 {ranks} -- --case static");
    ran.exits_with(1).prints_text("is not deterministic");
    let source = include_str!("../programs/cases.rs").lines();
    let mut lines = source
        .zip(1..)
        .skip_while(|(line, _)| !line.contains("fetch_add"));
    let at = lines.find(|(line, _)| line.contains(".send("));
    let place = format!(
        "rank 0 at crates/cli/tests/programs/cases.rs:{}",
        at.unwrap().1
    );
    ran.prints_text(&format!("the message of {place} had other contents"));
}

#[test]
fn who_reads_the_time_is_told_that_it_stands_still() {
    let ranks = program("cases");
    let ran = simrun!("check -n 2 --format json {ranks} -- --case clock");
    ran.exits_with(1);
    let found = ran.json();
    let source = include_str!("../programs/cases.rs").lines();
    let at = source
        .zip(1..)
        .find(|(line, _)| line.contains("let before = world.wtime()"));
    let place = format!("crates/cli/tests/programs/cases.rs:{}", at.unwrap().1);
    assert_eq!(found["findings"][0]["clock_reads"][0], place, "{found}");
    assert_eq!(found["warnings"][0]["kind"], "clock");
    assert_eq!(found["warnings"][0]["line"], place);
    let ran = simrun!("check -n 2 {ranks} -- --case clock");
    // Both calls are told together.
    let text = format!(
        "this may be a false alarm: time does not pass during the search, but {place} and crates/cli/"
    );
    ran.prints_text(&text);
    let warnings = ran.stdout.matches("warning: time does not pass").count();
    assert_eq!(warnings, 1, "{ran:?}");
}
