//! Fixtures of the tests of compiled MPI programs: the compiler, and a run in this process.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use cmpi::{CompiledProgram, Lines, STACK, Template, toolchain};
use run::{LogFilter, Options, Output, RankProgram, Run, Stream};

/// Compiles a source of the repository with the header and the stub library of simrun. Returns the
/// executable, in a folder of this test process.
pub fn compile(source: &str) -> PathBuf {
    let name = format!("simrun-compiled-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    toolchain::prepare(&folder, "cc".as_ref()).expect("there is a C compiler");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(source);
    let program = folder.join(source.file_stem().expect("a source has a name"));
    let arguments = [
        "-O2".into(),
        "-o".into(),
        program.clone().into(),
        source.into(),
    ];
    let mut command = toolchain::command("cc".as_ref(), &folder, &arguments);
    let status = command.status().expect("there is a C compiler");
    assert!(status.success(), "{}", program.display());
    program
}

/// Simulates a compiled program on a platform of the repository.
pub fn run(program: &Path, platform: &str, options: &Options, arguments: &str) -> Run {
    let file = std::fs::read(program).expect("the program was compiled");
    let template = Template::read(&file).expect("a program of the standard ABI");
    let compiled = CompiledProgram::new(&template, Lines::new("program", &file))
        .expect("its symbols are there");
    let words = std::iter::once("program").chain(arguments.split_whitespace());
    let words = words.map(|word| CString::new(word).expect("arguments have no 0"));
    let ranks = compiled.ranks(STACK, words.collect());
    let program = RankProgram::new(move |world| ranks.rank(world));
    let file = format!("../platforms/{platform}.toml");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let platform = run::load_platform(&file, &[]).expect("a platform of the repository");
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    run::simulate(&Arc::new(platform), &program, options, &output).expect("the options fit")
}
