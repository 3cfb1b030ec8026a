//! The tests of random interactions, programs and work requests, in one executable.

mod actors;
mod campaigns;
mod freedoms;
mod mistakes;
mod processes;
mod ranks;
mod regressions;
mod verbs;

use std::fmt::Debug;
use std::ops::ControlFlow;

use fuzz::{
    Choices, FuzzProgram, Layer, LayerFailure, LayerLimits, LayerReport, compare, layer_campaign,
    minimise,
};
use sim_core::Stream;

/// Compares programs of seed 1 until one differs, and shrinks the program in at most
/// `shrink_budget` comparisons.
fn run_layer<L: Layer>(layer: &L, tries: u64, shrink_budget: u32) -> LayerReport<L::Program> {
    let limits = LayerLimits {
        seed: 1,
        tries,
        errors: 1,
        examples: u64::MAX,
        shrink_budget,
    };
    layer_campaign(layer, &limits, &mut |_| ControlFlow::Continue(()))
}

/// Checks that a failure was found and shrunk to at most `most` operations, and that the shrunk
/// program shrinks no further and fails in the same property. Returns the shrunk program.
#[track_caller]
fn check_failure<'a, L: Layer<Program: Debug>>(
    layer: &L,
    failure: Option<&'a LayerFailure<L::Program>>,
    (name, most): (&dyn Debug, usize),
    shrink_budget: u32,
) -> &'a L::Program {
    let Some(LayerFailure {
        property,
        shrunk,
        original,
        ..
    }) = failure
    else {
        panic!("{name:?} is not found");
    };
    let operations = shrunk.program.operations();
    assert!(operations <= most, "{name:?}: {shrunk:?}");
    assert!(operations < original.operations(), "{name:?}");
    let fails = |candidate: &L::Program| compare(layer, candidate).property() == Some(*property);
    assert!(fails(&shrunk.program), "{name:?}");
    let (again, _) = minimise(layer, shrunk, shrink_budget, fails);
    assert_eq!(again, *shrunk, "{name:?}");
    &shrunk.program
}

/// Writes programs as texts and reads the texts.
fn check_texts<L: Layer<Program: Debug>>(layer: &L, tries: u64) {
    let mut stream = Stream::new(5, "texts");
    for _ in 0..tries {
        let program = layer.generate(&mut Choices::from_stream(&mut stream));
        let text = program.to_toml();
        assert_eq!(L::Program::from_toml(&text), Ok(program), "{text}");
    }
}
