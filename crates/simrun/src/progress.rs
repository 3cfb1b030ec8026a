//! Progress of a long run: a line on a terminal that changes, and elsewhere a line per minute on
//! standard error, as in the file of a batch job. Short runs show neither.

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use sim_core::{RunProgress, Time};

use crate::args::RunArgs;
use crate::entry::Start;
use crate::summary;

/// Shorter runs show no progress on a terminal; also the period of the line's updates.
const PERIOD: Duration = Duration::from_millis(500);

/// The time from line to line where standard error is no terminal, of a search.
const BATCH_PERIOD: Duration = Duration::from_secs(60);

/// The time at which a run is expected to end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Goal {
    /// The end given by `--until`.
    Until(Time),
    /// The end in the record that will be replaced.
    Earlier(Time),
}

/// Shows the progress of a run until the run is finished, with a percentage if the end is known.
pub(crate) fn of_run(name: &str, args: &RunArgs, start: &Start) -> Option<ProgressDisplay> {
    if args.output.quiet {
        return None;
    }
    let earlier = || {
        let folder = start.folder.as_ref()?;
        let end_s = folder.earlier_end(name, &start.path, start.ranks())?;
        Some(Goal::Earlier(Time::from_secs(end_s)))
    };
    let goal = start.options.until.map(Goal::Until).or_else(earlier);
    let period = Duration::from_secs_f64(args.progress.as_secs());
    show_progress(&start.progress, goal, period)
}

/// Shows `progress` until the end; one line per `period` if standard error is no terminal.
fn show_progress(
    progress: &Arc<RunProgress>,
    goal: Option<Goal>,
    period: Duration,
) -> Option<ProgressDisplay> {
    let source = Arc::clone(progress);
    line_per(period, move || {
        progress_text(source.reached_time(), source.events(), goal)
    })
}

fn progress_text(time: Time, events: u64, goal: Option<Goal>) -> String {
    let share = goal.map(|goal| match goal {
        Goal::Until(end) => (end, "--until"),
        Goal::Earlier(end) => (end, "the earlier run"),
    });
    let share = share.filter(|(end, _)| *end > Time::ZERO);
    let share = share.map_or_else(String::new, |(end, name)| {
        let percent = 100.0 * time.as_secs() / end.as_secs();
        format!(" ({percent:.0} % of {name})")
    });
    let time = summary::seconds(time.as_secs());
    format!("{time} simulated{share}, {events} events")
}

/// Shows `text` until the line is dropped; `None` if `text` cannot be shown.
pub(crate) fn show_line(
    text: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> Option<ProgressDisplay> {
    line_per(BATCH_PERIOD, text)
}

fn line_per(
    period: Duration,
    text: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> Option<ProgressDisplay> {
    if !std::io::stderr().is_terminal() {
        return call_periodically(period, move || {
            // Progress is a courtesy: nothing depends on it.
            let _ = writeln!(std::io::stderr().lock(), "{}", text());
        });
    }
    let state = move |bar: &ProgressState, line: &mut dyn std::fmt::Write| {
        if bar.elapsed() >= PERIOD {
            // The line is only a courtesy: nothing depends on it.
            let _ = write!(line, "{}", text());
        }
    };
    let style = ProgressStyle::with_template("{state}")
        .ok()?
        .with_key("state", state);
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(PERIOD);
    Some(ProgressDisplay::Bar(bar))
}

/// Calls `tell` each time that a period has passed, on a thread that ends with the line.
fn call_periodically(
    period: Duration,
    tell: impl Fn() + Send + 'static,
) -> Option<ProgressDisplay> {
    let (alive, end) = channel::<()>();
    let work = move || {
        while end.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            tell();
        }
    };
    std::thread::Builder::new().spawn(work).ok()?;
    Some(ProgressDisplay::Batch(alive))
}

/// Display of progress; the display ends when all copies are dropped.
#[derive(Clone)]
pub(crate) enum ProgressDisplay {
    /// A line on a terminal.
    Bar(ProgressBar),
    /// Lines elsewhere, until all senders are dropped.
    Batch(Sender<()>),
}

impl ProgressDisplay {
    /// Takes the line away while `f` writes to the terminal.
    pub(crate) fn without(&self, f: &mut dyn FnMut()) {
        match self {
            Self::Bar(bar) => bar.suspend(f),
            Self::Batch(_) => f(),
        }
    }

    /// Takes the line away for good.
    pub(crate) fn remove_line(&self) {
        match self {
            Self::Bar(bar) => bar.finish_and_clear(),
            // The thread ends at once; a run that has ended needs no more lines.
            Self::Batch(alive) => drop(alive.send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_job_gets_lines_until_it_is_finished() {
        let (said, heard) = channel();
        let tell = move || {
            // The test may have heard enough.
            let _ = said.send(());
        };
        let line = call_periodically(Duration::from_millis(1), tell).expect("a thread");
        for _ in 0..3 {
            assert_eq!(heard.recv(), Ok(()));
        }
        line.remove_line();
        // The thread is over: it can say nothing more.
        while heard.recv().is_ok() {}
    }

    #[test]
    fn the_share_of_a_limit_is_told() {
        let at = Time::from_secs;
        assert_eq!(progress_text(at(2.0), 7, None), "2 s simulated, 7 events");
        assert_eq!(
            progress_text(at(2.0), 7, Some(Goal::Until(at(8.0)))),
            "2 s simulated (25 % of --until), 7 events"
        );
        assert_eq!(
            progress_text(at(3.0), 7, Some(Goal::Earlier(at(2.0)))),
            "3 s simulated (150 % of the earlier run), 7 events"
        );
    }
}
