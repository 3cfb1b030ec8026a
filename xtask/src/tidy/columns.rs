//! Comments and Markdown have lines of at most 100 columns, but for rows of tables. Code is the
//! formatter's; code within Markdown, which may be output of a program, has no limit.

use super::Finding;
use super::repository::Repository;

const COLUMNS_MAX: usize = 100;

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        for (number, line) in source.lines() {
            let columns = line.chars().count();
            let comment = line.trim_start().strip_prefix("//");
            let is_text = comment.is_some_and(|comment| {
                let text = comment.trim_start_matches(['/', '!', ' ']);
                !text.starts_with('|')
            });
            if is_text && columns > COLUMNS_MAX {
                let text = format!("a comment of {columns} columns: expected at most 100");
                findings.push(source.finding(number, text));
            }
        }
    }
    for page in &repository.pages {
        let mut is_code = false;
        for (number, line) in page.lines() {
            is_code ^= line.trim_start().starts_with("```");
            let is_text = !is_code && !line.starts_with("    ") && !line.starts_with('|');
            let columns = line.chars().count();
            if is_text && columns > COLUMNS_MAX {
                let text = format!("a line of {columns} columns: expected at most 100");
                findings.push(page.finding(number, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_comment_is_found() {
        let wide = "x".repeat(97);
        let text = format!(
            "//! It decides.\n/// {wide}\n//  {}é\nlet x = \"{wide}\";\n/// | {wide} |",
            &wide[2..]
        );
        let found = collect_findings(&Repository::of_sources(&[("crates/mpi/src/a.rs", &text)]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place, "crates/mpi/src/a.rs:2");
        assert_eq!(found[0].key, "mpi");
    }

    #[test]
    fn a_wide_line_of_a_page_is_found() {
        let wide = "x".repeat(101);
        let text = format!("| {wide} |\n```\n{wide}\n```\n    {wide}\n{wide}\n");
        let mut repository = Repository::of_sources(&[("docs/a.md", &text)]);
        std::mem::swap(&mut repository.pages, &mut repository.sources);
        let found = collect_findings(&repository);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place, "docs/a.md:6");
    }
}
