//! Promise: `--analyse`, `--trace` and `--log-events` work on real runs as on simulated ones, also
//! if they do not end.

use std::process::Stdio;

use crate::analysis::{json, number};
use crate::support::{Folder, Output, SIMRUN, command, program, run};

/// One rank computes before a send.
const LATE_SENDER: &str = "apps/late-sender";

#[test]
fn a_late_sender_is_named_first_in_a_real_run() {
    let folder = Folder::new();
    let (out, log) = (folder.path("analysis"), folder.path("run.log"));
    // 50 ms of computation, which is much more than anything else.
    let ran = simrun!("real -n 2 --analyse={out} --log-events {log} {LATE_SENDER} -- --work 5e7");
    ran.exits_with(0);
    for text in [
        "% of the time of all ranks is late sender in recv, apps/late-sender/src/main.rs:24",
        "for rank 0 in compute, apps/late-sender/src/main.rs:28",
        "late, of it",
    ] {
        ran.prints_text(text);
    }
    let analysis = json(&folder, "analysis");
    assert_eq!(analysis["kind"], "real", "{analysis}");
    assert_eq!(analysis["notes"], serde_json::json!([]), "{analysis}");
    let wait = &analysis["waits"][0];
    assert_eq!(wait["class"], "late-sender", "{analysis}");
    assert_eq!(wait["longest_causer"], 0, "{analysis}");
    let waited = number(&wait["seconds"]);
    assert!((0.02..0.2).contains(&waited), "{analysis}");
    // Places are lines of the program, also those of what is called around it.
    let bytes = std::fs::read(&log).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("apps/late-sender/src/main.rs:"), "{text}");
    assert!(!text.contains("crates/mpi/src/"), "{text}");
    // The log can be read later.
    let again = simrun!("analyse {log}");
    again.exits_with(0);
    ran.prints_last(&again.stdout);
}

#[test]
fn a_timeline_of_a_real_run_has_arrows_that_point_forwards() {
    let folder = Folder::new();
    let trace = folder.path("run.csv");
    let ran = simrun!("real -n 3 --wait spin --trace {trace} {LATE_SENDER}");
    ran.exits_with(0);
    let text = std::fs::read_to_string(&trace).unwrap();
    let header = text.lines().next().unwrap().split(',');
    let at = |name: &str| header.clone().position(|found| found == name).unwrap();
    let (kind, begin, end) = (at("kind"), at("begin_s"), at("end_s"));
    let messages = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let times = [begin, end].map(|at| fields[at].parse::<f64>());
        let [Ok(begin), Ok(end)] = times else {
            return None;
        };
        (fields[kind] == "message").then_some((begin, end))
    });
    let messages: Vec<(f64, f64)> = messages.collect();
    assert_eq!(messages.len(), 2, "{text}");
    assert!(messages.iter().all(|(begin, end)| begin <= end), "{text}");
    // Rank 0 has a connection with each of the others, which ends with the run.
    for name in ["connection", "connection closed"] {
        for (rank, peer) in [(0, 1), (0, 2), (1, 0), (2, 0)] {
            assert_eq!(instants(&text, name, (rank, peer)), 1, "{name}: {text}");
        }
    }
    assert!(!text.contains("connection failed"), "{text}");
}

/// Returns the number of instants of a rank about a peer in a timeline that is a table.
fn instants(table: &str, name: &str, (rank, peer): (u32, u32)) -> usize {
    let rows = table.lines().filter(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        fields[..3] == ["control", name, &rank.to_string()] && fields[6] == peer.to_string()
    });
    rows.count()
}

#[test]
fn a_connection_that_fails_is_an_instant() {
    let folder = Folder::new();
    let trace = folder.path("run.csv");
    let cases = program("cases");
    let ran = simrun!("real -n 3 --on-loss notify --trace {trace} {cases} -- --case lost");
    ran.exits_with(0);
    let text = std::fs::read_to_string(&trace).unwrap();
    assert_eq!(instants(&text, "connection failed", (0, 1)), 1, "{text}");
}

#[test]
fn a_real_run_that_does_not_end_is_analysed_as_far_as_it_went() {
    let folder = Folder::new();
    let out = folder.path("analysis");
    // Both ranks compute for 100 s, and are killed.
    let words = format!(
        "real -n 2 --until 500ms --compute sleep --analyse={out} {LATE_SENDER} -- --work 1e11"
    );
    std::fs::create_dir(folder.path("tmp")).unwrap();
    let mut command = command(SIMRUN);
    let command = command
        .args(words.split_whitespace())
        .env("TMPDIR", folder.path("tmp"));
    let ran = run(command);
    ran.exits_with(3)
        .prints_text("the run did not finish: it was stopped");
    let analysis = json(&folder, "analysis");
    let notes = analysis["notes"].to_string();
    assert!(
        notes.contains("the events of rank 1 break off at ")
            && notes.contains(": its process was ended"),
        "{notes}"
    );
    assert_eq!(analysis["kind"], "real");
    assert!(number(&analysis["end_s"]) >= 0.5, "{analysis}");
    ran.prints_text("blocked at the end");
    // Nothing is left.
    let left = std::fs::read_dir(folder.path("tmp")).unwrap().flatten();
    let left: Vec<_> = left.map(|file| file.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_rank_that_dies_leaves_its_events_and_a_note() {
    let folder = Folder::new();
    let out = folder.path("analysis");
    let cases = program("cases");
    let ran = simrun!("real -n 2 --analyse={out} {cases} -- --case panic");
    ran.exits_with(1);
    let notes = json(&folder, "analysis")["notes"].to_string();
    assert!(notes.contains("the run did not finish: rank "), "{notes}");
}

#[test]
fn ranks_on_hosts_and_in_an_allocation_are_observed() {
    let folder = Folder::new();
    let work = ["--", "--work", "2e7"];
    // In place of ssh: each host is this machine.
    let ssh = folder.write("ssh", "shift; exec sh -c \"$*\"\n");
    let hosts = folder.write("hosts", "here:2\n");
    let mut over = command(SIMRUN);
    over.args([
        "real",
        "--hosts",
        &hosts,
        "--listen",
        "127.0.0.1",
        "--analyse",
    ]);
    over.args(["--remote-shell", &format!("sh {ssh}"), LATE_SENDER])
        .args(work);
    let ran = run(&mut over);
    ran.exits_with(0).prints_text("is late sender in recv");

    let meeting = folder.path("meeting/file");
    let started = |rank: &str| {
        let mut rank_command = command(SIMRUN);
        rank_command.env("SIMRUN_BOOTSTRAP_FILE", &meeting);
        rank_command.env("PMI_RANK", rank).env("PMI_SIZE", "2");
        rank_command
            .args(["real", "--analyse", LATE_SENDER])
            .args(work);
        rank_command
    };
    let mut other = started("1").stdout(Stdio::null()).spawn().unwrap();
    let ran: Output = run(&mut started("0"));
    ran.exits_with(0);
    assert!(other.wait().unwrap().success());
    ran.prints_text("is late sender in recv");
    let left = std::fs::read_dir(folder.path("meeting")).unwrap();
    assert_eq!(left.count(), 0, "no file is left");
}
