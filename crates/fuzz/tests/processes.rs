//! Promise: the end of a worker's process is named, in whatever state the run is.

#![cfg(unix)]

use std::cell::Cell;
use std::process::Command as Process;

use fuzz::{Interaction, run_processes, violation};

/// Both workers accept, then worker 0 alone.
const STEPS: &str = r#"
version = 2
[[steps]]
origin = 1
workers = [0, 1]
command = "accept"
connection = 1
[[steps]]
origin = 1
workers = [0]
command = "accept"
connection = 2
"#;

/// Returns the violated property of a run in which worker 1 is a script, and the violation. The
/// script of worker 0 does all commands; `on_command` and `on_quit` are the commands of worker 1.
fn violated(on_command: &str, on_quit: &str) -> Option<(&'static str, String)> {
    let interaction = Interaction::from_toml(STEPS).expect("an interaction");
    let started = Cell::new(0);
    let outcome = run_processes(&interaction, || {
        let idle = r#"echo '"Idle"'"#;
        let [command, quit] = match started.replace(started.get() + 1) {
            0 => [idle, idle],
            _ => [on_command, on_quit],
        };
        let script = format!(
            r#"echo '{{"Address":"x"}}'; read addresses
            while read line; do
              case $line in *Quit*) {quit}; exit;; *) {command};; esac
            done"#
        );
        let mut process = Process::new("sh");
        process.args(["-c", &script]);
        process
    });
    violation(&interaction, &outcome.expect("a run"))
}

#[test]
fn a_worker_that_ends_is_named_with_its_signal_or_status() {
    let idle = r#"echo '"Idle"'"#;
    let ended = |how: &str| Some(("completes", format!("worker 1 has ended ({how})")));
    assert_eq!(violated(idle, idle), None);
    assert_eq!(violated("kill -9 $$", idle), ended("signal 9"));
    assert_eq!(violated("exit 3", idle), ended("status 3"));
    assert_eq!(violated(idle, "kill -9 $$"), ended("signal 9"));
    assert_eq!(violated(idle, "kill -11 $$"), ended("signal 11"));
    // Without a command: when worker 0 has one, or at the end.
    let between = r#"echo '"Idle"'; kill -9 $$"#;
    assert_eq!(violated(between, idle), ended("signal 9"));
    let (property, what) = violated("echo nonsense", idle).expect("a failure");
    assert_eq!(property, "calls-succeed");
    assert!(
        what.contains("worker 1: a line of the worker is no answer"),
        "{what}"
    );
}
