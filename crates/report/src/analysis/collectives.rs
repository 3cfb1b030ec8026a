//! Collective operations in progress: the ranks that have entered, and the ends of waits for entry.
//!
//! Calls of the same operation are found by the context of the communicator, its rank 0, and their
//! position among its collective operations, which every rank knows.

use std::collections::BTreeMap;

use observe::NameId;

use super::class::Class;
use super::waits::Causer;

/// Identity of a collective operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CollectiveKey {
    context: u32,
    first: u32,
    number: u32,
}

impl CollectiveKey {
    /// Returns true for an operation of this context and position.
    pub(crate) fn is_number(&self, (context, number): (u32, u32)) -> bool {
        (self.context, self.number) == (context, number)
    }
}

/// The time until which a rank waited for others to enter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    pub(crate) class: Class,
    /// In seconds.
    pub(crate) until: f64,
    pub(crate) causer: Causer,
}

/// Dependence of the ranks of an operation on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dependence {
    /// Each needs all.
    AllOnAll,
    /// All need the root.
    AllOnRoot,
    /// The root needs all.
    RootOnAll,
    /// Others: parts of the ranks need each other.
    Partial,
}

impl Dependence {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "barrier"
            | "allreduce"
            | "allgather"
            | "allgatherv"
            | "alltoall"
            | "alltoallv"
            | "alltoallw"
            | "reduce_scatter"
            | "reduce_scatter_block" => Self::AllOnAll,
            "bcast" | "scatter" | "scatterv" => Self::AllOnRoot,
            "reduce" | "gather" | "gatherv" => Self::RootOnAll,
            _ => Self::Partial,
        }
    }
}

/// The entry of a rank.
type Entry = (f64, Causer);

#[derive(Clone, Copy, Debug)]
struct Instance {
    dependence: Dependence,
    root: Option<u32>,
    size: u32,
    entered: u32,
    left: u32,
    last: Entry,
    root_entry: Option<Entry>,
    /// The first entry of another rank than the root.
    first_other: Option<Entry>,
}

/// All collective operations in progress.
#[derive(Debug, Default)]
pub(crate) struct Collectives {
    running: BTreeMap<CollectiveKey, Instance>,
    /// Arguments of the operation that a rank is about to enter: root, size and first rank.
    next: BTreeMap<u32, (Option<u32>, u32, u32)>,
}

impl Collectives {
    /// A rank is about to enter an operation.
    pub(crate) fn announce(&mut self, rank: u32, root: Option<u32>, size: u32, first: u32) {
        self.next.insert(rank, (root, size, first));
    }

    /// A rank enters the operation that it has announced.
    pub(crate) fn enter_operation(
        &mut self,
        rank: u32,
        time: f64,
        (context, number): (u32, u32),
        (name, doing): (&str, (NameId, NameId)),
    ) -> CollectiveKey {
        let (root, size, first) = self.next.remove(&rank).unwrap_or((None, 1, rank));
        let key = CollectiveKey {
            context,
            first,
            number,
        };
        let entry = (time, Causer { rank, doing });
        let instance = self.running.entry(key).or_insert(Instance {
            dependence: Dependence::from_name(name),
            root,
            size,
            entered: 0,
            left: 0,
            last: entry,
            root_entry: None,
            first_other: None,
        });
        instance.entered += 1;
        instance.last = entry;
        if root == Some(rank) {
            instance.root_entry = Some(entry);
        } else {
            instance.first_other.get_or_insert(entry);
        }
        key
    }

    /// A rank leaves an operation. Returns the time until which it waited for other ranks to enter.
    pub(crate) fn leave_operation(
        &mut self,
        rank: u32,
        time: f64,
        number: (u32, u32),
        key: Option<CollectiveKey>,
    ) -> Option<Until> {
        // With several operations at one time, only the latest is known by its key.
        let key = key.or_else(|| {
            let keys = self.running.keys();
            keys.copied().find(|key| key.is_number(number))
        })?;
        let instance = self.running.get_mut(&key)?;
        instance.left += 1;
        let found = *instance;
        if found.left == found.size {
            self.running.remove(&key);
        }
        let (class, entry) = match found.dependence {
            Dependence::AllOnAll => (Class::WaitAtCollective, Some(found.last)),
            Dependence::AllOnRoot => (Class::LateBroadcast, found.root_entry),
            Dependence::RootOnAll if found.root == Some(rank) => {
                (Class::EarlyReduce, found.first_other)
            }
            _ => return None,
        };
        let is_open = class == Class::WaitAtCollective && found.entered < found.size;
        let (until, causer) = entry?;
        // A rank that leaves before the last has entered does not wait for that one.
        let until = if is_open { time } else { until };
        (causer.rank != rank).then_some(Until {
            class,
            until,
            causer,
        })
    }
}
