//! Windows (MPI 5.0, section 12.2) and their synchronisation (section 12.5).
//!
//! The memory of a window belongs to the program, which reads and writes this memory between calls;
//! accesses of other ranks change the memory when their messages arrive. A get fills its buffer in
//! the next call that ends the epoch, or flushes.
//!
//! Hints have no effect; shared memory is always contiguous. `MPI_Win_sync` takes no time, until a
//! program has called it again and again. `simrun check` sees the accesses of other ranks and the
//! stores of the program itself, but not the loads.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use mpi::{FenceAssertions, announce_call, prelude::*};

use super::completion::deliver;
use super::groups::make_group;
use super::objects::about;
use super::{active, attributes, heap, memory};
use crate::arguments::{in_c, rank};
use crate::bridge::{block, caller, with_state};
use crate::errors::CallError;
use crate::handles::{Memory, Target};
use crate::loader::heap::Heap;
use crate::state::windows::{
    Exposed, Exposure, LockedEpochs, MODE_NOPRECEDE, MODE_NOPUT, MODE_NOSUCCEED, Place,
    ProgramWindow, WindowAttributes,
};
use crate::state::{Handle, MpiState};

/// `MPI_WIN_NULL`.
const WIN_NULL: Handle = 0x110;

/// Hints that a window has by the standard (MPI 5.0, section 12.2.1), and which hold here.
const DEFAULT_HINTS: [(&str, &str); 2] = [
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
];

impl MpiState {
    /// Returns a window.
    pub(super) fn window(&mut self, window: Handle) -> Result<&mut ProgramWindow, CallError> {
        self.concerned.set(window);
        let found = self.windows.get_mut(window).ok_or_else(|| {
            let text = match window {
                WIN_NULL => "invalid window: MPI_WIN_NULL".to_owned(),
                _ => format!("invalid window {window:#x}"),
            };
            CallError::new("MPI_ERR_WIN", text)
        })?;
        if let Some((address, length)) = found.exposure.0.stray.take() {
            let text = format!(
                "another rank has accessed {length} bytes at {address:#x}, which are not attached"
            );
            return Err(CallError::new("MPI_ERR_RMA_RANGE", text));
        }
        Ok(found)
    }

    /// Completes the gets from a rank, or from all: fills the memory of the program.
    async fn finish_gets(&mut self, window: Handle, of: Option<usize>) -> Result<(), CallError> {
        let is_of = |rank: usize| of.is_none_or(|of| of == rank);
        let window = self.window(window)?;
        let gets = window
            .gets
            .extract_if(.., |get| is_of(get.rank))
            .collect::<Vec<_>>();
        let requests = window
            .requests
            .extract_if(.., |get| is_of(get.0))
            .collect::<Vec<_>>();
        for get in gets {
            let mut request = get.request;
            let answer = request.wait().await?.buffer;
            if let Some(bytes) = answer.bytes() {
                memory::store_bytes(get.result, bytes);
            }
        }
        for (_, handle) in requests {
            // The program may have completed it.
            if let Some(mut active) = self.requests.borrow(handle) {
                if active.request.is_active() {
                    let completion = active.request.wait().await?;
                    deliver(completion, &active.memory, ptr::null_mut());
                    active.memory = Memory::Message(Target::default());
                    active.request = over(&self.world)?;
                }
                self.requests.put_back(handle, active);
            }
        }
        Ok(())
    }
}

/// Returns a request that is over.
fn over(world: &Comm) -> Result<Request> {
    world.irecv(world.buffer(0), PROC_NULL, 0)
}

/// Memory of a new window.
#[derive(Clone, Copy)]
enum New {
    At(usize),
    Allocated,
    Attached,
    Shared,
}

impl New {
    const fn call_name(self) -> &'static str {
        match self {
            Self::At(_) => "win_create",
            Self::Allocated => "win_allocate",
            Self::Attached => "win_create_dynamic",
            Self::Shared => "win_allocate_shared",
        }
    }

    /// Returns the place of the memory of `length` bytes, and the flavor of the window.
    fn place(self, length: usize, comm: &Comm) -> (Place, c_int) {
        // Flavors: MPI_WIN_FLAVOR_CREATE and the next ones.
        match self {
            Self::At(address) => (Place::Fixed { address, length }, 311),
            Self::Allocated => {
                let words = vec![0; length.div_ceil(8)].into_boxed_slice();
                (Place::Allocated { words, length }, 312)
            }
            Self::Attached => (Place::Attached(RefCell::default()), 313),
            Self::Shared => {
                let (rank, identity) = (comm.rank(), comm.identity());
                let shared = caller().shared_memories();
                let memory = shared.join(identity, (rank, comm.size()), length);
                (Place::Shared(memory, rank), 314)
            }
        }
    }
}

/// Checks the address of the memory of a window. Lengths of blocks are known under a model checker.
fn check_base(address: usize, bytes: usize) -> Result<(), CallError> {
    if address == 0 && bytes > 0 {
        let text = format!("invalid base: address 0 for {bytes} bytes");
        return Err(CallError::new("MPI_ERR_BUFFER", text));
    }
    match Heap::from_address(address).map(|heap| heap.asked_length(address)) {
        Some(Ok(asked)) if asked < bytes => {
            let text = format!("a window of {bytes} bytes at a block of {asked}");
            Err(CallError::new("MPI_ERR_SIZE", text))
        }
        _ => Ok(()),
    }
}

/// Makes a window.
fn create_window(
    new: New,
    (length, unit): (isize, i64),
    (info, comm): (Handle, Handle),
    window: *mut Handle,
) -> Result<usize, CallError> {
    about(comm)?;
    let bytes = usize::try_from(length).map_err(|_| {
        let text = format!("invalid size {length}: expected at least 0");
        CallError::new("MPI_ERR_SIZE", text)
    })?;
    let scale = u64::try_from(unit).ok().filter(|unit| *unit > 0);
    let scale = scale.ok_or_else(|| {
        let text = format!("invalid disp_unit {unit}: expected at least 1");
        CallError::new("MPI_ERR_DISP", text)
    })?;
    if let New::At(address) = new {
        check_base(address, bytes)?;
    }
    let (handle, start) = block(async |state| {
        let comm = state.comm(comm)?;
        let (place, flavor) = new.place(bytes, comm);
        let attributes = WindowAttributes {
            size: length,
            unit: c_int::try_from(unit).unwrap_or(c_int::MAX),
            flavor,
            // MPI_WIN_UNIFIED.
            model: 321,
        };
        announce_call(comm, new.call_name(), || None);
        let exposed = Rc::new(Exposed::new(place));
        let exposure = Exposure(Rc::clone(&exposed));
        let window = comm.window_of(exposed, scale).await?;
        let start = exposure.0.start();
        if caller().is_checked() {
            state.watch_stores(&exposure.0);
        }
        let made = ProgramWindow {
            window,
            exposure,
            attributes: Box::new(attributes),
            name: String::new(),
            gets: Vec::new(),
            requests: Vec::new(),
            epochs: LockedEpochs::default(),
        };
        let handle = state.windows.insert(made);
        let hints = DEFAULT_HINTS.map(|(key, value)| (key.to_owned(), value.to_owned()));
        state.infos.hints.insert(handle, hints.to_vec());
        state.set_hints(handle, info)?;
        Ok::<_, CallError>((handle, start))
    })?;
    memory::store(window, handle);
    Ok(start)
}

/// Ends an epoch or a part of it, and completes the gets from one target or from all targets.
fn synchronise(
    window: Handle,
    of: Option<usize>,
    call: impl AsyncFnOnce(&Window) -> Result<()>,
) -> Result<(), CallError> {
    active::end_operations(|owner| {
        let access = owner.access.filter(|access| access.0 == window);
        access.is_some_and(|(_, rank)| of.is_none_or(|of| of == rank))
    })?;
    block(async |state| {
        let own = &state.window(window)?.window;
        call(own).await?;
        own.end_buffers().await;
        state.finish_gets(window, of).await
    })
}

/// Changes the regions of a dynamic window.
fn attached(
    window: Handle,
    change: impl FnOnce(&mut Vec<(usize, usize)>) -> Result<(), CallError>,
) -> Result<(), CallError> {
    with_state(|state| match &state.window(window)?.exposure.0.place {
        Place::Attached(regions) => change(&mut regions.borrow_mut()),
        _ => {
            let text = "the window is not one of MPI_Win_create_dynamic";
            Err(CallError::new("MPI_ERR_RMA_FLAVOR", text))
        }
    })
}

exports! {
    fn MPI_Alloc_mem(size: isize, _info: Handle, base: *mut *mut c_void) {
        let length = usize::try_from(size).map_err(|_| {
            let text = format!("invalid size {size}: expected at least 0");
            CallError::new("MPI_ERR_ARG", text)
        })?;
        let address = heap::malloc(length.max(1));
        if address.is_null() {
            let text = format!("no memory for {length} bytes");
            return Err(CallError::new("MPI_ERR_NO_MEM", text));
        }
        memory::store(base, address);
        Ok(())
    }

    fn MPI_Free_mem(base: *mut c_void) {
        heap::free(base);
        Ok(())
    }

    fn MPI_Win_create<N>(base: *mut c_void, size: isize, unit: N, info: Handle, comm: Handle, window: *mut Handle) {
        create_window(New::At(base as usize), (size, unit.into()), (info, comm), window).map(drop)
    }

    fn MPI_Win_allocate<N>(size: isize, unit: N, info: Handle, comm: Handle, base: *mut usize, window: *mut Handle) {
        let address = create_window(New::Allocated, (size, unit.into()), (info, comm), window)?;
        memory::store(base, address);
        Ok(())
    }

    fn MPI_Win_allocate_shared<N>(size: isize, unit: N, info: Handle, comm: Handle, base: *mut usize, window: *mut Handle) {
        let address = create_window(New::Shared, (size, unit.into()), (info, comm), window)?;
        memory::store(base, address);
        Ok(())
    }

    fn MPI_Win_shared_query<N>(window: Handle, of: c_int, size: *mut isize, unit: *mut N, base: *mut usize) {
        let of = rank(of)?;
        let (length, scale, start) = with_state(|state| {
            let window = state.window(window)?;
            let Place::Shared(memory, _) = &window.exposure.0.place else {
                let text = "the window is not one of MPI_Win_allocate_shared";
                return Err(CallError::new("MPI_ERR_RMA_FLAVOR", text));
            };
            let of = match of {
                PROC_NULL => memory.first(),
                rank => rank,
            };
            Ok((window.window.len(of)?, window.window.unit(of)?, memory.start(of)))
        })?;
        memory::store(size, isize::try_from(length).unwrap_or(isize::MAX));
        memory::store(unit, in_c(usize::try_from(scale).unwrap_or(usize::MAX)).unwrap_or(N::undefined()));
        memory::store(base, start);
        Ok(())
    }

    fn MPI_Win_create_dynamic(info: Handle, comm: Handle, window: *mut Handle) {
        create_window(New::Attached, (0, 1), (info, comm), window).map(drop)
    }

    fn MPI_Win_attach(window: Handle, base: *const c_void, size: isize) {
        let length = usize::try_from(size).unwrap_or(0);
        with_state(|state| state.unwatch_memory(&(base as usize..(base as usize).saturating_add(length))));
        attached(window, |regions| {
            regions.push((base as usize, length));
            Ok(())
        })
    }

    fn MPI_Win_detach(window: Handle, base: *const c_void) {
        attached(window, |regions| {
            let known = regions.iter().position(|region| region.0 == base as usize);
            let Some(known) = known else {
                let text = format!("no memory is attached at {:#x}", base as usize);
                return Err(CallError::new("MPI_ERR_RMA_ATTACH", text));
            };
            regions.remove(known);
            Ok(())
        })
    }

    fn MPI_Win_free(window: *mut Handle) {
        let handle = memory::load(window, "win")?;
        // Refuses handles that name none.
        with_state(|state| state.window(handle).map(drop))?;
        attributes::delete_all(handle)?;
        block(async |state| {
            let Some(freed) = state.windows.remove(handle) else {
                return Ok(());
            };
            state.forget_object(handle);
            // Its memory is accessed until all ranks have called.
            let ProgramWindow { window, exposure, .. } = freed;
            window.free().await?;
            drop(exposure);
            Ok::<_, CallError>(())
        })?;
        memory::store(window, WIN_NULL);
        Ok(())
    }

    fn MPI_Win_get_group(window: Handle, group: *mut Handle) {
        make_group(group, |state| Ok(state.window(window)?.window.group()))
    }

    fn MPI_Win_set_name(window: Handle, name: *const c_char) {
        let name = memory::text(name);
        with_state(|state| {
            state.window(window)?.name = name;
            Ok(())
        })
    }

    fn MPI_Win_get_name(window: Handle, name: *mut c_char, length: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.window(window)?.name.clone()))?;
        memory::store_text(name, length, &found, 128);
        Ok(())
    }

    fn MPI_Win_fence(assert: c_int, window: Handle) {
        let is_checked = caller().is_checked();
        with_state(|state| {
            let window = state.window(window)?;
            window.exposure.0.check_assertion(assert)?;
            window.epochs.begin_fence(assert, is_checked)
        })?;
        let assertions = FenceAssertions {
            no_precede: assert & MODE_NOPRECEDE != 0,
            no_succeed: assert & MODE_NOSUCCEED != 0,
            no_put: assert & MODE_NOPUT != 0,
        };
        synchronise(window, None, async |window| window.fence_with(assertions).await)
    }

    fn MPI_Win_lock(kind: c_int, of: c_int, _assert: c_int, window: Handle) {
        let is_exclusive = match kind {
            301 => true,
            302 => false,
            _ => {
                let text = format!(
                    "invalid lock_type {kind}: expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"
                );
                return Err(CallError::new("MPI_ERR_LOCKTYPE", text));
            }
        };
        let of = rank(of)?;
        block(async |state| Ok::<_, CallError>(state.window(window)?.window.lock(of, is_exclusive).await?))?;
        with_state(|state| state.window(window).map(|window| window.epochs.lock()))
    }

    fn MPI_Win_unlock(of: c_int, window: Handle) {
        let of = rank(of)?;
        synchronise(window, Some(of), async |window| window.unlock(of).await)?;
        with_state(|state| state.window(window).map(|window| window.epochs.unlock()))
    }

    fn MPI_Win_lock_all(_assert: c_int, window: Handle) {
        block(async |state| Ok::<_, CallError>(state.window(window)?.window.lock_all().await?))?;
        with_state(|state| state.window(window).map(|window| window.epochs.lock()))
    }

    fn MPI_Win_unlock_all(window: Handle) {
        synchronise(window, None, async |window| window.unlock_all().await)?;
        with_state(|state| state.window(window).map(|window| window.epochs.unlock()))
    }

    fn MPI_Win_flush(of: c_int, window: Handle) {
        let of = rank(of)?;
        synchronise(window, Some(of), async |window| window.flush(of).await)
    }

    fn MPI_Win_flush_all(window: Handle) {
        synchronise(window, None, async |window| window.flush_all().await)
    }

    fn MPI_Win_flush_local(of: c_int, window: Handle) {
        let of = rank(of)?;
        synchronise(window, Some(of), async |window| window.flush_local().await)
    }

    fn MPI_Win_flush_local_all(window: Handle) {
        synchronise(window, None, async |window| window.flush_local().await)
    }

    fn MPI_Win_sync(window: Handle) {
        block(async |state| {
            let window = state.window(window)?;
            let is_shared = matches!(window.exposure.0.place, Place::Shared(..));
            window.window.sync_memory(is_shared).await;
            Ok(())
        })
    }

    fn MPI_Win_post(group: Handle, assert: c_int, window: Handle) {
        block(async |state| {
            let group = state.group(group)?;
            let window = state.window(window)?;
            window.exposure.0.check_assertion(assert)?;
            Ok(window.window.post(&group).await?)
        })
    }

    fn MPI_Win_start(group: Handle, _assert: c_int, window: Handle) {
        block(async |state| {
            let group = state.group(group)?;
            Ok(state.window(window)?.window.start(&group).await?)
        })
    }

    fn MPI_Win_complete(window: Handle) {
        synchronise(window, None, async |window| window.complete().await)
    }

    fn MPI_Win_wait(window: Handle) {
        block(async |state| Ok(state.window(window)?.window.wait().await?))
    }

    fn MPI_Win_test(window: Handle, flag: *mut c_int) {
        let is_over = block(async |state| Ok::<_, CallError>(state.window(window)?.window.test().await?))?;
        memory::store(flag, c_int::from(is_over));
        Ok(())
    }
}
