//! A whole search: from a program and options to a report.

use std::ops::ControlFlow;

use sim_core::{Schedule, Stepper};

use crate::odpor::Odpor;
use crate::walk::Walk;
use crate::{
    Bound, Event, Finding, Options, Path, Reduction, Statistics, Strategy, finding, none, sampling,
    sdpor,
};

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// Every actor that is not a daemon has ended.
    Finished,
    /// The same, and something was left unfinished: messages that nobody received, operations that never ended.
    Leftovers,
    /// Actors are left that can never go on.
    Deadlock,
    /// The same, and one of them asks the same again and again.
    Livelock,
    /// An actor failed. The others went on as far as they could.
    Failed,
    /// The run was cut because it was too long.
    TooDeep,
}

/// A run that is over, as an [`Observer`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Its events.
    pub path: &'a Path,
    /// How it ended.
    pub end: End,
    /// The program at the end of the run.
    pub stepper: &'a Stepper,
}

/// Sees every run.
pub trait Observer {
    /// Looks at a run that is over. `Break` stops the search.
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()>;

    /// The search begins anew, because something was learnt of the program: the runs so far will come again.
    fn forget(&mut self) {}
}

/// What was found so far.
struct Finder<'a> {
    options: &'a Options,
    found: Vec<(Vec<Event>, End)>,
}

impl Observer for Finder<'_> {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        if !finding::is_finding(run.end) {
            return ControlFlow::Continue(());
        }
        if self.found.len() < self.options.findings_max {
            self.found.push((run.path.events().to_vec(), run.end));
        }
        if self.found.len() >= self.options.findings_max && !self.options.goes_on {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn forget(&mut self) {
        self.found.clear();
    }
}

/// Why a search ends before it is exhaustive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Halt {
    /// A bound was hit.
    Bound(Bound),
    /// The observer has seen enough.
    Stopped,
    /// Something was learnt that changes what depends on what.
    Again,
    /// The program did something else than before, here.
    NotDeterministic(Event),
    /// What cannot be if the program takes the same steps again: a beginning that nothing should cover is covered.
    Inconsistent,
    /// A step that should be possible is not.
    NotPossible { actor: u16, choice: u32 },
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All orders were covered and nothing was found.
    Ok,
    /// Something was found.
    Found,
    /// Nothing was found, but not all orders were covered: see [`Statistics::bounds`].
    Bounded,
    /// The program does not keep to the contract: it did not take the same steps again. The text says where.
    Broken(String),
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// What was found, in the order in which it was found; at most [`Options::findings_max`].
    pub findings: Vec<Finding>,
    /// What was counted.
    pub statistics: Statistics,
}

impl Report {
    /// Whether all orders were covered.
    #[must_use]
    pub fn is_exhaustive(&self) -> bool {
        self.statistics.bounds.is_empty() && !matches!(self.verdict, Verdict::Broken(_))
    }
}

/// What a finding says that does not happen again.
const NOT_AGAIN: &str =
    "the program is not deterministic: the steps that led to a finding do not lead there again";

/// Explores a program and reports what is wrong with it.
#[must_use]
pub fn check(mut stepper: Stepper, options: &Options) -> Report {
    let mut finder = Finder {
        options,
        found: Vec::new(),
    };
    let (statistics, broken) = explore(&mut stepper, options, &mut finder);
    let mut findings: Vec<Finding> = Vec::new();
    let mut broken = broken;
    for (events, end) in finder.found {
        match Finding::again(&mut stepper, &events, end) {
            Some(finding) => findings.push(finding),
            None => broken = broken.or_else(|| Some(NOT_AGAIN.to_owned())),
        }
    }
    let verdict = match broken {
        Some(text) => Verdict::Broken(text),
        None if statistics.failed + statistics.deadlocks + statistics.leftovers > 0 => {
            Verdict::Found
        }
        None if statistics.bounds.is_empty() => Verdict::Ok,
        None => Verdict::Bounded,
    };
    Report {
        verdict,
        findings,
        statistics,
    }
}

/// Explores a program and shows every run to an observer. The text says how the program broke the contract, if it did.
pub fn explore(
    stepper: &mut Stepper,
    options: &Options,
    observer: &mut dyn Observer,
) -> (Statistics, Option<String>) {
    let mut own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    own.restart();
    let mut walk = Walk::new(own, options, observer);
    let halt = loop {
        let result = match (options.strategy, options.reduction) {
            (Strategy::DepthFirst, Reduction::Odpor) => Odpor::run(&mut walk),
            (Strategy::DepthFirst, Reduction::Sdpor) => sdpor::run(&mut walk),
            (Strategy::DepthFirst, Reduction::Sleep) => none::run(&mut walk, true),
            (Strategy::DepthFirst, Reduction::None) => none::run(&mut walk, false),
            (strategy, _) => sampling::run(&mut walk, strategy),
        };
        match result {
            Err(Halt::Again) => walk.begin_again(),
            other => break other.err(),
        }
    };
    let mut broken = None;
    match halt {
        None | Some(Halt::Again) => {}
        Some(Halt::Bound(bound)) => walk.statistics.bounds.insert(bound),
        Some(Halt::Stopped) => walk.statistics.bounds.insert(Bound::Finding),
        Some(Halt::NotDeterministic(event)) => {
            broken = Some(format!(
                "the program is not deterministic: actor {} did not take the same step again ({:?})",
                event.actor + 1,
                event.kind
            ));
        }
        Some(Halt::Inconsistent) => {
            broken = Some(
                "the program is not deterministic: a run that should be new was covered before"
                    .to_owned(),
            );
        }
        Some(Halt::NotPossible { actor, choice }) => {
            broken = Some(format!(
                "the program is not deterministic: a step of actor {} is not possible again (choice {choice})",
                actor + 1
            ));
        }
    }
    walk.statistics.transitions = walk.machine.transitions;
    walk.statistics.seconds = walk.seconds();
    let statistics = walk.statistics;
    *stepper = walk.into_stepper();
    (statistics, broken)
}

/// Takes the steps of a schedule; how many were possible.
pub fn replay(stepper: &mut Stepper, schedule: &Schedule) -> usize {
    stepper.restart();
    let mut steps = 0;
    for choice in &schedule.0 {
        let actor = choice.actor.number() - 1;
        let Some(step) = stepper.choice_of(actor, choice.branch) else {
            break;
        };
        if stepper.execute(actor, step).is_none() {
            break;
        }
        steps += 1;
    }
    steps
}
