//! Computations of an actor on its host, with threads, priority and bound.
//!
//! An execution with t threads uses t cores at a time: the execution has t times the flop, t times
//! the share of one thread, and at most the speed of t cores. Threads beyond the number of cores
//! share these cores.
//!
//! *Not modelled*: threads that end at different dates; the cost of starting or joining threads.

use std::rc::Rc;

use crate::activity::{Activity, ActivityError, end_result};
use crate::kernel::ActivityKind;
use crate::operation::{NextAction, Operation};
use crate::{Actor, Transition};

/// A computation to be started; made by [`Actor::execution`].
///
/// ```
/// # use sim_core::{Actor, Simulation};
/// # let mut simulation = Simulation::with_constant_model(1);
/// # simulation.spawn("actor", 0, |me: Actor| async move {
/// let work = me.execution(1e9).thread_count(2).priority(2.0).start();
/// assert_eq!(work.remaining(), 2e9);
/// # work.wait().await.unwrap();
/// # });
/// # assert!(simulation.run().outcome == sim_core::Outcome::Finished);
/// ```
#[must_use = "nothing is computed before it is started"]
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    actor: &'a Actor,
    flops: f64,
    threads: u32,
    priority: f64,
    bound: f64,
}

impl Execution<'_> {
    /// Sets the number of threads. Each of them computes the whole amount of flop. The default is
    /// 1.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn thread_count(mut self, count: u32) -> Self {
        assert!(count > 0, "a computation needs at least one thread");
        self.threads = count;
        self
    }

    /// The share of each thread relative to other computations on the host. 1, if this is not
    /// called.
    ///
    /// # Panics
    /// If `priority` is not above 0.
    pub fn priority(mut self, priority: f64) -> Self {
        check_limit("priority", priority);
        self.priority = priority;
        self
    }

    /// At most this many flop/s, all threads together. As many as the cores give, if this is not
    /// called.
    ///
    /// # Panics
    /// If `bound` is not above 0.
    pub fn bound(mut self, bound: f64) -> Self {
        check_limit("bound", bound);
        self.bound = bound;
        self
    }

    /// Starts the computation without waiting for its end.
    #[must_use]
    pub fn start(self) -> Activity {
        self.actor.begin_prepared(self.prepare_execution())
    }

    fn prepare_execution(self) -> u32 {
        let kind = ActivityKind::Exec {
            threads: self.threads,
            priority: self.priority,
        };
        let flops = self.flops * f64::from(self.threads);
        let mut kernel = self.actor.kernel.borrow_mut();
        (kernel.objects.activities).prepare_work(self.actor.id.0, kind, flops, self.bound)
    }
}

fn check_limit(what: &str, value: f64) {
    assert!(value > 0.0, "a {what} must be above 0, not {value}");
}

impl Actor {
    /// A computation of `flops` flop per thread on the actor's host, to be started.
    ///
    /// # Panics
    /// If `flops` is negative or not finite.
    pub fn execution(&self, flops: f64) -> Execution<'_> {
        assert!(
            flops >= 0.0 && flops.is_finite(),
            "an amount of flop must be finite and at least 0, not {flops}"
        );
        Execution {
            actor: self,
            flops,
            threads: 1,
            priority: 1.0,
            bound: f64::INFINITY,
        }
    }

    /// Computes `flops` flop on the actor's host.
    ///
    /// # Errors
    /// [`ActivityError`] if the host fails.
    ///
    /// # Panics
    /// If `flops` is negative or not finite.
    #[inline]
    #[track_caller]
    pub fn execute(&self, flops: f64) -> Operation<'_, Result<(), ActivityError>> {
        let slot = self.execution(flops).prepare_execution();
        self.run_prepared(slot)
    }

    /// Starts a computation of `flops` flop on the host of the actor without waiting for the end.
    ///
    /// # Panics
    /// If `flops` is negative or not finite.
    #[must_use]
    pub fn start_execution(&self, flops: f64) -> Activity {
        self.execution(flops).start()
    }

    /// Starts a computation with a share of `priority` relative to others on the host and at most
    /// `bound` flop/s.
    ///
    /// # Panics
    /// If `flops` is negative or not finite, or if `priority` or `bound` is not above 0.
    #[must_use]
    pub fn start_execution_with(&self, flops: f64, priority: f64, bound: f64) -> Activity {
        self.execution(flops)
            .priority(priority)
            .bound(bound)
            .start()
    }

    /// Starts prepared work and waits for its end.
    #[inline]
    #[track_caller]
    pub(crate) fn run_prepared(&self, slot: u32) -> Operation<'_, Result<(), ActivityError>> {
        let wait = Transition::Wait {
            activity: slot,
            owned: true,
        };
        Operation::new(&self.kernel, wait, |kernel, code, answer| {
            let result = end_result(answer);
            kernel.objects.activities.release_activity(code.object());
            NextAction::Return(result)
        })
    }

    /// Starts prepared work without waiting for its end.
    pub(crate) fn begin_prepared(&self, slot: u32) -> Activity {
        self.kernel.borrow_mut().begin_work(slot);
        Activity::new(Rc::clone(&self.kernel), slot, false)
    }
}
