//! One run as a job: a leaf's path in, what the run tells out. Whoever does a job, the result is the same.
//!
//! A worker keeps its path from one job to the next: what both have in common is executed again, but its clocks are not computed
//! again.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use sim_core::StepKind;

use crate::facts::{Facts, SharedLists};
use crate::independence::Lists;
use crate::races::{Races, Sink};
use crate::walk::Walk;
use crate::{Collector, End, Event, Halt, Observer, Run};

/// A leaf to run.
#[derive(Debug)]
pub(crate) struct Job {
    /// From 1.
    pub(crate) number: u32,
    /// The way to the leaf.
    pub(crate) path: Vec<Event>,
    /// Races of so many events at the beginning need not be looked at, unless the run is such that all have to.
    pub(crate) done: usize,
    /// All races have to be looked at.
    pub(crate) thorough: bool,
    pub(crate) facts: Arc<Facts>,
}

/// What a run tells.
#[derive(Debug)]
pub(crate) struct Ran<T> {
    /// All its events.
    pub(crate) events: Vec<Event>,
    pub(crate) end: End,
    /// What the collector saw.
    pub(crate) seen: T,
    /// Races of so many events at the beginning were not looked at.
    pub(crate) done: usize,
    /// Such runs must have all their races looked at.
    pub(crate) thorough: bool,
    /// Steps executed for it, those included that led to the leaf.
    pub(crate) transitions: u64,
    /// Seconds of real time that it took.
    pub(crate) seconds: f64,
    /// Who used which barrier, which is for so many.
    pub(crate) users: Vec<(u16, u32, u32)>,
    pub(crate) sequences: Sequences,
}

/// The sequences that the races of a run tell, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    /// The place of each, and its length.
    places: Vec<(usize, usize)>,
    events: Vec<Event>,
}

impl Sequences {
    /// Hands them over in order.
    pub(crate) fn hand_over(&self, lists: &Lists, sink: &mut impl Sink) {
        let mut from = 0;
        for &(place, length) in &self.places {
            sink.insert(lists, place, &self.events[from..from + length]);
            from += length;
        }
    }
}

impl Sink for Sequences {
    fn insert(&mut self, _: &Lists, place: usize, sequence: &[Event]) {
        self.places.push((place, sequence.len()));
        self.events.extend_from_slice(sequence);
    }
}

/// Keeps what was seen of a run until it is asked for.
pub(crate) struct Look<C: Collector>(pub(crate) Rc<RefCell<Option<C::Seen>>>);

impl<C: Collector> Observer for Look<C> {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        *self.0.borrow_mut() = Some(C::look(run));
        ControlFlow::Continue(())
    }
}

/// Somebody who does jobs.
pub(crate) struct Worker<'a, C: Collector> {
    pub(crate) walk: Walk<'a>,
    seen: Rc<RefCell<Option<C::Seen>>>,
    races: Races,
    facts: Arc<Facts>,
}

impl<'a, C: Collector> Worker<'a, C> {
    /// A worker with its own program; `seen` is what the observer of the walk writes to.
    pub(crate) fn new(
        mut walk: Walk<'a>,
        seen: Rc<RefCell<Option<C::Seen>>>,
        lists: &SharedLists,
    ) -> Self {
        walk.machine.notes_users = false;
        walk.machine.shared_lists = Some(lists.clone());
        Self {
            walk,
            seen,
            races: Races::default(),
            facts: Arc::default(),
        }
    }

    /// Does a job. If something is learnt, the facts of the walk's machine say it then.
    pub(crate) fn run(&mut self, job: &Job) -> Result<Ran<C::Seen>, Halt> {
        let result = self.run_and_look(job);
        if result.is_err() {
            // What was half done is of no use.
            self.walk.clear();
            self.facts = Arc::default();
        }
        result
    }

    fn run_and_look(&mut self, job: &Job) -> Result<Ran<C::Seen>, Halt> {
        let walk = &mut self.walk;
        if !Arc::ptr_eq(&self.facts, &job.facts) {
            walk.clear();
            walk.machine.facts = (*job.facts).clone();
            self.facts = Arc::clone(&job.facts);
        }
        if let Some(lists) = &walk.machine.shared_lists {
            lists.bring_to(&mut walk.machine.lists);
        }
        let known = walk.path.events().iter().zip(&job.path);
        let common = known.take_while(|(one, other)| one.is_same_step(other));
        let common = common.count();
        while walk.path.len() > common {
            walk.retreat();
        }
        let (before, begun) = (walk.machine.transitions, walk.seconds());
        walk.reach()?;
        for planned in &job.path[common..] {
            walk.advance_as_planned(planned)?;
        }
        while let Some((actor, choice)) = walk.first_step_within_bounds() {
            walk.advance(actor, choice)?;
        }
        let end = walk.end();
        walk.end_run()?;
        let thorough = (0..walk.path.len()).any(|position| walk.needs_all_races(position));
        let looks_at_all = thorough || job.thorough || walk.options.every_race;
        let done = if looks_at_all { 0 } else { job.done };
        let mut sequences = Sequences::default();
        self.races.look(walk, done, &mut sequences)?;
        Ok(Ran {
            events: walk.path.events().to_vec(),
            end,
            seen: self.seen.take().expect("the end of a run is looked at"),
            done,
            thorough,
            transitions: walk.machine.transitions - before,
            seconds: walk.seconds() - begun,
            users: users(walk),
            sequences,
        })
    }
}

/// Who used which barrier in a run.
fn users(walk: &Walk<'_>) -> Vec<(u16, u32, u32)> {
    let events = walk.path.events().iter();
    let arrivals = events.filter(|event| event.kind == StepKind::BarrierAsyncLock);
    arrivals
        .map(|event| {
            let size = walk.machine.stepper.barrier_size(event.object);
            (event.actor, event.object, size)
        })
        .collect()
}
