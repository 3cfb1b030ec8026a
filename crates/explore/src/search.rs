//! A whole search: from a program and options to a report.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sim_core::{Note, OptionalWaits, Schedule, Stepper};

use crate::drive::{self, Ended, ObserverAdapter};
use crate::orders::{Orders, ReceiveOrder, Taken};
use crate::state::SearchState;
use crate::{
    Checkpoint, Event, Finding, Options, Path, Statistics, Threads, check_determinism, finding,
    spinning,
};

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
    /// Every actor has ended; whether waits that are permitted lead to a deadlock is not decided.
    Undecided,
    /// An actor waits for an answer that was picked and did not come: other runs continue there.
    Covered,
}

impl End {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 10] = [
        Self::Finished,
        Self::Leftovers,
        Self::Deadlock,
        Self::Livelock,
        Self::Failed,
        Self::TooDeep,
        Self::Spinning,
        Self::Covered,
        Self::ConditionalDeadlock,
        Self::Undecided,
    ];
}

/// Returns the end of a run in which every actor has ended.
pub(crate) fn end_of_finished(stepper: &Stepper) -> End {
    if !stepper.leftovers().is_empty() {
        End::Leftovers
    } else {
        match stepper.optional_waits() {
            OptionalWaits::Free => End::Finished,
            OptionalWaits::Deadlock(_) => End::ConditionalDeadlock,
            OptionalWaits::Undecided => End::Undecided,
        }
    }
}

/// A complete run, as an [`Observer`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The events of the run.
    pub path: &'a Path,
    /// The end of the run.
    pub end: End,
    /// The program at the end of the run.
    pub stepper: &'a Stepper,
}

/// Sees every run.
pub trait Observer {
    /// Examines a complete run, unless [other runs](End::Covered) cover the run. `Break` stops the
    /// search.
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()>;

    /// Notes a run that other runs [cover](End::Covered).
    fn note_covered(&mut self, run: &Run<'_>) {
        let _ = run;
    }

    /// The search restarts because the dependency relation has changed: the runs so far will be
    /// repeated.
    fn forget(&mut self) {}

    /// The search can be continued from here later: the runs so far will not be repeated.
    fn on_checkpoint(&mut self) {}
}

/// Sees every run of a search that may have several threads: examines each run on its thread, and
/// collects the observations in one place, in an order independent of the number of threads.
pub trait Collector {
    /// The observation of one run.
    type Observation: Send;

    /// Looks at a run that is over.
    fn examine_run(run: &Run<'_>) -> Self::Observation;

    /// Takes the observation of a run. `Break` stops the search.
    fn collect_observation(&mut self, seen: Self::Observation) -> ControlFlow<()>;

    /// Looks at a run and takes the observation, where both are done in one place.
    fn look_and_collect(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        self.collect_observation(Self::examine_run(run))
    }

    /// The search restarts because the dependency relation has changed: the runs so far will be
    /// repeated.
    fn on_restart(&mut self) {}

    /// The search can be continued from here later: the runs so far will not be repeated.
    fn on_checkpoint(&mut self) {}
}

/// The events of a run with a finding, and the end of the run.
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

/// The results of a search so far, as a checkpoint keeps them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Kept {
    pub(crate) found: Vec<Counterexample>,
    pub(crate) orders: Orders,
    pub(crate) notes: BTreeSet<Note>,
}

/// The findings so far.
#[derive(Debug)]
struct Finder<'a> {
    options: &'a Options,
    found: Vec<Counterexample>,
    /// Orders in which actors receive from any source. A repeated run adds no order.
    orders: Orders,
    /// Notes of the runs.
    notes: BTreeSet<Note>,
    /// Number of findings that are kept if the search is continued: their runs are not repeated.
    kept: usize,
}

impl<'a> Finder<'a> {
    fn new(options: &'a Options, kept: Kept) -> Self {
        let Kept {
            found,
            orders,
            notes,
        } = kept;
        Self {
            options,
            orders,
            notes,
            kept: found.len(),
            found,
        }
    }
}

impl Collector for Finder<'_> {
    type Observation = (Option<Counterexample>, Option<Box<Taken>>, Vec<Note>);

    fn examine_run(run: &Run<'_>) -> Self::Observation {
        let found = finding::is_finding(run.end).then(|| counterexample(run));
        let mut notes = Vec::new();
        run.stepper
            .visit_notes(&mut |note| notes.push(note.clone()));
        (found, Taken::in_run(run), notes)
    }

    fn look_and_collect(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let mut is_known = !finding::is_finding(run.end) && self.orders.has_nothing_new(run);
        let notes = &self.notes;
        run.stepper
            .visit_notes(&mut |note| is_known &= notes.contains(note));
        if is_known {
            return ControlFlow::Continue(());
        }
        self.collect_observation(Self::examine_run(run))
    }

    fn collect_observation(&mut self, (found, taken, notes): Self::Observation) -> ControlFlow<()> {
        self.notes.extend(notes);
        if let Some(taken) = taken {
            self.orders.compare_run(&taken);
        }
        let Some(found) = found else {
            return ControlFlow::Continue(());
        };
        if let Some(progress) = &self.options.progress {
            progress.note_finding(&found);
        }
        if self.found.len() < self.options.findings_max {
            self.found.push(found);
        }
        if self.found.len() >= self.options.findings_max && !self.options.goes_on {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn on_restart(&mut self) {
        self.found.clear();
        self.orders = Orders::default();
        self.notes.clear();
        self.kept = 0;
    }

    fn on_checkpoint(&mut self) {
        self.kept = self.found.len();
    }
}

/// The answer of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All orders were covered without a finding.
    Ok,
    /// There is a finding.
    Found,
    /// No finding, but not all orders were covered: see [`Statistics::bounds`].
    Bounded,
    /// The program violates the contract: it did not take the same steps again. The text names the
    /// place.
    Broken(String),
    /// The search could not take the same steps again, although the program takes these steps in
    /// the same way each time: a defect of the search.
    InternalError(String),
}

impl Verdict {
    /// The verdict on a search that was not able to continue. `repeats`: the program takes the
    /// steps in the same way each time.
    pub(crate) fn of_broken_search(text: String, repeats: bool) -> Self {
        match repeats {
            true => Self::InternalError(text),
            false => Self::Broken(format!("the program is not deterministic: {text}")),
        }
    }

    /// The text of a search that was not able to continue.
    fn into_text(self) -> String {
        match self {
            Self::Broken(text) | Self::InternalError(text) => text,
            Self::Ok | Self::Found | Self::Bounded => String::new(),
        }
    }
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
    /// The notes of all runs that other runs do not [cover](End::Covered), in the order of their
    /// texts.
    pub notes: Vec<Note>,
    /// Counts of the search.
    pub statistics: Statistics,
    /// The state from which the search can continue, if a bound stopped the optimal depth-first
    /// search.
    pub checkpoint: Option<Checkpoint>,
    /// The state of a complete optimal depth-first search: a search that continues from this state
    /// gives the same report.
    pub over: Option<Checkpoint>,
}

impl Report {
    /// Returns true if all orders were covered, within the [bounds](Note::Bound) of the notes.
    pub fn is_exhaustive(&self) -> bool {
        let is_broken = matches!(self.verdict, Verdict::Broken(_) | Verdict::InternalError(_));
        self.statistics.bounds.is_empty() && !is_broken
    }
}

/// The verdict on a finding that a second run does not reproduce.
fn not_again(stepper: &mut Stepper, events: &[Event]) -> Verdict {
    let text = "the counterexample does not reproduce the finding".to_owned();
    let repeats = check_determinism::repeats_events(stepper, events);
    Verdict::of_broken_search(text, repeats)
}

/// Explores a program and reports the defects.
pub fn check(stepper: Stepper, options: &Options) -> Report {
    let mut finder = Finder::new(options, Kept::default());
    let ended = drive::alone(stepper, options, &mut ObserverAdapter(&mut finder));
    make_report(ended, finder)
}

/// [`check`] on several threads, from the beginning or from the checkpoint of an interrupted search
/// of the same program with the same options. The report does not depend on the number of threads,
/// except for the times; the bounds apply only to the additional work.
///
/// # Panics
/// If an invariant of the search is broken, on any thread.
pub fn check_on_threads(
    threads: &Threads<'_>,
    options: &Options,
    from: Option<&Checkpoint>,
) -> Report {
    let opened = from.and_then(Checkpoint::decode_state);
    let (state, kept) = opened.unwrap_or_else(|| (SearchState::new(), Kept::default()));
    let mut finder = Finder::new(options, kept);
    let ended = drive::together(threads, options, state, &mut finder);
    make_report(ended, finder)
}

fn make_report(ended: Ended, finder: Finder<'_>) -> Report {
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
    let kept = state.map(|state| {
        let kept = Kept {
            found: finder.found[..kept].to_vec(),
            orders: finder.orders.clone(),
            notes: finder.notes.clone(),
        };
        Checkpoint::new(&state, &kept)
    });
    let (checkpoint, over) = if is_over { (None, kept) } else { (kept, None) };
    let mut findings: Vec<Finding> = Vec::new();
    for (events, end) in finder.found {
        match Finding::reproduce_end(&mut stepper, &events, end) {
            Some(finding) => findings.push(finding),
            None => broken = broken.or_else(|| Some(not_again(&mut stepper, &events))),
        }
    }
    let mut receive_orders = Vec::new();
    for known in &finder.orders.0 {
        match ReceiveOrder::from_known(&mut stepper, known) {
            Some(Ok(order)) => receive_orders.push(order),
            Some(Err(())) => {
                let events = &known.first.events;
                broken = broken.or_else(|| Some(not_again(&mut stepper, events)));
            }
            None => {}
        }
    }
    receive_orders.sort_by_key(|order| order.actor);
    let verdict = match broken {
        Some(verdict) => verdict,
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
        notes: finder.notes.into_iter().collect(),
        statistics,
        checkpoint,
        over,
    }
}

/// Explores a program and shows every run to an observer. The text describes the violation of the
/// contract, or the internal error, if there is one.
pub fn explore(
    stepper: &mut Stepper,
    options: &Options,
    observer: &mut dyn Observer,
) -> (Statistics, Option<String>) {
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let ended = drive::alone(own, options, observer);
    *stepper = ended.stepper;
    (ended.statistics, ended.broken.map(Verdict::into_text))
}

/// [`explore`] on several threads. The observations and their order do not depend on the number of
/// threads.
///
/// Only the optimal depth-first search uses more than one thread.
///
/// # Panics
/// If an invariant of the search is broken, on any thread.
pub fn explore_on_threads<C: Collector>(
    threads: &Threads<'_>,
    options: &Options,
    collector: &mut C,
) -> (Statistics, Option<String>) {
    let ended = drive::together(threads, options, SearchState::new(), collector);
    (ended.statistics, ended.broken.map(Verdict::into_text))
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
        if stepper.execute_step(actor, step).is_none() {
            break;
        }
        steps += 1;
    }
    steps
}
