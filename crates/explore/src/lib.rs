//! A model checker: explores each Mazurkiewicz trace of a program exactly once (optimal DPOR).
//!
//! The explored program is the simulated program, on the same kernel ([`sim_core::Stepper`]).
//! Simulated time does not advance, and the search selects the next actor. Interleavings that
//! differ only in the order of independent steps ([`independence`]) are equivalent; a reduction
//! executes one interleaving of each equivalence class (*trace*).
//!
//! ```
//! use explore::{Options, check};
//! use sim_core::Stepper;
//!
//! // Two actors take two locks in opposite orders.
//! let stepper = Stepper::on_one_host(|simulation| {
//!     let locks = [simulation.new_mutex(), simulation.new_mutex()];
//!     for first in 0..2 {
//!         let (one, other) = (locks[first].clone(), locks[1 - first].clone());
//!         simulation.spawn_anonymous(0, |_| async move {
//!             one.lock().await;
//!             other.lock().await;
//!             other.unlock().await;
//!             one.unlock().await;
//!         });
//!     }
//! });
//! let report = check(stepper, &Options::default());
//! assert_eq!(report.statistics.finished, 2);
//! assert_eq!(report.statistics.deadlocks, 1);
//! assert_eq!(report.findings[0].kind.name(), "deadlock");
//! assert_eq!(report.findings[0].replay.to_string(), "1;1;2;1;2;2");
//! ```
//!
//! * [`check`] explores and reports [`Finding`]s; [`explore`] shows every run to an [`Observer`];
//!   [`replay_schedule`] replays a finding; [`schedule_of_run`] finds the schedule of a run that
//!   was simulated.
//! * [`Reduction`]: `odpor` (each class once), `sdpor` (source sets), `none` (brute force, the
//!   reference).
//! * [`Strategy`]: depth first through all orders, or random runs.
//! * [`Options`]: bounds. A bound that was hit is in [`Statistics::bounds`], and the verdict says
//!   that the search was not exhaustive.
//!
//! * [`minimise`] a finding, search for the [`shortest`] counterexample, find the [`critical`]
//!   transition, [`replay`] the schedule, or look at each event of a run with a [`Player`].
//!
//! # The contract of programs
//!
//! Actors do not share memory in ways that matter, and take no action that differs from run to run:
//! no clock, no randomness but the simulation's, no iteration over hash maps. The search detects a
//! program that does not take the same steps again and stops ([`Verdict::Broken`]).
//!
//! # Invariants
//!
//! Conditions that a program states ([`sim_core::Actor::invariant`]) are checked after every step.
//! They may read all data that the actors share, so in such a program any two steps depend on each
//! other: each order of the steps is a separate class, and no reduction helps. Check invariants
//! with few actors and few steps. The search restarts when the first invariant is stated.

mod candidates;
mod check_determinism;
mod checkpoint;
mod clock;
mod critical;
mod deadline;
mod drive;
mod event;
mod finding;
pub mod independence;
mod jobs;
mod machine;
mod minimise;
mod none;
mod odpor;
mod options;
mod orders;
mod parallel;
mod path;
mod player;
mod progress;
mod properties;
mod races;
mod releases;
mod replay_schedule;
mod reversible;
mod sampling;
mod schedule_of_run;
mod sdpor;
mod search;
mod seeded;
mod shortest;
mod spinning;
mod state;
pub mod state_machines;
mod statistics;
mod threads;
mod timeline;
mod trace_id;
mod vector_clocks;
mod wakeup;
mod walk;

pub use check_determinism::{check_determinism, repeats_schedule};
pub use checkpoint::Checkpoint;
pub use critical::{Critical, critical};
pub use deadline::Deadline;
pub(crate) use drive::Halt;
pub use event::Event;
pub use finding::{Finding, FindingKind, FindingStep};
pub use minimise::minimise;
pub use options::{Options, Reduction, Strategy};
pub use orders::{ReceiveOrder, TakenOrder};
pub use path::Path;
pub use player::{Played, Player};
pub use progress::SearchProgress;
pub use replay_schedule::{ReplayResult, replay_schedule, schedule_alone};
pub use schedule_of_run::{NotReplayable, schedule_of_run};
pub use search::{
    Collector, End, Observer, Report, Run, Verdict, check, check_on_threads, explore,
    explore_on_threads, replay,
};
#[cfg(feature = "seeded-defects")]
pub use seeded::SeededDefect;
pub use shortest::{Shortest, shortest};
pub use spinning::STEPS as SPINNING_STEPS;
pub use statistics::{Bound, Bounds, Statistics};
pub use threads::Threads;
pub use timeline::{Timeline, TimelineEnd, TimelineFault, TimelineStep, dot_of_timeline};
pub use trace_id::TraceId;

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("events, entries and nodes of a run are counted in 32 bits")
}
