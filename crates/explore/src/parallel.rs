//! The optimal search on several threads: one owns the trees, all threads explore below leaves.
//!
//! The exploration below a leaf is a pure function of its path, and the path of a pending leaf
//! never changes ([`wakeup`](crate::wakeup)). So any thread may explore leaves ahead of their turn,
//! and the results go into the trees strictly in the order of the sequential search. The runs and
//! their order are the same for any number of threads; so counts and findings are the same too.
//!
//! More threads help only if enough leaves are pending: if each run leads to one other run, one
//! thread works at a time.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::drive::Halt;
use crate::independence::Lists;
use crate::jobs::{JobLog, JobResult, LeafJob, RecordingObserver, User, Worker};
use crate::properties::ProgramProperties;
use crate::seeded::Seeded;
use crate::state::SearchState;
use crate::threads::{Done, Exchange, Threads, do_job, without_bounds, work_on_jobs};
use crate::wakeup::Next;
use crate::walk::Walk;
use crate::{Bound, Collector, Event, Options};

/// Number of pending leaves that are considered for exploration ahead of their turn.
const LOOKED_AT: usize = 64;

/// The search.
struct Owner<'a, C: Collector> {
    state: SearchState,
    worker: Worker<'a, C>,
    exchange: &'a Exchange<C::Observation>,
    options: &'a Options,
    collector: &'a mut C,
    lists: Lists,
    properties: Arc<ProgramProperties>,
    /// Jobs so far.
    jobs: u32,
    /// Number of leaves that are handed out ahead of their turn.
    ahead: usize,
    fresh: Vec<LeafJob>,
}

/// Continues a search. Returns the program, the state of the search and the reason for the stop.
pub(crate) fn continue_search<C: Collector>(
    threads: &Threads<'_>,
    stepper: Stepper,
    state: SearchState,
    options: &Options,
    collector: &mut C,
    watch: Stopwatch,
) -> (Stepper, SearchState, Option<Halt>) {
    let exchange = Exchange::new(state.lists.clone());
    let own_options = without_bounds(options);
    let sight: Rc<RefCell<JobLog<C::Observation>>> = Rc::default();
    let mut look = RecordingObserver::<C>(Rc::clone(&sight));
    let walk = Walk::new(stepper, &own_options, &mut look, watch);
    let mut owner = Owner {
        properties: Arc::new(state.properties.clone()),
        worker: Worker::new(walk, sight, &exchange.lists),
        state,
        exchange: &exchange,
        options,
        collector,
        lists: Lists::default(),
        jobs: 0,
        ahead: 2 * threads.number,
        fresh: Vec::new(),
    };
    let exchange = &exchange;
    let result = std::thread::scope(|scope| {
        for _ in 1..threads.number {
            scope.spawn(move || work_on_jobs::<C>(threads, options, exchange));
        }
        let mut result = Ok(Ok(()));
        (threads.around)(&mut || result = catch_unwind(AssertUnwindSafe(|| owner.explore_trees())));
        exchange.end_threads();
        result
    });
    let halt = match result {
        Ok(result) => result.err(),
        Err(panic) => resume_unwind(panic),
    };
    let Owner { state, worker, .. } = owner;
    (worker.walk.into_stepper(), state, halt)
}

impl<C: Collector> Owner<'_, C> {
    fn explore_trees(&mut self) -> Result<(), Halt> {
        while let Some(next) = self.state.trees.next_action() {
            match next {
                Next::Leave => {
                    let event = self.state.path.pop();
                    self.state.trees.leave_place(event);
                    self.state.done = self.state.done.min(self.state.path.len());
                }
                Next::Leaf => {
                    let (path, done) = (self.state.path.clone(), self.state.done);
                    let job = self.make_job(path, done);
                    let ran = self.run_here(&job)?;
                    self.take_in(&job, ran)?;
                }
                Next::Step(_) => {
                    let job = self.hand_out();
                    let ran = self.wait_for(job.number)?;
                    self.take_in(&job, ran)?;
                }
            }
        }
        Ok(())
    }

    fn make_job(&mut self, path: Vec<Event>, done: usize) -> LeafJob {
        self.jobs += 1;
        LeafJob {
            number: self.jobs,
            path,
            done,
            thorough: self.state.thorough,
            runs_max: u64::MAX,
            properties: Arc::clone(&self.properties),
        }
    }

    /// Hands out the next leaves that no thread has; returns the job of the first leaf.
    fn hand_out(&mut self) -> LeafJob {
        let mut wanted = self.ahead.saturating_sub(self.exchange.waiting());
        let (mut first, mut number) = (None, self.jobs);
        let Self {
            state,
            fresh,
            properties,
            ..
        } = self;
        let (path, thorough) = (&state.path, state.thorough);
        state.trees.show_pending(LOOKED_AT, |leaf| {
            if first.is_some() && (wanted == 0 || *leaf.job != 0) {
                return;
            }
            let is_new = *leaf.job == 0;
            if is_new {
                number += 1;
                *leaf.job = number;
                wanted = wanted.saturating_sub(1);
            }
            let job = LeafJob {
                number: *leaf.job,
                path: [&path[..leaf.place], leaf.steps].concat(),
                done: leaf.shared,
                thorough,
                runs_max: u64::MAX,
                properties: Arc::clone(properties),
            };
            if first.is_none() {
                first = Some(job.clone());
            }
            if is_new {
                fresh.push(job);
            }
        });
        self.jobs = number;
        self.exchange.hand_out(&mut self.fresh);
        first.expect("a pending step leads to a pending leaf")
    }

    /// Waits for a job, doing others meanwhile.
    fn wait_for(&mut self, number: u32) -> Result<JobResult<C::Observation>, Halt> {
        loop {
            match self.exchange.take_outcome(number) {
                (Some(done), _) => return self.unpack_outcome(done),
                (_, Some(job)) => {
                    let done = do_job(&mut self.worker, &job);
                    if let Done::Halted(Halt::Bound(bound), ..) = done {
                        return Err(Halt::Bound(bound));
                    }
                    if job.number == number {
                        return self.unpack_outcome(done);
                    }
                    self.exchange.put_outcome(&job, done);
                }
                (None, None) => self.worker.walk.look_at_clock()?,
            }
        }
    }

    fn run_here(&mut self, job: &LeafJob) -> Result<JobResult<C::Observation>, Halt> {
        let done = do_job(&mut self.worker, job);
        self.unpack_outcome(done)
    }

    /// The run, or why there is none.
    fn unpack_outcome(
        &mut self,
        done: Done<C::Observation>,
    ) -> Result<JobResult<C::Observation>, Halt> {
        match done {
            Done::JobResult(ran) => Ok(ran),
            Done::Halted(halt, properties, users) => {
                if matches!(halt, Halt::Again) {
                    // The users of barriers are noted here, and one actor too many came first.
                    self.record_users(&users)?;
                    self.state.properties.merge_order_sensitive(&properties);
                    self.state.properties.may_have_effects = properties.may_have_effects;
                    self.state.properties.has_invariants |= properties.has_invariants;
                }
                Err(halt)
            }
            Done::Panicked(panic) => resume_unwind(panic),
        }
    }

    /// Inserts the result of a job into the trees, as the sequential search does.
    fn take_in(&mut self, job: &LeafJob, mut ran: JobResult<C::Observation>) -> Result<(), Halt> {
        if self.state.thorough && !ran.thorough_at_first {
            // It was handed out before anybody knew that all races have to be looked at.
            ran = self.run_again(job, u64::MAX)?;
        }
        let left = self
            .options
            .executions_max
            .saturating_sub(self.state.statistics.count_runs());
        if ran.runs.len() as u64 > left {
            ran = self.run_again(job, left)?;
        }
        let mut count: u64 = 0;
        let mut wish = ControlFlow::Continue(());
        let runs = std::mem::take(&mut ran.runs);
        let all = runs.len() as u64;
        for run in runs {
            self.record_users(&run.users)?;
            count += 1;
            self.state.statistics.count_run(run.end, run.length);
            if let Some(seen) = run.seen {
                wish = self.collector.collect_observation(seen);
            }
            if wish.is_break() {
                break;
            }
        }
        if count < all {
            ran = self.run_again(job, count)?;
        }
        self.take_over(job, &ran)?;
        self.collector.on_checkpoint();
        self.look_at_bounds(wish)
    }

    /// Does a job here, with all that is known by now, and with no more runs than these.
    fn run_again(
        &mut self,
        job: &LeafJob,
        runs_max: u64,
    ) -> Result<JobResult<C::Observation>, Halt> {
        let job = LeafJob {
            thorough: self.state.thorough,
            runs_max,
            ..job.clone()
        };
        self.run_here(&job)
    }

    fn take_over(&mut self, job: &LeafJob, ran: &JobResult<C::Observation>) -> Result<(), Halt> {
        self.exchange.lists.bring_to(&mut self.lists);
        let state = &mut self.state;
        let (place, leaf) = (state.path.len(), job.path.len());
        for event in &ran.path[place..leaf] {
            state.trees.descend(event, &self.lists);
            state.path.push(*event);
        }
        let is_new = state.trees.next_action() == Some(Next::Leaf)
            && (state.trees.start_run() || !Seeded::from_options(self.options).is_none());
        if !is_new {
            let repeats = self.worker.walk.repeats_steps(&state.path);
            return Err(Halt::ExploredTwice { repeats });
        }
        state.trees.take_over(&self.lists, &ran.trees);
        state.path.extend_from_slice(&ran.path[leaf..]);
        state.done = ran.done;
        state.thorough |= ran.thorough;
        state.statistics.events += ran.events - place as u64;
        state.statistics.transitions += ran.transitions;
        let pending = &mut state.statistics.pending_max;
        *pending = (*pending).max(state.trees.pending_max());
        Ok(())
    }

    /// Notes users of barriers.
    fn record_users(&mut self, users: &[User]) -> Result<(), Halt> {
        for &(actor, barrier, size) in users {
            if self.state.properties.note_user(actor, barrier, size) {
                return Err(Halt::Again);
            }
        }
        Ok(())
    }

    fn look_at_bounds(&mut self, wish: ControlFlow<()>) -> Result<(), Halt> {
        let statistics = &self.state.statistics;
        if let Some(progress) = &self.options.progress {
            progress.update_counts(statistics.executions, statistics.transitions);
        }
        if wish.is_break() {
            return Err(Halt::Stopped);
        }
        if statistics.count_runs() >= self.options.executions_max {
            return Err(Halt::Bound(Bound::Executions));
        }
        if statistics.transitions >= self.options.transitions_max {
            return Err(Halt::Bound(Bound::Transitions));
        }
        self.worker.walk.look_at_clock()
    }
}
