//! Promise: every source file begins by saying what it decides, none grows out of hand, and nothing in our libraries
//! panics without a reason.

use std::fs;
use std::path::{Path, PathBuf};

/// Look for a seam before this many lines.
const LINES_MAX: usize = 800;

/// All Rust files of the workspace, by path relative to its root, and their texts.
fn sources() -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "results" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                let relative = path.strip_prefix(&root).unwrap_or(&path);
                sources.push((relative.display().to_string(), text));
            }
        }
    }
    sources.sort();
    assert!(sources.len() > 50, "only {} files", sources.len());
    sources
}

#[track_caller]
fn check(what: &str, mistakes: &[String]) {
    assert!(mistakes.is_empty(), "{what}:\n  {}", mistakes.join("\n  "));
}

#[test]
fn every_file_begins_with_what_it_decides() {
    let without = |(path, text): (String, String)| (!text.starts_with("//! ")).then_some(path);
    let mistakes: Vec<String> = sources().into_iter().filter_map(without).collect();
    check("files that do not begin with `//! `", &mistakes);
}

#[test]
fn no_file_is_too_long() {
    let long = |(path, text): (String, String)| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| format!("{path}: {lines}"))
    };
    let mistakes: Vec<String> = sources().into_iter().filter_map(long).collect();
    check(&format!("files of more than {LINES_MAX} lines"), &mistakes);
}

/// Whether the file is compiled into what users run.
fn is_product(path: &str) -> bool {
    let inside = |folder: &str| {
        Path::new(path)
            .components()
            .any(|part| part.as_os_str() == folder)
    };
    inside("src") && !path.ends_with("tests.rs") && !inside("tests")
}

#[test]
fn nothing_unwraps_without_saying_why() {
    let mut mistakes = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        // Tests are at the end of a file.
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(product.lines()) {
            let is_code = !line.trim_start().starts_with("//");
            if is_code && line.contains(".unwrap()") {
                mistakes.push(format!("{path}:{number}"));
            }
        }
    }
    check(
        "`.unwrap()` where `.expect(..)` should say why it cannot fail",
        &mistakes,
    );
}
