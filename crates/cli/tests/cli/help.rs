//! Help of every command: `-h` fits a screen, and the options in examples of `--help` exist.

use crate::support::{SIMRUN, command, run};

/// Returns the help of a command on 80 columns after a check of the width.
fn help(words: &str, option: &str) -> String {
    let ran = run(command(SIMRUN)
        .args(words.split_whitespace())
        .arg(option)
        .env("COLUMNS", "80"));
    ran.succeeds_silently();
    for line in ran.stdout.lines() {
        let is_example = line.starts_with("  simrun ");
        assert!(
            line.chars().count() <= 80 || is_example,
            "{words} {option}: {line}"
        );
    }
    ran.stdout
}

/// Checks the help of a command and of all subcommands.
fn check(words: &str) {
    let (short, long) = (help(words, "-h"), help(words, "--help"));
    let lines = short.lines().count();
    assert!(lines <= 24, "{words} -h has {lines} lines:\n{short}");
    if let Some((_, below)) = short.split_once("\nCommands:\n") {
        let names = below.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| Some(line.strip_prefix("  ")?.split_once("  ")?.0));
        for name in names.filter(|name| !["", "help"].contains(name)) {
            check(&format!("{words} {name}"));
        }
        return;
    }
    assert!(long.contains("Example"), "{words} --help has no example");
    let examples = long.lines().filter(|line| line.starts_with("  simrun "));
    for example in examples {
        let own = example.split(" -- ").next().unwrap();
        assert!(
            example.contains(&format!("simrun {words}")) || words.starts_with("study "),
            "{example}"
        );
        let options = own.split(' ').filter(|word| word.starts_with('-'));
        for option in options.filter(|_| example.contains(words)) {
            let is_there = [" ", ",", "[", "\n"].map(|end| format!(" {option}{end}"));
            assert!(
                is_there.iter().any(|option| long.contains(option)),
                "{words} --help has no {option}"
            );
        }
    }
}

#[test]
fn short_help_of_every_command_fits_a_screen() {
    let top = help("", "-h");
    assert!(top.lines().count() <= 24, "{top}");
    let all = help("", "--help");
    let subjects = top
        .lines()
        .skip_while(|line| !line.starts_with("Programs:"));
    let subjects = subjects.take_while(|line| !line.is_empty());
    let mut count = 0;
    for name in subjects.flat_map(|line| line.split_once(':').unwrap().1.trim().split(", ")) {
        assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        count += 1;
        match name {
            "help" => {}
            // Compilers have a help of their own, by --help.
            "cc" | "cxx" => {
                let usage = format!("Usage: simrun {name} [ARGUMENT]...");
                assert!(help(name, "-h").contains(&usage), "{name} -h");
            }
            _ => check(name),
        }
    }
    assert!(count > 20, "{top}");
}

#[test]
fn help_is_wrapped_to_the_terminal() {
    let width = |columns: &str| {
        let mut command = command(SIMRUN);
        let ran = run(command.args(["run", "--help"]).env("COLUMNS", columns));
        let widths = ran.stdout.lines().map(|line| line.chars().count());
        widths.max().unwrap()
    };
    assert!((90..=100).contains(&width("")));
    assert!((70..=100).contains(&width("0")));
    assert!((110..=120).contains(&width("120")));
}
