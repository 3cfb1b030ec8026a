//! Each file of tests beside a `tests/main.rs` is a module there: otherwise cargo does not build
//! the file, because the manifests of these packages turn off the targets that cargo finds itself.

use super::Finding;
use super::repository::{Repository, Source};

pub(super) fn find_unlisted(repository: &Repository) -> Vec<Finding> {
    let sources = repository.sources.iter();
    sources
        .filter(|source| is_unlisted(repository, source))
        .map(|source| {
            let text = "no module of `main.rs` in this folder: expected one".to_owned();
            source.finding(1, text)
        })
        .collect()
}

/// Returns true for a file that the `tests/main.rs` beside the file does not name. A file with a
/// function `main` is a target of the manifest.
fn is_unlisted(repository: &Repository, source: &Source) -> bool {
    let Some((package, name)) = source.path.rsplit_once("/tests/") else {
        return false;
    };
    let Some(module) = name.strip_suffix(".rs") else {
        return false;
    };
    let path = format!("{package}/tests/main.rs");
    let Some(main) = repository.sources.iter().find(|other| other.path == path) else {
        return false;
    };
    let line = format!("mod {module};");
    let has_main = || source.lines().any(|(_, line)| line.starts_with("fn main("));
    module != "main"
        && !module.contains('/')
        && !main.lines().any(|(_, other)| other == line)
        && !has_main()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_executable_has_is_found() {
        let sources = [
            ("a/tests/main.rs", "mod one;\n"),
            ("a/tests/one.rs", "mod two;\n"),
            ("a/tests/one/two.rs", ""),
            ("a/tests/three.rs", "#[test]\n"),
            ("a/tests/four.rs", "fn main() {}\n"),
            ("b/tests/five.rs", "#[test]\n"),
        ];
        let found = find_unlisted(&Repository::of_sources(&sources));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["a/tests/three.rs:1"]);
    }
}
