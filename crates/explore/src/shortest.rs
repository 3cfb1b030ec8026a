//! Search for a shorter run with the same finding.
//!
//! The steps that [`minimise`](crate::minimise()) leaves out did not matter to *that* run; another
//! run may fail sooner. So the program is explored once more with runs that are cut before they are
//! as long as the best run, until none of these has the same finding: branch and bound. A cut run
//! hides the events behind the cut, and with them the races that would have led the optimal
//! reduction to other runs. So when that search finds no shorter run, a search with sleep sets
//! alone follows: a run is left out only because of an equivalent earlier run, which has the same
//! length. If this search is exhaustive, no shorter run has the finding. Both searches share a
//! limited number of steps; if the number does not suffice, the result is the shortest run that was
//! *found*. A deadline ends both searches in the same way.

use std::ops::ControlFlow;

use sim_core::Stepper;

use crate::finding::is_finding;
use crate::search::Counterexample;
use crate::{
    Bound, Deadline, Finding, FindingKind, Observer, Options, Reduction, Run, explore, minimise,
    search,
};

/// The first run with the same finding.
struct Same<'a> {
    wanted: &'a Finding,
    counterexample: Option<Counterexample>,
}

impl Observer for Same<'_> {
    fn examine_run(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let is_same = is_finding(run.end)
            && match &self.wanted.kind {
                FindingKind::Failure(wanted) => run.stepper.failures().first().is_some_and(|one| {
                    (one.actor, &one.message) == (wanted.actor, &wanted.message)
                }),
                FindingKind::Deadlock(_) => run.end == crate::End::Deadlock,
                FindingKind::ConditionalDeadlock(wanted) => {
                    run.end == crate::End::ConditionalDeadlock
                        && run.stepper.optional_waits().deadlock().as_ref() == Some(wanted)
                }
                FindingKind::Livelock(_) => run.end == crate::End::Livelock,
                FindingKind::Spinning(_) => run.end == crate::End::Spinning,
                FindingKind::Leftovers(_) => run.end == crate::End::Leftovers,
            };
        if is_same {
            self.counterexample = Some(search::counterexample(run));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The shortest counterexample that was found; possibly with a proof that no shorter one exists.
#[derive(Clone, PartialEq, Debug)]
pub struct Shortest {
    /// The shortest way that was found, minimised.
    pub finding: Finding,
    /// There is no shorter one.
    pub is_proven: bool,
}

/// The shortest way to the same finding that this many executed steps show, minimised; the finding
/// itself if there is no shorter one.
pub fn shortest(
    stepper: &mut Stepper,
    finding: &Finding,
    budget: u64,
    deadline: &Deadline,
) -> Shortest {
    let mut best = finding.clone();
    let mut left = budget;
    let mut is_proven = best.steps.len() <= 1;
    'shorter: while best.steps.len() > 1 {
        for reduction in [Reduction::Odpor, Reduction::Sleep] {
            let (found, is_whole) = shorter(stepper, &best, reduction, (&mut left, deadline));
            if let Some(found) = found {
                best = found;
                is_proven = best.steps.len() <= 1;
                continue 'shorter;
            }
            is_proven = is_whole && reduction == Reduction::Sleep;
        }
        break;
    }
    Shortest {
        finding: best,
        is_proven,
    }
}

/// Returns a shorter counterexample, if a search finds one; true if all shorter runs were examined.
fn shorter(
    stepper: &mut Stepper,
    best: &Finding,
    reduction: Reduction,
    (left, deadline): (&mut u64, &Deadline),
) -> (Option<Finding>, bool) {
    let options = Options {
        reduction,
        depth_max: best.steps.len() - 1,
        ..deadline.search_options(*left)
    };
    let mut same = Same {
        wanted: best,
        counterexample: None,
    };
    let (statistics, broken) = explore(stepper, &options, &mut same);
    *left = left.saturating_sub(statistics.transitions);
    let is_seen = same.counterexample.is_some();
    let mut bounds = statistics.bounds.iter();
    let is_whole = !is_seen && broken.is_none() && bounds.all(|bound| bound == Bound::Depth);
    let again = same
        .counterexample
        .and_then(|(events, end)| Finding::reproduce_end(stepper, &events, end));
    let found = again.map(|again| minimise(stepper, &again, deadline));
    let found = found.filter(|found| found.steps.len() < best.steps.len());
    (found, is_whole)
}
