//! Finds the program of APP: cargo builds a package folder; a built program is used directly.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::build_progress::output_in_short;
use crate::drawing::COMMAND;
use crate::entry::VERSION;
use crate::handshake::{self, is_binary};

/// The first argument that makes the command `simrun` run the compiled MPI program in the file that
/// follows.
pub const AS_PROGRAM: &str = "--as-program";

/// The names of links to `simrun` that compile and start MPI programs, and the commands that they
/// stand for.
pub const WRAPPERS: [(&str, &str); 5] = [
    ("mpicc", "cc"),
    ("mpicxx", "cxx"),
    ("mpic++", "cxx"),
    ("mpirun", "run"),
    ("mpiexec", "run"),
];

/// Returns the command for which the link stands by which `simrun` was called.
#[must_use]
pub fn wrapped_command(name: OsString) -> Option<&'static str> {
    let file = PathBuf::from(name);
    let of_name = |(wrapper, _): &&(&str, &str)| file.file_name() == Some(OsStr::new(wrapper));
    Some(WRAPPERS.iter().find(of_name)?.1)
}

/// The variable with the folders that are searched for libraries before the system folders.
const SEARCHED: &str = "LD_LIBRARY_PATH";

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The file of the program, then the program's own libraries.
    files: Vec<PathBuf>,
    /// The command that runs a compiled MPI program; `None` for other programs.
    simrun: Option<PathBuf>,
    /// The folder that is searched first for the libraries of the program.
    folder: Option<PathBuf>,
}

impl Executable {
    /// Returns the program in `file`, which must be a program. `folder` is searched first for the
    /// program's own libraries.
    #[must_use]
    pub fn new(file: PathBuf, folder: Option<PathBuf>) -> Self {
        let mut program = Self {
            simrun: simrun().filter(|_| may_be_compiled(&file)),
            files: vec![file],
            folder,
        };
        // Simrun tells by the file: the program itself is not started.
        let command = program.simrun.is_some().then(|| program.program_command());
        match command.and_then(handshake::libraries) {
            Some(libraries) => program.files.extend(libraries),
            None => program.simrun = None,
        }
        program
    }

    /// Returns the file of the program.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.files[0]
    }

    /// Returns the file of the program, then the files of the program's own libraries.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns true for a compiled MPI program.
    #[must_use]
    pub const fn is_compiled(&self) -> bool {
        self.simrun.is_some()
    }

    /// Returns the command that starts the program.
    #[must_use]
    pub fn program_command(&self) -> Command {
        let Some(simrun) = &self.simrun else {
            return Command::new(self.file());
        };
        let mut command = Command::new(simrun);
        command.arg(AS_PROGRAM).arg(self.file());
        if let Some(folder) = &self.folder {
            let before = std::env::var_os(SEARCHED).unwrap_or_default();
            let all = [folder.clone()]
                .into_iter()
                .chain(std::env::split_paths(&before));
            // A folder whose name has a colon cannot be in the list.
            command.envs(std::env::join_paths(all).ok().map(|all| (SEARCHED, all)));
        }
        command
    }
}

/// Returns true for an executable without the handshake answer of simrun, which may be a compiled
/// MPI program.
#[must_use]
pub fn may_be_compiled(file: &Path) -> bool {
    is_binary(file) && !handshake::has_answer(file)
}

/// The executable of this process, if this process is the command `simrun`.
static RUNNING: OnceLock<PathBuf> = OnceLock::new();

/// Declares this process to be the command `simrun`, whatever the name of its executable.
pub fn declare_simrun() {
    if let Ok(executable) = std::env::current_exe() {
        RUNNING.get_or_init(|| executable);
    }
}

/// Returns the command `simrun`: this process, or the one that has started this process, or the
/// file beside this executable.
#[must_use]
pub fn simrun() -> Option<PathBuf> {
    if let Some(running) = RUNNING.get() {
        return Some(running.clone());
    }
    let started = std::env::var_os(COMMAND).map(PathBuf::from);
    let beside = || Some(std::env::current_exe().ok()?.with_file_name("simrun"));
    started.or_else(beside).filter(|file| file.is_file())
}

/// Returns the words that start this program with a command of a program of ranks, and the
/// arguments of the process behind them. A compiled program is started by `simrun`.
#[must_use]
pub fn split_command_line(command: Option<&str>) -> (Vec<OsString>, Vec<OsString>) {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let program = words.drain(..words.len().min(1)).collect::<Vec<_>>();
    let is_compiled = words.first().is_some_and(|word| word == AS_PROGRAM) && words.len() > 1;
    let file = is_compiled.then(|| words.drain(..2).nth(1)).flatten();
    let starter = file
        .as_ref()
        .and_then(|_| simrun())
        .map(|file| vec![file.into_os_string()]);
    let mut start = starter.unwrap_or(program);
    start.extend(command.map(OsString::from));
    start.extend(file);
    (start, words)
}

/// The program that APP names, as [`find_program`], or a compiled MPI program.
///
/// # Errors
/// Why there is no program.
pub fn executable(app: &Path, quiet: bool, features: &[&str]) -> Result<Executable, NoProgram> {
    let executable = found_executable(app, quiet, features)?;
    let sources = ["Cargo.toml", "src/main.rs"].map(|name| app.join(name));
    for input in executable.files.iter().chain(&sources) {
        files::add_input(input);
    }
    Ok(executable)
}

fn found_executable(app: &Path, quiet: bool, features: &[&str]) -> Result<Executable, NoProgram> {
    let compiled = app.is_file().then(|| Executable::new(app.to_owned(), None));
    if let Some(compiled) = compiled.filter(Executable::is_compiled) {
        return Ok(compiled);
    }
    Ok(Executable {
        files: vec![find_program(app, quiet, features)?],
        simrun: None,
        folder: None,
    })
}

/// Why there is no program.
#[derive(Debug)]
pub struct NoProgram(String);

impl std::fmt::Display for NoProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the program of APP, built if need be with these cargo features; cargo shows its progress
/// on a terminal unless `quiet`. The handshake has confirmed the version of simrun.
///
/// # Errors
/// The reason why there is no program.
pub fn find_program(app: &Path, quiet: bool, features: &[&str]) -> Result<PathBuf, NoProgram> {
    let program = found(app, quiet, features)?;
    let named = |problem| NoProgram(format!("{}: {problem}", app.display()));
    handshake::verify_program(&program).map_err(named)?;
    Ok(program)
}

/// The file that APP names, built if need be.
fn found(app: &Path, quiet: bool, features: &[&str]) -> Result<PathBuf, NoProgram> {
    let name = app.display();
    let Ok(metadata) = app.metadata() else {
        return Err(NoProgram(format!(
            "{name}: no such file or directory: expected a package directory or an executable{}",
            neighbours(app)
        )));
    };
    if metadata.is_dir() {
        return build(app, quiet, features);
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(NoProgram(format!(
            "{name}: not a program: expected a package directory or an executable"
        )));
    }
    // A bare file name would be searched for in PATH.
    Ok(if app.components().count() == 1 {
        Path::new(".").join(app)
    } else {
        app.to_owned()
    })
}

/// Returns a hint with the packages that were probably meant: `apps/NAME`, or else the packages
/// beside a missing folder.
fn neighbours(app: &Path) -> String {
    let meant = Path::new("apps").join(app);
    if app.components().count() == 1 && is_program(&meant) {
        return format!("; did you mean {}?", meant.display());
    }
    let parent = app
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let entries = parent.read_dir().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| is_program(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({} has {})", parent.display(), names.join(", "))
    }
}

/// Returns true if a folder looks like the package of a program.
fn is_program(folder: &Path) -> bool {
    folder.join("Cargo.toml").is_file() && folder.join("src/main.rs").is_file()
}

fn build(folder: &Path, quiet: bool, features: &[&str]) -> Result<PathBuf, NoProgram> {
    let name = folder.display();
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(NoProgram(format!(
            "{name}: no Cargo.toml in this directory: expected a package directory"
        )));
    }
    let mut options: Vec<OsString> = vec!["--release".into()];
    for feature in features {
        options.extend(["--features".into(), feature.into()]);
    }
    // Cargo itself looks for settings from the current folder upwards.
    let settings = folder.join(".cargo/config.toml");
    if settings.is_file() {
        options.extend(["--config".into(), settings.into()]);
    }
    cargo_build(&name.to_string(), &manifest, &options, quiet)
}

/// Builds the executable `name` of simrun itself into the folder `target`.
///
/// # Errors
/// Why there is no program.
pub fn build_into(
    target: &Path,
    name: &str,
    manifest: &Path,
    mut options: Vec<OsString>,
) -> Result<PathBuf, NoProgram> {
    options.extend(["--target-dir".into(), target.into()]);
    cargo_build(name, manifest, &options, false)
}

/// Returns true for a program that was built from the same revision as this one.
#[must_use]
pub fn is_of_this_revision(program: &Path) -> bool {
    handshake::version(program).is_ok_and(|version| version == VERSION)
}

/// Builds the package of a manifest, called `name` in messages; returns the only program.
fn cargo_build(
    name: &str,
    manifest: &Path,
    options: &[OsString],
    quiet: bool,
) -> Result<PathBuf, NoProgram> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--message-format=json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(manifest)
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let output = if quiet || io::stderr().is_terminal() {
        command
            .args(quiet.then_some("--quiet"))
            .stderr(Stdio::inherit())
            .output()
    } else {
        output_in_short(command.stderr(Stdio::piped()), name)
    };
    let output = output.map_err(|error| {
        NoProgram(format!(
            "{name}: cannot start cargo to build it: {error}; a built program needs no cargo"
        ))
    })?;
    if !output.status.success() {
        return Err(NoProgram(format!(
            "{name}: build failed; see the errors above"
        )));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let manifest = manifest
        .canonicalize()
        .unwrap_or_else(|_| manifest.to_owned());
    let mut programs: Vec<PathBuf> = messages
        .lines()
        .filter_map(|line| executable_of(line, &manifest))
        .collect();
    match (programs.pop(), programs.len()) {
        (Some(program), 0) => Ok(program),
        (None, _) => Err(NoProgram(format!(
            "{name}: the package has no program: expected a src/main.rs"
        ))),
        (Some(_), _) => Err(NoProgram(format!(
            "{name}: the package has several programs: name one of the built ones in its target folder instead"
        ))),
    }
}

/// Returns the executable in a line of cargo's output, if from this package.
fn executable_of(line: &str, manifest: &Path) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let own = message
        .get("manifest_path")?
        .as_str()
        .is_some_and(|path| Path::new(path) == manifest);
    let executable = message.get("executable")?.as_str()?;
    own.then(|| PathBuf::from(executable))
}
