//! `simrun new`: a package outside of the checkout that builds without network and runs at once.

use std::fs;
use std::path::Path;

use crate::support::{Folder, SIMRUN, built_fast, command, root, run};

#[test]
fn a_new_package_runs_at_once() {
    let folder = Folder::new();
    let here = Path::new(&folder.path("")).to_owned();
    let made = run(command(SIMRUN).current_dir(&here).args(["new", "my-app"]));
    assert_eq!(
        (made.status, made.stdout.as_str(), made.stderr.as_str()),
        (
            0,
            "made my-app; run it with\n  simrun --platform my-app/platform.toml my-app\n",
            ""
        )
    );
    // The profile is that of the checkout, and its folder of compiled crates serves other packages.
    let settings = fs::read_to_string(folder.path("my-app/.cargo/config.toml")).unwrap();
    let level = "[profile.release.package.simrun]\nopt-level = \"s\"\n";
    assert!(settings.contains(level), "{settings}");
    let shared = root().join("target/outside");
    let shared = format!("[build]\nbuild-dir = \"{}\"\n", shared.display());
    assert!(settings.ends_with(&shared), "{settings}");
    built_fast(&folder.path("my-app"));
    let line = made.stdout.lines().nth(1).unwrap();
    let arguments = line.split_whitespace().skip(1);
    let ran = run(command(SIMRUN).current_dir(&here).args(arguments));
    ran.exits_with(0);
    // Rank 0 sends 1 KiB to each of 3 ranks at once: its own link of 1.25 GB/s carries all three,
    // so they arrive after 2·1 µs + 3·1024 B / 1.25 GB/s = 4.4576 µs; the answers, at once again,
    // take as long.
    assert_eq!(
        ran.stdout.lines().take(3).collect::<Vec<_>>(),
        [1, 2, 3].map(|rank| format!("rank {rank} answered at 0.000008915 s"))
    );
    // A build in a pipe says that it starts, once.
    let starts = "building my-app and what it needs\n";
    assert_eq!(ran.stderr.matches(starts).count(), 1, "{ran:?}");
    assert!(!ran.stderr.contains("Compiling"), "{ran:?}");
    ran.prints_text("\nmy-app finished at 8.9152 us simulated");
}

#[test]
fn a_new_package_depends_on_what_is_named() {
    let folder = Folder::new();
    let here = Path::new(&folder.path("")).to_owned();
    let dependencies = |name: &str, options: &[&str]| {
        let mut simrun = command(SIMRUN);
        let made = run(simrun.current_dir(&here).args(["new", name]).args(options));
        made.exits_with(0);
        let manifest = fs::read_to_string(folder.path(&format!("{name}/Cargo.toml"))).unwrap();
        let is_ours = |line: &&str| line.starts_with("mpi = ") || line.starts_with("simrun = ");
        manifest
            .lines()
            .filter(is_ours)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        dependencies("by-version", &["--version", "0.1"]),
        [
            r#"mpi = { package = "simrun-mpi", version = "0.1" }"#,
            r#"simrun = { version = "0.1" }"#
        ]
    );
    let url = "https://example.org/simrun.git";
    assert_eq!(
        dependencies("by-git", &["--git", url, "--rev", "v0.1.0"]),
        [
            format!(r#"mpi = {{ package = "simrun-mpi", git = "{url}", rev = "v0.1.0" }}"#),
            format!(r#"simrun = {{ git = "{url}", rev = "v0.1.0" }}"#)
        ]
    );
    // Its lock file is not of that repository.
    assert!(!here.join("by-git/Cargo.lock").exists());
    let checkout = root();
    let checkout = checkout.to_str().unwrap();
    assert_eq!(
        dependencies("by-path", &["--path", checkout]),
        [
            format!(r#"mpi = {{ package = "simrun-mpi", path = "{checkout}/crates/mpi" }}"#),
            format!(r#"simrun = {{ path = "{checkout}/crates/simrun" }}"#)
        ]
    );
    let refused = run(command(SIMRUN)
        .current_dir(&here)
        .args(["new", "x", "--path", "by-git"]));
    let expected =
        "error: --path by-git: it has no crates/mpi/Cargo.toml: expected a checkout of simrun\n";
    assert_eq!((refused.status, refused.stderr.as_str()), (2, expected));
}

/// As `cargo install` leaves it: alone in a folder.
#[test]
fn an_installed_simrun_works_away_from_its_checkout() {
    let folder = Folder::new();
    let installed = folder.path("simrun");
    fs::copy(SIMRUN, &installed).unwrap();
    let here = Path::new(&folder.path("")).to_owned();
    let made = run(command(&installed)
        .current_dir(&here)
        .args(["new", "my-app"]));
    made.exits_with(0);
    let refused = run(command(&installed)
        .current_dir(&here)
        .args(["draw", "my-app/platform.toml"]));
    let expected = format!(
        "error: {installed}-tools: there is no such file, and it measures, calibrates, compares, draws and fuzzes: expected it \
         beside simrun, where cargo install --path crates/tools, or pip install ./python/tools, puts it in a checkout of simrun\n"
    );
    assert_eq!((refused.status, refused.stderr), (2, expected));
}

#[test]
fn arguments_that_are_not_clone_are_told_so() {
    let folder = Folder::new();
    let here = Path::new(&folder.path("")).to_owned();
    let made = run(command(SIMRUN).current_dir(&here).args(["new", "my-other"]));
    made.exits_with(0);
    let main = folder.path("my-other/src/main.rs");
    let text = fs::read_to_string(&main).unwrap();
    let derive = "#[derive(clap::Parser, Clone)]";
    assert!(text.contains(derive), "{text}");
    fs::write(&main, text.replace(derive, "#[derive(clap::Parser)]")).unwrap();
    built_fast(&folder.path("my-other"));
    let line = ["--platform", "my-other/platform.toml", "my-other"];
    let ran = run(command(SIMRUN).current_dir(&here).args(line));
    ran.exits_with(2);
    let note = "Args must derive both `clap::Parser` and `Clone`: every rank gets a copy of them";
    ran.reports_text(note);
}

#[test]
fn bad_names_and_folders_that_are_there() {
    let folder = Folder::new();
    let here = Path::new(&folder.path("")).to_owned();
    folder.write("there/file", "");
    let refuses = |name: &str, message: &str| {
        let ran = run(command(SIMRUN).current_dir(&here).args(["new", name]));
        ran.exits_silently(2);
        assert_eq!(ran.stderr, format!("error: {message}\n"), "{name}");
    };
    refuses("there", "there: already exists");
    let expected = "expected a letter, then letters, digits, - or _";
    for name in ["9lives", "a b", "caf\u{e9}", "_x"] {
        refuses(
            name,
            &format!("\"{name}\" is not a name for a package: {expected}"),
        );
    }
    refuses(
        "deep/9",
        &format!("\"9\" is not a name for a package: {expected}"),
    );
    for name in ["fn", "test", "clap", "simrun"] {
        refuses(name, &format!("invalid package name \"{name}\": reserved"));
    }
    refuses(
        "there/file/x",
        "there/file/x: cannot write there: Not a directory (os error 20)",
    );
    assert_eq!(folder.names(), ["there"]);
    assert_eq!(fs::read_dir(folder.path("there")).unwrap().count(), 1);
}
