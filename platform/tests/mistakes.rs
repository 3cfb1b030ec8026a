//! Promise: a mistake in a platform file is reported with its place, the value found and the value
//! expected, and all mistakes are reported together.

use std::fs;
use std::path::PathBuf;

use platform::{LoadError, Platform};
use testing::cases::read_cases;

/// Two hosts and a link, without a mistake.
const GOOD: &str = r#"version = 1
[hosts.alice]
speed = "16Gf"
[hosts.bob]
speed = "16Gf"
[links.wan]
bandwidth = "10Gbps"
latency = "20ms"
[[routes]]
from = "alice"
to = "bob"
links = ["wan"]
"#;

fn error(text: &str) -> LoadError {
    Platform::parse("p.toml", text).expect_err("a mistake")
}

#[test]
fn the_good_file_is_good() {
    Platform::parse("p.toml", GOOD).expect("no mistake");
}

#[test]
fn each_mistake_is_answered_with_its_place() {
    for case in read_cases(include_str!("mistakes.txt")) {
        let [from, to] = case.given_parts();
        assert!(GOOD.contains(from), "mistakes.txt:{}", case.line);
        let text = match from {
            "" => format!("{GOOD}{to}\n"),
            from => GOOD.replacen(from, to, 1),
        };
        let found = Platform::parse("p.toml", &text).map_err(|error| error.to_string());
        case.assert_expected("mistakes.txt", &found.expect_err(&case.expected));
    }
}

#[test]
fn files_that_cannot_be_read() {
    let message = |path: &PathBuf| Platform::load(path).expect_err("a mistake").to_string();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let missing = folder.join("missing.toml");
    assert_eq!(
        message(&missing),
        format!("cannot read platform file {missing:?}: there is no such file")
    );
    assert_eq!(
        message(&folder),
        format!("cannot read platform file {folder:?}: it is a directory; name a .toml file in it")
    );
    let binary = folder.join("binary.toml");
    fs::write(&binary, b"version = 1\nname = \"\xff\"\n").expect("a temporary file");
    assert_eq!(
        message(&binary),
        format!(
            "cannot read platform file {binary:?}: it is not UTF-8 text: byte 0xff at line 2, column 9"
        )
    );
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = Platform::load("/dev/zero")
        .expect_err("not a platform")
        .to_string();
    let expected =
        "\"/dev/zero\": it has more than 64 MiB: expected a platform file of at most 64 MiB";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn an_empty_platform() {
    assert_eq!(
        error("version = 1\n").to_string(),
        "p.toml:1:1: the platform has no hosts: expected [hosts.NAME] or [clusters.NAME] tables"
    );
    assert!(
        error("")
            .report(false)
            .contains("the platform has no hosts")
    );
}

#[test]
fn all_mistakes_come_at_once_with_their_lines() {
    let text = r#"version = 1

[hosts.alice]
speed = "16Gflip"

[links.wan]
bandwidth = 10
latency = "20ms"

[[routes]]
from = "alice"
to = "alce"
links = ["wan"]
"#;
    let report = error(text).report(false);
    let wanted = r#"error: unknown unit "Gflip" in "16Gflip"
  ╭▸ p.toml:4:9
  │
3 │ [hosts.alice]
4 │ speed = "16Gflip"
  │         ━━━━━━━━━ expected a speed, such as "16Gf" (flop/s)
  │
  ╰ help: did you mean "16Gflops"?
error: wrong type: the number 10
  ╭▸ p.toml:7:13
  │
6 │ [links.wan]
7 │ bandwidth = 10
  │             ━━ expected a bandwidth in quotes, such as "100Gbps" (bits/s) or "12.5GBps" (bytes/s)
8 │ latency = "20ms"
  ╰╴
error: unknown host or cluster "alce"
   ╭▸ p.toml:12:6
   │
11 │ from = "alice"
12 │ to = "alce"
   │      ━━━━━━ expected the name of a [hosts.NAME] or [clusters.NAME] table
13 │ links = ["wan"]
   │
   ╰ help: did you mean "alice"?
3 mistakes
"#;
    assert_eq!(report, wanted);
    assert!(!report.contains('\u{1b}'));
    assert!(error(text).report(true).contains('\u{1b}'));
}
