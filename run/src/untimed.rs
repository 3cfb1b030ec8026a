//! A program without time, for explorers: platform + program + options → [`Stepper`].
//!
//! The program is the same object that [`simulate`](crate::simulate) runs. Without a platform there is one host per rank.
//!
//! *Not modelled*: time, so nothing of the platform but its hosts can be observed.

use std::rc::Rc;
use std::sync::Arc;

use platform::Platform;
use sim_core::{Console, Constant, HostId, Simulation, Span, Stepper};

use crate::driver::HostNames;
use crate::program::{Program, Stage};
use crate::{Options, RunError};

/// The speed of hosts and the latency of messages where there is no platform: nobody sees them.
const SPEED: f64 = 1e9;

/// The program, ready to be explored. Only the ranks, their mapping and the seed of the options count.
///
/// # Errors
/// [`RunError`] if the options do not fit the platform.
pub fn stepper(
    platform: Option<&Arc<Platform>>,
    program: Rc<dyn Program>,
    options: &Options,
    console: Rc<dyn Console>,
) -> Result<Stepper, RunError> {
    let ranks = options.ranks.unwrap_or(1);
    if ranks == 0 {
        return Err(RunError::NoRanks);
    }
    if program.has_ranks() {
        return Err(RunError::Ranks);
    }
    let hosts = match platform {
        Some(platform) => options.mapping.place(platform, ranks, options.seed)?,
        None => (0..ranks).map(HostId).collect(),
    };
    let (platform, seed) = (platform.map(Arc::clone), options.seed);
    let build = move || {
        let mut simulation = empty(platform.as_ref(), ranks, seed);
        simulation.set_count(ranks);
        simulation.set_console(Rc::clone(&console));
        simulation
    };
    let start = move |simulation: &mut Simulation| {
        let mut stage = Stage {
            simulation,
            hosts: &hosts,
            fabric: None,
            processes: Vec::new(),
        };
        program.start(&mut stage);
    };
    Ok(Stepper::new(build, start))
}

/// A simulation without actors.
fn empty(platform: Option<&Arc<Platform>>, hosts: u32, seed: u64) -> Simulation {
    if let Some(platform) = platform {
        let names = Rc::new(HostNames(Arc::clone(platform)));
        return Simulation::new(platform::model(Arc::clone(platform)), names, seed);
    }
    let names: Vec<String> = (0..hosts).map(|host| format!("host-{host}")).collect();
    let model = Constant::new(Span::from_micros(1.0), SPEED);
    Simulation::new(Box::new(model), Rc::new(names), seed)
}
