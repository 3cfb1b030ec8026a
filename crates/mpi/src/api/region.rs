//! Regions and marks: names that a program gives to parts of its run, for timelines and analyses.
//!
//! They cost no simulated time and do not change the run; without an observer they have no effect.
//!
//! *Not modelled*: regions that cross. A region ends when its guard is dropped, and the region that
//! began last ends first; a guard that outlives a later guard swaps their ends.

use std::rc::Rc;

use observe::RankEvent;

use crate::Comm;
use crate::protocol::process::Process;

/// A region of a program; the region ends when this guard is dropped.
#[must_use = "a region ends when it is dropped"]
#[derive(Debug)]
pub struct Region(Rc<Process>);

impl Drop for Region {
    fn drop(&mut self) {
        self.0.observe_event(|| RankEvent::Leave);
    }
}

impl Comm {
    /// Begins a region of this name, which ends when the guard is dropped. Regions may be nested.
    ///
    /// ```no_run
    /// # use mpi::prelude::*;
    /// # async fn solve(world: Comm) -> Result<()> {
    /// let _solve = world.region("solve");
    /// world.barrier().await
    /// # }
    /// ```
    pub fn region(&self, name: &'static str) -> Region {
        self.process()
            .observe_event(|| RankEvent::Enter { region: name });
        Region(Rc::clone(self.process()))
    }

    /// Marks this moment with a name and a value, such as the number of an iteration.
    pub fn mark(&self, name: &'static str, value: f64) {
        self.process()
            .observe_event(|| RankEvent::Mark { name, value });
    }
}
