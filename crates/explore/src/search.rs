//! A whole search: from a program and options to a report.

use std::ops::ControlFlow;

use sim_core::{Schedule, Stepper};

use crate::drive::{self, Ended, ObserverAdapter};
use crate::orders::{Orders, ReceiveOrder, Taken};
use crate::state::State;
use crate::{Checkpoint, Event, Finding, Options, Path, Statistics, Threads, finding, spinning};

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// Every actor that is not a daemon has ended.
    Finished,
    /// The same, with unfinished operations: messages that were not received, operations that never
    /// ended.
    Leftovers,
    /// Actors are left that can never continue.
    Deadlock,
    /// The same, and one of them asks the same again and again.
    Livelock,
    /// An actor failed. The others continued as far as they could.
    Failed,
    /// The run was cut because it was too long.
    TooDeep,
    /// Some actors only yield and sleep, up to a bound, and no other actor can take a step.
    Spinning,
    /// Every actor has ended, and would not have if some had waited where they may wait.
    ConditionalDeadlock,
    /// An actor waits for an answer that was picked and did not come: other runs continue there.
    Covered,
}

impl End {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 9] = [
        Self::Finished,
        Self::Leftovers,
        Self::Deadlock,
        Self::Livelock,
        Self::Failed,
        Self::TooDeep,
        Self::Spinning,
        Self::Covered,
        Self::ConditionalDeadlock,
    ];
}

/// Returns the end of a run in which every actor has ended.
pub(crate) fn end_of_finished(stepper: &Stepper) -> End {
    if !stepper.leftovers().is_empty() {
        End::Leftovers
    } else if stepper.conditional_deadlock().is_some() {
        End::ConditionalDeadlock
    } else {
        End::Finished
    }
}

/// A run that is over, as an [`Observer`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Its events.
    pub path: &'a Path,
    /// Its end.
    pub end: End,
    /// The program at the end of the run.
    pub stepper: &'a Stepper,
}

/// Sees every run.
pub trait Observer {
    /// Looks at a run that is over, unless [other runs](End::Covered) cover it. `Break` stops the
    /// search.
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()>;

    /// Notes a run that other runs [cover](End::Covered).
    fn note_covered(&mut self, run: &Run<'_>) {
        let _ = run;
    }

    /// The search restarts because the dependency relation has changed: the runs so far will be
    /// repeated.
    fn forget(&mut self) {}

    /// The search can be continued from here later: the runs so far will not be repeated.
    fn keep(&mut self) {}
}

/// Sees every run of a search that may have several threads: looks at each where it is run, and
/// collects what was seen in one place, in an order that does not depend on the number of threads.
pub trait Collector {
    /// The observation of one run.
    type Observation: Send;

    /// Looks at a run that is over.
    fn look(run: &Run<'_>) -> Self::Observation;

    /// Takes the observation of a run. `Break` stops the search.
    fn collect(&mut self, seen: Self::Observation) -> ControlFlow<()>;

    /// Looks at a run and takes the observation, where both are done in one place.
    fn look_and_collect(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.collect(Self::look(run))
    }

    /// The search restarts because the dependency relation has changed: the runs so far will be
    /// repeated.
    fn forget(&mut self) {}

    /// The search can be continued from here later: the runs so far will not be repeated.
    fn keep(&mut self) {}
}

/// The events of a run with a finding, and how it ended.
pub(crate) type Counterexample = (Vec<Event>, End);

/// The part of a run with a finding that is kept.
pub(crate) fn counterexample(run: &Run<'_>) -> Counterexample {
    let events = run.path.events();
    let events = match run.end {
        End::Spinning => spinning::shortened(events),
        _ => events.to_vec(),
    };
    (events, run.end)
}

/// The findings so far.
#[derive(Debug)]
struct Finder<'a> {
    options: &'a Options,
    found: Vec<Counterexample>,
    /// Orders in which actors receive from any source. A repeated run adds nothing.
    orders: Orders,
    /// Number of findings whose runs are not repeated if the search is continued.
    kept: usize,
}

impl<'a> Finder<'a> {
    const fn new(options: &'a Options, found: Vec<Counterexample>, orders: Orders) -> Self {
        Self {
            options,
            orders,
            kept: found.len(),
            found,
        }
    }
}

impl Collector for Finder<'_> {
    type Observation = (Option<Counterexample>, Option<Box<Taken>>);

    fn look(run: &Run<'_>) -> Self::Observation {
        let found = finding::is_finding(run.end).then(|| counterexample(run));
        (found, Taken::in_run(run))
    }

    fn look_and_collect(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        if !finding::is_finding(run.end) && self.orders.has_nothing_new(run) {
            return ControlFlow::Continue(());
        }
        self.collect(Self::look(run))
    }

    fn collect(&mut self, (found, taken): Self::Observation) -> ControlFlow<()> {
        if let Some(taken) = taken {
            self.orders.note(&taken);
        }
        let Some(found) = found else {
            return ControlFlow::Continue(());
        };
        if self.found.len() < self.options.findings_max {
            self.found.push(found);
        }
        if self.found.len() >= self.options.findings_max && !self.options.goes_on {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn forget(&mut self) {
        self.found.clear();
        self.orders = Orders::default();
        self.kept = 0;
    }

    fn keep(&mut self) {
        self.kept = self.found.len();
    }
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
    /// The program does not keep to the contract: it did not take the same steps again. The text
    /// says where.
    Broken(String),
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// The findings, in the order of the search; at most [`Options::findings_max`].
    pub findings: Vec<Finding>,
    /// Actors that take messages from any source in an order that is not determined: warnings,
    /// without influence on the verdict.
    pub receive_orders: Vec<ReceiveOrder>,
    /// Counts of the search.
    pub statistics: Statistics,
    /// The state from which the search can be continued, if it was the optimal depth-first one and
    /// a bound stopped it.
    pub checkpoint: Option<Checkpoint>,
    /// The state of the optimal depth-first search if it came to its end: a search continued from
    /// there gives the same report.
    pub over: Option<Checkpoint>,
}

impl Report {
    /// Returns true if all orders were covered.
    pub fn is_exhaustive(&self) -> bool {
        self.statistics.bounds.is_empty() && !matches!(self.verdict, Verdict::Broken(_))
    }
}

/// Message for a finding that a second run does not reproduce.
const NOT_AGAIN: &str =
    "the program is not deterministic: the counterexample does not reproduce the finding";

/// Explores a program and reports its defects.
pub fn check(stepper: Stepper, options: &Options) -> Report {
    let mut finder = Finder::new(options, Vec::new(), Orders::default());
    let ended = drive::alone(stepper, options, &mut ObserverAdapter(&mut finder));
    report(ended, finder)
}

/// [`check`] on several threads, from the beginning or from where another search of the same
/// program with the same options was interrupted. The report does not depend on the number of
/// threads, but for the times; what bounds allow is what is allowed in addition.
///
/// # Panics
/// If an invariant of the search is broken, on whichever thread.
pub fn check_on_threads(
    threads: &Threads<'_>,
    options: &Options,
    from: Option<&Checkpoint>,
) -> Report {
    let opened = from.and_then(Checkpoint::open);
    let (state, found, orders) =
        opened.unwrap_or_else(|| (State::new(), Vec::new(), Orders::default()));
    let mut finder = Finder::new(options, found, orders);
    let ended = drive::together(threads, options, state, &mut finder);
    report(ended, finder)
}

fn report(ended: Ended, finder: Finder<'_>) -> Report {
    let Ended {
        mut stepper,
        statistics,
        mut broken,
        state,
        is_over,
    } = ended;
    let state = state.filter(|_| broken.is_none());
    let kept = if is_over {
        finder.found.len()
    } else {
        finder.kept
    };
    let kept = state.map(|state| Checkpoint::new(&state, &finder.found[..kept], &finder.orders));
    let (checkpoint, over) = if is_over { (None, kept) } else { (kept, None) };
    let mut findings: Vec<Finding> = Vec::new();
    for (events, end) in finder.found {
        match Finding::again(&mut stepper, &events, end) {
            Some(finding) => findings.push(finding),
            None => broken = broken.or_else(|| Some(NOT_AGAIN.to_owned())),
        }
    }
    let mut receive_orders = Vec::new();
    for known in &finder.orders.0 {
        match ReceiveOrder::of(&mut stepper, known) {
            Some(Ok(order)) => receive_orders.push(order),
            Some(Err(())) => broken = broken.or_else(|| Some(NOT_AGAIN.to_owned())),
            None => {}
        }
    }
    receive_orders.sort_by_key(|order| order.actor);
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
        receive_orders,
        statistics,
        checkpoint,
        over,
    }
}

/// Explores a program and shows every run to an observer. The text says how the program broke the
/// contract, if it did.
pub fn explore(
    stepper: &mut Stepper,
    options: &Options,
    observer: &mut dyn Observer,
) -> (Statistics, Option<String>) {
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let ended = drive::alone(own, options, observer);
    *stepper = ended.stepper;
    (ended.statistics, ended.broken)
}

/// [`explore`] on several threads. What is collected, and in which order, does not depend on their
/// number.
///
/// Only the optimal depth-first search has use for more than one thread.
///
/// # Panics
/// If an invariant of the search is broken, on whichever thread.
pub fn explore_on_threads<C: Collector>(
    threads: &Threads<'_>,
    options: &Options,
    collector: &mut C,
) -> (Statistics, Option<String>) {
    let ended = drive::together(threads, options, State::new(), collector);
    (ended.statistics, ended.broken)
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
