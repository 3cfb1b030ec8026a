//! How far an optimal search has come, whoever goes on with it.

use crate::facts::{Facts, SharedLists};
use crate::wakeup::Trees;
use crate::walk::Walk;
use crate::{Event, Statistics};

/// How far a search has come: between two steps, never within the races of a run.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) trees: Trees,
    /// The present path.
    pub(crate) path: Vec<Event>,
    /// How many events at the beginning of the path have had their races looked at.
    pub(crate) done: usize,
    /// Every run has all its races looked at.
    pub(crate) thorough: bool,
    pub(crate) facts: Facts,
    /// What is tested in lists, by the numbers that events have.
    pub(crate) lists: SharedLists,
    pub(crate) statistics: Statistics,
}

impl State {
    /// The beginning of a search.
    pub(crate) fn new() -> Self {
        Self {
            trees: Trees::at(0),
            path: Vec::new(),
            done: 0,
            thorough: false,
            facts: Facts::default(),
            lists: SharedLists::default(),
            statistics: Statistics::default(),
        }
    }

    /// The beginning of another search of the same program, because something was learnt.
    pub(crate) fn again(walk: &Walk<'_>) -> Self {
        Self {
            facts: walk.machine.facts.clone(),
            lists: walk.machine.shared_lists.clone(),
            statistics: walk.statistics,
            ..Self::new()
        }
    }

    /// Begins anew, because something was learnt.
    pub(crate) fn begin_again(&mut self) {
        self.trees = Trees::at(0);
        self.path.clear();
        self.done = 0;
        self.thorough = false;
        self.statistics.begin_again();
    }
}
