//! Execution of a search: choice of the algorithm, restart when the dependency relation changes,
//! one thread or several.

use std::ops::ControlFlow;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::odpor::Odpor;
use crate::parallel;
use crate::state::SearchState;
use crate::walk::Walk;
use crate::{
    Bound, Collector, Observer, Options, Reduction, Run, Statistics, Strategy, Threads, Verdict,
    none, sampling, sdpor,
};

/// The reason why a search ends before the exploration is exhaustive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Halt {
    /// A bound was hit.
    Bound(Bound),
    /// The observer has seen enough.
    Stopped,
    /// A new fact has changed the dependency relation: the search must restart.
    Again,
    /// The program did not take this step again. `repeats`: the program takes the steps up to there
    /// in the same way each time, so the search is wrong.
    Different {
        actor: u16,
        choice: u32,
        repeats: bool,
    },
    /// A leaf is not pending any more or its sleep set is not empty, which is impossible if the
    /// program is deterministic. `repeats`: as for `Different`.
    ExploredTwice { repeats: bool },
}

/// A search that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    /// A program that was explored.
    pub(crate) stepper: Stepper,
    pub(crate) statistics: Statistics,
    /// The violation of the contract by the program, if there is one.
    pub(crate) broken: Option<Verdict>,
    /// The state of the search, if the search can continue from this state or is over.
    pub(crate) state: Option<SearchState>,
    /// True if the search is complete.
    pub(crate) is_over: bool,
}

/// An observer that passes each run to a collector.
#[derive(Debug)]
pub(crate) struct ObserverAdapter<'a, C>(pub(crate) &'a mut C);

impl<C: Collector> Observer for ObserverAdapter<'_, C> {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.0.look_and_collect(run)
    }

    fn forget(&mut self) {
        self.0.on_restart();
    }

    fn on_checkpoint(&mut self) {
        self.0.on_checkpoint();
    }
}

/// Explores on this thread alone.
pub(crate) fn alone(mut stepper: Stepper, options: &Options, observer: &mut dyn Observer) -> Ended {
    stepper.restart();
    let watch = Stopwatch::start();
    let mut walk = Walk::new(stepper, options, observer, watch);
    let (halt, state) = explore_from(&mut walk, SearchState::new());
    finish_walk(walk, watch, 0.0, halt, state)
}

/// Explores on several threads, from a given state on.
pub(crate) fn together<C: Collector>(
    threads: &Threads<'_>,
    options: &Options,
    mut state: SearchState,
    collector: &mut C,
) -> Ended {
    let watch = Stopwatch::start();
    let before = state.statistics.seconds;
    let options = &Options {
        executions_max: options
            .executions_max
            .saturating_add(state.statistics.count_runs()),
        transitions_max: options
            .transitions_max
            .saturating_add(state.statistics.transitions),
        ..options.clone()
    };
    let mut stepper = (threads.make)();
    let is_optimal =
        (options.strategy, options.reduction) == (Strategy::DepthFirst, Reduction::Odpor);
    if threads.number > 1 && is_optimal {
        loop {
            let halt;
            (stepper, state, halt) =
                parallel::continue_search(threads, stepper, state, options, collector, watch);
            if !matches!(halt, Some(Halt::Again)) {
                let statistics = state.statistics;
                let state = can_go_on(halt.as_ref()).then_some(state);
                return finish_search(
                    stepper,
                    statistics,
                    watch.elapsed_seconds() + before,
                    halt,
                    state,
                );
            }
            state.begin_again();
            collector.on_restart();
            stepper.restart();
        }
    }
    let mut adapter = ObserverAdapter(collector);
    let mut walk = Walk::new(stepper, options, &mut adapter, watch);
    let (halt, state) = explore_from(&mut walk, state);
    finish_walk(walk, watch, before, halt, state)
}

/// Returns true if a search that stopped for this reason is over or can be continued later.
const fn can_go_on(halt: Option<&Halt>) -> bool {
    matches!(halt, None | Some(Halt::Bound(_) | Halt::Stopped))
}

/// Explores from a given state and restarts whenever the dependency relation changes. Returns the
/// reason for the stop and the state from which the search can continue.
fn explore_from(walk: &mut Walk<'_>, state: SearchState) -> (Option<Halt>, Option<SearchState>) {
    let mut state = Some(state);
    loop {
        let result = match (walk.options.strategy, walk.options.reduction) {
            (Strategy::DepthFirst, Reduction::Odpor) => {
                let state = state
                    .take()
                    .unwrap_or_else(|| SearchState::for_restart(walk));
                match Odpor::new(state, walk) {
                    Ok(mut search) => {
                        let result = search.explore_trees(walk);
                        if can_go_on(result.as_ref().err()) {
                            let state = search.into_state(walk);
                            return (result.err(), Some(state));
                        }
                        result
                    }
                    Err(halt) => Err(halt),
                }
            }
            (Strategy::DepthFirst, Reduction::Sdpor) => sdpor::explore_source_sets(walk),
            (Strategy::DepthFirst, Reduction::Sleep) => none::explore_all_runs(walk, true),
            (Strategy::DepthFirst, Reduction::None) => none::explore_all_runs(walk, false),
            (Strategy::DepthFirst, Reduction::States) => none::run_states(walk),
            (strategy, _) => sampling::sample_runs(walk, strategy),
        };
        match result {
            Err(Halt::Again) => walk.begin_again(),
            other => return (other.err(), None),
        }
    }
}

fn finish_walk(
    walk: Walk<'_>,
    watch: Stopwatch,
    before: f64,
    halt: Option<Halt>,
    state: Option<SearchState>,
) -> Ended {
    let mut statistics = walk.statistics;
    statistics.transitions = walk.machine.transitions;
    let seconds = watch.elapsed_seconds() + before;
    finish_search(walk.into_stepper(), statistics, seconds, halt, state)
}

fn finish_search(
    stepper: Stepper,
    mut statistics: Statistics,
    seconds: f64,
    halt: Option<Halt>,
    mut state: Option<SearchState>,
) -> Ended {
    statistics.seconds = seconds;
    if let Some(state) = &mut state {
        state.statistics.seconds = seconds;
    }
    let is_over = halt.is_none();
    let broken = match halt {
        Some(Halt::Bound(bound)) => {
            statistics.bounds.insert(bound);
            None
        }
        Some(Halt::Stopped) => {
            statistics.bounds.insert(Bound::Finding);
            None
        }
        None | Some(Halt::Again) => None,
        Some(Halt::Different {
            actor,
            choice,
            repeats,
        }) => {
            let actor = actor + 1;
            let text = format!("actor {actor} took another step than before (choice {choice})");
            Some(Verdict::of_broken_search(text, repeats))
        }
        Some(Halt::ExploredTwice { repeats }) => {
            let text = "an execution was explored twice".to_owned();
            Some(Verdict::of_broken_search(text, repeats))
        }
    };
    Ended {
        stepper,
        statistics,
        broken,
        state,
        is_over,
    }
}
