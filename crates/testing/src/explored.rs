//! Searches of worlds of state machines: the states at the ends of all runs, and the first fault.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::state_machines::{self, Shared, StateMachineModel};
use explore::{End, Observer, Options, Reduction, Run, Statistics};

struct Ends<W, S, F> {
    world: Shared<W>,
    look: F,
    states: BTreeSet<S>,
    fault: Option<String>,
}

impl<W, S: Ord, F: Fn(&W) -> (S, Option<String>)> Observer for Ends<W, S, F> {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        if run.end == End::Failed {
            self.fault = Some(run.stepper.failures()[0].message.clone());
        } else {
            let (state, fault) = self.world.with(&self.look);
            self.states.insert(state);
            self.fault = fault;
        }
        if self.fault.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn forget(&mut self) {
        self.states.clear();
    }
}

/// Searches a world up to the first fault: the counts, the states at the ends of runs, and the
/// fault. `look` returns the state and the fault at the end of a run.
///
/// # Panics
/// If the search finds that the world is not deterministic.
pub fn search_world<W: StateMachineModel + Clone + 'static, S: Ord>(
    world: W,
    reduction: Reduction,
    executions_max: u64,
    look: impl Fn(&W) -> (S, Option<String>),
) -> (Statistics, BTreeSet<S>, Option<String>) {
    let (mut stepper, world) = state_machines::make_stepper(move || world.clone());
    let mut ends = Ends {
        world,
        look,
        states: BTreeSet::new(),
        fault: None,
    };
    let options = Options {
        reduction,
        executions_max,
        ..Options::default()
    };
    let (statistics, broken) = explore::explore(&mut stepper, &options, &mut ends);
    assert_eq!(broken, None);
    (statistics, ends.states, ends.fault)
}
