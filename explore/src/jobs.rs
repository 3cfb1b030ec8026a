//! A part of the search as a job: a leaf's path in, what is below it out. Whoever does a job, the result is the same.
//!
//! A job ends early after a number of steps, so that what is left can be handed out again.
//!
//! A worker keeps its path from one job to the next: what both have in common is executed again, but its clocks are not computed
//! again.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use sim_core::StepKind;

use crate::facts::{Facts, SharedLists};
use crate::odpor::Odpor;
use crate::wakeup::Trees;
use crate::walk::Walk;
use crate::{Collector, End, Event, Halt, Observer, Run, Statistics};

/// A job ends at the first end of a run after so many executed steps: a few milliseconds.
const STEPS_MAX: u64 = 4096;

/// A leaf to explore from.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// From 1.
    pub(crate) number: u32,
    /// The way to the leaf.
    pub(crate) path: Vec<Event>,
    /// Races of so many events at the beginning need not be looked at in the first run, unless it is such that all have to.
    pub(crate) done: usize,
    /// All races have to be looked at.
    pub(crate) thorough: bool,
    /// The most runs.
    pub(crate) runs_max: u64,
    pub(crate) facts: Arc<Facts>,
}

/// One run of a job.
#[derive(Debug)]
pub(crate) struct OneRun<T> {
    pub(crate) end: End,
    /// The number of its events.
    pub(crate) length: usize,
    /// What the collector saw.
    pub(crate) seen: T,
}

/// What a job tells.
#[derive(Debug)]
pub(crate) struct Ran<T> {
    /// In order.
    pub(crate) runs: Vec<OneRun<T>>,
    /// What is left below the leaf, and the sequences for what is above.
    pub(crate) trees: Trees,
    /// The path where it ended: the way to the leaf if nothing is left.
    pub(crate) path: Vec<Event>,
    /// How many events at the beginning of the path have had their races looked at.
    pub(crate) done: usize,
    /// All races were looked at, from the first run on.
    pub(crate) thorough_at_first: bool,
    /// All races have to be looked at from now on.
    pub(crate) thorough: bool,
    /// New events, and steps executed for them.
    pub(crate) events: u64,
    pub(crate) transitions: u64,
    /// Who used which barrier, which is for so many.
    pub(crate) users: Vec<(u16, u32, u32)>,
}

/// What is seen during one job.
#[derive(Debug)]
pub(crate) struct Sight<T> {
    runs: Vec<OneRun<T>>,
    users: Vec<(u16, u32, u32)>,
}

impl<T> Default for Sight<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            users: Vec::new(),
        }
    }
}

/// Keeps what was seen of runs until it is asked for.
pub(crate) struct Look<C: Collector>(pub(crate) Rc<RefCell<Sight<C::Seen>>>);

impl<C: Collector> Observer for Look<C> {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let mut sight = self.0.borrow_mut();
        sight.runs.push(OneRun {
            end: run.end,
            length: run.path.len(),
            seen: C::look(run),
        });
        for event in run.path.events() {
            if event.kind == StepKind::BarrierAsyncLock {
                let size = run.stepper.barrier_size(event.object);
                let user = (event.actor, event.object, size);
                if !sight.users.contains(&user) {
                    sight.users.push(user);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Somebody who does jobs.
pub(crate) struct Worker<'a, C: Collector> {
    pub(crate) walk: Walk<'a>,
    sight: Rc<RefCell<Sight<C::Seen>>>,
    facts: Arc<Facts>,
}

impl<'a, C: Collector> Worker<'a, C> {
    /// A worker with its own program; `sight` is what the observer of the walk writes to.
    pub(crate) fn new(
        mut walk: Walk<'a>,
        sight: Rc<RefCell<Sight<C::Seen>>>,
        lists: &SharedLists,
    ) -> Self {
        walk.machine.notes_users = false;
        walk.machine.shared_lists = lists.clone();
        Self {
            walk,
            sight,
            facts: Arc::default(),
        }
    }

    /// Does a job. If something is learnt, the facts of the walk's machine say it then.
    pub(crate) fn run(&mut self, job: &Job) -> Result<Ran<C::Seen>, Halt> {
        self.sight.take();
        let result = self.explore(job);
        if result.is_err() {
            // What was half done is of no use.
            self.walk.clear();
            self.facts = Arc::default();
        }
        result
    }

    fn explore(&mut self, job: &Job) -> Result<Ran<C::Seen>, Halt> {
        let before = self.walk.machine.transitions;
        self.walk.statistics = Statistics::default();
        let known = self.go_to(job)?;
        let walk = &mut self.walk;
        let (mut runs, mut thorough_at_first) = (0, false);
        let mut search = Odpor::below(walk, job.done);
        search.explore_while(walk, |walk| {
            if runs == 0 {
                thorough_at_first = walk.thorough;
            }
            runs += 1;
            runs < job.runs_max && walk.machine.transitions < before + STEPS_MAX
        })?;
        let (trees, done) = search.into_trees();
        let sight = self.sight.take();
        Ok(Ran {
            runs: sight.runs,
            trees,
            path: walk.path.events().to_vec(),
            done,
            thorough_at_first,
            thorough: walk.thorough,
            // The way to the leaf is new but for what the run before had.
            events: walk.statistics.events + known as u64,
            transitions: walk.machine.transitions - before,
            users: sight.users,
        })
    }

    /// Goes to the leaf. How many of its events the path had already.
    fn go_to(&mut self, job: &Job) -> Result<usize, Halt> {
        let walk = &mut self.walk;
        if !Arc::ptr_eq(&self.facts, &job.facts) {
            walk.clear();
            walk.machine.facts = (*job.facts).clone();
            self.facts = Arc::clone(&job.facts);
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
