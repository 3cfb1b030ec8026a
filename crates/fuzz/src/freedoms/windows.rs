//! Windows of the abstract machine: epochs, and accesses that are done at their targets.
//!
//! An access waits in the queue of the epoch until the target permits the access; a lock, `start`
//! and `complete` may return before or after (MPI 5.0, 12.5). Accesses of one rank to one cell keep
//! their order (12.7.2). Locks are granted in any order (12.5.3): a shared lock may pass an
//! exclusive one that waits, or queue behind. *Not modelled*: puts and gets, because conflicts of
//! them have no defined result.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::answers;
use super::program::{Access, FreedomOp};
use super::state::{RankStates, Shared};

/// The window of each rank, and all epochs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Windows {
    cells: Vec<[u32; 2]>,
    epochs: Vec<Epoch>,
    /// Numbers of the fences of each rank.
    fences: Vec<usize>,
    /// Numbers of the fences that each rank has returned from.
    passed: Vec<usize>,
    /// Numbers of `post` of each rank for each other one.
    posts: Vec<Vec<usize>>,
    /// Numbers of `complete` of each rank for each other one.
    completes: Vec<Vec<usize>>,
    /// The target of the last `complete` of each rank.
    completed: Vec<usize>,
    /// The rank that each exposure is for, of each rank.
    exposed: Vec<Option<usize>>,
}

/// The accesses of a rank to another one in an epoch.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Epoch {
    origin: usize,
    target: usize,
    kind: WindowCall,
    queue: Vec<(Access, bool)>,
    /// Results of swaps, in their order.
    results: Vec<(usize, u32)>,
    swaps: usize,
    /// True after `MPI_Win_complete`.
    is_closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum WindowCall {
    /// True if the lock is exclusive.
    Lock(bool, Grant),
    /// The number of the fence that has begun the epoch.
    Fence(usize),
    /// The number of the `post` that permits the accesses.
    Post(usize),
}

/// The progress of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Grant {
    /// The lock is granted as soon as no other lock excludes this one.
    Asked,
    /// The lock is also behind the queued locks of earlier epochs in the list.
    Queued,
    Granted,
}

impl Windows {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            cells: vec![[0; 2]; ranks],
            epochs: Vec::new(),
            fences: vec![0; ranks],
            passed: vec![0; ranks],
            posts: vec![vec![0; ranks]; ranks],
            completes: vec![vec![0; ranks]; ranks],
            completed: vec![0; ranks],
            exposed: vec![None; ranks],
        }
    }

    /// Returns the values of a rank.
    pub(super) fn cells_of(&self, rank: usize) -> [u32; 2] {
        self.cells[rank]
    }

    /// Returns true if an access is not done.
    pub(super) fn is_busy(&self) -> bool {
        self.epochs.iter().any(|epoch| !epoch.queue.is_empty())
    }

    /// Returns true if the target permits the accesses of an epoch.
    fn is_open(&self, epoch: &Epoch) -> bool {
        match epoch.kind {
            WindowCall::Lock(_, grant) => grant == Grant::Granted,
            WindowCall::Fence(number) => self.passed[epoch.target] >= number,
            WindowCall::Post(number) => self.posts[epoch.target][epoch.origin] >= number,
        }
    }

    /// Returns the windows after the lock of an epoch was granted or queued.
    fn lock_steps(&self, at: usize) -> Vec<Self> {
        let mut next = Vec::new();
        let WindowCall::Lock(is_exclusive, grant) = self.epochs[at].kind else {
            return next;
        };
        let target = self.epochs[at].target;
        let excludes = |other: &Epoch| {
            other.target == target
                && matches!(other.kind, WindowCall::Lock(exclusive, Grant::Granted)
                    if exclusive || is_exclusive)
        };
        let is_queued = |other: &Epoch| {
            other.target == target && matches!(other.kind, WindowCall::Lock(_, Grant::Queued))
        };
        let is_free = !self.epochs.iter().any(excludes);
        let can_queue = grant == Grant::Asked && (!is_free || self.epochs.iter().any(is_queued));
        let can_be_granted = match grant {
            Grant::Asked => is_free,
            Grant::Queued => is_free && !self.epochs[..at].iter().any(is_queued),
            Grant::Granted => false,
        };
        if can_be_granted {
            let mut windows = self.clone();
            windows.epochs[at].kind = WindowCall::Lock(is_exclusive, Grant::Granted);
            next.push(windows);
        }
        if can_queue {
            let mut windows = self.clone();
            let mut epoch = windows.epochs.remove(at);
            epoch.kind = WindowCall::Lock(is_exclusive, Grant::Queued);
            windows.epochs.push(epoch);
            next.push(windows);
        }
        next
    }

    /// Removes the epochs that are closed and have no accesses.
    fn drop_closed(&mut self) {
        self.epochs
            .retain(|epoch| !(epoch.is_closed && epoch.queue.is_empty()));
    }

    fn current_epoch(&self, origin: usize, target: Option<usize>) -> Option<usize> {
        self.epochs.iter().position(|epoch| {
            epoch.origin == origin
                && !epoch.is_closed
                && target.is_none_or(|target| target == epoch.target)
        })
    }
}

impl RankStates {
    /// Returns the states after each grant of a lock and each access; perhaps the accesses of one
    /// rank to one target only in their order.
    pub(super) fn window_steps(&self, in_order: bool) -> Vec<Self> {
        let mut next = Vec::new();
        for (at, epoch) in self.windows.epochs.iter().enumerate() {
            next.extend(self.windows.lock_steps(at).into_iter().map(|windows| Self {
                windows: Shared(Rc::new(windows)),
                ..self.clone()
            }));
            if !self.windows.is_open(epoch) {
                continue;
            }
            let mut cells = BTreeSet::new();
            let count = if in_order { 1 } else { epoch.queue.len() };
            for (number, (access, is_swap)) in epoch.queue.iter().take(count).enumerate() {
                if !cells.insert(access.cell) {
                    continue;
                }
                let mut state = self.clone();
                let windows = &mut state.windows;
                let cell = &mut windows.cells[access.target][access.cell];
                let old = std::mem::replace(cell, access.value);
                let epoch = &mut windows.epochs[at];
                epoch.queue.remove(number);
                if *is_swap {
                    epoch.results.push((access.value as usize, old));
                }
                windows.drop_closed();
                next.push(state);
            }
        }
        next
    }

    /// Returns the states after a call of a rank has begun: the call returns at once, or waits.
    pub(super) fn window_calls(&self, rank: usize, op: &FreedomOp) -> Vec<Self> {
        let mut state = self.clone();
        let windows = &mut state.windows;
        let epoch = |target: usize, kind: WindowCall| Epoch {
            origin: rank,
            target,
            kind,
            queue: Vec::new(),
            results: Vec::new(),
            swaps: 0,
            is_closed: false,
        };
        let waits = |mut state: Self| {
            state.ranks[rank].is_blocked = true;
            state
        };
        match op {
            FreedomOp::Lock(target, is_exclusive) => {
                let lock = WindowCall::Lock(*is_exclusive, Grant::Asked);
                windows.epochs.push(epoch(*target, lock));
                // The lock protects loads and stores of the own memory.
                if *target == rank {
                    return vec![waits(state)];
                }
            }
            FreedomOp::Open(target) => {
                let completes = windows.completes[rank][*target];
                windows
                    .epochs
                    .push(epoch(*target, WindowCall::Post(completes + 1)));
            }
            FreedomOp::Replace(access) | FreedomOp::Swap(access) => {
                let is_swap = matches!(op, FreedomOp::Swap(_));
                let at = windows
                    .current_epoch(rank, Some(access.target))
                    .or_else(|| {
                        let number = windows.fences[rank];
                        windows
                            .epochs
                            .push(epoch(access.target, WindowCall::Fence(number)));
                        windows.current_epoch(rank, Some(access.target))
                    });
                if let Some(at) = at {
                    windows.epochs[at].queue.push((*access, is_swap));
                    windows.epochs[at].swaps += usize::from(is_swap);
                }
                return vec![state.with_answer(rank, answers::tell_done())];
            }
            FreedomOp::Post(origin) => {
                windows.posts[rank][*origin] += 1;
                windows.exposed[rank] = Some(*origin);
                return vec![state.with_answer(rank, answers::tell_done())];
            }
            FreedomOp::Fence => return self.fence_begun(rank),
            FreedomOp::Complete => {
                let open = windows.current_epoch(rank, None);
                if let Some(at) = open {
                    let target = windows.epochs[at].target;
                    windows.completes[rank][target] += 1;
                    windows.completed[rank] = target;
                    windows.epochs[at].is_closed = true;
                    windows.drop_closed();
                }
            }
            FreedomOp::TestWindow => return self.exposure_tested(rank),
            // `MPI_Win_unlock` and `MPI_Win_wait` wait.
            _ => return vec![waits(state)],
        }
        vec![
            waits(state.clone()),
            state.with_answer(rank, answers::tell_done()),
        ]
    }

    /// Returns the states after a fence has begun. The first one ends no epoch, and need not wait.
    fn fence_begun(&self, rank: usize) -> Vec<Self> {
        let mut waiting = self.clone();
        waiting.windows.fences[rank] += 1;
        let mut next = Vec::new();
        if waiting.windows.fences[rank] == 1 {
            let mut state = waiting.clone();
            state.windows.passed[rank] = 1;
            next.push(state.with_answer(rank, answers::tell_done()));
        }
        waiting.ranks[rank].is_blocked = true;
        next.push(waiting);
        next
    }

    /// Returns the states after each answer of `MPI_Win_test`.
    fn exposure_tested(&self, rank: usize) -> Vec<Self> {
        let mut state = self.clone();
        if self.windows.exposed[rank].is_none() {
            return vec![state.with_answer(rank, answers::tell_inactive())];
        }
        let mut next = vec![self.clone().with_answer(rank, answers::tell_no())];
        if self.is_exposure_over(rank) {
            state.windows.exposed[rank] = None;
            next.push(state.with_answer(rank, answers::tell_done()));
        }
        next
    }

    fn is_exposure_over(&self, rank: usize) -> bool {
        let windows = &self.windows;
        windows.exposed[rank].is_none_or(|origin| {
            let posts = windows.posts[rank][origin];
            let is_from = |epoch: &Epoch| {
                (epoch.origin, epoch.target) == (origin, rank)
                    && matches!(epoch.kind, WindowCall::Post(number) if number <= posts)
            };
            windows.completes[origin][rank] >= posts && !windows.epochs.iter().any(is_from)
        })
    }

    /// Returns the state after a call that a rank waits in, if the call is over.
    pub(super) fn window_call_over(&self, rank: usize, op: &FreedomOp) -> Option<Self> {
        let mut state = self.clone();
        let windows = &mut state.windows;
        let answer = match op {
            FreedomOp::Lock(target, _) | FreedomOp::Open(target) => {
                let at = windows.current_epoch(rank, Some(*target))?;
                windows
                    .is_open(&windows.epochs[at])
                    .then(answers::tell_done)?
            }
            FreedomOp::Unlock(target) => {
                let Some(at) = windows.current_epoch(rank, Some(*target)) else {
                    return Some(state.with_answer(rank, answers::tell_inactive()));
                };
                let epoch = &windows.epochs[at];
                if !windows.is_open(epoch) || !epoch.queue.is_empty() {
                    return None;
                }
                let mut epoch = windows.epochs.remove(at);
                epoch.results.sort_unstable();
                answers::tell_values(epoch.results.into_iter().map(|(_, old)| old))
            }
            FreedomOp::Fence => {
                let number = windows.fences[rank];
                let all_called = windows.fences.iter().all(|&fences| fences >= number);
                let is_earlier = |epoch: &Epoch| {
                    matches!(epoch.kind, WindowCall::Fence(begun) if begun < number)
                        && (epoch.origin == rank || epoch.target == rank)
                };
                let mut earlier = windows.epochs.iter().filter(|epoch| is_earlier(epoch));
                if !all_called || earlier.any(|epoch| !epoch.queue.is_empty()) {
                    return None;
                }
                for epoch in &mut windows.epochs {
                    epoch.is_closed |= is_earlier(epoch);
                }
                windows.drop_closed();
                windows.passed[rank] = number;
                answers::tell_done()
            }
            FreedomOp::Complete => {
                // The wait for the accesses of this epoch, and for `post`.
                let target = windows.completed[rank];
                let number = windows.completes[rank][target];
                let is_own = |epoch: &Epoch| {
                    (epoch.origin, epoch.target, epoch.kind)
                        == (rank, target, WindowCall::Post(number))
                };
                let is_done = !windows.epochs.iter().any(is_own);
                let is_posted = windows.posts[target][rank] >= number;
                (is_done && is_posted).then(answers::tell_done)?
            }
            FreedomOp::WaitWindow => {
                if !self.is_exposure_over(rank) {
                    return None;
                }
                windows.exposed[rank] = None;
                answers::tell_done()
            }
            _ => return None,
        };
        Some(state.with_answer(rank, answer))
    }
}
