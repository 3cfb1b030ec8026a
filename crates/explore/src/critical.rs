//! The critical transition of a finding: the last point from which a correct run was still
//! possible.
//!
//! One exploration with sleep sets begins with the finding's run and goes back from the end: the
//! runs that leave the finding's run at the latest step come first. The first run without a finding
//! leaves the finding's run before the critical step. The exploration has a budget and a deadline;
//! if one of them is reached the answer is *unknown*, never a guess.

use std::ops::ControlFlow;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::finding::is_finding;
use crate::walk::Walk;
use crate::{Deadline, End, Event, Finding, Halt, Observer, Run, minimise, none};

/// Position of the critical transition of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Critical {
    /// The step at this position of the finding, from 0. Before the step, a correct run was
    /// possible; after the step, no correct run is possible.
    Step(usize),
    /// No run of the program is correct.
    Everything,
    /// The budget was used up at this place, or the deadline came: no run after the step is
    /// correct, and whether one before the step is correct is unknown.
    Unknown(usize),
}

/// Looks for the critical transition, with at most `budget` executed steps.
pub fn critical(
    stepper: &mut Stepper,
    finding: &Finding,
    budget: u64,
    deadline: &Deadline,
) -> Critical {
    let Some(path) = minimise::play(stepper, &finding.replay) else {
        return Critical::Unknown(finding.steps.len());
    };
    let mut backwards = Backwards {
        events: path.events(),
        has_correct: false,
        cut: None,
    };
    let options = deadline.search_options(budget);
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let mut walk = Walk::new(own, &options, &mut backwards, Stopwatch::start());
    let result = loop {
        walk.machine.restart();
        match none::explore_backwards(&mut walk, path.events()) {
            Err(Halt::Again) => walk.begin_again(),
            other => break other,
        }
    };
    let place = common_length(walk.path.events(), path.events());
    // After the last step, no run is correct.
    let place = place.min(path.len().saturating_sub(1));
    *stepper = walk.into_stepper();
    match (result, backwards.cut) {
        _ if backwards.has_correct => Critical::Step(place),
        (_, Some(place)) => Critical::Unknown(place),
        (Ok(()), None) => Critical::Everything,
        (Err(_), None) => Critical::Unknown(place),
    }
}

/// Looks for a correct run among runs that leave the run of a finding earlier and earlier.
struct Backwards<'a> {
    /// The run of the finding.
    events: &'a [Event],
    has_correct: bool,
    /// The latest place at which a truncated run leaves the run of the finding; a search at earlier
    /// places would not prove where the critical transition is.
    cut: Option<usize>,
}

impl Observer for Backwards<'_> {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let place = common_length(run.path.events(), self.events);
        if self.cut.is_some_and(|cut| place < cut) {
            return ControlFlow::Break(());
        }
        if run.end == End::TooDeep {
            self.cut = Some(place);
        } else if !is_finding(run.end) {
            self.has_correct = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        self.cut = None;
    }
}

/// Number of steps that two runs have in common at the beginning.
fn common_length(one: &[Event], other: &[Event]) -> usize {
    let pairs = one.iter().zip(other);
    pairs
        .take_while(|(one, other)| one.is_same_step(other))
        .count()
}
