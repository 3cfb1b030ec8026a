//! Promise: on random programs all searches find the same classes, the same final states and the
//! same ends; the optimal one each class once and no run in vain.
//!
//! `EXPLORE_PROGRAMS` sets how many programs of each family are compared, 400 by default;
//! `EXPLORE_FIRST` the number of the first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use explore::{End, Observer, Options, Reduction, Run, Statistics, TraceId, explore};
use fuzz::actors::{self, Family, Op, Program};

/// Programs with more runs than this are left out.
const RUNS_MAX: u64 = 300;

/// Observations of a search.
#[derive(Default)]
struct Observation {
    traces: BTreeMap<TraceId, String>,
    states: BTreeSet<(TraceId, u64)>,
    ends: BTreeSet<End>,
}

impl Observer for Observation {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
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
        self.traces.entry(run.path.trace_id()).or_insert_with(text);
        self.states
            .insert((run.path.histories(), run.stepper.object_digest().value()));
        self.ends.insert(run.end);
        ControlFlow::Continue(())
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn search(program: &Program, options: &Options) -> Option<(Observation, Statistics)> {
    let mut seen = Observation::default();
    let mut stepper = actors::stepper(program);
    let (statistics, broken) = explore(&mut stepper, options, &mut seen);
    assert_eq!(broken, None, "{program:?}");
    statistics.bounds.is_empty().then_some((seen, statistics))
}

fn options(reduction: Reduction, executions_max: u64) -> Options {
    Options {
        reduction,
        executions_max,
        depth_max: 60,
        ..Options::default()
    }
}

/// Returns the differences between the searches for one program; `None` if the program is too large
/// for the reference search.
fn compare(name: &str, program: &Program, runs_max: u64) -> Option<Vec<String>> {
    let (judge, _) = search(program, &options(Reduction::Sleep, runs_max))?;
    let mut differences = Vec::new();
    let mut check = |what: &str, seen: &Observation| {
        let text = difference(what, seen, &judge);
        differences.extend(text.map(|text| format!("{name}: {text}\n  {program:?}")));
    };
    if let Some((all, _)) = search(program, &options(Reduction::None, runs_max)) {
        check("none", &all);
    }
    let (source, _) =
        search(program, &options(Reduction::Sdpor, runs_max)).expect("no more runs than the judge");
    check("sdpor", &source);
    for every_race in [false, true] {
        let options = Options {
            every_race,
            ..options(Reduction::Odpor, runs_max)
        };
        let what = if every_race {
            "odpor, every race"
        } else {
            "odpor"
        };
        let (seen, statistics) = search(program, &options).expect("no more runs than the judge");
        check(what, &seen);
        assert_eq!(statistics.sleep_set_blocked, 0, "{name}: runs in vain");
        let traces = seen.traces.len() as u64;
        assert_eq!(statistics.executions, traces, "{name}: classes twice");
    }
    Some(differences)
}

/// Returns the difference between the observations of a search and of the reference search.
fn difference(what: &str, seen: &Observation, judge: &Observation) -> Option<String> {
    let same_classes = seen.traces.keys().eq(judge.traces.keys());
    if same_classes && seen.states == judge.states && seen.ends == judge.ends {
        return None;
    }
    let only = |from: &Observation, other: &Observation| {
        let runs = from.traces.iter();
        let runs = runs.filter(|(trace_id, _)| !other.traces.contains_key(trace_id));
        runs.take(3)
            .map(|(_, text)| format!("\n    {text}"))
            .collect::<String>()
    };
    Some(format!(
        "{what} has {} classes and {} states, the judge {} and {}\n  missed:{}\n  too many:{}",
        seen.traces.len(),
        seen.states.len(),
        judge.traces.len(),
        judge.states.len(),
        only(judge, seen),
        only(seen, judge)
    ))
}

fn number_of(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test may ask how much to do")]
    let value = std::env::var(name);
    value.map_or(default, |text| text.parse().expect("a number"))
}

/// Compares the programs of a family.
fn family(family: Family) {
    let first = number_of("EXPLORE_FIRST", 0);
    let programs = number_of("EXPLORE_PROGRAMS", 200);
    let all: Vec<_> = (first..first + programs)
        .filter_map(|number| {
            compare(
                &format!("{family:?} {number}"),
                &actors::program(family, number),
                RUNS_MAX,
            )
        })
        .collect();
    let compared = all.len() as u64;
    let differences: Vec<_> = all.into_iter().flatten().collect();
    assert!(
        differences.is_empty(),
        "{} differences, the first of them:\n{}",
        differences.len(),
        differences[..differences.len().min(5)].join("\n")
    );
    assert!(
        compared * 3 > programs,
        "only {compared} of {programs} are small enough"
    );
}

#[test]
fn common_programs() {
    assert_eq!(Family::ALL.len(), 12, "a test for each family");
    family(Family::Common);
}

#[test]
fn programs_with_condition_variables() {
    family(Family::Condvars);
}

#[test]
fn programs_with_rarer_steps() {
    family(Family::Uncommon);
}

#[test]
fn programs_that_create_actors() {
    family(Family::Actors);
}

#[test]
fn programs_that_end_and_suspend_actors() {
    family(Family::Global);
}

#[test]
fn programs_whose_waits_for_messages_have_limits() {
    family(Family::Timeouts);
}

#[test]
fn programs_whose_waits_for_signals_have_limits() {
    family(Family::TimedLocks);
}

#[test]
fn programs_over_one_mailbox() {
    family(Family::OneMailbox);
}

#[test]
fn programs_over_one_mutex() {
    family(Family::OneMutex);
}

#[test]
fn programs_whose_hosts_and_links_fail() {
    family(Family::Failures);
}

#[test]
fn programs_over_a_mailbox_with_a_permanent_receiver() {
    family(Family::Receivers);
}

#[test]
fn programs_that_cancel_expire_and_switch_hosts() {
    family(Family::Mixed);
}

/// Actor 3 cancels a receive that may be matched, and has hidden effects elsewhere. The
/// cancellation is dependent on the same steps before and after the match.
#[test]
fn a_cancellation_depends_on_the_same_steps_in_all_orders() {
    let program = vec![
        vec![
            Op::PutDetached(0),
            Op::IfOdd,
            Op::TryLock(0),
            Op::MutexTest(0),
        ],
        vec![Op::MutexTest(0), Op::Send(1), Op::Get(0), Op::Cancel],
        vec![
            Op::Receive(0),
            Op::LockAsync(0),
            Op::Probe(0),
            Op::Cancel,
            Op::Cancel,
        ],
    ];
    assert_eq!(compare("three actors", &program, 3000), Some(Vec::new()));
}
