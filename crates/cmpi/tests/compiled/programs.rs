//! MPI programs in C and C++, compiled by `simrun cc` and `simrun cxx`.

use std::process::Command;

use testing::commands::compile_as;

use crate::support::{
    CLUSTER, COMPILED, Folder, Output, as_program, command, compiled, compiled_with, ran, run,
    simrun,
};

/// Each program compares the results of calls with results that a rank computes by itself.
#[test]
fn calls_have_the_results_that_the_standard_says() {
    let folder = Folder::new();
    for (name, ranks, argument) in [
        ("collectives", &[1, 2, 3, 4, 7, 16][..], ""),
        ("requests", &[1, 2, 3, 8], ""),
        ("communicators", &[1, 2, 3, 8], ""),
        ("objects", &[1, 2, 3, 8], "mistakes"),
        ("intercommunicators", &[1, 2, 3, 5, 8], ""),
        ("neighbors", &[1, 2, 3, 8], ""),
        ("partitioned", &[1, 2, 5], ""),
        ("reductions", &[1, 2, 3, 8], ""),
        ("windows", &[1, 2, 3, 8], ""),
        ("codes", &[1, 2], ""),
    ] {
        let program = compiled(&folder, &format!("crates/cmpi/tests/programs/{name}.c"));
        for ranks in ranks {
            ran(&program, &format!("-n {ranks}"), argument).prints_only("ok\n");
        }
    }
}

#[test]
fn ranks_access_the_memory_of_others() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/windows.c");
    let output = ran(&program, "-n 2", "range");
    output.reports_text("MPI_ERR_RMA_RANGE: invalid range: 4 bytes from byte 64 on");
    let output = ran(&program, "-n 2", "swap");
    output.reports_text("expected an integer, a logical value or a byte");
    // The outcome is undefined: a run continues, a search has a finding.
    let output = simrun(&program, &format!("-p {CLUSTER} -n 3 -- overlapping"));
    let conflict = "conflicting accesses to bytes 0 to 3 of the window of rank 0";
    let warning = "no synchronisation is between them: the outcome is undefined";
    output
        .exits_with(0)
        .reports_text(conflict)
        .reports_text(warning);
    let output = simrun(&program, "check -n 2 -- overlapping");
    assert_ne!(output.status, 0, "{output:?}");
    output.prints_text(conflict);
    // The memory of a rank that has ended is not that of the program any more.
    let output = ran(&program, "-n 3", "gone");
    output.reports_text("waits in flush of window 0 at rank 1");
}

#[test]
fn an_access_to_places_of_a_datatype_takes_the_time_of_its_bytes() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/places.c");
    for platform in ["loggops", "infiniband", "cluster"] {
        let platform = format!("platforms/{platform}.toml");
        for (payload, argument) in [("real", ""), ("phantom", "phantom")] {
            let options = format!("-q -p {platform} -n 2 --payload {payload}");
            let output = simrun(&program, &format!("{options} -- {argument}"));
            output.exits_with(0);
            let mut lines = output.stdout.lines();
            assert_eq!(lines.next_back(), Some("ok"), "{output:?}");
            for line in lines {
                let (name, times) = line.split_once(": ").unwrap();
                let times: Vec<f64> = times.split(' ').map(|time| time.parse().unwrap()).collect();
                // A description of at most 4 KiB beside 40 000 bytes.
                let limit = 1.15 * times[0];
                assert!(times[1] < limit, "{platform}: vector {name} {times:?}");
                // With packets of 8 KiB each one has the description of its own places.
                let limit = if platform.contains("infiniband") {
                    3.0 * times[0]
                } else {
                    limit
                };
                assert!(times[2] < limit, "{platform}: indexed {name} {times:?}");
            }
        }
    }
}

#[test]
fn datatypes_know_how_they_were_made() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/contents.c");
    for ranks in [1, 3] {
        let output = ran(&program, &format!("-n {ranks}"), "");
        for line in [
            "vector: combiner 104, integers 3 1 4, addresses, datatypes 101\n",
            "struct: combiner 110, integers 2 2 1, addresses 24 0, datatypes 101 104\n",
            "\nok\n",
        ] {
            output.prints_text(line);
        }
    }
}

#[test]
fn datatypes_of_a_program_have_their_places_in_memory() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/datatypes.c");
    let output = ran(&program, "-n 3", "");
    for line in [
        "columns: 24 bytes, from 0 for 4, data from 0 for 104\n",
        "a structure: 29 bytes, from 0 for 32, data from 0 for 29\n",
        "\nok\n",
    ] {
        output.prints_text(line);
    }
    let output = ran(&program, "-n 1", "uncommitted");
    output.reports_text("is not committed: call MPI_Type_commit");
}

#[test]
fn each_rank_has_the_c_library_for_itself() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/library.c");
    let output = ran(&program, "-n 2", "-v one -n 4 --alp=x two --beta -- -n");
    // The random numbers are those of the GNU C library for the seeds 1 and 2.
    let expected = "\
0: v= n=4 a=x b= one two -n, 1804289383 846930886, 5 0 and bye 5
1: v= n=4 a=x b= one two -n, 1505335290 1738766719, 6 1 and bye 6
";
    assert_eq!(output.stdout, expected, "{output:?}");
    let output = ran(&program, "-n 1", "-x --alpha");
    output.reports_text("library: invalid option -- 'x'");
    output.reports_text("option '--alpha' requires an argument");
}

#[test]
fn programs_in_cpp_have_streams_and_exceptions() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/streams.cc");
    let output = ran(&program, "-n 2", "");
    let expected = "0: 2 names, caught error 0\n1: 2 names, caught error 1\n";
    assert_eq!(output.stdout, expected, "{output:?}");
    let output = ran(&program, "-n 2", "throw");
    let expected = "the program was terminated by an exception that it does not catch";
    output.exits_with(1).reports_text(expected);
}

#[test]
fn mistakes_end_the_run_and_are_named() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/wrong.c");
    for (mistake, expected) in [
        (
            "truncated",
            "MPI_ERR_TRUNCATE: message truncated: 40 bytes from rank 0 with tag 7, buffer of 20 bytes",
        ),
        (
            "deadlock",
            "rank 0 on host node-0 waits in recv (source 1, tag 7)",
        ),
        (
            "assert",
            "assertion failed at crates/cmpi/tests/programs/wrong.c:28 in main: rank == 0",
        ),
        ("status", "the program exited with status 7"),
        ("polling", "waits in polling: probe (any source, tag 7)"),
        ("missing", "MPI_Open_port is not supported"),
        ("rank", "MPI_ERR_RANK: invalid rank 5: expected 0 to 1"),
        ("stale", "MPI_ERR_REQUEST: invalid request"),
        ("abort", "called abort with code 3"),
        (
            "fault",
            "rank 1 on host node-1 failed at 0 s: segmentation fault (signal 11) at wrong(+0x",
        ),
        ("recursion", "segmentation fault (signal 11)"),
        ("buffer", "segmentation fault (signal 11)"),
        (
            "length",
            "MPI_ERR_COUNT: invalid count 1152921504606846976 of elements of 4 bytes",
        ),
    ] {
        let output = ran(&program, "-n 2", mistake);
        let is_found = output.status == 1 && output.stderr.contains(expected);
        assert!(is_found, "{mistake}: {output:?}");
    }
    let output = ran(&program, "-n 2", "unfinished");
    output
        .exits_with(0)
        .reports_text("the program ended without MPI_Finalize");
    let found = simrun(&program, "check -n 2 -- deadlock");
    found.exits_with(1).prints_text("deadlock");
    let found = simrun(&program, "check -n 2 -- fault");
    found.exits_with(1).prints_text("segmentation fault");
}

/// A message that the loop does not receive does not change the answers.
#[test]
fn a_loop_of_tests_or_probes_without_an_end_is_a_deadlock() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/polls.c");
    for (call, wait) in [
        ("test", "test of recv (source 0, tag 1)"),
        ("testany", "testany (recv (source 0, tag 1))"),
        ("testall", "testall (recv (source 0, tag 1))"),
        ("testsome", "testsome (recv (source 0, tag 1))"),
        ("iprobe", "probe (source 0, tag 1)"),
        ("improbe", "probe (source 0, tag 1)"),
        ("seen", "test of recv (source 0, tag 1)"),
    ] {
        let output = ran(&program, "-n 2 --max-time 60s", call);
        output
            .exits_with(1)
            .reports_text(&format!("rank 1 on host node-1 waits in polling: {wait}"));
    }
    ran(&program, "-n 2", "time").exits_with(0);
}

/// A fault leaves the stack without drops; later executions of the search must not meet the rest.
#[test]
fn a_fault_while_a_message_is_copied_is_the_only_finding() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/late-fault.c");
    for threads in ["1", "2"] {
        let output = simrun(
            &program,
            &format!("check -n 3 --threads {threads} --format json"),
        );
        let findings = output.json()["findings"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert_eq!(findings.len(), 1, "{output:?}");
        let text = findings[0].to_string();
        assert!(text.contains("segmentation fault"), "{output:?}");
    }
}

#[test]
fn reports_name_the_lines_of_the_program() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/deadlock.c");
    let (tag, wait) = (
        "MPI_Send at deadlock(+0x",
        "(source 1, tag 0) at deadlock(+0x",
    );
    assert!(ran(&program, "-n 2", "tag").stderr.contains(tag));
    assert!(ran(&program, "-n 2", "").stderr.contains(wait));
    // With debugging information.
    let source = "crates/cmpi/tests/programs/deadlock.c";
    let program = compile_as(COMPILED, &folder, "-g", source, "deadlock");
    let output = ran(&program, "-n 2", "tag");
    let expected = format!("fatal error in MPI_Send at {source}:11: MPI_ERR_TAG: invalid tag -5");
    output.reports_text(&expected);
    let expected = format!("waits in recv (source 1, tag 0) at {source}:12, for rank 1");
    ran(&program, "-n 2", "").reports_text(&expected);
    simrun(&program, "check -n 2").prints_text(&expected);
}

/// Runs a compiled program under `check` with at most this address space in KiB.
fn checked_within(limit: u64, program: &str, line: &str) -> Output {
    let acting = as_program(program);
    let script = format!("ulimit -v {limit} && exec {acting} check --format json {line}");
    run(command("sh").args(["-c", &script]))
}

#[test]
fn under_check_a_rank_leaves_no_memory_behind() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/heap.c");
    // 8 MiB of each of 3 ranks in each of 252 executions, in 32 GiB of which most are reserved; the
    // tags of messages have addresses in them.
    let output = checked_within(32 << 20, &program, "-n 3 -- leak");
    let found = output.json();
    let numbers = serde_json::json!([found["executions"], found["verdict"]]);
    assert_eq!(numbers, serde_json::json!([252, "ok"]), "{output:?}");
    assert_eq!(simrun(&program, "check -n 1").status, 0);
    let program = compiled(&folder, "crates/cmpi/tests/programs/heap.cc");
    for options in ["check -n 2", "-q -n 2"] {
        simrun(&program, &format!("{options} -p {CLUSTER}")).exits_with(0);
    }
}

/// A dropped rank drops no values on its stack; the test counts the memory that is lost this way.
#[test]
fn ranks_that_are_given_up_leave_nothing_behind() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/drops.c");
    let file = folder.path("pages");
    let output = simrun(
        &program,
        &format!("check --format json --reduction none --max-executions 8000 -n 3 -- {file}"),
    );
    let found = output.json();
    let kind = &found["findings"][0]["kind"];
    assert_eq!(kind, "error", "{output:?}");
    let text = std::fs::read_to_string(file).unwrap();
    let pages: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert!(
        pages.len() > 7900,
        "{} pages, status {}",
        pages.len(),
        output.status
    );
    // A lost object of each execution would be more than 20 pages in each window of 1000. A table
    // of the search that doubles its capacity takes many pages, in one window.
    let at_ends: Vec<i64> = pages.iter().skip(900).step_by(1000).copied().collect();
    let grown = at_ends.windows(2).filter(|ends| ends[1] - ends[0] > 20);
    assert!(grown.count() <= 2, "{at_ends:?}");
}

#[test]
fn mistakes_with_memory_are_named() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/heap.c");
    for (mistake, expected) in [
        ("twice", "free() at heap(+0x"),
        ("twice", ": double free detected"),
        ("variable", ": invalid pointer: of a variable"),
        ("inside", ": invalid pointer"),
        (
            "after",
            ": corrupted heap: memory was written after it was freed",
        ),
    ] {
        let output = simrun(&program, &format!("check -n 1 -- {mistake}"));
        let is_found = output.status == 1 && output.stdout.contains(expected);
        assert!(is_found, "{mistake}: {output:?}");
    }
    ran(&program, "-n 1", "variable").reports_text("invalid pointer");
    assert_eq!(ran(&program, "-n 1", "").status, 0);
}

#[test]
fn calls_that_do_not_fit_together_are_errors_with_both_lines() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/calls.c");
    for (mistake, expected, lines) in [
        ("element", "receives f32", [17, 17]),
        ("vector", "receives i64", [17, 17]),
        ("kind", "barrier", [61, 63]),
        ("root", "has root 1", [65, 65]),
        ("op", "has the operation sum of i32", [67, 67]),
        ("type", "has elements of i32", [69, 69]),
        ("count", "gives 8 bytes", [71, 71]),
    ] {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let ran = ran(&program, "-n 2", mistake);
        for (status, text) in [(found.status, &found.stdout), (ran.status, &ran.stderr)] {
            let line =
                |line: &i32| text.contains(&format!("crates/cmpi/tests/programs/calls.c:{line}"));
            let is_named = text.contains(expected) && lines.iter().all(line);
            assert!(status == 1 && is_named, "{mistake}: {text}");
        }
    }
    assert_eq!(ran(&program, "-n 2", "").status, 0);
    simrun(&program, "check -n 2").exits_with(0);
}

#[test]
fn blocks_take_time_that_is_the_same_in_each_run() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/compute.c";
    let program = compiled_with(&folder, "--coverage-blocks", source);
    let blocks = "-n 2 --compute blocks --flops-per-block";
    let times = |options: &str| {
        let output = ran(&program, options, "");
        let words = output.stdout.split_whitespace();
        let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 4, "{options}: {output:?}");
        numbers
    };
    let (once, twice) = (
        times(&format!("{blocks} 10")),
        times(&format!("{blocks} 20")),
    );
    // Two executions of the sampled region stand for ten; 1 Mflop takes 1 / 36 ms.
    assert_eq!((once[3], once[2]), (2.0, 27.778), "{once:?}");
    assert!((once[1] - 10.0 * once[0]).abs() < 0.1, "{once:?}");
    assert!(
        once[0] > 0.1 && (twice[0] - 2.0 * once[0]).abs() < 0.002,
        "{twice:?}"
    );
    let digest = || {
        let output = simrun(&program, &format!("-p {CLUSTER} {blocks} 10"));
        output.prints_text("time between calls: blocks");
        output.digest()
    };
    let first = digest();
    assert!((0..3).all(|_| digest() == first));
    assert_eq!(times("-n 2")[..3], [0.0, 0.0, 27.778]);
    let output = ran(&program, "-n 2 --compute blocks", "");
    output.exits_with(2).reports_text("--flops-per-block FLOP");
    let file = folder.path("times");
    let measured = format!("-n 2 --compute host --record-compute {file} --host-speed");
    let work = |speed: &str| -> f64 {
        ran(&program, &format!("{measured} {speed}"), "");
        let text = std::fs::read_to_string(&file).unwrap();
        let last = text.lines().last().unwrap();
        let (counted, work) = last.split_once(" --flops-per-block ").unwrap();
        assert!(counted.contains(" blocks in 0."), "{last}");
        work.parse().unwrap()
    };
    // A block takes between 0.1 ns and 1 us.
    assert!((0.1..1e3).contains(&work("1e9")));
    ran(&program, &format!("-n 2 --replay-compute {file}"), "").exits_with(0);
    let program = compiled(&folder, source);
    let output = ran(&program, &format!("{blocks} 10"), "");
    output.exits_with(2).reports_text("cc --coverage-blocks");
}

#[test]
fn measured_times_are_replayed() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/compute.c");
    let file = folder.path("times");
    let run = |options: &str| simrun(&program, &format!("-p {CLUSTER} -n 2 {options} -- 100000"));
    let measured = run(&format!(
        "--compute host --host-speed 1e9 --record-compute {file}"
    ));
    measured.prints_text("not repeatable");
    let replayed = run(&format!("--host-speed 1e9 --replay-compute {file}"));
    assert_eq!(measured.digest(), replayed.digest());
    let plain = run("");
    let expected = "no time passes between calls (--compute none)";
    plain.prints_text(expected);
    assert_ne!(plain.digest(), replayed.digest());
    // Each of 2 barriers of the longer rank, and 2 readings of its clock before each.
    let cost = run("--call-cost 1us");
    assert_ne!(plain.digest(), cost.digest());
    std::fs::write(
        &file,
        "# simrun compute 1: rank, number of the time, seconds\n0 x\n",
    )
    .unwrap();
    let broken = run(&format!("--replay-compute {file}"));
    broken.exits_with(2).reports_text("times:2:");
}

#[test]
fn wrong_begins_ends_and_operations_are_named() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/ends.c");
    let output = ran(&program, "-n 3 --prefix-rank", "");
    // A message of two reductions comes while rank 1 waits, and one of rank 2's.
    output.exits_with(0);
    let lines = output
        .stdout
        .lines()
        .filter(|line| line.ends_with("combined"));
    assert_eq!(lines.count(), 3, "{output:?}");
    for (mistake, expected) in [
        (
            "before",
            "MPI_Comm_rank at crates/cmpi/tests/programs/ends.c:29: MPI_ERR_OTHER: called before",
        ),
        ("type", "called before MPI_Init"),
        (
            "after",
            "MPI_Barrier at crates/cmpi/tests/programs/ends.c:65: MPI_ERR_OTHER: called after",
        ),
        (
            "call",
            "MPI_Barrier was called by a function that MPI had called",
        ),
        (
            "operation",
            "segmentation fault (signal 11) at crates/cmpi/tests/programs/ends.c:21",
        ),
    ] {
        let output = ran(&program, "-n 2", mistake);
        let is_found = output.status == 1 && output.stderr.contains(expected);
        assert!(is_found, "{mistake}: {output:?}");
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let is_found = found.status == 1 && found.stdout.contains(expected);
        assert!(is_found, "{mistake}: {found:?}");
    }
    let endless = "s of processor time, at crates/cmpi/tests/programs/ends.c:4";
    let output = ran(&program, "-n 2 --watchdog 300ms", "loop");
    let expected = format!("no call of MPI for 0.3 {endless}");
    output.exits_with(1).reports_text(&expected);
    let found = simrun(&program, "check -n 2 --max-time 60s -- loop");
    found.exits_with(1).prints_text(endless);
}

#[test]
fn what_a_rank_leaves_behind_is_told() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/ends.c";
    let program = compiled_with(&folder, "-g", source);
    let request = "1 of the requests were dropped and never waited for or freed";
    let found = simrun(&program, "check -n 2 -- request");
    found.exits_with(1).prints_text(request);
    let found = simrun(&program, "check -n 2 --leaks -- objects");
    found.exits_with(1);
    for (leak, line) in [
        ("1 operations were", 36),
        ("1 datatypes were", 55),
        ("1 groups were", 57),
        ("a window (context 1073741824) was", 59),
    ] {
        found.prints_text(&format!("{leak} never freed, made at {source}:{line}"));
    }
    for options in ["-n 2 --leaks", "-n 2"] {
        simrun(&program, &format!("check {options}")).exits_with(0);
    }
}

#[test]
fn process_host_and_hidden_state_are_those_of_a_rank() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/system.c");
    let mut command = command("sh");
    let acting = as_program(&program);
    let script = format!("echo input | HOME=/ {acting} -p {CLUSTER} -q -n 2");
    let output = run(command.args(["-c", &script]));
    let expected = "\
b 2 No such file or directory second none 1 0 node-1 0 1001 end 1
two 1 Invalid argument first home 1 10 node-0 0 1000 input 1
";
    assert_eq!(output.stdout, expected, "{output:?}");
    let warning = ": other processes cannot be reached: refused";
    output.reports_text(warning);
    let found = simrun(&program, "check -n 3 --protocol eager -- random");
    let is_found = found.status == 0 && found.stdout.contains("2 executions");
    assert!(is_found, "{found:?}");
    let output = ran(&program, "-n 1", "raise");
    output
        .exits_with(1)
        .reports_text("the program raised signal 15 at system(+0x");
}

#[test]
fn a_script_tells_a_debugger_where_images_are() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/wrong.c");
    let script = folder.path("script");
    let output = ran(&program, &format!("-n 3 --gdb {script}"), "fault");
    output.exits_with(1);
    let text = std::fs::read_to_string(script).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let [_, first, second, third] = lines[..] else {
        panic!("{text}");
    };
    let address = |line: &str| {
        let rest = line.strip_prefix(&format!("add-symbol-file {program} -o 0x"));
        u64::from_str_radix(rest.unwrap(), 16).unwrap()
    };
    let [first, second, third] = [first, second, third].map(address);
    // One slot after the other, at the same addresses in each process. The functions of simrun come
    // before a program.
    let before = first - 0x1000_0000_0000;
    assert!((4096..0x1_0000).contains(&before), "{text}");
    assert!(
        second - first >= 4096 && third - second == second - first,
        "{text}"
    );
}

/// The numbers of the twins in Rust: `simrun check apps/task-farm`, `apps/two-senders`.
#[test]
fn a_search_of_a_twin_in_c_is_that_of_the_app() {
    let folder = Folder::new();
    let farm = compiled(&folder, "apps/c/task-farm.c");
    let senders = compiled(&folder, "apps/c/two-senders.c");
    for (program, options, expected) in [
        (&farm, "-n 3", (2, 12, 10, "ok", "")),
        (&farm, "-n 3 -- --in-order", (2, 10, 8, "found", "error")),
        (&farm, "-n 3 -- --tasks 4", (8, 80, 46, "ok", "")),
        (&farm, "-n 3 --protocol rendezvous", (2, 36, 32, "ok", "")),
        (&senders, "-n 2", (1, 2, 2, "found", "deadlock")),
        (&senders, "-n 4", (1, 4, 4, "found", "deadlock")),
    ] {
        let output = simrun(program, &format!("check --format json {options}"));
        let found = output.json();
        let (executions, transitions, events, verdict, kind) = expected;
        let expected = serde_json::json!([executions, transitions, events, verdict]);
        let names = ["executions", "transitions", "events", "verdict"];
        let numbers = serde_json::json!(names.map(|name| &found[name]));
        assert_eq!(numbers, expected, "{options}: {output:?}");
        let first = &found["findings"][0]["kind"];
        assert_eq!(first.as_str().unwrap_or_default(), kind, "{output:?}");
    }
}

#[test]
fn other_files_are_refused_with_a_remedy() {
    let folder = Folder::new();
    let library = folder.path("libmpi.so");
    let source = folder.write("mpi.c", "int MPI_Init(void) { return 0; }");
    let own = folder.write(
        "own.c",
        "int MPI_Init(void);\nint main(void) { return MPI_Init(); }",
    );
    let program = folder.path("own");
    for arguments in [
        vec![
            "-shared",
            "-fPIC",
            "-Wl,-soname,libmpi.so.40",
            "-o",
            &library,
            &source,
        ],
        vec!["-o", &program, &own, &library],
    ] {
        let status = Command::new("cc").args(arguments).status().unwrap();
        assert!(status.success());
    }
    let output = ran(&program, "", "");
    let expected = "compiled for the ABI of Open MPI: compile it for the standard ABI of MPI 5.0, with mpicc_abi or simrun cc";
    output.exits_with(2).reports_text(expected);
    let program = compiled(&folder, "apps/c/ring.c");
    simrun(&program, "real -n 2")
        .exits_with(2)
        .reports_text("mpiexec");
    // Outside of simrun it says how to run it.
    let output = run(&mut Command::new(program));
    output.exits_with(1).reports_text("run it with simrun");
}
