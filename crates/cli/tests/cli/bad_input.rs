//! Bad usage and bad input that is not in `refusals.txt`: messages that depend on this machine, and
//! input that takes some steps to make.

use std::fs;
use std::io::Write as _;

use crate::support::{CLUSTER, Folder, SIMRUN, command, program, run, simrun};

/// The exact message; `{…}` of the caller is already filled in.
#[track_caller]
fn refuses(line: &str, message: &str) {
    let ran = simrun(line);
    assert_eq!(ran.stderr.trim_end(), format!("error: {message}"), "{line}");
    ran.exits_silently(2);
}

const TWO_HOSTS: &str = "version = 1\n[hosts.a]\nspeed = \"1Gf\"\n[hosts.b]\nspeed = \"1Gf\"\n";

/// The named pipe has no writer, so an open call would never end.
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
    ran.exits_with(0).prints_text("hosts     2");
}

/// The platform is valid all the same: a program may need no such route.
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
        let ran = simrun!("platform check {file}");
        assert_eq!((ran.status, ran.stderr.as_str()), (0, expected));
        ran.prints_text("zones     2");
    }
}

#[test]
fn no_route() {
    let folder = Folder::new();
    let file = folder.write("p.toml", TWO_HOSTS);
    let cases = program("cases");
    // One host needs no route; and an actor program finds out when it needs one.
    simrun!("-p {file} -n 1 {cases} -- --case hosts").exits_with(0);
    let ran = simrun!("-p {file} {}", program("actors"));
    ran.exits_with(2).reports_text("no route");
    ran.prints_text("was rejected (invalid input)");
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
    // It may have to be built before that is known, which is said too.
    let ran = simrun("crates/source-location");
    let none =
        "error: crates/source-location: the package has no program: expected a src/main.rs\n";
    ran.exits_with(2).reports_last(none);
}

/// A platform file that does not exist is found before the program is built.
#[test]
fn missing_platform_before_a_build() {
    for command in ["", "check"] {
        refuses(
            &format!("{command} --platform missing.toml apps/ring"),
            "cannot read platform file \"missing.toml\": there is no such file",
        );
    }
}

/// The hint of clap names the correct form.
#[test]
fn arguments_of_the_program_stand_behind_dashes() {
    let line = format!("-p {CLUSTER} {} --case hosts", program("cases"));
    simrun(&line).exits_with(2).reports_text("use '-- --case'");
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
    let ran = simrun!("-p {CLUSTER} {app}");
    ran.refuses_with("error[E0308]: mismatched types");
    ran.reports_text("src/main.rs:2:18");
    let last = format!("error: {app}: build failed; see the errors above\n");
    ran.reports_last(&last);
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
fn arguments_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let noise = OsStr::from_bytes(b"caf\xe9");
    let ran = run(command(SIMRUN).arg(noise));
    ran.exits_with(2);
    ran.reports_first("error: caf\u{fffd}: no such file or directory");
    let ran = run(command(SIMRUN)
        .args(["--platform", CLUSTER, &program("cases"), "--"])
        .arg(noise));
    ran.exits_with(2);
    let ran = run(command(SIMRUN)
        .arg("--platform")
        .arg(noise)
        .arg(program("actors")));
    ran.exits_with(2);
}
