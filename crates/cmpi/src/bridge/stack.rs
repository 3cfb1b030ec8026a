//! Stacks of ranks: memory of a pool, with a guard below that cannot be accessed, or a number at
//! the end.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::ptr;
use std::rc::Rc;
use std::task::Context;

use corosensei::Yielder;
use corosensei::stack::{Stack, StackPointer};
use corosensei::trap::CoroutineTrapHandler;

use crate::loader::Memory;
use crate::loader::memory::{MemorySlot, Pool};
use elf::Refusal;

/// Number at the end of a stack: another one there says that the stack was too short.
const CANARY: u64 = 0x5349_4d52_554e_0001;

/// Message about a stack that is too short.
pub(super) const FULL: &str = "the stack of the rank, of 8 MiB, is full";

/// Number of bytes that a call of MPI leaves free on a stack: more than functions of simrun take.
const ROOM: usize = 128 << 10;

/// Length of a line of the caches in bytes.
pub(super) const LINE: usize = 64;

/// Number of lines of the caches with the frames of a call that waits: a trace of a program that
/// receives and sends touches 12.6 lines of the stack for each message.
const FRAME_LINES: usize = 12;

/// The end of a stack.
#[derive(Clone, Copy)]
pub(super) struct StackEnd {
    /// Lowest address of the stack; 0 without a stack.
    lowest: usize,
    /// True if the addresses below cannot be accessed.
    is_guarded: bool,
}

impl StackEnd {
    /// Returns true if the stack, on which this runs, has no room for a call of MPI.
    pub(super) fn is_near(self) -> bool {
        let place = 0_u8;
        (&raw const place as usize) < self.lowest + ROOM
    }

    /// Returns true if the stack of a running rank has exceeded the maximum length.
    pub(super) fn is_overwritten(self) -> bool {
        // SAFETY: the lowest word of the stack, which is mapped as long as the rank runs.
        !self.is_guarded && unsafe { ptr::read_volatile(self.lowest as *const u64) } != CANARY
    }

    /// Returns true if an address is in the guard; the address must be in the stack or the guard.
    pub(super) const fn is_beyond(self, address: usize) -> bool {
        address < self.lowest
    }
}

/// The stack of a rank.
pub(super) struct StackSlot {
    slot: MemorySlot,
    memory: Rc<Memory>,
}

impl StackSlot {
    pub(super) fn new(memory: &Rc<Memory>, rank: usize) -> Result<Self, Refusal> {
        let slot = Self {
            slot: memory.stacks.take_slot(rank)?,
            memory: Rc::clone(memory),
        };
        // The page of a number would be memory of each rank.
        if !slot.slot.guard.1 {
            // SAFETY: the word is in the slot, which no other rank has.
            unsafe { ptr::write(slot.slot.address as *mut u64, CANARY) };
        }
        Ok(slot)
    }

    /// Returns the end of the stack.
    pub(super) const fn stack_end(&self) -> StackEnd {
        StackEnd {
            lowest: self.slot.address,
            is_guarded: self.slot.guard.1,
        }
    }

    fn pool(&self) -> &Pool {
        &self.memory.stacks
    }
}

impl Drop for StackSlot {
    fn drop(&mut self) {
        self.pool().give_back(&self.slot);
    }
}

// SAFETY: the slot is memory of a pool that this holds, of more than two pages, aligned to a page;
// the guard below cannot be accessed as long as the system has mappings left for that.
unsafe impl Stack for StackSlot {
    fn base(&self) -> StackPointer {
        let base = NonZeroUsize::new(self.slot.address + self.pool().slot_length());
        base.expect("memory is not at address 0")
    }

    fn limit(&self) -> StackPointer {
        let (guard, _) = self.slot.guard;
        NonZeroUsize::new(self.slot.address - guard).expect("memory is not at address 0")
    }
}

/// A future on the stack of a waiting rank, and the function that drops the future.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    future: *mut (),
    drop: unsafe fn(*mut ()),
}

impl Pending {
    pub(super) fn new<F>(future: *mut F) -> Self {
        Self {
            future: future.cast(),
            drop: drop_future::<F>,
        }
    }
}

/// Drops a future in place.
///
/// # Safety
/// The pointer refers to a future of this type that is not used any more.
unsafe fn drop_future<F>(future: *mut ()) {
    // SAFETY: the caller's contract.
    unsafe { ptr::drop_in_place(future.cast::<F>()) }
}

/// The stack on which the program of a rank runs, and the state of leaving this stack.
#[repr(C)]
pub(super) struct RankStack {
    /// Address of the frame that has left the stack, or 0.
    frame: Cell<usize>,
    pub(super) yielder: Cell<*const Yielder<(), ()>>,
    pub(super) end: Cell<StackEnd>,
    pub(super) context: Cell<*mut Context<'static>>,
    pub(super) pending: Cell<Option<Pending>>,
    /// Continues at the end of the rank after a fault of the program.
    pub(super) trap: Cell<Option<CoroutineTrapHandler<()>>>,
}

/// Asks the processor for lines of memory: the misses of all caches then overlap.
#[inline]
pub(super) fn prefetch_lines<const LINES: usize>(address: usize) {
    for line in 0..LINES {
        let place = (address + line * LINE) as *const i8;
        // SAFETY: a prefetch is a hint that loads no value, writes nothing and cannot fault,
        // whatever the address. SSE is part of every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
}

impl RankStack {
    pub(super) const fn new() -> Self {
        Self {
            frame: Cell::new(0),
            yielder: Cell::new(ptr::null()),
            end: Cell::new(StackEnd {
                lowest: 0,
                is_guarded: true,
            }),
            context: Cell::new(ptr::null_mut()),
            pending: Cell::new(None),
            trap: Cell::new(None),
        }
    }

    /// Asks the processor for the frames of a rank that waits.
    pub(super) fn prefetch_frames(&self) {
        prefetch_lines::<FRAME_LINES>(self.frame.get());
    }

    /// Leaves the stack until the coroutine is resumed.
    pub(super) fn leave_stack(&self) {
        let frame = 0_u8;
        self.frame.set(&raw const frame as usize);
        // SAFETY: the yielder is on the stack of the coroutine, which is running, since this is
        // called by its program.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// Drops the future for which the rank waits.
    pub(super) fn drop_pending(&self) {
        if let Some(pending) = self.pending.take() {
            // SAFETY: the future is on the suspended stack of this rank, which has registered it
            // and will not run again, so it is dropped once.
            unsafe { (pending.drop)(pending.future) };
        }
    }

    /// Returns true if an address is on the stack.
    pub(super) fn has_address(&self, address: usize) -> bool {
        let trap = self.trap.get();
        trap.is_some_and(|it| it.stack_ptr_in_bounds(address))
    }
}
