//! Whole files are read by the package `files`, which stops at a limit and remembers inputs.
//!
//! *Not found*: a reader with another name, and a file that is opened and read piece by piece.

use super::Finding;
use super::repository::Repository;
use super::repository::Source;

/// Calls that read up to the end, however far that is.
const CALLS: [&str; 5] = [
    "fs::read(",
    "fs::read_to_string(",
    "io::read_to_string(",
    ".read_to_end(",
    ".read_to_string(",
];

/// Folders that are no part of the commands, and the package itself.
const OTHERS: [&str; 5] = ["apps", "bench", "files", "testing", "xtask"];

/// Files that read data other than an input.
const EXEMPT: [(&str, &str); 9] = [
    ("crates/cmpi/src/exports/coverage.rs", "a test"),
    (
        "crates/cmpi/src/loader/libraries.rs",
        "libraries that are executed",
    ),
    ("crates/cmpi/src/toolchain.rs", "its own headers"),
    ("crates/fuzz/src/processes.rs", "standard error of a worker"),
    ("crates/real/src/allocation.rs", "the file of its own run"),
    ("crates/real/src/congestion.rs", "files of the kernel"),
    (
        "crates/study/src/results.rs",
        "the results that it continues",
    ),
    ("validation/src/measure/copy.rs", "files of the kernel"),
    ("validation/src/measure/machine.rs", "files of the kernel"),
];

/// Names of files of the kernel, which have an end.
const OF_KERNEL: [&str; 2] = ["\"/proc/", "\"/sys/"];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in repository
        .sources
        .iter()
        .filter(|source| is_checked(source))
    {
        for (number, line) in source.lines() {
            if line == "#[cfg(test)]" {
                break;
            }
            let call = CALLS.iter().find(|call| line.contains(**call));
            let is_of_kernel = OF_KERNEL.iter().any(|name| line.contains(name));
            if let Some(call) = call.filter(|_| !is_of_kernel) {
                let text = format!(
                    "`{call}…)` reads without a limit: expected `files::read_text` or another \
                     function of `files`"
                );
                findings.push(source.finding(number, text));
            }
        }
    }
    findings
}

/// Returns true for the code of commands.
fn is_checked(source: &Source) -> bool {
    let path = &source.path;
    let is_product = path.contains("/src/") && !OTHERS.contains(&source.folder());
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    is_product && !is_test && EXEMPT.iter().all(|(exempt, _)| path != exempt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_without_a_limit_are_found_in_commands() {
        let text = "let a = std::fs::read(path);\n\
                    let b = fs::read_to_string(\"/proc/self/status\");\n\
                    let c = file.read_to_end(&mut bytes);\n\
                    let d = files::read_text(path);\n\
                    #[cfg(test)]\n\
                    mod tests { fn e() { fs::read(path); } }\n";
        let paths = [
            "crates/tools/src/a.rs",
            "crates/tools/tests/b.rs",
            "crates/study/src/results/tests.rs",
            "bench/c/src/main.rs",
            "crates/cmpi/src/toolchain.rs",
        ];
        let sources = paths.map(|path| (path, text));
        let found = collect_findings(&Repository::of_sources(&sources));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(
            places,
            ["crates/tools/src/a.rs:1", "crates/tools/src/a.rs:3"]
        );
    }
}
