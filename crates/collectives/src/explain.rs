//! The choice of an algorithm for a call, with the reason and the messages of the algorithm, for
//! `simrun collectives explain`.

use std::fmt;

use crate::{
    Algorithm, Call, Collective, Estimate, Facts, Grounds, Group, Selector, Unsuited, messages,
};

/// The largest number of ranks for which messages are counted.
const RANKS_MAX: u32 = 4096;

/// The reason why an algorithm was selected.
#[derive(Clone, PartialEq, Debug)]
pub enum Reason {
    /// The algorithm is set for all calls of the kind of operation.
    Forced,
    /// A row matched.
    Row {
        /// The selector that has the row: the asked selector or the base of this selector.
        selector: String,
        /// The number among the rows of the kind, from 1 on.
        number: usize,
        /// The row as in a file.
        text: String,
    },
    /// The algorithm has the shortest estimated time.
    Estimate {
        /// The selector that estimates.
        selector: String,
        /// The estimates of all algorithms, from the shortest to the longest.
        all: Vec<Estimate>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forced => f.write_str("forced"),
            Self::Row {
                selector,
                number,
                text,
            } => write!(f, "{selector}, row {number}: {text}"),
            Self::Estimate { selector, all } => {
                write!(f, "{selector}, the shortest of")?;
                let mut separator = "";
                for estimate in all {
                    write!(f, "{separator} {estimate}")?;
                    separator = ",";
                }
                Ok(())
            }
        }
    }
}

/// The messages of a call. A message of a rank to itself is a copy, which is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MessageCounts {
    /// Number of messages of all ranks.
    pub messages: u64,
    /// Payload of all messages in bytes.
    pub bytes: u64,
    /// The most bytes that a rank sends.
    pub sent_max: u64,
    /// The most bytes that a rank receives.
    pub received_max: u64,
    /// The largest number of rounds of a rank.
    pub rounds: u32,
}

/// The choice of an algorithm for a call.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The name that the row has, such as `openmpi:ring`.
    pub name: String,
    /// The algorithm that executes the call: the algorithm of the name, or a fallback.
    pub algorithm: &'static Algorithm,
    /// The reason.
    pub reason: Reason,
    /// Length of a segment in bytes; 0 for the default of the algorithm.
    pub segment: u64,
    /// Radix or number of children of a tree; 0 for the default of the algorithm.
    pub radix: u32,
    /// The kinds and the names of the algorithms of the parts.
    pub parts: Vec<(Collective, &'static str)>,
    /// The groups, the kinds and the names of the algorithms of the levels at rank 0.
    pub levels: Vec<(Group, Collective, &'static str)>,
    /// The messages, with blocks of equal lengths and up to 4096 ranks.
    pub counts: Option<MessageCounts>,
    /// The time without contention, as for [`Algorithm::time`].
    pub time: &'static str,
}

/// Counts the messages of a call with complete parameters; `plan` sets the parameters of levels,
/// which differ between ranks.
fn count_messages(algorithm: &Algorithm, call: &Call, plan: impl Fn(&mut Call)) -> MessageCounts {
    let mut counts = MessageCounts::default();
    let mut received = vec![0; call.size as usize];
    let mut call = call.clone();
    for rank in 0..call.size {
        call.rank = rank;
        if !algorithm.levels.is_empty() {
            plan(&mut call);
        }
        let mut sent = 0;
        for message in messages(algorithm, &call) {
            if message.destination == rank {
                continue;
            }
            counts.messages += 1;
            sent += message.bytes;
            received[message.destination as usize] += message.bytes;
        }
        counts.bytes += sent;
        counts.sent_max = counts.sent_max.max(sent);
        counts.rounds = counts.rounds.max((algorithm.rounds)(&call));
    }
    counts.received_max = received.into_iter().max().unwrap_or(0);
    counts
}

/// Returns the choice of a selector for a call, and the messages of this choice. The rank of the
/// call does not matter.
///
/// # Errors
/// As for [`Selector::select`].
pub fn explain(selector: &Selector, call: &Call, facts: Facts) -> Result<Explanation, Unsuited> {
    let mut call = call.clone();
    let selection = selector.choose_algorithm(&mut call, facts)?;
    let algorithm = selection.algorithm;
    let grounds = selection.grounds;
    let name = selection.choice.name().into_owned();
    let reason = match grounds {
        Grounds::Forced => Reason::Forced,
        Grounds::Row(row) => Reason::Row {
            selector: row.selector.to_owned(),
            number: row.number,
            text: row.to_string(),
        },
        Grounds::Estimate(found) => Reason::Estimate {
            selector: found.selector.to_owned(),
            all: found.all_estimates(&call),
        },
    };
    let parts = algorithm.parts.iter().zip(call.parts);
    let parts = parts.filter_map(|(kind, part)| Some((*kind, part?.name)));
    let plans = call.levels.iter().flat_map(|plans| plans.iter());
    let levels = algorithm.levels.iter().zip(plans);
    let levels = levels.filter_map(|(level, plan)| {
        let plan = plan.as_ref()?;
        Some((level.group, level.collective, plan.algorithm.name))
    });
    let is_counted = call.size <= RANKS_MAX && call.blocks.is_none();
    Ok(Explanation {
        name,
        algorithm,
        reason,
        segment: call.segment,
        radix: call.radix,
        parts: parts.collect(),
        levels: levels.collect(),
        counts: is_counted.then(|| {
            count_messages(algorithm, &call, |call| {
                selector.select(call, facts).ok();
            })
        }),
        time: algorithm.time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(selector: &Selector, kind: Collective, ranks: u32, bytes: u64) -> Explanation {
        let call = Call::new(kind, 0, ranks, bytes);
        explain(selector, &call, Facts::default()).expect("an algorithm")
    }

    fn named(selector: &str) -> &'static Selector {
        Selector::built_in(selector).expect("a selector")
    }

    #[test]
    fn a_row_and_its_messages() {
        let found = explained(named("mpich"), Collective::Bcast, 8, 16 << 10);
        assert_eq!(found.name, "mpich:scatter_recursive_doubling_allgather");
        assert_eq!(found.algorithm.name, "scatter_recursive_doubling_allgather");
        assert_eq!(
            found.reason.to_string(),
            "mpich, row 6: bytes = [0, 524287], power_of_two = true, \
             algorithm = \"mpich:scatter_recursive_doubling_allgather\""
        );
        let counts = found.counts.expect("few ranks");
        // A tree, then 3 exchanges.
        assert_eq!(counts.messages, 7 + 8 * 3);
        // The root sends half, a quarter and an eighth, then blocks of 1, 2 and 4 eighths.
        assert_eq!(counts.sent_max, 2 * 7 * (2 << 10));
        assert_eq!(found.time, found.algorithm.time);
    }

    #[test]
    fn the_root_of_a_gather_receives_most() {
        let found = explained(named("mvapich2"), Collective::Gather, 16, 100);
        let counts = found.counts.expect("few ranks");
        assert_eq!((counts.messages, counts.bytes), (15, 1500));
        assert_eq!((counts.sent_max, counts.received_max), (100, 1500));
    }

    #[test]
    fn messages_to_oneself_do_not_count() {
        let found = explained(named("mpich"), Collective::Alltoall, 4, 1 << 10);
        assert_eq!(found.name, "mpich:scattered");
        assert_eq!(found.counts.expect("few ranks").messages, 12);
    }

    #[test]
    fn a_fallback_has_the_name_of_the_row() {
        let found = explained(named("openmpi-4.1"), Collective::Allreduce, 16, 8);
        assert_eq!(found.name, "openmpi:segmented_ring");
        // Without segments it is the ring, for which there are too few elements.
        let call = Call {
            element: 8,
            ..Call::new(Collective::Allreduce, 0, 16, 8)
        };
        let found = explain(named("openmpi-4.1"), &call, Facts::default()).expect("an algorithm");
        assert_eq!(found.algorithm.name, "recursive_doubling");
    }

    #[test]
    fn parts_and_rows_of_a_base() {
        let found = explained(named("openmpi-5.0"), Collective::Allreduce, 256, 8);
        assert_eq!(found.name, "openmpi:nonoverlapping");
        let parts = [
            (Collective::Reduce, "binomial_segmented"),
            (Collective::Bcast, "knomial_segmented"),
        ];
        assert_eq!(found.parts, parts);
        let Reason::Row { selector, .. } = &found.reason else {
            panic!("a row: {}", found.reason);
        };
        assert_eq!(selector, "openmpi-4.1");
    }

    #[test]
    fn a_forced_algorithm() {
        let mut selector = Selector::ours().clone();
        let forced = selector.force(Collective::Bcast, "chain", 512, 2);
        forced.expect("a known name");
        let found = explained(&selector, Collective::Bcast, 5, 1024);
        assert_eq!(found.reason, Reason::Forced);
        assert_eq!(found.reason.to_string(), "forced");
        assert_eq!((found.segment, found.radix), (512, 2));
        let counts = found.counts.expect("few ranks");
        assert_eq!((counts.messages, counts.rounds), (8, 2));
    }

    #[test]
    fn many_ranks_are_not_counted() {
        let found = explained(Selector::ours(), Collective::Barrier, 4097, 0);
        assert_eq!(found.counts, None);
        let found = explained(Selector::ours(), Collective::Barrier, 4096, 0);
        assert_eq!(found.counts.expect("few ranks").messages, 12 * 4096);
    }
}
