//! Promise: on random actor programs the model checker finds the same as brute force; each seeded
//! defect of the search is found and shrunk; a written text is read back unchanged.

use crate::{check_failure, check_texts, run_layer};
use explore::SeededDefect;
use fuzz::actors::ActorLayer;

#[test]
fn the_checker_finds_what_brute_force_finds() {
    let report = run_layer(&ActorLayer::new(1_000), 500, 10_000);
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
        let report = run_layer(&layer, 3_000, 10_000);
        check_failure(&layer, report.failures.first(), (&defect, 3), 10_000);
    }
}

#[test]
fn a_text_is_read_as_it_was_written() {
    check_texts(&ActorLayer::new(1), 200);
}
