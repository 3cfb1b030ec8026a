//! Windows: memory that each rank of a communicator exposes to the others.
//!
//! All ranks know the lengths and displacement units of all, so an access outside of a window is
//! an error of the call. Where all are equal, a rank keeps one pair.
//!
//! *Not modelled*: windows of memory that is shared between ranks, dynamic windows, attributes,
//! names and info keys.

use observe::SourceLocation;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;

use super::epochs::Epochs;
use super::error::WindowError;
use super::{Access, AccessKind, ProgramMemory, RemoteWindow, SyncMode, WindowMemory};
use crate::api::communicators::{dup_at, forget_communicator};
use crate::api::time::TimeControl;
use crate::channel::Level;
use crate::collectives::{allgather_real, barrier_in};
use crate::exploration;
use crate::protocol::engine::{ProtocolEngine, WindowCalls};
use crate::protocol::process::{Call, Process};
use crate::protocol::waiting::Waits;
use crate::{Buffer, Comm, CommunicatorManagement, Error, Group, Result};

/// Length of the record of an extent in bytes.
const EXTENT: usize = 16;

/// Calls of [`Window::sync_memory`] without another call in between, after which time passes.
/// \[choice\]
const SYNCS_MAX: u32 = 1000;

/// Seconds that pass in each further call. \[choice\]
const SYNC_TIME: f64 = 1e-6;

/// The exposed memory of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extent {
    /// Length in bytes.
    length: u64,
    /// Bytes that a displacement of 1 stands for.
    unit: u64,
}

/// Memory that the ranks of a communicator read and write at each other: `MPI_Win`.
///
/// ```no_run
/// # use mpi::prelude::*;
/// async fn count(world: Comm) -> Result<()> {
///     let window = world.window(world.buffer_of(&[0_u64]), 8).await?;
///     window.fence().await?;
///     let one = world.buffer_of(&[1_u64]);
///     window.accumulate(&one, 0, 0, &Op::sum::<u64>()).await?;
///     window.fence().await?;
///     let counter = window.read(0, 8).await?;
///     window.free().await?;
///     # drop(counter);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Window {
    /// The communicator of the ranks, with a separate context.
    comm: Comm,
    number: u32,
    /// Of each rank; one if all are equal.
    extents: Vec<Extent>,
    /// Of each rank, where windows are registered.
    remote: Vec<Option<RemoteWindow>>,
    /// True if displacements are in bytes, and units are only told.
    is_in_bytes: bool,
    /// True if a conflict of accesses has been told.
    has_warned: Cell<bool>,
    /// The changes of the rank at the latest call of [`Window::sync_memory`], and the number of
    /// calls since then.
    syncs: Cell<(u64, u32)>,
    epochs: RefCell<Epochs>,
}

/// Windows of a communicator.
pub trait OneSided: AsRef<Comm> {
    /// Exposes `memory` to the other ranks: `MPI_Win_create` and `MPI_Win_allocate`. All ranks call
    /// it, each with memory of any length. A displacement stands for `unit` bytes.
    ///
    /// # Errors
    /// [`WindowError::Unit`] if `unit` is 0; as [`Comm::dup`].
    #[track_caller]
    fn window(&self, memory: Buffer, unit: u64) -> impl Future<Output = Result<Window>> + '_ {
        let memory = WindowMemory::Own(memory);
        window_at(self.as_ref(), memory, unit, SourceLocation::caller())
    }

    /// Exposes memory that the program reads and writes by itself, as [`Comm::window`]. Accesses
    /// have displacements in bytes: the caller multiplies by [`Window::unit`].
    ///
    /// Conflicts of accesses are errors under a model checker only, and warnings in a run.
    ///
    /// *Not modelled*: registered memory; on an adapter puts and gets are messages.
    ///
    /// # Errors
    /// As [`Comm::window`].
    #[track_caller]
    fn window_of(
        &self,
        memory: Rc<dyn ProgramMemory>,
        unit: u64,
    ) -> impl Future<Output = Result<Window>> + '_ {
        let memory = WindowMemory::Program(memory);
        window_at(self.as_ref(), memory, unit, SourceLocation::caller())
    }
}

impl OneSided for Comm {}

/// Exposes memory at all ranks.
async fn window_at(
    comm: &Comm,
    memory: WindowMemory,
    unit: u64,
    location: SourceLocation,
) -> Result<Window> {
    if unit == 0 {
        return Err(Error::of_window(WindowError::Unit));
    }
    let is_in_bytes = matches!(memory, WindowMemory::Program(_));
    let comm = dup_at(comm, location).await?;
    let mut own = [memory.len(), unit].map(u64::to_le_bytes).concat();
    let context = comm.context();
    comm.process().contexts().note_window(context);
    // Accesses come only after all ranks have told their lengths.
    let (number, registered) = comm.process().with_engine(|engine, channel| {
        WindowCalls::new(engine, channel, context).open_window(memory)
    });
    let registers = comm.process().channel().settings().registers_windows;
    if registers {
        own.extend(RemoteWindow::to_bytes(registered));
    }
    let all = allgather_real(&comm, &own, location).await?;
    let number_at = |bytes: &[u8]| bytes.first_chunk().copied().map(u64::from_le_bytes);
    let extent = |record: &[u8]| {
        let (length, unit) = (number_at(record)?, number_at(&record[8..])?);
        Some(Extent { length, unit })
    };
    let records = || all.chunks_exact(own.len());
    let mut extents: Vec<Extent> = records().filter_map(extent).collect();
    let place = |record: &[u8]| RemoteWindow::from_bytes(&record[EXTENT..]);
    let remote = records().filter(|_| registers).map(place).collect();
    if extents.windows(2).all(|pair| pair[0] == pair[1]) {
        extents.truncate(1);
    }
    Ok(Window {
        comm,
        number,
        extents,
        remote,
        is_in_bytes,
        has_warned: Cell::default(),
        syncs: Cell::default(),
        epochs: RefCell::default(),
    })
}

impl Window {
    /// Returns the ranks of the window as a group: `MPI_Win_get_group`.
    #[must_use]
    pub fn group(&self) -> Group {
        self.comm.group()
    }

    /// Returns the length of the window at a rank in bytes.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank out of range.
    pub fn len(&self, rank: usize) -> Result<u64> {
        self.comm.peer(rank)?;
        Ok(self.extent(rank).length)
    }

    /// Returns the bytes that a displacement of 1 stands for in the window of a rank.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank out of range.
    pub fn unit(&self, rank: usize) -> Result<u64> {
        self.comm.peer(rank)?;
        Ok(self.extent(rank).unit)
    }

    pub(super) const fn comm(&self) -> &Comm {
        &self.comm
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    pub(super) const fn epochs(&self) -> &RefCell<Epochs> {
        &self.epochs
    }

    fn extent(&self, rank: usize) -> Extent {
        *self.extents.get(rank).unwrap_or(&self.extents[0])
    }

    /// Returns the address of the registered window of another rank; `None` if not registered.
    pub(super) fn remote_window(&self, rank: usize) -> Option<RemoteWindow> {
        let place = self.remote.get(rank).copied().flatten();
        place.filter(|_| rank != self.comm.rank())
    }

    /// Returns the first byte of an access to a rank; the access must lie within its window.
    pub(super) fn locate_range(&self, rank: usize, displacement: u64, length: u64) -> Result<u64> {
        let extent = self.extent(rank);
        let unit = if self.is_in_bytes { 1 } else { extent.unit };
        let offset = displacement.saturating_mul(unit);
        self.check_range(rank, offset, length)?;
        Ok(offset)
    }

    pub(super) fn check_range(&self, rank: usize, offset: u64, length: u64) -> Result<()> {
        let size = self.extent(rank).length;
        let end = offset.checked_add(length);
        if end.is_some_and(|end| end <= size) {
            return Ok(());
        }
        Err(Error::of_window(WindowError::Range {
            window: self.number,
            rank,
            offset,
            length,
            size,
        }))
    }

    /// Returns an error if an access conflict has been found that this rank must report.
    ///
    /// In a run the conflict is a warning if the memory belongs to the program: the outcome is
    /// undefined, and the accesses are permitted (MPI 5.0, section 12.7).
    pub(super) fn check_conflict(&self) -> Result<()> {
        let channel = self.comm.process().channel();
        let found = self.comm.process().call_log().and_then(|log| {
            let rank = self.comm.world_rank();
            log.accesses().take_conflict(self.comm.context(), rank)
        });
        let Some(conflict) = found else {
            return Ok(());
        };
        if self.is_in_bytes && !exploration::is_explored(channel) {
            if !self.has_warned.replace(true) {
                let text = format_args!("{conflict}: the outcome is undefined");
                channel.log(Level::Warn, text);
            }
            return Ok(());
        }
        Err(Error::of_window(WindowError::Conflict(conflict)))
    }

    /// Reads `length` bytes of this rank's own memory, from byte `offset` on.
    ///
    /// # Errors
    /// [`WindowError::Range`] if they are not within the window.
    #[track_caller]
    pub fn read(&self, offset: u64, length: u64) -> impl Future<Output = Result<Buffer>> + '_ {
        let location = SourceLocation::caller();
        async move {
            self.check_range(self.comm.rank(), offset, length)?;
            let read = move |memory: &mut WindowMemory| memory.copy_range(offset, length);
            Ok(self.local("read of a window", location, read).await)
        }
    }

    /// Writes to this rank's own memory, from byte `offset` on.
    ///
    /// # Errors
    /// [`WindowError::Range`] if the bytes are not within the window, [`WindowError::Conflict`] if
    /// a put or an accumulate to them is in progress.
    #[track_caller]
    pub fn write<'a>(
        &'a self,
        offset: u64,
        bytes: &Buffer,
    ) -> impl Future<Output = Result<()>> + 'a {
        let (location, bytes) = (SourceLocation::caller(), bytes.clone());
        async move {
            let length = bytes.len();
            self.check_range(self.comm.rank(), offset, length)?;
            let write = |memory: &mut WindowMemory| memory.write_part(offset, &bytes);
            self.local("write to a window", location, write).await;
            let place = (offset..offset + length, SyncMode::Lock);
            let store = self.own_access("write", AccessKind::Put, place, location);
            check_store(&self.comm, &store)
        }
    }

    /// Notes that the buffer of an access to `target` is in this rank's own part of the window.
    /// Other ranks must not access the buffer before the access is over: until the next fence, or
    /// [`Window::end_buffers`]. `is_filled`: the access stores its result in the buffer.
    ///
    /// # Errors
    /// [`WindowError::NoEpoch`] outside of an epoch.
    #[track_caller]
    pub fn note_buffer(
        &self,
        target: usize,
        bytes: Range<u64>,
        is_filled: bool,
    ) -> impl Future<Output = Result<()>> + '_ {
        let location = SourceLocation::caller();
        async move {
            // An access of another rank may come before it or after it.
            self.local("access from a window", location, |_| ()).await;
            log_buffer(self, (target, bytes), is_filled, location)
        }
    }

    /// An access of this rank to the own part of the window.
    fn own_access(
        &self,
        call: &'static str,
        kind: AccessKind,
        (bytes, mode): (Range<u64>, SyncMode),
        location: SourceLocation,
    ) -> Access {
        Access {
            call,
            origin: self.comm.world_rank(),
            kind,
            reduction: None,
            is_update: !matches!(kind, AccessKind::Get),
            reads: false,
            start: bytes.start,
            end: bytes.end,
            element: 1,
            mode,
            fences: self.epochs.borrow().fences,
            location,
        }
    }

    /// Notes that the program has stored to these bytes of this rank's memory since the previous
    /// call. A conflict with accesses of other ranks is an error of the next synchronisation.
    ///
    /// Use only with memory of [`OneSided::window_of`].
    #[track_caller]
    pub fn note_stores(&self, places: Vec<Range<u64>>) -> impl Future<Output = ()> + '_ {
        let location = SourceLocation::caller();
        async move {
            let mode = self.epochs.borrow().store_mode();
            let (context, rank) = (self.comm.context(), self.comm.world_rank());
            let log = self.comm.process().call_log();
            let Some(log) = log else {
                return;
            };
            let accesses = log.accesses();
            let since = match mode {
                SyncMode::Fence | SyncMode::Exposure => 0,
                SyncMode::Lock => {
                    let begun = accesses.count_begun(context, rank);
                    let reads = accesses.count_reads(rank);
                    // An access of another rank may come before this call or after this call.
                    self.local("stores to a window", location, |_| ()).await;
                    if accesses.count_reads(rank) > reads {
                        return;
                    }
                    begun
                }
            };
            for bytes in places {
                let (call, kind) = ("a store before the call", AccessKind::Store);
                let store = self.own_access(call, kind, (bytes, mode), location);
                accesses.begin_after(context, rank, store, since);
            }
        }
    }

    /// Notes that the accesses of this rank with a call of [`Window::note_buffer`] are over, except
    /// accesses in an epoch of fences.
    #[track_caller]
    pub fn end_buffers(&self) -> impl Future<Output = ()> + '_ {
        let location = SourceLocation::caller();
        async move {
            let (context, rank) = (self.comm.context(), self.comm.world_rank());
            let Some(log) = self.comm.process().call_log() else {
                return;
            };
            if log.accesses().has_open(context, rank, rank) {
                // An access of another rank may come before the end or after the end.
                let name = "end of an access from a window";
                self.local(name, location, |_| ()).await;
                log.accesses().end_accesses(context, rank, rank);
            }
        }
    }

    /// Synchronises the copies of the memory of the window: `MPI_Win_sync`. A rank that repeats the
    /// call without another call reads the memory in a loop, until another rank changes the
    /// memory. Such a rank lets time pass; under a model checker, where no time passes, the rank
    /// waits for an event, unless the memory is shared, so that changes are no events.
    #[track_caller]
    pub fn sync_memory(&self, is_shared: bool) -> impl Future<Output = ()> + '_ {
        let location = SourceLocation::caller();
        async move {
            let process = self.comm.process();
            let changes = process.count_changes();
            let (before, count) = self.syncs.get();
            let count = if before == changes {
                count.saturating_add(1)
            } else {
                1
            };
            self.syncs.set((changes, count));
            if count <= SYNCS_MAX {
                return;
            }
            if is_shared || !exploration::is_explored(process.channel()) {
                self.comm.sleep(SYNC_TIME).await;
                // The end of the sleep is no reason to count anew.
                self.syncs.set((process.count_changes(), count));
                return;
            }
            let has_changed = |_: &Process, engine: &mut ProtocolEngine| {
                (engine.requests.count_changes() != changes).then_some(())
            };
            let waits = Waits::Call("sync of a window");
            Call::new(process, location, waits, has_changed).await;
        }
    }

    async fn local<T>(
        &self,
        name: &'static str,
        location: SourceLocation,
        access: impl FnOnce(&mut WindowMemory) -> T,
    ) -> T {
        let process = self.comm.process();
        let look = |_: &Process, _: &mut ProtocolEngine| Some(());
        Call::new(process, location, Waits::Memory(name), look).await;
        exploration::note_read(process.channel());
        let context = self.comm.context();
        process.with_memory(context, access)
    }

    /// Frees the window and returns this rank's memory: `MPI_Win_free`. All ranks call it, and wait
    /// for each other.
    ///
    /// # Errors
    /// [`WindowError::InEpoch`] in an epoch with accesses, or in an epoch that a lock, `start` or
    /// `post` has begun.
    #[track_caller]
    pub fn free(self) -> impl Future<Output = Result<Buffer>> {
        let location = SourceLocation::caller();
        async move {
            self.epochs.borrow().check_none("free", self.number)?;
            // Its memory is accessed until all ranks have called.
            barrier_in(&self.comm, "free of a window", location).await?;
            forget_communicator(&self.comm);
            self.check_conflict()?;
            let (context, process) = (self.comm.context(), self.comm.process());
            if let Some(log) = process.call_log() {
                log.accesses()
                    .forget_window(context, self.comm.world_rank());
            }
            Ok(process.with_engine(|engine, channel| {
                WindowCalls::new(engine, channel, context).close_window()
            }))
        }
    }
}

/// Begins the access to a rank's own part of the window by the buffer of an access to `target`.
fn log_buffer(
    window: &Window,
    (target, bytes): (usize, Range<u64>),
    is_filled: bool,
    location: SourceLocation,
) -> Result<()> {
    let mode = match window.epochs.borrow().mode(window.number, target)? {
        SyncMode::Fence => SyncMode::Fence,
        SyncMode::Exposure | SyncMode::Lock => SyncMode::Lock,
    };
    let kind = match is_filled {
        true => AccessKind::Put,
        false => AccessKind::Get,
    };
    let name = "the buffer of an access";
    let access = window.own_access(name, kind, (bytes, mode), location);
    let comm = &window.comm;
    if let Some(log) = comm.process().call_log() {
        log.accesses()
            .begin_access(comm.context(), comm.world_rank(), access);
    }
    Ok(())
}

/// Checks a store of a rank to the rank's own memory.
fn check_store(comm: &Comm, store: &Access) -> Result<()> {
    let log = comm.process().call_log();
    let found =
        log.and_then(|log| (log.accesses()).check_store(comm.context(), comm.world_rank(), store));
    match found {
        Some(conflict) => Err(Error::of_window(WindowError::Conflict(conflict))),
        None => Ok(()),
    }
}
