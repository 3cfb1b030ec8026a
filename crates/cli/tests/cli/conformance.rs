//! `simrun conformance`: verdicts, formats and the choice of cases.

use crate::support::simrun;

#[test]
fn our_adapter_passes_in_each_format() {
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
