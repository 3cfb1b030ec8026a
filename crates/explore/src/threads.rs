//! Threads that execute jobs: the queue of jobs and their results.
//!
//! Each thread creates its own program. The thread that owns the trees hands out jobs in the order
//! of their use, and executes jobs itself while a required result is missing.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sim_core::Stepper;

use crate::clock::Stopwatch;
use crate::jobs::{JobResult, LeafJob, RecordingObserver, User, Worker};
use crate::properties::{ProgramProperties, SharedLists};
use crate::walk::Walk;
use crate::{Bound, Collector, Halt, Options};

/// Time for which the thread that owns the trees waits before a look at the clock.
const PATIENCE: Duration = Duration::from_millis(50);

/// Number of threads, and the functions that each of them calls.
#[derive(Clone, Copy)]
pub struct Threads<'a> {
    /// Number of threads; with 0 or 1 the search runs in the calling thread.
    pub number: usize,
    /// Creates the program. All created programs must behave the same; if they have a device, the
    /// queues of the device must have the same numbers in all programs.
    pub make: &'a (dyn Fn() -> Stepper + Sync),
    /// Called in each thread, also the calling one, around all work. A forked child does not have
    /// the other threads, so this function must end the process there after the work.
    pub around: &'a (dyn Fn(&mut dyn FnMut()) + Sync),
}

impl fmt::Debug for Threads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Outcome of a job.
#[derive(Debug)]
pub(crate) enum Done<T> {
    /// The run is over.
    JobResult(JobResult<T>),
    /// The first run of the job ended the search; the facts at that time, and the users of barriers
    /// in this run.
    Halted(Halt, ProgramProperties, Vec<User>),
    /// An invariant is broken.
    Panicked(Box<dyn Any + Send>),
}

#[derive(Debug)]
struct Board<T> {
    jobs: VecDeque<LeafJob>,
    done: BTreeMap<u32, Done<T>>,
    is_over: bool,
}

/// The waiting jobs and the finished jobs.
#[derive(Debug)]
pub(crate) struct Exchange<T> {
    board: Mutex<Board<T>>,
    jobs_came: Condvar,
    done_came: Condvar,
    /// Stops runs with results that are not needed any more.
    stop: Arc<AtomicBool>,
    pub(crate) lists: SharedLists,
}

impl<T> Exchange<T> {
    pub(crate) fn new(lists: SharedLists) -> Self {
        Self {
            board: Mutex::new(Board {
                jobs: VecDeque::new(),
                done: BTreeMap::new(),
                is_over: false,
            }),
            jobs_came: Condvar::new(),
            done_came: Condvar::new(),
            stop: Arc::default(),
            lists,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Board<T>> {
        // Whoever panics with the board in its hands ends the search.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds jobs before the waiting jobs.
    pub(crate) fn hand_out(&self, jobs: &mut Vec<LeafJob>) {
        if jobs.is_empty() {
            return;
        }
        let mut board = self.lock();
        for job in jobs.drain(..).rev() {
            board.jobs.push_front(job);
        }
        drop(board);
        self.jobs_came.notify_all();
    }

    /// Returns the number of jobs that no thread has begun.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Returns the outcome of a job. If no thread has begun the job, returns the job; otherwise
    /// another waiting job, or `(None, None)` after `PATIENCE`.
    pub(crate) fn take_outcome(&self, number: u32) -> (Option<Done<T>>, Option<LeafJob>) {
        let mut board = self.lock();
        loop {
            if let Some(done) = board.done.remove(&number) {
                return (Some(done), None);
            }
            let own = board.jobs.iter().position(|job| job.number == number);
            if let Some(job) = board.jobs.remove(own.unwrap_or(0)) {
                return (None, Some(job));
            }
            let waited = self.done_came.wait_timeout(board, PATIENCE);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return (None, None);
            }
            board = again;
        }
    }

    /// Stores the outcome of a job until it is taken.
    pub(crate) fn put_outcome(&self, job: &LeafJob, done: Done<T>) {
        self.lock().done.insert(job.number, done);
        self.done_came.notify_all();
    }

    /// Ends all threads.
    pub(crate) fn end_threads(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.lock().is_over = true;
        self.jobs_came.notify_all();
    }

    fn next_job(&self) -> Option<LeafJob> {
        let mut board = self.lock();
        loop {
            if board.is_over {
                return None;
            }
            if let Some(job) = board.jobs.pop_front() {
                return Some(job);
            }
            let waited = self.jobs_came.wait(board);
            board = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Does a job, whatever happens. The result of an interrupted job is not used, so that a forked
/// child of the program never waits for threads, which the child does not have.
pub(crate) fn do_job<C: Collector>(
    worker: &mut Worker<'_, C>,
    job: &LeafJob,
) -> Done<C::Observation> {
    let mut result = catch_unwind(AssertUnwindSafe(|| worker.run_job(job)));
    if worker.walk.is_interrupted() && result.is_ok() {
        result = Ok(Err(Halt::Bound(Bound::Interrupt)));
    }
    match result {
        Ok(Ok(ran)) => Done::JobResult(ran),
        Ok(Err(halt)) => {
            let properties = worker.walk.machine.properties.clone();
            Done::Halted(halt, properties, worker.take_users())
        }
        Err(panic) => Done::Panicked(panic),
    }
}

/// Runs jobs until the search ends the threads.
pub(crate) fn work_on_jobs<C: Collector>(
    threads: &Threads<'_>,
    options: &Options,
    exchange: &Exchange<C::Observation>,
) {
    (threads.around)(&mut || {
        let options = Options {
            seconds_max: f64::INFINITY,
            ..without_bounds(options)
        };
        let sight = Rc::default();
        let mut look = RecordingObserver::<C>(Rc::clone(&sight));
        let stepper = match catch_unwind(AssertUnwindSafe(|| (threads.make)())) {
            Ok(stepper) => stepper,
            Err(panic) => return refuse_all(exchange, panic),
        };
        let mut walk = Walk::new(stepper, &options, &mut look, Stopwatch::start());
        walk.stop = Some(Arc::clone(&exchange.stop));
        let mut worker = Worker::<C>::new(walk, sight, &exchange.lists);
        // A program may fork in any poll, also while a thread creates the program. The calling
        // thread looks at the flag, too.
        while !worker.walk.is_interrupted()
            && let Some(job) = exchange.next_job()
        {
            let done = do_job(&mut worker, &job);
            if matches!(done, Done::Halted(Halt::Bound(Bound::Interrupt), ..)) {
                return;
            }
            let is_broken = matches!(done, Done::Panicked(_));
            exchange.put_outcome(&job, done);
            if is_broken {
                return;
            }
        }
    });
}

/// The program could not even be made here: the next job says so.
fn refuse_all<T>(exchange: &Exchange<T>, panic: Box<dyn Any + Send>) {
    if let Some(job) = exchange.next_job() {
        exchange.put_outcome(&job, Done::Panicked(panic));
    }
}

/// Returns the options of one run of the same search: another thread counts.
pub(crate) fn without_bounds(options: &Options) -> Options {
    Options {
        executions_max: u64::MAX,
        transitions_max: u64::MAX,
        progress: None,
        ..options.clone()
    }
}
