//! A shorter way to a finding than the one that was found first.
//!
//! What [`minimise`](crate::minimise()) leaves out did not matter to *that* run; another run may fail sooner. So the program is explored once
//! more with runs that are cut before they are as long as the best one, until none of these has the same finding: branch and bound. A cut
//! run hides what comes behind the cut, so with a reduction this need not see all short runs, and the number of steps is limited: the
//! result is the shortest that was *found*.

use std::ops::ControlFlow;

use sim_core::Stepper;

use crate::finding::is_finding;
use crate::search::Way;
use crate::{Finding, FindingKind, Observer, Options, Run, explore, minimise};

/// The first run with the same finding.
struct Same<'a> {
    wanted: &'a Finding,
    way: Option<Way>,
}

impl Observer for Same<'_> {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        let is_same = is_finding(run.end)
            && match &self.wanted.kind {
                FindingKind::Failure(wanted) => run.stepper.failures().first().is_some_and(|one| {
                    (one.actor, &one.message) == (wanted.actor, &wanted.message)
                }),
                FindingKind::Deadlock(_) => run.end == crate::End::Deadlock,
                FindingKind::Livelock(_) => run.end == crate::End::Livelock,
                FindingKind::Leftovers(_) => run.end == crate::End::Leftovers,
            };
        if is_same {
            self.way = Some((run.path.events().to_vec(), run.end));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The shortest way to the same finding that so many executed steps show, minimised; the finding itself if there is no shorter one.
#[must_use]
pub fn shortest(stepper: &mut Stepper, finding: &Finding, budget: u64) -> Finding {
    let mut best = finding.clone();
    let mut left = budget;
    while let Some(depth_max) = best.steps.len().checked_sub(1).filter(|&depth| depth > 0) {
        let options = Options {
            depth_max,
            transitions_max: left,
            ..Options::default()
        };
        let mut same = Same {
            wanted: &best,
            way: None,
        };
        let (statistics, _) = explore(stepper, &options, &mut same);
        left = left.saturating_sub(statistics.transitions);
        let again = same
            .way
            .and_then(|(events, end)| Finding::again(stepper, &events, end));
        let Some(again) = again else {
            break;
        };
        let shorter = minimise(stepper, &again);
        if shorter.steps.len() >= best.steps.len() {
            break;
        }
        best = shorter;
    }
    best
}
