//! Promise: the schedules send the messages that Open MPI 4.1.4 sends with the same forced
//! algorithms.
//!
//! `openmpi-messages.csv` was recorded with the library of Debian 12 on one host by
//! `pml_monitoring`, as the difference between two calls and one: for each pair of ranks the
//! number of messages and their bytes. The rules file forced an algorithm with fan-out 0 and
//! segment 0, the root is rank 0, elements have 4 bytes, contributions and blocks 1 KiB.
//!
//! *Not compared*: the order of the messages, and calls of [`DIFFERENT`].

use std::collections::BTreeMap;

use collectives::{Call, Collective, Facts, Selector, messages};

const RECORDED: &str = include_str!("openmpi-messages.csv");

/// Calls with other messages, by the number of ranks, and the reason.
const DIFFERENT: [(&str, &str, u32, &str); 5] = [
    ("bcast", "scatter_allgather", 3, BLOCKS),
    ("bcast", "scatter_allgather", 6, BLOCKS),
    ("bcast", "scatter_allgather_ring", 3, BLOCKS),
    ("bcast", "scatter_allgather_ring", 6, BLOCKS),
    ("reduce_scatter", "non_overlapping", 6, PARAMETERS),
];

const BLOCKS: &str = "blocks have bytes here, as in MPICH, and elements in Open MPI";

const PARAMETERS: &str = "a part has four chains here, and one in Open MPI";

/// Numbers of messages and bytes by sender and receiver.
type Traffic = BTreeMap<(u32, u32), (u64, u64)>;

fn recorded(text: &str) -> Traffic {
    let pair = |message: &str| {
        let numbers = message.split(['>', ':']).map(|number| number.parse());
        let numbers: Vec<u64> = numbers.map(|number| number.expect("a number")).collect();
        let [source, destination, count, bytes] = numbers[..] else {
            panic!("four numbers: {message}");
        };
        let rank = |number| u32::try_from(number).expect("a rank");
        ((rank(source), rank(destination)), (count, bytes))
    };
    text.split_whitespace().map(pair).collect()
}

/// Returns the messages of all ranks with a forced algorithm without segments.
fn simulated(kind: Collective, name: &str, size: u32, bytes: u64) -> Traffic {
    let mut selector = Selector::built_in("openmpi-4.1").expect("known").clone();
    let forced = selector.force(kind, &format!("openmpi:{name}"), u64::MAX, 0);
    forced.expect("a name of Open MPI");
    let mut found = Traffic::new();
    for rank in 0..size {
        let mut call = Call {
            element: 4,
            ..Call::new(kind, rank, size, bytes)
        };
        let algorithm = selector.select(&mut call, Facts::default());
        for message in messages(algorithm.expect("an algorithm"), &call) {
            let pair = (message.source, message.destination);
            let (count, sum) = found.entry(pair).or_default();
            *count += 1;
            *sum += message.bytes;
        }
    }
    found
}

#[test]
fn messages_are_those_of_open_mpi() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in RECORDED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [collective, name, size, bytes, expected] = fields[..] else {
            panic!("five fields: {line}");
        };
        let kind: Collective = collective.parse().expect("an operation");
        let (size, bytes) = (size.parse().expect("ranks"), bytes.parse().expect("bytes"));
        let (found, expected) = (simulated(kind, name, size, bytes), recorded(expected));
        compared += 1;
        let is_known = DIFFERENT.iter().any(|different| {
            different.0 == collective && (different.1, different.2) == (name, size)
        });
        if (found == expected) == is_known {
            wrong.push(format!(
                "{collective} {name} {size}:\n {found:?}\n {expected:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared >= 179, "{compared} compared");
}
