//! The optimal search on several threads: one keeps the trees, all run leaves.
//!
//! The run of a leaf is a pure function of its path, and the path of a pending leaf never changes ([`wakeup`](crate::wakeup)). So
//! leaves are run ahead of their turn, by anybody, and what they tell goes into the trees strictly in the order of the sequential
//! search. The same runs are run, in the same order, for any number of threads; so counts and findings are the same too.
//!
//! It pays where a run costs more than handing it over, and where leaves are pending at all: a program whose every run tells of
//! one other is explored by one thread at a time. If the first runs turn out to be short, the search goes on alone.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::drive::Halt;
use crate::facts::Facts;
use crate::independence::Lists;
use crate::jobs::{Job, Look, Ran, Worker};
use crate::state::State;
use crate::threads::{Done, Exchange, Threads, do_job, without_bounds, work};
use crate::wakeup::Next;
use crate::walk::Walk;
use crate::{Bound, Collector, Event, Options};

/// So many runs are looked at to know whether they are worth several threads.
const TRIAL: u64 = 500;

/// Runs that take less than this, in seconds, are not: handing one over and back takes a few microseconds, and half of the threads
/// wait for the trees.
const WORTH: f64 = 15e-6;

/// The same for all runs of the trial.
const WORTH_ALL: f64 = WORTH * 500.0;

/// Why the search on several threads is over.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// Everything was explored.
    Done,
    /// It ends before that.
    Halted(Halt),
    /// The runs are too short for several threads.
    TooShort,
}

/// The search.
struct Owner<'a, C: Collector> {
    state: State,
    worker: Worker<'a, C>,
    exchange: &'a Exchange<C::Seen>,
    options: &'a Options,
    collector: &'a mut C,
    lists: Lists,
    facts: Arc<Facts>,
    /// Jobs so far.
    jobs: u32,
    /// How many leaves are handed out ahead of their turn.
    ahead: usize,
    /// The sum of the times that the runs of the trial took.
    seconds: f64,
    /// How many runs there have been.
    runs: u64,
    fresh: Vec<Job>,
}

/// Goes on with a search. Gives the program back, with how far the search has come.
pub(crate) fn run<C: Collector>(
    threads: &Threads<'_>,
    stepper: Stepper,
    state: State,
    options: &Options,
    collector: &mut C,
    watch: Stopwatch,
) -> (Stepper, State, Stopped) {
    let exchange = Exchange::new(state.lists.clone());
    let own_options = without_bounds(options);
    let seen: Rc<RefCell<Option<C::Seen>>> = Rc::default();
    let mut look = Look::<C>(Rc::clone(&seen));
    let walk = Walk::new(stepper, &own_options, &mut look, watch);
    let mut owner = Owner {
        facts: Arc::new(state.facts.clone()),
        worker: Worker::new(walk, seen, &exchange.lists),
        state,
        exchange: &exchange,
        options,
        collector,
        lists: Lists::default(),
        jobs: 0,
        ahead: 4 * threads.number,
        seconds: 0.0,
        runs: 0,
        fresh: Vec::new(),
    };
    let exchange = &exchange;
    let result = std::thread::scope(|scope| {
        for _ in 1..threads.number {
            scope.spawn(move || work::<C>(threads, options, exchange));
        }
        let result = catch_unwind(AssertUnwindSafe(|| owner.explore()));
        exchange.end();
        result
    });
    let stopped = match result {
        Ok(Ok(stopped)) => stopped,
        Ok(Err(halt)) => Stopped::Halted(halt),
        Err(panic) => resume_unwind(panic),
    };
    let Owner { state, worker, .. } = owner;
    (worker.walk.into_stepper(), state, stopped)
}

impl<C: Collector> Owner<'_, C> {
    fn explore(&mut self) -> Result<Stopped, Halt> {
        while let Some(next) = self.state.trees.next() {
            let ran = match next {
                Next::Leave => {
                    let event = self.state.path.pop();
                    self.state.trees.leave(event);
                    self.state.done = self.state.done.min(self.state.path.len());
                    continue;
                }
                Next::Leaf => {
                    let (path, done) = (self.state.path.clone(), self.state.done);
                    let job = self.job(path, done);
                    self.run_here(&job)?
                }
                Next::Step(_) => {
                    let number = self.hand_out();
                    self.wait_for(number)?
                }
            };
            self.take_in(ran)?;
            if self.runs == TRIAL && self.seconds < WORTH_ALL {
                return Ok(Stopped::TooShort);
            }
        }
        Ok(Stopped::Done)
    }

    fn job(&mut self, path: Vec<Event>, done: usize) -> Job {
        self.jobs += 1;
        Job {
            number: self.jobs,
            path,
            done,
            thorough: self.state.thorough,
            facts: Arc::clone(&self.facts),
        }
    }

    /// Hands out the leaves that come next and that nobody has; the number of the first of all.
    fn hand_out(&mut self) -> u32 {
        let Self {
            state,
            jobs,
            fresh,
            facts,
            ..
        } = self;
        let (path, thorough) = (&state.path, state.thorough);
        let mut first = 0;
        state.trees.show_pending(self.ahead, |leaf| {
            if *leaf.job == 0 {
                *jobs += 1;
                *leaf.job = *jobs;
                fresh.push(Job {
                    number: *jobs,
                    path: [&path[..leaf.place], leaf.steps].concat(),
                    done: leaf.shared,
                    thorough,
                    facts: Arc::clone(facts),
                });
            }
            if first == 0 {
                first = *leaf.job;
            }
        });
        self.exchange.hand_out(&mut self.fresh);
        first
    }

    /// Waits for a job, doing others meanwhile.
    fn wait_for(&mut self, number: u32) -> Result<Ran<C::Seen>, Halt> {
        loop {
            match self.exchange.take(number) {
                (Some(done), _) => return self.open(done),
                (_, Some(job)) => {
                    let done = do_job(&mut self.worker, &job);
                    if let Done::Halted(Halt::Bound(bound), _) = done {
                        return Err(Halt::Bound(bound));
                    }
                    if job.number == number {
                        return self.open(done);
                    }
                    self.exchange.put(&job, done);
                }
                (None, None) => self.worker.walk.look_at_clock()?,
            }
        }
    }

    fn run_here(&mut self, job: &Job) -> Result<Ran<C::Seen>, Halt> {
        let done = do_job(&mut self.worker, job);
        self.open(done)
    }

    /// The run, or why there is none.
    fn open(&mut self, done: Done<C::Seen>) -> Result<Ran<C::Seen>, Halt> {
        match done {
            Done::Ran(ran) => Ok(ran),
            Done::Halted(halt, facts) => {
                if matches!(halt, Halt::Again) {
                    // Who uses which barrier is noted here.
                    self.state.facts.wary = facts.wary;
                }
                Err(halt)
            }
            Done::Panicked(panic) => resume_unwind(panic),
        }
    }

    /// Puts what a run tells into the trees, as the sequential search does.
    fn take_in(&mut self, mut ran: Ran<C::Seen>) -> Result<(), Halt> {
        self.exchange.lists.bring_to(&mut self.lists);
        self.learn(&ran)?;
        let state = &mut self.state;
        state.thorough |= ran.thorough;
        if state.thorough && ran.done > 0 {
            // It was handed out before anybody knew that all races have to be looked at.
            let path = std::mem::take(&mut ran.events);
            let job = self.job(path, 0);
            ran = self.run_here(&job)?;
        }
        let state = &mut self.state;
        let (from, length) = (state.path.len(), ran.events.len());
        while matches!(state.trees.next(), Some(Next::Step(_))) && state.path.len() < length {
            let event = ran.events[state.path.len()];
            state.trees.descend(&event, &self.lists);
            state.path.push(event);
        }
        if !state.trees.start() && self.options.mutant.is_none() {
            return Err(Halt::Inconsistent);
        }
        for event in &ran.events[state.path.len()..] {
            state.trees.extend();
            state.path.push(*event);
        }
        ran.sequences.hand_over(&self.lists, &mut state.trees);
        state.done = length;
        state.statistics.count_run(ran.end, length);
        state.statistics.events += (length - from) as u64;
        state.statistics.transitions += ran.transitions;
        let pending = &mut state.statistics.pending_max;
        *pending = (*pending).max(state.trees.pending_max());
        self.runs += 1;
        self.seconds += ran.seconds;
        let wish = self.collector.collect(ran.seen);
        self.collector.keep();
        self.look_at_bounds(wish)
    }

    /// Notes who uses which barrier.
    fn learn(&mut self, ran: &Ran<C::Seen>) -> Result<(), Halt> {
        for &(actor, barrier, size) in &ran.users {
            if self.state.facts.note_user(actor, barrier, size) {
                return Err(Halt::Again);
            }
        }
        Ok(())
    }

    fn look_at_bounds(&mut self, wish: ControlFlow<()>) -> Result<(), Halt> {
        let statistics = &self.state.statistics;
        if let Some(progress) = &self.options.progress {
            progress.note(statistics.traces, statistics.transitions);
        }
        if wish.is_break() {
            return Err(Halt::Stopped);
        }
        if statistics.traces >= self.options.traces_max {
            return Err(Halt::Bound(Bound::Traces));
        }
        if statistics.transitions >= self.options.transitions_max {
            return Err(Halt::Bound(Bound::Transitions));
        }
        self.worker.walk.look_at_clock()
    }
}
