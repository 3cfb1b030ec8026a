//! Programs with OpenMP, which compare the results of directives with results of serial code.

use crate::support::{Folder, compiled_with, ran, simrun};

/// Programs, and options of their compiler. The linker keeps symbols without a library.
const PROGRAMS: [(&str, &str); 2] = [
    ("openmp", "-fopenmp"),
    ("openmp-llvm", "-Wl,-z,dynamic-undefined-weak"),
];

#[test]
fn directives_have_the_results_of_one_thread() {
    let folder = Folder::new();
    for (name, options) in PROGRAMS {
        let source = format!("crates/cmpi/tests/programs/{name}.c");
        for optimization in ["-O0", "-O2"] {
            let options = format!("{options} {optimization}");
            let program = compiled_with(&folder, &options, &source);
            for ranks in [1, 2, 7] {
                let output = ran(&program, &format!("-n {ranks}"), "");
                output.exits_with(0);
                assert!(output.stdout.lines().all(|line| line == "ok"), "{output:?}");
            }
            simrun(&program, "check -n 2").exits_with(0);
        }
    }
}

#[test]
fn one_thread_is_noted_and_its_waits_fail() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/openmp.c";
    let program = compiled_with(&folder, "-g -fopenmp", source);
    let note = "note: OpenMP with one thread\n";
    for (mistake, expected) in [
        ("lock", ": a wait for a lock that the only thread has set"),
        (
            "event",
            ": a wait for a detached task whose event has not come",
        ),
    ] {
        let output = ran(&program, "-n 1", mistake);
        let output = output.exits_with(1);
        output.reports_text(expected).reports_text(note);
        assert_eq!(output.stderr.matches(note).count(), 1, "{output:?}");
    }
}

#[test]
fn openacc_is_refused_by_name() {
    let folder = Folder::new();
    let source = folder.write(
        "acc.c",
        "#include <mpi.h>\nint main(void) {\n    MPI_Init(0, 0);\n    int a[9];\n\
         #pragma acc parallel loop\n    for (int i = 0; i < 9; i++) a[i] = i;\n    \
         return a[0] + MPI_Finalize();\n}\n",
    );
    let program = compiled_with(&folder, "-fopenacc", &source);
    let output = ran(&program, "-n 1", "");
    output
        .exits_with(2)
        .reports_text("GOACC_parallel_keyed: OpenACC is not supported");
}

#[test]
fn a_function_that_is_not_there_is_refused_by_name() {
    let folder = Folder::new();
    let text = |how: &str, condition: &str| {
        format!(
            "#include <mpi.h>\nextern {how} void __kmpc_atomic_float10_add(void *, int, \
             long double *, long double);\nint main(void) {{\n    MPI_Init(0, 0);\n    \
             long double x = 1;\n    {condition} __kmpc_atomic_float10_add(0, 0, &x, 2);\n    \
             return MPI_Finalize();\n}}\n"
        )
    };
    let source = folder.write("long.c", &text("", ""));
    let undefined = "-Wl,--unresolved-symbols=ignore-all,-E";
    let program = compiled_with(&folder, undefined, &source);
    let output = ran(&program, "-n 1", "");
    output.exits_with(2).reports_text(
        "__kmpc_atomic_float10_add: this function of OpenMP is not supported: compile the file",
    );
    // A program may ask whether a weak function is there.
    let weak = "__attribute__((weak))";
    let source = folder.write("weak.c", &text(weak, "if (__kmpc_atomic_float10_add)"));
    let program = compiled_with(&folder, "-Wl,-z,dynamic-undefined-weak", &source);
    ran(&program, "-n 1", "").exits_with(0);
}
