//! Documentation begins with a verb or a noun, as in the standard library, not with a question.
//!
//! Every line that begins with a question word counts: a sentence in the middle of a paragraph
//! counts at the start of a line, and a sentence that begins within a line does not count.

use super::Finding;
use super::repository::Repository;

const QUESTIONS: [&str; 5] = ["What", "How", "Whether", "Who", "Which"];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        for (number, line) in source.lines() {
            let line = line.trim_start();
            let doc = ["/// ", "//! "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark));
            let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
            let word = doc.and_then(|doc| doc.split(|letter| !is_letter(letter)).next());
            if let Some(word) = word.filter(|word| QUESTIONS.contains(word)) {
                let text = format!(
                    "documentation that begins with {word:?}: expected a verb or a noun, as in \"Returns …\""
                );
                findings.push(source.finding(number, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_found() {
        let lines = [
            "//! Which packets travel.",
            "/// Returns what is left.",
            "    /// Whether it is.",
            "// What a comment says.",
            "/// Whatever.",
            "/// How, then?",
        ];
        let text = lines.join("\n");
        let found = collect_findings(&Repository::of_sources(&[("crates/mpi/src/a.rs", &text)]));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(
            places,
            [
                "crates/mpi/src/a.rs:1",
                "crates/mpi/src/a.rs:3",
                "crates/mpi/src/a.rs:6"
            ]
        );
    }
}
