//! Running simrun and looking at what it did.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const SIMRUN: &str = env!("CARGO_BIN_EXE_simrun");

/// A platform that every machine simulates at once.
pub(crate) const CLUSTER: &str = "platforms/cluster.toml";

/// Output and status of a process.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit status; 0 to 255.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .canonicalize()
        .unwrap()
}

/// The target folder that this test was built into.
pub(crate) fn target() -> &'static Path {
    Path::new(SIMRUN).parent().and_then(Path::parent).unwrap()
}

/// A program of `tests/programs`, built as an example: `cargo test` builds them all.
pub(crate) fn program(name: &str) -> String {
    let path = Path::new(SIMRUN).with_file_name("examples").join(name);
    let source = root()
        .join("crates/cli/tests/programs")
        .join(format!("{name}.rs"));
    let changed = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    assert!(
        changed(&path) >= changed(&source),
        "build the programs of the tests first: cargo build -p simrun-cli --examples"
    );
    path.to_str().unwrap().to_owned()
}

/// A command of this checkout: no network, nothing to read, the same target folder.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(root())
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    Output {
        status: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `simrun` with these arguments, separated by spaces.
pub(crate) fn simrun(line: &str) -> Output {
    run(command(SIMRUN).args(line.split_whitespace()))
}

/// `simrun` with the test program that does `case`, on the cluster.
pub(crate) fn case(case: &str, options: &str) -> Output {
    let program = program("cases");
    simrun(&format!(
        "-p {CLUSTER} {options} {program} -- --case {case}"
    ))
}

impl Output {
    /// The digest in the summary.
    pub(crate) fn digest(&self) -> String {
        let (_, rest) = self
            .stdout
            .split_once("digest ")
            .unwrap_or_else(|| panic!("{self:?}"));
        rest.split_once(',').unwrap().0.to_owned()
    }

    /// The results of `--format json`.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder that is removed at the end of a test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("simrun-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The names of all files in it, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
