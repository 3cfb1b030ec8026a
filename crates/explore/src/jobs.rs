//! A part of the search as a job: the input is the path of a leaf, the result is the part of the
//! search below the leaf. The result does not depend on the thread.
//!
//! A job ends early after a number of steps, so that the rest can be handed out again.
//!
//! A worker keeps its path from one job to the next: the common prefix is executed again, but the
//! clocks of the prefix are not computed again.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use sim_core::{StepKind, Stepper};

use crate::odpor::Odpor;
use crate::properties::{ProgramProperties, SharedLists};
use crate::wakeup::Trees;
use crate::walk::Walk;
use crate::{Collector, End, Event, Halt, Observer, Run, Statistics};

/// Number of executed steps after which a job stops at the next end of a run: a few milliseconds.
const STEPS_MAX: u64 = 4096;

/// A leaf to explore from.
#[derive(Clone, Debug)]
pub(crate) struct LeafJob {
    /// From 1.
    pub(crate) number: u32,
    /// The path of the leaf.
    pub(crate) path: Vec<Event>,
    /// Number of events at the start of the path. Their races need not be examined in the first
    /// run, unless that run requires all races.
    pub(crate) done: usize,
    /// True if all races must be examined.
    pub(crate) thorough: bool,
    /// The most runs.
    pub(crate) runs_max: u64,
    pub(crate) properties: Arc<ProgramProperties>,
}

/// One run of a job.
#[derive(Debug)]
pub(crate) struct OneRun<T> {
    pub(crate) end: End,
    /// Number of events of the run.
    pub(crate) length: usize,
    /// The observation of the collector.
    pub(crate) seen: Option<T>,
    /// Users of barriers that no earlier run of the job had.
    pub(crate) users: Vec<User>,
}

/// A user of a barrier: the actor, the barrier, and the size of the barrier.
pub(crate) type User = (u16, u32, u32);

/// Result of a job.
#[derive(Debug)]
pub(crate) struct JobResult<T> {
    /// In order.
    pub(crate) runs: Vec<OneRun<T>>,
    /// The pending steps below the leaf, and the sequences for places above the leaf.
    pub(crate) trees: Trees,
    /// The path at the end of the job: the path of the leaf if no step is left.
    pub(crate) path: Vec<Event>,
    /// Number of events at the start of the path. Their races have been examined.
    pub(crate) done: usize,
    /// True if all races were examined, from the first run on.
    pub(crate) thorough_at_first: bool,
    /// True if all races must be examined from now on.
    pub(crate) thorough: bool,
    /// New events, and steps executed for them.
    pub(crate) events: u64,
    pub(crate) transitions: u64,
}

/// Observations during one job.
#[derive(Debug)]
pub(crate) struct JobLog<T> {
    runs: Vec<OneRun<T>>,
    users: Vec<User>,
}

impl<T> JobLog<T> {
    /// Records a run, without an observation if other runs cover the run.
    fn record_run(&mut self, run: &Run<'_>, seen: Option<T>) {
        let users = self.note_users(run.path.events(), run.stepper);
        self.runs.push(OneRun {
            end: run.end,
            length: run.path.len(),
            seen,
            users,
        });
    }

    /// Adds the users of barriers in a run; returns the users that were not known.
    fn note_users(&mut self, events: &[Event], stepper: &Stepper) -> Vec<User> {
        let known = self.users.len();
        for event in events {
            if event.kind == StepKind::BarrierAsyncLock {
                let user = (
                    event.actor,
                    event.object,
                    stepper.barrier_size(event.object),
                );
                if !self.users.contains(&user) {
                    self.users.push(user);
                }
            }
        }
        self.users[known..].to_vec()
    }
}

impl<T> Default for JobLog<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            users: Vec::new(),
        }
    }
}

/// Records the runs of a job.
pub(crate) struct RecordingObserver<C: Collector>(pub(crate) Rc<RefCell<JobLog<C::Observation>>>);

impl<C: Collector> Observer for RecordingObserver<C> {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.0
            .borrow_mut()
            .record_run(run, Some(C::examine_run(run)));
        ControlFlow::Continue(())
    }

    fn note_covered(&mut self, run: &Run<'_>) {
        self.0.borrow_mut().record_run(run, None);
    }
}

/// A worker.
pub(crate) struct Worker<'a, C: Collector> {
    pub(crate) walk: Walk<'a>,
    log: Rc<RefCell<JobLog<C::Observation>>>,
    properties: Arc<ProgramProperties>,
}

impl<'a, C: Collector> Worker<'a, C> {
    /// Creates a worker with its own program; the observer of the walk writes to `log`.
    pub(crate) fn new(
        mut walk: Walk<'a>,
        log: Rc<RefCell<JobLog<C::Observation>>>,
        lists: &SharedLists,
    ) -> Self {
        walk.machine.notes_users = false;
        walk.machine.shared_lists = lists.clone();
        Self {
            walk,
            log,
            properties: Arc::default(),
        }
    }

    /// Executes a job. If the first run discovers a fact, the facts of the walk's machine and
    /// [`Worker::take_users`] name the fact. If a later run discovers a fact, the job ends before
    /// that run: an earlier run may end the search.
    pub(crate) fn run_job(&mut self, job: &LeafJob) -> Result<JobResult<C::Observation>, Halt> {
        let result = self.explore_or_clear(job);
        let runs_max = self.log.borrow().runs.len() as u64;
        if matches!(result, Err(Halt::Again)) && runs_max > 0 {
            return self.explore_or_clear(&LeafJob {
                runs_max,
                ..job.clone()
            });
        }
        result
    }

    /// Users of barriers in the run that ended the latest job, up to the step that discovered a
    /// fact.
    pub(crate) fn take_users(&self) -> Vec<User> {
        std::mem::take(&mut self.log.borrow_mut().users)
    }

    fn explore_or_clear(&mut self, job: &LeafJob) -> Result<JobResult<C::Observation>, Halt> {
        self.log.take();
        let result = self.explore_job(job);
        if result.is_err() {
            let walk = &mut self.walk;
            let mut log = self.log.borrow_mut();
            log.note_users(walk.path.events(), &walk.machine.stepper);
            // What was half done is of no use.
            walk.clear();
            self.properties = Arc::default();
        }
        result
    }

    fn explore_job(&mut self, job: &LeafJob) -> Result<JobResult<C::Observation>, Halt> {
        let before = self.walk.machine.transitions;
        self.walk.statistics = Statistics::default();
        let known = self.go_to(job)?;
        let walk = &mut self.walk;
        let (mut runs, mut thorough_at_first) = (0, false);
        let mut search = Odpor::from_leaf(walk, job.done);
        search.explore_while(walk, |walk| {
            if runs == 0 {
                thorough_at_first = walk.thorough;
            }
            runs += 1;
            runs < job.runs_max && walk.machine.transitions < before + STEPS_MAX
        })?;
        let (trees, done) = search.into_trees();
        let log = self.log.take();
        Ok(JobResult {
            runs: log.runs,
            trees,
            path: walk.path.events().to_vec(),
            done,
            thorough_at_first,
            thorough: walk.thorough,
            // The way to the leaf is new but for what the run before had.
            events: walk.statistics.events + known as u64,
            transitions: walk.machine.transitions - before,
        })
    }

    /// Goes to the leaf. Returns the number of events that were already on the path.
    fn go_to(&mut self, job: &LeafJob) -> Result<usize, Halt> {
        let walk = &mut self.walk;
        if !Arc::ptr_eq(&self.properties, &job.properties) {
            walk.clear();
            walk.machine.properties = (*job.properties).clone();
            self.properties = Arc::clone(&job.properties);
        }
        walk.machine.shared_lists.bring_to(&mut walk.machine.lists);
        let known = walk.path.events().iter().zip(&job.path);
        let common = known.take_while(|(one, other)| one.is_same_step(other));
        let common = common.count();
        while walk.path.len() > common {
            walk.retreat();
        }
        walk.reach()?;
        walk.thorough = job.thorough;
        for planned in &job.path[common..] {
            walk.advance_as_planned(planned)?;
        }
        walk.thorough |= (0..common).any(|position| walk.needs_all_races(position));
        Ok(common)
    }
}
