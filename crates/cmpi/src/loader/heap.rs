//! Heaps of ranks under a model checker: memory that a program allocates is in a slot of the rank,
//! and all this memory becomes free when the rank ends, in whatever way it ends.
//!
//! Each block has a header of 16 bytes and one of few lengths; a freed block is used again for the
//! same length. So addresses are the same in each execution. A wrong call of `free` is reported
//! instead of destroying the heap. Lists of free blocks are checked before use, since the program
//! can write to free blocks.
//!
//! *Not there*: memory that system libraries allocate themselves, for example for open files; this
//! memory stays until the end of the process.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use super::memory::{HEAP, HEAPS, MemorySlot};
use super::{Memory, zero_memory};
use elf::Refusal;

/// Length of a header, and alignment of blocks, in bytes.
const HEADER: usize = 16;

/// Offset of the first block.
const FIRST: usize = 4096;

/// Largest length of blocks that differ by 16 bytes.
const SMALL_MAX: usize = 1024;

/// Number of lengths up to [`SMALL_MAX`].
const SMALL: usize = SMALL_MAX / HEADER;

/// Number of lengths of blocks: beyond the small ones, four for each doubling up to a heap.
const CLASSES: usize = SMALL + 4 * (HEAP.ilog2() - SMALL_MAX.ilog2()) as usize;

const ALLOCATED: u32 = 0x5349_4d41;
const FREED: u32 = 0x5349_4d46;

/// Begin of a heap.
#[repr(C)]
struct Control {
    /// Bytes of the heap that are in use or have been.
    top: usize,
    /// First free block of each length, or 0; a payload begins with the address of the next block.
    free: [usize; CLASSES],
}

/// Words before the memory that a program gets.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    state: u32,
    class: u32,
    /// Bytes from the begin of the block.
    distance: u32,
    /// Bytes at the end of the block that the program has not asked for.
    rest: u32,
}

impl Header {
    fn new(class: usize, distance: usize, bytes: usize) -> Self {
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            state: ALLOCATED,
            class: small(class),
            distance: small(distance),
            rest: small(length_of(class).saturating_sub(distance + bytes)),
        }
    }

    const fn block_distance(self) -> usize {
        self.distance as usize
    }
}

/// Error of a program in the use of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapError {
    /// The address was not allocated, or the header before the address was overwritten.
    Invalid,
    Freed,
    /// A free block was written to.
    Corrupted,
}

impl HeapError {
    /// Returns the message for the error, in the words of the GNU C library.
    pub(crate) const fn error_text(self) -> &'static str {
        match self {
            Self::Invalid => "invalid pointer",
            Self::Freed => "double free detected",
            Self::Corrupted => "corrupted heap: memory was written after it was freed",
        }
    }
}

/// Returns the length of blocks of a class, with their headers.
const fn length_of(class: usize) -> usize {
    if class < SMALL {
        return (class + 1) * HEADER;
    }
    let (doubling, quarter) = ((class - SMALL) / 4, (class - SMALL) % 4);
    let base = SMALL_MAX << doubling;
    base + base / 4 * (quarter + 1)
}

/// Returns the class of the shortest blocks of at least this length.
const fn class_of(length: usize) -> usize {
    if length <= SMALL_MAX {
        return length.div_ceil(HEADER) - 1;
    }
    let doubling = (length - 1).ilog2() - SMALL_MAX.ilog2();
    let base = SMALL_MAX << doubling;
    SMALL + 4 * doubling as usize + (length - 1 - base) / (base / 4)
}

/// The heap of a rank, represented by the address of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Heap(usize);

impl Heap {
    /// Returns the heap that contains an address, or `None`.
    pub(crate) fn from_address(address: usize) -> Option<Self> {
        let is_there = HEAPS.contains(&address);
        is_there.then_some(Self(address / HEAP * HEAP))
    }

    const fn control(self) -> *mut Control {
        self.0 as *mut Control
    }

    /// Returns true if a block, with a header before the block, can be at an address.
    fn has_block(self, address: usize) -> bool {
        // SAFETY: the heap is mapped as long as a pool has its slot, and is only used while its
        // rank is.
        let top = unsafe { (*self.control()).top };
        (self.0 + FIRST..self.0 + top.min(HEAP)).contains(&address)
            && address.is_multiple_of(HEADER)
    }

    /// Allocates memory that is aligned to a power of 2; 0 if there is not enough.
    pub(crate) fn allocate(self, bytes: usize, alignment: usize) -> Result<usize, HeapError> {
        let extra = if alignment <= HEADER { 0 } else { alignment };
        let length = bytes.saturating_add(HEADER).saturating_add(extra);
        if length > HEAP / 2 {
            return Ok(0);
        }
        let class = class_of(length.max(2 * HEADER));
        let control = self.control();
        // SAFETY: as in `has_block`; nothing else uses the begin of the heap meanwhile.
        let found = unsafe { (*control).free[class] };
        let block = if found == 0 {
            // SAFETY: as above.
            let top = unsafe { (*control).top }.max(FIRST);
            let end = top + length_of(class);
            if end > HEAP {
                return Ok(0);
            }
            // SAFETY: as above.
            unsafe { (*control).top = end };
            self.0 + top
        } else {
            if !self.has_block(found) {
                return Err(HeapError::Corrupted);
            }
            let freed = self.header(found);
            let distances = HEADER..length_of(class);
            let payload = found + freed.block_distance();
            if freed.state != FREED
                || !distances.contains(&freed.block_distance())
                || !self.has_block(payload)
            {
                return Err(HeapError::Corrupted);
            }
            let before = payload - HEADER;
            // SAFETY: the block is in the heap, and has room for a word after each header. A header
            // at another distance must not be taken for one of this block.
            unsafe {
                (*control).free[class] = ptr::read(payload as *const usize);
                if before != found && self.has_block(before) {
                    ptr::write(before as *mut u32, 0);
                }
            }
            found
        };
        let address = (block + HEADER).next_multiple_of(alignment.max(HEADER));
        let header = Header::new(class, address - block, bytes);
        // SAFETY: the header is in the block.
        unsafe { ptr::write((address - HEADER) as *mut Header, header) };
        Ok(address)
    }

    /// Returns the words at an address in the heap.
    fn header(self, address: usize) -> Header {
        debug_assert!(self.has_block(address));
        // SAFETY: the address is in the heap and aligned; any bytes are such words.
        unsafe { ptr::read(address as *const Header) }
    }

    /// Returns the header of memory that is allocated.
    fn allocated(self, address: usize) -> Result<Header, HeapError> {
        if !address.is_multiple_of(HEADER) || !self.has_block(address.wrapping_sub(HEADER)) {
            return Err(HeapError::Invalid);
        }
        let header = self.header(address - HEADER);
        let class = header.class as usize;
        let is_whole = class < CLASSES
            && (HEADER..length_of(class)).contains(&header.block_distance())
            && self.has_block(address.wrapping_sub(header.block_distance()));
        match header.state {
            ALLOCATED if is_whole => Ok(header),
            FREED if is_whole => Err(HeapError::Freed),
            _ => Err(HeapError::Invalid),
        }
    }

    /// Returns the number of bytes that a program may use at an address.
    pub(crate) fn usable(self, address: usize) -> Result<usize, HeapError> {
        let header = self.allocated(address)?;
        Ok(length_of(header.class as usize) - header.block_distance())
    }

    /// The same for a program that asks for this number: from now on the program has asked for all
    /// of these bytes.
    pub(crate) fn grant_usable(self, address: usize) -> Result<usize, HeapError> {
        let header = Header {
            rest: 0,
            ..self.allocated(address)?
        };
        // SAFETY: the header of a block that was found in the heap.
        unsafe { ptr::write((address - HEADER) as *mut Header, header) };
        self.usable(address)
    }

    /// Returns the number of bytes that a program has asked for at an address.
    pub(crate) fn asked_length(self, address: usize) -> Result<usize, HeapError> {
        let rest = self.allocated(address)?.rest as usize;
        Ok(self.usable(address)?.saturating_sub(rest))
    }

    /// Frees memory.
    pub(crate) fn free(self, address: usize) -> Result<(), HeapError> {
        let header = self.allocated(address)?;
        let block = address - header.block_distance();
        let freed = Header {
            state: FREED,
            ..header
        };
        let class = header.class as usize;
        // SAFETY: the block was found in the heap, whose program has given it up.
        unsafe {
            ptr::write((address - HEADER) as *mut Header, freed);
            ptr::write(block as *mut Header, freed);
            let first = &raw mut (*self.control()).free[class];
            // Behind both headers.
            ptr::write(address as *mut usize, *first);
            *first = block;
        }
        Ok(())
    }

    /// Changes the length of memory, which may move.
    pub(crate) fn reallocate(self, address: usize, bytes: usize) -> Result<usize, HeapError> {
        let (usable, header) = (self.usable(address)?, self.allocated(address)?);
        if bytes <= usable && bytes >= usable / 2 {
            let header = Header::new(header.class as usize, header.block_distance(), bytes);
            // SAFETY: the header of a block that was found in the heap.
            unsafe { ptr::write((address - HEADER) as *mut Header, header) };
            return Ok(address);
        }
        let new = self.allocate(bytes, HEADER)?;
        if new != 0 {
            // SAFETY: both are allocated, at least as long, and not the same.
            unsafe {
                ptr::copy_nonoverlapping(address as *const u8, new as *mut u8, bytes.min(usable));
            }
            self.free(address)?;
        }
        Ok(new)
    }
}

/// The slot of the heap of a rank; a new slot is filled with zeros.
#[derive(Debug)]
pub(crate) struct HeapSlot {
    slot: MemorySlot,
    memory: Rc<Memory>,
}

impl HeapSlot {
    /// Takes the slot of a rank.
    pub(crate) fn new(memory: &Rc<Memory>, rank: usize) -> Result<Self, Refusal> {
        Ok(Self {
            slot: memory.heaps.take_slot(rank)?,
            memory: Rc::clone(memory),
        })
    }

    pub(crate) const fn heap(&self) -> Heap {
        Heap(self.slot.address)
    }
}

impl Drop for HeapSlot {
    fn drop(&mut self) {
        let heap = self.heap();
        // SAFETY: the heap is mapped; its rank has ended, so no program has an address in it.
        unsafe {
            let top = (*heap.control()).top.min(HEAP);
            zero_memory(heap.0 as *mut u8, top.max(FIRST));
        }
        self.memory.heaps.give_back(&self.slot);
    }
}

unsafe extern "C" {
    fn __libc_free(address: *mut c_void);
    fn __libc_realloc(address: *mut c_void, bytes: usize) -> *mut c_void;
}

/// `free` of this process, which replaces `free` of the C library: libraries also free memory that
/// a program has allocated, such as the memory of a string.
#[unsafe(no_mangle)]
extern "C" fn free(address: *mut c_void) {
    match Heap::from_address(address as usize) {
        // A mistake of a library is not that of the program.
        Some(heap) => drop(heap.free(address as usize)),
        // SAFETY: the caller's contract, which is that of the C library.
        None => unsafe { __libc_free(address) },
    }
}

/// `realloc` of this process, for the same reason.
#[unsafe(no_mangle)]
extern "C" fn realloc(address: *mut c_void, bytes: usize) -> *mut c_void {
    match Heap::from_address(address as usize) {
        Some(heap) => heap
            .reallocate(address as usize, bytes)
            .map_or(ptr::null_mut(), |new| new as *mut c_void),
        // SAFETY: as above.
        None => unsafe { __libc_realloc(address, bytes) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_has_a_class_that_holds_it() {
        let mut before = 0;
        for class in 0..CLASSES {
            let length = length_of(class);
            assert_eq!(class_of(length), class, "{length}");
            assert_eq!(class_of(before + 1), class, "{before}");
            assert!(length > before && length.is_multiple_of(HEADER));
            before = length;
        }
        assert_eq!(before, HEAP);
        assert!(size_of::<Control>() <= FIRST);
    }

    /// Aligned memory is 16 bytes behind the begin of the block, or more.
    #[test]
    fn a_freed_block_keeps_its_header_at_each_distance() {
        let mut memory: Vec<u128> = vec![0; 1 << 16];
        let heap = Heap((memory.as_mut_ptr() as usize).next_multiple_of(1 << 12));
        let mut distances = Vec::new();
        for alignment in [16, 32, 64, 128] {
            // Blocks of another length in between move the begin of the next block.
            let blocks: Vec<usize> = (0..8)
                .map(|_| {
                    heap.allocate(1, HEADER).unwrap();
                    heap.allocate(100, alignment).unwrap()
                })
                .collect();
            for address in &blocks {
                distances.push(heap.allocated(*address).unwrap().block_distance());
                heap.free(*address).unwrap();
                assert_eq!(heap.asked_length(*address), Err(HeapError::Freed));
                assert_eq!(heap.free(*address), Err(HeapError::Freed));
            }
            // The block that was freed last is used first.
            for address in blocks.into_iter().rev() {
                assert_eq!(heap.allocate(100, alignment), Ok(address));
                assert_eq!(heap.asked_length(address), Ok(100));
            }
        }
        assert!(
            [16, 32, 64, 96].iter().all(|it| distances.contains(it)),
            "{distances:?}"
        );
    }
}
