//! `simrun rerun DIR`: makes a recorded run again, and compares what both computed.
//!
//! The run is made from the record alone: its program with the recorded options and arguments, in
//! the recorded working directory, on the platform as it was resolved, with the hosts of a mapping
//! file. A program that has changed since is told by its SHA-256, and run all the same: the digests
//! then say whether the change matters.
//!
//! *Not recorded*: the environment, and files that a program reads by itself. A user would see
//! another digest.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use run::Rerun;
use serde_json::Value;
use simrun::{package, sha256_of, status};

/// A recorded run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RerunCommand {
    /// The folder that --out of a run has made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Makes the run again and says whether it is the same.
pub(crate) fn rerun_record(command: &RerunCommand) -> ExitCode {
    match repeat_run(&command.folder) {
        Ok(Again {
            text,
            is_same: true,
        }) => status::print(text),
        Ok(Again { text, .. }) => status::failed(text),
        Err(problem) => status::refuse(problem),
    }
}

/// The result of making a run again.
struct Again {
    text: String,
    is_same: bool,
}

fn repeat_run(folder: &Path) -> Result<Again, String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let file = at("record.json");
    let text = files::read_text(Path::new(&file)).map_err(|error| {
        format!("{file}: cannot read it: {error}: expected the folder of --out")
    })?;
    let recorded: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{file}: not a record of a run: {error}"))?;
    let rerun = Rerun::from_record(&recorded).ok_or_else(|| {
        format!("{file}: the record has no key `rerun`: expected the record of a simulated run")
    })?;
    let outcome = recorded["outcome"].as_str().unwrap_or_default();
    let digest = recorded["digest"].as_str();
    let digest = digest
        .filter(|_| outcome != "interrupted")
        .ok_or_else(|| format!("{file}: this run was interrupted, so it cannot be reproduced"))?;
    let file = Path::new(&rerun.program);
    let program = package::executable(file, true, &[]).map_err(|error| error.to_string())?;
    let has_changed = sha256_of(program.files()).is_ok_and(|found| found != rerun.sha256);
    if has_changed {
        // Nobody can be told that standard error is closed.
        let _ = writeln!(
            io::stderr().lock(),
            "warning: {}: the program has changed since the record was written",
            rerun.program
        );
    }
    let found = rerun_results(folder, program.program_command(), &rerun)?;
    let name = recorded["program"].as_str().unwrap_or_default();
    let (now, ended) = (found["digest"].as_str(), found["outcome"].as_str());
    if now == Some(digest) && ended == Some(outcome) {
        return Ok(Again {
            text: format!("{name}: {outcome} again with digest {digest}, as recorded"),
            is_same: true,
        });
    }
    let why = match recorded["revision"] == found["revision"] {
        _ if has_changed => "; the program has changed",
        false => "; it was another revision of simrun",
        true => "",
    };
    Ok(Again {
        text: format!(
            "{name}: {} with the digest {}: recorded was {outcome} with {digest}{why}",
            ended.unwrap_or("no outcome"),
            now.unwrap_or("none"),
        ),
        is_same: false,
    })
}

/// The results of the program, run as the record says.
fn rerun_results(folder: &Path, mut command: Command, rerun: &Rerun) -> Result<Value, String> {
    let absolute = folder.canonicalize();
    let absolute = absolute.map_err(|error| format!("{}: {error}", folder.display()))?;
    let hosts = absolute.join("hosts.txt");
    command
        .current_dir(&rerun.working_directory)
        .args(["--format", "json", "--quiet", "--platform"])
        .arg(absolute.join("platform.toml"))
        .args(&rerun.options)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if hosts.is_file() {
        command.arg("--map").arg(hosts);
    }
    let output = command.arg("--").args(&rerun.arguments).output();
    let output = output.map_err(|error| {
        let (program, folder) = (&rerun.program, &rerun.working_directory);
        format!("{program}: cannot start it in {folder}: {error}")
    })?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: exited with {}", rerun.program, output.status))
}
