//! A bound for ranks that only let time pass, on a device without time.
//!
//! Computations and timers of the ideal device end inside the step that starts them. A rank that
//! sleeps in a loop would never leave that step. So after [`SLEEPS_MAX`] of them in one step, with
//! no packet posted in between, the next one never ends: an explorer reports a livelock.
//!
//! *Not modelled*: the reason of the loop. A rank that would continue after more computations and
//! timers is stopped, too, and reported.

use std::cell::{Cell, RefCell};

use sim_core::ActorId;

/// Maximum number of computations and timers of one rank in one step: as many as the steps of an
/// explored run, unless `--max-depth` says otherwise. Then the rank is stopped.
const SLEEPS_MAX: u32 = 100_000;

/// Computations and timers in the present step, and the ranks that were stopped in this run.
#[derive(Debug, Default)]
pub(crate) struct Sleeps {
    /// The rank, the step, and their number.
    latest: Cell<(u32, u32, u32)>,
    stopped: RefCell<Vec<u32>>,
}

impl Sleeps {
    /// Returns true if a computation or a timer of a rank ends; false if the rank is stopped.
    pub(crate) fn may_end(&self, rank: u32, step: u32) -> bool {
        let (before, in_step, count) = self.latest.get();
        let count = if (before, in_step) == (rank, step) {
            count + 1
        } else {
            1
        };
        self.latest.set((rank, step, count));
        if count > SLEEPS_MAX {
            self.stopped.borrow_mut().push(rank);
        }
        count <= SLEEPS_MAX
    }

    /// Restarts the count: the present rank has done another action.
    pub(crate) fn reset_count(&self) {
        self.latest.set((0, 0, 0));
    }

    /// Returns true if an actor is a rank that was stopped.
    pub(crate) fn has_stopped(&self, actor: ActorId) -> bool {
        self.stopped.borrow().contains(&(actor.number() - 1))
    }
}
