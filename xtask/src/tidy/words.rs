//! Stand-ins for a noun in documentation, as a ratchet: a sentence names its subject.
//!
//! Counted in comments that document, in every package. *Not counted*: other comments, pages.

use super::Finding;
use super::repository::Repository;

/// Words that stand for a noun, by the name under which they are counted.
const STAND_INS: [(&str, &[&str]); 5] = [
    ("what", &["what"]),
    ("it", &["it", "its"]),
    ("who", &["who", "whose", "whom"]),
    ("those", &["those"]),
    ("nothing", &["nobody", "nothing", "something"]),
];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        for (number, line) in source.lines() {
            let line = line.trim_start();
            let marks = ["/// ", "//! "].into_iter();
            let Some(text) = marks.filter_map(|mark| line.strip_prefix(mark)).next() else {
                continue;
            };
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            for word in words.map(str::to_lowercase) {
                for (name, words) in STAND_INS {
                    if words.contains(&&*word) {
                        let text = format!("`{word}`: expected the noun for which the word stands");
                        findings.push(Finding {
                            key: format!("{}: {name}", source.folder()),
                            ..source.finding(number, text)
                        });
                    }
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_counted_by_word() {
        let text = "/// Its limits, and what it has.\n// It is no documentation.\nfn it() {}\n";
        let found = collect_findings(&Repository::of_sources(&[("mpi/src/a.rs", text)]));
        let keys: Vec<&str> = found.iter().map(|finding| finding.key.as_str()).collect();
        assert_eq!(keys, ["mpi: it", "mpi: what", "mpi: it"]);
        assert_eq!(found[0].place, "mpi/src/a.rs:1");
    }
}
