//! Promise: an interrupted search continues from the checkpoint, and reaches the same counts,
//! findings and warnings.

use std::process::{Command, Stdio};

use crate::check::{check, counts};
use crate::support::{Folder, SIMRUN, command, program, simrun};

#[test]
fn an_interrupted_search_goes_on() {
    let folder = Folder::new();
    for (number, (case, options, parts)) in [
        ("users", "-n 5", 3),
        ("draws", "-n 2", 1),
        ("users", "-n 5 --threads 2", 3),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path(&format!("search-{number}"));
        let whole = check(case, &format!("{options} --format json")).json();
        let mut traces = 0;
        for _ in 0..parts {
            let ran = check(
                case,
                &format!("{options} --format json --max-executions 25 --checkpoint {file}"),
            );
            let part = ran.json();
            assert_eq!(part["bounds"], serde_json::json!(["executions"]), "{ran:?}");
            assert_eq!(part["checkpoint"], file);
            traces += 25;
            assert_eq!(part["executions"], traces);
        }
        let rest = check(
            case,
            &format!("{options} --format json --checkpoint {file}"),
        )
        .json();
        assert_eq!(counts(&rest), counts(&whole), "{case}");
        assert_eq!(rest["checkpoint"], serde_json::Value::Null);
        assert!(!folder.names().contains(&format!("search-{number}")));
    }
    assert_eq!(folder.names(), [""; 0]);
    // Programs of ranks too, whose queues get their numbers on the way.
    let (ranks, file) = (program("cases"), folder.path("ranks"));
    let relay =
        |options: &str| simrun!("check -n 3 --format json {options} {ranks} -- --case relay");
    let first = relay(&format!("--max-executions 1 --checkpoint {file}"));
    assert_eq!(first.json()["checkpoint"], file, "{first:?}");
    let rest = relay(&format!("--checkpoint {file}")).json();
    assert_eq!(counts(&rest), counts(&relay("").json()));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a signal to another process takes real time"
)]
fn interrupted_goes_on_another_time() {
    let folder = Folder::new();
    let (users, file) = (program("checked"), folder.path("search"));
    let options = format!("-n 12 --format json --checkpoint {file}");
    let child = command(SIMRUN)
        .arg("check")
        .args(options.split(' '))
        .args([&users, "--", "--case", "users"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let first: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(first["checkpoint"], file, "{first}");
    let traces = first["executions"].as_u64().unwrap();
    let rest = check("users", &format!("{options} --max-executions 10")).json();
    assert_eq!(rest["executions"], traces + 10);
}

/// Slices of length 0 do not change the search of a program of ranks.
#[test]
fn a_search_that_is_kept_all_the_time_comes_to_the_same() {
    let (folder, ranks) = (Folder::new(), program("cases"));
    let often = format!(
        "--checkpoint-every 0s --checkpoint {}",
        folder.path("search")
    );
    for options in ["-n 5", "-n 5 --threads 2", "-n 5 --max-executions 30"] {
        let whole = check("users", &format!("{options} --format json")).json();
        let _ = std::fs::remove_file(folder.path("search"));
        let sliced = check("users", &format!("{options} --format json {often}")).json();
        assert_eq!(counts(&sliced), counts(&whole), "{options}");
        assert_eq!(sliced["bounds"], whole["bounds"], "{options}");
    }
    let _ = std::fs::remove_file(folder.path("search"));
    let line =
        |options: &str| format!("check -n 4 --format json {options} {ranks} -- --case any-source");
    let whole = simrun(&line("")).json();
    let sliced = simrun(&line(&often)).json();
    assert_eq!(counts(&sliced), counts(&whole));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "what another process writes takes real time"
)]
fn a_search_that_is_killed_goes_on_from_the_last_time_it_was_kept() {
    let (folder, users) = (Folder::new(), program("checked"));
    let file = folder.path("search");
    let options = format!("-n 12 --format json --checkpoint-every 10ms --checkpoint {file}");
    let mut child = command(SIMRUN)
        .arg("check")
        .args(options.split(' '))
        .args([&users, "--", "--case", "users"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let kept = |file: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).expect("a whole file");
        value["search"]["executions"]
            .as_u64()
            .filter(|&traces| traces > 0)
    };
    let mut waits = 0;
    while kept(&file).is_none() {
        waits += 1;
        assert!(waits < 6000, "nothing is kept");
        assert_eq!(child.try_wait().unwrap(), None, "it is still searching");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let traces = kept(&file).expect("a search");
    let rest = check("users", &format!("{options} --max-executions 10")).json();
    assert_eq!(rest["executions"], traces + 10);
}
