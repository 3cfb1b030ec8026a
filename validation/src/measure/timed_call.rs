//! The loop of a benchmark of collective operations, simulated: a barrier, then in each iteration
//! the call between two readings of the clock, and a barrier, as [`LoopTiming`] says.
//!
//! The ranks leave a barrier one after the other, so the first iteration differs from the others
//! although no cost is random: a benchmark repeats a call, and the later half of the iterations
//! counts.
//!
//! *Not modelled*: caches that the first iterations fill, and noise of the machine.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use collectives::Collective;
use mpi::{Blocks, prelude::*};
use platform::Platform;
use run::{LogFilter, Options, Output, RankProgram, Stream, simulate, without_panic_messages};
use sim_core::Outcome;

/// A type of the elements of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementType {
    /// Bytes.
    Byte,
    /// Integers of 4 bytes.
    Int32,
    /// Floating-point numbers of 4 bytes.
    Float,
    /// Floating-point numbers of 8 bytes.
    Double,
}

impl ElementType {
    /// Returns the type that tables call by this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "char" => Some(Self::Byte),
            "int32" => Some(Self::Int32),
            "float" => Some(Self::Float),
            "double" => Some(Self::Double),
            _ => None,
        }
    }

    /// Returns the size of an element in bytes.
    pub const fn byte_count(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Int32 | Self::Float => 4,
            Self::Double => 8,
        }
    }

    fn to_sum(self) -> Op {
        match self {
            Self::Byte => Op::sum::<u8>(),
            Self::Int32 => Op::sum::<i32>(),
            Self::Float => Op::sum::<f32>(),
            Self::Double => Op::sum::<f64>(),
        }
    }
}

/// The barriers of a loop, and the time of an iteration.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LoopTiming {
    /// A barrier after each call; the time of the slowest rank.
    #[default]
    Slowest,
    /// A barrier after each call; the mean of the times of all ranks.
    Mean,
    /// No barriers; the mean of the times of all ranks.
    MeanWithoutBarriers,
}

/// A call of a collective operation that is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedCall {
    /// The operation.
    pub operation: Collective,
    /// Bytes of the message of a rank, or of the block of a pair of ranks.
    pub bytes: u64,
    /// The type of the elements of reductions.
    pub element: ElementType,
    /// Number of calls, at least 1.
    pub iterations: u32,
    /// Barriers and time.
    pub timing: LoopTiming,
}

impl TimedCall {
    /// Returns the simulated time of the call on a platform, in seconds.
    ///
    /// The buffers of the ranks have no memory, whatever the options say.
    ///
    /// # Errors
    /// The reason if the program cannot run or does not finish.
    pub fn simulate_loop(self, platform: &Arc<Platform>, options: Options) -> Result<f64, String> {
        let iterations = self.iterations.max(1) as usize;
        let times = Rc::new(vec![Cell::new(0.0_f64); iterations]);
        let found = Rc::clone(&times);
        let program = RankProgram::new(move |world: Comm| {
            let found = Rc::clone(&found);
            async move {
                world.barrier().await?;
                for iteration in 0..iterations {
                    let start = world.wtime();
                    self.perform_call(&world).await?;
                    let (time, found) = (world.wtime() - start, &found[iteration]);
                    found.set(match self.timing {
                        LoopTiming::Slowest => found.get().max(time),
                        _ => found.get() + time / f64::from(world.size() as u32),
                    });
                    let is_last = iteration + 1 == iterations;
                    if !is_last && self.timing != LoopTiming::MeanWithoutBarriers {
                        world.barrier().await?;
                    }
                }
                Ok::<(), Error>(())
            }
        });
        let options = Options {
            phantom: true,
            ..options
        };
        let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
        let run = without_panic_messages(|| simulate(platform, &program, &options, &output));
        match run.map_err(|error| error.to_string())?.report.outcome {
            Outcome::Finished => {}
            other => return Err(format!("the simulation failed: {other:?}")),
        }
        let later = &times[iterations / 2..];
        let sum: f64 = later.iter().map(Cell::get).sum();
        #[expect(clippy::cast_precision_loss, reason = "few iterations")]
        let count = later.len() as f64;
        Ok(sum / count)
    }

    async fn perform_call(self, world: &Comm) -> Result<()> {
        let (ranks, op) = (world.size() as u64, self.element.to_sum());
        let mut own = world.buffer(self.bytes);
        let all = || world.buffer(self.bytes * ranks);
        let equal = || vec![self.bytes; world.size()];
        match self.operation {
            Collective::Barrier => world.barrier().await,
            Collective::Bcast => world.bcast(&mut own, 0).await,
            Collective::Reduce => world.reduce(&own, &op, 0).await.map(drop),
            Collective::Allreduce => world.allreduce(&own, &op).await.map(drop),
            Collective::Gather => world.gather(&own, 0).await.map(drop),
            Collective::Gatherv => {
                let blocks = Blocks::from(equal());
                world.gather_v(&own, Some(&blocks), 0).await.map(drop)
            }
            Collective::Scatter => world.scatter(Some(&all()), &mut own, 0).await,
            Collective::Scatterv => {
                let blocks = Blocks::from(equal());
                world.scatter_v(Some((&all(), &blocks)), &mut own, 0).await
            }
            Collective::Allgather => world.allgather(&own).await.map(drop),
            Collective::Allgatherv => world.allgather_v(&own, equal()).await.map(drop),
            Collective::Alltoall => world.alltoall(all()).await.map(drop),
            Collective::Alltoallv | Collective::Alltoallw => {
                world.alltoall_v(all(), equal(), equal()).await.map(drop)
            }
            Collective::ReduceScatter => world.reduce_scatter(all(), equal(), &op).await.map(drop),
            Collective::ReduceScatterBlock => {
                world.reduce_scatter_block(all(), &op).await.map(drop)
            }
            Collective::Scan => world.scan(&own, &op).await.map(drop),
            Collective::Exscan => world.exscan(&own, &op).await.map(drop),
        }
    }
}
