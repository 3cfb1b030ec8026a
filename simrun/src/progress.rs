//! Progress of a long run: a line on a terminal that changes, and elsewhere a line per minute on
//! standard error, as in the file of a batch job. Short runs show neither.

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use sim_core::{Progress, Time};

use crate::summary;

/// Runs shorter than this show nothing on a terminal; and how often the line changes.
const PERIOD: Duration = Duration::from_millis(500);

/// The time from line to line where standard error is no terminal.
const BATCH_PERIOD: Duration = Duration::from_secs(60);

/// Shows `progress` until it is finished, with a percentage if the run ends at `until`.
pub(crate) fn show(progress: &Arc<Progress>, until: Option<Time>) -> Option<Line> {
    let source = Arc::clone(progress);
    line(move || text(source.time(), source.events(), until))
}

fn text(time: Time, events: u64, until: Option<Time>) -> String {
    let share = until.filter(|until| *until > Time::ZERO);
    let share = share.map_or_else(String::new, |until| {
        let percent = 100.0 * time.as_secs() / until.as_secs();
        format!(" ({percent:.0} % of --until)")
    });
    let time = summary::seconds(time.as_secs());
    format!("{time} simulated{share}, {events} events")
}

/// Shows `text` until it is finished; `None` if that cannot be.
pub(crate) fn line(text: impl Fn() -> String + Clone + Send + Sync + 'static) -> Option<Line> {
    if !std::io::stderr().is_terminal() {
        return lines(BATCH_PERIOD, move || {
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
    Some(Line::Bar(bar))
}

/// Calls `tell` each time that a period has passed, on a thread that ends with the line.
fn lines(period: Duration, tell: impl Fn() + Send + 'static) -> Option<Line> {
    let (alive, end) = channel::<()>();
    let work = move || {
        while end.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            tell();
        }
    };
    std::thread::Builder::new().spawn(work).ok()?;
    Some(Line::Batch(alive))
}

/// Display of progress; it ends when all copies are dropped.
#[derive(Clone)]
pub(crate) enum Line {
    /// A line on a terminal.
    Bar(ProgressBar),
    /// Lines elsewhere, until nobody can send.
    Batch(Sender<()>),
}

impl Line {
    /// Takes the line away while `f` writes to the terminal.
    pub(crate) fn without(&self, f: &mut dyn FnMut()) {
        match self {
            Self::Bar(bar) => bar.suspend(f),
            Self::Batch(_) => f(),
        }
    }

    /// Takes the line away for good.
    pub(crate) fn finish(&self) {
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
        let line = lines(Duration::from_millis(1), tell).expect("a thread");
        for _ in 0..3 {
            assert_eq!(heard.recv(), Ok(()));
        }
        line.finish();
        // The thread is over: it can say nothing more.
        while heard.recv().is_ok() {}
    }

    #[test]
    fn the_share_of_a_limit_is_told() {
        let at = Time::from_secs;
        assert_eq!(text(at(2.0), 7, None), "2 s simulated, 7 events");
        assert_eq!(
            text(at(2.0), 7, Some(at(8.0))),
            "2 s simulated (25 % of --until), 7 events"
        );
    }
}
