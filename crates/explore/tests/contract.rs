//! Promise: a program that violates the contract, because it keeps state from run to run, gets an
//! answer; the search never panics.

use std::cell::Cell;
use std::rc::Rc;

use explore::{Options, Reduction, Verdict, check};
use fuzz::actors::{self, Family};
use sim_core::Stepper;

/// A program that is another one in every n-th run.
fn forgetful(number: u64, period: u32) -> Stepper {
    let family = Family::ALL[usize::try_from(number % 5).expect("few")];
    let usual = actors::program(family, number);
    let mut other = actors::program(family, number + 1000);
    other.truncate(usual.len());
    let runs = Rc::new(Cell::new(0));
    Stepper::on_one_host(move |simulation| {
        runs.set(runs.get() + 1);
        let is_other = u32::is_multiple_of(runs.get(), period);
        actors::start(simulation, if is_other { &other } else { &usual });
    })
}

fn verdict(number: u64, period: u32, reduction: Reduction) -> Verdict {
    let options = Options {
        reduction,
        executions_max: 300,
        depth_max: 60,
        ..Options::default()
    };
    check(forgetful(number, period), &options).verdict
}

/// All runs are the same, so the search reports no violation.
#[test]
fn a_program_without_a_memory_is_not_suspected() {
    for number in 0..100 {
        let program = actors::program(Family::Common, number);
        let options = Options {
            executions_max: 300,
            ..Options::default()
        };
        let verdict = check(actors::stepper(&program), &options).verdict;
        assert!(
            !matches!(verdict, Verdict::Broken(_)),
            "{number}: {verdict:?}"
        );
    }
}

#[test]
fn a_program_with_a_memory_gets_an_answer() {
    for reduction in [Reduction::Odpor, Reduction::Sdpor, Reduction::Sleep] {
        let (mut noticed, mut all) = (0, 0);
        for number in 0..300 {
            for period in 2..5 {
                all += 1;
                let verdict = verdict(number, period, reduction);
                noticed += u32::from(matches!(verdict, Verdict::Broken(_)));
            }
        }
        assert!(noticed * 2 > all, "{reduction:?}: {noticed} of {all}");
    }
}

/// In these programs a run that should be new is covered already. A search that keeps trees assumes
/// that the run is new.
#[test]
fn a_run_that_was_covered_before_is_noticed() {
    let mut texts = Vec::new();
    for number in [637, 661, 685, 791, 1261, 1891, 2116, 2551, 2702, 3190] {
        for period in 2..7 {
            if let Verdict::Broken(text) = verdict(number, period, Reduction::Odpor) {
                texts.push(text);
            }
        }
    }
    let covered = texts.iter().filter(|text| text.contains("explored twice"));
    assert!(covered.count() >= 10, "{texts:#?}");
}
