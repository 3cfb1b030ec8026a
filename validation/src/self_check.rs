//! The calibration's ping-pong, simulated on the file that was written: it must give the fit back.
//!
//! This finds every mistake of sign, unit and double counting, and needs no hardware.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use mpi::Comm;
use platform::Platform;
use run::{LogFilter, Options, Output, RankProgram, SendMode, Stream, simulate};

/// Why there is no simulated time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulationFailed(String);

impl SimulationFailed {
    pub(crate) fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for SimulationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the ping-pong cannot be simulated: {}", self.0)
    }
}

impl std::error::Error for SimulationFailed {}

/// Half the round trip of a simulated ping-pong between the first two hosts, in seconds, for each of the sizes. `mode` overrides
/// the platform's eager threshold.
///
/// # Errors
/// [`SimulationFailed`] if the text is no platform, or the run does not finish.
pub fn simulated_ping_pong(
    platform: &str,
    sizes: &[u64],
    mode: Option<SendMode>,
) -> Result<Vec<f64>, SimulationFailed> {
    let failed = |error: &dyn fmt::Display| SimulationFailed(error.to_string());
    let platform = Platform::parse("calibrated.toml", platform).map_err(|error| failed(&error))?;
    let times = Rc::new(RefCell::new(Vec::new()));
    let (sizes, noted): (Rc<[u64]>, _) = (sizes.into(), Rc::clone(&times));
    let program =
        RankProgram::new(move |world| ping_pong(world, Rc::clone(&sizes), Rc::clone(&noted)));
    let options = Options {
        ranks: Some(2),
        send_mode: mode,
        phantom: true,
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = simulate(&Arc::new(platform), &program, &options, &output)
        .map_err(|error| failed(&error))?;
    match run.report.outcome {
        sim_core::Outcome::Finished => Ok(times.take()),
        outcome => Err(SimulationFailed(format!("{outcome:?}"))),
    }
}

async fn ping_pong(world: Comm, sizes: Rc<[u64]>, times: Rc<RefCell<Vec<f64>>>) -> mpi::Result<()> {
    for size in sizes.iter() {
        let mut message = world.buffer(*size);
        let start = world.wtime();
        if world.rank() == 0 {
            world.send(&message, 1, 0).await?;
            world.recv(&mut message, 1, 0).await?;
            times.borrow_mut().push((world.wtime() - start) / 2.0);
        } else {
            world.recv(&mut message, 0, 0).await?;
            world.send(&message, 0, 0).await?;
        }
    }
    Ok(())
}
