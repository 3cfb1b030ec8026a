//! The threads of a study: each thread has a process and executes the runs of the queue.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;

use serde_json::Value as Json;
use simrun::package::Executable;
use tempfile::TempDir;

use super::claims::Claims;
use super::outcome::{run_result, was_killed};
use super::plan::StudyPlan;
use super::queue::{PointRun, RunQueue};
use super::worker::{RunEnd, Worker, kill_process};
use crate::{Measure, ResultLine};

#[expect(clippy::disallowed_types, reason = "the real time of runs is a result")]
type Clock = std::time::Instant;

/// Number of attempts for a run with a process that is killed from outside. \[choice\]
const ATTEMPTS: u32 = 3;

/// Real time in seconds from which the memory of a run is read; shorter runs need little memory.
/// \[choice\]
const NOTABLE_S: f64 = 0.1;

/// A run that has ended.
pub(super) struct Ended {
    pub(super) job: PointRun,
    /// The result of the run; `None` if another worker has the run, or was killed with this one.
    pub(super) line: io::Result<Option<ResultLine>>,
    /// The standard error of the run, with the output of the program.
    pub(super) stderr: String,
}

/// The processes of a study.
pub(super) struct Places<'p> {
    plan: &'p StudyPlan,
    program: Executable,
    claims: Option<&'p Claims>,
    analyses: bool,
    /// The process of each place; 0 if there is none.
    processes: Vec<AtomicU32>,
    /// True when processes have been killed: their runs have no results.
    killed: AtomicBool,
}

impl<'p> Places<'p> {
    pub(super) fn new(plan: &'p StudyPlan, claims: Option<&'p Claims>, jobs: usize) -> Self {
        Self {
            plan,
            program: plan.program(),
            claims,
            analyses: plan.study.measures.iter().any(Measure::needs_analysis),
            processes: (0..jobs).map(|_| AtomicU32::new(0)).collect(),
            killed: AtomicBool::new(false),
        }
    }

    /// Kills all processes; their runs have no results.
    pub(super) fn kill_processes(&self) {
        self.killed.store(true, Ordering::Relaxed);
        for process in &self.processes {
            match process.load(Ordering::Relaxed) {
                0 => {}
                process => kill_process(process),
            }
        }
    }

    /// Executes the runs of the queue, until the queue is closed.
    pub(super) fn execute_queue(&self, place: usize, queue: &RunQueue, ends: &Sender<Ended>) {
        let worker = Worker::new(&self.program, self.plan.study.limits);
        let mut worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                if let Some(job) = queue.take_run() {
                    queue.note_run_end(None);
                    // The study has ended for another reason if nobody listens.
                    let _ = ends.send(Ended {
                        job,
                        line: Err(error),
                        stderr: String::new(),
                    });
                }
                return;
            }
        };
        let mut longest_s: f64 = 0.0;
        while let Some(job) = queue.take_run() {
            let begin = Clock::now();
            let mut stderr = String::new();
            let line = self.execute_run(&mut worker, place, job, longest_s, &mut stderr);
            let wall_s = begin.elapsed().as_secs_f64();
            longest_s = longest_s.max(wall_s);
            let peak = (wall_s > NOTABLE_S).then(|| worker.peak()).flatten();
            queue.note_run_end(peak);
            if ends.send(Ended { job, line, stderr }).is_err() {
                return;
            }
        }
        self.processes[place].store(0, Ordering::Relaxed);
    }

    fn execute_run(
        &self,
        worker: &mut Worker,
        place: usize,
        job: PointRun,
        longest_s: f64,
        stderr: &mut String,
    ) -> io::Result<Option<ResultLine>> {
        let planned = &self.plan.points[job.position];
        if let Some(claims) = self.claims
            && !claims.claim(&planned.content.key(job.seed), longest_s)?
        {
            return Ok(None);
        }
        let analysis = self.analyses.then(analysis_folder).transpose()?;
        let folder = analysis.as_ref().map(TempDir::path);
        let arguments = self.plan.arguments(planned, job.seed, folder);
        let started = |process| self.processes[place].store(process, Ordering::Relaxed);
        let mut attempt = 0;
        let (end, wall_s) = loop {
            attempt += 1;
            let begin = Clock::now();
            let end: RunEnd = worker.run_command_line(&arguments, started)?;
            if was_killed(&end) && self.killed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if !was_killed(&end) || attempt == ATTEMPTS {
                break (end, begin.elapsed().as_secs_f64());
            }
        };
        let analysed: Option<Json> = analysis.and_then(|folder| {
            let text = files::read_state(&folder.path().join("analysis.json"));
            serde_json::from_str(&text.ok()?).ok()
        });
        let study = &self.plan.study;
        let line = run_result(study, planned, job.seed, &end, analysed.as_ref(), wall_s);
        *stderr = end.stderr;
        Ok(Some(line))
    }
}

fn analysis_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("simrun-study-").tempdir()
}
