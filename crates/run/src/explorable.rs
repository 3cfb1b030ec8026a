//! A program for a model checker: without time, one step after another.
//!
//! Ranks are connected by the ideal device, on which sending is not delivery. The message protocol
//! decides which deadlocks there are: with *eager* a sender never waits for the receiver, with
//! *rendezvous* always. Without a protocol sends are eager, and a run in which some of them could
//! not have ended without buffers is a deadlock. Of a platform only the hosts can be observed;
//! without one there is one host per rank.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fabric::{Fabric, IdealFabric, QueueNumbers};
use mpi::Settings;
use platform::{HostNames, Platform};
use sim_core::{ActorId, Console, Constant, HostId, Simulation, Span, Stepper};

use crate::program::{Program, Stage};
use crate::{MessageProtocol, Options, RunError, panic_hook};

/// Returns the program as a stepper. `ranks` is the number of ranks, or the result of
/// [`Actor::count`](sim_core::Actor::count) in an actor program.
///
/// The output of the program is discarded.
///
/// # Panics
/// If `ranks` is 0.
pub fn explorable(
    program: Rc<dyn Program>,
    ranks: u32,
    protocol: impl Into<Option<MessageProtocol>>,
) -> Stepper {
    let options = Options {
        ranks: Some(ranks),
        protocol: protocol.into(),
        ..Options::default()
    };
    let numbers = QueueNumbers::default();
    stepper(None, program, &options, None, &numbers)
        .expect("at least one rank, and no platform to fit")
}

/// Returns the program as a stepper, on the hosts of a platform if there is one. Options that
/// count: ranks (1 if missing), mapping, seed, message protocol, the progress count, and the
/// options of model checkers. In programs with the same `numbers`, queues have the same names.
pub fn stepper(
    platform: Option<&Arc<Platform>>,
    program: Rc<dyn Program>,
    options: &Options,
    console: Option<Rc<dyn Console>>,
    numbers: &QueueNumbers,
) -> Result<Stepper, RunError> {
    let ranks = options.ranks.unwrap_or(1);
    if ranks == 0 {
        return Err(RunError::NoRanks);
    }
    let hosts: Vec<HostId> = match platform {
        Some(platform) => options.mapping.place_ranks(platform, ranks, options.seed)?,
        None => (0..ranks).map(HostId).collect(),
    };
    let protocol = options.protocol.unwrap_or(MessageProtocol::Eager);
    let settings = Settings {
        strict_ready_send: true,
        collective_waits: options.collective_waits,
        operand_orders: options.orders_operands.then_some(options.seed),
        placement: crate::driver::placement(&hosts),
        collectives: platform.and_then(|platform| crate::driver::selector(platform)),
        ..Settings::new(protocol.threshold())
    };
    let sends_wait = options.protocol.is_none();
    let (has_ranks, leaks) = (program.has_ranks(), options.leaks);
    let (platform, seed) = (platform.map(Arc::clone), options.seed);
    let progress = options.progress.clone();
    let build = move || {
        let mut simulation = empty(platform.as_ref(), ranks, seed);
        if let Some(progress) = &progress {
            simulation.set_progress(Arc::clone(progress));
        }
        simulation.set_requested_count(ranks);
        if let Some(console) = &console {
            simulation.set_console(Rc::clone(console));
        }
        if has_ranks {
            simulation.set_default_name(|actor: ActorId| format!("rank {}", actor.number() - 1));
        }
        simulation
    };
    let numbers = numbers.clone();
    let processes = RefCell::new(Vec::new());
    let before = RefCell::new(None::<Rc<IdealFabric>>);
    Ok(Stepper::new(build, move |simulation| {
        // They use the device.
        processes.borrow_mut().clear();
        let ideal = has_ranks.then(|| {
            let again = before
                .take()
                .and_then(|before| before.reuse_device(simulation.port()));
            let ideal = again.unwrap_or_else(|| {
                let settings = (settings.clone(), sends_wait);
                IdealFabric::new(simulation.port(), ranks, settings, numbers.clone())
            });
            before.replace(Some(Rc::clone(&ideal)));
            ideal
        });
        let mut stage = Stage {
            simulation,
            hosts: &hosts,
            fabric: ideal.clone().map(|ideal| ideal as Rc<dyn Fabric>),
            processes: Vec::new(),
        };
        program.start_actors(&mut stage);
        let started = stage.processes;
        if let Some(ideal) = ideal {
            ideal.watch_protocols(&started, leaks);
        }
        *processes.borrow_mut() = started;
    }))
}

/// A simulation without actors.
fn empty(platform: Option<&Arc<Platform>>, hosts: u32, seed: u64) -> Simulation {
    if let Some(platform) = platform {
        let names = Rc::new(HostNames(Arc::clone(platform)));
        return Simulation::new(models::model(Arc::clone(platform)), names, seed);
    }
    let names: Vec<String> = (0..hosts).map(|host| format!("host-{host}")).collect();
    // Nobody sees these: no time passes.
    let model = Constant::new(Span::from_micros(1.0), 1e9);
    Simulation::new(Box::new(model), Rc::new(names), seed)
}

/// Calls `f` without printing the panics of its programs; a model checker reports these panics.
pub fn without_panic_messages<T>(f: impl FnOnce() -> T) -> T {
    panic_hook::with_silent_panics(f).0
}
