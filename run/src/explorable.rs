//! A program for a model checker: without a platform and without time, one step after another.
//!
//! Ranks are connected by the ideal device, on which sending is not delivery. The send mode decides which deadlocks there are:
//! with *eager* a sender never waits for the receiver, with *rendezvous* always.

use std::cell::RefCell;
use std::rc::Rc;

use fabric::{Fabric, Ideal, QueueNumbers};
use mpi::Settings;
use sim_core::{ActorId, Constant, HostId, Simulation, Span, Stepper};

use crate::program::{Program, Stage};
use crate::{SendMode, panic_hook};

/// The program as something that takes steps. `ranks` is the number of ranks, or what an actor program is told by
/// [`Actor::count`](sim_core::Actor::count).
///
/// The program's output goes nowhere.
///
/// # Panics
/// If `ranks` is 0.
#[must_use]
pub fn explorable(program: Rc<dyn Program>, ranks: u32, send_mode: SendMode) -> Stepper {
    assert!(ranks > 0, "at least one rank");
    let has_ranks = program.has_ranks();
    let build = move || {
        let names: Vec<String> = (0..ranks).map(|host| format!("host-{host}")).collect();
        let model = Constant::new(Span::from_micros(1.0), 1e9);
        let mut simulation = Simulation::new(Box::new(model), Rc::new(names), 0);
        simulation.set_count(ranks);
        if has_ranks {
            simulation.set_namer(|actor: ActorId| format!("rank {}", actor.number() - 1));
        }
        simulation
    };
    let numbers = QueueNumbers::default();
    let hosts: Vec<HostId> = (0..ranks).map(HostId).collect();
    let processes = RefCell::new(Vec::new());
    Stepper::new(build, move |simulation| {
        let ideal = program.has_ranks().then(|| {
            let settings = Settings::new(send_mode.threshold());
            Ideal::new(simulation.port(), ranks, settings, numbers.clone())
        });
        let mut stage = Stage {
            simulation,
            hosts: &hosts,
            fabric: ideal.clone().map(|ideal| ideal as Rc<dyn Fabric>),
            processes: Vec::new(),
        };
        program.start(&mut stage);
        let started = stage.processes;
        if let Some(ideal) = ideal {
            ideal.watch(&started);
        }
        *processes.borrow_mut() = started;
    })
}

/// Calls `f` without printing the panics of the programs that it runs; a model checker reports them.
pub fn without_panic_messages<T>(f: impl FnOnce() -> T) -> T {
    panic_hook::with_quiet_panics(f).0
}
