//! `simrun new`: a package of one's own, outside this repository, that runs at once.
//!
//! Without options the package depends on the checkout that built this simrun, by path, and starts
//! with a copy of its lock file, so that cargo finds everything that it has downloaded already and
//! needs no network. The options name another checkout, a git repository or a version of the
//! registry, for a simrun that was installed and whose checkout is gone. Packages on one checkout
//! share a folder in which cargo keeps the compiled crates, so that only the first waits for these.
//! *Not checked*: whether a repository or a version exists; cargo says so during the build.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use simrun::status;

const MAIN: &str = include_str!("new/main.rs.txt");
const PLATFORM: &str = include_str!("new/platform.toml");
const MANIFEST: &str = include_str!("new/Cargo.toml.txt");

/// Names with which a package does not build: keywords, folders of cargo, and packages that it
/// depends on.
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
pub(crate) const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The line above dependencies on a checkout.
const BY_PATH: &str = "# A checkout of this machine, since no registry has simrun yet. For other machines: the options
# --git and --version of simrun new.
";

/// The packages of simrun that a program names, with the names of their libraries, which are also
/// those of their folders below `crates/`.
const PACKAGES: [(&str, &str); 2] = [("mpi", "simrun-mpi"), ("simrun", "simrun")];

/// A package to make.
#[derive(Args)]
pub(crate) struct NewCommand {
    /// The folder to make; its last part is the name of the package
    name: PathBuf,
    #[command(flatten)]
    origin: Origin,
}

/// Where the package finds simrun; by default in the checkout that this program was built from.
#[derive(Args)]
struct Origin {
    /// Depend on a checkout of simrun; by default on the one that this simrun was built from
    #[arg(long, value_name = "DIR", conflicts_with_all = ["git", "version"])]
    path: Option<PathBuf>,
    /// Depend on a git repository of simrun
    #[arg(long, value_name = "URL", conflicts_with = "version")]
    git: Option<String>,
    /// Revision of --git, such as a commit or a tag; by default the newest one
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
    /// Depend on a version of simrun in the registry, such as 0.1
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

impl Origin {
    /// Returns the checkout that the package depends on, if it depends on one.
    fn checkout(&self, built_from: &Path) -> Result<Option<PathBuf>, String> {
        if self.git.is_some() || self.version.is_some() {
            return Ok(None);
        }
        let folder = self.path.as_deref().unwrap_or(built_from);
        let is_package = |name: &str| {
            folder
                .join("crates")
                .join(name)
                .join("Cargo.toml")
                .is_file()
        };
        if let Some((missing, _)) = PACKAGES.iter().find(|(name, _)| !is_package(name)) {
            let shown = folder.display();
            return Err(match self.path {
                Some(_) => format!(
                    "--path {shown}: it has no crates/{missing}/Cargo.toml: expected a checkout of simrun"
                ),
                None => format!(
                    "{shown}: the checkout that this simrun was built from is gone: expected --path DIR, \
                     --git URL or --version {}",
                    env!("CARGO_PKG_VERSION")
                ),
            });
        }
        let absolute = folder.canonicalize();
        absolute
            .map(Some)
            .map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// Returns the dependencies on simrun, as lines of a manifest.
    fn dependencies(&self, checkout: Option<&Path>) -> String {
        let lines = PACKAGES.map(|(library, package)| {
            let path = checkout
                .map(|checkout| checkout.join("crates").join(library).display().to_string());
            let keys = [
                ("package", (library != package).then_some(package)),
                ("path", path.as_deref()),
                ("git", self.git.as_deref()),
                ("rev", self.rev.as_deref()),
                ("version", self.version.as_deref()),
            ];
            let keys = keys
                .iter()
                .filter_map(|(key, value)| Some(format!("{key} = {}", quote_text((*value)?))));
            format!("{library} = {{ {} }}", keys.collect::<Vec<_>>().join(", "))
        });
        let comment = if checkout.is_some() { BY_PATH } else { "" };
        format!("{comment}{}", lines.join("\n"))
    }
}

/// Makes the package and says how to run it.
pub(crate) fn new(command: &NewCommand) -> ExitCode {
    match make_package(&command.name, &command.origin) {
        Ok(()) => {
            let shown = command.name.display();
            status::print(format_args!(
                "made {shown}; run it with\n  simrun --platform {shown}/platform.toml {shown}"
            ))
        }
        Err(message) => status::refuse(message),
    }
}

fn make_package(folder: &Path, origin: &Origin) -> Result<(), String> {
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
        return Err(format!("invalid package name \"{name}\": reserved"));
    }
    if folder.exists() {
        return Err(format!("{shown}: already exists"));
    }
    let checkout = origin.checkout(Path::new(CHECKOUT))?;
    let manifest = MANIFEST
        .replace("{name}", name)
        .replace("{simrun}", &origin.dependencies(checkout.as_deref()));
    let write = || {
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), MAIN)?;
        fs::write(folder.join("platform.toml"), PLATFORM)?;
        fs::write(folder.join(".gitignore"), "/.cargo\n/target\n")?;
        let Some(checkout) = &checkout else {
            return Ok(());
        };
        fs::copy(checkout.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        fs::create_dir(folder.join(".cargo"))?;
        fs::write(folder.join(".cargo/config.toml"), cargo_settings(checkout)?)
    };
    write().map_err(|error| format!("{shown}: cannot write there: {error}"))
}

/// Returns the settings of cargo for a package on a checkout: the levels of optimisation of the
/// checkout, package by package, and the folder of compiled crates that all such packages share, if
/// this user can write to the checkout.
fn cargo_settings(checkout: &Path) -> io::Result<String> {
    let mut settings = String::from("# Of this machine. Packages as in the checkout of simrun:\n");
    let manifest = files::read_text(&checkout.join("Cargo.toml"))?;
    for section in manifest.split("\n\n") {
        let table = section.lines().find(|line| line.starts_with('['));
        if table.is_some_and(|table| table.starts_with("[profile.release.")) {
            settings.push_str(&format!("{section}\n\n"));
        }
    }
    let shared = checkout.join("target/outside");
    let probe = shared.join(".writable");
    if fs::create_dir_all(&shared)
        .and_then(|()| fs::write(probe, ""))
        .is_ok()
    {
        let shared = quote_text(&shared.display().to_string());
        settings.push_str(&format!("[build]\nbuild-dir = {shared}\n"));
    }
    Ok(settings)
}

/// Returns a text as a string of TOML.
fn quote_text(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_its_checkout_simrun_says_what_to_name() {
        let origin = Origin {
            path: None,
            git: None,
            rev: None,
            version: None,
        };
        let error = origin.checkout(Path::new("/nowhere")).unwrap_err();
        let expected = "/nowhere: the checkout that this simrun was built from is gone: expected --path DIR, \
                        --git URL or --version ";
        assert_eq!(error, format!("{expected}{}", env!("CARGO_PKG_VERSION")));
    }
}
