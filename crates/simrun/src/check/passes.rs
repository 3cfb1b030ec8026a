//! The searches that follow the first one: the same program, with sends that are buffered
//! otherwise.
//!
//! MPI promises no buffer for a send in the standard mode. If nothing is found in a program of
//! ranks whose message protocol was left open, it is explored again with sends that all wait for
//! their receives, and then with sends of which each is buffered or not. What is found only there
//! is a finding: the program relies on buffers. These searches take a limited number of steps
//! unless a number was asked for; one that is cut makes the verdict of the whole check *bounded*.

use std::vec::IntoIter;

use explore::{Options, Report, Verdict};
use run::MessageProtocol;

use super::resume::Part;
use super::search::{Parts, add_findings, explore_all};
use super::{Found, Subject};

/// The sends of the searches that follow, in their order.
const MODES: [MessageProtocol; 2] = [MessageProtocol::Rendezvous, MessageProtocol::Mixed];

/// Without a number of steps that was asked for, a search takes at most this many times the steps
/// of the first one...
const FACTOR: u64 = 10;
/// ... but this many in any case.
const STEPS_MIN: u64 = 1_000_000;

/// One of these searches.
pub(super) struct Pass {
    pub(super) mode: MessageProtocol,
    pub(super) report: Report,
}

impl Pass {
    /// Returns the sends that wait, in words.
    pub(super) const fn condition(&self) -> &'static str {
        match self.mode {
            MessageProtocol::Mixed => "if only some sends are buffered",
            _ => "if sends are not buffered",
        }
    }

    /// Adds what is wrong only with these sends. True if there is more than is shown.
    pub(super) fn add_findings(
        &self,
        subject: &Subject<'_>,
        found: &mut Vec<Found>,
    ) -> Result<bool, std::process::ExitCode> {
        let mut own = Vec::new();
        let is_cut = add_findings(&with_sends(subject, self.mode), &self.report, &mut own)?;
        for one in &mut own {
            one.needs_buffering = true;
        }
        found.append(&mut own);
        Ok(is_cut)
    }
}

/// The same program with other sends.
fn with_sends<'a>(subject: &Subject<'a>, mode: MessageProtocol) -> Subject<'a> {
    Subject {
        platform: subject.platform.clone(),
        protocol: Some(mode),
        ..*subject
    }
}

/// Carries the searches out that follow the first one, until one finds something. `kept` is where
/// they were interrupted, and `parts` takes where they can continue.
pub(super) fn follow(
    subject: &Subject<'_>,
    first: &Report,
    options: &Options,
    mut kept: IntoIter<Part>,
    parts: &mut Parts<'_>,
) -> Result<Vec<Pass>, std::process::ExitCode> {
    let mut passes: Vec<Pass> = Vec::new();
    let is_open = subject.protocol.is_none() && first.verdict == Verdict::Ok;
    if !is_open || !(subject.make)().has_ranks() {
        return Ok(passes);
    }
    let own_steps = first.statistics.transitions.saturating_mul(FACTOR);
    let transitions_max = if subject.args.has_transitions_max() {
        options.transitions_max
    } else {
        own_steps.max(STEPS_MIN)
    };
    let mut seconds_max = options.seconds_max - first.statistics.seconds;
    for mode in MODES {
        let options = Options {
            seconds_max: seconds_max.max(0.0),
            transitions_max,
            ..options.clone()
        };
        let subject = with_sends(subject, mode);
        let report = explore_all(&subject, &options, kept.next(), parts)?;
        seconds_max -= report.statistics.seconds;
        let has_found = matches!(report.verdict, Verdict::Found | Verdict::Broken(_));
        passes.push(Pass { mode, report });
        if has_found {
            break;
        }
    }
    Ok(passes)
}
