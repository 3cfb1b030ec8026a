//! Promise: on random actor programs the model checker finds what brute force finds; each seeded
//! defect of the search is found and shrunk; a text is read as it was written.

use std::ops::ControlFlow;

use explore::SeededDefect;
use fuzz::actors::{ActorLayer, ActorProgram};
use fuzz::{
    Choices, FuzzProgram, Layer, LayerLimits, LayerReport, compare, layer_campaign, minimise,
};
use sim_core::Stream;

fn campaign(layer: &ActorLayer, tries: u64) -> LayerReport<ActorProgram> {
    let limits = LayerLimits {
        seed: 1,
        tries,
        errors: 1,
        examples: u64::MAX,
        shrink_budget: 10_000,
    };
    layer_campaign(layer, &limits, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn the_checker_finds_what_brute_force_finds() {
    let report = campaign(&ActorLayer::new(1_000), 500);
    assert_eq!(report.failures, []);
    let counts = (report.tries, report.too_large, report.operations);
    assert_eq!(counts, (500, 203, 5_582));
}

/// Each shrunk program shrinks no further, and still differs in the same property.
#[test]
fn seeded_defects_are_found_and_shrunk() {
    for defect in [
        SeededDefect::CausalPast,
        SeededDefect::ShortSequences,
        SeededDefect::NoWaitAnyRule,
        SeededDefect::ShortChoices,
        SeededDefect::SemaphoresNeverReverse,
    ] {
        let mut layer = ActorLayer::new(1_000);
        layer.options.defect = Some(defect);
        let report = campaign(&layer, 3_000);
        let [failure] = &report.failures[..] else {
            panic!("{defect:?} is not found");
        };
        let property = Some(failure.property);
        assert_eq!(
            compare(&layer, &failure.shrunk.program).property(),
            property
        );
        let operations = failure.shrunk.program.operations();
        assert!(operations <= 3, "{defect:?}: {:?}", failure.shrunk);
        assert!(operations < failure.original.operations());
        let fails = |candidate: &ActorProgram| compare(&layer, candidate).property() == property;
        let (again, _) = minimise(&layer, &failure.shrunk, 10_000, fails);
        assert_eq!(again, failure.shrunk);
    }
}

#[test]
fn a_text_is_read_as_it_was_written() {
    let layer = ActorLayer::new(1);
    let mut stream = Stream::new(5, "texts");
    for _ in 0..200 {
        let program = layer.generate(&mut Choices::drawn(&mut stream));
        let text = program.to_toml();
        assert_eq!(ActorProgram::from_toml(&text), Ok(program), "{text}");
    }
}
