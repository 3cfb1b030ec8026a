//! Phrases that a reader has to think about, and for which the glossary has a better one.
//!
//! Texts within code count as comments do: users read both.

use super::Finding;
use super::repository::Repository;

/// A phrase, and one to write instead.
const PHRASES: [(&str, &str); 6] = [
    ("so many", "the given number of"),
    ("somebody", "the rank, actor or process that is meant"),
    ("goes on", "continues"),
    ("went on", "continued"),
    ("going on", "in progress"),
    ("go on", "continue"),
];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        if source.path.ends_with("tidy/phrases.rs") {
            continue;
        }
        for (number, line) in source.lines() {
            for (phrase, better) in PHRASES {
                if has_phrase(&line.to_lowercase(), phrase) {
                    let text = format!("{phrase:?}: expected {better:?}");
                    findings.push(source.finding(number, text));
                }
            }
        }
    }
    findings
}

/// Returns true if the words occur in the line; "so many that" is ordinary English.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    line.match_indices(phrase).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + phrase.len()..]);
        !is_letter(before.chars().next_back())
            && !is_letter(after.chars().next())
            && !after.starts_with(" that")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_words() {
        let lines = [
            "/// After so many bytes.",
            "// Somebody sends; he goes on.",
            "// Flows go one by one, so many that they collide.",
            "let text = \"the rank went on\";",
        ];
        let text = lines.join("\n");
        let found = collect_findings(&Repository::of_sources(&[("crates/mpi/src/a.rs", &text)]));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        let expected = [1, 2, 2, 4].map(|line| format!("crates/mpi/src/a.rs:{line}"));
        assert_eq!(places, expected);
    }
}
