//! Compares the header with the header of an installed MPI with the standard ABI: both must have
//! the same constants, types and functions.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cmpi::abi;

/// Returns the folder of the header `mpi_abi.h`: the folder that `MPI_ABI_INCLUDE` names, or the
/// folder of an MPI whose `mpicc_abi` is in the path.
fn installed() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("MPI_ABI_INCLUDE") {
        return Some(folder.into());
    }
    let shown = Command::new("mpicc_abi").arg("-show").output().ok()?;
    let shown = String::from_utf8(shown.stdout).ok()?;
    let folder = shown
        .split_whitespace()
        .find_map(|word| word.strip_prefix("-I"))?;
    Some(PathBuf::from(folder)).filter(|folder| folder.join("mpi_abi.h").is_file())
}

fn compiles(folder: &Path, source: &str, include: Option<&Path>) {
    let file = folder.join("test.c");
    std::fs::write(&file, source).unwrap();
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-w", "-fsyntax-only"]);
    command.args(include.map(|include| format!("-I{}", include.display())));
    let output = command.arg(&file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("simrun-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_header_compiles_as_c_and_cpp() {
    let folder = folder("own-header");
    std::fs::write(folder.join("mpi.h"), abi::header()).unwrap();
    compiles(
        &folder,
        "#include <mpi.h>\nMPI_Status status;",
        Some(&folder),
    );
    for compiler in ["cc", "c++"] {
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
        let status = command.arg(folder.join("mpi.h")).status().unwrap();
        assert!(status.success(), "{compiler}");
    }
}

#[test]
fn constants_and_functions_are_those_of_the_standard() {
    let Some(include) = installed() else {
        eprintln!("skipped: no mpicc_abi in the path, and MPI_ABI_INCLUDE is not set");
        return;
    };
    let mut source = String::from("#include <mpi_abi.h>\n#include <stdint.h>\n");
    for (kind, name) in abi::constants() {
        if let Some(value) = abi::constant(name).filter(|_| kind != "=") {
            writeln!(
                source,
                "_Static_assert((intptr_t)({name}) == {value}, \"{name}\");"
            )
            .unwrap();
        }
    }
    // A function that is declared twice must have one type.
    let header = abi::header();
    let is_function = |line: &&str| line.ends_with(");") && !line.starts_with("typedef");
    for line in header.lines().filter(is_function) {
        source.push_str(line);
        source.push('\n');
    }
    compiles(&folder("standard-header"), &source, Some(&include));
}
