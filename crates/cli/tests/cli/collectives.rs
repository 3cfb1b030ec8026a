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
fn a_restriction_is_known_when_the_call_is_made() {
    let set = "--set collectives.barrier=two_proc";
    let ran = simrun!("-p platforms/cluster.toml -n 3 {set} apps/allreduce");
    ran.exits_with(1).reports_text("two_proc needs two ranks; ");
}
