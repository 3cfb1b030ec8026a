//! Checks the table of MPI functions (`docs/mpi-coverage.md`): each function occurs once, functions
//! that will never be supported have a reason, and the names of simrun's functions in a row, such
//! as `Comm::send`, are public functions of `mpi/`.
//!
//! *Not seen*: functions of simrun without a row, and methods that only a macro makes.

use std::collections::BTreeSet;

use super::Finding;
use super::repository::{Repository, Source};

const PAGE: &str = "docs/mpi-coverage.md";

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let sources = repository.sources.iter();
    let sources: Vec<&Source> = sources
        .filter(|source| source.path.starts_with("crates/mpi/src/"))
        .collect();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, line) in (1..).zip(repository.mpi_coverage.lines()) {
        let mut finding = |text: String| {
            findings.push(Finding {
                place: format!("{PAGE}:{number}"),
                text,
                key: "docs".to_owned(),
            });
        };
        if !line.starts_with("| `MPI_") {
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, function, ours, remark, _] = cells.as_slice() else {
            finding("expected three columns".to_owned());
            continue;
        };
        if !seen.insert(function) {
            finding(format!("{function} occurs twice: expected one row"));
        }
        if ours.is_empty() || (ours == "never" && remark.is_empty()) {
            finding(format!("{function}: expected a name of ours, or a reason"));
        }
        for name in line.split('`').filter(|part| !part.ends_with('!')) {
            let Some((owner, name)) = name.split_once("::") else {
                continue;
            };
            if !sources.iter().any(|source| declares(source, owner, name)) {
                finding(format!(
                    "{owner}::{name}: expected a public function of mpi/"
                ));
            }
        }
    }
    findings
}

/// Returns true if a file has a public function of this type, of a trait for the type, or of the
/// library `mpi`.
fn declares(source: &Source, owner: &str, name: &str) -> bool {
    let of_trait = format!(" for {owner} {{}}");
    let has_trait = source.text.lines().any(|line| line.ends_with(&of_trait));
    let is_function = |line: &str| {
        let line = line.trim_start();
        let words = line.strip_prefix("pub ").or(has_trait.then_some(line))?;
        let words = words.trim_start_matches("const ");
        let found = words.trim_start_matches("async ").strip_prefix("fn ")?;
        let rest = found.strip_prefix(name)?;
        rest.starts_with(['(', '<']).then_some(())
    };
    let is_owner =
        |line: &str| owner == "mpi" || line.strip_prefix("impl ") == Some(&format!("{owner} {{"));
    let mut lines = source.text.lines();
    (has_trait || source.text.lines().any(is_owner))
        && lines.any(|line| is_function(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_wrong_are_found() {
        let text = "impl Comm {\n    pub fn send<'a>(&'a self) {}\n    pub async fn abort(&self) {}\n}\npub fn waitall() {}\n";
        let mut repository = Repository::of_sources(&[("crates/mpi/src/api/comm.rs", text)]);
        let lines = [
            "| MPI | ours | remark |",
            "| `MPI_Send` | `Comm::send` | |",
            "| `MPI_Abort` | `Comm::abort` | `Comm::sent` is wrong |",
            "| `MPI_Send` | `Request::send` | |",
            "| `MPI_Waitall` | `mpi::waitall`, `simrun::main!` | |",
            "| `MPI_Pcontrol` | not yet | |",
            "| `MPI_Wtick` | never | |",
            "| `MPI_Wtime` | |",
        ];
        repository.mpi_coverage = lines.join("\n");
        let found = collect_findings(&repository);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|finding| (&*finding.place, &*finding.text))
            .collect();
        let expected = [
            ("3", "Comm::sent: expected a public function of mpi/"),
            ("4", "`MPI_Send` occurs twice: expected one row"),
            ("4", "Request::send: expected a public function of mpi/"),
            ("7", "`MPI_Wtick`: expected a name of ours, or a reason"),
            ("8", "expected three columns"),
        ];
        let expected = expected.map(|(line, text)| (format!("{PAGE}:{line}"), text));
        let expected = expected.iter().map(|(place, text)| (&**place, *text));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}
