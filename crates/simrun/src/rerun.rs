//! The part of a record from which `simrun rerun` makes the run again.
//!
//! *Not recorded*: the environment, and files that a program reads by itself. A user would see
//! another digest.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use run::{Mapping, Rerun};
use serde_json::Value;

use crate::args::RunArgs;

/// The files of the program of this process, if the program is not the executable.
static PROGRAM: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Greatest length of an executable in bytes: 8 GiB. \[choice\]
pub const PROGRAM_MAX: u64 = 8 << 30;

/// Sets the files of the program of this process, if the program is not the executable: the first
/// file is the program, the others are the program's own libraries.
pub fn set_program(files: Vec<PathBuf>) {
    for file in &files {
        files::add_input(file);
    }
    // There is one program in a process.
    let _ = PROGRAM.set(files);
}

/// Returns the files of the program of this process: the program and the program's own libraries.
pub(crate) fn files_of_program() -> io::Result<Vec<PathBuf>> {
    match PROGRAM.get() {
        Some(files) => files.iter().map(|file| file.canonicalize()).collect(),
        None => Ok(vec![std::env::current_exe()?]),
    }
}

/// Returns the command that repeats a run of this process; `None` if an argument is not UTF-8, or
/// if the system does not report the program or the folder.
pub(crate) fn of_this_run(args: &RunArgs, ranks: u32, mapping: &Mapping) -> Option<Rerun> {
    let files = files_of_program().ok()?;
    let text = |text: &OsString| text.to_str().map(str::to_owned);
    Some(Rerun {
        sha256: sha256_of(&files).ok()?,
        program: files.first()?.to_str()?.to_owned(),
        working_directory: text(&std::env::current_dir().ok()?.into_os_string())?,
        options: rerun_options(args, ranks, mapping),
        arguments: args.arguments.iter().map(text).collect::<Option<_>>()?,
    })
}

/// Returns true if a folder holds the record of a simulation of this program by the same command:
/// these arguments in the current folder.
pub(crate) fn is_recorded_in(folder: &Path, arguments: &[String]) -> bool {
    let text = files::read_state(&folder.join("record.json")).unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(rerun) = Rerun::from_record(&record) else {
        return false;
    };
    let program = files_of_program().unwrap_or_default();
    let is_here =
        std::env::current_dir().is_ok_and(|here| here == Path::new(&rerun.working_directory));
    is_here
        && program
            .first()
            .is_some_and(|program| program == Path::new(&rerun.program))
        && record["arguments"]
            .as_array()
            .is_some_and(|recorded| recorded == arguments)
}

/// Returns the options that decide the results of a run, except the platform and a mapping file,
/// which are in the record.
fn rerun_options(args: &RunArgs, ranks: u32, mapping: &Mapping) -> Vec<String> {
    let mut options = vec![format!("--ranks={ranks}")];
    // Files that the run writes are not written again, and the record has the hosts of a file.
    let is_left_out = |option: &String| {
        let is_file = matches!(mapping, Mapping::File(_));
        let files = ["--gdb=", "--record-compute="];
        files.iter().any(|file| option.starts_with(file)) || is_file && option.starts_with("--map=")
    };
    let of_program = args.program.as_arguments().into_iter();
    options.extend(of_program.filter(|option| !is_left_out(option)));
    options.extend(args.until.iter().map(|until| format!("--until={until}")));
    let events = args.max_events.iter();
    options.extend(events.map(|events| format!("--max-events={events}")));
    options
}

/// Returns the SHA-256 of a file, in hexadecimal digits as `sha256sum` prints it; for several files
/// the SHA-256 of their SHA-256 values, one per line.
///
/// # Errors
/// If a file cannot be read.
pub fn sha256_of(files: &[PathBuf]) -> io::Result<String> {
    let hash = |bytes: &[u8]| -> String {
        let digest = hmac_sha256::Hash::hash(bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let hashes: Vec<String> = files
        .iter()
        .map(|file| Ok(hash(&files::read_bytes(file, PROGRAM_MAX)?)))
        .collect::<io::Result<_>>()?;
    Ok(match &hashes[..] {
        [only] => only.clone(),
        several => hash(several.join("\n").as_bytes()),
    })
}
