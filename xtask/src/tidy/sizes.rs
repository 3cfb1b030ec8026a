//! Files stay short.

use super::Finding;
use super::repository::Repository;

/// Largest number of lines of a file. Look for a seam long before.
const LINES_MAX: usize = 800;

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            let text = format!("{lines} lines: expected at most {LINES_MAX}");
            findings.push(source.finding(LINES_MAX + 1, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found() {
        let longest = "\n".repeat(LINES_MAX);
        let too_long = "\n".repeat(LINES_MAX + 1);
        let found = collect_findings(&Repository::of_sources(&[
            ("a/b.rs", &longest),
            ("a/c.rs", &too_long),
        ]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "801 lines: expected at most 800");
    }
}
