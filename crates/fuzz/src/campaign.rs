//! A campaign: generates interactions, runs them, checks the properties and shrinks failures.
//!
//! Interactions are run in batches by several threads. Weights that have led to new pairs of
//! command and stage are drawn again, only in later batches, so results do not depend on the number
//! of threads. The n-th interaction follows from the seed, the number n and the weights found
//! before the batch.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sim_core::{Digest, Stream};

use crate::choices::Choices;
use crate::coverage::Coverage;
use crate::driver::Outcome;
use crate::generate::{GeneratorSettings, generate_from};
use crate::interaction::Interaction;
use crate::properties::PROPERTIES;
use crate::shrink::{Generated, Search};
use crate::swarm::Swarm;

/// Interactions in a batch. \[choice\]
const BATCH: u64 = 256;

/// Weights that are kept. \[choice\]
const CORPUS: usize = 64;

/// Interactions after which a campaign that grows takes the next size. \[choice\]
const LEVEL: u64 = 2048;

/// A function that runs an interaction: [`run`](crate::run()), or
/// [`run_processes`](crate::run_processes), with the parameters.
pub type Runner<'a> = &'a (dyn Fn(&Interaction) -> Result<Outcome, String> + Sync);

/// Parameters of a campaign.
#[derive(Clone, PartialEq, Debug)]
pub struct CampaignSettings {
    /// Parameters of the interactions.
    pub generator: GeneratorSettings,
    /// Seed of all interactions and faults.
    pub seed: u64,
    /// Interactions to run; `None` for no limit.
    pub tries: Option<u64>,
    /// Failures after which the campaign stops.
    pub errors: u32,
    /// Runs that shrinking a failure may take.
    pub shrink_budget: u32,
    /// Number of threads, at least 1.
    pub jobs: usize,
    /// Interactions become larger and larger.
    pub grows: bool,
}

/// A failure.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// The number of the interaction, from 0.
    pub attempt: u64,
    /// Name of the violated property.
    pub property: &'static str,
    /// Description for people, of the shrunk interaction.
    pub description: String,
    /// The generated interaction.
    pub original: Interaction,
    /// The smallest one that fails in the same class.
    pub shrunk: Interaction,
    /// Observations of the shrunk one.
    pub outcome: Outcome,
    /// Runs that shrinking took.
    pub runs: u32,
}

/// Position of a campaign between two batches, from which it can continue.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Position {
    /// Interactions that were run.
    pub tries: u64,
    /// Steps in them.
    pub steps: u64,
    /// Pairs of command and stage that have occurred, as [`Coverage::encoded_words`].
    pub coverage: Vec<u64>,
    /// Digest of the observations and the dates of all interactions.
    pub digest: u64,
    /// Weights that have led to new pairs.
    pub corpus: Vec<Swarm>,
}

/// Result of a campaign.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CampaignReport {
    /// The end of the campaign.
    pub position: Position,
    /// Failures, in the order of their interactions.
    pub failures: Vec<Failure>,
}

impl Position {
    /// Returns the pairs of command and stage that have occurred.
    pub fn pairs(&self) -> Coverage {
        Coverage::from_words(&self.coverage).unwrap_or_default()
    }

    fn merge_attempt(&mut self, tried: &Tried) {
        let mut coverage = self.pairs();
        if coverage.merge_pairs(&tried.coverage) > 0 {
            if self.corpus.len() == CORPUS {
                self.corpus.remove(0);
            }
            self.corpus.push(tried.swarm);
        }
        self.coverage = coverage.encoded_words();
        self.steps += tried.steps;
        self.tries += 1;
        let mut digest = Digest::default();
        digest.mix(self.digest, tried.digest);
        self.digest = digest.value();
    }
}

/// Returns the name of the first property that a run of the interaction violates, and how.
pub fn check(
    interaction: &Interaction,
    run: Runner<'_>,
) -> Result<Option<(&'static str, String)>, String> {
    let outcome = run(interaction)?;
    Ok(violation(interaction, &outcome))
}

/// Returns the name of the first property that an outcome violates, and how.
pub fn violation(interaction: &Interaction, outcome: &Outcome) -> Option<(&'static str, String)> {
    PROPERTIES.iter().find_map(|property| {
        let violation = (property.check)(interaction, outcome)?;
        Some((property.name, violation))
    })
}

/// Returns the class of a failure: the property and, for calls, the text without numbers.
fn failure_class((property, description): &(&'static str, String)) -> (&'static str, String) {
    let is_of_call = *property == "calls-succeed";
    let text = description.chars().filter(|letter| letter.is_alphabetic());
    (property, text.filter(|_| is_of_call).collect())
}

/// Progress of shrinking a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrinking {
    /// Runs so far.
    pub runs: u32,
    /// Steps or operations of the smallest one found.
    pub operations: usize,
}

/// Progress of a campaign.
#[derive(Clone, Copy, Debug)]
pub enum CampaignEvent<'a> {
    /// A batch has ended, with these failures.
    Batch(&'a Position, &'a [Failure]),
    /// A failure is being shrunk.
    Shrinking(Shrinking),
}

/// An interaction that was run.
struct Tried {
    steps: u64,
    digest: u64,
    coverage: Coverage,
    swarm: Swarm,
    /// The interaction and the outcome, if the outcome violates a property.
    failed: Option<(Generated<Interaction>, Outcome)>,
}

impl CampaignSettings {
    /// Returns the interaction with a number, and the weights.
    fn interaction(&self, number: u64, corpus: &[Swarm]) -> (Generated<Interaction>, Swarm) {
        let mut stream = Stream::new(self.seed, &format!("interaction {number}"));
        let reuses = !corpus.is_empty() && stream.below(2) == 0;
        let swarm = if reuses {
            let drawn = stream.below(corpus.len() as u64);
            corpus[usize::try_from(drawn).unwrap_or(0)]
        } else {
            Swarm::draw_weights(&mut stream)
        };
        let mut choices = Choices::from_stream(&mut stream);
        let program = self.generate_interaction(number, &swarm, &mut choices);
        let choices = choices.record.values;
        (Generated { program, choices }, swarm)
    }

    fn generate_interaction(
        &self,
        number: u64,
        swarm: &Swarm,
        choices: &mut Choices<'_>,
    ) -> Interaction {
        if self.grows {
            generate_from(&self.generator.grown(number / LEVEL), swarm, choices)
        } else {
            generate_from(&self.generator, swarm, choices)
        }
    }

    fn attempt(&self, run: Runner<'_>, number: u64, corpus: &[Swarm]) -> Result<Tried, String> {
        let (generated, swarm) = self.interaction(number, corpus);
        let interaction = &generated.program;
        let outcome = run(interaction)?;
        let violated = violation(interaction, &outcome);
        Ok(Tried {
            steps: interaction.steps.len() as u64,
            digest: outcome.digest().value(),
            coverage: outcome.coverage,
            swarm,
            failed: violated.map(|_| (generated, outcome)),
        })
    }

    /// Runs the interactions from `first` to before `end`; returns them in their order.
    fn batch(
        &self,
        run: Runner<'_>,
        (first, end): (u64, u64),
        corpus: &[Swarm],
    ) -> Result<Vec<Tried>, String> {
        let next = AtomicU64::new(first);
        let work = || {
            let mut tried = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return tried;
                }
                tried.push((number, self.attempt(run, number, corpus)));
            }
        };
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.jobs).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for other in others {
                match other.join() {
                    Ok(more) => all.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        });
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, tried)| tried).collect()
    }

    /// Returns the smallest interaction found that fails in the same class, and the number of runs.
    /// `number` and `swarm` belong to the original interaction.
    fn minimise(
        &self,
        run: Runner<'_>,
        (number, swarm): (u64, &Swarm),
        original: &Generated<Interaction>,
        observe: &mut dyn FnMut(Shrinking),
    ) -> Result<(Generated<Interaction>, u32), String> {
        let Some(found) = check(&original.program, run)? else {
            return Ok((original.clone(), 1));
        };
        let expected = failure_class(&found);
        let mut shrinking = Shrinking {
            runs: 0,
            operations: original.program.steps.len(),
        };
        let mut search = Search {
            generate: &|choices| Some(self.generate_interaction(number, swarm, choices)),
            operations: |interaction: &Interaction| interaction.steps.len(),
            fails: &mut |candidate| {
                let found = check(candidate, run).ok().flatten();
                let is_same = found.is_some_and(|found| failure_class(&found) == expected);
                shrinking.runs += 1;
                if is_same {
                    shrinking.operations = candidate.steps.len();
                }
                observe(shrinking);
                is_same
            },
            budget: self.shrink_budget,
        };
        Ok(search.shrink(original))
    }

    /// Returns the shrunk failure. A failure that does not happen again is not shrunk.
    fn shrunk(
        &self,
        run: Runner<'_>,
        (attempt, swarm): (u64, &Swarm),
        (original, observed): (Generated<Interaction>, Outcome),
        observe: &mut dyn FnMut(Shrinking),
    ) -> Result<Failure, String> {
        let (shrunk, runs) = self.minimise(run, (attempt, swarm), &original, observe)?;
        let original = original.program;
        let shrunk = shrunk.program;
        let outcome = run(&shrunk)?;
        let found = violation(&shrunk, &outcome);
        let (shrunk, outcome) = if found.is_some() {
            (shrunk, outcome)
        } else {
            (original.clone(), observed)
        };
        let (property, description) = violation(&shrunk, &outcome).unwrap_or_default();
        Ok(Failure {
            attempt,
            property,
            description,
            original,
            shrunk,
            outcome,
            runs,
        })
    }
}

/// Runs a campaign from a position. `observe` sees the progress and can stop the run after a batch.
pub fn campaign(
    settings: &CampaignSettings,
    run: Runner<'_>,
    position: Position,
    mut observe: impl FnMut(CampaignEvent<'_>) -> ControlFlow<()>,
) -> Result<CampaignReport, String> {
    let mut report = CampaignReport {
        position,
        failures: Vec::new(),
    };
    loop {
        let first = report.position.tries;
        let end = (first / BATCH + 1) * BATCH;
        let end = settings.tries.map_or(end, |tries| end.min(tries));
        let begun = report.failures.len();
        for tried in settings.batch(run, (first, end), &report.position.corpus)? {
            let attempt = report.position.tries;
            report.position.merge_attempt(&tried);
            if let Some(failed) = tried.failed {
                let mut observe = |shrinking| {
                    let _ = observe(CampaignEvent::Shrinking(shrinking));
                };
                let which = (attempt, &tried.swarm);
                let failure = settings.shrunk(run, which, failed, &mut observe)?;
                report.failures.push(failure);
            }
            if report.failures.len() >= settings.errors as usize {
                let failures = &report.failures[begun..];
                let _ = observe(CampaignEvent::Batch(&report.position, failures));
                return Ok(report);
            }
        }
        let failures = &report.failures[begun..];
        let flow = observe(CampaignEvent::Batch(&report.position, failures));
        if flow.is_break() || settings.tries.is_some_and(|tries| end >= tries) {
            return Ok(report);
        }
    }
}
