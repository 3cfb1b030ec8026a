//! The rank program that measures. Rank 0 decides: rank 0 warms up, searches the eager threshold,
//! runs the plan until the results are precise enough or the time is over, and measures more sizes
//! where the time jumps. The other ranks receive commands, block by block.

use std::cell::RefCell;
use std::rc::Rc;

use mpi::{Comm, Result};

use super::command::{self, announce_block, receive_block};
use super::kernels::{Found, KernelRunner, partner};
use super::plan::{MeasureOptions, Plan, REFERENCE_BYTES, Task, ping_pong};
use super::session::Session;
use super::stop::StoppingRule;
use crate::fit::{FitOptions, fit};
use crate::point::bytes;
use crate::quantile::median;
use crate::refine::AdaptiveSampling;
use crate::sample::{Block, Kernel, Set};
use crate::sampling::{Statistic, summarise};

/// Messages that warm up, small and large; none of their times is kept.
const WARM_UP: (u32, u32) = (200, 20);
/// From how long on a block has fewer samples.
const LONG_S: f64 = 100e-6;
/// Samples of a block: of slow tasks, and of the others.
const REPETITIONS: (u32, u32) = (20, 100);
/// Number of blocks between two reference blocks.
const REFERENCE_EVERY: u32 = 10;
/// Times that the clock is read.
const CLOCK_READS: u32 = 200;
/// Repetitions of each step of looking for the threshold.
const LATE_REPETITIONS: u32 = 5;
/// Least delay of the late receives, in seconds: far above the time to resume a process.
const LATE_MIN_S: f64 = 5e-3;
/// The part of the time after which no pass begins, so that refinement has some.
const PASSES_PART: f64 = 0.85;
/// Multiple of the time limit, after the warm-up, at which even the first pass ends: everything is
/// measured once, if there is any way to.
const FIRST_PASS: f64 = 4.0;
/// Cost of a block besides the samples, in seconds: the commands to the other ranks.
const BLOCK_S: f64 = 50e-6;

/// Reports the progress now and then: elapsed seconds, remaining seconds at most, and the current
/// step.
pub type ReportProgress = Rc<dyn Fn(f64, f64, &str)>;

/// The rank program: measures as the options say. Rank 0 writes the results into `session`.
pub async fn measure(
    world: Comm,
    options: Rc<MeasureOptions>,
    session: Rc<RefCell<Session>>,
    progress: ReportProgress,
) -> Result<()> {
    if world.rank() != 0 {
        while let Some(block) = receive_block(&world).await? {
            partner(&world, &block).await?;
        }
        return Ok(());
    }
    if world.size() < 2 {
        session
            .borrow_mut()
            .notes
            .push("one rank has nobody to talk to".to_owned());
        return Ok(());
    }
    let mut conductor = MeasureDriver::new(&world, (*options).clone(), progress).await;
    let result = conductor.measure_all().await;
    announce_block(&world, None).await?;
    *session.borrow_mut() = conductor.finish_session();
    result
}

struct MeasureDriver<'a> {
    world: &'a Comm,
    options: MeasureOptions,
    ranks: u32,
    bench: KernelRunner<'a>,
    session: Session,
    /// Start of the measurement, by the clock.
    start: f64,
    /// Seconds from the start to the end of the warm-up.
    warm: f64,
    /// Number of blocks there have been.
    number: u32,
    /// Blocks since the last reference block.
    since_reference: u32,
    /// About how long an empty message and the largest one take, in seconds.
    about: (f64, f64),
    progress: ReportProgress,
}

impl<'a> MeasureDriver<'a> {
    async fn new(world: &'a Comm, options: MeasureOptions, progress: ReportProgress) -> Self {
        let ranks = u32::try_from(world.size()).unwrap_or(u32::MAX);
        Self {
            world,
            ranks,
            bench: KernelRunner::new(world, options.pause).await,
            session: Session {
                ranks,
                ..Session::default()
            },
            start: world.wtime(),
            warm: 0.0,
            number: 0,
            since_reference: 0,
            about: (0.0, 0.0),
            progress,
            options,
        }
    }

    fn elapsed(&self) -> f64 {
        self.world.wtime() - self.start
    }

    async fn measure_all(&mut self) -> Result<()> {
        self.clock();
        self.warm_up().await?;
        self.warm = self.elapsed();
        let about = self.about;
        let (size_max, repetitions) = (self.options.size_max, self.options.repetitions);
        let guess = |task: &Task| cost(task, about, size_max, repetitions);
        if let Some(note) = self.options.cut_to_limit(self.ranks, guess) {
            self.session.notes.push(note);
        }
        if self.options.kernels.late {
            self.find_threshold().await?;
        }
        let mut plan = Plan::new(&self.options, self.ranks);
        let pass_s: f64 = 1.1 * plan.tasks().iter().map(guess).sum::<f64>();
        let expected = (f64::from(self.options.blocks_max) * pass_s).min(self.options.time_limit_s);
        (self.progress)(self.elapsed(), expected, "at most expected");
        let mut stopping = StoppingRule::default();
        let end = PASSES_PART * self.options.time_limit_s;
        let ended = loop {
            if self.pass(&plan, &mut stopping, end).await? {
                break "time limit reached";
            }
            stopping.judge(&self.options);
            let (done, all) = stopping.task_counts();
            let left = pass_s * f64::from(self.options.blocks_max - self.session.passes);
            (self.progress)(self.elapsed(), left, &format!("{done} of {all} converged"));
            if stopping.is_enough() {
                break "90 % converged";
            }
            if self.session.passes >= self.options.blocks_max {
                break "all passes done";
            }
        };
        stopping.judge(&self.options);
        let (done, all) = stopping.task_counts();
        let text = format!(
            "{ended}; {done} of {all} known to {} %",
            100.0 * self.options.target
        );
        self.session.notes.push(text);
        if self.options.refines {
            self.refine(&mut plan).await?;
        }
        Ok(())
    }

    fn finish_session(mut self) -> Session {
        self.session.elapsed_s = self.elapsed();
        self.session
    }

    /// Measures the clock: the smallest step, and the cost of a reading.
    fn clock(&mut self) {
        let mut steps = Vec::new();
        for _ in 0..CLOCK_READS {
            let first = self.world.wtime();
            steps.push(self.world.wtime() - first);
        }
        let moved = steps.iter().copied().filter(|step| *step > 0.0);
        self.session.clock_step_s = moved.fold(f64::INFINITY, f64::min);
        if !self.session.clock_step_s.is_finite() {
            self.session.clock_step_s = 0.0;
        }
        self.session.clock_cost_s = median(&steps).unwrap_or(0.0);
        if steps.iter().any(|step| *step < 0.0) {
            self.session.notes.push("clock is not monotonic".to_owned());
        }
    }

    async fn warm_up(&mut self) -> Result<()> {
        let mut times = [0.0; 2];
        let sizes = [1, self.options.size_max];
        for (time, (size, repetitions)) in times
            .iter_mut()
            .zip(sizes.into_iter().zip([WARM_UP.0, WARM_UP.1]))
        {
            let found = self
                .measure_block(ping_pong(self.ranks), size, repetitions, 0.0)
                .await?;
            *time = found
                .first()
                .and_then(|(_, times)| median(times))
                .unwrap_or(0.0);
        }
        self.about = times.into();
        Ok(())
    }

    /// One block, told to all and timed here.
    async fn measure_block(
        &mut self,
        kernel: Kernel,
        size: u64,
        repetitions: u32,
        delay_s: f64,
    ) -> Result<Found> {
        let block = command::Block {
            kernel,
            size,
            repetitions,
            delay_s,
        };
        announce_block(self.world, Some(&block)).await?;
        self.bench.run_block(&block).await
    }

    /// One block that is kept.
    async fn measure_task(&mut self, task: Task) -> Result<Option<Block>> {
        let single = single(self.about, task.size, self.options.size_max);
        let repetitions = repetitions(single, self.options.repetitions);
        let empty = self.about.0;
        let delay_s = match task.kernel {
            Kernel::Receive => 3.0 * (single + empty),
            Kernel::DelayedStream(_) => 1.2 * (single + empty),
            _ => 0.0,
        };
        let found = self
            .measure_block(task.kernel, task.size, repetitions, delay_s)
            .await?;
        self.number += 1;
        let blocks = found.into_iter().map(|(kernel, times_s)| Block {
            session: self.options.session,
            number: self.number,
            kernel,
            size: task.size,
            set: task.set,
            times_s,
        });
        let first = self.session.blocks.len();
        self.session.blocks.extend(blocks);
        Ok(self.session.blocks.get(first).cloned())
    }

    /// Measures the reference blocks, after every [`REFERENCE_EVERY`] blocks.
    async fn references(&mut self) -> Result<()> {
        self.since_reference += 1;
        if self.since_reference < REFERENCE_EVERY {
            return Ok(());
        }
        self.since_reference = 0;
        for size in REFERENCE_BYTES {
            let task = Task {
                kernel: ping_pong(self.ranks),
                size,
                set: Set::Reference,
            };
            self.measure_task(task).await?;
        }
        Ok(())
    }

    /// Measures one pass over the tasks that are not done; true if the time ran out before its end.
    async fn pass(&mut self, plan: &Plan, stopping: &mut StoppingRule, end: f64) -> Result<bool> {
        let number = self.session.passes;
        self.session.passes += 1;
        for task in plan.pass(number) {
            if stopping.is_done(&task) {
                continue;
            }
            let patience = if number == 0 {
                self.warm + FIRST_PASS * end
            } else {
                end
            };
            if self.elapsed() > patience {
                return Ok(true);
            }
            if let Some(block) = self.measure_task(task).await? {
                stopping.add_block(task, block);
            }
            self.references().await?;
        }
        Ok(false)
    }

    /// Halves the range between the largest eager and the smallest synchronous size, by how long a
    /// send with a late receive takes.
    async fn find_threshold(&mut self) -> Result<()> {
        let late_s = (10.0 * self.about.1).max(LATE_MIN_S);
        self.session.late_delay_s = late_s;
        let (mut eager, mut synchronous) = (0, self.options.size_max);
        if !self.is_synchronous(synchronous, late_s).await? {
            self.session
                .notes
                .push(format!("eager threshold is above {synchronous} B"));
            return Ok(());
        }
        if self.is_synchronous(eager, late_s).await? {
            synchronous = eager;
        }
        while synchronous > eager + 1 {
            let middle = eager.midpoint(synchronous);
            if self.is_synchronous(middle, late_s).await? {
                synchronous = middle;
            } else {
                eager = middle;
            }
        }
        self.session.eager_threshold = Some(synchronous);
        if synchronous > 0 && !self.options.thresholds.contains(&synchronous) {
            self.options.thresholds.push(synchronous);
        }
        Ok(())
    }

    async fn is_synchronous(&mut self, size: u64, late_s: f64) -> Result<bool> {
        let found = self
            .measure_block(Kernel::Late, size, LATE_REPETITIONS, late_s)
            .await?;
        self.number += 1;
        let times_s = found.into_iter().flat_map(|(_, times)| times).collect();
        let block = Block {
            session: self.options.session,
            number: self.number,
            kernel: Kernel::Late,
            size,
            set: Set::Training,
            times_s,
        };
        let middle = median(&block.times_s).unwrap_or(0.0);
        self.session.blocks.push(block);
        Ok(middle >= late_s / 2.0)
    }

    /// Measures sizes inside the gaps in which the fit jumps.
    async fn refine(&mut self, plan: &mut Plan) -> Result<()> {
        let kernel = ping_pong(self.ranks);
        let rules = FitOptions {
            forced: self
                .options
                .thresholds
                .iter()
                .copied()
                .filter(|at| *at > 0)
                .collect(),
            ..FitOptions::samples()
        };
        let of_kernel = |block: &&Block| block.kernel == kernel && block.set == Set::Training;
        let blocks: Vec<&Block> = self.session.blocks.iter().filter(of_kernel).collect();
        let summaries = summarise(&blocks, Statistic::P10, self.options.seed);
        let points: Vec<_> = summaries.iter().map(|summary| summary.point).collect();
        let Ok(fitted) = fit(&points, &rules) else {
            return Ok(());
        };
        let mut refinement = AdaptiveSampling::new(&fitted);
        let mut measured = 0;
        while let Some(size) = refinement.next_size() {
            if self.elapsed() > self.options.time_limit_s {
                self.session
                    .notes
                    .push("adaptive sampling stopped at the time limit".to_owned());
                break;
            }
            let task = Task {
                kernel,
                size,
                set: Set::Training,
            };
            let is_hidden = plan.validation.contains(&size);
            let mut here = Vec::new();
            for _ in 0..self.options.blocks_min {
                // What is held back stays so: where such a size is asked for, its neighbour
                // answers.
                let size = if is_hidden { size + 1 } else { size };
                here.extend(self.measure_task(Task { size, ..task }).await?);
            }
            self.since_reference = REFERENCE_EVERY;
            self.references().await?;
            let here: Vec<&Block> = here.iter().collect();
            let Some(summary) = summarise(&here, Statistic::P10, self.options.seed).pop() else {
                break;
            };
            plan.add_size(summary.point.size, self.ranks);
            measured += 1;
            (self.progress)(
                self.elapsed(),
                0.0,
                &format!("adaptive sampling at {size} B"),
            );
            refinement.add_measurement(summary.point);
        }
        if measured > 0 {
            let text = format!("{measured} sizes added at jumps");
            self.session.notes.push(text);
        }
        Ok(())
    }
}

/// About how long one message takes, between the two that were tried.
fn single(about: (f64, f64), size: u64, size_max: u64) -> f64 {
    about.0 + (about.1 - about.0).max(0.0) * bytes(size) / bytes(size_max.max(1))
}

fn repetitions(single: f64, asked: Option<u32>) -> u32 {
    let usual = if single > LONG_S {
        REPETITIONS.0
    } else {
        REPETITIONS.1
    };
    asked.unwrap_or(usual)
}

/// About how long a block takes.
fn cost(task: &Task, about: (f64, f64), size_max: u64, asked: Option<u32>) -> f64 {
    let one = single(about, task.size, size_max);
    let (empty, times) = (about.0, f64::from(repetitions(one, asked)));
    let each = match task.kernel {
        Kernel::PingPong | Kernel::PingPongOccupied | Kernel::Exchange => 2.0 * one,
        Kernel::Stream(number) => f64::from(number) * one + empty,
        Kernel::Incast(number) | Kernel::Outcast(number) => f64::from(number) * (one + empty),
        Kernel::Receive => 5.0 * (one + empty),
        Kernel::DelayedStream(_) => 4.0 * (one + empty),
        Kernel::Send | Kernel::Isend | Kernel::Late => one + empty,
        Kernel::Ring(number) => f64::from(number) * one,
        Kernel::Copy | Kernel::Reduce => one,
    };
    BLOCK_S + times * each
}
