//! Promise: the parts of a library are read with units, shown and written back.

use platform::Platform;

const HOSTS: &str = "version = 1\nhosts.a.speed = \"1Gf\"\n";

fn read(rest: &str) -> Platform {
    Platform::parse("l.toml", &format!("{HOSTS}{rest}\n")).expect("a platform")
}

#[test]
fn without_the_keys_there_are_no_costs() {
    let platform = read("");
    assert_eq!(platform.library_settings(), None);
    assert!(!platform.to_toml().contains("rendezvous"));
    assert!(!platform.to_toml().contains("nonblocking"));
}

#[test]
fn the_keys_of_a_rendezvous() {
    let platform = read(
        "[protocol]\neager_threshold_nonblocking = \"8KiB\"\nrendezvous = \"get\"\n\
         rendezvous_cost = \"300ns\"",
    );
    let library = platform.library_settings().expect("parts of a library");
    let numbers = library.rendezvous;
    assert_eq!(numbers.eager_threshold_nonblocking, Some(8192));
    assert_eq!(numbers.cost, Some(3e-7));
    let shown = ", nonblocking sends eager below 8KiB, rendezvous by reads, 300ns to match an \
                 announcement";
    let summary = platform.summary().to_string();
    assert!(summary.contains(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.library_settings(), Some(library));
}
