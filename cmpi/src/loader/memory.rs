//! Memory for images and stacks: slots of one length, in few mappings, used again by later ranks.
//!
//! A stack has a page below it that cannot be accessed, as long as the system has mappings left
//! for that; beyond them a word at its end is compared whenever the rank waits.

use std::cell::RefCell;
use std::ptr;

use crate::elf::{PAGE, Refusal};

/// Number of stacks that get a page without access: two mappings each, of 65,530 in all.
const GUARDED_MAX: usize = 28_000;

/// Largest number of slots that are mapped at a time.
const CHUNK_MAX: usize = 1024;

/// Use of the slots of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Images of programs: memory that can be executed.
    Image,
    /// Stacks, each with a guard below.
    Stack,
}

/// Slots of one length.
#[derive(Debug)]
pub(crate) struct Pool {
    purpose: Purpose,
    /// Length of a slot in bytes, a whole number of pages.
    length: usize,
    slots: RefCell<Slots>,
}

/// A mapping.
#[derive(Debug)]
struct Chunk {
    start: usize,
    /// Length in bytes.
    bytes: usize,
    /// Number of slots at its beginning that have a guard.
    guarded: usize,
}

#[derive(Debug, Default)]
struct Slots {
    /// Addresses of slots that have been used before.
    used: Vec<usize>,
    /// Addresses of slots that nobody has touched.
    fresh: Vec<usize>,
    chunks: Vec<Chunk>,
    mapped: usize,
}

impl Pool {
    pub(crate) fn new(purpose: Purpose, length: usize) -> Self {
        Self {
            purpose,
            length,
            slots: RefCell::default(),
        }
    }

    /// Returns the length of a slot in bytes.
    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// Takes a slot: its address, and true if nobody has touched it, so that it is zero.
    pub(crate) fn take(&self) -> Result<(usize, bool), Refusal> {
        let mut slots = self.slots.borrow_mut();
        if let Some(address) = slots.used.pop() {
            return Ok((address, false));
        }
        if slots.fresh.is_empty() {
            self.map(&mut slots)?;
        }
        let address = slots.fresh.pop().expect("slots have been mapped");
        Ok((address, true))
    }

    /// Returns true if the lowest page of a slot cannot be accessed.
    pub(crate) fn has_guard(&self, address: usize) -> bool {
        let slots = self.slots.borrow();
        let is_there = |chunk: &&Chunk| (chunk.start..chunk.start + chunk.bytes).contains(&address);
        let chunk = slots.chunks.iter().find(is_there);
        chunk.is_some_and(|chunk| (address - chunk.start) / self.length < chunk.guarded)
    }

    /// Takes a slot back.
    pub(crate) fn give_back(&self, address: usize) {
        self.slots.borrow_mut().used.push(address);
    }

    fn map(&self, slots: &mut Slots) -> Result<(), Refusal> {
        let count = slots.mapped.clamp(1, CHUNK_MAX);
        let bytes = count * self.length;
        let protection = match self.purpose {
            Purpose::Image => libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            Purpose::Stack => libc::PROT_READ | libc::PROT_WRITE,
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping wherever there is room touches no other memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            let what = match self.purpose {
                Purpose::Image => "images of ranks, which have to be executable",
                Purpose::Stack => "stacks of ranks",
            };
            return Err(Refusal(format!(
                "cannot map {bytes} bytes for {what}: {error}"
            )));
        }
        // SAFETY: the range is the mapping that was just made. Without the advice ranks only take
        // more memory.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = start as usize;
        let mut guarded = 0;
        for slot in 0..count {
            let address = start + slot * self.length;
            if self.purpose == Purpose::Stack && slots.mapped + slot < GUARDED_MAX {
                let page = PAGE as usize;
                // SAFETY: the lowest page of a slot of the mapping that was just made, which no
                // stack uses. Where it cannot be protected, the word at the end is compared.
                let set =
                    unsafe { libc::mprotect(address as *mut libc::c_void, page, libc::PROT_NONE) };
                guarded += usize::from(set == 0 && guarded == slot);
            }
            slots.fresh.push(address);
        }
        slots.fresh.reverse();
        slots.mapped += count;
        slots.chunks.push(Chunk {
            start,
            bytes,
            guarded,
        });
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for &Chunk { start, bytes, .. } in &self.slots.borrow().chunks {
            // SAFETY: the mapping is one of this pool. Ranks hold the pool as long as they use
            // a slot of it, so nobody uses it any more.
            unsafe { libc::munmap(start as *mut libc::c_void, bytes) };
        }
    }
}
