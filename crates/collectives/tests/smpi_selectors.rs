//! Promise: the selectors of SMPI lead to as many messages and bytes as SMPI sends.
//!
//! `selectors/smpi-counts.csv` was recorded with SMPI 3.32 and one rank on each node: messages and
//! bytes of all ranks, and the largest numbers of a rank. The first call of a program is left out,
//! because SMPI builds communicators of nodes in this call.

use std::collections::BTreeMap;

use collectives::{Call, Collective, Facts, Selector, messages};

const RECORDED: &str = include_str!("selectors/smpi-counts.csv");

/// Messages, bytes, and the largest numbers of a rank: messages sent, bytes sent, bytes received.
fn counts(selector: &Selector, kind: Collective, ranks: u32, bytes: u64) -> [u64; 5] {
    let (mut sent, mut received) = (Vec::new(), BTreeMap::<u32, u64>::new());
    for rank in 0..ranks {
        let mut call = Call::new(kind, rank, ranks, bytes);
        if kind.has_operation() {
            call.element = 8.min(bytes.max(1));
        }
        let algorithm = selector
            .select(&mut call, Facts::default())
            .expect("an algorithm");
        let mut own = messages(algorithm, &call);
        own.retain(|message| message.destination != rank);
        for message in &own {
            *received.entry(message.destination).or_default() += message.bytes;
        }
        let total: u64 = own.iter().map(|message| message.bytes).sum();
        sent.push((own.len() as u64, total));
    }
    [
        sent.iter().map(|(messages, _)| messages).sum(),
        sent.iter().map(|(_, bytes)| bytes).sum(),
        sent.iter()
            .map(|(messages, _)| *messages)
            .max()
            .unwrap_or(0),
        sent.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0),
        received.values().copied().max().unwrap_or(0),
    ]
}

#[test]
fn counts_are_those_of_smpi() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in RECORDED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [collective, selector, ranks, bytes, ref expected @ ..] = fields[..] else {
            panic!("nine fields: {line}");
        };
        let kind: Collective = collective.parse().expect("an operation");
        let expected: Vec<u64> = expected
            .iter()
            .map(|count| count.parse().expect("a count"))
            .collect();
        let name = format!("smpi-{selector}");
        let found = Selector::built_in(&name).expect("a selector");
        let ranks: u32 = ranks.parse().expect("ranks");
        let bytes: u64 = bytes.parse().expect("bytes");
        let found = counts(found, kind, ranks, bytes);
        compared += 1;
        // The batches of SMPI's alltoall have a message of each rank to itself.
        let to_all = [u64::from(ranks), u64::from(ranks) * bytes, 1, bytes, bytes];
        let with_own = std::array::from_fn::<u64, 5, _>(|number| found[number] + to_all[number]);
        let is_batched = kind == Collective::Alltoall && with_own[..] == expected[..];
        if found[..] != expected[..] && !is_batched {
            wrong.push(format!("{line}: found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "of {compared}:\n{}", wrong.join("\n"));
    println!("{compared} compared");
}
