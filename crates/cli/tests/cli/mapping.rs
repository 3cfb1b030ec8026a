//! `--map`: which rank runs on which host.

use crate::support::{Folder, case};

/// The host of each rank.
#[track_caller]
fn hosts(options: &str) -> Vec<String> {
    let ran = case("hosts", &format!("-q {options}"));
    ran.succeeds_silently();
    let mut lines: Vec<(usize, String)> = ran
        .stdout
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(rank, host)| (rank.parse().unwrap(), host.to_owned()))
        .collect();
    lines.sort();
    assert!(lines.iter().enumerate().all(|(at, (rank, _))| at == *rank));
    lines.into_iter().map(|(_, host)| host).collect()
}

fn nodes(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("node-{number}")).collect()
}

#[test]
fn one_rank_per_host_by_default() {
    assert_eq!(hosts(""), nodes(0..64));
    assert_eq!(hosts("-n 3"), nodes(0..3));
    assert_eq!(hosts("-n 3 --map cyclic"), nodes(0..3));
}

#[test]
fn block_keeps_neighbours_together_and_cyclic_deals_out() {
    assert_eq!(
        hosts("-n 128 --map block"),
        nodes((0..128).map(|rank| rank / 2))
    );
    assert_eq!(
        hosts("-n 128 --map cyclic"),
        nodes((0..128).map(|rank| rank % 64))
    );
    // 65 ranks: rank r on floor(r·64/65), so only the first host has two.
    assert_eq!(hosts("-n 65"), nodes((0..65).map(|rank| rank * 64 / 65)));
}

#[test]
fn random_depends_on_the_seed_only() {
    let first = hosts("--map random --seed 1");
    assert_eq!(first, hosts("--map random --seed 1"));
    assert_ne!(first, hosts("--map random --seed 2"));
    assert_ne!(first, nodes(0..64));
    let mut sorted = first.clone();
    let mut all = nodes(0..64);
    sorted.sort();
    all.sort();
    assert_eq!(sorted, all, "each host once");
}

#[test]
fn a_file_says_it_line_by_line() {
    let folder = Folder::new();
    let file = folder.write(
        "hosts",
        "# two places\nnode-7:2\n  node-3  # and one more\n\nnode-7\n",
    );
    let expected = ["node-7", "node-7", "node-3", "node-7"];
    assert_eq!(hosts(&format!("--map {file}")), expected);
    assert_eq!(hosts(&format!("--map {file} -n 3")), expected[..3]);
}

#[test]
fn a_list_stands_for_a_file_and_names_are_an_order() {
    let folder = Folder::new();
    let expected = ["node-7", "node-7", "node-3", "node-1"];
    assert_eq!(hosts("--map node-7:2,node-3,node-1"), expected);
    let file = folder.write("hosts", "node-7 slots=2\nnode-3,node-1\n");
    assert_eq!(hosts(&format!("--map {file}")), expected);
    // The order of smpirun 3.32 without a host file.
    let sorted = hosts("-n 66 --map by-name");
    assert!(sorted[..64].is_sorted() && sorted[64..] == ["node-0", "node-1"]);
    // A record has what makes the run again.
    for map in ["node-7,node-3", "by-name"] {
        let out = folder.path(map);
        case("hosts", &format!("-q -n 2 --map {map} -o {out}")).exits_with(0);
        simrun!("rerun {out}")
            .exits_with(0)
            .prints_text("as recorded");
    }
}
