//! Compiling: a folder with the header `mpi.h` and the stub library, and the command of a compiler
//! that uses them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::abi::{SONAME, header, stub_source};

/// Variables of the environment that name compilers.
const COMPILER_VARIABLES: [&str; 4] = ["SIMRUN_CC", "SIMRUN_CXX", "CC", "CXX"];

/// Options with which a compiler does not link.
const WITHOUT_LINKING: [&str; 6] = ["-c", "-E", "-S", "-M", "-MM", "--version"];

/// The header of annotations.
const ANNOTATIONS: &str = include_str!("../abi/simrun.h");

/// The option with which a program counts basic blocks, and the corresponding compiler option.
const COUNTED: (&str, &str) = ("--coverage-blocks", "-fsanitize-coverage=trace-pc");

/// The option that makes access to thread-local variables a call, so that each rank has a copy.
const THREAD_LOCALS: &str = "--tls";

/// The option with which a function touches each page of the frame, so that no frame skips the
/// guard page of a stack.
const WHOLE_FRAMES: &str = "-fstack-clash-protection";

/// Options of the linker with which an image is few pages: text and constants together, and no
/// variables apart from the others for a protection that images do not have.
const FEW_PAGES: &str = "-Wl,-z,noseparate-code,-z,norelro";

/// The entry of a program that is linked as a shared library. Only in a shared library the linker
/// keeps the calls that find thread-local variables. The system starts the file like any program.
const START: &str = include_str!("../abi/start.c");

/// Writes the header and the stub library to a folder, unless they are there and current. `cc`: the
/// C compiler.
pub fn prepare_folder(folder: &Path, cc: &OsStr) -> io::Result<()> {
    let library = folder.join(SONAME);
    let is_current = |name: &str, text: &str| {
        std::fs::read_to_string(folder.join(name)).is_ok_and(|found| found == text)
    };
    let (header, source) = (header(), stub_source());
    if library.is_file()
        && folder.join("start.o").is_file()
        && is_current("start.c", START)
        && is_current("mpi.h", &header)
        && is_current("simrun.h", ANNOTATIONS)
        && is_current("stub.c", &source)
    {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    // Others may do the same at the same time: each file comes whole under its name.
    let draft = |name: &str| folder.join(format!("{name}.{}.tmp", std::process::id()));
    let place = |name: &str, text: &str| {
        std::fs::write(draft(name), text)?;
        std::fs::rename(draft(name), folder.join(name))
    };
    place("mpi.h", &header)?;
    place("stub.c", &source)?;
    place("simrun.h", ANNOTATIONS)?;
    place("start.c", START)?;
    let soname = format!("-Wl,-soname,{SONAME}");
    let library: &[&str] = &["-shared", "-w", "-O1", &soname];
    for (options, source, made) in [(library, "stub.c", SONAME), (&["-c"], "start.c", "start.o")] {
        let mut command = compiler_command(cc);
        command
            .arg("-fPIC")
            .args(options)
            .arg("-o")
            .arg(draft(made));
        let status = command.arg(folder.join(source)).status()?;
        if !status.success() {
            let cc = cc.to_string_lossy();
            return Err(io::Error::other(format!(
                "{cc} cannot compile the stub library: {status}"
            )));
        }
        std::fs::rename(draft(made), folder.join(made))?;
    }
    let short = draft("libmpi_abi.so");
    // What is left of an earlier attempt.
    let _ = std::fs::remove_file(&short);
    std::os::unix::fs::symlink(SONAME, &short)?;
    std::fs::rename(short, folder.join("libmpi_abi.so"))
}

/// Returns the command of a compiler without arguments. The compiler may be a script that calls
/// simrun again, which then finds no compiler in the environment and does not call the script.
fn compiler_command(compiler: &OsStr) -> Command {
    let mut command = Command::new(compiler);
    for variable in COMPILER_VARIABLES {
        command.env_remove(variable);
    }
    command
}

/// Returns the command that compiles with these arguments, with the header and the library of a
/// folder.
pub fn command(compiler: &OsStr, folder: &Path, arguments: &[OsString]) -> Command {
    let mut command = compiler_command(compiler);
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let links = !WITHOUT_LINKING.into_iter().any(has);
    // Before the arguments, which may say otherwise.
    let has_thread_locals = has(THREAD_LOCALS);
    command.args([
        if has_thread_locals { "-fPIC" } else { "-fPIE" },
        "-DMPI_ABI",
        WHOLE_FRAMES,
    ]);
    if has_thread_locals && links && !has("-shared") {
        command.args(["-shared", "-Wl,-z,defs", "-Wl,-e,_start"]);
        command.arg(folder.join("start.o"));
    } else {
        command.args((links && !has("-shared")).then_some("-pie"));
    }
    command.args(links.then_some(FEW_PAGES));
    command.args(has(COUNTED.0).then_some(COUNTED.1));
    let is_own = |argument: &&OsString| *argument != COUNTED.0 && *argument != THREAD_LOCALS;
    let own = arguments.iter().filter(is_own);
    command.arg(join_option("-I", folder)).args(own);
    if !links {
        return command;
    }
    command
        .arg(join_option("-L", folder))
        .arg("-Wl,--enable-new-dtags")
        .arg(join_option("-Wl,-rpath,", folder))
        .arg("-lmpi_abi");
    command
}

fn join_option(option: &str, folder: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(folder);
    text
}

/// Returns the folder of this user for the header and the library.
pub fn folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")));
    let cache = cache.unwrap_or_else(std::env::temp_dir);
    cache.join(concat!("simrun/abi-", env!("CARGO_PKG_VERSION")))
}
