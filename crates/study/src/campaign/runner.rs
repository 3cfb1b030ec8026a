//! Runs the points of a study: one process per processor, each result is written at once.
//!
//! One thread per process asks the queue for runs. The main thread writes the results: each result
//! is a line, and results that arrive together share one `fdatasync`. Only written results count as
//! computed, so this process and the workers can be killed at any time.
//!
//! *Not decided here*: the next seeds of a point ([`PointResults::pending`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use simrun::{ProgressLine, status};

use super::claims::Claims;
use super::place::{Ended, Places};
use super::plan::StudyPlan;
use super::queue::{PointRun, RunQueue};
use super::share::Share;
use super::signals::Signals;
use super::views;
use crate::{PendingRuns, PointResults, ResultLine, ResultSet, ResultWriter};

/// Time between two looks at signals.
const PERIOD: Duration = Duration::from_millis(100);

/// Time between two looks at runs that other workers have claimed. \[choice\]
const CLAIM_PERIOD: Duration = Duration::from_millis(500);

/// Time after Ctrl-C until runs in progress are killed. \[choice\]
const PATIENCE: Duration = Duration::from_secs(10);

/// The runs with which a command begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// All that are pending.
    Pending,
    /// The failed runs. `only`: no further runs follow.
    Failed { only: bool },
}

/// A study that is being run.
pub(super) struct Runner<'p> {
    plan: &'p StudyPlan,
    jobs: usize,
    worker: String,
    steals: bool,
    set: ResultSet,
    writer: ResultWriter,
    /// For each point with runs in the queue or in progress, their number, by the point's position.
    open: BTreeMap<usize, usize>,
    /// Positions of points with a run that another worker has claimed.
    claimed: BTreeSet<usize>,
    start: Start,
    /// Number of runs that have ended, and the sum and the maximum of their real times in seconds.
    done: (usize, f64, f64),
}

impl<'p> Runner<'p> {
    /// Creates a runner. `jobs`: number of processes; by default the processors of the machine.
    /// `steals`: runs are claimed, and after the own runs the worker takes runs of other workers.
    pub(super) fn new(
        plan: &'p StudyPlan,
        jobs: Option<NonZeroUsize>,
        steals: bool,
        start: Start,
    ) -> Result<Self, ExitCode> {
        let jobs = jobs.or_else(|| thread::available_parallelism().ok());
        let jobs = jobs.map_or(1, NonZeroUsize::get);
        let folder = plan.folder.path();
        let worker = worker_name();
        Ok(Self {
            plan,
            jobs,
            steals,
            set: ResultSet::read(folder).map_err(status::refuse)?,
            writer: ResultWriter::open(folder, &worker).map_err(status::refuse)?,
            worker,
            open: BTreeMap::new(),
            claimed: BTreeSet::new(),
            start,
            done: (0, 0.0, 0.0),
        })
    }

    /// Runs a share of the points, and writes the tables.
    pub(super) fn run_share(self, share: &Share) -> Result<ExitCode, ExitCode> {
        let signals = Signals::watch_signals().map_err(status::refuse)?;
        let plan = self.plan;
        self.execute_share(share, &signals)?;
        if signals.any() {
            return Ok(interrupted());
        }
        // Other workers may have written in between.
        let set = ResultSet::read(plan.folder.path()).map_err(status::refuse)?;
        views::conclude(plan, &set, share)
    }

    /// Runs a share of the points, until a signal comes.
    pub(super) fn execute_share(
        mut self,
        share: &Share,
        signals: &Signals,
    ) -> Result<(), ExitCode> {
        let claims = || Claims::open(self.plan.folder.path(), &self.worker);
        let claims = self
            .steals
            .then(claims)
            .transpose()
            .map_err(status::refuse)?;
        let queue = RunQueue::new(self.jobs, simrun::available_memory());
        let places = Places::new(self.plan, claims.as_ref(), self.jobs);
        let (sender, ends) = channel();
        let worked = thread::scope(|scope| {
            for place in 0..self.jobs {
                let (queue, places, sender) = (&queue, &places, sender.clone());
                scope.spawn(move || places.execute_queue(place, queue, &sender));
            }
            drop(sender);
            let work = Work {
                queue: &queue,
                places: &places,
                ends,
                signals,
            };
            let worked = self.run_points(share, &work);
            queue.close_queue();
            worked
        });
        worked.map_err(status::refuse)
    }

    /// Runs the own points, then points of other workers. Waits until claimed runs have results or
    /// dead claims, so that a killed job can be submitted again at once.
    fn run_points(&mut self, share: &Share, work: &Work<'_>) -> Result<(), Problem> {
        let mut line = ProgressLine::new();
        self.push_first_runs(work.queue, |position| share.has_position(position));
        self.drain(work, &mut line)?;
        if self.steals && *share != Share::ALL && !work.signals.any() {
            self.set = ResultSet::read(self.plan.folder.path())?;
            self.push_first_runs(work.queue, |position| !share.has_position(position));
            self.drain(work, &mut line)?;
        }
        while !self.claimed.is_empty() && !work.signals.any() {
            thread::park_timeout(CLAIM_PERIOD);
            self.set = ResultSet::read(self.plan.folder.path())?;
            let claimed = std::mem::take(&mut self.claimed);
            self.push_first_runs(work.queue, |position| claimed.contains(&position));
            self.drain(work, &mut line)?;
        }
        Ok(())
    }

    /// Adds the first runs of some points: points with the most ranks first.
    fn push_first_runs(&mut self, queue: &RunQueue, takes: impl Fn(usize) -> bool) {
        let points = &self.plan.points;
        let mut positions: Vec<usize> = (0..points.len()).filter(|at| takes(*at)).collect();
        let ranks = |at: &usize| points[*at].content.ranks;
        if let Some(largest) = positions.iter().copied().max_by_key(ranks) {
            positions.retain(|at| *at != largest);
            positions.insert(0, largest);
        }
        for position in positions {
            let results = self.results(position);
            let seeds = match self.start {
                Start::Pending => pending(&results, self.plan),
                Start::Failed { .. } => results.failed_seeds(),
            };
            self.push_runs(queue, position, seeds);
        }
    }

    fn results(&self, position: usize) -> PointResults<'_> {
        let planned = &self.plan.points[position];
        let key = |seed| planned.content.key(seed);
        let replication = &self.plan.study.replication;
        PointResults::collect_results(self.plan.point(planned), &self.set, replication, key)
    }

    fn push_runs(&mut self, queue: &RunQueue, position: usize, seeds: Vec<u64>) {
        if !seeds.is_empty() {
            *self.open.entry(position).or_default() += seeds.len();
        }
        for seed in seeds {
            queue.push(PointRun { position, seed });
        }
    }

    /// Writes results, and adds the runs that follow from them, until none is left or a signal
    /// comes and runs in progress have ended.
    fn drain(&mut self, work: &Work<'_>, line: &mut ProgressLine) -> Result<(), Problem> {
        let Work {
            queue,
            places,
            ends,
            signals,
        } = work;
        let mut since_signal = Duration::ZERO;
        while !self.open.is_empty() {
            let mut ended = Vec::new();
            match ends.recv_timeout(PERIOD) {
                Ok(first) => ended.push(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            ended.extend(ends.try_iter());
            self.keep_results(queue, ended)?;
            if signals.any() {
                let waiting = queue.close_queue();
                self.forget_runs(&waiting);
                if since_signal > PATIENCE && signals.interrupted() {
                    places.kill_processes();
                }
                since_signal += PERIOD;
            }
            let elapsed = line.elapsed();
            line.show(|| self.progress_text(elapsed));
        }
        Ok(())
    }

    /// Writes the result of a run.
    fn write_result(&mut self, end: Ended) -> Result<(), Problem> {
        let Ended { job, line, stderr } = end;
        let line = line.map_err(|error| Problem(error.to_string()))?;
        let Some(line) = line else {
            self.claimed.insert(job.position);
            return Ok(());
        };
        self.writer.append(&line)?;
        self.note_result(&line);
        let path = self.writer.path().to_owned();
        let failure = (!line.succeeded()).then(|| line.key.clone());
        self.set.add_result(line, &path);
        if let Some(key) = failure {
            self.plan.folder.keep_failure(&key, stderr.as_bytes())?;
        }
        Ok(())
    }

    /// Writes results to the disk, then adds the runs that follow from the results. If one result
    /// cannot be written, the other results are still written.
    fn keep_results(&mut self, queue: &RunQueue, ended: Vec<Ended>) -> Result<(), Problem> {
        let positions: Vec<usize> = ended.iter().map(|end| end.job.position).collect();
        let written: Vec<_> = ended
            .into_iter()
            .map(|end| self.write_result(end))
            .collect();
        if !positions.is_empty() {
            self.writer.sync()?;
        }
        written.into_iter().collect::<Result<(), Problem>>()?;
        for position in positions {
            let left = self.open.get_mut(&position).map_or(0, |open| {
                *open -= 1;
                *open
            });
            if left == 0 {
                self.open.remove(&position);
                let is_claimed = self.claimed.contains(&position);
                if !is_claimed && self.start != (Start::Failed { only: true }) {
                    let seeds = pending(&self.results(position), self.plan);
                    self.push_runs(queue, position, seeds);
                }
            }
        }
        Ok(())
    }

    /// Expects the ends of runs no longer that have never begun.
    fn forget_runs(&mut self, waiting: &[PointRun]) {
        for job in waiting {
            if let Some(open) = self.open.get_mut(&job.position) {
                *open -= 1;
            }
        }
        self.open.retain(|_, open| *open > 0);
    }

    fn note_result(&mut self, line: &ResultLine) {
        let (runs, sum, longest) = self.done;
        self.done = (runs + 1, sum + line.wall_s, longest.max(line.wall_s));
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    fn progress_text(&self, elapsed: Duration) -> String {
        let (done, sum, _) = self.done;
        let left: usize = self.open.values().sum();
        let each = if done == 0 { 0.0 } else { sum / done as f64 };
        let rest = each * left as f64 / self.jobs as f64;
        format!(
            "{done} runs done in {:.0} s, {left} known to be left, about {rest:.0} s",
            elapsed.as_secs_f64()
        )
    }
}

/// Says that a signal has ended a study; returns the exit status of that.
pub(super) fn interrupted() -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(
        io::stderr(),
        "interrupted: finished results are kept, and the same command continues the study"
    );
    ExitCode::from(status::INTERRUPTED)
}

/// Everything that runs a study beside the runner.
struct Work<'w> {
    queue: &'w RunQueue,
    places: &'w Places<'w>,
    ends: Receiver<Ended>,
    signals: &'w Signals,
}

fn pending(results: &PointResults<'_>, plan: &StudyPlan) -> Vec<u64> {
    match results.pending(&plan.study) {
        PendingRuns::Seeds(seeds) => seeds,
        PendingRuns::None | PendingRuns::NotReached | PendingRuns::Failed => Vec::new(),
    }
}

/// Returns a name that no other running worker has: `HOST-PID`.
fn worker_name() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    format!("{host}-{}", std::process::id())
}

/// Reason why a study stops: results cannot be written, or processes not be started.
struct Problem(String);

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(problem) = self;
        write!(
            f,
            "{problem}\nfinished results are kept: the same command continues the study"
        )
    }
}
