//! `simrun conformance`: verdicts, formats and the choice of cases.

use crate::support::simrun;

#[test]
fn our_adapter_passes_in_each_format() {
    let ran = simrun("conformance --case C09-027/12 --case receiver --pmtu 256,4096");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(
        ran.stdout,
        "pass  C09-027/12      Send-Only after FetchAdd (4 of 4)\n\
         pass  receiver/01     a send before its receive (4 of 4)\n\
         adapter simulated: 8 passed, 0 failed, 0 not applicable\n"
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
    assert_eq!(ran.status, 0);
    let suite = "<testsuite name=\"C09-060\" tests=\"2\" failures=\"0\" skipped=\"0\">";
    assert!(ran.stdout.contains(suite), "{}", ran.stdout);
}

/// Of an adapter without deviations.
#[test]
fn expected_deviations_that_are_not_found_are_warnings() {
    let line = "conformance --expect crates/real/softroce/rxe-deviations.txt --pmtu 256";
    let ran = simrun(&format!("{line} --case duplicates"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let warning =
        "warning: --expect: duplicates/04 opcode: no run of the case has this deviation\n";
    assert_eq!(ran.stderr, warning);
    assert_eq!(simrun(&format!("{line} --case receiver")).stderr, "");
}

#[test]
fn the_list_has_rules_and_origins() {
    let ran = simrun("conformance --list --case C09-130");
    assert_eq!(ran.status, 0);
    for line in [
        "C09-130/01: RNR NAK to a Send-Only",
        "device: requester, published case",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

#[test]
fn what_there_is_not_is_refused() {
    for (line, words) in [
        ("--case C09-999", "--case C09-999: there is no such case"),
        ("--pmtu 1500", "expected 256, 512, 1024, 2048 or 4096"),
        ("--start-psn 16777216", "16777216"),
        ("--expect nowhere.txt", "--expect nowhere.txt: "),
        (
            "--expect crates/cli/Cargo.toml",
            "--expect crates/cli/Cargo.toml: line 1: ",
        ),
        ("--adapter soft", "expected simulated, kernel or udp:"),
        (
            "--adapter udp:nowhere",
            "expected simulated, kernel or udp:",
        ),
        ("--adapter udp:127.0.0.1:1", "127.0.0.1:1: "),
    ] {
        let ran = simrun(&format!("conformance {line}"));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{line}");
        assert!(ran.stderr.contains(words), "{line}: {}", ran.stderr);
    }
}
