//! Runs simrun and checks the output.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

pub(crate) use testing::commands::{CLUSTER, Folder, Output, root, run};

pub(crate) const SIMRUN: &str = env!("CARGO_BIN_EXE_simrun");

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

/// A command in the root of this checkout, with the same target folder.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = testing::commands::command(program);
    command.env("CARGO_TARGET_DIR", target());
    command
}

/// `simrun` with arguments that are formatted, separated by spaces.
macro_rules! simrun {
    ($($line:tt)*) => {
        $crate::support::simrun(&format!($($line)*))
    };
}

/// An app as `cargo test --workspace` has built the app; its folder if the app has no tests, so
/// that simrun builds the app.
pub(crate) fn app(folder: &str) -> String {
    let built = Path::new(SIMRUN).with_file_name(folder.strip_prefix("apps/").unwrap());
    match built.is_file() {
        true => built.to_str().unwrap().to_owned(),
        false => folder.to_owned(),
    }
}

/// Sets the fastest build for a package outside of the workspace: cargo compiles all crates of such
/// a package again, once for all packages of tests.
pub(crate) fn built_fast(app: &str) {
    let folder = Path::new(app).join(".cargo");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = format!(
        "[profile.release]\nopt-level = 0\ncodegen-units = 16\ndebug = false\n[build]\nbuild-dir = \"{}\"\n",
        target().join("outside").display()
    );
    std::fs::write(folder.join("config.toml"), settings).unwrap();
}

/// `simrun` with these arguments, separated by spaces.
pub(crate) fn simrun(line: &str) -> Output {
    run(command(SIMRUN).args(line.split_whitespace()))
}

/// `simrun` with the test program that does `case`, on the cluster.
pub(crate) fn case(case: &str, options: &str) -> Output {
    let program = program("cases");
    simrun!("-p {CLUSTER} {options} {program} -- --case {case}")
}
