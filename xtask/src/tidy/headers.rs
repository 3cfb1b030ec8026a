//! Every Rust file begins with a comment about the decisions of the file.

use super::Finding;
use super::repository::Repository;

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let sources = repository.sources.iter();
    let without = sources.filter(|source| !source.text.starts_with("//! "));
    without
        .map(|source| {
            let first = source.text.lines().next().unwrap_or_default();
            source.finding(1, format!("{first:?}: expected a header, `//! …`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let sources = [
            ("a/src/b.rs", "//! It decides.\n"),
            ("a/src/c.rs", "use x;\n"),
        ];
        let found = collect_findings(&Repository::of_sources(&sources));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["a/src/c.rs:1"]);
    }
}
