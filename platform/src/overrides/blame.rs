//! Mistakes of a changed platform, reported at the changes, not in the generated text.
//!
//! Each change is applied alone: a mistake that also occurs then belongs to this change. A mistake
//! of several changes together is shown at the first change that is wrong alone, otherwise at the
//! last change.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Override, apply_overrides};
use crate::build::build;
use crate::diagnostic::{Diagnostic, Diagnostics, Source};

/// One of the changes.
struct Suspect {
    span: Range<usize>,
    /// The problems of the platform with this change alone.
    problems: BTreeSet<String>,
}

/// Moves the mistakes `found` in the platform `text` with all changes to the changes that cause
/// them; the file is called `file_name`.
pub(crate) fn blame(
    file_name: &str,
    text: &str,
    overrides: &[Override],
    found: &Diagnostics,
) -> Diagnostics {
    let mut list = String::new();
    let mut suspects = Vec::new();
    for one in overrides {
        let start = list.len();
        list.push_str(&format!("--set {one}"));
        suspects.push(Suspect {
            span: start..list.len(),
            problems: problems(text, one),
        });
        list.push('\n');
    }
    let mut mistakes = Vec::new();
    let mut seen = BTreeSet::new();
    for diagnostic in found.as_slice() {
        for span in culprits(&suspects, &diagnostic.problem) {
            if seen.insert((span.start, &diagnostic.problem)) {
                let diagnostic = diagnostic.clone();
                mistakes.push(Diagnostic { span, ..diagnostic });
            }
        }
    }
    let name = format!("{file_name} with {}", list.trim_end().replace('\n', " "));
    Diagnostics::new(Source::new(&name, &list), mistakes)
}

fn problems(text: &str, change: &Override) -> BTreeSet<String> {
    let Ok(text) = apply_overrides(text, std::slice::from_ref(change)) else {
        return BTreeSet::new();
    };
    let Err(mistakes) = build("", &text, None) else {
        return BTreeSet::new();
    };
    let list = mistakes.as_slice().iter();
    list.map(|diagnostic| diagnostic.problem.clone()).collect()
}

/// The places of the changes that a problem belongs to; at least one.
fn culprits(suspects: &[Suspect], problem: &str) -> Vec<Range<usize>> {
    let own = suspects.iter().filter(|one| one.problems.contains(problem));
    let own: Vec<_> = own.map(|one| one.span.clone()).collect();
    if !own.is_empty() {
        return own;
    }
    let wrong = suspects.iter().find(|one| !one.problems.is_empty());
    let last = wrong.or(suspects.last());
    last.map(|one| one.span.clone()).into_iter().collect()
}
