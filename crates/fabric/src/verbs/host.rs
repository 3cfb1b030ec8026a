//! The surroundings of the adapters: the clock, and the list of the adapters that were called.
//!
//! *Decided here*: a call of a program takes place at the date of the kernel, and the adapter works
//! after the program has gone on to wait, at the same date.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use rdma::AdapterHost;
use sim_core::{KernelHandle, Time};

use super::WAKE;

/// The surroundings of an adapter that the device calls, with the clock of the device.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) clock: Rc<Cell<u64>>,
    pub(super) called: Rc<RefCell<BTreeSet<u32>>>,
    pub(super) rank: u32,
}

impl AdapterHost for Surroundings {
    fn now(&self) -> u64 {
        self.clock.get()
    }

    fn ring_doorbell(&self) {
        self.called.borrow_mut().insert(self.rank);
    }
}

/// The surroundings of an adapter that a rank's program calls.
pub(super) struct ProgramHost {
    surroundings: Surroundings,
    port: KernelHandle,
}

impl ProgramHost {
    pub(super) const fn new(surroundings: Surroundings, port: KernelHandle) -> Self {
        Self { surroundings, port }
    }
}

impl AdapterHost for ProgramHost {
    fn now(&self) -> u64 {
        // The clock of the device may be ahead by a rounded date. It must not be behind either: the
        // device calls the adapter once more when the run has ended.
        let clock = &self.surroundings.clock;
        clock.set(picoseconds(self.port.now()).max(clock.get()));
        clock.get()
    }

    fn ring_doorbell(&self) {
        let Surroundings { called, rank, .. } = &self.surroundings;
        if called.borrow_mut().insert(*rank) {
            self.port
                .with_kernel(|kernel| kernel.set_device_timer(kernel.now(), WAKE));
        }
    }
}

/// Returns the time in whole picoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "dates are not negative, and beyond 213 days the largest number stands for all"
)]
pub(super) fn picoseconds(time: Time) -> u64 {
    (time.as_secs() * 1e12).round() as u64
}
