//! The loader: gives each rank a separate image of a program, in this process.
//!
//! Linking binds each symbol once: to a function of this crate, or to the system libraries, which
//! all ranks share. Functions of MPI are entered through a thunk in the image that stores the
//! return address, so that the line of a call in the program is known. A new image is a copy of the
//! template with the base address added to each pointer. When an image is used again, its writable
//! pages are restored.
//!
//! Shared libraries that belong to the program are parts of the image, behind the program.
//!
//! *Not done*: write protection of the text of libraries; `dlopen`, with which ranks share a
//! library.

#![expect(
    unsafe_code,
    reason = "images are memory that compiled code executes in"
)]

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use elf::{Functions, PAGE, Refusal};

pub(crate) mod exceptions;
pub(crate) mod heap;
pub(crate) mod libraries;
pub(crate) mod linking;
pub(crate) mod memory;
pub(crate) mod shared;

use linking::{InitialValue, Linked};
use memory::{HEAP, MemorySlot, Pool, Purpose};
use shared::SharedMemories;

/// Pages that are zeroed by the system instead of by writing, from this number of bytes on.
const DISCARDED_MIN: usize = 1 << 20;

/// Names of the copies of the buffers of `std::cin` and `std::wcin`, and the offset of their stream
/// of C.
const INPUT_BUFFERS: [&str; 2] = ["std::cin.rdbuf()", "std::wcin.rdbuf()"];
const INPUT_FILE: u64 = 64;

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an image fits into memory")
}

/// Memory for the ranks of a program that run on one thread.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) linked: Arc<Linked>,
    /// Dropped before the memory to which the registrations refer.
    registered: RefCell<Vec<exceptions::Registered>>,
    images: Pool,
    pub(crate) stacks: Pool,
    heaps: Pool,
    /// Places in images, and addresses of this thread that they have.
    values: Vec<(u64, u64)>,
    pub(crate) shared: SharedMemories,
}

impl Memory {
    pub(crate) fn new(linked: Arc<Linked>, stack: usize) -> Self {
        Self {
            images: Pool::new(
                Purpose::Image,
                linked.thunks.len() + index(linked.length),
                linked.text.clone(),
            ),
            stacks: Pool::new(Purpose::Stack, stack, None),
            heaps: Pool::new(Purpose::Heap, HEAP, None),
            shared: SharedMemories::default(),
            // Linking has found the same symbols.
            values: linked.values_of_thread().unwrap_or_default(),
            linked,
            registered: RefCell::default(),
        }
    }
}

impl Memory {
    /// Returns the address of the image of a rank.
    pub(crate) fn image_address(&self, rank: usize) -> Result<usize, Refusal> {
        Ok(self.images.slot_address(rank)? + self.linked.thunks.len())
    }
}

/// The image of a rank.
#[derive(Debug)]
pub(crate) struct Image {
    base: usize,
    slot: MemorySlot,
    memory: Rc<Memory>,
}

type Initializer = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);

impl Image {
    /// Makes the image of a rank with the initial content.
    pub(crate) fn new(memory: &Rc<Memory>, rank: usize) -> Result<Self, Refusal> {
        let slot = memory.images.take_slot(rank)?;
        let base = slot.address + memory.linked.thunks.len();
        let is_zero = slot.is_fresh;
        let image = Self {
            base,
            slot,
            memory: Rc::clone(memory),
        };
        image.fill_image(is_zero);
        if let Some(exceptions) = memory.linked.exceptions.as_ref().filter(|_| is_zero) {
            let registered = exceptions.register_frames(base);
            memory.registered.borrow_mut().extend(registered);
        }
        Ok(image)
    }

    fn pointer_at<T>(&self, offset: u64) -> *mut T {
        (self.base + index(offset)) as *mut T
    }

    fn fill_image(&self, is_zero: bool) {
        let linked = &*self.memory.linked;
        // SAFETY: the slot has the thunks and then `linked.length` bytes, of which each range below
        // is a part: the reader of the file has checked segments and relocations against the
        // length, and variables behind them were counted into it. The slot belongs to this image
        // alone, and no Rust reference to it exists. Sources of copied variables are objects of
        // shared libraries that stay loaded, and are as long.
        unsafe {
            let thunks = &linked.thunks;
            if is_zero && self.slot.text == 0 {
                let place = self.slot.address as *mut u8;
                ptr::copy_nonoverlapping(thunks.as_ptr(), place, thunks.len());
            }
            for part in &linked.parts {
                let (bytes, start) = (&part.bytes, part.start);
                if is_zero {
                    // The shared text is there, at the beginning of the first file.
                    let is_program = start == 0;
                    let text = self.slot.text.saturating_sub(thunks.len());
                    let text = if is_program { text } else { 0 };
                    let rest = bytes.get(text..).unwrap_or_default();
                    ptr::copy_nonoverlapping(
                        rest.as_ptr(),
                        self.pointer_at(text as u64 + start),
                        rest.len(),
                    );
                    continue;
                }
                for range in &part.writable {
                    let end = bytes.len().min(index(range.end - start));
                    let content = bytes.get(index(range.start - start)..end);
                    let content = content.unwrap_or_default();
                    ptr::copy_nonoverlapping(
                        content.as_ptr(),
                        self.pointer_at(range.start),
                        content.len(),
                    );
                    let start = range.start + content.len() as u64;
                    zero_memory(self.pointer_at(start), index(range.end - start));
                }
            }
            for &(offset, addend) in &linked.relative {
                let value = (self.base as u64).wrapping_add_signed(addend);
                ptr::write_unaligned(self.pointer_at(offset), value);
            }
            for &(offset, source, length) in &linked.copied {
                let source = match source {
                    InitialValue::Shared(address) => address as *const u8,
                    InitialValue::Own(offset) => self.pointer_at(offset),
                };
                ptr::copy_nonoverlapping(source, self.pointer_at(offset), index(length));
            }
            for &(offset, addend) in &linked.moved {
                let value = (self.base as u64).wrapping_add_signed(addend);
                ptr::write_unaligned(self.pointer_at(offset), value);
            }
            // After relocation; the rest of a block is zero.
            for &(start, (source, length)) in &linked.thread_locals {
                let source: *const u8 = self.pointer_at(source);
                ptr::copy_nonoverlapping(source, self.pointer_at(start), index(length));
            }
            for &(offset, value) in &self.memory.values {
                ptr::write_unaligned(self.pointer_at(offset), value);
            }
        }
        self.set_environment(environment());
        self.set_variable("optarg", 0_u64);
        self.set_variable("opterr", 1_i32);
        self.set_variable("optind", 1_i32);
        self.set_variable("optopt", i32::from(b'?'));
    }

    /// Sets the list of entries of the environment of the rank.
    pub(crate) fn set_environment(&self, entries: *mut *mut c_char) {
        for name in ["__environ", "_environ", "environ"] {
            self.set_variable(name, entries as u64);
        }
    }

    /// Sets the standard input of the rank.
    pub(crate) fn set_input(&self, stream: *mut libc::FILE) {
        self.set_variable("stdin", stream as u64);
        let variables = &self.memory.linked.variables;
        for place in INPUT_BUFFERS.iter().filter_map(|name| variables.get(name)) {
            // SAFETY: the copy of the buffer is in the image, and only this rank uses it.
            unsafe { ptr::write_unaligned(self.pointer_at(place + INPUT_FILE), stream as u64) };
        }
    }

    /// Returns the place of a variable that each rank has for itself.
    pub(crate) fn variable<T>(&self, name: &str) -> *mut T {
        self.pointer_at(self.memory.linked.variables[name])
    }

    fn set_variable<T>(&self, name: &str, value: T) {
        // SAFETY: the place is in the image, as long as the variable, and only this rank uses it.
        unsafe { ptr::write_unaligned(self.variable(name), value) }
    }

    /// Returns the offset in the image to which the latest call of MPI returns.
    pub(crate) fn caller(&self) -> Option<u64> {
        // SAFETY: the word is in the image, and thunks of this rank alone write it.
        self.offset_of(unsafe { ptr::read(self.pointer_at(self.memory.linked.caller)) })
    }

    /// Sets the address to which the latest call of the program returns.
    pub(crate) fn set_caller(&self, address: usize) {
        // SAFETY: as above.
        unsafe { ptr::write(self.pointer_at(self.memory.linked.caller), address) };
    }

    /// Returns the number of basic blocks since this was asked before.
    pub(crate) fn take_blocks(&self) -> u64 {
        // SAFETY: the word is in the image, and only code of this rank writes it.
        let blocks = |offset| unsafe { ptr::replace(self.pointer_at(offset), 0) };
        self.memory.linked.blocks.map_or(0, blocks)
    }

    /// Returns the offset of an address in the image.
    pub(crate) fn offset_of(&self, address: usize) -> Option<u64> {
        let offset = address.checked_sub(self.base)? as u64;
        (offset < self.memory.linked.length).then_some(offset)
    }

    /// Starts the program on this stack. The initial stack is as the system makes it, but without
    /// the arguments: the function that `_start` calls takes the arguments from the rank.
    pub(crate) fn enter_program(&self) -> ! {
        let entry: *mut c_void = self.pointer_at(self.memory.linked.entry);
        // SAFETY: the address is in the text of the image of this rank, on whose stack this runs.
        // `_start` expects argc 0, two empty lists and a stack aligned to 16 bytes, and does not
        // return; nothing here waits to be dropped.
        unsafe {
            std::arch::asm!(
                "and rsp, -16",
                "push 0",
                "push 0",
                "push 0",
                "push 0",
                "xor ebp, ebp",
                "xor edx, edx",
                "jmp {entry}",
                entry = in(reg) entry,
                options(noreturn),
            )
        }
    }

    /// Runs the constructors of the program and of the libraries. Runs only the constructors of the
    /// libraries if the program calls its own constructors.
    pub(crate) fn run_constructors(
        &self,
        (argc, argv, envp): (c_int, *mut *mut c_char, *mut *mut c_char),
        of_libraries: bool,
    ) {
        let all = &self.memory.linked.functions;
        let count = all.len() - usize::from(of_libraries);
        for [before, _] in all.iter().take(count) {
            for address in self
                .single(before)
                .into_iter()
                .chain(self.listed_functions(before))
            {
                // SAFETY: a function of a list of constructors, whose pointers are relocated,
                // called as the C library calls it, on the stack of this rank.
                let function: Initializer = unsafe { std::mem::transmute(address) };
                function(argc, argv, envp);
            }
        }
    }

    /// Runs the destructors of the program and of the libraries, in reverse order.
    pub(crate) fn run_destructors(&self) {
        for [_, after] in self.memory.linked.functions.iter().rev() {
            for address in self.listed_functions(after).rev().chain(self.single(after)) {
                // SAFETY: as for constructors.
                let function: extern "C" fn() = unsafe { std::mem::transmute(address) };
                function();
            }
        }
    }

    fn single(&self, functions: &Functions) -> Option<usize> {
        let address = self.pointer_at::<u8>(functions.single) as usize;
        (functions.single != 0).then_some(address)
    }

    fn listed_functions(&self, functions: &Functions) -> impl DoubleEndedIterator<Item = usize> {
        let (start, count) = functions.array;
        (0..count).filter_map(move |number| {
            // SAFETY: the reader of the file has checked that the list is in a segment.
            let address: usize =
                unsafe { ptr::read_unaligned(self.pointer_at(start + number * 8)) };
            // -1 and 0 are empty entries.
            (address != 0 && address != usize::MAX).then_some(address)
        })
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.memory.images.give_back(&self.slot);
    }
}

/// Sets memory to zero; long ranges by giving their pages back.
///
/// # Safety
/// The range is writable memory of an anonymous mapping.
unsafe fn zero_memory(start: *mut u8, length: usize) {
    let page = index(PAGE);
    let first = (start as usize).next_multiple_of(page);
    let (head, end) = (first - start as usize, start as usize + length);
    if length < DISCARDED_MIN {
        // SAFETY: the caller's contract.
        unsafe { ptr::write_bytes(start, 0, length) };
        return;
    }
    // SAFETY: the caller's contract; the pages between are whole and of an anonymous mapping, so
    // they are zero when they are touched again. `end` is the end of a page.
    unsafe {
        ptr::write_bytes(start, 0, head);
        if libc::madvise(first as *mut c_void, end - first, libc::MADV_DONTNEED) != 0 {
            ptr::write_bytes(first as *mut u8, 0, end - first);
        }
    }
}

/// Returns the environment of the process.
pub(crate) fn environment() -> *mut *mut c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: the variable of the C library; nobody in this process changes its environment while
    // ranks run.
    unsafe { environ }
}

#[cfg(test)]
mod tests;
