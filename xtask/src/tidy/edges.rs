//! Dependencies between packages: the table "Dependencies" of ARCHITECTURE.md must match cargo.
//!
//! A row is a folder, or all folders in one (`apps/*`). Dependencies of tests only are no edges.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::repository::Repository;

const PAGE: &str = "ARCHITECTURE.md";

/// The header of the table.
const HEADER: &str = "| folder | depends on |";

/// Rows of the table: the number of the line, and the dependencies of the folder.
type Rows = BTreeMap<String, (usize, BTreeSet<String>)>;

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let (header, written) = table_rows(&repository.architecture);
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (folder, package) in &repository.packages {
        let row = match folder.split_once('/') {
            Some((group, _)) => format!("{group}/*"),
            None => folder.clone(),
        };
        real.entry(row).or_default().extend(package.edges.clone());
    }
    let mut findings = Vec::new();
    let mut report = |line: usize, text: String| {
        findings.push(Finding {
            place: format!("{PAGE}:{line}"),
            text,
            key: String::new(),
        });
    };
    for (folder, edges) in &real {
        let Some((line, expected)) = written.get(folder) else {
            report(
                header,
                format!("no row for `{folder}`, which depends on {edges:?}: expected one"),
            );
            continue;
        };
        for edge in edges.difference(expected) {
            report(
                *line,
                format!("`{folder}` depends on `{edge}`: expected only {expected:?}"),
            );
        }
        for edge in expected.difference(edges) {
            report(
                *line,
                format!("`{folder}` does not depend on `{edge}`: expected no such edge here"),
            );
        }
    }
    for (folder, (line, _)) in &written {
        if !real.contains_key(folder) {
            report(
                *line,
                format!("`{folder}`: there is no package: expected a folder of the workspace"),
            );
        }
    }
    findings
}

/// Returns the line of the table's header, and the rows.
fn table_rows(page: &str) -> (usize, Rows) {
    let mut lines = (1..).zip(page.lines());
    let header = lines.find(|(_, line)| *line == HEADER);
    let header = header.map_or(1, |(number, _)| number);
    let words = |cell: &str| -> BTreeSet<String> {
        // Between backquotes.
        let words = cell.split('`').skip(1).step_by(2);
        words.map(str::to_owned).collect()
    };
    let row = |(number, line): (usize, &str)| {
        let mut cells = line.split('|').skip(1);
        let folder = words(cells.next()?).pop_first()?;
        Some((folder, (number, words(cells.next()?))))
    };
    // The line below the header has dashes only.
    let table = lines.skip(1).take_while(|(_, line)| line.starts_with('|'));
    (header, table.filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::repository::Package;

    const PAGE_TEXT: &str = "# Map\n\n| folder | depends on |\n|---|---|\n\
                             | `a` | `b` |\n| `b` | |\n| `apps/*` | `a`, `b` |\n\nText.\n";

    fn texts(packages: &[(&str, &[&str])]) -> Vec<String> {
        let package = |(folder, edges): &(&str, &[&str])| {
            let edges = edges.iter().map(|edge| (*edge).to_owned()).collect();
            let package = Package {
                edges,
                ..Package::default()
            };
            ((*folder).to_owned(), package)
        };
        let repository = Repository {
            architecture: PAGE_TEXT.to_owned(),
            packages: packages.iter().map(package).collect(),
            ..Repository::default()
        };
        let findings = collect_findings(&repository).into_iter();
        findings
            .map(|f| format!("{}: {}", f.place, f.text))
            .collect()
    }

    #[test]
    fn the_graph_of_the_page_is_the_real_one() {
        let good: &[(&str, &[&str])] = &[
            ("a", &["b"]),
            ("b", &[]),
            ("apps/x", &["a"]),
            ("apps/y", &["b"]),
        ];
        assert_eq!(texts(good), [""; 0]);
    }

    #[test]
    fn edges_that_are_new_or_gone_are_found() {
        let found = texts(&[
            ("a", &[]),
            ("b", &["a"]),
            ("apps/x", &["a", "b"]),
            ("c", &[]),
        ]);
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:5: `a` does not depend on `b`: expected no such edge here",
                "ARCHITECTURE.md:6: `b` depends on `a`: expected only {}",
                "ARCHITECTURE.md:3: no row for `c`, which depends on {}: expected one",
            ]
        );
    }

    #[test]
    fn a_row_without_a_package_is_found() {
        let found = texts(&[("a", &["b"]), ("apps/x", &["a", "b"])]);
        let expected =
            "ARCHITECTURE.md:6: `b`: there is no package: expected a folder of the workspace";
        assert_eq!(found, [expected]);
    }
}
