//! A comment about unfinished work names the reason: `TODO: reason`.

use super::Finding;
use super::repository::Repository;

const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        for (number, line) in source.lines() {
            // Not within a string.
            let comment = line.trim_start().strip_prefix("//");
            let comment = comment.or_else(|| line.split_once(" //").map(|(_, comment)| comment));
            let comment = comment.map(|comment| comment.trim_start_matches(['/', '!', ' ']));
            let rest = comment.and_then(|comment| {
                let mut marks = MARKS.iter();
                marks.find_map(|mark| comment.strip_prefix(mark))
            });
            let has_reason = |rest: &str| {
                let reason = rest.strip_prefix(':');
                reason.is_some_and(|reason| !reason.trim().is_empty())
            };
            if rest.is_some_and(|rest| !has_reason(rest)) {
                let text = format!("{:?}: expected a reason, `TODO: reason`", line.trim());
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
    fn a_todo_without_a_reason_is_found() {
        let lines = [
            "// TODO: the adapter has no counters yet",
            "// TODO",
            "let x = 1; // FIXME:",
            "// XXX later",
            "/// A list of todos.",
        ];
        let text = lines.join("\n");
        let found = collect_findings(&Repository::of_sources(&[("a/b.rs", &text)]));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["a/b.rs:2", "a/b.rs:3", "a/b.rs:4"]);
    }
}
