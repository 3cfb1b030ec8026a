//! Windows (MPI 5.0, section 12.2) and their synchronisation (section 12.5).
//!
//! The memory of a window is that of the program, which reads and writes it between its calls;
//! accesses of other ranks change it when their messages arrive. A get fills its buffer in the next
//! call that ends its epoch, or flushes.
//!
//! *Not there*: dynamic windows, attributes and error handlers of programs. `MPI_Win_sync` takes no
//! time, until a program has called it again and again. `simrun check` sees the accesses of other
//! ranks, but not the reads and writes of the program itself.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use mpi::{ProgramMemory, Request, Window};

use super::{Handle, State, exports, memory};
use crate::arguments::rank;
use crate::bridge::{block, with};
use crate::errors::CallError;
use crate::handles::Target;

/// `MPI_WIN_NULL`.
const WIN_NULL: Handle = 0x110;

/// Calls of `MPI_Win_sync` without another call about the window, after which time passes.
const SYNCS: u32 = 1000;

/// Seconds that pass then.
const SYNC_STEP: f64 = 1e-6;

/// Memory of a program that other ranks access.
#[derive(Debug)]
struct Exposed {
    address: usize,
    length: usize,
    /// What `MPI_Win_allocate` has made; the address is of it.
    _allocated: Option<Box<[u64]>>,
    /// True when the rank has ended, whose memory other ranks have later.
    is_gone: Cell<bool>,
}

/// Ends the accesses to memory when it is dropped, as the objects of a rank are when it ends.
#[derive(Debug)]
struct Exposure(Rc<Exposed>);

impl Drop for Exposure {
    fn drop(&mut self) {
        self.0.is_gone.set(true);
    }
}

impl Exposed {
    /// Returns the address of an access; `None` if the memory is gone.
    fn at(&self, offset: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.length),
            "accesses lie within the window"
        );
        (!self.is_gone.get()).then_some(self.address + offset)
    }
}

impl ProgramMemory for Exposed {
    fn length(&self) -> u64 {
        self.length as u64
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) {
        if let Some(from) = self.at(offset, bytes.len()) {
            // SAFETY: the program said that this memory is its own until it frees the window, and
            // no program runs while the message layer does. `bytes` is other memory.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        }
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        if let Some(to) = self.at(offset, bytes.len()) {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        }
    }
}

/// Values of the predefined attributes, which a program gets by their addresses.
#[derive(Debug)]
struct Attributes {
    size: isize,
    unit: c_int,
    flavor: c_int,
    model: c_int,
}

/// A get in progress: the answers of the target, which follow one another in the memory of the
/// program.
#[derive(Debug)]
pub(super) struct PendingGet {
    pub(super) rank: usize,
    pub(super) requests: Vec<Request>,
    pub(super) result: Target,
}

/// A window of a program.
#[derive(Debug)]
pub(super) struct ProgramWindow {
    pub(super) window: Window,
    exposure: Exposure,
    attributes: Box<Attributes>,
    name: String,
    pub(super) gets: Vec<PendingGet>,
    syncs: u32,
}

impl ProgramWindow {
    /// Waits for the gets of a rank, or of all, and fills their memory.
    async fn finish_gets(&mut self, of: Option<usize>) -> Result<(), CallError> {
        self.syncs = 0;
        let (ended, rest) = std::mem::take(&mut self.gets)
            .into_iter()
            .partition(|get| of.is_none_or(|rank| get.rank == rank));
        self.gets = rest;
        let ended: Vec<PendingGet> = ended;
        for get in ended {
            complete(get.requests, get.result).await?;
        }
        Ok(())
    }
}

/// Waits for answers, and fills the memory of the program.
pub(super) async fn complete(requests: Vec<Request>, result: Target) -> Result<(), CallError> {
    let mut all = Vec::with_capacity(result.length);
    let mut is_phantom = false;
    for mut request in requests {
        let answer = request.wait().await?.buffer;
        is_phantom |= answer.is_phantom();
        all.extend_from_slice(answer.bytes().unwrap_or_default());
    }
    if !is_phantom {
        memory::store_bytes(result, &all);
    }
    Ok(())
}

impl State {
    /// Returns a window.
    pub(super) fn window(&mut self, window: Handle) -> Result<&mut ProgramWindow, CallError> {
        self.windows.get_mut(window).ok_or_else(|| {
            let text = match window {
                WIN_NULL => "invalid window: MPI_WIN_NULL".to_owned(),
                _ => format!("invalid window {window:#x}"),
            };
            CallError::new("MPI_ERR_WIN", text)
        })
    }
}

/// Makes a window of memory at `address`, or of new memory.
fn make(
    address: Option<usize>,
    (length, unit): (isize, c_int),
    comm: Handle,
    window: *mut Handle,
) -> Result<usize, CallError> {
    let bytes = usize::try_from(length).map_err(|_| {
        let text = format!("invalid size {length}: expected at least 0");
        CallError::new("MPI_ERR_SIZE", text)
    })?;
    let scale = u64::try_from(unit).ok().filter(|unit| *unit > 0);
    let scale = scale.ok_or_else(|| {
        let text = format!("invalid disp_unit {unit}: expected at least 1");
        CallError::new("MPI_ERR_DISP", text)
    })?;
    if address == Some(0) && bytes > 0 {
        let text = format!("invalid base: address 0 for {bytes} bytes");
        return Err(CallError::new("MPI_ERR_BUFFER", text));
    }
    let (handle, start) = block(async |state| {
        let allocated = match address {
            None => Some(vec![0_u64; bytes.div_ceil(8)].into_boxed_slice()),
            Some(_) => None,
        };
        let start = match &allocated {
            Some(words) => words.as_ptr() as usize,
            None => address.unwrap_or_default(),
        };
        let attributes = Attributes {
            size: length,
            unit,
            // MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE.
            flavor: if allocated.is_some() { 312 } else { 311 },
            // MPI_WIN_UNIFIED.
            model: 321,
        };
        let exposed = Rc::new(Exposed {
            address: start,
            length: bytes,
            _allocated: allocated,
            is_gone: Cell::new(false),
        });
        let exposure = Exposure(Rc::clone(&exposed));
        let made = ProgramWindow {
            window: state.comm(comm)?.window_of(exposed, scale).await?,
            exposure,
            attributes: Box::new(attributes),
            name: String::new(),
            gets: Vec::new(),
            syncs: 0,
        };
        Ok::<_, CallError>((state.windows.insert(made), start))
    })?;
    memory::store(window, handle);
    Ok(start)
}

/// Ends an epoch, or a part of it, and the gets of a target or of all.
fn synchronise(
    window: Handle,
    of: Option<usize>,
    call: impl AsyncFnOnce(&Window) -> mpi::Result<()>,
) -> Result<(), CallError> {
    block(async |state| {
        let window = state.window(window)?;
        call(&window.window).await?;
        window.finish_gets(of).await
    })
}

exports! {
    fn MPI_Win_create(base: *mut c_void, size: isize, unit: c_int, _info: Handle, comm: Handle, window: *mut Handle) {
        make(Some(base as usize), (size, unit), comm, window).map(drop)
    }

    fn MPI_Win_allocate(size: isize, unit: c_int, _info: Handle, comm: Handle, base: *mut usize, window: *mut Handle) {
        let address = make(None, (size, unit), comm, window)?;
        memory::store(base, address);
        Ok(())
    }

    fn MPI_Win_free(window: *mut Handle) {
        let handle = memory::load(window, "win")?;
        block(async |state| {
            state.window(handle)?;
            let Some(freed) = state.windows.remove(handle) else {
                return Ok(());
            };
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
        let handle = with(|state| {
            let found = state.window(window)?.window.group();
            Ok::<_, CallError>(state.groups.insert(found))
        })?;
        memory::store(group, handle);
        Ok(())
    }

    fn MPI_Win_get_attr(window: Handle, key: c_int, value: *mut usize, flag: *mut c_int) {
        let found = with(|state| {
            let window = state.window(window)?;
            let Attributes { size, unit, flavor, model } = &*window.attributes;
            Ok::<_, CallError>(match key {
                // MPI_WIN_BASE to MPI_WIN_MODEL.
                601 => Some(window.exposure.0.address),
                602 => Some(ptr::from_ref(unit) as usize),
                603 => Some(ptr::from_ref(size) as usize),
                604 => Some(ptr::from_ref(flavor) as usize),
                605 => Some(ptr::from_ref(model) as usize),
                _ => None,
            })
        })?;
        memory::store(flag, c_int::from(found.is_some()));
        if let Some(found) = found {
            memory::store(value, found);
        }
        Ok(())
    }

    fn MPI_Win_set_name(window: Handle, name: *const c_char) {
        let name = memory::text(name);
        with(|state| {
            state.window(window)?.name = name;
            Ok(())
        })
    }

    fn MPI_Win_get_name(window: Handle, name: *mut c_char, length: *mut c_int) {
        let found = with(|state| Ok::<_, CallError>(state.window(window)?.name.clone()))?;
        memory::store_text(name, length, &found, 128);
        Ok(())
    }

    fn MPI_Win_fence(_assert: c_int, window: Handle) {
        synchronise(window, None, async |window| window.fence().await)
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
        block(async |state| Ok(state.window(window)?.window.lock(of, is_exclusive).await?))
    }

    fn MPI_Win_unlock(of: c_int, window: Handle) {
        let of = rank(of)?;
        synchronise(window, Some(of), async |window| window.unlock(of).await)
    }

    fn MPI_Win_lock_all(_assert: c_int, window: Handle) {
        block(async |state| Ok(state.window(window)?.window.lock_all().await?))
    }

    fn MPI_Win_unlock_all(window: Handle) {
        synchronise(window, None, async |window| window.unlock_all().await)
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
            let syncs = &mut state.window(window)?.syncs;
            *syncs = syncs.saturating_add(1);
            // A program that waits for a change of its memory in a loop lets time pass.
            if *syncs > SYNCS {
                state.world.sleep(SYNC_STEP).await;
            }
            Ok(())
        })
    }

    fn MPI_Win_post(group: Handle, _assert: c_int, window: Handle) {
        block(async |state| {
            let group = state.group(group)?;
            Ok(state.window(window)?.window.post(&group).await?)
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
