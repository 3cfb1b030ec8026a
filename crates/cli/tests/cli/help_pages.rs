//! `simrun completions` and `simrun man`.

use std::fs;

use crate::support::{Folder, SIMRUN, command, run, simrun};

#[test]
fn completions_know_commands_and_options() {
    for (shell, begin) in [
        ("bash", "_simrun() {"),
        ("zsh", "#compdef simrun"),
        ("fish", "#"),
    ] {
        let ran = simrun!("completions {shell}");
        ran.succeeds_silently().prints_first(begin);
        for word in ["calibrate", "rerun", "protocol"] {
            ran.prints_text(word);
        }
    }
    assert_eq!(simrun("completions cmd").status, 2);
}

/// The shell itself reads the script and completes.
#[test]
fn bash_completes_a_command() {
    let folder = Folder::new();
    let script = simrun("completions bash").stdout;
    let ask = "COMP_WORDS=(simrun plat) COMP_CWORD=1; _simrun simrun plat simrun; echo \"${COMPREPLY[*]}\"";
    let file = folder.write("script.sh", &format!("{script}\n{ask}\n"));
    let ran = run(command("bash").arg(file));
    ran.exits_with(0).prints_only("platform\n");
}

#[test]
fn man_pages_are_written_for_all_commands() {
    let folder = Folder::new();
    let pages = folder.path("man/man1");
    let ran = run(command(SIMRUN).args(["man", &pages]));
    let expected = format!("man pages are in {pages}; read one with\n  man {pages}/simrun.1\n");
    assert_eq!((ran.status, ran.stdout), (0, expected), "{}", ran.stderr);
    // The second one is of the tools.
    for (page, word) in [
        ("simrun-check", "\\-\\-protocol"),
        ("simrun-measure", "\\-\\-backend"),
        ("simrun-platform-show", "\\-\\-route"),
    ] {
        let text = fs::read_to_string(format!("{pages}/{page}.1")).unwrap();
        assert!(text.contains(word), "{page}: {text}");
    }
    let there = folder.write("file", "");
    assert_eq!(run(command(SIMRUN).args(["man", &there])).status, 2);
}

#[test]
fn a_man_page_that_is_a_link_stays_one() {
    let folder = Folder::new();
    let other = folder.write("elsewhere", "old");
    let pages = folder.path("man");
    for page in ["simrun", "simrun-measure"] {
        let link = format!("{pages}/{page}.1");
        let _ = fs::remove_dir_all(&pages);
        fs::create_dir(&pages).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert_eq!(run(command(SIMRUN).args(["man", &pages])).status, 0);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{page}");
        assert!(fs::read_to_string(&other).unwrap().contains(page));
        fs::remove_file(&link).unwrap();
        // A folder is in the way of the page.
        fs::create_dir(&link).unwrap();
        let ran = run(command(SIMRUN).args(["man", &pages]));
        ran.exits_with(2).reports_text(&link);
    }
}
