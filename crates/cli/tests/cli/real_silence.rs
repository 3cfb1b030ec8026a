//! A silent network ends a real run: in a separate network namespace, where the test switches off
//! the loopback under the ranks.

use std::fs;
use std::time::Duration;

use crate::support::{Folder, Output, SIMRUN, command, program, run};

/// True if the test can create a network namespace, which `SIMRUN_REQUIRE_NETNS` requires if set.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn has_namespaces() -> bool {
    let tried = command("unshare")
        .args(["--map-root-user", "--net", "ip", "link", "set", "lo", "up"])
        .output();
    let works = tried.as_ref().is_ok_and(|output| output.status.success());
    let required = std::env::var_os("SIMRUN_REQUIRE_NETNS").is_some();
    assert!(
        works || !required,
        "unshare --map-root-user --net ip link set lo up: {tried:?}"
    );
    if !works {
        println!("skipped: no network namespaces here (unshare of util-linux, ip of iproute2)");
    }
    works
}

/// Runs a shell script in a separate network namespace, with a loopback.
fn in_namespace(script: &str) -> Output {
    let script = format!("set -e\nip link set lo up\n{script}");
    run(command("unshare").args(["--map-root-user", "--net", "sh", "-c", &script]))
}

/// Runs `forever` with these options and switches the network off when the run has started. Returns
/// the output, and the time from there to the end of the run.
fn silenced(options: &str) -> (Output, Duration) {
    let folder = Folder::new();
    let (out, off) = (folder.path("out"), folder.path("off"));
    let cases = program("cases");
    let ran = in_namespace(&format!(
        "{SIMRUN} real {options} {cases} -- --case forever >{out} &\n\
         until grep -qs running {out}; do sleep 0.05; done\n\
         ip link set lo down\n\
         : >{off}\n\
         wait $!"
    ));
    let since = fs::metadata(off).unwrap().modified().unwrap();
    (ran, since.elapsed().unwrap())
}

/// The default of ten seconds is tested where `SIMRUN_REQUIRE_NETNS` is set, as in CI; elsewhere
/// two seconds, which take the same way.
#[test]
fn a_silent_network_ends_the_run_and_the_ranks_are_named() {
    if !has_namespaces() {
        return;
    }
    let whole = std::env::var_os("SIMRUN_REQUIRE_NETNS").is_some();
    let (options, seconds) = if whole {
        ("-n 3 --listen 127.0.0.1", 10)
    } else {
        ("-n 3 --network-timeout 2s", 2)
    };
    let (ran, span) = silenced(options);
    ran.exits_with(1);
    let no_answer = format!(": no answer from it over the network for {seconds} s, nor from rank ");
    ran.reports_text("error: rank 0 on host ")
        .reports_text(&no_answer);
    for rank in [1, 2] {
        let named = format!(", nor from rank {rank} on host ");
        ran.reports_text(&named);
    }
    assert!(
        span < Duration::from_secs(15),
        "the run ended {span:?} after the network: {ran:?}"
    );
}

#[test]
fn a_rank_that_computes_longer_than_the_network_timeout_is_not_silent() {
    // Its peer sends more than sockets hold, and waits for a receiver that reads nothing meanwhile.
    let cases = program("cases");
    let options = "-n 2 --network-timeout 1s --connect static --protocol eager --format json";
    let ran = simrun!("real {options} {cases} -- --case deaf");
    ran.succeeds_silently();
    let seconds = ran.json()["measured_s"].as_f64().unwrap();
    // Ranks count each other as lost after 3.5 s.
    assert!(seconds > 4.9, "{ran:?}");
}

#[test]
fn survivors_of_a_silent_rank_0_say_why_they_end() {
    if !has_namespaces() {
        return;
    }
    let folder = Folder::new();
    let (out, meeting) = (folder.path("out"), folder.path("meeting"));
    let cases = program("cases");
    let start = |rank: u32, to: &str| {
        format!(
            "PMI_SIZE=2 PMI_RANK={rank} SIMRUN_BOOTSTRAP_FILE={meeting} {cases} real \
             --network-timeout 2s -- --case forever {to} &\n"
        )
    };
    let ran = in_namespace(&format!(
        "{}zero=$!\n{}one=$!\n\
         until grep -qs running {out}; do sleep 0.05; done\n\
         ip link set lo down\n\
         wait $one || echo ended with $?\n\
         wait $zero || true",
        start(0, &format!(">{out} 2>/dev/null")),
        start(1, "")
    ));
    ran.prints_text("ended with 1\n");
    ran.reports_first("error: rank 1: lost rank 0 at 127.0.0.1:");
    ran.reports_text(": no answer over the network: ");
    ran.reports_last("; this rank ends\n");
}
