//! MPI programs in C and C++: their compilation, and the execution of compiled programs.
//!
//! Command lines are `cc ARGUMENTS`, `cxx ARGUMENTS`, `wrappers`, which makes links to both
//! compilers, and `--as-program FILE ARGUMENTS`, with which this process acts as the program in a
//! file. *Not here*: the command line of `simrun`, which detects that an argument is a file.

mod cc;
mod compute;
mod program;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use simrun::{package, status};

/// Acts on one of the four command lines.
pub fn act_on(arguments: &[OsString]) -> ExitCode {
    match arguments {
        [word, rest @ ..] if word == "cc" => cc::compile(rest, cc::CC),
        [word, rest @ ..] if word == "cxx" => cc::compile(rest, cc::CXX),
        [word] if word == "wrappers" => cc::print_wrappers(),
        [word, app, rest @ ..] if word == package::AS_PROGRAM => {
            program::act_as(Path::new(app), rest)
        }
        _ => status::refuse(
            "expected cc, cxx, wrappers or --as-program FILE, as simrun starts this program",
        ),
    }
}
