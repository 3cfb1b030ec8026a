//! Campaigns over random programs of a layer: generation, comparison, shrinking, and the text.
//!
//! A [`Layer`] generates programs and compares executions of one program that must agree. If they
//! differ, the program is shrunk: the result must still differ in the same property. *Not
//! modelled*: faults that depend on a seed; a program gives the same result each time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use run::without_panic_messages;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sim_core::{Digest, Stream};

use crate::Shrinking;
use crate::choices::Choices;
use crate::shrink::{Generated, Search};

/// A program of a layer, and its text: TOML with a version.
pub trait FuzzProgram: Clone + PartialEq + Serialize + DeserializeOwned {
    /// Version of the format that is written.
    const VERSION: u32;

    /// Returns the number of operations.
    fn operations(&self) -> usize;

    /// Returns the first mistake: place, value, expectation.
    fn validate(&self) -> Result<(), String>;

    /// Returns the text.
    ///
    /// # Panics
    /// Never: a program has only numbers and names.
    fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers and names can be written")
    }

    /// Reads a text.
    fn from_toml(text: &str) -> Result<Self, String> {
        let version = toml::from_str::<Version>(text).map_err(|error| error.to_string())?;
        if version.version != Self::VERSION {
            return Err(format!(
                "version = {}: expected {}",
                version.version,
                Self::VERSION
            ));
        }
        let program: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        program.validate()?;
        Ok(program)
    }
}

/// The version of a text; the other fields are ignored.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}

/// Result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// All executions agree.
    Same,
    /// The program has too many interleavings to be compared.
    TooLarge,
    /// Two executions differ.
    Different {
        /// Name of the violated property.
        property: &'static str,
        /// Description for people.
        description: String,
    },
}

impl Comparison {
    /// Returns a difference.
    pub(crate) fn different(property: &'static str, description: impl Into<String>) -> Self {
        Self::Different {
            property,
            description: description.into(),
        }
    }

    /// Returns the name of the violated property.
    pub const fn property(&self) -> Option<&'static str> {
        match self {
            Self::Different { property, .. } => Some(property),
            Self::Same | Self::TooLarge => None,
        }
    }
}

/// Generation and comparison of the programs of a layer.
pub trait Layer {
    /// A program.
    type Program: FuzzProgram;

    /// Makes a program of choices.
    fn generate(&self, choices: &mut Choices<'_>) -> Self::Program;

    /// Compares executions of a program, and folds the results and dates of the simulated ones into
    /// `digest`.
    fn compare_executions(&self, program: &Self::Program, digest: &mut Digest) -> Comparison;
}

/// Compares executions of a program; a panic of the simulator itself is a difference, too.
pub fn compare<L: Layer>(layer: &L, program: &L::Program) -> Comparison {
    compare_into(layer, program, &mut Digest::default())
}

fn compare_into<L: Layer>(layer: &L, program: &L::Program, digest: &mut Digest) -> Comparison {
    let compare = || {
        catch_unwind(AssertUnwindSafe(|| {
            layer.compare_executions(program, digest)
        }))
    };
    without_panic_messages(compare).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Comparison::different("no-panic", text.unwrap_or("a panic without a text"))
    })
}

/// Limits of a campaign over a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerLimits {
    /// Seed of all programs.
    pub seed: u64,
    /// Programs to generate.
    pub tries: u64,
    /// Failures after which the campaign stops.
    pub errors: u32,
    /// Failures of each property that are shrunk and kept.
    pub examples: u64,
    /// Comparisons that shrinking a failure may take.
    pub shrink_budget: u32,
}

/// A program with executions that differ.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerFailure<P> {
    /// The number of the try, from 0.
    pub attempt: u64,
    /// Name of the violated property.
    pub property: &'static str,
    /// Description for people, of the shrunk program.
    pub description: String,
    /// The generated program.
    pub original: P,
    /// The smallest program found that differs in the same property.
    pub shrunk: Generated<P>,
    /// Comparisons that shrinking took.
    pub comparisons: u32,
}

/// Result of a campaign over a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerReport<P> {
    /// Programs that were generated.
    pub tries: u64,
    /// Programs that were too large to be compared.
    pub too_large: u32,
    /// Operations of all programs.
    pub operations: u64,
    /// Number of failures of each property.
    pub counts: BTreeMap<&'static str, u64>,
    /// The failures that are kept, in the order in which they were found.
    pub failures: Vec<LayerFailure<P>>,
    /// Digest of the results and dates of all simulated executions, without shrinking.
    pub digest: Digest,
}

impl<P> LayerReport<P> {
    /// Returns the number of all failures.
    pub fn failure_count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Progress of a campaign over a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerProgress {
    /// Programs that were generated.
    pub tries: u64,
    /// Failures that were found.
    pub failures: u64,
    /// Progress of shrinking the last failure, if this failure is being shrunk.
    pub shrinking: Option<Shrinking>,
}

/// Runs a campaign over a layer; `observe` sees the progress and can stop it before a program.
pub fn layer_campaign<L: Layer>(
    layer: &L,
    limits: &LayerLimits,
    observe: &mut dyn FnMut(LayerProgress) -> ControlFlow<()>,
) -> LayerReport<L::Program> {
    let mut stream = Stream::new(limits.seed, "programs");
    let mut report = LayerReport {
        tries: 0,
        too_large: 0,
        operations: 0,
        counts: BTreeMap::new(),
        failures: Vec::new(),
        digest: Digest::default(),
    };
    for attempt in 0..limits.tries {
        let mut progress = LayerProgress {
            tries: report.tries,
            failures: report.failure_count(),
            shrinking: None,
        };
        if observe(progress).is_break() {
            break;
        }
        let mut choices = Choices::from_stream(&mut stream);
        let program = layer.generate(&mut choices);
        let choices = choices.record.values;
        report.tries += 1;
        progress.tries += 1;
        report.operations += program.operations() as u64;
        match compare_into(layer, &program, &mut report.digest) {
            Comparison::Same => {}
            Comparison::TooLarge => report.too_large += 1,
            Comparison::Different { property, .. } => {
                progress.failures += 1;
                let count = report.counts.entry(property).or_default();
                *count += 1;
                let is_kept = *count <= limits.examples;
                let mut observe = |shrinking| {
                    progress.shrinking = Some(shrinking);
                    let _ = observe(progress);
                };
                if is_kept {
                    let found = (attempt, property);
                    let original = Generated { program, choices };
                    let failure = shrunk(layer, limits, found, original, &mut observe);
                    report.failures.push(failure);
                }
            }
        }
        if report.failure_count() >= limits.errors.into() {
            break;
        }
    }
    report
}

fn shrunk<L: Layer>(
    layer: &L,
    limits: &LayerLimits,
    (attempt, property): (u64, &'static str),
    original: Generated<L::Program>,
    observe: &mut dyn FnMut(Shrinking),
) -> LayerFailure<L::Program> {
    let mut description = String::new();
    let mut shrinking = Shrinking {
        runs: 0,
        operations: original.program.operations(),
    };
    let (shrunk, comparisons) = minimise(layer, &original, limits.shrink_budget, |candidate| {
        let is_same = compare(layer, candidate).property() == Some(property);
        shrinking.runs += 1;
        if is_same {
            shrinking.operations = candidate.operations();
        }
        observe(shrinking);
        is_same
    });
    if let Comparison::Different {
        description: text, ..
    } = compare(layer, &shrunk.program)
    {
        description = text;
    }
    LayerFailure {
        attempt,
        property,
        description,
        original: original.program,
        shrunk,
        comparisons,
    }
}

/// Returns the smallest program found that `fails`, and the number of candidates that were tried,
/// at most `budget`. A program that is found within the budget shrinks no further.
pub fn minimise<L: Layer>(
    layer: &L,
    program: &Generated<L::Program>,
    budget: u32,
    mut fails: impl FnMut(&L::Program) -> bool,
) -> (Generated<L::Program>, u32) {
    let mut search = Search {
        generate: &|choices| {
            let program = layer.generate(choices);
            program.validate().is_ok().then_some(program)
        },
        operations: L::Program::operations,
        fails: &mut fails,
        budget,
    };
    search.shrink(program)
}
