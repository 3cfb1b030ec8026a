//! Promise: a mapping by blocks puts the ranks where it says, or says why it cannot.

use platform::Platform;
use run::{Mapping, MappingError};

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
    let hosts = mapping.place(&platform, ranks, 0)?;
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
