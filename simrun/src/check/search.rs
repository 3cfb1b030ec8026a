//! A search from the command line: where it begins, what is made of its findings, and where it is kept if it is interrupted.
//!
//! If nothing is found in a program of ranks whose send mode was left open, another search looks for what happens when every send
//! waits for its receive. A deadlock that is found only there is a finding: the program relies on buffers that MPI does not promise.
//! Rendezvous has more steps and can have far more orders, so that search takes a limited number of steps: it may find something, but
//! that it is not over changes nothing about the search that was asked for.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use explore::{Bound, FindingKind, Options, Progress, Report, Threads, Verdict};
use run::{QueueNumbers, SendMode};
use serde_json::Value;

use super::resume::{self, Kept, Part};
use super::{Found, Subject, Warning, json, print, text};
use crate::args::Format;
use crate::{entry, progress, status};

/// So many different findings are shown.
const SHOWN_MAX: usize = 5;

/// The search that nobody asked for takes at most so many times the steps of the one before...
const UNASKED_FACTOR: u64 = 10;
/// ... but so many in any case.
const UNASKED_STEPS: u64 = 200_000;

/// What a search has to tell.
pub(super) struct Searched {
    pub(super) report: Report,
    pub(super) found: Vec<Found>,
    pub(super) warnings: Vec<Warning>,
    /// There are findings that are not shown.
    pub(super) is_cut: bool,
    /// The search under rendezvous, if there was one.
    pub(super) unbuffered: Option<Report>,
    /// The number of steps was limited by an option.
    pub(super) steps_are_limited: bool,
    /// The file in which the search is kept, if it is.
    pub(super) kept_in: Option<String>,
}

impl Searched {
    /// The answer of both searches.
    pub(super) fn verdict(&self) -> Verdict {
        match (&self.report.verdict, &self.unbuffered) {
            (Verdict::Ok, Some(report)) => match &report.verdict {
                Verdict::Broken(text) => Verdict::Broken(text.clone()),
                _ if report.statistics.deadlocks > 0 => Verdict::Found,
                _ if self.asked_bounds(report).next().is_none() => Verdict::Ok,
                _ => Verdict::Bounded,
            },
            (verdict, _) => verdict.clone(),
        }
    }

    /// Whether all orders were covered that were asked for.
    pub(super) fn is_exhaustive(&self) -> bool {
        let unbuffered = self.unbuffered.as_ref();
        self.report.is_exhaustive()
            && unbuffered.is_none_or(|report| self.asked_bounds(report).next().is_none())
    }

    /// The bounds that the search under rendezvous has hit, but for its own.
    fn asked_bounds(&self, report: &Report) -> impl Iterator<Item = Bound> + use<> {
        let own = (!self.steps_are_limited).then_some(Bound::Transitions);
        let all = report.statistics.bounds.iter();
        all.filter(move |&bound| Some(bound) != own)
    }

    /// The bounds that were asked for and hit, in either search.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        let unbuffered = self.unbuffered.iter();
        let mut bounds: Vec<Bound> = self.report.statistics.bounds.iter().collect();
        for bound in unbuffered.flat_map(|report| self.asked_bounds(report)) {
            if !bounds.contains(&bound) {
                bounds.push(bound);
            }
        }
        bounds
    }
}

/// Searches, and shows what was found.
pub(super) fn search(subject: &Subject<'_>) -> Result<ExitCode, ExitCode> {
    let args = subject.args;
    let stop = entry::watch_signals()
        .map_err(|error| status::refuse(format_args!("cannot watch for Ctrl-C: {error}")))?;
    let counts = Arc::new(Progress::default());
    let options = Options {
        interrupt: Some(stop),
        progress: Some(Arc::clone(&counts)),
        ..args.options()
    };
    // Whatever is wrong with it is said before the search begins.
    subject.stepper()?;
    let file = args.resume.as_deref().map(|path| (path, identity(subject)));
    let kept = match &file {
        Some((path, identity)) => resume::read(path, identity).map_err(status::refuse)?,
        None => None,
    };
    let line = progress::line(move || {
        let (traces, transitions) = (counts.traces(), counts.transitions());
        format!("{traces} traces, {transitions} transitions")
    });
    let (search, unbuffered) = match kept {
        Some(Kept { search, unbuffered }) => (Some(search), unbuffered),
        None => (None, None),
    };
    let (from, numbers) = opened(search);
    let report = guarded(|| explore_all(subject, &options, &numbers, from.as_ref()));
    let (from, unbuffered_numbers) = opened(unbuffered);
    let unbuffered = match &report {
        Ok(report) => {
            let part = (from.as_ref(), &unbuffered_numbers);
            explore_unbuffered(subject, report, &options, part)
        }
        Err(_) => None,
    };
    if let Some(line) = line {
        line.finish();
    }
    let report = report?;
    let mut searched = Searched {
        found: Vec::new(),
        warnings: Vec::new(),
        is_cut: false,
        unbuffered: None,
        steps_are_limited: args.has_transitions_max(),
        kept_in: None,
        report,
    };
    searched.is_cut = add_findings(subject, &searched.report, &mut searched.found)?;
    for order in &searched.report.receive_orders {
        searched.warnings.push(subject.warning(order)?);
    }
    if let Some((subject, report)) = unbuffered {
        searched.is_cut |= add_unbuffered(&subject, &report?, &mut searched)?;
    }
    if let Some((path, identity)) = file {
        let done = match to_keep(&searched, numbers, unbuffered_numbers) {
            Some(kept) => {
                searched.kept_in = Some(path.display().to_string());
                resume::write(path, &identity, &kept)
            }
            None => resume::remove(path),
        };
        done.map_err(status::refuse)?;
    }
    show(subject, &searched)
}

/// Where a search begins, and the numbers of its queues.
fn opened(part: Option<Part>) -> (Option<explore::Checkpoint>, QueueNumbers) {
    match part {
        Some(part) => (Some(part.checkpoint), part.numbers),
        None => (None, QueueNumbers::default()),
    }
}

/// What can go on another time: the first search, or the one under rendezvous if that was stopped by what was asked for.
fn to_keep(
    searched: &Searched,
    numbers: QueueNumbers,
    unbuffered_numbers: QueueNumbers,
) -> Option<Kept> {
    let part = |checkpoint: &explore::Checkpoint, numbers| Part {
        checkpoint: checkpoint.clone(),
        numbers,
    };
    if let Some(checkpoint) = &searched.report.checkpoint {
        return Some(Kept {
            search: part(checkpoint, numbers),
            unbuffered: None,
        });
    }
    let report = searched.unbuffered.as_ref()?;
    searched.asked_bounds(report).next()?;
    Some(Kept {
        search: part(searched.report.over.as_ref()?, numbers),
        unbuffered: Some(part(report.checkpoint.as_ref()?, unbuffered_numbers)),
    })
}

fn show(subject: &Subject<'_>, searched: &Searched) -> Result<ExitCode, ExitCode> {
    let args = subject.args;
    if let (Some(path), Some(first)) = (&args.timeline, searched.found.first()) {
        first.draw(subject.name, path)?;
    }
    let text = match args.format {
        Format::Json => json::of_search(subject.name, searched),
        Format::Text if args.quiet => text::findings(&searched.found, searched.is_cut),
        Format::Text => text::of_search(subject.name, searched),
    };
    print(&text)?;
    Ok(ExitCode::from(status_of(searched)))
}

/// What the search is of, for the file in which it is kept.
fn identity(subject: &Subject<'_>) -> Value {
    let args = subject.args;
    let platform = subject.platform.as_ref();
    let platform = platform.map_or_else(String::new, |platform| platform.to_toml());
    resume::identity(
        subject.name,
        &args.search_options(),
        &args.program_arguments(),
        &platform,
    )
}

/// Adds the findings of a report, each that says something new; whether there are more.
fn add_findings(
    subject: &Subject<'_>,
    report: &Report,
    found: &mut Vec<Found>,
) -> Result<bool, ExitCode> {
    for finding in &report.findings {
        // The same in another order says nothing new.
        let is_known = |other: &Found| {
            other.finding.kind.name() == finding.kind.name()
                && other.finding.message == finding.message
        };
        if found.iter().any(is_known) {
            continue;
        }
        if found.len() == SHOWN_MAX {
            return Ok(true);
        }
        found.push(subject.again(finding)?);
    }
    Ok(false)
}

/// Adds the deadlocks that there are only if every send waits for its receive.
fn add_unbuffered(
    subject: &Subject<'_>,
    report: &Report,
    searched: &mut Searched,
) -> Result<bool, ExitCode> {
    let mut report = report.clone();
    report.findings.retain(|finding| {
        matches!(
            finding.kind,
            FindingKind::Deadlock(_) | FindingKind::Livelock(_)
        )
    });
    let mut found = Vec::new();
    let is_cut = add_findings(subject, &report, &mut found)?;
    for one in &mut found {
        one.needs_buffering = true;
    }
    searched.found.append(&mut found);
    searched.unbuffered = Some(report);
    Ok(is_cut)
}

/// The same program with sends that wait, and its search; nothing if that tells nothing new.
fn explore_unbuffered<'a>(
    subject: &Subject<'a>,
    report: &Report,
    options: &Options,
    (from, numbers): (Option<&explore::Checkpoint>, &QueueNumbers),
) -> Option<(Subject<'a>, Result<Report, ExitCode>)> {
    let is_open = subject.send_mode.is_none() && report.verdict == Verdict::Ok;
    if !is_open || !(subject.make)().has_ranks() {
        return None;
    }
    let subject = Subject {
        platform: subject.platform.clone(),
        send_mode: Some(SendMode::Rendezvous),
        ..*subject
    };
    let steps = report.statistics.transitions.saturating_mul(UNASKED_FACTOR);
    let options = Options {
        seconds_max: (options.seconds_max - report.statistics.seconds).max(0.0),
        transitions_max: options.transitions_max.min(steps.max(UNASKED_STEPS)),
        ..options.clone()
    };
    let report = guarded(|| explore_all(&subject, &options, numbers, from));
    Some((subject, report))
}

/// A search whose panics are bugs.
fn guarded(search: impl FnOnce() -> Report) -> Result<Report, ExitCode> {
    let (searched, _) = run::with_quiet_panics(|| catch_unwind(AssertUnwindSafe(search)));
    searched.map_err(|panic| broken_search(&*panic))
}

/// The search itself, on as many threads as are asked for.
fn explore_all(
    subject: &Subject<'_>,
    options: &Options,
    numbers: &QueueNumbers,
    from: Option<&explore::Checkpoint>,
) -> Report {
    let threads = Threads {
        number: subject.args.threads as usize,
        make: &|| {
            let made = subject.stepper_with(numbers);
            made.expect("it could be made before").0
        },
        around: &|work| {
            run::with_quiet_panics(work);
        },
    };
    explore::check_on_threads(&threads, options, from)
}

/// An invariant of the search does not hold.
fn broken_search(panic: &(dyn Any + Send)) -> ExitCode {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    status::refuse(format_args!(
        "the search failed: {}; either the program does not take the same steps again, or this is a bug of simrun",
        text.unwrap_or_default()
    ));
    ExitCode::from(status::BUG)
}

/// The exit status that a search deserves.
fn status_of(searched: &Searched) -> u8 {
    let is_interrupted = searched.bounds().contains(&Bound::Interrupt);
    match searched.verdict() {
        _ if is_interrupted => status::INTERRUPTED,
        Verdict::Ok => 0,
        Verdict::Found | Verdict::Broken(_) => status::FAILED,
        Verdict::Bounded => status::LIMIT,
    }
}
