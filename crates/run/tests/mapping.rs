//! Promise: a mapping by blocks, or by a file of hosts, puts the ranks on these hosts, or reports
//! the reason why it cannot.

use std::path::Path;

use platform::Platform;
use run::{Mapping, MappingError, RankMap};

const THREE: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-2]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "1us"
"#;

fn place(mapping: &Mapping, ranks: u32) -> Result<Vec<u32>, MappingError> {
    let platform = Platform::parse("three.toml", THREE).expect("a platform");
    let hosts = mapping.place_ranks(&platform, ranks, 0)?;
    Ok(hosts.into_iter().map(|host| host.0).collect())
}

#[test]
fn blocks_fill_one_host_after_the_other() {
    let blocks = Mapping::Blocks(2);
    assert_eq!(place(&blocks, 5), Ok(vec![0, 0, 1, 1, 2]));
    assert_eq!(blocks.default_ranks(3), 6);
    assert_eq!(place(&Mapping::Blocks(4), 3), Ok(vec![0, 0, 0]));
    // Without a number, as many ranks as needed are on each host.
    assert_eq!(place(&Mapping::Block, 5), Ok(vec![0, 0, 1, 1, 2]));
    assert_eq!(place(&Mapping::Block, 3), Ok(vec![0, 1, 2]));
}

#[test]
fn blocks_that_are_too_small_say_how_many_fit() {
    let error = place(&Mapping::Blocks(2), 7).expect_err("three hosts of two");
    assert_eq!(
        error.to_string(),
        "mapping block:2 has room for 6 ranks on 3 hosts: 7 required"
    );
}

#[test]
fn host_files_of_mpi_libraries_are_read() {
    let names = |text: &str| RankMap::parse(Path::new("hosts"), text)?.host_names(None);
    let expected = ["a", "a", "b", "b", "c"].map(str::to_owned).to_vec();
    for text in [
        "a:2\nb:2\nc\n",
        "# the cluster\na slots=2\nb  slots=2 max_slots=4 # two\nc max-slots=8\n",
        "a:2,b:2,c",
        "a,a, b slots=2\nc, # d,e",
    ] {
        assert_eq!(names(text), Ok(expected.clone()), "{text}");
    }
    for (text, message) in [
        ("a\nb slots=0\n", "hosts:2: invalid host \"b slots=0\""),
        ("a slots=many\n", "hosts:1: invalid host \"a slots=many\""),
        ("a slots=99999999\n", "hosts:1: 99999999 ranks on a host"),
    ] {
        let error = names(text).expect_err("no host file").to_string();
        assert!(error.starts_with(message), "{error}");
    }
    assert_eq!(names("a slot=2\n"), Ok(vec!["a slot=2".to_owned()]));
}
