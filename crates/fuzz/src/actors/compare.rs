//! Comparison of the model checker with brute force.
//!
//! Brute force executes every interleaving. A program with more interleavings than the limit, or
//! with one that is too long, is not compared.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::{End, Observer, Options, Reduction, Run, Statistics, TraceId, explore};
use sim_core::Digest;

use super::program::ActorProgram;
use crate::choices::Choices;
use crate::{Comparison, Layer};

/// The layer of actors.
#[derive(Clone, Debug)]
pub struct ActorLayer {
    /// Options of the model checker; the bounds also hold for brute force.
    pub options: Options,
}

impl ActorLayer {
    /// Returns the layer; programs with more than `interleavings_max` interleavings are not
    /// compared.
    pub fn new(interleavings_max: u64) -> Self {
        Self {
            options: Options {
                executions_max: interleavings_max,
                depth_max: DEPTH_MAX,
                ..Options::default()
            },
        }
    }
}

/// The most steps of an interleaving: more than programs without loops have. \[choice\]
const DEPTH_MAX: usize = 60;

impl Layer for ActorLayer {
    type Program = ActorProgram;

    fn generate(&self, choices: &mut Choices<'_>) -> ActorProgram {
        ActorProgram::draw_program(choices)
    }

    fn compare_executions(&self, program: &ActorProgram, digest: &mut Digest) -> Comparison {
        let brute_force = Options {
            reduction: Reduction::None,
            ..self.options.clone()
        };
        let Ok((all, _)) = search(program, &brute_force) else {
            return Comparison::TooLarge;
        };
        match search(program, &self.options) {
            Ok((found, statistics)) => {
                found.fold_into(digest);
                digest.mix(statistics.executions, statistics.transitions);
                find_difference(&all, &found, &statistics)
            }
            Err(Unfinished::Bound) => Comparison::different(
                "each-class-once",
                "the checker needs more executions than brute force",
            ),
            Err(Unfinished::Broken(text)) => Comparison::different("is-deterministic", text),
        }
    }
}

/// Observations of a search.
#[derive(Default)]
struct SearchOutcomes {
    ends: BTreeSet<End>,
    states: BTreeSet<(TraceId, u64)>,
    classes: BTreeSet<TraceId>,
}

impl SearchOutcomes {
    fn fold_into(&self, digest: &mut Digest) {
        for end in &self.ends {
            digest.mix_str(&format!("{end:?}"));
        }
        for (_, objects) in &self.states {
            digest.mix(*objects, 0);
        }
        digest.mix(self.states.len() as u64, self.classes.len() as u64);
    }
}

impl Observer for SearchOutcomes {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.ends.insert(run.end);
        let objects = run.stepper.object_digest().value();
        self.states.insert((run.path.histories(), objects));
        self.classes.insert(run.path.trace_id());
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// A search without a result.
enum Unfinished {
    /// The search hit a bound.
    Bound,
    /// The program did not take the same steps again.
    Broken(String),
}

fn search(
    program: &ActorProgram,
    options: &Options,
) -> Result<(SearchOutcomes, Statistics), Unfinished> {
    let mut seen = SearchOutcomes::default();
    let (statistics, broken) = explore(&mut program.stepper(), options, &mut seen);
    match broken {
        Some(text) => Err(Unfinished::Broken(text)),
        None if statistics.bounds.is_empty() => Ok((seen, statistics)),
        None => Err(Unfinished::Bound),
    }
}

fn find_difference(
    all: &SearchOutcomes,
    found: &SearchOutcomes,
    statistics: &Statistics,
) -> Comparison {
    let count = |name: &str, all: usize, found: usize| {
        format!("brute force finds {all} {name}, the checker {found}")
    };
    if all.ends != found.ends {
        let text = format!(
            "brute force finds the ends {:?}, the checker {:?}",
            all.ends, found.ends
        );
        return Comparison::different("same-ends", text);
    }
    if all.states != found.states {
        let text = count("final states", all.states.len(), found.states.len());
        return Comparison::different("same-states", text);
    }
    if all.classes != found.classes {
        let text = count("classes", all.classes.len(), found.classes.len());
        return Comparison::different("same-classes", text);
    }
    let classes = found.classes.len() as u64;
    let (executions, in_vain) = (statistics.executions, statistics.sleep_set_blocked);
    if (executions, in_vain) != (classes, 0) {
        let text = format!(
            "{classes} classes in {executions} executions, and {in_vain} that earlier ones cover"
        );
        return Comparison::different("each-class-once", text);
    }
    Comparison::Same
}
