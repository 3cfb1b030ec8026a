//! A program as an object that can put its actors on a stage.
//!
//! A *rank program* is an `async fn` of a communicator, run by every rank. An *actor program* is an
//! `async fn` of one root actor on the first host, which starts the other actors.

use sim_core::SourceLocation;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use fabric::Fabric;
use mpi::{CallComparison, CallLog, Comm, Process};
use sim_core::{Actor, ActorResult, HostId, Simulation};

/// A program that can be started any number of times, each time from the beginning.
pub trait Program {
    /// Returns true if every rank runs the program; otherwise one root actor runs it.
    fn has_ranks(&self) -> bool;

    /// Puts the program's actors on the stage.
    fn start_actors(&self, stage: &mut Stage<'_>);

    /// Returns the future of one rank: it connects if required, runs, and finalizes. `None` if the
    /// program is not made of ranks.
    fn rank_future(&self, process: Rc<Process>) -> Option<RankFuture>;
}

/// The future of one rank; an error is the text of the failure.
pub type RankFuture = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Where a program starts.
pub struct Stage<'a> {
    pub(crate) simulation: &'a mut Simulation,
    /// The host of each rank.
    pub(crate) hosts: &'a [HostId],
    /// The device between the ranks; `None` for an actor program.
    pub(crate) fabric: Option<Rc<dyn Fabric>>,
    /// The processes of the ranks, for their unfinished operations.
    pub(crate) processes: Vec<Rc<Process>>,
}

impl fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("ranks", &self.hosts.len())
            .finish_non_exhaustive()
    }
}

/// An `async fn` of a communicator, and the function that creates its future.
pub struct RankProgram<F> {
    start: Rc<F>,
    place: SourceLocation,
}

impl<F, Fut> RankProgram<F>
where
    F: Fn(Comm) -> Fut,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    /// Returns a program with the futures of `start`, one per rank, and this call as its position.
    #[track_caller]
    pub fn new(start: F) -> Self {
        Self {
            start: Rc::new(start),
            place: SourceLocation::caller(),
        }
    }

    /// The same program with another place in reports.
    pub fn with_location(self, place: SourceLocation) -> Self {
        Self { place, ..self }
    }
}

impl<F, Fut> Program for RankProgram<F>
where
    F: Fn(Comm) -> Fut + 'static,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn has_ranks(&self) -> bool {
        true
    }

    fn start_actors(&self, stage: &mut Stage<'_>) {
        let fabric = stage
            .fabric
            .clone()
            .expect("a rank program is given a device");
        stage.processes.reserve(stage.hosts.len());
        stage.simulation.reserve_actors(stage.hosts.len());
        let place = self.place;
        let calls = Rc::new(CallLog::default());
        for (rank, host) in (0..).zip(stage.hosts) {
            let channel = Rc::clone(&fabric).channel(rank);
            let process = Process::with_calls(channel, CallComparison::Here(Rc::clone(&calls)));
            let protocols = Rc::downgrade(&process);
            fabric.set_protocols(rank, protocols);
            stage.processes.push(Rc::clone(&process));
            let start = Rc::clone(&self.start);
            if process.connects_at_init() {
                stage.simulation.spawn_anonymous(host.0, |_| async move {
                    process.init(place).await;
                    let late = start(process.world()).await.into_result()?;
                    process.finalize(place).await;
                    Ok::<_, String>(late)
                });
                continue;
            }
            stage.simulation.spawn_anonymous(host.0, |_| async move {
                // Made in here, the program's future is in the actor once; handed in, it would be
                // there twice.
                let late = start(process.world()).await.into_result()?;
                process.finalize(place).await;
                Ok::<_, String>(late)
            });
        }
    }

    fn rank_future(&self, process: Rc<Process>) -> Option<RankFuture> {
        let (start, place) = (Rc::clone(&self.start), self.place);
        Some(Box::pin(async move {
            process.init(place).await;
            let late = start(process.world()).await.into_result()?;
            process.finalize(place).await;
            late.map_or(Ok(()), Err)
        }))
    }
}

/// An `async fn` of a root actor.
pub struct RootProgram<F>(F);

impl<F, Fut> RootProgram<F>
where
    F: Fn(Actor) -> Fut,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    /// Returns the program with the future that `start` creates.
    pub const fn new(start: F) -> Self {
        Self(start)
    }
}

impl<F, Fut> Program for RootProgram<F>
where
    F: Fn(Actor) -> Fut,
    Fut: Future + 'static,
    Fut::Output: ActorResult,
{
    fn has_ranks(&self) -> bool {
        false
    }

    fn start_actors(&self, stage: &mut Stage<'_>) {
        let host = stage.hosts[0];
        stage.simulation.spawn("root", host.0, |me| (self.0)(me));
    }

    fn rank_future(&self, _: Rc<Process>) -> Option<RankFuture> {
        None
    }
}

impl<F> fmt::Debug for RankProgram<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RankProgram(..)")
    }
}

impl<F> fmt::Debug for RootProgram<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootProgram(..)")
    }
}
