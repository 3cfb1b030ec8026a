//! Images of compiled programs: variables and libraries that each rank has for itself.

use testing::commands::compile_with_libraries;

use crate::support::{
    CLUSTER, COMPILED, Folder, command, compiled, compiled_with, ran, run, simrun,
};

#[test]
fn each_rank_has_its_thread_local_variables() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/thread-locals.cc";
    let program = compiled_with(&folder, "--tls", source);
    let output = ran(&program, "-n 3", "");
    let expected = "0: 1007 of 3024, 100 0 3 0\n0: destroyed 100\n\
                    1: 1008 of 3024, 101 1 4 0\n1: destroyed 101\n\
                    2: 1009 of 3024, 102 2 5 0\n2: destroyed 102\n";
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    // The order is that of the end of the reduction.
    lines.sort_by_key(|line| line.chars().next());
    assert_eq!(lines.join("\n") + "\n", expected, "{output:?}");
    // A second execution finds them as they were at first.
    simrun(&program, "check -n 2").exits_with(0);
    let output = ran(&compiled(&folder, source), "-n 3", "");
    let remedy = "compile and link it with simrun cc --tls";
    output.exits_with(2).reports_text(remedy);
}

#[test]
fn each_rank_has_the_libraries_of_the_program() {
    let folder = Folder::new();
    let expected = "0: sum 3, shared 40, sent 0, local 9, caught 1\n\
                    1: sum 3, shared 41, sent 1, local 10, caught 1\n\
                    2: sum 3, shared 42, sent 1, local 11, caught 1\n\
                    first: end, began after 1\nfirst: end, began after 1\n\
                    first: end, began after 1\n";
    // With copies of variables of the libraries, and without.
    for option in ["", "--tls"] {
        let program = compile_with_libraries(COMPILED, &folder, option);
        let output = ran(&program, "-n 3", "");
        let mut lines: Vec<&str> = output.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.join("\n") + "\n", expected, "{option}: {output:?}");
    }
    let (program, first) = (folder.path("libraries"), folder.path("libfirst.so"));
    simrun(&program, "check -n 3").exits_with(0);
    let output = ran(&program, "-n 3", "fault");
    let line = "segmentation fault (signal 11) at crates/cmpi/tests/programs/library-first.cc:22";
    output.exits_with(1).reports_text(line);
    let script = folder.path("script");
    ran(&program, &format!("-n 3 --gdb {script}"), "");
    let script = std::fs::read_to_string(script).unwrap();
    assert!(
        script.contains(&format!("add-symbol-file {first} -o 0x")),
        "{script}"
    );
    std::fs::remove_file(first).unwrap();
    let output = ran(&program, "-n 3", "");
    let expected = format!("the shared library libfirst.so of {program} is not there");
    output.exits_with(2).reports_text(&expected);
}

#[test]
fn no_elements_need_no_datatype() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/null-types.c");
    for ranks in [1, 3] {
        let output = ran(&program, &format!("-n {ranks}"), "");
        assert_eq!(
            (output.status, &*output.stdout),
            (0, "done\n"),
            "{output:?}"
        );
    }
}

#[test]
fn a_program_may_reach_mpi_through_a_library_only() {
    let folder = Folder::new();
    let (inner, outer) = (folder.path("libinner.so"), folder.path("libouter.so"));
    let program = folder.path("wrapped");
    let here = folder.path("");
    let made = |words: &str| {
        let mut command = command(words.split_once(' ').unwrap().0);
        command.env("XDG_CACHE_HOME", folder.path("cache"));
        run(command.args(words.split_whitespace().skip(1))).exits_with(0);
    };
    let sources = "crates/cmpi/tests/programs";
    let library = format!("-shared -fPIC {sources}/wrapping.c -o");
    let found = format!("-L{here} -Wl,-rpath,$ORIGIN");
    let main = format!("{sources}/wrapped.c");
    let calls = format!("cc -fPIE -pie -O1 {main} -Wl,--allow-shlib-undefined -o");
    // The library has the one of MPI; or a library of it has; or none has.
    for (first, second, last) in [
        (
            format!("{COMPILED} cc {library} {inner}"),
            None,
            format!("{calls} {program} {found} -linner"),
        ),
        (
            format!("{COMPILED} cc {library} {inner}"),
            Some(format!(
                "cc -shared -fPIC -Dmain=wrapped_main {main} -o {outer} {found} -linner"
            )),
            format!(
                "cc -fPIE -pie {sources}/entering.c -o {program} {found} -louter -Wl,--allow-shlib-undefined"
            ),
        ),
        (
            format!(
                "{COMPILED} cc -c -fPIC crates/cmpi/tests/programs/wrapping.c -o {}",
                folder.path("inner.o")
            ),
            Some(format!("cc -shared {} -o {inner}", folder.path("inner.o"))),
            format!("{calls} {program} {found} -linner"),
        ),
    ] {
        made(&first);
        second.iter().for_each(|words| made(words));
        made(&last);
        let output = ran(&program, "-n 3", "");
        let mut lines: Vec<&str> = output.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0: 3", "1: 3", "2: 3"], "{last}: {output:?}");
    }
}

#[test]
fn a_tool_of_the_profiling_interface_is_preloaded() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/opening.c";
    let program = compiled_with(&folder, "-g", source);
    let tool = folder.path("libtool.so");
    let mut compiling = command(COMPILED);
    compiling.env("XDG_CACHE_HOME", folder.path("cache"));
    let tool_source = "crates/cmpi/tests/programs/counting.c";
    compiling.args(["cc", "-shared", "-fPIC", "-o", &tool, tool_source]);
    assert_eq!(run(&mut compiling).status, 0);
    let mut preloading = command(COMPILED);
    preloading.env("LD_PRELOAD", &tool);
    let output = run(preloading.args(["--as-program", &program, "-p", CLUSTER, "-q", "-n", "3"]));
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    lines.sort_unstable();
    let expected = [
        "tool: rank 0, 100",
        "tool: rank 1, 101",
        "tool: rank 2, 102",
    ];
    assert_eq!(lines, expected, "{output:?}");
    // Opened by a program it would be shared by all ranks.
    let output = ran(&program, "-n 3", &tool);
    let expected =
        format!("rank 1 on host node-1 failed at 0 s: dlopen at {source}:12: {tool} calls MPI");
    output.exits_with(1).reports_text(&expected);
    let output = ran(&program, "-n 3", "libm.so.6");
    assert_eq!((output.status, &*output.stdout), (0, ""), "{output:?}");
}
