//! Programs that compute for long without a call of MPI: after a limit of processor time the rank
//! fails, and the failure reports the current line of the program.
//!
//! A thread observes the progress of the thread that runs ranks, and interrupts that thread by a
//! signal. The handler of faults also handles this signal. *Not noticed*: a rank that waits for the
//! system and takes no processor time, and a rank that is in a library function at each check.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The signal, which has no effect where it is not expected.
pub(super) const SIGNAL: libc::c_int = libc::SIGURG;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(100);

/// The limit in seconds when a rank of the process was ended before: a model checker executes the
/// same loop again and again.
const AGAIN: f64 = 0.3;

/// True if a rank was ended.
static WAS_EXCEEDED: AtomicBool = AtomicBool::new(false);

/// Progress of the ranks of a thread.
#[derive(Debug)]
pub(super) struct CallProgress {
    /// Odd while a program runs; changes with each call.
    count: AtomicU64,
    /// The count of which the rank is to end.
    suspect: AtomicU64,
    /// Limit of processor time in seconds.
    limit: f64,
    thread: libc::pthread_t,
    /// False when the ranks are gone, and perhaps their thread.
    is_alive: Mutex<bool>,
}

/// The watch over the ranks of a thread, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watch(Arc<CallProgress>);

impl Watch {
    /// Begins to watch this thread.
    pub(crate) fn new(limit: f64) -> Self {
        let progress = Arc::new(CallProgress {
            count: AtomicU64::new(0),
            suspect: AtomicU64::new(0),
            limit,
            // SAFETY: the call has no conditions.
            thread: unsafe { libc::pthread_self() },
            is_alive: Mutex::new(true),
        });
        let same = Arc::clone(&progress);
        // Without the thread nothing is watched.
        let _ = thread::Builder::new().spawn(move || same.watch_progress());
        Self(progress)
    }

    /// Notes that a program begins or ends to run.
    pub(super) fn switch(&self) {
        self.advance_count(1);
    }

    /// Notes a call of a program.
    pub(super) fn note_call(&self) {
        self.advance_count(2);
    }

    fn advance_count(&self, step: u64) {
        let count = &self.0.count;
        // Only this thread writes it.
        count.store(count.load(Ordering::Relaxed) + step, Ordering::Relaxed);
    }

    /// Returns the limit in seconds.
    pub(super) fn limit(&self) -> f64 {
        self.0.limit
    }

    /// Returns true if the running rank is beyond the limit.
    pub(super) fn is_exceeded(&self) -> bool {
        let count = self.0.count.load(Ordering::Relaxed);
        count % 2 == 1 && self.0.suspect.load(Ordering::Relaxed) == count
    }

    /// Notes that a rank was ended.
    pub(super) fn note_exceeded() {
        WAS_EXCEEDED.store(true, Ordering::Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self
            .0
            .is_alive
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = false;
    }
}

impl CallProgress {
    fn watch_progress(&self) {
        let mut seen = (0, 0.0);
        loop {
            thread::park_timeout(PERIOD);
            let is_alive = self.is_alive.lock().unwrap_or_else(PoisonError::into_inner);
            if !*is_alive {
                return;
            }
            let limit = match WAS_EXCEEDED.load(Ordering::Relaxed) {
                true => self.limit.min(AGAIN),
                false => self.limit,
            };
            let (count, time) = (self.count.load(Ordering::Relaxed), self.processor_time());
            if count != seen.0 || count % 2 == 0 {
                seen = (count, time);
            } else if time - seen.1 >= limit {
                self.suspect.store(count, Ordering::Relaxed);
                // SAFETY: the thread exists as long as its ranks do, whose end waits for the lock.
                unsafe { libc::pthread_kill(self.thread, SIGNAL) };
            }
        }
    }

    /// Returns the processor time of the thread in seconds. The thread is alive.
    fn processor_time(&self) -> f64 {
        let mut clock = 0;
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: the thread is alive, as the caller says; the functions fill the places.
        let time = unsafe {
            libc::pthread_getcpuclockid(self.thread, &raw mut clock);
            libc::clock_gettime(clock, time.as_mut_ptr());
            time.assume_init()
        };
        super::compute::timespec_seconds(time)
    }
}
