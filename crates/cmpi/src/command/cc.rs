//! `simrun cc` and `simrun cxx`: a compiler with the header and the stub library of the standard
//! ABI.
//!
//! They are made in a folder of the user's cache when they are first needed. A program that is
//! compiled so runs under `mpiexec` of any MPI with the standard ABI, too.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use simrun::{package, quoted, status};

use crate::toolchain;

/// A compiler: the variable of the environment that names it for simrun, the variable that names it
/// for every program, its usual name.
pub(super) type Compiler = [&'static str; 3];

pub(super) const CC: Compiler = ["SIMRUN_CC", "CC", "cc"];
pub(super) const CXX: Compiler = ["SIMRUN_CXX", "CXX", "c++"];

/// Returns the name of a compiler. The variable for every program counts if it is one word and not
/// simrun: `make CC="simrun cc"` hands it on.
fn find_compiler([own, general, usual]: Compiler) -> Result<OsString, String> {
    let value = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    if let Some(compiler) = value(own) {
        return match is_simrun(&compiler) {
            true => Err(format!(
                "{own}: simrun itself: expected a compiler, such as {usual}"
            )),
            false => Ok(compiler),
        };
    }
    let is_word = |text: &OsString| {
        let bytes = text.as_encoded_bytes();
        !bytes.iter().any(u8::is_ascii_whitespace) && !is_simrun(text)
    };
    let compiler = value(general).filter(is_word);
    Ok(compiler.unwrap_or_else(|| OsString::from(usual)))
}

/// Returns true if a command is `simrun`, found as the system finds it.
fn is_simrun(command: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if command.as_encoded_bytes().contains(&b'/') {
        folders = vec![PathBuf::new()];
    }
    let mut files = folders.iter().map(|folder| folder.join(command));
    let found = files.find(|file| file.is_file());
    let real = |file: PathBuf| file.canonicalize().ok();
    let simrun = package::simrun().and_then(real);
    simrun.is_some() && found.and_then(real) == simrun
}

/// Replaces this process by a compiler.
pub(super) fn compile(arguments: &[OsString], compiler: Compiler) -> ExitCode {
    let (cc, compiler) = match (find_compiler(CC), find_compiler(compiler)) {
        (Ok(cc), Ok(compiler)) => (cc, compiler),
        (Err(problem), _) | (_, Err(problem)) => return status::refuse(problem),
    };
    let folder = toolchain::folder();
    if let Err(error) = toolchain::prepare(&folder, &cc) {
        let folder = folder.display();
        return status::refuse(format_args!(
            "{folder}: cannot make the stub library: {error}"
        ));
    }
    let mut arguments = arguments.to_vec();
    let count = arguments.len();
    arguments.retain(|argument| argument != "--show");
    let mut compiling = toolchain::command(&compiler, &folder, &arguments);
    if arguments.len() < count {
        let words = std::iter::once(compiling.get_program()).chain(compiling.get_args());
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        return status::print(words.join(" "));
    }
    let error: io::Error = compiling.exec();
    let compiler = compiler.display();
    status::refuse(format_args!(
        "cannot start the compiler {compiler}: {error}"
    ))
}
