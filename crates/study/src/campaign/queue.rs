//! The runs that wait for a process, and the number of processes that may run at a time.
//!
//! The run with the most ranks is tried first, alone. Then the number of processes is limited so
//! that 80 % of the memory that was free at the begin is enough, if each one needs as much as the
//! largest so far.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Share of the free memory that is used, in percent. \[choice\]
const MEMORY_PERCENT: u64 = 80;

/// A run: the position of the point in the order of keys, and the seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PointRun {
    pub(super) position: usize,
    pub(super) seed: u64,
}

/// Runs that wait.
#[derive(Debug)]
pub(super) struct RunQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Number of processes.
    jobs: usize,
    /// Free memory in bytes at the begin, if the system tells.
    memory: Option<u64>,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<PointRun>,
    /// Number of runs in progress.
    running: usize,
    /// Largest memory of a process in bytes.
    peak: Option<u64>,
    closed: bool,
}

impl RunQueue {
    pub(super) fn new(jobs: usize, memory: Option<u64>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            jobs,
            memory,
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run at the end.
    pub(super) fn push(&self, job: PointRun) {
        self.lock_state().waiting.push_back(job);
        self.changed.notify_all();
    }

    /// Closes the queue and returns the waiting runs: no run starts after the runs in progress.
    pub(super) fn close_queue(&self) -> Vec<PointRun> {
        let mut state = self.lock_state();
        state.closed = true;
        self.changed.notify_all();
        state.waiting.drain(..).collect()
    }

    /// Takes the next run, when there may be one more; `None` when the queue is closed.
    pub(super) fn take_run(&self) -> Option<PointRun> {
        let mut state = self.lock_state();
        loop {
            if state.closed {
                return None;
            }
            if state.running < self.allowed(state.peak)
                && let Some(job) = state.waiting.pop_front()
            {
                state.running += 1;
                return Some(job);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that a run has ended. `peak`: memory of the process in bytes.
    pub(super) fn note_run_end(&self, peak: Option<u64>) {
        let mut state = self.lock_state();
        state.running -= 1;
        state.peak = Some(state.peak.unwrap_or(0).max(peak.unwrap_or(0)));
        self.changed.notify_all();
    }

    /// Returns the number of processes that may run at a time.
    fn allowed(&self, peak: Option<u64>) -> usize {
        let Some(peak) = peak else {
            return 1;
        };
        let usable = self
            .memory
            .map_or(u64::MAX, |memory| memory / 100 * MEMORY_PERCENT);
        let fitting = usable.checked_div(peak).unwrap_or(u64::MAX);
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        self.jobs.min(fitting).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_fit_into_the_memory() {
        let queue = RunQueue::new(8, Some(1000));
        assert_eq!(queue.allowed(None), 1);
        assert_eq!(queue.allowed(Some(0)), 8);
        assert_eq!(queue.allowed(Some(200)), 4);
        assert_eq!(queue.allowed(Some(2000)), 1);
        assert_eq!(RunQueue::new(8, None).allowed(Some(2000)), 8);
    }

    #[test]
    fn the_first_run_is_alone() {
        let queue = RunQueue::new(2, None);
        let job = |position| PointRun { position, seed: 0 };
        for position in 0..3 {
            queue.push(job(position));
        }
        assert_eq!(queue.take_run(), Some(job(0)));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| queue.take_run());
            queue.note_run_end(None);
            assert_eq!(second.join().expect("no panic"), Some(job(1)));
        });
        assert_eq!(queue.take_run(), Some(job(2)));
        assert!(queue.close_queue().is_empty());
        assert_eq!(queue.take_run(), None);
    }
}
