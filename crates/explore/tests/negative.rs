//! Promise: the comparison with the judge notices mistakes. Each search with a known mistake loses
//! classes of some small random program.

use std::collections::BTreeSet;

use crate::seen::Observation;
use explore::{Options, Reduction, SeededDefect, TraceId, explore};
use fuzz::actors::{self, Family, Program};

fn traces(
    program: &Program,
    reduction: Reduction,
    defect: Option<SeededDefect>,
) -> Option<BTreeSet<TraceId>> {
    let options = Options {
        reduction,
        defect,
        executions_max: 2_000,
        depth_max: 60,
        ..Options::default()
    };
    let mut seen = Observation::default();
    let (statistics, _) = explore(&mut actors::stepper(program), &options, &mut seen);
    statistics.bounds.is_empty().then_some(seen.0)
}

/// The first program of which the mistaken search loses classes.
#[track_caller]
fn check(reduction: Reduction, defect: SeededDefect) {
    let is_noticed = |number: u64| {
        let program = actors::program(Family::ALL[0], number);
        let Some(judge) = traces(&program, Reduction::Sleep, None) else {
            return false;
        };
        traces(&program, reduction, Some(defect)).is_some_and(|seen| seen != judge)
    };
    assert!((0..3_000).any(is_noticed), "{defect:?} is not noticed");
}

#[test]
fn sequences_that_hold_only_the_causal_past() {
    check(Reduction::Odpor, SeededDefect::CausalPast);
}

#[test]
fn sequences_that_stop_at_the_race() {
    check(Reduction::Odpor, SeededDefect::ShortSequences);
}

#[test]
fn no_rule_for_members_that_are_completed_after_the_choice() {
    check(Reduction::Odpor, SeededDefect::NoWaitAnyRule);
}

#[test]
fn choices_without_what_comes_after() {
    check(Reduction::Odpor, SeededDefect::ShortChoices);
}

/// One of 15 000 programs shows the defect: the program has two choices.
#[test]
fn choices_that_are_looked_at_once() {
    let program = actors::program(Family::ALL[3], 3_901);
    let judge = traces(&program, Reduction::Sleep, None);
    let mistaken = traces(&program, Reduction::Odpor, Some(SeededDefect::ChoicesOnce));
    assert_eq!(traces(&program, Reduction::Odpor, None), judge);
    assert_ne!(mistaken, judge);
}

#[test]
fn semaphores_that_never_let_a_wait_come_first() {
    check(Reduction::Odpor, SeededDefect::SemaphoresNeverReverse);
}

#[test]
fn any_ancestor_will_do_and_sleeping_ones_count() {
    check(Reduction::Sdpor, SeededDefect::AncestorsWithSleepSets);
}

#[test]
fn races_only_at_the_ends_of_runs() {
    check(Reduction::Sdpor, SeededDefect::RacesOnlyAtTheEnd);
}
