//! State of an optimal search, from which one thread or several can continue.

use crate::properties::{ProgramProperties, SharedLists};
use crate::wakeup::Trees;
use crate::walk::Walk;
use crate::{Event, Statistics};

/// State of a search between two steps, never within the races of a run.
#[derive(Debug)]
pub(crate) struct SearchState {
    pub(crate) trees: Trees,
    /// The present path.
    pub(crate) path: Vec<Event>,
    /// Number of events at the start of the path. Their races have been examined.
    pub(crate) done: usize,
    /// True if all races of every run are examined.
    pub(crate) thorough: bool,
    pub(crate) properties: ProgramProperties,
    /// The lists of communications that are tested, by their numbers in events.
    pub(crate) lists: SharedLists,
    pub(crate) statistics: Statistics,
}

impl SearchState {
    /// The beginning of a search.
    pub(crate) fn new() -> Self {
        Self {
            trees: Trees::at_leaf(0),
            path: Vec::new(),
            done: 0,
            thorough: false,
            properties: ProgramProperties::default(),
            lists: SharedLists::default(),
            statistics: Statistics::default(),
        }
    }

    /// The beginning of another search of the same program, after the dependency relation changed.
    pub(crate) fn for_restart(walk: &Walk<'_>) -> Self {
        Self {
            properties: walk.machine.properties.clone(),
            lists: walk.machine.shared_lists.clone(),
            statistics: walk.statistics,
            ..Self::new()
        }
    }

    /// Restarts the search, because a fact was discovered.
    pub(crate) fn begin_again(&mut self) {
        self.trees = Trees::at_leaf(0);
        self.path.clear();
        self.done = 0;
        self.thorough = false;
        self.statistics.begin_again();
    }
}
