//! Reports of verdicts: text for people, JSON for programs, JUnit XML for continuous integration.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rdma::dialogue::{CaseOrigin, CaseVerdict, DeviceRole};
use serde_json::json;

use super::{ChosenCase, PlayedCase, case_name};

/// Number of cases with each verdict.
#[derive(Default)]
struct VerdictCounts {
    passed: usize,
    failed: usize,
    /// Failures that are expected.
    known: usize,
    not_applicable: usize,
}

impl VerdictCounts {
    fn from_played<'a>(played: impl IntoIterator<Item = &'a PlayedCase>) -> Self {
        let mut counts = Self::default();
        for played in played {
            match played.verdict {
                CaseVerdict::Pass => counts.passed += 1,
                CaseVerdict::Fail(_) if played.known.is_some() => counts.known += 1,
                CaseVerdict::Fail(_) => counts.failed += 1,
                CaseVerdict::NotApplicable(_) => counts.not_applicable += 1,
            }
        }
        counts
    }

    const fn total_count(&self) -> usize {
        self.passed + self.failed + self.known + self.not_applicable
    }
}

/// Returns the list of cases with their rules.
pub(super) fn list_cases(cases: &[ChosenCase]) -> String {
    let mut text = String::new();
    for (family, case) in cases {
        let name = case_name(family, case);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {}", case.title);
        let _ = writeln!(
            text,
            "  device: {}, {}",
            role(case.role()),
            origin(case.origin)
        );
        let _ = writeln!(text, "  rule: {}", case.rule);
        if !case.notes.is_empty() {
            let _ = writeln!(text, "  note: {}", case.notes);
        }
    }
    text
}

const fn role(role: DeviceRole) -> &'static str {
    match role {
        DeviceRole::Responder => "responder",
        DeviceRole::Requester => "requester",
    }
}

const fn origin(origin: CaseOrigin) -> &'static str {
    match origin {
        CaseOrigin::Published => "published case",
        CaseOrigin::Summary => "case of the published summary, number inferred",
        CaseOrigin::Rule => "no published case",
    }
}

fn parameters(played: &PlayedCase) -> String {
    let parameters = &played.parameters;
    format!(
        "PMTU {}, start {}",
        parameters.mtu.bytes(),
        parameters.start
    )
}

/// Returns the report as text: a line for each case, the failures, and the counts.
pub(super) fn text_report(adapter: &str, played: &[PlayedCase]) -> String {
    let mut text = String::new();
    let runs = played.chunk_by(|one, two| std::ptr::eq(one.case, two.case));
    for runs in runs {
        let counts = VerdictCounts::from_played(runs);
        let verdict = match counts {
            VerdictCounts { failed: 1.., .. } => "FAIL",
            VerdictCounts { known: 1.., .. } => "known",
            VerdictCounts { passed: 1.., .. } => "pass",
            VerdictCounts { .. } => "n/a",
        };
        let (name, title) = (runs[0].name(), runs[0].case.title);
        let _ = writeln!(
            text,
            "{verdict:<5} {name:<14}  {title} ({} of {})",
            counts.passed,
            counts.total_count()
        );
        for run in runs {
            let why = match &run.verdict {
                CaseVerdict::Pass => continue,
                CaseVerdict::Fail(mismatch) => mismatch.to_string(),
                CaseVerdict::NotApplicable(reason) => reason.clone(),
            };
            let _ = writeln!(text, "      {}: {why}", parameters(run));
        }
        if let Some(judgement) = runs.iter().find_map(|run| run.known.as_deref()) {
            let _ = writeln!(text, "      known: {judgement}");
        }
    }
    let counts = VerdictCounts::from_played(played);
    let known = match counts.known {
        0 => String::new(),
        known => format!("{known} known, "),
    };
    let _ = writeln!(
        text,
        "adapter {adapter}: {} passed, {} failed, {}{} not applicable",
        counts.passed, counts.failed, known, counts.not_applicable
    );
    text
}

/// Returns the report as JSON.
pub(super) fn json(adapter: &str, played: &[PlayedCase]) -> String {
    let case = |played: &PlayedCase| {
        let mut case = json!({
            "case": played.name(),
            "title": played.case.title,
            "rule": played.case.rule,
            "role": role(played.case.role()),
            "pmtu": played.parameters.mtu.bytes(),
            "start_psn": played.parameters.start.get(),
        });
        match &played.verdict {
            CaseVerdict::Pass => case["verdict"] = "pass".into(),
            CaseVerdict::Fail(mismatch) => {
                case["verdict"] = "fail".into();
                case["step"] = mismatch.step.into();
                case["packet"] = mismatch.packet.clone().into();
                case["field"] = mismatch.field.into();
                case["expected"] = mismatch.expected.clone().into();
                case["got"] = mismatch.got.clone().into();
                if let Some(judgement) = &played.known {
                    case["verdict"] = "known deviation".into();
                    case["judgement"] = judgement.clone().into();
                }
            }
            CaseVerdict::NotApplicable(reason) => {
                case["verdict"] = "not applicable".into();
                case["reason"] = reason.clone().into();
            }
        }
        case
    };
    let counts = VerdictCounts::from_played(played);
    let report = json!({
        "adapter": adapter,
        "passed": counts.passed,
        "failed": counts.failed,
        "known_deviations": counts.known,
        "not_applicable": counts.not_applicable,
        "cases": played.iter().map(case).collect::<Vec<_>>(),
    });
    format!("{report:#}")
}

/// Returns the report in the XML of JUnit: a suite for each family.
pub(super) fn junit(adapter: &str, played: &[PlayedCase]) -> String {
    let mut families: BTreeMap<&str, Vec<&PlayedCase>> = BTreeMap::new();
    for played in played {
        families.entry(played.family.name).or_default().push(played);
    }
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = VerdictCounts::from_played(played);
    let attributes = |name: &str, counts: &VerdictCounts| {
        format!(
            "name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\"",
            escaped(name),
            counts.total_count(),
            counts.failed,
            counts.known + counts.not_applicable
        )
    };
    let root = attributes(&format!("simrun conformance: {adapter}"), &counts);
    let _ = writeln!(xml, "<testsuites {root}>");
    for (family, played) in families {
        let counts = VerdictCounts::from_played(played.iter().copied());
        let _ = writeln!(xml, "  <testsuite {}>", attributes(family, &counts));
        for played in played {
            junit_case(&mut xml, played);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn junit_case(xml: &mut String, played: &PlayedCase) {
    let name = format!(
        "{} {}: {}",
        played.case.number,
        played.case.title,
        parameters(played)
    );
    let (family, name) = (escaped(played.family.name), escaped(&name));
    let _ = write!(xml, "    <testcase classname=\"{family}\" name=\"{name}\"");
    let _ = match &played.verdict {
        CaseVerdict::Pass => writeln!(xml, "/>"),
        CaseVerdict::Fail(mismatch) if played.known.is_some() => {
            let judgement = played.known.as_deref().unwrap_or_default();
            let text = format!("known deviation: {mismatch}: {judgement}");
            writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(&text))
        }
        CaseVerdict::Fail(mismatch) => writeln!(
            xml,
            "><failure message=\"{}\">{}</failure></testcase>",
            escaped(&mismatch.to_string()),
            escaped(played.case.rule)
        ),
        CaseVerdict::NotApplicable(reason) => {
            writeln!(
                xml,
                "><skipped message=\"{}\"/></testcase>",
                escaped(reason)
            )
        }
    };
}

/// Returns a text with the five characters replaced that XML reserves.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use rdma::dialogue::{DialogueParameters, FAMILIES, Mismatch};

    use super::*;

    fn played(verdict: CaseVerdict) -> PlayedCase {
        PlayedCase {
            family: &FAMILIES[0],
            case: &FAMILIES[0].cases[11],
            parameters: DialogueParameters {
                mtu: rdma::Mtu::Mtu256,
                start: DialogueParameters::WRAPPING,
            },
            verdict,
            known: None,
        }
    }

    fn all_verdicts() -> [PlayedCase; 3] {
        [
            played(CaseVerdict::Pass),
            played(CaseVerdict::Fail(Mismatch {
                step: 4,
                packet: "RcAcknowledge with PSN 2".to_owned(),
                field: "PSN",
                expected: "2 < 3".to_owned(),
                got: "1".to_owned(),
            })),
            played(CaseVerdict::NotApplicable("no \"atomics\"".to_owned())),
        ]
    }

    #[test]
    fn junit_has_each_verdict_and_escapes() {
        let xml = junit("a&b", &all_verdicts());
        for part in [
            "<testsuites name=\"simrun conformance: a&amp;b\" tests=\"3\" failures=\"1\" skipped=\"1\">",
            "<testsuite name=\"C09-027\" tests=\"3\" failures=\"1\" skipped=\"1\">",
            "name=\"12 Send-Only after FetchAdd: PMTU 256, start 16777213\"/>",
            "<failure message=\"step 4, RcAcknowledge with PSN 2: PSN: expected 2 &lt; 3, got 1\">",
            "<skipped message=\"no &quot;atomics&quot;\"/></testcase>",
        ] {
            assert!(xml.contains(part), "{part}: {xml}");
        }
    }

    #[test]
    fn a_known_deviation_is_no_failure() {
        let [_, failed, _] = all_verdicts();
        let known = PlayedCase {
            known: Some("wrong <here>".to_owned()),
            ..failed
        };
        assert!(!known.is_new_failure());
        let known = [known];
        let report = text_report("x", &known);
        assert!(report.starts_with("known C09-027/12 "), "{report}");
        let end = "known: wrong <here>\nadapter x: 0 passed, 0 failed, 1 known, 0 not applicable\n";
        assert!(report.ends_with(end), "{report}");
        let found: serde_json::Value = serde_json::from_str(&json("x", &known)).unwrap();
        assert_eq!(found["cases"][0]["verdict"], "known deviation");
        let xml = junit("x", &known);
        assert!(xml.contains("failures=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains(": wrong &lt;here&gt;\"/></testcase>"), "{xml}");
    }

    #[test]
    fn json_and_text_tell_the_difference() {
        let found: serde_json::Value = serde_json::from_str(&json("x", &all_verdicts())).unwrap();
        let case = &found["cases"][1];
        assert_eq!(case["verdict"], "fail");
        assert_eq!(
            (case["field"].as_str(), case["got"].as_str()),
            (Some("PSN"), Some("1"))
        );
        assert_eq!(found["cases"][2]["reason"], "no \"atomics\"");
        let text = text_report("x", &all_verdicts());
        assert!(text.starts_with("FAIL  C09-027/12 "), "{text}");
        assert!(
            text.ends_with("adapter x: 1 passed, 1 failed, 1 not applicable\n"),
            "{text}"
        );
    }
}
