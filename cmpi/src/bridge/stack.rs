//! Stacks of ranks: memory of a pool, with a page below that cannot be accessed, or a number there.

use std::num::NonZeroUsize;
use std::ptr;
use std::rc::Rc;

use corosensei::stack::{Stack, StackPointer};

use crate::elf::{PAGE, Refusal};
use crate::loader::Memory;
use crate::loader::memory::{Pool, Slot};

/// Number at the end of a stack: another one there says that the stack was too short.
pub(super) const CANARY: u64 = 0x5349_4d52_554e_0001;

/// The stack of a rank.
pub(super) struct StackSlot {
    slot: Slot,
    memory: Rc<Memory>,
}

impl StackSlot {
    pub(super) fn new(memory: &Rc<Memory>, rank: usize) -> Result<Self, Refusal> {
        let slot = Self {
            slot: memory.stacks.take(rank)?,
            memory: Rc::clone(memory),
        };
        let canary = slot.canary();
        if !canary.is_null() {
            // SAFETY: the word is in the slot, which no other rank has.
            unsafe { ptr::write(canary, CANARY) };
        }
        Ok(slot)
    }

    /// Returns the lowest word of a stack without a guard; null for one with a guard, whose page
    /// costs nothing so.
    pub(super) fn canary(&self) -> *mut u64 {
        if self.pool().has_guard(self.slot.address) {
            return ptr::null_mut();
        }
        let page = PAGE as usize;
        (self.slot.address + page) as *mut u64
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
// its lowest page cannot be accessed as long as the system has mappings left for that.
unsafe impl Stack for StackSlot {
    fn base(&self) -> StackPointer {
        let base = NonZeroUsize::new(self.slot.address + self.pool().length());
        base.expect("memory is not at address 0")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.slot.address).expect("memory is not at address 0")
    }
}
