//! A search by each reduction, with the observations of the actors in all runs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use explore::{Options, Reduction, Report, Verdict, check};
use sim_core::{Simulation, Stepper};

/// Observations of the actors, over all runs.
pub(crate) type Observation = Rc<RefCell<BTreeSet<String>>>;

/// Explores with all searches, which must agree. Returns the report of the optimal one and the
/// observations of the actors.
pub(crate) fn explored(
    build: fn() -> Simulation,
    allow: impl Fn(&mut Stepper),
    program: impl Fn(&mut Simulation, &Observation) + Clone + 'static,
) -> (Report, BTreeSet<String>) {
    let search = |reduction| {
        let (seen, program) = (Observation::default(), program.clone());
        let notes = Rc::clone(&seen);
        let mut stepper = Stepper::new(build, move |simulation| program(simulation, &notes));
        allow(&mut stepper);
        let options = Options {
            reduction,
            ..Options::default()
        };
        let report = check(stepper, &options);
        assert!(!matches!(report.verdict, Verdict::Broken(_)), "{report:?}");
        assert!(report.statistics.bounds.is_empty(), "{report:?}");
        (report, seen.take())
    };
    let (report, seen) = search(Reduction::Odpor);
    for judge in [Reduction::None, Reduction::Sleep, Reduction::Sdpor] {
        let (other, all) = search(judge);
        assert_eq!(all, seen, "{judge:?}");
        assert_eq!(other.verdict, report.verdict, "{judge:?}");
    }
    assert_eq!(report.statistics.sleep_set_blocked, 0);
    (report, seen)
}

pub(crate) fn set(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|&text| text.to_owned()).collect()
}
