//! The command line: help, versions, where options and APP may stand, and programs that
//! run alone.

use testing::commands::compile;

use crate::support::{CLUSTER, Folder, SIMRUN, command, program, run, simrun};

#[test]
fn help_ends_with_success() {
    let actors = program("actors");
    for line in [
        "help",
        "help run",
        "help check",
        &format!("{actors} --help"),
    ] {
        let ran = simrun(line);
        ran.succeeds_silently().prints_text("Usage: ");
    }
    // Without anything, the help is what is missing: bad usage.
    simrun("").refuses_with("Usage: simrun [OPTIONS] APP");
}

#[test]
fn the_help_of_a_program_has_its_own_arguments() {
    let cases = program("cases");
    for line in [
        format!("{cases} --help"),
        format!("run {cases} -h"),
        format!("--help {cases}"),
    ] {
        let ran = simrun(&line);
        ran.exits_with(0);
        let text = ran.stdout;
        assert!(
            text.contains("Usage: cases [OPTIONS] [ARGUMENTS OF cases]"),
            "{text}"
        );
        assert!(
            text.contains("--platform <FILE>")
                && text.contains("Arguments of the program, after --:"),
            "{text}"
        );
        assert!(text.contains("--case <CASE>"), "{text}");
    }
    let ran = simrun!("{cases} -- --help");
    ran.exits_with(0)
        .prints_text("Usage: cases -- --case <CASE>");
    assert!(!ran.stdout.contains("--platform"), "{ran:?}");
}

#[test]
fn versions_have_the_revision() {
    let version = format!("{} ({})\n", env!("CARGO_PKG_VERSION"), simrun::REVISION);
    assert_eq!(simrun("--version").stdout, format!("simrun {version}"));
    assert_eq!(simrun("-V").stdout, format!("simrun {version}"));
    let alone = run(command(program("cases")).arg("--version"));
    assert_eq!(alone.stdout, format!("cases {version}"));
}

#[test]
fn options_and_app_in_any_order() {
    let cases = program("cases");
    let lines = [
        format!("-p {CLUSTER} -n 3 -q {cases} -- --case hosts"),
        format!("run -p {CLUSTER} -n 3 -q {cases} -- --case hosts"),
        format!("{cases} -p {CLUSTER} -n 3 -q -- --case hosts"),
        format!("-q run -n3 {cases} --platform={CLUSTER} -- --case hosts"),
        format!("-qn 3 {cases} -p{CLUSTER} -- --case hosts"),
        format!("-qn3 -p {CLUSTER} run {cases} -- --case hosts"),
    ];
    for line in lines {
        let ran = simrun(&line);
        ran.exits_with(0)
            .prints_only("0 node-0\n1 node-1\n2 node-2\n");
    }
}

#[test]
fn words_after_app_are_arguments_of_the_program() {
    let folder = Folder::new();
    let pingpong = compile(SIMRUN, &folder, "", "apps/c/pingpong.c");
    let rows = |line: &str| {
        let ran = simrun(line);
        ran.exits_with(0);
        let is_row = |line: &&str| line.ends_with(" us");
        let rows = ran.stdout.lines().filter(is_row);
        rows.filter_map(|row| row.split('B').next()?.trim().parse().ok())
            .collect::<Vec<u32>>()
    };
    for words in ["8 64", "8 -r 3 64", "8 -- 64", "-- 8 64", "-- -r 3 8 64"] {
        let options = format!("-p {CLUSTER} -q -n 2");
        assert_eq!(rows(&format!("{options} {pingpong} {words}")), [8, 64]);
        assert_eq!(rows(&format!("{pingpong} {options} {words}")), [8, 64]);
    }
    simrun!("check -n 2 {pingpong} --stop-at-first 8").exits_with(0);
    simrun!("whatif -p {CLUSTER} -n 2 {pingpong} 8").exits_with(0);
    // An unknown option is a mistake and no argument of the program.
    let unknown = simrun!("{pingpong} -p {CLUSTER} --platfrm 8");
    unknown.refuses_with("tip: a similar argument exists: '--platform'");
}

/// The hint of clap; names that simrun looks for are in `refusals.txt`.
#[test]
fn a_mistyped_operation_is_told_the_nearest_one() {
    let ran = simrun("collectives list allreduc");
    ran.refuses_with("did you mean \"allreduce\"?");
}

#[test]
fn an_app_may_be_called_like_a_command() {
    let folder = Folder::new();
    std::os::unix::fs::symlink(program("actors"), folder.path("new")).unwrap();
    let platform = crate::support::root().join(CLUSTER);
    for app in ["run new", "./new"] {
        let ran = run(command(SIMRUN)
            .current_dir(folder.path(""))
            .arg("-p")
            .arg(&platform)
            .args(["-n", "2"])
            .args(app.split(' ')));
        ran.prints_first("2 actors on 64 hosts\n");
    }
}

#[test]
fn a_built_program_runs_alone_with_the_same_digest() {
    let cases = program("cases");
    let line = format!("-p {CLUSTER} -n 2 -- --case head-to-head");
    let alone = run(command(&cases).args(line.split_whitespace()));
    let through = simrun!("{cases} {line}");
    assert_eq!((alone.status, through.status), (0, 0));
    assert_eq!(alone.digest(), through.digest());
}
