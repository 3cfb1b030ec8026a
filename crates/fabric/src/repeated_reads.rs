//! Reads of windows that ranks repeat until the result differs, under a model checker.
//!
//! The packet of such a read is held back until the memory has changed for the first time since the
//! former read, so that a loop that waits for a change is one step and not any number of steps.
//! Later arrivals are free, also if the memory has the former content again: an arrival that was
//! possible stays possible.
//!
//! Why no run is lost: a read that leaves the memory and has the former result can as well follow
//! the former read at once, which is another answer to the question of the rank (the package `mpi`,
//! `protocol/look.rs`). The former read and all accesses that change the memory depend on each
//! other, so equivalent runs permit the same arrivals. A store of a program to the window of the
//! rank is no step: an arrival that such a store permits needs the step with the store.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use channel::{Buffer, Token, WindowRead};
use sim_core::AccessClass;

/// The access of a step: the rank with the memory, and the class; `None` if the step was another.
type LatestAccess = Option<(u32, AccessClass)>;

/// The latest read of a rank that has arrived.
#[derive(Debug)]
struct WatchedRead {
    read: WindowRead,
    /// The operation that repeats the read.
    repetition: Option<Token>,
    /// The step that has changed the memory first, and the access of the step.
    change: Option<(u32, LatestAccess)>,
}

/// A read that arrives in the present step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrivingRead {
    /// The rank that reads, and the operation of the rank.
    pub(crate) rank: u32,
    pub(crate) operation: Token,
    /// The context of the window, and the first byte.
    pub(crate) window: u32,
    pub(crate) offset: u64,
}

/// The reads of all ranks.
#[derive(Debug, Default)]
pub(crate) struct RepeatedReads {
    watched: RefCell<BTreeMap<u32, WatchedRead>>,
    arriving: Cell<Option<ArrivingRead>>,
    latest: Cell<LatestAccess>,
}

impl RepeatedReads {
    /// Forgets the run.
    pub(crate) fn clear_reads(&self) {
        self.watched.borrow_mut().clear();
        self.arriving.set(None);
        self.latest.set(None);
    }

    /// Notes which memory has changed before a step with this access; `before` is the step before.
    pub(crate) fn begin_step(
        &self,
        before: u32,
        access: LatestAccess,
        has_changed: impl Fn(&WindowRead) -> bool,
    ) {
        let latest = self.latest.replace(access);
        for watched in self.watched.borrow_mut().values_mut() {
            if watched.change.is_none() && has_changed(&watched.read) {
                watched.change = Some((before, latest));
            }
        }
    }

    /// An operation of a rank repeats the latest read of the rank.
    pub(crate) fn repeat_read(&self, rank: u32, operation: Token) {
        if let Some(watched) = self.watched.borrow_mut().get_mut(&rank) {
            watched.repetition = Some(operation);
        }
    }

    /// Returns true if the read of an operation may arrive; `None` for another read.
    pub(crate) fn may_arrive(
        &self,
        read: ArrivingRead,
        has_changed: impl Fn(&WindowRead) -> bool,
    ) -> Option<bool> {
        let all = self.watched.borrow();
        let watched = all.get(&read.rank);
        let watched = watched.filter(|one| one.repetition == Some(read.operation))?;
        Some(watched.change.is_some() || has_changed(&watched.read))
    }

    /// A read arrives, with this access. Returns the step that the arrival needs and that does not
    /// depend on the access.
    pub(crate) fn begin_read(&self, read: ArrivingRead, class: Option<AccessClass>) -> Option<u32> {
        self.arriving.set(Some(read));
        let watched = self.watched.borrow_mut().remove(&read.rank);
        let repeated = watched.filter(|one| one.repetition == Some(read.operation))?;
        let (step, access) = repeated.change?;
        let is_ordered = access.zip(class).is_some_and(|((target, access), class)| {
            target == repeated.read.target && access.conflicts_with(class)
        });
        (!is_ordered).then_some(step)
    }

    /// The rank with the memory answers a read.
    pub(crate) fn note_result(
        &self,
        target: u32,
        (rank, operation): (u32, Token),
        result: &Buffer,
    ) {
        let arriving = self.arriving.take();
        let is_read = |read: &ArrivingRead| (read.rank, read.operation) == (rank, operation);
        let Some(read) = arriving.filter(is_read) else {
            return;
        };
        let read = WindowRead {
            target,
            window: read.window,
            offset: read.offset,
            result: result.clone(),
        };
        let watched = WatchedRead {
            read,
            repetition: None,
            change: None,
        };
        self.watched.borrow_mut().insert(rank, watched);
    }
}
