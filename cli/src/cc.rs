//! `simrun cc` and `simrun cxx`: a compiler with the header and the stub library of the standard
//! ABI.
//!
//! They are made in a folder of the user's cache when they are first needed. A program that is
//! compiled so runs under `mpiexec` of any MPI with the standard ABI, too.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use clap::Args;
use cmpi::toolchain;
use simrun::{quoted, status};

/// Arguments of the compiler.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct CompilerCommand {
    /// Arguments of the compiler; --show prints its command instead
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

/// Replaces this process by the compiler that a variable of the environment names, or by the usual
/// one.
pub(crate) fn compile(command: &CompilerCommand, variable: &str, usual: &str) -> ExitCode {
    let named = |variable: &str, usual: &str| {
        let value = std::env::var_os(variable).filter(|value| !value.is_empty());
        value.unwrap_or_else(|| OsString::from(usual))
    };
    let folder = toolchain::folder();
    if let Err(error) = toolchain::prepare(&folder, &named("CC", "cc")) {
        let folder = folder.display();
        return status::refuse(format_args!(
            "{folder}: cannot make the stub library: {error}"
        ));
    }
    let mut arguments = command.arguments.clone();
    let count = arguments.len();
    arguments.retain(|argument| argument != "--show");
    let compiler = named(variable, usual);
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
