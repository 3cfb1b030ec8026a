//! Memory for images, stacks and heaps: slots of one length, in few mappings, which later ranks use
//! again.
//!
//! A rank gets the slot of its number, so that addresses are the same in each execution of a
//! program. Addresses are also the same in each process if the system can place the first mapping
//! of a kind at its usual address.
//!
//! The text of a program is the same in all images: the text is mapped from one memory file, which
//! the processor caches once, and cannot be written.
//!
//! A stack has a guard below: a range of addresses that belongs to no other slot. The guard is
//! longer than a frame, so that a function with large local variables does not reach the stack of
//! another rank. The guard cannot be accessed as long as the system has mappings left for that;
//! beyond this limit, a word at the end of the stack is compared whenever the rank waits.

use std::cell::RefCell;
use std::ffi::c_void;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::index;
use elf::{PAGE, Refusal};

/// Number of stacks with a guard that cannot be accessed: each needs two of 65,530 mappings. A
/// multiple of [`CHUNK_MAX`].
const GUARDED_MAX: usize = 16 * CHUNK_MAX;

/// Length of the guard of a stack in bytes. Our choice: with this guard and stacks of 8 MiB, eight
/// stacks are in the addresses of one table of the system, which has 512 entries of 2 MiB. A longer
/// guard, with a table for each stack, makes the start of a rank a fifth longer.
const GUARD: usize = 120 << 20;

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

/// Addresses of images and of stacks, if there is room. The system places executables with their
/// heaps from two thirds of all addresses on, and everything else from the highest address
/// downwards: stacks are between the two.
const IMAGES_AT: usize = 0x1000_0000_0000;
const STACKS_AT: usize = 0x5800_0000_0000;

/// Addresses that only heaps use: so the address of a freed block shows that a heap had the block.
pub(crate) const HEAPS: Range<usize> = 0x2000_0000_0000..0x5000_0000_0000;

/// Length of a heap in bytes. A rank occupies only the pages that it uses.
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
    /// Makes the file; `None` if there is no whole page to share or the system has no memory files.
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
    fn map_text(&self, address: usize) -> bool {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let (start, file) = (address as *mut c_void, self.file.as_raw_fd());
        // SAFETY: the range is in a slot of a mapping that was just made, and nobody uses it.
        let mapped = unsafe { libc::mmap(start, self.length, protection, flags, file, 0) };
        mapped == start
    }
}

/// Returns true if the user has limited the addresses of the process (`ulimit -v`).
fn are_addresses_limited() -> bool {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the function fills the place; all zero is a limit, too.
    let limit = unsafe {
        libc::getrlimit(libc::RLIMIT_AS, limit.as_mut_ptr());
        limit.assume_init()
    };
    limit.rlim_cur != libc::RLIM_INFINITY
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
    /// Length of the guard of each slot in bytes; 0 except for stacks.
    guard: usize,
    /// Number of slots at the start of the chunk with a guard that cannot be accessed, or with the
    /// shared text.
    special: usize,
}

impl Chunk {
    fn contains(&self, address: usize) -> bool {
        (self.start..self.start + self.bytes).contains(&address)
    }
}

/// State of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotState {
    /// The slot was never used.
    Fresh,
    Taken,
    /// An earlier rank has used the slot.
    Used,
}

#[derive(Debug, Default)]
struct Slots {
    /// Addresses and states of all slots by their numbers.
    slots: Vec<(usize, SlotState)>,
    chunks: Vec<Chunk>,
}

impl Slots {
    /// Returns the length of the guard of a slot in bytes, and true if that cannot be accessed, or
    /// if the slot has the shared text.
    fn guard(&self, address: usize, length: usize) -> (usize, bool) {
        let chunk = self.chunks.iter().find(|chunk| chunk.contains(address));
        chunk.map_or((0, false), |chunk| {
            let number = (address - chunk.start) / (chunk.guard + length);
            (chunk.guard, number < chunk.special)
        })
    }

    /// Maps slots with a guard of this length in bytes below each, which cannot be accessed if
    /// `is_closed`.
    fn map_stacks(
        &mut self,
        (count, length): (usize, usize),
        guard: usize,
        is_closed: bool,
    ) -> io::Result<()> {
        let mapped: usize = self.chunks.iter().map(|chunk| chunk.bytes).sum();
        let bytes = count * (guard + length);
        let open = libc::PROT_READ | libc::PROT_WRITE;
        let protection = if is_closed { libc::PROT_NONE } else { open };
        let start = map_pages(STACKS_AT + mapped, bytes, protection, 0)?;
        let mut special = 0;
        for slot in (0..count).filter(|_| is_closed) {
            let end = start + (slot + 1) * (guard + length);
            // SAFETY: the slot is in the mapping that was just made.
            let is_open =
                unsafe { libc::mprotect((end - length) as *mut c_void, length, open) } == 0;
            if !is_open {
                // The system has no mapping left: the others have one together.
                let rest = end - guard - length;
                // SAFETY: as above.
                if unsafe { libc::mprotect(rest as *mut c_void, start + bytes - rest, open) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                break;
            }
            special += 1;
        }
        for slot in 0..count {
            let address = start + slot * (guard + length) + guard;
            self.slots.push((address, SlotState::Fresh));
        }
        self.chunks.push(Chunk {
            start,
            bytes,
            guard,
            special,
        });
        Ok(())
    }
}

/// Maps memory that occupies only the pages in use, at `address` if this address is free.
fn map_pages(address: usize, bytes: usize, protection: i32, flags: i32) -> io::Result<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let wanted = address as *mut c_void;
    // SAFETY: a new anonymous mapping where there is room touches no other memory.
    let start = unsafe { libc::mmap(wanted, bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the mapping that was just made. Without the advice ranks only take
    // more memory.
    unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(start as usize)
}

/// A slot that a rank has.
#[derive(Debug)]
pub(crate) struct MemorySlot {
    number: usize,
    pub(crate) address: usize,
    /// True if the slot was never used, so that its memory is zero.
    pub(crate) is_fresh: bool,
    /// Length of the shared text at the start of the slot in bytes.
    pub(crate) text: usize,
    /// Number of bytes below the slot that no other slot has, and true if they cannot be accessed.
    pub(crate) guard: (usize, bool),
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
    pub(crate) const fn slot_length(&self) -> usize {
        self.length
    }

    /// Returns the address of the slot with this number.
    pub(crate) fn slot_address(&self, number: usize) -> Result<usize, Refusal> {
        let mut slots = self.slots.borrow_mut();
        while slots.slots.len() <= number {
            self.map_slots(&mut slots)?;
        }
        Ok(slots.slots[number].0)
    }

    /// Takes the slot with this number, or another one if a rank has that.
    pub(crate) fn take_slot(&self, number: usize) -> Result<MemorySlot, Refusal> {
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
            self.map_slots(&mut slots)?;
        }
        let (address, state) = &mut slots.slots[number];
        let is_fresh = *state == SlotState::Fresh;
        *state = SlotState::Taken;
        let address = *address;
        let guard = slots.guard(address, self.length);
        let text = self.text.as_ref().filter(|_| guard.1);
        Ok(MemorySlot {
            number,
            address,
            is_fresh,
            text: text.map_or(0, |text| text.length),
            guard,
        })
    }

    /// Takes a slot back.
    pub(crate) fn give_back(&self, slot: &MemorySlot) {
        self.slots.borrow_mut().slots[slot.number].1 = SlotState::Used;
    }

    fn map_slots(&self, slots: &mut Slots) -> Result<(), Refusal> {
        let before = slots.slots.len();
        let count = before.clamp(1, CHUNK_MAX);
        let bytes = count * self.length;
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let refused = |what: &str, error: io::Error| {
            Refusal(format!("cannot map {bytes} bytes for {what}: {error}"))
        };
        let start = match self.purpose {
            Purpose::Image => {
                let at = IMAGES_AT + before * self.length;
                let mapped = map_pages(at, bytes, read | write | libc::PROT_EXEC, 0);
                mapped.map_err(|error| {
                    refused("images of ranks, which have to be executable", error)
                })?
            }
            Purpose::Stack => {
                let guard = match are_addresses_limited() {
                    true => index(PAGE),
                    false => GUARD,
                };
                let is_closed = before < GUARDED_MAX;
                return slots
                    .map_stacks((count, self.length), guard, is_closed)
                    // No more addresses.
                    .or_else(|_| slots.map_stacks((count, self.length), index(PAGE), is_closed))
                    .map_err(|error| refused("stacks of ranks", error));
            }
            Purpose::Heap => {
                let at = NEXT_HEAP.fetch_add(bytes, Ordering::Relaxed);
                let mapped = map_pages(at, bytes, read | write, libc::MAP_FIXED_NOREPLACE);
                let is_inside = |start: &usize| *start == at && at + bytes <= HEAPS.end;
                let mapped = mapped.and_then(|start| {
                    let outside = || io::Error::other("no room in the range of heaps");
                    Some(start).filter(is_inside).ok_or_else(outside)
                });
                mapped.map_err(|error| refused("heaps of ranks", error))?
            }
        };
        let mut special = 0;
        for slot in 0..count {
            let address = start + slot * self.length;
            if let Some(text) = self.text.as_ref().filter(|_| before + slot < SHARED_MAX)
                && special == slot
            {
                special += usize::from(text.map_text(address));
            }
            slots.slots.push((address, SlotState::Fresh));
        }
        slots.chunks.push(Chunk {
            start,
            bytes,
            guard: 0,
            special,
        });
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for &Chunk { start, bytes, .. } in &self.slots.borrow().chunks {
            // SAFETY: the mapping is one of this pool. Ranks hold the pool as long as they use
            // a slot of it, so nobody uses it any more.
            unsafe { libc::munmap(start as *mut c_void, bytes) };
        }
    }
}
