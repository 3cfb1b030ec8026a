//! Bad usage and bad input: exit status 2, nothing on standard output, and a message that names the
//! place, what was found and what is expected.

use std::fs;
use std::io::Write as _;

use crate::support::{CLUSTER, Folder, SIMRUN, case, command, program, run, simrun};

/// The exact message; `{…}` of the caller is already filled in.
#[track_caller]
fn refuses(line: &str, message: &str) {
    let ran = simrun(line);
    assert_eq!(ran.stderr.trim_end(), format!("error: {message}"), "{line}");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{line}");
}

/// Messages of clap end with a hint; only their first line is ours.
#[track_caller]
fn refuses_option(line: &str, message: &str) {
    let ran = simrun(line);
    let first = ran.stderr.lines().next().unwrap_or_default();
    assert_eq!(first, format!("error: {message}"), "{line}");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{line}");
}

/// A platform with one mistake: the place, the problem and the expectation appear in the report.
#[track_caller]
fn refuses_platform(text: &str, parts: &[&str]) {
    let folder = Folder::new();
    let file = folder.write("p.toml", text);
    let cases = program("cases");
    for line in [
        format!("-p {file} {cases} -- --case hosts"),
        format!("platform check {file}"),
    ] {
        let ran = simrun(&line);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{line}");
        for part in parts {
            assert!(ran.stderr.contains(part), "{part:?} in {}", ran.stderr);
        }
        assert!(ran.stderr.contains("p.toml:"), "{}", ran.stderr);
    }
}

const TWO_HOSTS: &str = "version = 1\n[hosts.a]\nspeed = \"1Gf\"\n[hosts.b]\nspeed = \"1Gf\"\n";

#[test]
fn platform_file() {
    let cases = program("cases");
    let app = format!("{cases} -- --case hosts");
    refuses(
        &format!("-p nowhere.toml {app}"),
        "cannot read platform file \"nowhere.toml\": there is no such file",
    );
    refuses(
        &format!("-p platforms {app}"),
        "cannot read platform file \"platforms\": it is a directory; name a .toml file in it",
    );
    refuses(
        &app,
        "no platform: expected --platform FILE, such as --platform platforms/cluster.toml",
    );
    refuses(
        "platform check nowhere.toml",
        "cannot read platform file \"nowhere.toml\": there is no such file",
    );
}

#[test]
fn mistakes_in_a_platform() {
    let link = |bandwidth: &str| {
        format!("{TWO_HOSTS}[links.l]\nbandwidth = \"{bandwidth}\"\nlatency = \"1us\"\n")
    };
    refuses_platform(
        "version = 1\n[hosts.a]\nspeed = \"1Gf\"\ncolour = \"red\"\n",
        &["unknown key \"colour\"", "p.toml:4:1"],
    );
    refuses_platform(
        &link("100Gbs"),
        &[
            "unknown unit \"Gbs\" in \"100Gbs\"",
            "expected a bandwidth",
            "p.toml:7:13",
        ],
    );
    refuses_platform(
        &link("-1Gbps"),
        &["negative value \"-1Gbps\"", "p.toml:7:13"],
    );
    refuses_platform(&link("infGbps"), &["infGbps", "p.toml:7:13"]);
    refuses_platform(&link("1e999Gbps"), &["1e999Gbps", "p.toml:7:13"]);
    refuses_platform(
        "version = 1\n[hosts.a]\nspeed = \"1Gf\"\n[hosts.a]\nspeed = \"1Gf\"\n",
        &["duplicate", "p.toml:4:"],
    );
    refuses_platform(
        &format!(
            "{}[[routes]]\nfrom = \"a\"\nto = \"zoe\"\nlinks = [\"l\"]\n",
            link("1Gbps")
        ),
        &["\"zoe\"", "p.toml:11:6"],
    );
    // All at once, counted.
    let many = "version = 1\nx = 1\n[hosts.a]\nspeed = \"fast\"\n";
    refuses_platform(many, &["unknown key \"x\"", "\"fast\"", "2 mistakes"]);
}

/// Nobody writes to the named pipe, so that opening it would never end.
#[test]
fn platforms_come_from_open_pipes_and_not_from_named_ones() {
    let folder = Folder::new();
    let pipe = folder.path("pipe.toml");
    assert!(command("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = run(command("timeout").args(["60", SIMRUN, "platform", "check", &pipe]));
    let problem = "it is a named pipe: expected a file, or an open pipe such as /dev/stdin";
    let message = format!("error: cannot read platform file {pipe:?}: {problem}\n");
    assert_eq!((ran.status, ran.stderr), (2, message));
    let (read, mut write) = std::io::pipe().unwrap();
    write.write_all(TWO_HOSTS.as_bytes()).unwrap();
    drop(write);
    let check = ["platform", "check", "/dev/stdin"];
    let ran = run(command(SIMRUN).args(check).stdin(read));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("hosts     2"), "{ran:?}");
}

/// It is a platform all the same: a program may need no such route.
#[test]
fn zones_that_do_not_reach_each_other_are_warned_of() {
    let sites = r#"version = 1
links.wan = { bandwidth = "1Gbps", latency = "1ms" }
[zones.east]
gateway = "e"
hosts.e.speed = "1Gf"
[zones.west]
gateway = "w"
hosts.w.speed = "1Gf"
"#;
    let route = "[[routes]]\nfrom = \"east\"\nto = \"west\"\nlinks = [\"wan\"]\n";
    let warning = "warning: \"east\" does not reach \"west\": expected a route from \"east\" \
                   to \"west\" in [[routes]]\n";
    let folder = Folder::new();
    for (routes, expected) in [("", warning), (route, "")] {
        let file = folder.write("sites.toml", &format!("{sites}{routes}"));
        let ran = simrun(&format!("platform check {file}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, expected));
        assert!(ran.stdout.contains("zones     2"), "{}", ran.stdout);
    }
}

#[test]
fn no_route() {
    let folder = Folder::new();
    let file = folder.write("p.toml", TWO_HOSTS);
    let cases = program("cases");
    let ran = simrun(&format!("-p {file} {cases} -- --case hosts"));
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.starts_with("error: ")
            && ran.stderr.contains("\"a\"")
            && ran.stderr.contains("\"b\""),
        "{}",
        ran.stderr
    );
    // One host needs no route; and an actor program finds out when it needs one.
    assert_eq!(
        simrun(&format!("-p {file} -n 1 {cases} -- --case hosts")).status,
        0
    );
    let ran = simrun(&format!("-p {file} {}", program("actors")));
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("no route"), "{ran:?}");
    assert!(
        ran.stdout.contains("was rejected (invalid input)"),
        "{ran:?}"
    );
}

#[test]
fn mapping_file() {
    let folder = Folder::new();
    let app = format!("-p {CLUSTER} {} -- --case hosts", program("cases"));
    let short = folder.write("short", "node-1\nnode-2:2 # two\n");
    refuses(
        &format!("-n 5 --map {short} {app}"),
        &format!("{short}: 3 ranks mapped, 5 required"),
    );
    let bad = folder.write("bad", "node-1\n\nnode-2:many\n");
    refuses(
        &format!("--map {bad} {app}"),
        &format!("{bad}:3: invalid host \"node-2:many\": expected NAME or NAME:COUNT, COUNT >= 1"),
    );
    let actors = "<?xml version='1.0'?>\n<!-- two -->\n<platform version=\"4.1\">\n\
                  <actor host=\"node-1\" function=\"f\"/>\n<actor host=\"node-2\" function=\"f\"/>\n</platform>";
    let deployment = folder.write("deployment.xml", actors);
    refuses(
        &format!("--map {deployment} {app}"),
        &format!(
            "{deployment}:4: <actor> belongs to a deployment file: expected one host per line, NAME or NAME:COUNT; \
             programs get their arguments after --"
        ),
    );
    let xml = folder.write("p.xml", "\u{feff}\n<platform version=\"4.1\"/>\n");
    refuses(
        &format!("--map {xml} {app}"),
        &format!(
            "{xml}:2: <platform> is no host: expected one host per line, NAME or NAME:COUNT; \
             programs get their arguments after --"
        ),
    );
    for count in ["4000000000", "99999999999999999999"] {
        let many = folder.write("many", &format!("node-0:{count}\n"));
        refuses(
            &format!("--map {many} {app}"),
            &format!("{many}:1: {count} ranks on a host: expected at most 16777216"),
        );
    }
    let unknown = folder.write("unknown", "node-1\nnode-64\n");
    refuses(
        &format!("--map {unknown} {app}"),
        &format!("{unknown}:2: the platform has no host \"node-64\""),
    );
    let empty = folder.write("empty", "# nobody\n");
    refuses(
        &format!("--map {empty} {app}"),
        &format!("{empty}: empty mapping file: expected lines NAME or NAME:COUNT"),
    );
    refuses(
        &format!("--map blok {app}"),
        "blok: there is no such file: expected block, block:N, cyclic, random or a file of host names",
    );
    for found in ["0", "-1", "two", ""] {
        refuses(
            &format!("--map block:{found} {app}"),
            &format!(
                "invalid mapping block:{found}: expected block:N, with N ranks on each host, N >= 1"
            ),
        );
    }
    refuses(
        &format!("--map platforms {app}"),
        "platforms: it is a directory: expected a file of host names",
    );
}

#[test]
fn options() {
    let app = format!("-p {CLUSTER} {} -- --case hosts", program("cases"));
    let ranks = "expected a whole number from 1 to 4294967295";
    for options in [
        format!("-n -1 {app}"),
        format!("check -n -1 {app}"),
        format!("real -n -1 {}", program("cases")),
        format!("compare --platform {CLUSTER} -n -1 {}", program("cases")),
    ] {
        refuses_option(
            &options,
            &format!("invalid value '-1' for '--ranks <N>': {ranks}"),
        );
    }
    refuses_option(
        &format!("-n 0 {app}"),
        &format!("invalid value '0' for '--ranks <N>': {ranks}"),
    );
    refuses_option(
        &format!("-n 1e3 {app}"),
        &format!("invalid value '1e3' for '--ranks <N>': {ranks}"),
    );
    refuses_option(
        &format!("--protocol fast {app}"),
        "invalid value 'fast' for '--protocol <PROTOCOL>': expected eager, rendezvous or threshold=SIZE",
    );
    refuses_option(
        &format!("--protocol threshold=3Q {app}"),
        "invalid value 'threshold=3Q' for '--protocol <PROTOCOL>': unknown unit \"Q\" in \"3Q\": expected a size, such as \"1MiB\", \"64KiB\" or \"1500B\"",
    );
    let duration = "expected a duration, such as \"1.3us\", \"500ns\", \"20ms\" or \"1s\"";
    refuses_option(
        &format!("--until 5 {app}"),
        &format!("invalid value '5' for '--until <TIME>': no unit in \"5\": {duration}"),
    );
    refuses_option(
        &format!("--until=-5s {app}"),
        &format!("invalid value '-5s' for '--until <TIME>': negative value \"-5s\": {duration}"),
    );
    refuses_option(
        &format!("--log loud {app}"),
        "invalid value 'loud' for '--log <FILTER>': \"loud\" is not a log filter: expected off, error, warn, info, debug or trace, or RANK=LEVEL or FIRST-LAST=LEVEL",
    );
    refuses_option(
        &format!("--format yaml {app}"),
        "invalid value 'yaml' for '--format <text|json>'",
    );
    refuses_option(
        &format!("--seed -1 {app}"),
        "unexpected argument '-1' found",
    );
    refuses_option(
        &format!("--max-events=x {app}"),
        "invalid value 'x' for '--max-events <N>': invalid digit found in string",
    );
    refuses_option(
        &format!("-q -v {app}"),
        "the argument '--quiet' cannot be used with '--verbose'",
    );
}

#[test]
fn arguments_of_the_program() {
    let cases = program("cases");
    refuses_option(
        &format!("-p {CLUSTER} {cases} -- --case sing"),
        "invalid value 'sing' for '--case <CASE>'",
    );
    refuses_option(
        &format!("-p {CLUSTER} {cases} -- --loud"),
        "unexpected argument '--loud' found",
    );
    // Even without a platform, wrong arguments are found first.
    refuses_option(
        &format!("{cases} -- --loud"),
        "unexpected argument '--loud' found",
    );
    let actors = program("actors");
    refuses_option(
        &format!("-p {CLUSTER} {actors} -- 3"),
        "unexpected argument '3' found",
    );
    let ran = simrun(&format!("-p {CLUSTER} {cases} --case hosts"));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("use '-- --case'"), "{}", ran.stderr);
}

#[test]
fn app() {
    let expected = "expected a package directory or an executable";
    refuses(
        "apps/rin",
        &format!(
            "apps/rin: no such file or directory: {expected} (apps has {})",
            apps().join(", ")
        ),
    );
    refuses(
        "ring",
        &format!("ring: no such file or directory: {expected}; did you mean apps/ring?"),
    );
    refuses(
        "nowhere/at/all",
        &format!("nowhere/at/all: no such file or directory: {expected}"),
    );
    refuses(
        "apps",
        "apps: no Cargo.toml in this directory: expected a package directory",
    );
    refuses(
        "Cargo.toml",
        "Cargo.toml: not a program: expected a package directory or an executable",
    );
    // It may have to be built before that is known, which is said too.
    let ran = simrun("crates/mpi");
    let none = "error: crates/mpi: the package has no program: expected a src/main.rs\n";
    assert!(ran.status == 2 && ran.stderr.ends_with(none), "{ran:?}");
    let no_app =
        "missing APP: expected a package directory, for example apps/ring, or an executable";
    refuses("run", no_app);
    refuses(&format!("-p {CLUSTER}"), no_app);
    refuses("-- apps/ring", no_app);
}

/// The programs in `apps/`.
fn apps() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(crate::support::root().join("apps"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn an_app_that_does_not_compile() {
    let folder = Folder::new();
    folder.write(
        "broken/Cargo.toml",
        "[package]\nname = \"broken\"\nedition = \"2024\"\n[workspace]\n",
    );
    folder.write(
        "broken/src/main.rs",
        "fn main() {\n    let x: u32 = \"text\";\n}\n",
    );
    let app = folder.path("broken");
    let ran = simrun(&format!("-p {CLUSTER} {app}"));
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(
        ran.stderr.contains("error[E0308]: mismatched types"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("src/main.rs:2:18"), "{}", ran.stderr);
    let last = format!("error: {app}: build failed; see the errors above\n");
    assert!(ran.stderr.ends_with(&last), "{}", ran.stderr);
}

#[test]
fn a_program_that_is_not_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let file = folder.write("script", "#!/nowhere/at/all\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    refuses(
        &file,
        &format!(
            "{file}: cannot start it: No such file or directory (os error 2): expected a program that is built with simrun"
        ),
    );
}

#[test]
fn output_folder() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    // Found before the run: a run of this case never ends.
    for (out, problem) in [
        (format!("{file}/deep"), "Not a directory (os error 20)"),
        (file.clone(), "File exists (os error 17)"),
    ] {
        let ran = case("forever", &format!("--out {out}"));
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert_eq!(
            ran.stderr,
            format!("error: {out}: cannot write there: {problem}\n")
        );
    }
}

#[test]
fn arguments_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let noise = OsStr::from_bytes(b"caf\xe9");
    let ran = run(command(SIMRUN).arg(noise));
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr
            .starts_with("error: caf\u{fffd}: no such file or directory"),
        "{ran:?}"
    );
    let ran = run(command(SIMRUN)
        .args(["--platform", CLUSTER, &program("cases"), "--"])
        .arg(noise));
    assert_eq!(ran.status, 2, "{ran:?}");
    let ran = run(command(SIMRUN)
        .arg("--platform")
        .arg(noise)
        .arg(program("actors")));
    assert_eq!(ran.status, 2, "{ran:?}");
}
