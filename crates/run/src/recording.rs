//! A run recorded for a model checker: the steps in order, and the lines that actors printed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use mpi::ConnectionMode;
use platform::Platform;
use sim_core::{ActorId, Console, Level, LogLine, Observed};

/// The lines that each actor has printed.
pub type Lines = BTreeMap<ActorId, Vec<String>>;

/// A console that keeps the printed lines, and passes them on.
#[derive(Default)]
pub struct Transcript {
    lines: RefCell<Lines>,
    next: Option<Rc<dyn Console>>,
}

impl Transcript {
    /// Returns a transcript of the lines for `next`.
    pub fn with_next(next: Rc<dyn Console>) -> Self {
        Self {
            lines: RefCell::default(),
            next: Some(next),
        }
    }

    /// The lines so far, which are forgotten.
    pub fn take_lines(&self) -> Lines {
        self.lines.take()
    }
}

impl Console for Transcript {
    fn print(&self, actor: ActorId, text: fmt::Arguments<'_>) {
        let mut lines = self.lines.borrow_mut();
        lines.entry(actor).or_default().push(text.to_string());
        if let Some(next) = &self.next {
            next.print(actor, text);
        }
    }

    fn wants(&self, level: Level, actor: ActorId) -> bool {
        let next = self.next.as_ref();
        next.is_some_and(|next| next.wants(level, actor))
    }

    fn log(&self, line: &LogLine<'_>) {
        if let Some(next) = &self.next {
            next.log(line);
        }
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").finish_non_exhaustive()
    }
}

/// The record that [`simulate_recorded`](crate::simulate_recorded) makes.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The steps, in their order.
    pub steps: Rc<RefCell<Vec<Observed>>>,
    /// The lines that were printed.
    pub lines: RefCell<Lines>,
}

/// Returns the reason why a model checker does not explore runs on a platform; `None` if it does.
pub fn not_explorable(platform: &Platform) -> Option<&'static str> {
    if platform.protocol().is_limited() {
        return Some("check does not support platforms with packet or credit limits");
    }
    if platform.connection().mode != ConnectionMode::Instant {
        return Some(
            "check does not support connections on demand: under it all ranks are connected",
        );
    }
    if platform.network().device.is_some() {
        return Some("check does not support queue pairs: it delivers messages without packets");
    }
    None
}
