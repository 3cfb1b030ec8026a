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

#[test]
fn costs_of_memory() {
    let steps = "[{ above = \"0B\", time = \"20ns\", per_byte = \"45ps\" }, { above = \"2MB\", \
                 time = \"20ns\", per_byte = \"65ps\" }]";
    let platform = read(&format!("[memory]\nreduce = {steps}"));
    let memory = platform.memory_settings().expect("costs");
    let sections = memory.reduce.sections();
    assert_eq!(
        (sections[1].above, sections[1].per_byte),
        (2_000_000, 65e-12)
    );
    assert!(memory.copy.is_empty() && !memory.has_fresh_buffers());
    let summary = platform.summary().to_string();
    let shown = "memory    reductions 20ns + 45ps/B above 0B, 20ns + 65ps/B above 2MB, 0 below";
    assert!(summary.contains(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.memory_settings(), Some(memory));
    assert_eq!(read("").memory_settings(), None);
    let fresh = read(
        "[memory]\nfirst_touch = [{ above = \"0B\", time = \"0s\", per_byte = \"80ps\" }]\n\
         registration = [{ above = \"0B\", time = \"16us\", per_byte = \"60ps\" }]",
    );
    let memory = fresh.memory_settings().expect("costs");
    let costs = (
        memory.first_touch.message_overhead(1000),
        memory.registration.message_overhead(1000),
    );
    assert_eq!(costs, (8e-8, 16e-6 + 6e-8));
    let again = Platform::parse("again.toml", &fresh.to_toml()).expect("the same");
    assert_eq!(again.memory_settings(), Some(memory));
    let builds = read("[memory]\ndatatype_build = \"1.2us\"");
    let memory = builds.memory_settings().expect("costs");
    assert_eq!(memory.datatype_build, Some(1.2e-6));
    let summary = builds.summary().to_string();
    let shown = "\nmemory    1.2us for a datatype of a collective";
    assert!(summary.contains(shown), "{summary}");
    let again = Platform::parse("again.toml", &builds.to_toml()).expect("the same");
    assert_eq!(again.memory_settings(), Some(memory));

    let both =
        format!("{HOSTS}[collectives]\nreduce_bandwidth = \"1GBps\"\n[memory]\nreduce = {steps}\n");
    let error = Platform::parse("l.toml", &both).expect_err("two costs");
    let text = error.to_string();
    assert!(
        text.contains("reduce, beside [collectives] reduce_bandwidth"),
        "{text}"
    );
}

#[test]
fn the_gap_of_messages() {
    let platform = read("[network]\nmodel = \"smpi\"\nmessage_gap = \"120ns\"");
    let shown = "\n          120ns from one message of a host to the next\n";
    let summary = platform.summary().to_string();
    assert!(summary.contains(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.network(), platform.network());
    assert!(!read("").to_toml().contains("message_gap"));
}
