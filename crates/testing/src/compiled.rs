//! Fixtures of the tests of compiled MPI programs: the compiler, and a run in this process.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use cmpi::{CompiledProgram, STACK, Timing, toolchain};
use run::{LogFilter, Options, Output, RankProgram, Run, Stream};

/// Compiles a source of the repository with the header and the stub library of simrun. Returns the
/// executable, in a folder of this test process.
pub fn compile(source: &str) -> PathBuf {
    let name = format!("simrun-compiled-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    toolchain::prepare_folder(&folder, "cc".as_ref()).expect("there is a C compiler");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
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
pub fn simulate_program(program: &Path, platform: &str, options: &Options, arguments: &str) -> Run {
    let file = std::fs::read(program).expect("the program was compiled");
    let compiled = CompiledProgram::load(program, &file).expect("a program of the standard ABI");
    let words = std::iter::once("program").chain(arguments.split_whitespace());
    let words = words.map(|word| CString::new(word).expect("arguments have no 0"));
    let ranks = compiled.ranks(STACK, words.collect(), false, Timing::default());
    let program = RankProgram::new(move |world| ranks.rank(world));
    let file = format!("../../platforms/{platform}.toml");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let platform = run::load_platform(&file, &[]).expect("a platform of the repository");
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    run::simulate(&Arc::new(platform), &program, options, &output).expect("the options fit")
}

/// Compares a run of a compiled program with a run of its twin in Rust, with these ranks, this
/// platform and the arguments of each: the same simulated time to the last bit, the same digest.
///
/// # Panics
/// If they differ.
#[cfg(feature = "apps")]
pub fn compare(program: (&Path, &str), app: (&str, &str), platform: &str, ranks: u32) {
    let [found, expected] = compare_times(program, app, platform, ranks);
    let arguments = program.1;
    assert_eq!(found, expected, "{platform}, {ranks} ranks, {arguments}");
}

/// Compares the times as [`compare`] does, and returns the digests.
///
/// # Panics
/// If the times differ.
#[cfg(feature = "apps")]
pub fn compare_times(
    (program, arguments): (&Path, &str),
    (app, own): (&str, &str),
    platform: &str,
    ranks: u32,
) -> [String; 2] {
    let expected = crate::apps::record(app, platform, &format!("-n {ranks}"), own);
    let options = Options {
        ranks: Some(ranks),
        ..Options::default()
    };
    let found = simulate_program(program, platform, &options, arguments).report;
    // As it was written and read.
    let time = serde_json::json!(found.time.as_secs()).to_string();
    let time: serde_json::Value = serde_json::from_str(&time).expect("it is a number");
    let place = format!(
        "{platform}, {ranks} ranks, {arguments}: {:?}",
        found.outcome
    );
    assert_eq!(time, expected["simulated_s"], "{place}");
    let digest = expected["digest"].as_str().unwrap_or_default();
    [found.digest.to_string(), digest.to_owned()]
}
