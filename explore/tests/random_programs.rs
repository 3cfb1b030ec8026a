//! Promise: on random programs all searches find the same classes, the same final states and the same ends; the optimal
//! one each class once and no run in vain.
//!
//! `EXPLORE_PROGRAMS` sets how many programs of each family are compared, 400 by default; `EXPLORE_FIRST` the number of the
//! first.

mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use explore::{Class, End, Observer, Options, Reduction, Run, Statistics, explore};
use random::{Family, Program};

/// Programs with more runs than this are left out.
const RUNS_MAX: u64 = 2_000;

/// What a search has seen.
#[derive(Default)]
struct Seen {
    classes: BTreeMap<Class, String>,
    states: BTreeSet<(Class, u64)>,
    ends: BTreeSet<End>,
}

impl Observer for Seen {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let text = || {
            let steps = run.path.events().iter();
            let steps = steps.map(|event| {
                format!(
                    "{}:{:?}({},{})/{}",
                    event.actor + 1,
                    event.kind,
                    event.object.cast_signed(),
                    event.detail,
                    event.choice
                )
            });
            steps.collect::<Vec<_>>().join(" ")
        };
        self.classes.entry(run.path.class()).or_insert_with(text);
        self.states
            .insert((run.path.histories(), run.stepper.object_digest().value()));
        self.ends.insert(run.end);
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn search(program: &Program, options: &Options) -> Option<(Seen, Statistics)> {
    let mut seen = Seen::default();
    let mut stepper = random::stepper(program);
    let (statistics, broken) = explore(&mut stepper, options, &mut seen);
    assert_eq!(broken, None, "{program:?}");
    statistics.bounds.is_empty().then_some((seen, statistics))
}

fn options(reduction: Reduction) -> Options {
    Options {
        reduction,
        traces_max: RUNS_MAX,
        depth_max: 60,
        ..Options::default()
    }
}

fn number_of(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test may ask how much to do")]
    let value = std::env::var(name);
    value.map_or(default, |text| text.parse().expect("a number"))
}

/// Compares one program; false if it is too large.
fn compare(family: Family, number: u64) -> bool {
    let program = random::program(family, number);
    let Some((judge, _)) = search(&program, &options(Reduction::Sleep)) else {
        return false;
    };
    if let Some((all, _)) = search(&program, &options(Reduction::None)) {
        check(family, number, &program, "none", &all, &judge);
    }
    let every = Options {
        every_race: true,
        ..options(Reduction::Odpor)
    };
    for options in [options(Reduction::Odpor), every, options(Reduction::Sdpor)] {
        let what = format!("{:?} every race {}", options.reduction, options.every_race);
        let (seen, statistics) = search(&program, &options).expect("no more runs than the judge");
        check(family, number, &program, &what, &seen, &judge);
        if options.reduction == Reduction::Odpor {
            assert_eq!(statistics.blocked, 0, "{program:?}");
            assert_eq!(
                statistics.traces,
                seen.classes.len() as u64,
                "{family:?} {number} {program:?}"
            );
        }
    }
    true
}

fn check(family: Family, number: u64, program: &Program, what: &str, seen: &Seen, judge: &Seen) {
    let same_classes = seen.classes.keys().eq(judge.classes.keys());
    if same_classes && seen.states == judge.states && seen.ends == judge.ends {
        return;
    }
    let text = |from: &Seen, other: &Seen| {
        let only = from
            .classes
            .iter()
            .filter(|(class, _)| !other.classes.contains_key(class));
        only.take(3)
            .map(|(_, text)| format!("\n    {text}"))
            .collect::<String>()
    };
    let message = format!(
        "{what} on {family:?} {number}: {} classes, {} states; the judge {} and {}\n  {program:?}\n  missed:{}\n  too many:{}",
        seen.classes.len(),
        seen.states.len(),
        judge.classes.len(),
        judge.states.len(),
        text(judge, seen),
        text(seen, judge)
    );
    if number_of("EXPLORE_GO_ON", 0) == 1 {
        eprintln!("{message}");
    } else {
        panic!("{message}");
    }
}

fn family(family: Family) {
    let (first, programs) = (
        number_of("EXPLORE_FIRST", 0),
        number_of("EXPLORE_PROGRAMS", 400),
    );
    let compared = (first..first + programs)
        .filter(|&number| compare(family, number))
        .count();
    assert!(
        compared as u64 * 3 > programs,
        "only {compared} of {programs} programs are small enough"
    );
}

#[test]
fn common_programs() {
    family(Family::Common);
}

#[test]
fn programs_with_condition_variables() {
    family(Family::Condvars);
}

#[test]
fn programs_with_rarer_steps() {
    family(Family::Rare);
}

#[test]
fn programs_that_create_actors() {
    family(Family::Actors);
}

#[test]
fn programs_that_end_and_suspend_actors() {
    family(Family::Global);
}
