//! Signals that end a study.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use simrun::status;

/// Signals that have come. The second one of a kind ends the process at once.
#[derive(Default)]
pub(super) struct Signals {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
}

impl Signals {
    /// Begins to watch.
    pub(super) fn watch_signals() -> io::Result<Self> {
        let signals = Self::default();
        for (signal, flag) in [
            (SIGINT, &signals.interrupt),
            (SIGTERM, &signals.terminate),
            (SIGHUP, &signals.terminate),
        ] {
            register_conditional_shutdown(signal, status::INTERRUPTED.into(), Arc::clone(flag))?;
            register(signal, Arc::clone(flag))?;
        }
        Ok(signals)
    }

    /// Returns true after Ctrl-C: runs in progress have a little time.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Returns true after any signal: no more runs begin.
    pub(super) fn any(&self) -> bool {
        self.interrupted() || self.terminate.load(Ordering::Relaxed)
    }
}
