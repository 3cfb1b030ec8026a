//! Sums of waits by class, by the call that waits, and by the action of the rank that was awaited.

use std::collections::BTreeMap;

use observe::NameId;

use super::class::Class;

/// The rank that a wait is charged to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Causer {
    pub(crate) rank: u32,
    /// The call in which the rank spent time before it acted, and the line of the call.
    pub(crate) doing: (NameId, NameId),
}

/// Waits that are added up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WaitKey {
    pub(crate) class: Class,
    pub(crate) call: (NameId, NameId),
    pub(crate) causer: Option<(NameId, NameId)>,
}

impl WaitKey {
    pub(crate) fn new(class: Class, call: (NameId, NameId), causer: Option<Causer>) -> Self {
        let causer = causer.map(|causer| causer.doing);
        Self {
            class,
            call,
            causer,
        }
    }
}

/// The longest of some waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Longest {
    pub(crate) seconds: f64,
    pub(crate) rank: u32,
    /// Beginning of the wait in seconds.
    pub(crate) from: f64,
    pub(crate) causer: Option<u32>,
}

/// Sum of some waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitSum {
    pub(crate) seconds: f64,
    pub(crate) count: u64,
    pub(crate) longest: Longest,
}

/// All waits.
#[derive(Debug, Default)]
pub(crate) struct Waits(pub(crate) BTreeMap<WaitKey, WaitSum>);

impl Waits {
    /// Adds a wait: the rank, the beginning and the length of the wait in seconds.
    pub(crate) fn add_wait(
        &mut self,
        key: WaitKey,
        (rank, from, seconds): (u32, f64, f64),
        causer: Option<Causer>,
    ) {
        let this = Longest {
            seconds,
            rank,
            from,
            causer: causer.map(|causer| causer.rank),
        };
        let sum = self.0.entry(key).or_insert(WaitSum {
            seconds: 0.0,
            count: 0,
            longest: this,
        });
        sum.seconds += seconds;
        sum.count += 1;
        if seconds > sum.longest.seconds {
            sum.longest = this;
        }
    }
}
