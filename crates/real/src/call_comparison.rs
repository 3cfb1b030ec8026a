//! The collective calls of all ranks, compared with each other at the coordinator.
//!
//! The calls come in batches, the calls of one rank in their order. A call that differs from the
//! call of another rank at the same position ends the run. So does a rank that has ended without a
//! call that a continuing rank has made.
//!
//! *Not compared*: starts of persistent requests that a rank which has ended has not made; calls
//! after a rank was lost in a run that continues, because the calls of other ranks then depend on
//! the time at which they learn of the loss.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mpi::CallLog;

use super::call_batch::CallBatch;
use super::clock;

/// Time that the caller of a collective has to end when another rank has ended without the call. If
/// the caller also ends, it did not wait: the missing call is then a warning, as in a simulation.
const END_GRACE: Duration = Duration::from_secs(1);

/// A mistake in collective calls.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CallMistake {
    /// The world rank that has made the mistake.
    pub rank: u32,
    /// The mistake, in words.
    pub message: String,
    /// The time of detection, on this machine's clock in nanoseconds.
    pub found_ns: u64,
}

/// A rank of a communicator.
#[derive(Clone, Copy, Debug)]
struct Caller {
    world_rank: u32,
    /// Number of calls that the rank has made in the communicator.
    calls: u32,
}

/// The calls of all ranks.
#[derive(Default, Debug)]
pub(super) struct CallComparison {
    log: CallLog,
    /// By context and first world rank: the ranks that have called there.
    communicators: BTreeMap<(u32, u32), BTreeMap<u32, Caller>>,
    /// The world ranks that have finished.
    finished: BTreeSet<u32>,
    mistake: Option<CallMistake>,
    /// When missing calls are looked for.
    look_ns: Option<u64>,
    is_over: bool,
}

/// Context of the collectives of the world.
const WORLD: (u32, u32) = (1, 0);

impl CallComparison {
    /// Compares calls of a rank.
    pub(super) fn compare_calls(&mut self, world_rank: u32, batch: &CallBatch) {
        for (call, first, count) in batch.runs() {
            let (rank, in_world) = call.caller();
            if self.is_over || in_world != world_rank {
                return;
            }
            let end = first.saturating_add(count);
            // Starts of persistent requests have no order from which a missing one is known.
            if !mpi::is_persistent_start(first) {
                let callers = self.communicators.entry(call.communicator()).or_default();
                let caller = Caller {
                    world_rank,
                    calls: end,
                };
                callers.insert(rank, caller);
            }
            for number in first..end {
                if let Err(mismatch) = self.log.compare_call(number, call, None) {
                    return self.record_mistake(world_rank, mismatch.to_string());
                }
            }
        }
        self.is_over |= batch.is_cut;
        if !self.finished.is_empty() {
            self.look_later();
        }
    }

    /// Records that a rank has finished its program.
    pub(super) fn finish_rank(&mut self, world_rank: u32) {
        self.finished.insert(world_rank);
        let caller = Caller {
            world_rank,
            calls: 0,
        };
        let world = self.communicators.entry(WORLD).or_default();
        world.entry(world_rank).or_insert(caller);
        self.look_later();
    }

    /// Compares no more calls.
    pub(super) fn stop(&mut self) {
        self.is_over = true;
        self.look_ns = None;
    }

    fn record_mistake(&mut self, rank: u32, message: String) {
        self.stop();
        self.mistake = Some(CallMistake {
            rank,
            message,
            found_ns: clock::monotonic_ns(),
        });
    }

    fn look_later(&mut self) {
        if !self.is_over {
            self.look_ns.get_or_insert_with(|| clock::after(END_GRACE));
        }
    }

    /// Returns the time at which a mistake can be found without further calls.
    pub(super) const fn look_ns(&self) -> Option<u64> {
        self.look_ns
    }

    /// Returns the mistake that was found, if there is one. `has_failed`: a rank has failed, which
    /// may be because another one has ended.
    pub(super) fn mistake(&mut self, has_failed: bool) -> Option<&CallMistake> {
        let is_late = self
            .look_ns
            .is_some_and(|date| clock::until(date).is_zero());
        if is_late || has_failed && !self.is_over {
            self.look_ns = None;
            if let Some((rank, message)) = self.missing_call() {
                self.record_mistake(rank, message);
            }
        }
        self.mistake.as_ref()
    }

    /// Returns a rank that has ended without a call that one which continues has made.
    fn missing_call(&self) -> Option<(u32, String)> {
        let has_ended = |caller: &Caller| self.finished.contains(&caller.world_rank);
        self.communicators
            .iter()
            .find_map(|(communicator, callers)| {
                let running = callers.values().filter(|caller| !has_ended(caller));
                let made = running.map(|caller| caller.calls).max()?;
                let mut ended = callers.iter().filter(|(_, caller)| has_ended(caller));
                let (&rank, caller) = ended.find(|(_, caller)| caller.calls < made)?;
                let message = self.log.absence(*communicator, caller.calls, rank)?;
                Some((caller.world_rank, message))
            })
    }

    /// Returns the calls that not all ranks have made: the world rank that was the first, and the
    /// others, in words.
    pub(super) fn open_calls(&self) -> Vec<(u32, String)> {
        if self.is_over {
            return Vec::new();
        }
        self.log.open_calls()
    }
}
