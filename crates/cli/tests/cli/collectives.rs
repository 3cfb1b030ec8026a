//! Promise: `simrun collectives` lists the algorithms, explains the choice for a call, and writes a
//! selector that runs use and that their records contain.

use crate::support::{Folder, simrun};

#[test]
fn algorithms_and_selectors_are_listed() {
    let ran = simrun("collectives list");
    ran.exits_with(0);
    for text in [
        "reduce_scatter_block\n",
        "  dissemination ",
        "openmpi-5.0",
        "needs a commutative operation",
    ] {
        ran.prints_text(text);
    }
    let ran = simrun("collectives list allreduce --aliases");
    assert!(
        ran.stdout.contains("smpi:lr\n") && !ran.stdout.contains("alltoall\n"),
        "{ran:?}"
    );
}

#[test]
fn the_choice_for_a_call_is_explained() {
    let ran = simrun("collectives explain allreduce -n 64 --size 1MiB --selector openmpi-5.0");
    ran.exits_with(0);
    for text in [
        "openmpi-5.0, which has rows of openmpi-4.1, row ",
        "rabenseifner",
        "768 in at most 14 rounds",
        "without contention",
    ] {
        ran.prints_text(text);
    }
    let ran = simrun("collectives explain allreduce -n 64 --size 1MiB --selector nccl");
    ran.exits_with(0);
    for text in [
        "nccl, the shortest of tree LL128 128.7 us, tree Simple 190.6 us, ",
        "double_tree: ",
        "1008 in at most ",
    ] {
        ran.prints_text(text);
    }
    let ran = simrun("collectives explain barrier -n 7 --json");
    assert_eq!(ran.json()["messages"], 21, "{ran:?}");
    assert_eq!(ran.json()["algorithm"], "dissemination", "{ran:?}");
}

#[test]
fn a_tuned_selector_is_used_and_recorded() {
    let folder = Folder::new();
    let (selector, plot) = (folder.path("tuned.toml"), folder.path("tuned.svg"));
    let ran = simrun!(
        "collectives tune allreduce --platform platforms/cluster.toml -n 8 --sizes 8,1MiB --algorithms ring,recursive_doubling --out {selector} --plot {plot}"
    );
    ran.exits_with(0);
    // 3 rounds of 1.25 us and 8 B at 12.5 GB/s; twice 7 blocks of 128 KiB in a ring.
    for text in ["3.752 us", "164.301 us"] {
        ran.prints_text(text);
    }
    let text = std::fs::read_to_string(&selector).unwrap();
    assert!(
        text.contains("bytes = [0, 1048575]\nalgorithm = \"recursive_doubling\"\n"),
        "{text}"
    );
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("allreduce of 8 ranks"), "{picture}");
    let record = folder.path("record");
    let ran = simrun!(
        "--platform platforms/cluster.toml --set collectives.selector={selector} -n 8 --out {record} apps/allreduce -- --size 1MiB"
    );
    ran.prints_text("allreduce of 1MiB: 164.301 us\n");
    std::fs::remove_file(&selector).unwrap();
    let ran = simrun!("rerun {record}");
    ran.exits_with(0).prints_text("as recorded");
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new();
    let bad = folder.write(
        "bad.toml",
        "version = 1\nname = \"x\"\n[[allreduce]]\nalgorithm = \"foo\"\n",
    );
    let run = "--platform platforms/cluster.toml -n 3 --set collectives.";
    let ran = simrun!("{run}selector={bad} apps/allreduce");
    ran.refuses_with("unknown algorithm 'foo' of allreduce");
    // A restriction is known when the call is made.
    let ran = simrun!("{run}barrier=two_proc apps/allreduce");
    ran.exits_with(1).reports_text("two_proc needs two ranks; ");
}
