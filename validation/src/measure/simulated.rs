//! The same kernels on a simulated platform: for tests of all steps after a measurement, for
//! checking files that a calibration wrote, and for examples of measurements of a known network.
//!
//! *Not simulated*: copies in memory, which take no simulated time, and noise.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use mpi::Comm;
use platform::Platform;
use run::{LogFilter, MessageProtocol, Options, Output, RankProgram, Stream, simulate};

use super::command::Block;
use super::conductor::{ReportProgress, measure};
use super::kernels::{KernelRunner, partner};
use super::plan::{IdleMode, KernelSelection, MeasureOptions};
use super::session::Session;
use crate::sample::Kernel;
use crate::self_check::SimulationFailed;

/// One simulated session on a platform with this many ranks, one per host. There is no noise, so a
/// few samples of each size are enough.
pub fn measure_simulated(
    platform: &Arc<Platform>,
    ranks: u32,
    options: &MeasureOptions,
    progress: ReportProgress,
) -> Result<Session, SimulationFailed> {
    let options = Rc::new(MeasureOptions {
        pause: IdleMode::Compute,
        kernels: KernelSelection {
            copy: false,
            reduce: false,
            ..options.kernels
        },
        repetitions: Some(options.repetitions.unwrap_or(7)),
        ..options.clone()
    });
    let session = Rc::new(RefCell::new(Session::default()));
    let found = Rc::clone(&session);
    simulate_ranks(platform, ranks, (None, false), move |world| {
        measure(
            world,
            Rc::clone(&options),
            Rc::clone(&found),
            Rc::clone(&progress),
        )
    })?;
    Ok(session.take())
}

/// Returns the times of each kernel at each size on a platform, in seconds: one repetition each,
/// with this many ranks, one on each host. `mode` overrides the eager threshold.
pub fn simulated_times(
    platform: &Arc<Platform>,
    ranks: u32,
    wanted: &[(Kernel, u64)],
    mode: Option<MessageProtocol>,
) -> Result<Vec<f64>, SimulationFailed> {
    let wanted: Rc<[(Kernel, u64)]> = wanted.into();
    let times = Rc::new(RefCell::new(Vec::new()));
    let found = Rc::clone(&times);
    simulate_ranks(platform, ranks, (mode, true), move |world| {
        single(world, Rc::clone(&wanted), Rc::clone(&found))
    })?;
    Ok(times.take())
}

async fn single(
    world: Comm,
    wanted: Rc<[(Kernel, u64)]>,
    times: Rc<RefCell<Vec<f64>>>,
) -> mpi::Result<()> {
    let mut bench = KernelRunner::new(&world, IdleMode::Compute).await;
    for (kernel, size) in wanted.iter() {
        // All ranks know what comes, so nobody has to be told. The pause is longer than any
        // message, so that it is there; simulated time costs nothing.
        let block = Block {
            kernel: *kernel,
            size: *size,
            repetitions: 1,
            delay_s: 10.0,
        };
        if world.rank() == 0 {
            let found = bench.run_block(&block).await?;
            let first = found.first().and_then(|(_, times)| times.first());
            times.borrow_mut().extend(first);
        } else {
            partner(&world, &block).await?;
        }
    }
    Ok(())
}

fn simulate_ranks<F, Fut>(
    platform: &Arc<Platform>,
    ranks: u32,
    (protocol, phantom): (Option<MessageProtocol>, bool),
    program: F,
) -> Result<(), SimulationFailed>
where
    F: Fn(Comm) -> Fut + 'static,
    Fut: Future<Output = mpi::Result<()>> + 'static,
{
    let failed = |error: &dyn fmt::Display| SimulationFailed::new(error);
    let program = RankProgram::new(program);
    let options = Options {
        ranks: Some(ranks),
        protocol,
        phantom,
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = simulate(platform, &program, &options, &output).map_err(|error| failed(&error))?;
    match run.report.outcome {
        sim_core::Outcome::Finished => Ok(()),
        outcome => Err(failed(&format!("{outcome:?}"))),
    }
}
