//! Optimal reduction: each class of runs exactly once, and no run that is begun in vain.
//!
//! Optimal dynamic partial-order reduction with wakeup trees (Abdulla, Aronis, Jonsson, Sagonas: POPL 2014 and JACM 64(4),
//! 2017). After each run that is over, the sequences that its [`races`](crate::races) tell go into the
//! [trees](crate::wakeup) of pending steps along the path.
//!
//! Races are looked at once per beginning of a run; where there are choices at every run ([`Walk::thorough`]).

use crate::independence::Lists;
use crate::races::{Races, Sink};
use crate::wakeup::{Next, Trees};
use crate::walk::Walk;
use crate::{Event, Halt};

/// The search.
#[derive(Debug)]
pub(crate) struct Odpor {
    trees: Trees,
    races: Races,
    /// How many events at the beginning of the path have had their races looked at.
    done: usize,
}

impl Sink for Trees {
    fn insert(&mut self, lists: &Lists, place: usize, sequence: &[Event]) {
        Self::insert(self, lists, place, sequence);
    }
}

impl Odpor {
    pub(crate) fn run(walk: &mut Walk<'_>) -> Result<(), Halt> {
        let mut search = Self {
            trees: Trees::new(),
            races: Races::default(),
            done: 0,
        };
        let result = search.explore(walk);
        let pending = &mut walk.statistics.pending_max;
        *pending = (*pending).max(search.trees.pending_max());
        result
    }

    fn explore(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        while let Some(next) = self.trees.next() {
            match next {
                Next::Leaf => self.run_leaf(walk)?,
                Next::Leave => {
                    self.trees.leave(walk.retreat());
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

    /// Goes on from a leaf with any steps to the end of a run, and looks at its races.
    fn run_leaf(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        if !self.trees.start() && walk.options.mutant.is_none() {
            return Err(Halt::Inconsistent);
        }
        walk.reach()?;
        while let Some((actor, choice)) = walk.first_step_within_bounds() {
            walk.advance(actor, choice)?;
            self.trees.extend();
        }
        walk.end_run()?;
        if walk.options.every_race || walk.thorough {
            self.done = 0;
        }
        self.races.look(walk, self.done, &mut self.trees)?;
        self.done = walk.path.len();
        Ok(())
    }
}
