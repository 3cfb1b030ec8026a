//! Optimal reduction: each class of runs exactly once, without redundant runs.
//!
//! Optimal dynamic partial-order reduction with wakeup trees (Abdulla, Aronis, Jonsson, Sagonas:
//! POPL 2014 and JACM 64(4), 2017). After each complete run, the reversals of the
//! [`races`](crate::races) go into the [trees](crate::wakeup) of pending steps along the path.
//!
//! Races are examined once per prefix of a run; if there are choices, after every run
//! ([`Walk::thorough`]).

use crate::independence::Lists;
use crate::races::{Races, Sink};
use crate::seeded::Seeded;
use crate::state::SearchState;
use crate::wakeup::{Next, Trees};
use crate::walk::Walk;
use crate::{Event, Halt, Statistics};

/// The search.
#[derive(Debug)]
pub(crate) struct Odpor {
    trees: Trees,
    races: Races,
    /// Number of events at the start of the path. Their races have been examined.
    done: usize,
    /// The position at which the run of the present leaf began, and the counts at that time; `None`
    /// between runs.
    leaf: Option<(usize, Statistics)>,
}

impl Sink for Trees {
    fn insert(&mut self, lists: &Lists, place: usize, sequence: &[Event]) {
        Self::insert(self, lists, place, sequence);
    }
}

impl Odpor {
    /// Returns a search that continues from the state of another one.
    pub(crate) fn new(state: SearchState, walk: &mut Walk<'_>) -> Result<Self, Halt> {
        walk.statistics = state.statistics;
        walk.thorough = state.thorough;
        walk.machine.properties = state.properties;
        state.lists.bring_to(&mut walk.machine.lists);
        walk.machine.shared_lists = state.lists;
        for planned in &state.path {
            walk.advance_as_planned(planned)?;
        }
        // The way here had been counted.
        walk.statistics.events = state.statistics.events;
        walk.machine.transitions = state.statistics.transitions;
        Ok(Self {
            trees: state.trees,
            races: Races::default(),
            done: state.done,
            leaf: None,
        })
    }

    /// Returns the state of the search. A run that is not complete will be run again.
    pub(crate) fn into_state(mut self, walk: &mut Walk<'_>) -> SearchState {
        walk.statistics.transitions = walk.machine.transitions;
        let mut statistics = walk.statistics;
        if let Some((length, before)) = self.leaf.take() {
            statistics = before;
            while walk.path.len() > length {
                walk.retreat();
                self.trees.take_back();
            }
            self.trees.unstart();
            self.done = self.done.min(length);
        }
        SearchState {
            trees: self.trees,
            path: walk.path.events().to_vec(),
            done: self.done,
            thorough: walk.thorough,
            properties: walk.machine.properties.clone(),
            lists: walk.machine.shared_lists.clone(),
            statistics,
        }
    }

    /// Returns a search below the leaf at the end of the walk's path.
    pub(crate) fn from_leaf(walk: &Walk<'_>, done: usize) -> Self {
        Self {
            trees: Trees::at_leaf(walk.path.len()),
            races: Races::default(),
            done,
            leaf: None,
        }
    }

    /// The trees, and how many events have had their races looked at.
    pub(crate) fn into_trees(self) -> (Trees, usize) {
        (self.trees, self.done)
    }

    pub(crate) fn explore_trees(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        let result = self.explore_while(walk, |_| true);
        let pending = &mut walk.statistics.pending_max;
        *pending = (*pending).max(self.trees.pending_max());
        result
    }

    /// Explores as long as `goes_on` says so after a run.
    pub(crate) fn explore_while(
        &mut self,
        walk: &mut Walk<'_>,
        mut goes_on: impl FnMut(&Walk<'_>) -> bool,
    ) -> Result<(), Halt> {
        while let Some(next) = self.trees.next_action() {
            match next {
                Next::Leaf => {
                    self.run_leaf(walk)?;
                    if !goes_on(walk) {
                        return Ok(());
                    }
                }
                Next::Leave => {
                    let is_first = walk.path.len() == self.trees.base();
                    let event = if is_first { None } else { walk.retreat() };
                    self.trees.leave_place(event);
                    self.done = self.done.min(walk.path.len());
                }
                Next::Step(planned) => {
                    walk.reach()?;
                    let executed = walk.advance_as_planned(&planned)?;
                    self.trees.descend(&executed, &walk.machine.lists);
                }
            }
        }
        Ok(())
    }

    /// Continues from a leaf with any steps to the end of a run, and examines the races of the run.
    fn run_leaf(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        self.leaf = Some((walk.path.len(), walk.statistics));
        if !self.trees.start_run() && Seeded::from_options(walk.options).is_none() {
            return Err(walk.judge_second_visit());
        }
        walk.reach()?;
        while let Some((actor, choice)) = walk.first_step_within_bounds() {
            walk.take_step(actor, choice)?;
            self.trees.extend();
        }
        // If it ends here, what the run tells is still kept, so that it need not be run again.
        let ended = walk.end_run();
        if walk.options.every_race || walk.thorough {
            self.done = 0;
        }
        self.races.examine_races(walk, self.done, &mut self.trees)?;
        self.done = walk.path.len();
        self.leaf = None;
        walk.report_checkpoint();
        ended
    }
}
