//! Compiled MPI programs, in C or C++: they run in this process, with the options of every program.
//!
//! A file is one if it is linked with the library of the standard ABI. *Not there*: real runs,
//! which `mpiexec` of an MPI makes of the same file.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mpi::SourceLocation;
use run::{Program, RankProgram};
use simrun::compute_args::ComputeArgs;
use simrun::{
    App, PROGRAM_MAX, answer_handshake, answers_handshake, package, run_app_with, set_program,
    status,
};

use super::compute;
use crate::{CompiledProgram, Kind, Ranks, STACK};

/// A compiled program and its file.
#[derive(Clone)]
struct Compiled {
    program: CompiledProgram,
    file: PathBuf,
    is_checked: bool,
    compute: ComputeArgs,
}

impl App<Self> for Compiled {
    fn command() -> Option<clap::Command> {
        None
    }

    const IS_COMPILED: bool = true;

    fn with_compute(self, options: &ComputeArgs) -> Result<Self, clap::Error> {
        Ok(Self {
            compute: options.clone(),
            ..self
        })
    }

    fn bind(
        self,
        (_, place): (&'static str, SourceLocation),
        arguments: &[OsString],
    ) -> Result<Box<dyn Program>, clap::Error> {
        let all = std::iter::once(self.file.as_os_str()).chain(arguments.iter().map(|it| &**it));
        let texts = all.map(|text| CString::new(text.as_bytes()));
        let texts: Vec<CString> = texts.map(Result::unwrap_or_default).collect();
        let timing = compute::read_timing(
            &self.compute,
            (self.program.counts_blocks(), self.is_checked),
        );
        let (timing, recording) = timing.map_err(|problem| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, problem + "\n")
        })?;
        let ranks = self.program.ranks(STACK, texts, self.is_checked, timing);
        if !self.is_checked {
            // The end of the process frees the memory of all ranks, in less time.
            std::mem::forget(ranks.clone());
        }
        let files = self.program.files().to_vec();
        if let Some(Err(problem)) = self.compute.gdb.as_deref().map(files::Output::new) {
            let problem = format!("--gdb: {problem}\n");
            return Err(clap::Error::raw(
                clap::error::ErrorKind::ValueValidation,
                problem,
            ));
        }
        let script = self.compute.gdb.map(|script| (script, files));
        let program = RankProgram::new(move |world| {
            // Written when the program is dropped.
            let _ = &recording;
            if let Some((script, files)) = script.as_ref().filter(|_| world.rank() == 0)
                && let Err(problem) = write_script(script, files, &ranks, world.size())
            {
                let problem = format_args!("--gdb: {problem}");
                world.log(mpi::Level::Warn, problem);
            }
            ranks.rank(world)
        });
        Ok(Box::new(program.with_location(place)))
    }
}

/// Number of ranks of which a debugger is told.
const DEBUGGED_MAX: usize = 64;

/// Writes a script for gdb that says where the symbols of the first ranks are.
fn write_script(
    script: &Path,
    files: &[(PathBuf, u64)],
    ranks: &Ranks,
    count: usize,
) -> Result<(), String> {
    let mut text = String::from("set confirm off\n");
    for rank in 0..count.min(DEBUGGED_MAX) {
        let address = ranks.image_address(rank);
        let address = address.map_err(|refusal| refusal.to_string())?;
        text += &format!("# rank {rank}\n");
        for (file, start) in files {
            let (file, address) = (file.display(), address as u64 + start);
            text += &format!("add-symbol-file {file} -o {address:#x}\n");
        }
    }
    files::write(script, text).map_err(|error| error.to_string())
}

/// Returns the program in a file, or why it cannot be run; `None` if the file is not a compiled
/// MPI program.
fn load_program(app: &Path) -> Option<Result<CompiledProgram, String>> {
    let file = app
        .is_file()
        .then(|| files::read_bytes(app, PROGRAM_MAX).ok())??;
    match crate::kind(app, &file) {
        Kind::StandardAbi => {
            let program = CompiledProgram::load(app, &file);
            Some(program.map_err(|refusal| refusal.to_string()))
        }
        Kind::OtherAbi(library) => Some(Err(format!(
            "compiled for the ABI of {library}: compile it for the standard ABI of MPI 5.0, with \
             mpicc_abi or simrun cc"
        ))),
        Kind::Other => None,
    }
}

/// Returns the own libraries of a program.
fn own_libraries(program: &CompiledProgram) -> impl Iterator<Item = &PathBuf> {
    program.files().iter().skip(1).map(|(path, _)| path)
}

/// Acts as the program in a file: does what a program in Rust does with the same arguments.
pub(super) fn act_as(app: &Path, arguments: &[OsString]) -> ExitCode {
    match load_program(app) {
        Some(program) if answers_handshake(arguments) => {
            answer_handshake(program.iter().flat_map(own_libraries))
        }
        Some(program) => run_with(program, app, arguments),
        // The file of another program: what is wrong with it is said as of every program.
        None => match package::find_program(app, true, &[]) {
            Err(problem) => status::refuse(problem),
            Ok(_) => status::refuse(format_args!(
                "{}: expected a compiled MPI program",
                app.display()
            )),
        },
    }
}

fn run_with(
    program: Result<CompiledProgram, String>,
    app: &Path,
    arguments: &[OsString],
) -> ExitCode {
    let begins_with = |word: &str| arguments.first().is_some_and(|first| first == word);
    if begins_with("real") {
        return status::refuse(format_args!(
            "{}: a compiled MPI program: run it with mpiexec of an MPI with the standard ABI",
            app.display()
        ));
    }
    let mut files = vec![app.to_owned()];
    let program = match program {
        Ok(program) => {
            files.extend(own_libraries(&program).cloned());
            if program.uses_openmp() {
                status::print_note("OpenMP with one thread");
            }
            program
        }
        Err(problem) => return status::refuse(format_args!("{}: {problem}", app.display())),
    };
    let program = Compiled {
        program,
        file: app.to_owned(),
        is_checked: begins_with("check"),
        compute: ComputeArgs::default(),
    };
    set_program(files);
    let name = app.file_name().unwrap_or(app.as_os_str()).to_string_lossy();
    // It is needed until the process ends.
    let name: &'static str = Box::leak(name.into_owned().into_boxed_str());
    run_app_with(name, program, arguments)
}
