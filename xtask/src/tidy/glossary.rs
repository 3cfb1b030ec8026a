//! The terms of `docs/glossary.md` are in use: each term, or another term on the same line, occurs
//! in some Rust file.
//!
//! Only letters and digits are compared, so `WaitGraph` is a use of *Wait graph*. *Not seen*: a
//! term that occurs with another meaning, or as a part of a longer word.

use super::Finding;
use super::repository::Repository;

const PAGE: &str = "docs/glossary.md";

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut used = String::new();
    for source in &repository.sources {
        used.push_str(&squeezed(&source.text));
    }
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(repository.glossary.lines()) {
        let Some((terms, _)) = line
            .strip_prefix("* **")
            .and_then(|line| line.split_once("**"))
        else {
            continue;
        };
        let is_used = |term: &str| {
            let name = term.split('(').next().unwrap_or_default();
            used.contains(&squeezed(name))
        };
        if !terms.split(", ").any(is_used) {
            findings.push(Finding {
                place: format!("{PAGE}:{number}"),
                text: format!("no Rust file uses the term {terms:?}: expected only terms in use"),
                key: "docs".to_owned(),
            });
        }
    }
    findings
}

/// Returns the letters and digits of `text`, in lower case.
fn squeezed(text: &str) -> String {
    let letters = text.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_that_nothing_uses_are_found() {
        let mut repository = Repository::of_sources(&[("a/b.rs", "struct WaitGraph; // a jump\n")]);
        let lines = [
            "# Glossary",
            "* **Wait graph**: A graph. [Source]",
            "* **Breakpoint, jump**: A size. [Source]",
            "* **Sleep set (of steps)**: A set. [Source]",
        ];
        repository.glossary = lines.join("\n");
        let found = collect_findings(&repository);
        let places: Vec<&str> = found.iter().map(|finding| &*finding.place).collect();
        assert_eq!(places, ["docs/glossary.md:4"]);
    }
}
