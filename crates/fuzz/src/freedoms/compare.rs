//! Comparison of the model checker with the enumeration of all outcomes.
//!
//! The checker must find each outcome and no other one, and a deadlock exactly if there is one. If
//! executions state a bound, only the outcomes within that bound must be found. The program is
//! explored as `simrun check` does.

use std::cell::RefCell;
use std::ops::ControlFlow;

use explore::{End, Observer, Options, Run, Statistics, explore};
use mpi::set_native_caller;
use run::{explorable, without_panic_messages};
use sim_core::{Digest, Note};

use super::enumerate::{Outcomes, StatedBounds, enumerate_outcomes};
use super::family::Family;
use super::generate::generate_program;
use super::interpreter::{AnswerLog, as_object};
use super::program::FreedomProgram;
use crate::choices::Choices;
use crate::{Comparison, Layer};

/// The layer of the freedoms of MPI.
#[derive(Clone, Debug)]
pub struct FreedomLayer {
    /// The families of the programs.
    pub families: Vec<Family>,
    /// Options of the model checker. A search that meets a bound is not compared.
    pub options: Options,
    /// Efforts of the comparisons without a difference so far.
    pub efforts: RefCell<Vec<Effort>>,
}

/// The effort of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Effort {
    /// Number of the outcomes that MPI permits.
    pub outcomes: u64,
    /// Number of the outcomes that are not found, beyond a bound that the executions state.
    pub bounded: u64,
    /// Number of executions.
    pub executions: u64,
}

impl FreedomLayer {
    /// Returns the layer with these families.
    pub fn new(families: &[Family]) -> Self {
        Self {
            families: families.to_vec(),
            options: Options {
                transitions_max: TRANSITIONS_MAX,
                ..Options::default()
            },
            efforts: RefCell::default(),
        }
    }
}

/// Steps of the model checker. \[choice\]
const TRANSITIONS_MAX: u64 = 400_000;

/// States of the enumeration. \[choice\]
const STATES_MAX: usize = 400_000;

/// The texts of the bounds.
const ACCESSES_IN_ORDER: &str = "accesses of one rank to one target arrive in order";
const TAGS_IN_ORDER: &str = "messages of one rank on one communicator arrive in the order";
const ONE_OR_ALL: &str = "single requests and all of them, no other subsets";

/// The outcomes of the executions of a search.
struct ExecutionOutcomes {
    log: AnswerLog,
    found: Outcomes,
    bounds: StatedBounds,
    has_failed: bool,
    /// A message was not received: an error that hides the deadlock of the call that waits for a
    /// buffered message, such as `MPI_Finalize`.
    has_leftovers: bool,
}

impl Observer for ExecutionOutcomes {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.has_leftovers |= run.end == End::Leftovers;
        let bounds = &mut self.bounds;
        run.stepper.visit_notes(&mut |note| {
            if let Note::Bound(text) = note {
                bounds.accesses_in_order |= text.starts_with(ACCESSES_IN_ORDER);
                bounds.tags_in_order |= text.starts_with(TAGS_IN_ORDER);
                bounds.one_or_all |= text.contains(ONE_OR_ALL);
            }
        });
        match run.end {
            End::Finished | End::Leftovers | End::ConditionalDeadlock | End::Undecided => {
                self.found.completing.insert(self.log.borrow().clone());
                self.found.has_deadlock |= run.stepper.optional_waits().deadlock().is_some();
            }
            End::Deadlock | End::Livelock => self.found.has_deadlock = true,
            End::Failed => self.has_failed = true,
            End::TooDeep | End::Spinning | End::Covered => {}
        }
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        (self.found, self.bounds) = Default::default();
        (self.has_failed, self.has_leftovers) = (false, false);
    }
}

impl Layer for FreedomLayer {
    type Program = FreedomProgram;

    fn generate(&self, choices: &mut Choices<'_>) -> FreedomProgram {
        generate_program(&self.families, choices)
    }

    fn compare_executions(&self, program: &FreedomProgram, digest: &mut Digest) -> Comparison {
        let enumerate = |bounds| enumerate_outcomes(program, bounds, STATES_MAX);
        let Some(legal) = enumerate(StatedBounds::default()) else {
            return Comparison::TooLarge;
        };
        digest.mix(legal.completing.len() as u64, legal.has_deadlock.into());
        let before = set_native_caller(None);
        let explored = self.explore_program(program);
        set_native_caller(before);
        let (seen, statistics) = match explored {
            Ok(explored) => explored,
            Err(different) => return different,
        };
        let is_cut = !statistics.bounds.is_empty();
        let is_bounded = seen.bounds != StatedBounds::default();
        let bounded = is_bounded.then(|| enumerate(seen.bounds));
        let Some(required) = bounded.unwrap_or_else(|| Some(legal.clone())) else {
            return Comparison::TooLarge;
        };
        let missed = legal.completing.difference(&seen.found.completing);
        let effort = Effort {
            outcomes: legal.completing.len() as u64,
            bounded: missed.count() as u64,
            executions: statistics.executions,
        };
        digest.mix(effort.executions, effort.outcomes);
        if let Some(different) = first_difference((&legal, &required), &seen, is_cut) {
            return different;
        }
        if is_cut {
            return Comparison::TooLarge;
        }
        self.efforts.borrow_mut().push(effort);
        Comparison::Same
    }
}

impl FreedomLayer {
    fn explore_program(
        &self,
        program: &FreedomProgram,
    ) -> Result<(ExecutionOutcomes, Statistics), Comparison> {
        let ranks = u32::try_from(program.ranks.len()).unwrap_or(0);
        let (object, log) = as_object(program);
        let mut seen = ExecutionOutcomes {
            log,
            found: Outcomes::default(),
            bounds: StatedBounds::default(),
            has_failed: false,
            has_leftovers: false,
        };
        let (statistics, broken) = without_panic_messages(|| {
            explore(
                &mut explorable(object, ranks, None),
                &self.options,
                &mut seen,
            )
        });
        if let Some(text) = broken {
            return Err(Comparison::different("is-deterministic", text));
        }
        if seen.has_failed {
            let text = "the checker finds a call that fails";
            return Err(Comparison::different("calls-succeed", text));
        }
        Ok((seen, statistics))
    }
}

/// Returns the first difference from the legal outcomes and the required ones. A search that was
/// cut may miss outcomes and deadlocks.
fn first_difference(
    (legal, required): (&Outcomes, &Outcomes),
    seen: &ExecutionOutcomes,
    is_cut: bool,
) -> Option<Comparison> {
    let found = &seen.found;
    if let Some(impossible) = found.completing.difference(&legal.completing).next() {
        let text = format!("the checker finds {impossible:?}");
        return Some(Comparison::different("outcomes-are-legal", text));
    }
    if found.has_deadlock && !legal.has_deadlock {
        let text = "the checker finds a deadlock that MPI does not permit";
        return Some(Comparison::different("deadlocks-are-legal", text));
    }
    if is_cut {
        return None;
    }
    if let Some(missed) = required.completing.difference(&found.completing).next() {
        let text = format!("the checker misses {missed:?}");
        return Some(Comparison::different("outcomes-are-found", text));
    }
    if required.has_deadlock && !found.has_deadlock && !seen.has_leftovers {
        let text = "the checker misses a deadlock";
        return Some(Comparison::different("deadlocks-are-found", text));
    }
    None
}
