//! Promise: the schedules send the same messages as the algorithms of SMPI with the same names, and
//! the selectors lead to the same messages as the selectors of SMPI.
//!
//! `smpi-messages.csv` was recorded with SMPI 3.32: each message as source, destination and bytes,
//! in the order of posting; all blocks and contributions have 1 KiB.

use std::collections::BTreeMap;

use collectives::{Call, Collective, Facts, Selector, aliases, messages};

const RECORDED: &str = include_str!("smpi-messages.csv");

type Count = BTreeMap<(u32, u32, u64), i64>;

fn recorded(text: &str) -> Count {
    let mut count = Count::new();
    for message in text.split_whitespace() {
        let (ranks, bytes) = message.split_once(':').expect("bytes");
        let (source, destination) = ranks.split_once('>').expect("two ranks");
        let [source, destination] = [source, destination].map(|rank| rank.parse().expect("a rank"));
        *count
            .entry((source, destination, bytes.parse().expect("bytes")))
            .or_default() += 1;
    }
    // A message of a rank to itself is a copy.
    count.retain(|(source, destination, _), _| source != destination);
    count
}

/// Calls in which SMPI's result is wrong, and ours is not: SMPI leaves out the elements behind the
/// last of equal blocks.
const DIFFERENT: [(&str, &str, u32); 2] =
    [("allreduce", "smp_rsag", 3), ("allreduce", "smp_rsag", 7)];

/// Algorithms that are left out: they need access to remote memory, or depend on the times at which
/// ranks arrive.
const LEFT_OUT: [&str; 5] = [
    "alltoall pair_rma",
    "bcast arrival_pattern_aware",
    "bcast arrival_pattern_aware_wait",
    "bcast arrival_scatter",
    "reduce arrival_pattern_aware",
];

#[test]
fn messages_are_those_of_smpi() {
    let (mut compared, mut selected) = (0, 0);
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    for line in RECORDED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [collective, name, size, bytes, expected] = fields[..] else {
            panic!("five fields: {line}");
        };
        let (size, bytes): (u32, u64) =
            (size.parse().expect("ranks"), bytes.parse().expect("bytes"));
        let Ok(kind) = collective.parse::<Collective>() else {
            continue;
        };
        let alias = aliases::find(kind, &format!("smpi:{name}"));
        let selector = Selector::built_in(&format!("smpi-{name}"));
        if alias.is_none() && selector.is_none() {
            missing.push(format!("{collective} {name}"));
            continue;
        }
        let mut forced = Selector::built_in("smpi-default").expect("SMPI's").clone();
        let is_known = forced.force(kind, &format!("smpi:{name}"), 0, 0).is_ok();
        assert_eq!(is_known, alias.is_some());
        let mut found = Count::new();
        for rank in 0..size {
            let mut call = Call::new(kind, rank, size, bytes);
            call.element = 8.min(bytes.max(1));
            let algorithm = match (alias, selector) {
                (Some(_), _) => forced.select(&mut call, Facts::default()),
                (None, Some(selector)) => selector.select(&mut call, Facts::default()),
                (None, None) => unreachable!("one of them is known"),
            };
            let algorithm = algorithm.expect("an algorithm");
            let sent = messages(algorithm, &call);
            if let (Some(_), Some(selector)) = (alias, selector) {
                let algorithm = selector.select(&mut call, Facts::default());
                let by_selector = messages(algorithm.expect("an algorithm"), &call);
                assert_eq!(by_selector, sent, "{collective} {name}");
            }
            for message in sent {
                let key = (message.source, message.destination, message.bytes);
                *found.entry(key).or_default() += 1;
            }
        }
        if DIFFERENT.contains(&(collective, name, size)) {
            assert_ne!(
                found,
                recorded(expected),
                "{collective} {name} of {size} ranks"
            );
            continue;
        }
        compared += 1;
        selected += u32::from(selector.is_some());
        if found != recorded(expected) {
            wrong.push(format!("{collective} {name} of {size} ranks"));
        }
    }
    missing.dedup();
    assert_eq!(wrong, Vec::<String>::new(), "{compared} compared");
    assert_eq!(missing, LEFT_OUT);
    println!("{compared} compared, {selected} of selectors");
}
