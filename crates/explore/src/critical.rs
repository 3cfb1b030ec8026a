//! The critical transition of a finding: the last point from which a correct run was still
//! possible.
//!
//! The search goes back from the end of the finding's run. After each prefix a new exploration
//! looks for a run without a finding and stops at the first one. The step after the longest prefix
//! that has such a run is critical. All explorations share a budget and a deadline; if one of them
//! is reached the answer is *unknown*, never a guess.

use std::ops::ControlFlow;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::finding::is_finding;
use crate::walk::Walk;
use crate::{Deadline, Event, Finding, Observer, Run, minimise, none};

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
    let events = path.events().to_vec();
    let mut left = budget;
    for place in (0..events.len()).rev() {
        match has_correct_run(stepper, &events[..place], (&mut left, deadline)) {
            Some(true) => return Critical::Step(place),
            Some(false) => {}
            None => return Critical::Unknown(place),
        }
    }
    Critical::Everything
}

/// Remembers whether a run was correct.
struct Correct(bool);

impl Observer for Correct {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.0 = !is_finding(run.end) && run.end != crate::End::TooDeep;
        if self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Returns true if a run without a finding begins with these events; `None` if the budget does not
/// suffice.
fn has_correct_run(
    stepper: &mut Stepper,
    prefix: &[Event],
    (left, deadline): (&mut u64, &Deadline),
) -> Option<bool> {
    let options = deadline.search_options(*left);
    let mut correct = Correct(false);
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let mut walk = Walk::new(own, &options, &mut correct, Stopwatch::start());
    let result = loop {
        walk.machine.restart();
        match none::run_from(&mut walk, prefix) {
            Err(crate::Halt::Again) => walk.begin_again(),
            other => break other,
        }
    };
    let cut = walk.statistics.cut > 0;
    *left = left.saturating_sub(walk.machine.transitions);
    *stepper = walk.into_stepper();
    match result {
        _ if correct.0 => Some(true),
        Ok(()) if !cut => Some(false),
        _ => None,
    }
}
