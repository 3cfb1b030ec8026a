//! Compiling programs, and acting as `simrun` does with a compiled one.

pub(crate) use testing::commands::{CLUSTER, Folder, Output, command, compile, run};

/// The executable that `simrun` starts.
pub(crate) const COMPILED: &str = env!("CARGO_BIN_EXE_simrun-compiled");

/// Compiles a source of the repository; returns the executable.
pub(crate) fn compiled(folder: &Folder, source: &str) -> String {
    compile(COMPILED, folder, "", source)
}

/// Compiles a source with an option.
pub(crate) fn compiled_with(folder: &Folder, option: &str, source: &str) -> String {
    compile(COMPILED, folder, option, source)
}

/// Returns the words of the command line that acts as a compiled program, but for the options.
pub(crate) fn as_program(program: &str) -> String {
    format!("{COMPILED} --as-program {program}")
}

/// `simrun` with a compiled program and these words: a command, options, `--` and arguments.
pub(crate) fn simrun(program: &str, words: &str) -> Output {
    run(command(COMPILED)
        .args(["--as-program", program])
        .args(words.split_whitespace()))
}

/// Runs a compiled program with these options and arguments.
pub(crate) fn ran(program: &str, options: &str, arguments: &str) -> Output {
    simrun(
        program,
        &format!("-p {CLUSTER} -q {options} -- {arguments}"),
    )
}
