//! A deterministic discrete-event kernel: virtual time, actors as futures, activities,
//! synchronisation.
//!
//! # A first simulation
//!
//! ```
//! use sim_core::{Outcome, Simulation, Span};
//!
//! let mut simulation = Simulation::with_constant_model(1);
//! let mutex = simulation.new_mutex();
//! for _ in 0..3 {
//!     let mutex = mutex.clone();
//!     simulation.spawn_anonymous(0, |me| async move {
//!         mutex.lock().await;
//!         me.sleep(Span::from_secs(1.0)).await;
//!         mutex.unlock().await;
//!     });
//! }
//! let report = simulation.run();
//! assert_eq!(report.outcome, Outcome::Finished);
//! assert_eq!(report.time.as_secs(), 3.0);
//! ```
//!
//! # Order
//!
//! * Events are ordered by date, then by a serial number: events created first happen first. Timers
//!   and ends of activities share one sequence of numbers.
//! * At one date, actors go in the order in which they became runnable.
//! * A new actor runs up to its first operation as soon as its creator reaches its next operation;
//!   then this operation of the creator happens. The first operation of the new actor is queued
//!   behind the actors that are runnable then.
//! * Queues are first in, first out: mutexes, semaphores, condition variables, mailboxes. The
//!   actors at a barrier continue in the order of their arrival.
//! * A sleep of no time lets all events that are due at this date go first.
//! * The ends that a fluid model reports at one date happen in the order of the activities'
//!   numbers.
//!
//! # Determinism
//!
//! The same program, platform, arguments and seed give the same [`Digest`], on every machine. The
//! kernel reads no clock and no environment, never iterates in hash order, and draws from named
//! [`Stream`]s only. Programs must not share memory between actors in ways that depend on
//! addresses.
//!
//! # Operations
//!
//! An action of an actor that other actors can observe is a [`Transition`]. Operations are futures
//! ([`Operation`]): they have no effect before they are awaited, and withdraw their request when
//! they are dropped. Any combinator can await several operations at once: the actor continues when
//! one of them completes. A foreign future (a socket, a timer of an asynchronous runtime) would
//! never be woken; awaiting such a future ends the run with [`Outcome::ForeignFuture`].
//!
//! # Limits
//!
//! At most 2^32 - 1 actors over a run. The record of an actor that has ended stays (80 bytes), so
//! that its number is never used again.

#![warn(clippy::missing_errors_doc)]

mod access_class;
mod activity;
mod actor;
mod chooser;
mod code;
mod console;
mod constant;
mod constructors;
mod control;
mod device;
mod digest;
mod execution;
mod explorable;
mod footprint;
mod invariant;
mod io;
mod kernel;
mod mailbox;
mod message;
mod operation;
mod operations;
mod outcome;
mod parallel;
mod prefetch;
mod progress;
mod random;
mod resource;
mod simulation;
mod sync;
mod time;
mod timers;
mod trace;
mod transition;
mod yielding;

pub use access_class::{AccessClass, AccessEffect};
pub use activity::{Activity, ActivityError, ActivityState};
pub use actor::{Actor, TimedOut};
pub use chooser::{
    Choice, Chooser, Clock, EnabledTransition, ParseScheduleError, Replay, Schedule,
};
pub use console::{Console, Level, LogLine};
pub use constant::Constant;
pub use control::{Control, ControlParameter, Link, LinkState, PowerStates};
pub use device::{DEVICE_TOKENS, Device, KernelHandle, Parked};
pub use digest::Digest;
pub use execution::Execution;
pub use explorable::{
    ActorBranches, ArrivalQueues, Branch, ConditionalDeadlock, DeviceFact, ExplorableDevice, Note,
    OptionalWaits, OrderSensitivity, QueueDescription, QueueHead, RunFindings, WildcardReceive,
};
pub use footprint::{EnabledStep, Executed, Footprint};
pub use kernel::{Hosts, Kernel, SendCall};
pub use mailbox::Mailbox;
pub use message::Message;
pub use operation::Operation;
pub use operations::{StepKind, Transition};
pub use outcome::{Blocked, Failure, Limit, Outcome, Report, WaitGraph};
pub use parallel::ParallelWork;
pub use progress::RunProgress;
pub use random::{Stream, draws};
pub use resource::{
    ActivityId, Change, Controllable, DiskId, End, HostId, Io, Resource, StartError, Work,
};
pub use simulation::{ActorResult, Simulation, Stepper};
pub use source_location::SourceLocation;
pub use sync::{Barrier, Condvar, Mutex, Semaphore};
pub use time::{Span, Time};
pub use trace::{Observed, TraceEvent};
pub use transition::{ActorId, OperationResult};
pub use yielding::Yield;
