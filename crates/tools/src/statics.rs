//! The statics in the sources of a package: simulated ranks share statics, real ranks do not.
//!
//! The search finds declarations at the beginning of a line with a value that can change: `static
//! mut`, a type with a cell, a lock or an atomic, and `thread_local!`. *Not modelled*: statics of
//! crates that the package depends on, and statics from macros.

use std::path::Path;

/// Words in the type of a static that can change.
const CHANGEABLE: [&str; 8] = [
    "Atomic", "Mutex", "RwLock", "OnceLock", "LazyLock", "OnceCell", "RefCell", "Cell<",
];

/// The places of the statics of a package, as `file:line`; none for a program that is no folder.
pub(crate) fn of_package(folder: &Path) -> Vec<String> {
    let mut places = Vec::new();
    look_into(&folder.join("src"), &mut places);
    places
}

fn look_into(folder: &Path, places: &mut Vec<String>) {
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() {
            look_into(&path, places);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && let Ok(text) = files::read_text(&path)
        {
            let lines = text.lines().zip(1..).filter(|(line, _)| is_shared(line));
            places.extend(lines.map(|(_, number)| format!("{}:{number}", path.display())));
        }
    }
}

/// Returns true if a line declares a mutable value that all simulated ranks share.
fn is_shared(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("thread_local!") || line.starts_with("std::thread_local!") {
        return true;
    }
    let (visibility, rest) = line.split_once("static ").unwrap_or(("#", ""));
    let is_declared = visibility.is_empty() || visibility.starts_with("pub");
    let can_change = rest.starts_with("mut ") || CHANGEABLE.iter().any(|word| rest.contains(word));
    is_declared && can_change
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statics_that_can_change_are_found() {
        for line in [
            "static COUNT: AtomicU64 = AtomicU64::new(0);",
            "    pub(crate) static mut RANK: u32 = 0;",
            "thread_local! {",
            "static TABLE: OnceLock<Vec<u64>> = OnceLock::new();",
        ] {
            assert!(is_shared(line), "{line}");
        }
        for line in [
            "static NAME: &str = \"ring\";",
            "// a static Mutex would be shared",
            "fn place() -> &'static Mutex<u32> {",
            "let cell = RefCell::new(1);",
        ] {
            assert!(!is_shared(line), "{line}");
        }
    }
}
