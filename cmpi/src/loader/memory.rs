//! Memory for images, stacks and heaps: slots of one length, in few mappings, used again by later
//! ranks.
//!
//! A rank gets the slot of its number, so that addresses are the same in each execution of a
//! program. They are the same in each process, too, where the system has room for the first mapping
//! of a kind at its usual address.
//!
//! The text of a program is the same in all images: it is mapped from one file in memory, which the
//! processor caches once, and cannot be written.
//!
//! A stack has a page below it that cannot be accessed, as long as the system has mappings left for
//! that; beyond them a word at its end is compared whenever the rank waits.

use std::cell::RefCell;
use std::io::Write as _;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::elf::{PAGE, Refusal};

/// Number of stacks that get a page without access: two mappings each, of 65,530 in all.
const GUARDED_MAX: usize = 16_000;

/// Number of images that share their text: two mappings each.
pub(super) const SHARED_MAX: usize = 14_000;

/// Largest number of slots that are mapped at a time.
const CHUNK_MAX: usize = 1024;

/// Use of the slots of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Images of programs: memory that can be executed.
    Image,
    /// Stacks, each with a guard below.
    Stack,
    /// Heaps, at addresses of [`HEAPS`].
    Heap,
}

/// Addresses of images and of stacks, if there is room.
const IMAGES_AT: usize = 0x1000_0000_0000;
const STACKS_AT: usize = 0x1800_0000_0000;

/// Addresses of heaps, at which nothing else is: whoever frees memory knows it by its address. The
/// system places executables with their heaps from two thirds of all addresses on, and everything
/// else from the highest address downwards.
pub(crate) const HEAPS: Range<usize> = 0x2000_0000_0000..0x5000_0000_0000;

/// Length of a heap in bytes, of which a rank takes only the pages that it uses.
pub(crate) const HEAP: usize = 2 << 30;

/// First address of [`HEAPS`] that no pool has.
static NEXT_HEAP: AtomicUsize = AtomicUsize::new(HEAPS.start);

/// The beginning of all images, which no rank writes, in a file in memory.
#[derive(Debug)]
pub(crate) struct Text {
    file: std::fs::File,
    /// Whole pages, in bytes.
    length: usize,
}

impl Text {
    /// Makes the file; `None` if there is nothing to share or the system has no such files.
    pub(super) fn new(content: &[u8]) -> Option<Self> {
        let length = content.len() / PAGE as usize * PAGE as usize;
        if length == 0 {
            return None;
        }
        // SAFETY: the name ends with 0.
        let file = unsafe { libc::memfd_create(c"simrun".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return None;
        }
        // SAFETY: a descriptor that was just made, and nobody else has.
        let mut file = unsafe { std::fs::File::from_raw_fd(file) };
        file.write_all(&content[..length]).ok()?;
        Some(Self { file, length })
    }

    /// Puts the text to the beginning of a slot. Returns false if the system refuses: then the slot
    /// is as before.
    fn map(&self, address: usize) -> bool {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let (start, file) = (address as *mut libc::c_void, self.file.as_raw_fd());
        // SAFETY: the range is in a slot of a mapping that was just made, and nobody uses it.
        let mapped = unsafe { libc::mmap(start, self.length, protection, flags, file, 0) };
        mapped == start
    }
}

/// Slots of one length.
#[derive(Debug)]
pub(crate) struct Pool {
    purpose: Purpose,
    /// The text of images.
    text: Option<Arc<Text>>,
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
    /// Number of slots at its beginning that have a guard, of stacks, or the shared text.
    guarded: usize,
}

/// State of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotState {
    /// It was never used.
    Fresh,
    Taken,
    /// A rank has used it before.
    Used,
}

#[derive(Debug, Default)]
struct Slots {
    /// Addresses and states of all slots by their numbers.
    slots: Vec<(usize, SlotState)>,
    chunks: Vec<Chunk>,
}

impl Slots {
    /// Returns true for a slot with a guard, or with the shared text.
    fn is_special(&self, address: usize, length: usize) -> bool {
        let is_there = |chunk: &&Chunk| (chunk.start..chunk.start + chunk.bytes).contains(&address);
        let chunk = self.chunks.iter().find(is_there);
        chunk.is_some_and(|chunk| (address - chunk.start) / length < chunk.guarded)
    }
}

/// A slot that a rank has.
#[derive(Debug)]
pub(crate) struct Slot {
    number: usize,
    pub(crate) address: usize,
    /// True if it was never used, so that it is zero.
    pub(crate) is_fresh: bool,
    /// Length of the shared text at its beginning in bytes.
    pub(crate) text: usize,
}

impl Pool {
    pub(crate) fn new(purpose: Purpose, length: usize, text: Option<Arc<Text>>) -> Self {
        Self {
            purpose,
            text,
            length,
            slots: RefCell::default(),
        }
    }

    /// Returns the length of a slot in bytes.
    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// Returns the address of the slot with this number.
    pub(crate) fn address(&self, number: usize) -> Result<usize, Refusal> {
        let mut slots = self.slots.borrow_mut();
        while slots.slots.len() <= number {
            self.map(&mut slots)?;
        }
        Ok(slots.slots[number].0)
    }

    /// Takes the slot with this number, or another one if a rank has that.
    pub(crate) fn take(&self, number: usize) -> Result<Slot, Refusal> {
        let mut slots = self.slots.borrow_mut();
        let is_free = |slots: &Slots, number: usize| {
            let slot = slots.slots.get(number);
            slot.is_none_or(|(_, state)| *state != SlotState::Taken)
        };
        let mut number = number;
        if !is_free(&slots, number) {
            let count = slots.slots.len();
            number = (0..count).find(|it| is_free(&slots, *it)).unwrap_or(count);
        }
        while slots.slots.len() <= number {
            self.map(&mut slots)?;
        }
        let (address, state) = &mut slots.slots[number];
        let is_fresh = *state == SlotState::Fresh;
        *state = SlotState::Taken;
        let address = *address;
        let text = self
            .text
            .as_ref()
            .filter(|_| slots.is_special(address, self.length));
        Ok(Slot {
            number,
            address,
            is_fresh,
            text: text.map_or(0, |text| text.length),
        })
    }

    /// Returns true if the lowest page of a slot cannot be accessed.
    pub(crate) fn has_guard(&self, address: usize) -> bool {
        self.slots.borrow().is_special(address, self.length)
    }

    /// Takes a slot back.
    pub(crate) fn give_back(&self, slot: &Slot) {
        self.slots.borrow_mut().slots[slot.number].1 = SlotState::Used;
    }

    fn map(&self, slots: &mut Slots) -> Result<(), Refusal> {
        let before = slots.slots.len();
        let count = before.clamp(1, CHUNK_MAX);
        let bytes = count * self.length;
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (address, protection, what) = match self.purpose {
            Purpose::Image => {
                let what = "images of ranks, which have to be executable";
                let at = IMAGES_AT + before * self.length;
                (at, read | write | libc::PROT_EXEC, what)
            }
            Purpose::Stack => {
                let at = STACKS_AT + before * self.length;
                (at, read | write, "stacks of ranks")
            }
            Purpose::Heap => {
                flags |= libc::MAP_FIXED_NOREPLACE;
                let at = NEXT_HEAP.fetch_add(bytes, Ordering::Relaxed);
                (at, read | write, "heaps of ranks")
            }
        };
        let wanted = address as *mut libc::c_void;
        // SAFETY: a new anonymous mapping where there is room touches no other memory.
        let start = unsafe { libc::mmap(wanted, bytes, protection, flags, -1, 0) };
        let is_outside = self.purpose == Purpose::Heap
            && (start != wanted || address.saturating_add(bytes) > HEAPS.end);
        if start == libc::MAP_FAILED || is_outside {
            let error = std::io::Error::last_os_error();
            return Err(Refusal(format!(
                "cannot map {bytes} bytes at {address:#x} for {what}: {error}"
            )));
        }
        // SAFETY: the range is the mapping that was just made. Without the advice ranks only take
        // more memory.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = start as usize;
        let mut guarded = 0;
        for slot in 0..count {
            let address = start + slot * self.length;
            if self.purpose == Purpose::Stack && before + slot < GUARDED_MAX {
                let page = PAGE as usize;
                // SAFETY: the lowest page of a slot of the mapping that was just made, which no
                // stack uses. Where it cannot be protected, the word at the end is compared.
                let set =
                    unsafe { libc::mprotect(address as *mut libc::c_void, page, libc::PROT_NONE) };
                guarded += usize::from(set == 0 && guarded == slot);
            }
            if let Some(text) = self.text.as_ref().filter(|_| before + slot < SHARED_MAX)
                && guarded == slot
            {
                guarded += usize::from(text.map(address));
            }
            slots.slots.push((address, SlotState::Fresh));
        }
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
