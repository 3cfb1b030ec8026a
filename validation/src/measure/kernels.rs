//! The kernels: the operations that rank 0 times, and the part of the other ranks.
//!
//! Rank 1 is the partner of all kernels between two ranks. A ring is one round of `apps/ring`.
//! Every repetition ends with an answer to rank 0, so that repetitions do not overlap.

use mpi::prelude::*;

use super::command::{Block, DATA};
use super::copy::CopyBenchmark;
use super::plan::IdleMode;
use super::reduction::time_reduction;
use crate::sample::Kernel;

/// Rank 0's side of the kernels.
pub(crate) struct KernelRunner<'a> {
    world: &'a Comm,
    pause: IdleMode,
    /// Flop/s of the host, where time passes by computing.
    speed: f64,
    copier: CopyBenchmark,
}

/// Samples by kernel: some kernels give two kinds at once.
pub(crate) type Found = Vec<(Kernel, Vec<f64>)>;

/// The partner of kernels between two ranks.
const PEER: usize = 1;

impl<'a> KernelRunner<'a> {
    /// Measures how fast the host computes, if time is to pass that way.
    pub(crate) async fn new(world: &'a Comm, pause: IdleMode) -> Self {
        const PROBE: f64 = 1e6;
        let mut speed = f64::INFINITY;
        if pause == IdleMode::Compute {
            let start = world.wtime();
            world.compute(PROBE).await;
            speed = PROBE / (world.wtime() - start);
        }
        Self {
            world,
            pause,
            speed,
            copier: CopyBenchmark::default(),
        }
    }

    /// Lets time pass without receiving anything.
    async fn pause(&self, seconds: f64) {
        match self.pause {
            IdleMode::Spin => {
                let end = self.world.wtime() + seconds;
                while self.world.wtime() < end {
                    std::hint::spin_loop();
                }
            }
            // A host that computes in no time has no processor to be kept busy.
            IdleMode::Compute if self.speed.is_finite() => {
                self.world.compute(seconds * self.speed).await;
            }
            IdleMode::Compute => self.world.sleep(seconds).await,
        }
    }

    /// One block: samples in seconds, in the order in which they were taken.
    pub(crate) async fn run_block(&mut self, block: &Block) -> Result<Found> {
        let mut found: Found = kinds(block.kernel)
            .into_iter()
            .map(|kernel| (kernel, Vec::new()))
            .collect();
        if block.kernel == Kernel::Copy {
            for _ in 0..block.repetitions {
                found[0]
                    .1
                    .push(self.copier.time_copy(block.size, || self.world.wtime()));
            }
            return Ok(found);
        }
        if block.kernel == Kernel::Reduce {
            found[0].1 = time_reduction(block.size, block.repetitions, || self.world.wtime())?;
            return Ok(found);
        }
        let mut message = self.world.buffer(block.size);
        for _ in 0..block.repetitions {
            let (first, second) = self.once(block, &mut message).await?;
            found[0].1.push(first);
            if let (Some((_, times)), Some(time)) = (found.get_mut(1), second) {
                times.push(time);
            }
        }
        Ok(found)
    }

    async fn once(&self, block: &Block, message: &mut Buffer) -> Result<(f64, Option<f64>)> {
        let world = self.world;
        let start = world.wtime();
        let alone = |time| Ok((time, None));
        match block.kernel {
            Kernel::PingPong | Kernel::PingPongOccupied => {
                world.send(message, PEER, DATA).await?;
                world.recv(message, PEER, DATA).await?;
                alone((world.wtime() - start) / 2.0)
            }
            Kernel::Stream(_) | Kernel::DelayedStream(_) | Kernel::Send => {
                self.stream(block, message).await
            }
            Kernel::Isend => {
                let mut request = world.isend(message.clone(), PEER, DATA)?;
                let inside = world.wtime() - start;
                request.wait().await?;
                self.answered(PEER).await?;
                alone(inside)
            }
            Kernel::Receive => {
                world.send(&self.empty(), PEER, DATA).await?;
                self.pause(block.delay_s).await;
                let start = world.wtime();
                world.recv(message, PEER, DATA).await?;
                alone(world.wtime() - start)
            }
            Kernel::Late => {
                world.send(&self.empty(), PEER, DATA).await?;
                let start = world.wtime();
                world.send(message, PEER, DATA).await?;
                let inside = world.wtime() - start;
                self.answered(PEER).await?;
                alone(inside)
            }
            Kernel::Incast(number) => {
                let mut requests = Vec::new();
                for rank in 1..=number as usize {
                    requests.push(world.irecv(world.buffer(block.size), rank, DATA)?);
                    requests.push(world.isend(self.empty(), rank, DATA)?);
                }
                waitall(&mut requests).await?;
                alone(world.wtime() - start)
            }
            Kernel::Outcast(number) => {
                let mut requests = Vec::new();
                for rank in 1..=number as usize {
                    requests.push(world.irecv(self.empty(), rank, DATA)?);
                    requests.push(world.isend(message.clone(), rank, DATA)?);
                }
                waitall(&mut requests).await?;
                alone(world.wtime() - start)
            }
            Kernel::Exchange => {
                let own = message.clone();
                world
                    .sendrecv(&own, PEER, DATA, message, PEER, DATA)
                    .await?;
                alone(world.wtime() - start)
            }
            Kernel::Ring(number) => {
                let mut sending = world.isend(message.clone(), PEER, DATA)?;
                world.recv(message, number as usize - 1, DATA).await?;
                sending.wait().await?;
                alone(world.wtime() - start)
            }
            Kernel::Copy | Kernel::Reduce => alone(0.0),
        }
    }

    /// Sends back to back, or with pauses that are taken off, and one answer. The second time is
    /// that inside the first send.
    async fn stream(&self, block: &Block, message: &Buffer) -> Result<(f64, Option<f64>)> {
        let world = self.world;
        let (number, delay_s) = match block.kernel {
            Kernel::Stream(number) => (number, 0.0),
            Kernel::DelayedStream(number) => (number, block.delay_s),
            _ => (1, 0.0),
        };
        let start = world.wtime();
        let (mut inside, mut paused) = (0.0, 0.0);
        for at in 0..number {
            if at > 0 && delay_s > 0.0 {
                let begin = world.wtime();
                self.pause(delay_s).await;
                paused += world.wtime() - begin;
            }
            world.send(message, PEER, DATA).await?;
            if at == 0 {
                inside = world.wtime() - start;
            }
        }
        self.answered(PEER).await?;
        let whole = world.wtime() - start - paused;
        Ok(if block.kernel == Kernel::Send {
            (inside, None)
        } else {
            (whole, Some(inside))
        })
    }

    fn empty(&self) -> Buffer {
        self.world.buffer(0)
    }

    async fn answered(&self, rank: usize) -> Result<()> {
        let mut answer = self.empty();
        self.world.recv(&mut answer, rank, DATA).await.map(drop)
    }
}

/// Samples of a kernel: the time inside the one send of `prtt1` is `os`.
fn kinds(kernel: Kernel) -> Vec<Kernel> {
    match kernel {
        Kernel::Stream(1) => vec![kernel, Kernel::Send],
        _ => vec![kernel],
    }
}

/// The part of another rank.
pub(crate) async fn partner(world: &Comm, block: &Block) -> Result<()> {
    let rank = world.rank();
    let takes_part = match block.kernel {
        Kernel::Incast(number) | Kernel::Outcast(number) => rank <= number as usize,
        Kernel::Ring(number) => rank < number as usize,
        Kernel::Copy | Kernel::Reduce => false,
        _ => rank == PEER,
    };
    if !takes_part {
        return Ok(());
    }
    let mut message = world.buffer(block.size);
    let mut empty = world.buffer(0);
    for _ in 0..block.repetitions {
        match block.kernel {
            Kernel::PingPong | Kernel::PingPongOccupied => {
                world.recv(&mut message, 0, DATA).await?;
                world.send(&message, 0, DATA).await?;
            }
            Kernel::Stream(number) | Kernel::DelayedStream(number) => {
                for _ in 0..number {
                    world.recv(&mut message, 0, DATA).await?;
                }
                world.send(&empty, 0, DATA).await?;
            }
            Kernel::Send | Kernel::Isend | Kernel::Outcast(_) => {
                world.recv(&mut message, 0, DATA).await?;
                world.send(&empty, 0, DATA).await?;
            }
            Kernel::Receive | Kernel::Incast(_) => {
                world.recv(&mut empty, 0, DATA).await?;
                world.send(&message, 0, DATA).await?;
            }
            Kernel::Late => {
                world.recv(&mut empty, 0, DATA).await?;
                world.sleep(block.delay_s).await;
                world.recv(&mut message, 0, DATA).await?;
                world.send(&empty, 0, DATA).await?;
            }
            Kernel::Exchange => {
                let own = message.clone();
                world.sendrecv(&own, 0, DATA, &mut message, 0, DATA).await?;
            }
            Kernel::Ring(number) => {
                world.recv(&mut message, rank - 1, DATA).await?;
                let above = (rank + 1) % number as usize;
                world.send(&message, above, DATA).await?;
            }
            Kernel::Copy | Kernel::Reduce => {}
        }
    }
    Ok(())
}
