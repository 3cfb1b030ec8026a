//! Time that a program computes between its calls: none, from counted basic blocks, or processor
//! time of this machine, measured now or in an earlier run.
//!
//! A call first lets the time of the computation since the previous call pass. Similar regions of a
//! program (`SIMRUN_SAMPLE`) are executed a number of times; each further pass takes the mean of
//! the measured times.
//!
//! *Not modelled*: the effect on the caches of other ranks on this machine; times below 1 µs, which
//! consist mostly of the measurement.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::mem::MaybeUninit;
use std::rc::Rc;

use mpi::TimeControl;

use super::{Inner, RankEnd, drive};
use crate::host;

/// Shortest measured time in seconds. SMPI's `smpi/cpu-threshold`.
const SHORTEST: f64 = 1e-6;

/// Processor time of computations in seconds, by the rank and the index of the computation within
/// the rank.
pub type Bursts = BTreeMap<(usize, u64), f64>;

/// Measurements of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Times that are not too short.
    pub bursts: Bursts,
    /// Sum of all times in seconds.
    pub seconds: f64,
    /// Number of basic blocks in these times, of a program that counts them.
    pub blocks: u64,
}

/// Source of the time between calls.
#[derive(Clone, Debug, Default)]
pub enum Compute {
    /// No time passes.
    #[default]
    None,
    /// Flop of each basic block.
    Blocks(f64),
    /// Processor time, which is recorded if a place for the records is given.
    Host(Option<Rc<RefCell<Measured>>>),
    /// The times of an earlier run.
    Replay(Rc<Bursts>),
}

/// Times of a program.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Source of the time between calls.
    pub compute: Compute,
    /// Speed in flop/s of the machine on which times are measured; `None` if this speed is equal to
    /// the speed of the simulated hosts.
    pub host_speed: Option<f64>,
    /// Time of a call in seconds.
    pub call_cost: f64,
    /// Longest processor time without a call in seconds, if there is one.
    pub longest: Option<f64>,
}

impl Timing {
    /// Returns true if time passes between calls or in them.
    #[inline]
    fn takes_time(&self) -> bool {
        !matches!(self.compute, Compute::None) || self.call_cost > 0.0
    }
}

/// Amount of computation in flop or in seconds, depending on the source.
type Amount = f64;

/// Times of the executions of a region so far.
#[derive(Clone, Copy, Default, Debug)]
struct Region {
    count: u64,
    sum: Amount,
}

/// State of a rank.
#[derive(Default)]
pub(super) struct Computing {
    /// Processor time at which the program began to compute; `None` during a call.
    since: Cell<Option<f64>>,
    /// Number of times so far.
    count: Cell<u64>,
    /// The region that is executed.
    region: Cell<Option<usize>>,
    regions: RefCell<BTreeMap<(usize, u32), usize>>,
    executions: RefCell<Vec<Region>>,
    /// Simulated seconds of computation of the program, and simulated seconds of sleep.
    computed: Cell<f64>,
    slept: Cell<f64>,
}

impl fmt::Debug for Computing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computing").finish_non_exhaustive()
    }
}

/// Returns the processor time of this thread in seconds.
fn processor_time() -> f64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the function fills the place; all zero is a time, too.
    let time = unsafe {
        host::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    timespec_seconds(time)
}

/// Returns a time in seconds.
#[expect(clippy::cast_precision_loss, reason = "times of processes are short")]
pub(super) fn timespec_seconds(time: libc::timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

impl Inner {
    /// Lets the time of the last computation and the time of a call pass.
    #[inline]
    pub(crate) fn enter_call(&self) {
        if self.timing.takes_time() {
            self.pass_time();
        }
    }

    #[inline(never)]
    fn pass_time(&self) {
        let amount = self.computed();
        self.pass(amount);
        if self.timing.call_cost > 0.0 {
            drive(self, self.world.sleep(self.timing.call_cost));
        }
    }

    /// Begins to measure a computation of the program.
    #[inline]
    pub(crate) fn leave_call(&self) {
        if matches!(self.timing.compute, Compute::Host(_)) {
            self.computing.since.set(Some(processor_time()));
        }
    }

    /// Returns the amount that the program has computed since the end of the previous call.
    fn computed(&self) -> Amount {
        let number = self.computing.count.get();
        let key = (self.world.rank(), number);
        match &self.timing.compute {
            Compute::None => 0.0,
            #[expect(clippy::cast_precision_loss, reason = "blocks are counted in runs")]
            Compute::Blocks(flops) => self.image().take_blocks() as f64 * flops,
            Compute::Host(noted) => {
                let since = self.computing.since.take();
                let seconds = since.map_or(0.0, |since| processor_time() - since);
                self.computing.count.set(number + 1);
                let is_notable = seconds >= SHORTEST;
                if let Some(noted) = noted {
                    let mut noted = noted.borrow_mut();
                    noted.seconds += seconds;
                    noted.blocks += self.image().take_blocks();
                    if is_notable {
                        noted.bursts.insert(key, seconds);
                    }
                }
                if is_notable { seconds } else { 0.0 }
            }
            Compute::Replay(times) => {
                self.computing.count.set(number + 1);
                times.get(&key).copied().unwrap_or(0.0)
            }
        }
    }

    /// Lets an amount of computation pass.
    fn pass(&self, amount: Amount) {
        if amount <= 0.0 {
            return;
        }
        let compute = || match (&self.timing.compute, self.timing.host_speed) {
            (Compute::Blocks(_), _) => drive(self, self.world.compute(amount)),
            (_, Some(speed)) => drive(self, self.world.compute(amount * speed)),
            (_, None) => drive(self, self.world.compute_for(amount)),
        };
        self.add_to(&self.computing.computed, compute);
    }

    /// Adds to a sum the simulated time that a function takes. Under a model checker, where no time
    /// passes, the clock is not read: the search would note this.
    fn add_to(&self, sum: &Cell<f64>, f: impl FnOnce()) {
        if self.is_checked() {
            return f();
        }
        let begin = self.world.wtime();
        f();
        sum.set(sum.get() + self.world.wtime() - begin);
    }

    /// Lets time pass in which the program looks at a clock.
    pub(super) fn spin(&self, seconds: f64) {
        let spin = || drive(self, self.world.sleep(seconds));
        self.add_to(&self.computing.computed, spin);
    }

    /// Lets time pass in which the program sleeps.
    pub(crate) fn sleep(&self, seconds: f64) {
        if self.is_called_back.get() {
            let text = "a function that MPI had called waited for time to pass";
            self.finish(RankEnd::Failed(text.to_owned()));
        }
        self.locate();
        self.enter_call();
        let sleep = || drive(self, self.world.sleep(seconds));
        self.add_to(&self.computing.slept, sleep);
        self.leave_call();
    }

    /// Returns the simulated seconds in which the program has computed, and in which it has slept.
    pub(crate) const fn times(&self) -> (f64, f64) {
        (self.computing.computed.get(), self.computing.slept.get())
    }

    /// Computes this many flop: an annotation of the program.
    pub(crate) fn compute(&self, flops: f64) {
        self.locate();
        self.enter_call();
        if flops > 0.0 && flops.is_finite() {
            let compute = || drive(self, self.world.compute(flops));
            self.add_to(&self.computing.computed, compute);
        }
        self.leave_call();
    }

    /// Begins a region, which is identified by an address and a line. Returns true if the region is
    /// executed. This holds for the first `count` passes; later passes take the mean time instead.
    pub(crate) fn begin_region(&self, place: (usize, u32), count: u64) -> bool {
        self.locate();
        self.enter_call();
        let state = &self.computing;
        let index = {
            let mut executions = state.executions.borrow_mut();
            *state.regions.borrow_mut().entry(place).or_insert_with(|| {
                executions.push(Region::default());
                executions.len() - 1
            })
        };
        let Region { count: done, sum } = state.executions.borrow()[index];
        let is_executed = done < count.max(1);
        if is_executed {
            state.region.set(Some(index));
        } else {
            #[expect(clippy::cast_precision_loss, reason = "executions are few")]
            self.pass(sum / done as f64);
        }
        self.leave_call();
        is_executed
    }

    /// Ends a region that was executed.
    pub(crate) fn end_region(&self) {
        self.locate();
        let amount = self.computed();
        if let Some(index) = self.computing.region.take() {
            let region = &mut self.computing.executions.borrow_mut()[index];
            region.count += 1;
            region.sum += amount;
        }
        self.pass(amount);
        self.leave_call();
    }
}
