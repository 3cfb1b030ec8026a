//! `cargo xtask ci STAGE…`: the stages of continuous integration, each of which runs alone.
//!
//! | stage | what it shows | needs |
//! |---|---|---|
//! | `lint` | licences, format, tidy, packages, clippy, documents | Rust |
//! | `test` | the README's commands | Rust and a C compiler |
//! | `campaigns` | random programs and seeded defects, many | Rust |
//! | `interop` | other MPIs, studies, browsers, schedulers, Python | Debian packages, PyPI |
//! | `verbs` | adapters, in emulated guests | Debian packages |
//!
//! A stage ends with its first step that fails. What it needs and does not find is named before
//! the first step, with the Debian package. *Not done here*: installing; `.ci/run` does that.

#![expect(clippy::disallowed_types, reason = "the time of a step is printed")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use self::needs::missing_packages;
use crate::{Verdict, print};

mod needs;

/// Largest weight of the program `ring` in bytes, without the tables of its lines.
const RING_MAX: u64 = 8_870_000;

/// Packages with the feature `verbs`, as options of cargo, and their features.
const VERBS: &str = "-p simrun-rdma -p simrun-real -p simrun -p simrun-tools --features \
                     simrun-rdma/conformance,simrun-real/verbs,simrun/verbs,simrun-tools/verbs";

/// Faults of the network in the campaign over endpoints.
const FAULTS: &str =
    "--rma --attributes ro,ru,uu --faults loss=1%,duplicate=1%,reorder=5%,flap=0.1%";

/// A stage of continuous integration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CiStage {
    /// Licences, format, tidy, packages, clippy, documents
    Lint,
    /// The README's commands
    Test,
    /// Random programs and seeded defects
    Campaigns,
    /// Other MPIs, studies, browsers, schedulers, Python, packages
    Interop,
    /// Adapters, in emulated guests
    Verbs,
}

/// Prints the Debian packages that stages need and this machine lacks, on one line.
pub(crate) fn print_missing(stages: &[CiStage]) -> Verdict {
    print(&missing_packages(stages).join(" "));
    Ok(true)
}

/// Runs stages one after the other.
pub(crate) fn run_stages(root: &Path, stages: &[CiStage]) -> Verdict {
    let missing = missing_packages(stages);
    if !missing.is_empty() {
        return Err(format!(
            "these Debian packages are missing: {}",
            missing.join(" ")
        ));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let steps = Steps {
        root,
        target: root.join(target),
    };
    for stage in stages {
        let run = match stage {
            CiStage::Lint => steps.lint(),
            CiStage::Test => steps.test(),
            CiStage::Campaigns => steps.campaigns(),
            CiStage::Interop => steps.interop(),
            CiStage::Verbs => steps.verbs(),
        };
        if let Err(failed) = run {
            print(&format!("FAILED: {failed}"));
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs the steps of stages.
#[derive(Debug)]
struct Steps<'a> {
    root: &'a Path,
    target: PathBuf,
}

/// A step that failed, or why it did not start.
type Outcome = Result<(), String>;

impl Steps<'_> {
    fn lint(&self) -> Outcome {
        // The lock file is complete, so that no later command changes a version.
        self.step("cargo fetch --locked")?;
        for program in ["cargo-deny", "mdbook"] {
            if !is_installed(program) {
                // Without optimisation: the program runs once.
                self.step(&format!("cargo install --locked --debug --quiet {program}"))?;
            }
        }
        self.step("cargo deny --locked check --hide-inclusion-graph licenses bans sources")?;
        self.step("cargo fmt --all --check")?;
        self.step("cargo xtask tidy")?;
        self.step("cargo package --locked --workspace --no-verify --quiet")?;
        self.step("cargo clippy --locked --workspace --all-targets -- -D warnings")?;
        self.doc("--workspace")?;
        let site = self.target.join("site");
        self.step(&format!("docs/site.sh {}", site.display()))
    }

    fn test(&self) -> Outcome {
        self.step("cargo run --release -- --platform platforms/cluster.toml apps/ring")?;
        self.check_weight()?;
        self.step("cargo test --workspace")?;
        // With the tools that the tests have built.
        let simrun = self.target.join("debug/simrun");
        let pictures = self.target.join("readme/pictures");
        let line = format!("docs/pictures/make.sh {}", pictures.display());
        self.step_with(&line, &[("SIMRUN", simrun.as_os_str())], &[0])
    }

    fn campaigns(&self) -> Outcome {
        self.build()?;
        let programs = [("EXPLORE_PROGRAMS", OsStr::new("2000"))];
        self.test_of("explore random_programs::", &programs)?;
        // Each seeded defect of endpoints with twenty seeds; `cargo test` takes four.
        self.test_of("fuzz campaigns:: -- --ignored --nocapture", &[])?;
        let failures = self.target.join("fuzz-failures");
        for layer in [
            &*format!("endpoint --tries 20000 {FAULTS} -j 2"),
            "actors --tries 300",
            "mpi --tries 200",
            "mpi/check --tries 5750 --max-executions 5000",
        ] {
            let out = failures.display();
            self.step(&format!(
                "target/release/simrun fuzz --layer {layer} --out {out}"
            ))?;
        }
        Ok(())
    }

    fn interop(&self) -> Outcome {
        self.build()?;
        self.step("cargo xtask instructions")?;
        let clusters = [("SIMGRID_CLUSTERS", OsStr::new("60"))];
        self.test_of("simgrid-import simgrid::", &clusters)?;
        let pages = self.studies()?;
        self.test_of("report html::", &[("SIMRUN_PAGES", pages.as_os_str())])?;
        self.step(&format!("crates/report/tests/html.sh {}", pages.display()))?;
        let mpi = self.target.join("mpi-abi");
        let line = "crates/cmpi/tests/versus-mpiexec.sh target/release/simrun";
        self.step(&format!("{line} {}", mpi.display()))?;
        self.python("crates/study/tests/clusters.sh target/release")?;
        // The standard library of musl is not to be had everywhere.
        let musl = "rustup target add x86_64-unknown-linux-musl";
        self.step_with(musl, &[], &[0, 1])?;
        self.python("python/tests/offline.sh target/static")?;
        self.python("python3 packaging/tests.py target target/static")?;
        // Wheels have stripped executables, which are linked anew; so this step is the last one.
        self.python("python/tests/run.sh target")
    }

    fn verbs(&self) -> Outcome {
        self.step(&format!(
            "cargo clippy --locked {VERBS} --all-targets -- -D warnings"
        ))?;
        self.doc(
            "-p simrun-rdma -p simrun-real --features simrun-rdma/conformance,simrun-real/verbs",
        )?;
        self.step("crates/real/softroce/test.sh")?;
        let expected = "crates/real/softroce/rxe-deviations.txt";
        self.step(&format!(
            "crates/real/softroce/conformance.sh --expect {expected}"
        ))?;
        self.step("crates/real/softroce/interoperation.sh 1000 1%")?;
        self.step("cargo test --locked -p simrun --features simrun/verbs --lib")?;
        self.step("crates/real/softroce/apps.sh")?;
        // Status 3: other programs take the processors that the guests need, so that limits mean
        // nothing; the calibration has run all the same, and says that there is no verdict.
        self.step_with("crates/real/softroce/calibrate.sh -q 2", &[], &[0, 3])
    }

    /// Builds the executables that other steps start.
    fn build(&self) -> Outcome {
        self.step("cargo build --locked --release -p simrun-cli -p simrun-tools")
    }

    /// Runs tests of one executable with variables. Cargo selects all packages: for one alone, with
    /// fewer features, cargo would compile again.
    fn test_of(&self, tests: &str, environment: &[(&str, &OsStr)]) -> Outcome {
        let line = format!("cargo test --locked --workspace --test {tests}");
        self.step_with(&line, environment, &[0])
    }

    fn doc(&self, packages: &str) -> Outcome {
        let line = format!("cargo doc --locked {packages} --no-deps --quiet");
        let flags = OsStr::new("-D warnings");
        self.step_with(&line, &[("RUSTDOCFLAGS", flags)], &[0])
    }

    /// Runs the ready studies and optimisations, each with its report, and returns the folder of
    /// the pages.
    fn studies(&self) -> Result<PathBuf, String> {
        let pages = self.target.join("pages");
        if pages.exists() {
            std::fs::remove_dir_all(&pages).map_err(|error| error.to_string())?;
        }
        std::fs::create_dir_all(&pages).map_err(|error| error.to_string())?;
        // The program of studies/first-hour.toml.
        self.step("target/release/simrun cc -g -O2 -o target/jacobi-in-c apps/c/jacobi.c")?;
        for (folder, command) in [("studies", "study run"), ("studies/optimise", "optimise")] {
            for file in files(&self.root.join(folder), "toml")? {
                let out = pages.join(file.file_stem().unwrap_or_default());
                let (file, out) = (file.display(), out.display());
                let simrun = "target/release/simrun";
                self.step(&format!("{simrun} {command} {file} --out {out}"))?;
                self.step(&format!("{simrun} study report {out} --out {out}.html"))?;
            }
        }
        Ok(pages)
    }

    /// Checks what a program weighs without the tables of its lines.
    fn check_weight(&self) -> Outcome {
        let stripped = self.target.join("ring.stripped");
        let ring = self.target.join("release/ring");
        let line = format!("strip -o {} {}", stripped.display(), ring.display());
        self.step(&line)?;
        let bytes = std::fs::metadata(&stripped).map_err(|error| error.to_string())?;
        print(&format!("ring: {} bytes", bytes.len()));
        match bytes.len() <= RING_MAX {
            true => Ok(()),
            false => Err(format!("ring: expected at most {RING_MAX} bytes")),
        }
    }

    /// Runs a step with the Python of `python/requirements.txt`.
    fn python(&self, line: &str) -> Outcome {
        let mut path = self.target.join("python-tools/bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        self.step_with(line, &[("PATH", &path)], &[0])
    }

    fn step(&self, line: &str) -> Outcome {
        self.step_with(line, &[], &[0])
    }

    /// Runs a command, words between blanks, with variables of its environment, and prints its
    /// time. Fails if its status is none of `accepted`.
    fn step_with(&self, line: &str, environment: &[(&str, &OsStr)], accepted: &[i32]) -> Outcome {
        let shown: String = environment
            .iter()
            .filter(|(name, _)| *name != "PATH")
            .map(|(name, value)| format!("{name}={value:?} "))
            .collect();
        print(&format!("\n== {shown}{line}"));
        let begin = Instant::now();
        let mut words = line.split_whitespace();
        let status = Command::new(words.next().unwrap_or_default())
            .args(words)
            .envs(environment.iter().copied())
            .current_dir(self.root)
            .status()
            .map_err(|error| format!("{line}: {error}"))?;
        print(&format!("-- {} s", begin.elapsed().as_secs()));
        match status.code().is_some_and(|code| accepted.contains(&code)) {
            true => Ok(()),
            false => Err(format!("{line}: {status}")),
        }
    }
}

/// Returns true if a program is found as the system finds it.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Daemons stand where only root looks.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut files = folders.map(|folder| folder.join(program));
    files.any(|file| file.is_file())
}

/// Returns the files of a folder with an ending, in the order of their names.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    files.sort();
    Ok(files)
}
