//! Synchronisation: fences, locks and flushes, and epochs between groups.
//!
//! A *fence* flushes all targets that this rank has accessed, and then is a barrier. A *lock* waits
//! until the target grants the lock, in the order of the requests. After `lock_all` the first
//! access to each target requests its lock. `start` waits for the posts of its group. Where calls
//! wait least ([`crate::channel::CollectiveWaits::Data`]), locks, `start` and a fence that ends no
//! epoch do not wait: the accesses leave when the targets permit them.
//!
//! *Not modelled*: assertions except the ones of [`FenceAssertions`], and libraries that request a
//! lock only with the first access to a target. Two ranks that lock several targets can deadlock
//! here where such a library lets them continue.

use observe::SourceLocation;
use std::collections::BTreeSet;
use std::future::Future;

use super::error::WindowError;
use super::{RmaCall, Window};
use crate::api::communicators::{Exchange, SharedCall};
use crate::channel::Token;
use crate::collectives::{announce_call_at, barrier_in};
use crate::protocol::engine::{ProtocolEngine, WindowCalls, waits_least};
use crate::protocol::process::repetition::{begun_with_read, restore_begun};
use crate::protocol::process::{Call, Process};
use crate::protocol::waiting::Waits;
use crate::{CommunicatorManagement, Error, Group, PROC_NULL, Request, Result};

/// Assertions of a program about a fence (MPI 5.0, section 12.5.5).
#[derive(Clone, Copy, Default, Debug)]
pub struct FenceAssertions {
    /// `MPI_MODE_NOPRECEDE`: the fence ends no accesses. All ranks give the assertion, or none.
    pub no_precede: bool,
    /// `MPI_MODE_NOSUCCEED`: the fence begins no accesses. All ranks give the assertion, or none.
    pub no_succeed: bool,
    /// `MPI_MODE_NOPUT`: no other rank puts or accumulates here before the next fence.
    pub no_put: bool,
}

impl FenceAssertions {
    /// Returns the assertions on which all ranks agree, in words.
    const fn shared_text(self) -> &'static str {
        match (self.no_precede, self.no_succeed) {
            (false, false) => "gives neither MPI_MODE_NOPRECEDE nor MPI_MODE_NOSUCCEED",
            (true, false) => "gives MPI_MODE_NOPRECEDE",
            (false, true) => "gives MPI_MODE_NOSUCCEED",
            (true, true) => "gives MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED",
        }
    }
}

impl Window {
    /// Sends a request to ranks of the communicator and waits for the answers. Returns the
    /// operation, which is over.
    async fn request_sync(
        &self,
        name: &'static str,
        (targets, call): (Vec<usize>, RmaCall),
        location: SourceLocation,
    ) -> Result<Token> {
        let process = self.comm().process();
        let peers: Result<Vec<u32>> = targets.iter().map(|&rank| self.comm().peer(rank)).collect();
        let (peers, context) = (peers?, self.comm().context());
        process.wait_until_idle(name, location).await;
        let token = process.with_engine(|engine, channel| {
            WindowCalls::new(engine, channel, context).ask_ranks(name, (peers, call), location)
        });
        Request::new(self.comm(), token).wait_at(location).await?;
        self.check_conflict()?;
        Ok(token)
    }

    /// Asks a target for a lock, and waits for the grant unless calls wait least. The lock of the
    /// own memory protects loads and stores, so the call waits for the grant (MPI 5.0, 12.5.3).
    async fn ask_lock(
        &self,
        name: &'static str,
        (target, exclusive): (usize, bool),
        location: SourceLocation,
    ) -> Result<()> {
        let (process, context) = (self.comm().process(), self.comm().context());
        let peer = self.comm().peer(target)?;
        if target == self.comm().rank() || !self.waits_least() {
            let call = RmaCall::Lock { exclusive };
            let asked = self
                .request_sync(name, (vec![target], call), location)
                .await?;
            process.with_engine(|engine, channel| {
                WindowCalls::new(engine, channel, context).note_lock((name, peer), asked, location);
            });
            return Ok(());
        }
        process.wait_until_idle(name, location).await;
        process.with_engine(|engine, channel| {
            let mut calls = WindowCalls::new(engine, channel, context);
            calls.lock_at_once((name, peer, exclusive), location);
        });
        Ok(())
    }

    fn waits_least(&self) -> bool {
        waits_least(self.comm().process().channel())
    }

    /// Requests the lock of a target at the first access since `lock_all`.
    pub(super) async fn lock_first(&self, target: usize, location: SourceLocation) -> Result<()> {
        let is_needed = {
            let epochs = self.epochs().borrow();
            let single = epochs.locks.contains_key(&target);
            epochs.lock_all.is_some() && !single && !epochs.granted.contains(&target)
        };
        if is_needed {
            self.ask_lock("lock_all", (target, false), location).await?;
            self.epochs().borrow_mut().granted.insert(target);
        }
        Ok(())
    }

    fn not_begun(&self, call: &'static str, expected: &'static str) -> Error {
        let window = self.number();
        Error::of_window(WindowError::NotBegun {
            call,
            window,
            expected,
        })
    }

    /// Ends the accesses of all ranks since the previous fence, and begins the next epoch:
    /// `MPI_Win_fence`. All ranks of the window call it.
    ///
    /// # Errors
    /// [`WindowError::InEpoch`] in an epoch that a lock, `start` or `post` has begun,
    /// [`WindowError::Conflict`] if accesses to the same bytes conflict.
    #[track_caller]
    pub fn fence(&self) -> impl Future<Output = Result<()>> + '_ {
        self.fence_at(FenceAssertions::default(), SourceLocation::caller())
    }

    /// A fence with assertions of the program: `MPI_Win_fence`.
    ///
    /// # Errors
    /// As [`Window::fence`]; [`WindowError::FenceEndsAccesses`] for `no_precede` after accesses;
    /// [`Error::Mismatch`] if ranks give different assertions.
    #[track_caller]
    pub fn fence_with(&self, assertions: FenceAssertions) -> impl Future<Output = Result<()>> + '_ {
        self.fence_at(assertions, SourceLocation::caller())
    }

    async fn fence_at(&self, assertions: FenceAssertions, location: SourceLocation) -> Result<()> {
        let window = self.number();
        self.epochs().borrow().check_none("fence", window)?;
        // A refused fence ends no access: the next one does.
        let first = self.epochs().borrow().touched.first().copied();
        if let Some(rank) = first.filter(|_| assertions.no_precede) {
            return Err(Error::of_window(WindowError::FenceEndsAccesses {
                window,
                rank,
            }));
        }
        let touched = std::mem::take(&mut self.epochs().borrow_mut().touched);
        let fences = self.epochs().borrow().fences + 1;
        let (context, rank) = (self.comm().context(), self.comm().world_rank());
        let log = self.comm().process().call_log();
        if let Some(log) = log.filter(|_| assertions.no_put) {
            let fence = (fences, location);
            log.accesses().note_excluding(context, rank, fence);
        }
        announce_call_at(
            self.comm(),
            "fence",
            || Some(assertions.shared_text()),
            location,
        );
        if assertions.no_precede && self.waits_least() {
            self.open_fence(location).await?;
        } else {
            self.close_fence(touched, location).await?;
        }
        {
            let mut epochs = self.epochs().borrow_mut();
            epochs.fences = fences;
            epochs.fence = (!assertions.no_succeed).then_some(location);
        }
        if let Some(log) = log {
            log.accesses().pass_fence(context, rank, fences);
        }
        self.check_conflict()
    }

    /// Ends the accesses to these ranks, and waits for all ranks.
    async fn close_fence(&self, touched: BTreeSet<usize>, location: SourceLocation) -> Result<()> {
        if !touched.is_empty() {
            let targets = touched.into_iter().collect();
            self.request_sync("fence", (targets, RmaCall::Flush), location)
                .await?;
        }
        barrier_in(self.comm(), "fence", location).await
    }

    /// Begins an epoch without waiting for the other ranks (MPI 5.0, 12.5.1).
    async fn open_fence(&self, location: SourceLocation) -> Result<()> {
        let (comm, process) = (self.comm(), self.comm().process());
        process.wait_until_idle("fence", location).await;
        Exchange::begin(
            comm,
            SharedCall::new("fence with MPI_MODE_NOPRECEDE", location),
        )?;
        let others = (0..comm.size()).filter(|&rank| rank != comm.rank());
        let peers: Result<Vec<u32>> = others.map(|rank| comm.peer(rank)).collect();
        let (peers, context) = (peers?, comm.context());
        process.with_engine(|engine, channel| {
            WindowCalls::new(engine, channel, context).open_fence(&peers);
        });
        Ok(())
    }

    /// Locks the window at a rank for this rank alone (`exclusive`), or shared with other ranks:
    /// `MPI_Win_lock`.
    ///
    /// # Errors
    /// [`WindowError::Locked`] if this rank has locked the window already, [`WindowError::InEpoch`]
    /// in another epoch, [`Error::Rank`] for a rank out of range.
    #[track_caller]
    pub fn lock(&self, rank: usize, exclusive: bool) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            if rank == PROC_NULL {
                return Ok(());
            }
            self.comm().peer(rank)?;
            self.epochs().borrow().check_lock(self.number(), rank)?;
            self.ask_lock("lock", (rank, exclusive), location).await?;
            self.epochs().borrow_mut().locks.insert(rank, location);
            Ok(())
        }
    }

    /// Gives a lock back when all accesses to the rank are done there: `MPI_Win_unlock`.
    ///
    /// # Errors
    /// [`WindowError::NotLocked`] if this rank has not locked the window, [`WindowError::Conflict`]
    /// if accesses conflict.
    #[track_caller]
    pub fn unlock(&self, rank: usize) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            if rank == PROC_NULL {
                return Ok(());
            }
            self.comm().peer(rank)?;
            {
                let mut epochs = self.epochs().borrow_mut();
                epochs.check_locked("unlock", self.number(), rank)?;
                epochs.locks.remove(&rank);
                epochs.touched.remove(&rank);
            }
            self.request_sync("unlock", (vec![rank], RmaCall::Unlock), location)
                .await
                .map(drop)
        }
    }

    /// Locks the window at all ranks, shared with others: `MPI_Win_lock_all`.
    ///
    /// # Errors
    /// As [`Window::lock`].
    #[track_caller]
    pub fn lock_all(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            self.epochs()
                .borrow()
                .check_no_access("lock_all", self.number())?;
            self.epochs().borrow_mut().lock_all = Some(location);
            Ok(())
        }
    }

    /// Gives the locks of all ranks back when all accesses are done: `MPI_Win_unlock_all`.
    ///
    /// # Errors
    /// [`WindowError::NotBegun`] without `lock_all`, [`WindowError::Conflict`] if accesses
    /// conflict.
    #[track_caller]
    pub fn unlock_all(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            let granted = {
                let mut epochs = self.epochs().borrow_mut();
                if epochs.lock_all.take().is_none() {
                    return Err(self.not_begun("unlock_all", "lock_all"));
                }
                epochs.touched.clear();
                std::mem::take(&mut epochs.granted)
            };
            let granted = granted.into_iter().collect();
            self.request_sync("unlock_all", (granted, RmaCall::Unlock), location)
                .await
                .map(drop)
        }
    }

    /// Waits until all accesses of this rank to a target are done there: `MPI_Win_flush`.
    ///
    /// # Errors
    /// [`WindowError::NotLocked`] if the target is not locked, [`WindowError::Conflict`] if
    /// accesses conflict.
    #[track_caller]
    pub fn flush(&self, rank: usize) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            if rank == PROC_NULL {
                return Ok(());
            }
            self.comm().peer(rank)?;
            let touched = {
                let mut epochs = self.epochs().borrow_mut();
                epochs.check_locked("flush", self.number(), rank)?;
                epochs.touched.remove(&rank)
            };
            if !touched {
                return Ok(());
            }
            flush_ranks(self, "flush", vec![rank], location).await
        }
    }

    /// Waits until all accesses of this rank are done at their targets: `MPI_Win_flush_all`.
    ///
    /// # Errors
    /// [`WindowError::NotBegun`] without a lock, [`WindowError::Conflict`] if accesses conflict.
    #[track_caller]
    pub fn flush_all(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            self.check_passive("flush_all")?;
            let touched = std::mem::take(&mut self.epochs().borrow_mut().touched);
            if touched.is_empty() {
                return Ok(());
            }
            let targets = touched.into_iter().collect();
            flush_ranks(self, "flush_all", targets, location).await
        }
    }

    /// Waits until the data of all puts and accumulates of this rank have left, to whatever
    /// target: `MPI_Win_flush_local` and `MPI_Win_flush_local_all`.
    ///
    /// # Errors
    /// [`WindowError::NotBegun`] without a lock.
    #[track_caller]
    pub fn flush_local(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            self.check_passive("flush_local")?;
            let context = self.comm().context();
            let left = move |_: &Process, engine: &mut ProtocolEngine| {
                let window = engine.windows.find_window(context);
                (window.is_none_or(|window| window.has_sent_puts())).then_some(())
            };
            let process = self.comm().process();
            let begun = begun_with_read(process);
            Call::new(process, location, Waits::Call("flush_local"), left).await;
            restore_begun(process, begun);
            Ok(())
        }
    }

    fn check_passive(&self, call: &'static str) -> Result<()> {
        let epochs = self.epochs().borrow();
        if epochs.lock_all.is_none() && epochs.locks.is_empty() {
            return Err(self.not_begun(call, "lock"));
        }
        Ok(())
    }

    /// Returns the ranks of a group in the window's communicator and in the world.
    fn group_ranks(&self, group: &Group) -> Result<(Vec<usize>, Vec<u32>)> {
        let own = self.comm().group();
        if !group.is_within(&own) {
            return Err(Error::Group {
                members: group.size(),
                size: own.size(),
            });
        }
        let members = group.members();
        let world: Vec<u32> = (0..members.count())
            .map(|rank| members.world(rank))
            .collect();
        let local = |&rank: &u32| Some(self.comm().members().rank_of(rank)? as usize);
        Ok((world.iter().filter_map(local).collect(), world))
    }

    /// Lets the ranks of a group access this rank's memory: `MPI_Win_post`.
    ///
    /// # Errors
    /// [`WindowError::InEpoch`] if the memory is exposed already, [`Error::Group`] if a member is
    /// not a rank of the window.
    #[track_caller]
    pub fn post(&self, group: &Group) -> impl Future<Output = Result<()>> + '_ {
        let (location, members) = (SourceLocation::caller(), self.group_ranks(group));
        async move {
            let (_, peers) = members?;
            if let Some((_, at)) = &self.epochs().borrow().post {
                return Err(Error::of_window(WindowError::InEpoch {
                    call: "post",
                    window: self.number(),
                    begun_by: "post",
                    location: *at,
                }));
            }
            let (process, context) = (self.comm().process(), self.comm().context());
            process.wait_until_idle("post", location).await;
            let request = Request::new(
                self.comm(),
                process.with_engine(|engine, channel| {
                    WindowCalls::new(engine, channel, context).expose(peers, location)
                }),
            );
            self.epochs().borrow_mut().post = Some((request, location));
            Ok(())
        }
    }

    /// Begins an epoch of accesses to the ranks of a group, when all of them have posted:
    /// `MPI_Win_start`.
    ///
    /// # Errors
    /// [`WindowError::InEpoch`] in another access epoch, [`Error::Group`] if a member is not a rank
    /// of the window.
    #[track_caller]
    pub fn start(&self, group: &Group) -> impl Future<Output = Result<()>> + '_ {
        let (location, members) = (SourceLocation::caller(), self.group_ranks(group));
        async move {
            let (targets, peers) = members?;
            self.epochs()
                .borrow()
                .check_no_access("start", self.number())?;
            let (process, context) = (self.comm().process(), self.comm().context());
            let token = process.with_engine(|engine, channel| {
                WindowCalls::new(engine, channel, context).start_epoch(peers, location)
            });
            Request::new(self.comm(), token).wait_at(location).await?;
            self.epochs().borrow_mut().start = Some((targets, location));
            Ok(())
        }
    }

    /// Ends the epoch of [`Window::start`]: `MPI_Win_complete`. The accesses are done when the
    /// targets have waited.
    ///
    /// # Errors
    /// [`WindowError::NotBegun`] without `start`.
    #[track_caller]
    pub fn complete(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            let begun = {
                let mut epochs = self.epochs().borrow_mut();
                epochs.touched.clear();
                epochs.start.take()
            };
            let Some((targets, _)) = begun else {
                return Err(self.not_begun("complete", "start"));
            };
            let (process, context) = (self.comm().process(), self.comm().context());
            let peers: Result<Vec<u32>> =
                targets.iter().map(|&rank| self.comm().peer(rank)).collect();
            let peers = peers?;
            process.wait_until_idle("complete", location).await;
            process.with_engine(|engine, channel| {
                WindowCalls::new(engine, channel, context).complete_epoch(&peers, location);
            });
            self.check_conflict()
        }
    }

    /// Waits until all origins have completed the epoch of [`Window::post`]: `MPI_Win_wait`.
    ///
    /// # Errors
    /// [`WindowError::NotBegun`] without `post`, [`WindowError::Conflict`] if accesses conflict.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            let begun = self.epochs().borrow_mut().post.take();
            let Some((mut request, _)) = begun else {
                return Err(self.not_begun("wait", "post"));
            };
            request.wait_at(location).await?;
            self.end_exposure()
        }
    }

    /// Returns true, and ends the epoch of [`Window::post`], if all origins have completed their
    /// accesses: `MPI_Win_test`. Answers *no* as [`Request::test`] does.
    ///
    /// # Errors
    /// As [`Window::wait`].
    #[track_caller]
    pub fn test(&self) -> impl Future<Output = Result<bool>> + '_ {
        let location = SourceLocation::caller();
        async move {
            let begun = self.epochs().borrow_mut().post.take();
            let Some((mut request, posted)) = begun else {
                return Err(self.not_begun("test", "post"));
            };
            if request.test_completion(location, false).await?.is_none() {
                self.epochs().borrow_mut().post = Some((request, posted));
                return Ok(false);
            }
            self.end_exposure()?;
            Ok(true)
        }
    }

    fn end_exposure(&self) -> Result<()> {
        if let Some(log) = self.comm().process().call_log() {
            let (context, rank) = (self.comm().context(), self.comm().world_rank());
            log.accesses().end_exposure(context, rank);
        }
        self.check_conflict()
    }
}

/// Waits until all accesses of this rank to some targets are done. A loop that reads the window
/// flushes the reads.
async fn flush_ranks(
    window: &Window,
    name: &'static str,
    targets: Vec<usize>,
    location: SourceLocation,
) -> Result<()> {
    let process = window.comm().process();
    let begun = begun_with_read(process);
    window
        .request_sync(name, (targets, RmaCall::Flush), location)
        .await?;
    restore_begun(process, begun);
    Ok(())
}
