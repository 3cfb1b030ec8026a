//! The protocol machines as graphs (E7), and the connection counts that a run reports.

use crate::support::{Folder, case, simrun};

#[test]
fn e7_machines_are_printed_as_graphs_and_as_pictures() {
    for (machine, edge, waits) in [
        (
            "send",
            "FlowCtrl -> AwaitFlowCtrl [label=\"Restricted [M-3]\"]",
            "AwaitFlowCtrl",
        ),
        (
            "receive",
            "MatchEager -> DecidePlace [label=\"NotFound\"]",
            "AwaitPacket",
        ),
        ("credits", "Quiet -> Owing [label=\"Few [M-3]\"]", "Owing"),
        ("connection", "OpenCSend -> OpenCRecv", "OpenCSend"),
        ("close", "LocalClose -> CloseAcked", "LocalClose"),
        (
            "endpoint",
            "Connecting -> Open [label=\"Accepted / ESTABLISHED, event CONNECT\"]",
            "Connecting",
        ),
    ] {
        let dot = simrun!("graph {machine} --format dot");
        dot.succeeds_silently().prints_text(edge);
        let boxed = format!("{waits} [shape=box, peripheries=2]");
        dot.prints_text(&boxed);
        assert_eq!(simrun!("graph {machine}").stdout, dot.stdout);
        // Every state and every edge of the graph is in the picture.
        let svg = simrun!("graph {machine} --format svg");
        svg.succeeds_silently()
            .prints_first("<svg")
            .prints_last("</svg>\n");
        let edges: Vec<&str> = dot
            .stdout
            .lines()
            .filter(|line| line.contains(" -> "))
            .collect();
        assert_eq!(
            svg.stdout.matches("<polyline").count(),
            edges.len(),
            "{machine}"
        );
        for edge in edges {
            let (_, label) = edge.split_once("label=\"").unwrap();
            let label = label.trim_end_matches("\"];").replace('&', "&amp;");
            let (from, _) = edge.trim_start().split_once(' ').unwrap();
            for text in [label.as_str(), from] {
                svg.prints_text(&format!("\n{text}\n"));
            }
        }
    }
}

#[test]
fn a_run_tells_who_waited_for_credits() {
    let ran = case("late", "-n 2");
    assert!(ran.status == 0 && !ran.stdout.contains("waited"), "{ran:?}");
    let few = "-n 2 --set protocol.credits=2 --set protocol.reserved_credits=0 --set protocol.unexpected_memory=0B";
    let ran = case("late", few);
    ran.exits_with(0);
    ran.prints_text("rank 0 waited 100 % for credits from rank 1");
}

#[test]
fn the_explicit_preset_takes_longer_where_messages_are_announced() {
    let seconds = |options: &str| {
        let ran = case(
            "late",
            &format!("-n 2 --protocol rendezvous --format json {options}"),
        );
        ran.exits_with(0);
        ran.json()["simulated_s"].as_f64().unwrap()
    };
    let (free, explicit) = (
        seconds(""),
        seconds("--set protocol.control_messages=\"simulated\""),
    );
    assert!(free > 1.0 && explicit > free, "{free} {explicit}");
}

#[test]
fn m12_a_ready_send_without_a_receive_is_a_failure_where_that_is_strict() {
    case("late-ready", "-n 2").exits_with(0);
    let ran = case("late-ready", "-n 2 --set protocol.ready_send=\"strict\"");
    ran.exits_with(1)
        .reports_text("ready send without a posted receive");
}

/// The test suite for devices passes over queue pairs, with the same sums as over flows.
#[test]
fn programs_run_over_simulated_queue_pairs() {
    let ran = simrun("--platform platforms/infiniband.toml -n 5 apps/conformance");
    ran.exits_with(0);
    let passed = |ran: &crate::support::Output| -> Vec<String> {
        let lines = ran.stdout.lines();
        lines
            .filter(|line| line.ends_with(": passed"))
            .map(str::to_owned)
            .collect()
    };
    let flows = simrun("--platform platforms/cluster.toml -n 5 apps/conformance");
    assert_eq!(passed(&ran), passed(&flows));
    assert!(passed(&ran).len() >= 8, "{ran:?}");
    let by_option =
        simrun("--platform platforms/cluster.toml --set network.device=verbs apps/ring");
    by_option.exits_with(0);
}

/// A ring of eight switches and hosts with buffers for one packet.
const RING: &str = r#"
version = 1
[network]
model = "flow"
device = "verbs"
[network.verbs]
buffer = "8320B"
[clusters.nodes]
hosts = "node-[0-7]"
speed = "36Gf"
topology = "torus"
dimensions = [8]
bandwidth = "10Gbps"
latency = "10ns"
sharing = "split-duplex"
"#;

#[test]
fn a_credit_loop_is_a_deadlock_that_names_its_buffers() {
    let folder = Folder::new();
    let platform = folder.write("ring.toml", RING);
    let all = "-n 8 apps/alltoall -- --size 64KiB";
    let ran = simrun!("--platform {platform} --format json {all}");
    ran.exits_with(1);
    let record = ran.json();
    assert_eq!(record["outcome"], "deadlock");
    let lines = record["network_deadlock"].as_array().expect("lines");
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.as_str()).collect();
    // Ranks send to rank + 1 first, so the cycle goes up.
    assert_eq!(lines.len(), 9, "{lines:?}");
    for (number, line) in lines[1..].iter().enumerate() {
        let next = (number + 1) % 8;
        let begin = format!("buffer of lane 0 of node-{number}/0:up: a packet to node-");
        let end = format!("waits for the buffer of lane 0 of node-{next}/0:up");
        assert!(line.starts_with(&begin) && line.ends_with(&end), "{line}");
    }
    for line in lines {
        ran.reports_text(line);
    }
    let lanes = "--set network.verbs.lanes=2";
    let ran = simrun!("--platform {platform} {lanes} {all}");
    ran.exits_with(0);
}

#[test]
fn routes_that_can_deadlock_are_a_warning() {
    let folder = Folder::new();
    let platform = folder.write("ring.toml", RING);
    let ran = simrun!("platform check {platform}");
    ran.exits_with(0);
    let cycle: Vec<String> = (0..8).map(|node| format!("node-{node}/0:up")).collect();
    ran.reports_text(&cycle.join(" -> "));
    let with_lanes = RING.replace("8320B\"", "8320B\"\nlanes = 2");
    let platform = folder.write("lanes.toml", &with_lanes);
    let ran = simrun!("platform check {platform}");
    assert!(ran.status == 0 && ran.stderr.is_empty(), "{ran:?}");
    let star = simrun("platform check platforms/infiniband.toml");
    assert!(star.status == 0 && star.stderr.is_empty(), "{star:?}");
}

/// Lost packets are sent again: the program prints the same, later; and only then does the seed
/// count.
#[test]
fn links_lose_packets() {
    let end = |options: &str| {
        let ran = simrun!(
            "--platform platforms/infiniband.toml --format json {options} apps/ring -- --size 64KiB --rounds 20"
        );
        ran.exits_with(0);
        let record = ran.json();
        (
            record["simulated_s"].as_f64().unwrap(),
            record["digest"].clone(),
        )
    };
    let lossless = end("");
    assert_eq!(lossless, end("--seed 7"));
    let faults = "--set network.verbs.faults.loss=0.01";
    let lossy = end(faults);
    assert_eq!(lossy, end(faults));
    assert!(lossy.0 > lossless.0, "{lossy:?} {lossless:?}");
    assert_ne!(lossy, end(&format!("{faults} --seed 7")));
}
