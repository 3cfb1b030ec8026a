//! `simrun new`: a package of one's own, outside this repository, that runs at once and needs no network.
//!
//! The package depends on the checkout that built this simrun, by path, and starts with a copy of its lock file, so
//! that cargo finds everything that it has downloaded already.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use simrun::status;

const MAIN: &str = include_str!("new/main.rs.txt");
const PLATFORM: &str = include_str!("new/platform.toml");
const MANIFEST: &str = include_str!("new/Cargo.toml.txt");

/// Names with which a package does not build: keywords, folders of cargo, and packages that it depends on.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    "build", "deps", "examples", "incremental", "test", "core", "std", "alloc", "proc-macro",
    "clap", "fabric", "files", "mpi", "platform", "run", "sim-core", "simrun",
];

/// The checkout that this program was built from.
pub(crate) const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Makes the package and says how to run it.
pub(crate) fn new(folder: &Path) -> ExitCode {
    match make(folder) {
        Ok(()) => {
            let shown = folder.display();
            status::print(format_args!(
                "made {shown}; run it with\n  simrun --platform {shown}/platform.toml {shown}"
            ))
        }
        Err(message) => status::refuse(message),
    }
}

fn make(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut letters = name.chars();
    let first = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    if !first || !letters.all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)) {
        return Err(format!(
            "\"{name}\" is not a name for a package: expected a letter, then letters, digits, - or _"
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!(
            "\"{name}\" is not a name for a package: Rust, cargo or a crate of simrun has it already"
        ));
    }
    if folder.exists() {
        return Err(format!("{shown}: it is there already"));
    }
    let checkout = Path::new(CHECKOUT).canonicalize().map_err(|error| {
        format!("the checkout that this simrun was built from is gone ({CHECKOUT}: {error})")
    })?;
    let quoted = |crate_name: &str| {
        let path = checkout.join(crate_name).display().to_string();
        format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let manifest = MANIFEST
        .replace("{name}", name)
        .replace("{mpi}", &quoted("mpi"))
        .replace("{simrun}", &quoted("simrun"));
    let write = || {
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), MAIN)?;
        fs::write(folder.join("platform.toml"), PLATFORM)?;
        fs::write(folder.join(".gitignore"), "/target\n")?;
        fs::copy(checkout.join("Cargo.lock"), folder.join("Cargo.lock")).map(drop)
    };
    write().map_err(|error| format!("{shown}: cannot write there: {error}"))
}
