//! No package uses a module from the folder of another package by `#[path]`.
//!
//! Code that two packages share belongs in a separate package.

use super::Finding;
use super::repository::{Repository, Source};

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repository.sources {
        for (number, line) in source.lines() {
            let attribute = line.trim_start().strip_prefix("#[path = \"");
            let path = attribute.and_then(|rest| rest.split('"').next());
            if let Some(path) = path.filter(|path| leaves_package(source, path)) {
                let text = format!("#[path = {path:?}]: expected a path inside of the package");
                findings.push(source.finding(number, text));
            }
        }
    }
    findings
}

/// Returns true for a path that leaves the package of the file, above its `src`, `tests`, ….
fn leaves_package(source: &Source, path: &str) -> bool {
    let parts: Vec<&str> = source.path.split('/').collect();
    let in_group = ["apps", "bench"].contains(&source.folder());
    // Folders between the file and that of the package.
    let depth = parts.len() - if in_group { 3 } else { 2 };
    path.split('/').filter(|part| *part == "..").count() > depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_another_package_is_found() {
        let sources = [
            (
                "a/tests/one.rs",
                "#[path = \"../../b/tests/lab/mod.rs\"]\nmod lab;",
            ),
            (
                "a/tests/two.rs",
                "#[path = \"../benches/shapes.rs\"]\nmod shapes;",
            ),
            (
                "apps/x/tests/three.rs",
                "#[path = \"../../testing/mod.rs\"]\nmod t;",
            ),
            ("apps/x/tests/four.rs", "#[path = \"../src/x.rs\"]\nmod x;"),
        ];
        let found = collect_findings(&Repository::of_sources(&sources));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["a/tests/one.rs:1", "apps/x/tests/three.rs:1"]);
    }
}
