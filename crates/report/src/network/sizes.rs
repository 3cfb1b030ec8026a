//! Histograms of message lengths by call, and of the numbers of links that messages cross.
//!
//! A message that is a step of a collective operation counts for the operation that its rank began
//! last.

use std::collections::BTreeMap;

use observe::NameId;
use serde::Serialize;

/// Classes of lengths: 0, and one for each power of two.
const CLASSES: usize = 65;

/// No collective operation.
const NONE: NameId = NameId::MAX;

/// The histogram of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SizeHistogram {
    /// The line of the program, or the collective operation to which the messages belong.
    pub call: String,
    /// True if they are steps of a collective operation.
    pub collective: bool,
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The classes with messages, by length.
    pub classes: Vec<SizeClass>,
}

/// Messages of similar lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SizeClass {
    /// The least length in bytes: 0 or a power of two. The greatest is less than twice as much.
    pub from_bytes: u64,
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Flows that cross the same number of links.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HopCount {
    /// Number of links.
    pub links: u32,
    /// Number of flows.
    pub flows: u64,
    /// Their bytes.
    pub bytes: f64,
}

/// The histograms of a run.
#[derive(Debug)]
pub(super) struct SizeCounter {
    /// Number and bytes by call; the key is true for a collective call.
    calls: BTreeMap<(bool, NameId), Vec<(u64, u64)>>,
    /// The last collective operation of each rank.
    collectives: Vec<NameId>,
}

impl SizeCounter {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            calls: BTreeMap::new(),
            collectives: vec![NONE; ranks as usize],
        }
    }

    pub(super) fn begin_collective(&mut self, rank: u32, name: NameId) {
        self.collectives[rank as usize] = name;
    }

    /// Counts a message that is sent at a line of the program.
    pub(super) fn count_send(
        &mut self,
        rank: u32,
        (place, collective): (NameId, bool),
        bytes: u64,
    ) {
        let call = if collective {
            self.collectives[rank as usize]
        } else {
            place
        };
        let classes = self.calls.entry((collective, call));
        let classes = classes.or_insert_with(|| vec![(0, 0); CLASSES]);
        let class = bytes.checked_ilog2().map_or(0, |power| power as usize + 1);
        classes[class].0 += 1;
        classes[class].1 = classes[class].1.saturating_add(bytes);
    }

    /// Returns the histograms, calls with most bytes first.
    pub(super) fn into_histograms(self, name: impl Fn(NameId) -> String) -> Vec<SizeHistogram> {
        let histogram = |((collective, call), classes): ((bool, NameId), Vec<(u64, u64)>)| {
            let all = (0..)
                .zip(classes)
                .filter(|(_, (messages, _))| *messages > 0);
            let class = |(class, (messages, bytes)): (u32, (u64, u64))| SizeClass {
                from_bytes: class.checked_sub(1).map_or(0, |power| 1 << power),
                messages,
                bytes,
            };
            let classes: Vec<SizeClass> = all.map(class).collect();
            SizeHistogram {
                call: name(call),
                collective,
                messages: classes.iter().map(|class| class.messages).sum(),
                bytes: classes
                    .iter()
                    .fold(0, |sum, class| sum.saturating_add(class.bytes)),
                classes,
            }
        };
        let mut all: Vec<SizeHistogram> = self.calls.into_iter().map(histogram).collect();
        all.sort_by_key(|histogram| std::cmp::Reverse(histogram.bytes));
        all
    }
}

/// Returns the flows by number of links.
pub(super) fn hops(counts: &BTreeMap<u32, (u64, f64)>) -> Vec<HopCount> {
    let hops = counts.iter().map(|(&links, &(flows, bytes))| HopCount {
        links,
        flows,
        bytes,
    });
    hops.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_the_class_of_their_power() {
        let mut sizes = SizeCounter::new(1);
        sizes.begin_collective(0, 9);
        for bytes in [0, 1, 2, 3, 4, 1023, u64::MAX] {
            sizes.count_send(0, (5, false), bytes);
        }
        sizes.count_send(0, (5, true), 8);
        let found = sizes.into_histograms(|number| number.to_string());
        let classes = |histogram: &SizeHistogram| {
            let all = histogram.classes.iter();
            all.map(|class| (class.from_bytes, class.messages))
                .collect::<Vec<_>>()
        };
        let expected = [(0, 1), (1, 1), (2, 2), (4, 1), (512, 1), (1 << 63, 1)];
        assert_eq!(
            (&*found[0].call, classes(&found[0])),
            ("5", expected.to_vec())
        );
        assert_eq!((&*found[1].call, classes(&found[1])), ("9", vec![(8, 1)]));
    }
}
