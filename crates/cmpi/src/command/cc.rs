//! `simrun cc` and `simrun cxx`: a compiler with the header and the stub library of the standard
//! ABI; and links to both under usual names of MPI compilers.
//!
//! They are made in a folder of the user's cache when they are first needed. A program that is
//! compiled so runs under `mpiexec` of any MPI with the standard ABI, too.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use simrun::package::{self, WRAPPERS};
use simrun::{quoted, status};

use crate::toolchain;

/// A compiler: the environment variable that names the compiler for simrun, the variable that names
/// it for every program, and the usual name.
pub(super) type Compiler = [&'static str; 3];

pub(super) const CC: Compiler = ["SIMRUN_CC", "CC", "cc"];
pub(super) const CXX: Compiler = ["SIMRUN_CXX", "CXX", "c++"];

/// Returns the name of a compiler. The variable for every program is used if its value is one word
/// other than simrun, because `make CC="simrun cc"` passes the variable on.
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

/// Returns true if a command is `simrun`; the command is searched as the system does.
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

/// Endings of the names of Fortran sources, in lower case.
const FORTRAN_ENDINGS: [&str; 7] = ["f", "for", "ftn", "f90", "f95", "f03", "f08"];

/// Maximum number of bytes of a Fortran source that is searched for calls of MPI.
const FORTRAN_MAX: u64 = 16 << 20;

/// Words with which a Fortran source calls MPI, in lower case.
const FORTRAN_MPI: [&str; 3] = ["use mpi", "mpif.h", "call mpi_"];

/// Returns the first argument that is a Fortran source with calls of MPI, for which the ABI has no
/// functions.
fn find_fortran(arguments: &[OsString]) -> Option<&Path> {
    let calls_mpi = |file: &&Path| {
        let ending = file.extension().unwrap_or_default().to_ascii_lowercase();
        let is_fortran = FORTRAN_ENDINGS.iter().any(|known| ending == *known);
        let source = is_fortran.then(|| files::read_bytes(file, FORTRAN_MAX).ok());
        source.flatten().is_some_and(|source| {
            let text = String::from_utf8_lossy(&source).to_ascii_lowercase();
            FORTRAN_MPI.iter().any(|words| text.contains(words))
        })
    };
    arguments.iter().map(Path::new).find(calls_mpi)
}

/// Replaces this process by a compiler.
pub(super) fn compile(arguments: &[OsString], compiler: Compiler) -> ExitCode {
    if let Some(file) = find_fortran(arguments) {
        return status::refuse(format_args!(
            "{}: calls of MPI in Fortran are not supported: expected a source in C or C++",
            file.display()
        ));
    }
    let (cc, compiler) = match (find_compiler(CC), find_compiler(compiler)) {
        (Ok(cc), Ok(compiler)) => (cc, compiler),
        (Err(problem), _) | (_, Err(problem)) => return status::refuse(problem),
    };
    let folder = toolchain::folder();
    if let Err(error) = toolchain::prepare_folder(&folder, &cc) {
        let folder = folder.display();
        return status::refuse(format_args!(
            "{folder}: cannot make the stub library: {error}"
        ));
    }
    let shown = arguments
        .iter()
        .find_map(|argument| Shown::of_option(argument));
    let mut arguments = arguments.to_vec();
    arguments.retain(|argument| Shown::of_option(argument).is_none());
    if let Some(Shown { compiles: true, .. }) = shown {
        arguments.insert(0, "-c".into());
    }
    let mut compiling = toolchain::command(&compiler, &folder, &arguments);
    if let Some(shown) = shown {
        return shown.print_of(&compiling);
    }
    let error: io::Error = compiling.exec();
    let compiler = compiler.display();
    status::refuse(format_args!(
        "cannot start the compiler {compiler}: {error}"
    ))
}

/// The part of a command that an option asks to print instead of starting the compiler.
#[derive(Clone, Copy)]
struct Shown {
    /// True for a command that compiles and does not link.
    compiles: bool,
    /// True if the name of the compiler is left out.
    only_options: bool,
}

impl Shown {
    /// Returns the part that an option asks for: `-show`, `-compile_info` and `-link_info` are
    /// options of MPICH's compilers, the others of Open MPI's. CMake's FindMPI uses all.
    fn of_option(option: &OsStr) -> Option<Self> {
        let (compiles, only_options) = match option.to_str()? {
            "--show" | "-show" | "-link_info" | "-showme" => (false, false),
            "-compile_info" => (true, false),
            "-showme:compile" => (true, true),
            "-showme:link" => (false, true),
            _ => return None,
        };
        Some(Self {
            compiles,
            only_options,
        })
    }

    fn print_of(self, compiling: &Command) -> ExitCode {
        let name = std::iter::once(compiling.get_program()).filter(|_| !self.only_options);
        let is_shown = |word: &&OsStr| !(self.only_options && self.compiles && *word == "-c");
        let words = name.chain(compiling.get_args().filter(is_shown));
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        status::print(words.join(" "))
    }
}

/// Makes links to simrun under the names of compilers and launchers of MPI programs, and prints
/// their folder.
pub(super) fn print_wrappers() -> ExitCode {
    let folder = toolchain::folder().join("bin");
    let Some(simrun) = package::simrun().and_then(|file| file.canonicalize().ok()) else {
        return status::refuse("cannot find simrun itself");
    };
    let link = |name: &str| {
        let draft = folder.join(format!(".{name}-{}", std::process::id()));
        std::os::unix::fs::symlink(&simrun, &draft)?;
        std::fs::rename(draft, folder.join(name))
    };
    let made = std::fs::create_dir_all(&folder);
    let made = made.and_then(|()| WRAPPERS.iter().try_for_each(|(name, _)| link(name)));
    match made {
        Ok(()) => status::print(folder.display()),
        Err(error) => status::refuse(format_args!(
            "{}: cannot make links to simrun: {error}",
            folder.display()
        )),
    }
}
