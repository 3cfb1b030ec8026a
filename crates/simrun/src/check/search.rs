//! A search from the command line: the beginning, the treatment of findings, and the checkpoint
//! file if the search is interrupted.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use explore::{Bound, Checkpoint, Deadline, Options, Report, SearchProgress, Threads, Verdict};
use run::QueueNumbers;
use serde_json::Value;
use sim_core::Note;

use super::resume::{self, InterruptedSearch, SearchFile};
use super::{Found, Subject, Warning, json, print_text, slices, text};
use crate::{progress, status};

/// Maximum number of different findings that are shown.
const SHOWN_MAX: usize = 5;

/// Results of a search.
pub(super) struct SearchResult {
    pub(super) report: Report,
    pub(super) found: Vec<Found>,
    pub(super) warnings: Vec<Warning>,
    /// Where the program reads the time, which stands still.
    pub(super) clock_reads: Vec<String>,
    /// Notes of the runs and of the comparison of runs, which are no errors.
    pub(super) notes: Vec<String>,
    /// The bounds of the exploration that some run has met, with their places.
    pub(super) bounds: Vec<String>,
    /// There are findings that are not shown.
    pub(super) is_cut: bool,
    /// The checkpoint file of the search, if there is one.
    pub(super) kept_in: Option<String>,
}

/// Searches, and shows the findings.
pub(super) fn search(
    subject: &Subject<'_>,
    stop: Arc<AtomicBool>,
    counts: Arc<SearchProgress>,
) -> Result<ExitCode, ExitCode> {
    let args = subject.args;
    let limit = args.max_seconds().unwrap_or(f64::INFINITY);
    let limit = Deadline::new(limit, Some(Arc::clone(&stop)));
    let options = Options {
        interrupt: Some(stop),
        progress: Some(Arc::clone(&counts)),
        ..args.explore_options()
    };
    // Whatever is wrong with it is said before the search begins.
    subject.build_stepper()?;
    let every = args.checkpoint_every.as_secs();
    let file = args.checkpoint.as_deref();
    let file = file.map(|path| SearchFile::new(path, subject_identity(subject), every));
    let file = file.transpose().map_err(status::refuse)?;
    let kept = file.as_ref().map_or(Ok(None), SearchFile::read_checkpoint);
    let kept = kept.map_err(status::refuse)?;
    let line = progress::show_line(move || {
        let (executions, transitions) = (counts.executions(), counts.transitions());
        format!("{executions} executions, {transitions} transitions")
    });
    let explored = explore_all(subject, &options, kept, file.as_ref());
    if let Some(line) = line {
        line.remove_line();
    }
    // The deadline limits the rest.
    subject.guard.lift_time_limit();
    let deadline = limit.earlier_deadline(args.explain_seconds());
    let (report, numbers) = explored?;
    let mut searched = SearchResult {
        found: Vec::new(),
        warnings: Vec::new(),
        clock_reads: Vec::new(),
        notes: Vec::new(),
        bounds: Vec::new(),
        is_cut: false,
        report,
        kept_in: None,
    };
    repeat(subject, &mut searched, &deadline)?;
    for note in &searched.report.notes {
        match note {
            Note::Remark(text) => searched.notes.push(text.clone()),
            Note::Bound(text) => searched.bounds.push(text.clone()),
        }
    }
    searched.is_cut = add_findings(subject, &searched.report, &mut searched.found, &deadline)?;
    for order in &searched.report.receive_orders {
        searched.warnings.push(subject.warning(order)?);
    }
    if let Some(file) = &file {
        match &searched.report.checkpoint {
            Some(checkpoint) => {
                let written = file.write_checkpoint(checkpoint, &numbers);
                searched.kept_in = Some(written.map_err(status::refuse)?);
            }
            None => file.remove_file().map_err(status::refuse)?,
        }
    }
    super::refuse_misdeeds(subject.guard)?;
    show_result(subject, &searched)
}

/// Takes two runs twice: a program that does not do the same again has no verdict but that.
fn repeat(
    subject: &Subject<'_>,
    searched: &mut SearchResult,
    deadline: &Deadline,
) -> Result<(), ExitCode> {
    let (mut stepper, _) = subject.build_stepper()?;
    let seed = subject.args.seed();
    let (repeated, _) =
        run::with_silent_panics(|| explore::check_determinism(&mut stepper, seed, deadline));
    searched.clock_reads = stepper.clock_reads();
    match repeated {
        Ok(note) => searched.notes.extend(note),
        Err(text) => searched.report.verdict = Verdict::Broken(text),
    }
    Ok(())
}

/// Returns the beginning of a search, and the numbers of the queues.
fn opened(part: Option<InterruptedSearch>) -> (Option<Checkpoint>, QueueNumbers) {
    match part {
        Some(part) => (Some(part.checkpoint), part.numbers),
        None => (None, QueueNumbers::default()),
    }
}

fn show_result(subject: &Subject<'_>, searched: &SearchResult) -> Result<ExitCode, ExitCode> {
    let args = subject.args;
    let text = || match args.output.quiet {
        true => text::findings(&searched.found, searched.is_cut),
        false => text::of_search(subject.name, searched),
    };
    let json = || json::of_search(subject.name, searched);
    let text = args.output.format.write_result(text, json);
    print_text(&text)?;
    if let (Some(path), Some(first)) = (&args.timeline, searched.found.first()) {
        first.draw_timeline(subject.name, path)?;
    }
    Ok(ExitCode::from(status_of(searched)))
}

/// Returns the subject of the search, for the checkpoint file.
fn subject_identity(subject: &Subject<'_>) -> Value {
    let args = subject.args;
    let platform = subject.platform.as_ref();
    let platform = platform.map_or_else(String::new, |platform| platform.to_toml());
    resume::search_identity(
        subject.name,
        &args.search_options(),
        &args.program_arguments(),
        &platform,
    )
}

/// Adds the findings of a report that are not known yet; returns true if there are more.
fn add_findings(
    subject: &Subject<'_>,
    report: &Report,
    found: &mut Vec<Found>,
    deadline: &Deadline,
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
        let statistics = &report.statistics;
        let has_correct = !report.is_exhaustive() || statistics.finished > 0;
        found.push(subject.shorten_finding(finding, has_correct, deadline)?);
    }
    Ok(false)
}

/// Runs a search; a panic of the search is reported as a bug.
fn guarded(search: impl FnOnce() -> Report) -> Result<Report, ExitCode> {
    let (searched, _) = run::with_silent_panics(|| catch_unwind(AssertUnwindSafe(search)));
    searched.map_err(|panic| broken_search(&*panic))
}

/// Searches from `part` on, on as many threads as are asked for. The search is kept in the file now
/// and then.
fn explore_all(
    subject: &Subject<'_>,
    options: &Options,
    part: Option<InterruptedSearch>,
    file: Option<&SearchFile<'_>>,
) -> Result<(Report, QueueNumbers), ExitCode> {
    let (from, numbers) = opened(part);
    let threads = Threads {
        number: subject.args.threads as usize,
        make: &|| {
            let made = subject.stepper_with(&numbers);
            made.expect("it could be made before").0
        },
        around: &|work| {
            run::with_silent_panics(work);
            subject.guard.end_child();
        },
    };
    let every = file.map_or(f64::INFINITY, SearchFile::every);
    let explore = |options: &Options, from: Option<&Checkpoint>| {
        guarded(|| explore::check_on_threads(&threads, options, from))
    };
    // A search is worth more than its file, which may be written another time.
    let keep = |checkpoint: &Checkpoint| {
        if let Some(Err(error)) = file.map(|file| file.write_checkpoint(checkpoint, &numbers)) {
            let _ = writeln!(io::stderr().lock(), "warning: {error}");
        }
    };
    let (over, is_over) = mpsc::channel::<()>();
    let report = std::thread::scope(|scope| {
        let numbers = &numbers;
        scope.spawn(move || announce(subject, options, numbers, &is_over));
        let report = slices::explore_in_slices(options, every, from, explore, keep);
        // A child has no thread to wait for.
        subject.guard.end_child();
        drop(over);
        report
    })?;
    Ok((report, numbers))
}

/// A search that takes longer reports the first finding before the end.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(1);

/// Prints the first finding to standard error while the search continues.
fn announce(
    subject: &Subject<'_>,
    options: &Options,
    numbers: &QueueNumbers,
    is_over: &Receiver<()>,
) {
    let Some(progress) = options.progress.as_ref().filter(|_| options.goes_on) else {
        return;
    };
    while is_over.recv_timeout(ANNOUNCED_AFTER) == Err(RecvTimeoutError::Timeout) {
        if !progress.has_finding() {
            continue;
        }
        let Ok((mut stepper, _)) = subject.stepper_with(numbers) else {
            return;
        };
        let (finding, _) = run::with_silent_panics(|| progress.follow_first_finding(&mut stepper));
        let found = finding.and_then(|finding| subject.show_again(&finding, None).ok().flatten());
        if let Some(found) = found {
            let text = text::findings(&[found], false);
            // The end of the search tells it again.
            let _ = writeln!(io::stderr().lock(), "{text}the search continues");
        }
        return;
    }
}

/// An invariant of the search does not hold.
fn broken_search(panic: &(dyn Any + Send)) -> ExitCode {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    status::refuse(format_args!(
        "the search failed: {}; the program is nondeterministic, or this is a bug in simrun",
        text.unwrap_or_default()
    ));
    ExitCode::from(status::BUG)
}

/// The exit status that a search deserves.
fn status_of(searched: &SearchResult) -> u8 {
    let mut bounds = searched.report.statistics.bounds.iter();
    let is_interrupted = bounds.any(|bound| bound == Bound::Interrupt);
    match searched.report.verdict {
        _ if is_interrupted => status::INTERRUPTED,
        Verdict::Ok => 0,
        Verdict::Found | Verdict::Broken(_) => status::FAILED,
        Verdict::InternalError(_) => status::BUG,
        Verdict::Bounded => status::LIMIT,
    }
}
