//! Promise: `simrun collectives` lists the algorithms, explains the choice for a call, and writes a
//! selector that runs use and that their records contain.

use crate::support::{Folder, simrun};

#[test]
fn algorithms_and_selectors_are_listed() {
    let ran = simrun("collectives list");
    assert_eq!(ran.status, 0, "{ran:?}");
    for text in [
        "reduce_scatter_block\n",
        "  dissemination ",
        "openmpi-5.0",
        "needs a commutative operation",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
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
    assert_eq!(ran.status, 0, "{ran:?}");
    for text in [
        "openmpi-5.0, which has rows of openmpi-4.1, row ",
        "rabenseifner",
        "768 in at most 14 rounds",
        "without contention",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let ran = simrun("collectives explain allreduce -n 64 --size 1MiB --selector nccl");
    assert_eq!(ran.status, 0, "{ran:?}");
    for text in [
        "nccl, the shortest of tree LL128 128.7 us, tree Simple 190.6 us, ",
        "double_tree: ",
        "1008 in at most ",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let ran = simrun("collectives explain barrier -n 7 --json");
    assert_eq!(ran.json()["messages"], 21, "{ran:?}");
    assert_eq!(ran.json()["algorithm"], "dissemination", "{ran:?}");
}

#[test]
fn a_tuned_selector_is_used_and_recorded() {
    let folder = Folder::new();
    let (selector, plot) = (folder.path("tuned.toml"), folder.path("tuned.svg"));
    let ran = simrun(&format!(
        "collectives tune allreduce --platform platforms/cluster.toml -n 8 --sizes 8,1MiB --algorithms ring,recursive_doubling --out {selector} --plot {plot}"
    ));
    assert_eq!(ran.status, 0, "{ran:?}");
    // 3 rounds of 1.25 us and 8 B at 12.5 GB/s; twice 7 blocks of 128 KiB in a ring.
    for text in ["3.752 us", "164.301 us"] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let text = std::fs::read_to_string(&selector).unwrap();
    assert!(
        text.contains("bytes = [0, 1048575]\nalgorithm = \"recursive_doubling\"\n"),
        "{text}"
    );
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("allreduce of 8 ranks"), "{picture}");
    let record = folder.path("record");
    let ran = simrun(&format!(
        "--platform platforms/cluster.toml --set collectives.selector={selector} -n 8 --out {record} apps/allreduce -- --size 1MiB"
    ));
    assert!(
        ran.stdout.contains("allreduce of 1MiB: 164.301 us\n"),
        "{ran:?}"
    );
    std::fs::remove_file(&selector).unwrap();
    let ran = simrun(&format!("rerun {record}"));
    assert!(
        ran.status == 0 && ran.stdout.contains("as recorded"),
        "{ran:?}"
    );
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new();
    let bad = folder.write(
        "bad.toml",
        "version = 1\nname = \"x\"\n[[allreduce]]\nalgorithm = \"foo\"\n",
    );
    let run = "--platform platforms/cluster.toml -n 3 --set collectives.";
    for (arguments, expected) in [
        (
            "collectives explain allreduc -n 4".to_owned(),
            "expected barrier, bcast",
        ),
        (
            "collectives explain bcast -n 4 --root 4".to_owned(),
            "--root 4: expected 0 to 3",
        ),
        (
            "collectives explain bcast -n 4 --selector mpi".to_owned(),
            "unknown selector \"mpi\"",
        ),
        (
            "collectives explain allreduce -n 4 --size 9B".to_owned(),
            "whole number of elements",
        ),
        (
            format!("collectives explain bcast -n 4 --selector {bad}"),
            "unknown algorithm 'foo'",
        ),
        (
            "collectives tune alltoall -p platforms/cluster.toml -n 4 --algorithms x".to_owned(),
            "unknown algorithm \"x\"",
        ),
        (
            "collectives tune alltoall -p /nowhere.toml -n 4".to_owned(),
            "/nowhere.toml",
        ),
        (
            format!("{run}allreduce=rinng apps/allreduce"),
            "did you mean \"ring\"?",
        ),
        (
            format!("{run}selector=openmpi-5 apps/allreduce"),
            "did you mean \"openmpi-5.0\"?",
        ),
        (
            format!("{run}selector={bad} apps/allreduce"),
            "unknown algorithm 'foo' of allreduce",
        ),
        (
            format!("{run}selector=/nowhere.toml apps/allreduce"),
            "No such file or directory",
        ),
    ] {
        let ran = simrun(&arguments);
        assert_eq!(
            (ran.status, ran.stdout.as_str()),
            (2, ""),
            "{arguments}: {ran:?}"
        );
        assert!(ran.stderr.contains(expected), "{arguments}: {ran:?}");
    }
    // A restriction is known when the call is made.
    let ran = simrun(&format!("{run}barrier=two_proc apps/allreduce"));
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("two_proc needs two ranks; "), "{ran:?}");
}
