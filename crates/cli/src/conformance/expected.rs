//! Expected deviations of an adapter, as a file: a line has a case, the field that differs, and the
//! judgement. `#` begins a comment.
//!
//! A failure is expected if the file has the case and the field, for any values, path MTU and
//! sequence numbers: a case that fails in another field is a new deviation.

use super::{ChosenCase, PlayedCase};
use rdma::dialogue::{CaseVerdict, FAMILIES, Mismatch};

/// A line of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ExpectedDeviation {
    case: String,
    field: String,
    judgement: String,
}

/// Reads a file.
pub(super) fn parse(text: &str) -> Result<Vec<ExpectedDeviation>, String> {
    let mut deviations = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words = line
            .split_once(": ")
            .and_then(|(what, judgement)| Some((what.split_once(' ')?, judgement)));
        let Some(((case, field), judgement)) = words else {
            return Err(format!(
                "line {number}: {line:?}: expected a case, a field, a colon and the judgement"
            ));
        };
        let mut all = FAMILIES
            .iter()
            .flat_map(|family| family.cases.iter().map(move |case| (family, case)));
        if !all.any(|(family, known)| super::case_name(family, known) == case) {
            return Err(format!("line {number}: {case}: there is no such case"));
        }
        deviations.push(ExpectedDeviation {
            case: case.to_owned(),
            field: field.trim().to_owned(),
            judgement: judgement.trim().to_owned(),
        });
    }
    Ok(deviations)
}

/// Returns the judgement on a failure, if the failure is expected.
pub(super) fn judgement(
    expected: &[ExpectedDeviation],
    case: &str,
    mismatch: &Mismatch,
) -> Option<String> {
    let is_this = |one: &&ExpectedDeviation| one.case == case && one.field == mismatch.field;
    let found = expected.iter().find(is_this);
    found.map(|one| one.judgement.clone())
}

/// Returns a sentence for each expected deviation of a case that passed without the deviation.
pub(super) fn not_found(
    expected: &[ExpectedDeviation],
    cases: &[ChosenCase],
    played: &[PlayedCase],
) -> Vec<String> {
    let was_played = |one: &&ExpectedDeviation| {
        cases
            .iter()
            .any(|(family, case)| super::case_name(family, case) == one.case)
    };
    let was_found = |one: &&ExpectedDeviation| {
        played.iter().any(|played| {
            let field = match &played.verdict {
                CaseVerdict::Fail(mismatch) => mismatch.field,
                _ => return false,
            };
            played.name() == one.case && field == one.field
        })
    };
    let missing = expected
        .iter()
        .filter(was_played)
        .filter(|one| !was_found(one));
    let sentence = |one: &ExpectedDeviation| {
        format!(
            "--expect: {} {}: no run of the case has this deviation",
            one.case, one.field
        )
    };
    missing.map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatch(field: &'static str) -> Mismatch {
        Mismatch {
            step: 1,
            packet: "x".to_owned(),
            field,
            expected: "1".to_owned(),
            got: "2".to_owned(),
        }
    }

    #[test]
    fn a_deviation_is_known_by_case_and_field() {
        let text = "# of a kernel\n\nduplicates/04 DMA length: wrong: IBA 9.7.5.1\n";
        let expected = parse(text).unwrap();
        let judged = |case, field| judgement(&expected, case, &mismatch(field));
        let known = judged("duplicates/04", "DMA length");
        assert_eq!(known.as_deref(), Some("wrong: IBA 9.7.5.1"));
        assert_eq!(judged("duplicates/04", "PSN"), None);
        assert_eq!(judged("duplicates/03", "DMA length"), None);
    }

    #[test]
    fn wrong_lines_are_refused_with_their_numbers() {
        for (text, words) in [
            ("# x\nduplicates/04 PSN", "line 2: "),
            ("duplicates/04: latitude", "line 1: "),
            (
                "duplicates/99 PSN: latitude",
                "line 1: duplicates/99: there is no such case",
            ),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.starts_with(words), "{problem}");
        }
    }

    #[test]
    fn a_damaged_file_is_refused_or_read() {
        let valid = b"# of a kernel\n\nduplicates/04 DMA length: wrong: IBA 9.7.5.1\n";
        testing::damage::read_each_damage(valid, |bytes| {
            drop(parse(&String::from_utf8_lossy(bytes)));
        });
    }
}
