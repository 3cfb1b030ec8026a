//! The accesses to windows that are not complete, of all ranks of a process: to find two unordered
//! accesses to the same bytes.
//!
//! If all ranks run in one process, as in a simulation, each access is compared with the accesses
//! in progress at the same target when its packet arrives there. An access by RDMA, whose arrival
//! the target does not see, is compared when it is called. Two accesses conflict if they have a
//! byte in common and one is a put, or one an accumulate and the other a get (MPI 5.0, section
//! 12.7). An access is in progress
//!
//! * in an epoch of fences until the fence that ends the epoch, in any order of arrivals,
//! * in an exposure epoch (`post`) until it ends,
//! * under a lock until the origin flushes or unlocks; an access that reads only for an instant,
//!   because the origin knows its end from the result.
//!
//! A buffer at the origin that is in the origin's own part of the window is an access to that part,
//! too: a get writes there and a put reads, until the origin has synchronised.
//!
//! Two accumulates of different ranks conflict if their operations differ, unless one is
//! `MPI_REPLACE` or `MPI_NO_OP`: the default of the hint `accumulate_ops` (section 12.2.1).
//! `MPI_Compare_and_swap` conflicts with no accumulate. A put or an accumulate after a fence with
//! `MPI_MODE_NOPUT` at the target conflicts with this fence.
//!
//! A store ([`Window::write`](crate::Window::write)) is compared with the puts and accumulates in
//! progress when it is called. A store of a C program to the rank's memory
//! ([`Window::note_stores`](crate::Window::note_stores)) conflicts with every access of another
//! rank in the same epoch of fences or exposure, also where a message orders the two \[choice\].
//! Outside of these, the store conflicts with a put or an accumulate under a lock that arrives
//! between the store and the next call of the target, if no rank has read at the target meanwhile:
//! the program may have seen the data of an earlier access, and the origin of a later one may have
//! seen the store. Two accesses of one origin do not conflict if the first one reads or is a store.
//!
//! So a run shows conflicts in its own order of arrivals; a model checker explores all orders, and
//! shows the conflicts of all orders. A program that orders its accesses by synchronisation of the
//! window has no conflict.
//!
//! *Not compared*: `MPI_REPLACE` with other operations; loads; stores with gets and
//! read-modify-writes under a lock, and after a last fence with accesses under locks; ranks in
//! separate processes.

use observe::SourceLocation;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use channel::AccumulateOp;

use super::Segment;
use super::accumulate::op_from_code;

/// Kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessKind {
    Get,
    Put,
    /// Also a read-modify-write.
    Accumulate,
    /// A store of the target's program between two calls.
    Store,
}

const KINDS: [AccessKind; 4] = [
    AccessKind::Get,
    AccessKind::Put,
    AccessKind::Accumulate,
    AccessKind::Store,
];

impl AccessKind {
    const fn conflicts(self, other: Self) -> bool {
        use AccessKind::{Accumulate, Get, Put, Store};
        match (self, other) {
            (Get, Get) | (Accumulate, Accumulate) | (Store, Store) => false,
            (Put | Store, _) | (_, Put | Store) => true,
            (Get, Accumulate) | (Accumulate, Get) => true,
        }
    }
}

/// Synchronisation of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SyncMode {
    Fence,
    /// By post, start, complete and wait.
    Exposure,
    Lock,
}

/// An access to a window at one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// Name of the call.
    pub(crate) call: &'static str,
    /// The rank of the world that accesses.
    pub(crate) origin: u32,
    pub(crate) kind: AccessKind,
    /// The operation of an accumulate that reduces.
    pub(crate) reduction: Option<AccumulateOp>,
    /// True if the access changes the window, unlike a get and an accumulate by `MPI_NO_OP`.
    pub(crate) is_update: bool,
    /// True if the origin gets a result.
    pub(crate) reads: bool,
    /// First byte, and the one after the last.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Length of an element in bytes.
    pub(crate) element: u64,
    pub(crate) mode: SyncMode,
    /// Number of fences that the origin has passed.
    pub(crate) fences: u32,
    pub(crate) location: SourceLocation,
}

impl Access {
    /// Returns the operations of two accumulates of different ranks, if the operations differ.
    fn differing_reductions(&self, other: &Self) -> Option<[AccumulateOp; 2]> {
        let (own, theirs) = self.reduction.zip(other.reduction)?;
        (own != theirs && self.origin != other.origin).then_some([own, theirs])
    }

    fn conflicts_with(&self, other: &Self) -> bool {
        // What is between a store and an access with another synchronisation is not known here.
        let is_store = [self.kind, other.kind].contains(&AccessKind::Store);
        (self.kind.conflicts(other.kind) && (!is_store || self.mode == other.mode))
            || self.differing_reductions(other).is_some()
    }

    /// Returns true if another rank updates several of the elements that this access updates.
    fn shares_elements(&self, other: &Self) -> bool {
        let are_updates = [self, other].map(|one| one.kind) == [AccessKind::Accumulate; 2];
        let bytes = (self.end.min(other.end)).saturating_sub(self.start.max(other.start));
        are_updates && self.origin != other.origin && bytes > self.element
    }
}

/// Two unordered accesses to the same bytes. Ranks are ranks of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    target: u32,
    start: u64,
    end: u64,
    accesses: [(&'static str, u32, SourceLocation); 2],
    /// The operations of two accumulates.
    reductions: Option<[AccumulateOp; 2]>,
    /// True if the first access is a fence that excludes the second access.
    is_exclusion: bool,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = (self.reductions).map_or([None, None], |both| both.map(Some));
        let access = |(call, origin, at): (&str, u32, SourceLocation), op: Option<AccumulateOp>| {
            let op = op.map(op_from_code).map_or(String::new(), |op| {
                format!(" with {} of {}", op.name(), op.element_name())
            });
            format!("{call}{op} of rank {origin} at {at}")
        };
        let [first, second] = self.accesses;
        let (first, second) = (access(first, one), access(second, other));
        let reason = match self.is_exclusion {
            true => "the fence excludes the access",
            false => "no synchronisation is between them",
        };
        write!(
            f,
            "conflicting accesses to bytes {} to {} of the window of rank {}: {first} and {second}; {reason}",
            self.start,
            self.end.saturating_sub(1),
            self.target
        )
    }
}

impl Conflict {
    fn new(target: u32, first: &Access, second: &Access) -> Self {
        let told = |access: &Access| (access.call, access.origin, access.location);
        Self {
            target,
            start: first.start.max(second.start),
            end: first.end.min(second.end),
            accesses: [told(first), told(second)],
            reductions: first.differing_reductions(second),
            is_exclusion: false,
        }
    }

    /// An access to the window of a target that has excluded puts and accumulates by a fence.
    const fn with_fence(target: u32, fence: SourceLocation, access: &Access) -> Self {
        let call = "fence with MPI_MODE_NOPUT";
        Self {
            target,
            start: access.start,
            end: access.end,
            accesses: [
                (call, target, fence),
                (access.call, access.origin, access.location),
            ],
            reductions: None,
            is_exclusion: true,
        }
    }
}

/// First byte and serial number of an access in progress.
type OpenKey = (u64, u64);

/// Accesses of one kind in progress, by their first byte and a serial number.
#[derive(Default, Debug)]
struct OpenAccesses {
    all: BTreeMap<OpenKey, Access>,
    /// Length of the longest one that was ever open, in bytes.
    longest: u64,
}

impl OpenAccesses {
    /// Returns the overlapping accesses that were begun after the one with the number `since`.
    fn overlapping(&self, access: &Access, since: u64) -> impl Iterator<Item = &Access> {
        let from = access.start.saturating_sub(self.longest);
        let near = self.all.range((from, 0)..(access.end, 0));
        let later = near.filter(move |((_, number), _)| *number > since);
        let start = access.start;
        later
            .map(|(_, other)| other)
            .filter(move |other| other.end > start)
    }
}

/// The accesses to one window at one target.
#[derive(Default, Debug)]
struct TargetLog {
    /// By kind.
    open: [OpenAccesses; 4],
    serial: u64,
    /// The keys of the open accesses of each origin under a lock.
    locked: BTreeMap<u32, Vec<(usize, OpenKey)>>,
    /// Accesses that have not arrived, by origin, with the places if there are several.
    called: BTreeMap<u32, VecDeque<(Access, Vec<Segment>)>>,
    /// The ranks that hold the lock.
    holders: Vec<u32>,
    /// The fences that end no earlier than the present one and after which no rank puts or
    /// accumulates, by number.
    excluding: BTreeMap<u32, SourceLocation>,
}

impl TargetLog {
    /// Returns an access in progress, begun after the one with the number `since`, that conflicts
    /// with a new one.
    fn find_conflict(&self, new: &Access, since: u64) -> Option<&Access> {
        let is_open = |old: &&Access| {
            let passed = old.mode == SyncMode::Fence && new.fences > old.fences;
            let is_first = old.reads || old.kind == AccessKind::Store;
            let ordered = old.origin == new.origin && is_first;
            !passed && !ordered && old.conflicts_with(new)
        };
        let kinds = KINDS.iter().zip(&self.open);
        let mut against = kinds.filter(|(kind, _)| {
            kind.conflicts(new.kind) || **kind == new.kind && new.reduction.is_some()
        });
        against.find_map(|(_, open)| open.overlapping(new, since).find(is_open))
    }

    fn insert(&mut self, access: Access) {
        let is_instant = access.reads || access.kind == AccessKind::Store;
        if is_instant && access.mode == SyncMode::Lock || self.has_store(&access) {
            return;
        }
        self.serial += 1;
        let key = (access.start, self.serial);
        let kind = access.kind as usize;
        if access.mode == SyncMode::Lock {
            let locked = self.locked.entry(access.origin).or_default();
            locked.push((kind, key));
        }
        let open = &mut self.open[kind];
        open.longest = open.longest.max(access.end - access.start);
        open.all.insert(key, access);
    }

    /// Returns true if the access is a store that the program repeats in one epoch.
    fn has_store(&self, access: &Access) -> bool {
        let stores = &self.open[AccessKind::Store as usize].all;
        let mut same_start = stores.range((access.start, 0)..=(access.start, u64::MAX));
        let is_same = |old: &Access| (old.end, old.fences) == (access.end, access.fences);
        access.kind == AccessKind::Store && same_start.any(|(_, old)| is_same(old))
    }

    fn drop_ended(&mut self, is_over: impl Fn(&Access) -> bool) {
        for open in &mut self.open {
            open.all.retain(|_, access| !is_over(access));
        }
    }
}

/// The accesses of all ranks of a process.
#[derive(Default, Debug)]
pub(crate) struct AccessLog {
    /// By context of the window and target.
    targets: RefCell<BTreeMap<(u32, u32), TargetLog>>,
    /// Number of accesses with a result that have arrived, by target.
    reads: RefCell<BTreeMap<u32, u64>>,
    /// Conflicts that have not been reported, by context and the rank that reports the conflict.
    conflicts: RefCell<BTreeMap<(u32, u32), Conflict>>,
}

impl AccessLog {
    fn with_log<T>(&self, window: u32, target: u32, f: impl FnOnce(&mut TargetLog) -> T) -> T {
        f(self
            .targets
            .borrow_mut()
            .entry((window, target))
            .or_default())
    }

    /// Notes an access before its packet is sent, to these places; to one place if the list is
    /// empty.
    pub(crate) fn note_call(&self, window: u32, target: u32, access: Access, places: Vec<Segment>) {
        self.with_log(window, target, |log| {
            log.called
                .entry(access.origin)
                .or_default()
                .push_back((access, places));
        });
    }

    /// The packet of the next access of an origin has arrived. Returns the call if another rank has
    /// called an access that updates several of the same elements and has not arrived.
    pub(crate) fn begin_arrived(
        &self,
        window: u32,
        target: u32,
        origin: u32,
    ) -> Option<SourceLocation> {
        let (access, places, is_shared) = self.with_log(window, target, |log| {
            let (access, places) = log.called.get_mut(&origin)?.pop_front()?;
            let mut others = log.called.values().flatten();
            let is_shared = others.any(|(other, _)| access.shares_elements(other));
            Some((access, places, is_shared))
        })?;
        if places.is_empty() {
            self.begin_access(window, target, access);
        }
        for (start, length) in places {
            let end = start + length;
            self.begin_access(
                window,
                target,
                Access {
                    start,
                    end,
                    ..access
                },
            );
        }
        is_shared.then_some(access.location)
    }

    /// Begins an access: from now on the access is in progress.
    pub(crate) fn begin_access(&self, window: u32, target: u32, access: Access) {
        self.begin_after(window, target, access, 0);
    }

    /// Returns the number of accesses that were begun so far.
    pub(crate) fn count_begun(&self, window: u32, target: u32) -> u64 {
        self.with_log(window, target, |log| log.serial)
    }

    /// Returns the number of accesses with a result, to any window, that have arrived at a target.
    pub(crate) fn count_reads(&self, target: u32) -> u64 {
        self.reads.borrow().get(&target).copied().unwrap_or(0)
    }

    /// [`AccessLog::begin_access`] of an access that is compared with the accesses that were begun
    /// after the one with the number `since`.
    pub(crate) fn begin_after(&self, window: u32, target: u32, access: Access, since: u64) {
        if access.reads {
            *self.reads.borrow_mut().entry(target).or_default() += 1;
        }
        let conflict = self.with_log(window, target, |log| {
            let found = log.find_conflict(&access, since).copied();
            let has_bytes = access.start < access.end;
            let is_update = access.is_update && has_bytes && access.origin != target;
            let fence = (log.excluding.get(&access.fences))
                .filter(|_| is_update && access.mode == SyncMode::Fence)
                .copied();
            log.insert(access);
            let conflict = found.map(|first| Conflict::new(target, &first, &access));
            let excluded = |at| Conflict::with_fence(target, at, &access);
            conflict.or_else(|| fence.map(excluded))
        });
        if let Some(conflict) = conflict {
            let mut conflicts = self.conflicts.borrow_mut();
            for rank in [access.origin, target] {
                conflicts.entry((window, rank)).or_insert(conflict);
            }
        }
    }

    /// Compares a store of the target itself with the accesses in progress.
    pub(crate) fn check_store(
        &self,
        window: u32,
        target: u32,
        access: &Access,
    ) -> Option<Conflict> {
        self.with_log(window, target, |log| {
            let first = log.find_conflict(access, 0)?;
            Some(Conflict::new(target, first, access))
        })
    }

    /// Returns true if an origin has accesses that a flush or an unlock ends.
    pub(crate) fn has_open(&self, window: u32, target: u32, origin: u32) -> bool {
        self.with_log(window, target, |log| log.locked.contains_key(&origin))
    }

    /// An origin has flushed or unlocked.
    pub(crate) fn end_accesses(&self, window: u32, target: u32, origin: u32) {
        self.with_log(window, target, |log| {
            for (kind, key) in log.locked.remove(&origin).unwrap_or_default() {
                log.open[kind].all.remove(&key);
            }
        });
    }

    /// The target has ended an exposure epoch.
    pub(crate) fn end_exposure(&self, window: u32, target: u32) {
        let is_over = |access: &Access| access.mode == SyncMode::Exposure;
        self.with_log(window, target, |log| log.drop_ended(is_over));
    }

    /// The target calls a fence with this number after which no rank puts or accumulates.
    pub(crate) fn note_excluding(
        &self,
        window: u32,
        target: u32,
        (fence, location): (u32, SourceLocation),
    ) {
        self.with_log(window, target, |log| log.excluding.insert(fence, location));
    }

    /// The target has passed this many fences.
    pub(crate) fn pass_fence(&self, window: u32, target: u32, fences: u32) {
        let is_over = |access: &Access| access.mode == SyncMode::Fence && access.fences < fences;
        self.with_log(window, target, |log| {
            log.excluding.retain(|fence, _| *fence >= fences);
            log.drop_ended(is_over);
        });
    }

    /// These ranks hold the lock.
    pub(crate) fn hold(&self, window: u32, target: u32, holders: Vec<u32>) {
        self.with_log(window, target, |log| log.holders = holders);
    }

    /// Returns the ranks that hold the lock.
    pub(crate) fn holders(&self, window: u32, target: u32) -> Vec<u32> {
        self.with_log(window, target, |log| log.holders.clone())
    }

    /// Takes a conflict that a rank is to tell.
    pub(crate) fn take_conflict(&self, window: u32, rank: u32) -> Option<Conflict> {
        self.conflicts.borrow_mut().remove(&(window, rank))
    }

    /// Forgets a window at one target.
    pub(crate) fn forget_window(&self, window: u32, target: u32) {
        self.targets.borrow_mut().remove(&(window, target));
    }
}
