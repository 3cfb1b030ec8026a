//! The line on a terminal that says how far a long run is. In a pipe there is none, and short runs show none.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use sim_core::Progress;

use crate::summary;

/// Runs shorter than this show nothing; and how often the line changes.
const PERIOD: Duration = Duration::from_millis(500);

/// A line that shows `progress` until it is dropped; `None` if standard error is no terminal.
pub(crate) fn show(progress: &Arc<Progress>) -> Option<Line> {
    let source = Arc::clone(progress);
    line(move || {
        let (time, events) = (summary::seconds(source.time().as_secs()), source.events());
        format!("{time} simulated, {events} events")
    })
}

/// A line that shows `text`; `None` if standard error is no terminal.
pub(crate) fn line(text: impl Fn() -> String + Clone + Send + Sync + 'static) -> Option<Line> {
    if !std::io::stderr().is_terminal() {
        return None;
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
    Some(Line(bar))
}

/// The line; it disappears when it is dropped.
#[derive(Clone)]
pub(crate) struct Line(ProgressBar);

impl Line {
    /// Takes the line away while `f` writes to the terminal.
    pub(crate) fn without(&self, f: &mut dyn FnMut()) {
        self.0.suspend(f);
    }

    /// Takes the line away for good.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
