//! `simrun conformance`: verdicts, formats and the choice of cases.

use crate::support::simrun;

#[test]
fn our_adapter_passes_in_each_format() {
    let ran = simrun("conformance --case C09-027/12 --case receiver --pmtu 256,4096");
    ran.succeeds_silently();
    ran.prints_only(
        "pass  C09-027/12      Send-Only after FetchAdd (4 of 4)\n\
         pass  receiver/01     a send before its receive (4 of 4)\n\
         adapter simulated: 8 passed, 0 failed, 0 not applicable\n",
    );
    let ran = simrun("conformance --case c09-130/01 --pmtu 512 --start-psn 5 --format json");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.status, &report["passed"]), (0, &1.into()));
    let case = &report["cases"][0];
    assert_eq!(
        (case["case"].as_str(), case["start_psn"].as_u64()),
        (Some("C09-130/01"), Some(5))
    );
    let ran = simrun("conformance --case C09-060/07 --pmtu 1024 --format junit");
    ran.exits_with(0);
    let suite = "<testsuite name=\"C09-060\" tests=\"2\" failures=\"0\" skipped=\"0\">";
    ran.prints_text(suite);
}

/// Of an adapter without deviations.
#[test]
fn expected_deviations_that_are_not_found_are_warnings() {
    let line = "conformance --expect crates/real/softroce/rxe-deviations.txt --pmtu 256";
    let ran = simrun!("{line} --case duplicates");
    ran.exits_with(0);
    let warning =
        "warning: --expect: duplicates/04 opcode: no run of the case has this deviation\n";
    assert_eq!(ran.stderr, warning);
    assert_eq!(simrun!("{line} --case receiver").stderr, "");
}

#[test]
fn the_list_has_rules_and_origins() {
    let ran = simrun("conformance --list --case C09-130");
    ran.exits_with(0);
    for line in [
        "C09-130/01: RNR NAK to a Send-Only",
        "device: requester, published case",
    ] {
        ran.prints_text(line);
    }
}

#[test]
fn an_adapter_that_is_not_there_is_refused() {
    simrun("conformance --adapter udp:127.0.0.1:1").refuses_with("127.0.0.1:1: ");
}
