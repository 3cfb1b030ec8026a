//! The loader: gives each rank its own image of a program, in this process.
//!
//! Linking binds each symbol once: to a function of this crate, or to the libraries of the system,
//! which all ranks share. Functions of MPI are entered through a thunk in the image that stores
//! the return address, so that a call has a place in the program. A new image is a copy of the
//! template with the base added where a pointer is; an image that is used again gets its writable
//! pages back.
//!
//! *Not done*: write protection of the text; shared libraries of the program's own, which are
//! refused.

#![expect(
    unsafe_code,
    reason = "images are memory that compiled code executes in"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use crate::elf::{Functions, PAGE, Refusal, Template};
use crate::exports;
use crate::exports::shared::SharedMemories;

pub(crate) mod exceptions;
pub(crate) mod heap;
pub(crate) mod memory;

use exceptions::Exceptions;
use memory::{HEAP, Pool, Purpose, Slot};

/// Alignment of what is added to an image, in bytes.
const ALIGNMENT: u64 = 64;

/// Length of a thunk in bytes.
const THUNK: u64 = 32;

/// Beginnings of the names of libraries that ranks share.
const SYSTEM_LIBRARIES: &[&str] = &[
    "ld-linux-x86-64.so.",
    "libblas.so.",
    "libc.so.",
    "libdl.so.",
    "libgcc_s.so.",
    "liblapack.so.",
    "libm.so.",
    "libpthread.so.",
    "librt.so.",
    "libstdc++.so.",
    "libz.so.",
];

/// The function that a program calls in each basic block (`-fsanitize-coverage=trace-pc`).
pub(crate) const COUNTER: &str = "__sanitizer_cov_trace_pc";

/// Variables of the C library that each rank has for itself.
const VARIABLES: &[&str] = &[
    "__environ",
    "_environ",
    "environ",
    "optarg",
    "opterr",
    "optind",
    "optopt",
    "stdin",
];

/// Pages that are zeroed by the system instead of by writing, from this number of bytes on.
const DISCARDED_MIN: usize = 1 << 20;

/// A program whose symbols are bound.
#[derive(Debug)]
pub(crate) struct Linked {
    /// The first bytes of an image, before the base is added.
    bytes: Vec<u8>,
    /// Thunks, and the offset where they are.
    thunks: Vec<u8>,
    thunks_at: u64,
    /// Length of an image in bytes.
    length: u64,
    writable: Vec<Range<u64>>,
    relative: Vec<(u64, i64)>,
    /// Places of variables, where their first values are, and their lengths.
    copied: Vec<(u64, usize, u64)>,
    variables: BTreeMap<&'static str, u64>,
    /// Place of the return address of the latest call of MPI.
    caller: u64,
    /// Place of the number of basic blocks that were executed, of a program that counts them.
    blocks: Option<u64>,
    entry: u64,
    before: Functions,
    after: Functions,
    /// For a program in C++.
    pub(crate) exceptions: Option<Exceptions>,
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("an image fits into memory")
}

impl Linked {
    /// Loads the libraries of a program and binds its symbols.
    pub(crate) fn new(template: &Template) -> Result<Self, Refusal> {
        exports::streams::install();
        load_libraries(&template.needed)?;
        let exceptions = Exceptions::of(template);
        let imports = template.imports.iter();
        let functions: BTreeMap<&str, exports::LocatedFunction> = imports
            .filter_map(|import| {
                let name = import.name.as_str();
                Some((name, exports::located_function(name)?))
            })
            .collect();
        // Behind the last segment, mostly in the same page.
        let data = template.length.next_multiple_of(ALIGNMENT);
        let thunks_at = (data + 8 * (2 + VARIABLES.len() as u64)).next_multiple_of(ALIGNMENT);
        let counts = template.imports.iter().any(|import| import.name == COUNTER);
        let length = thunks_at + (functions.len() as u64 + 1) * THUNK;
        let mut linked = Self {
            bytes: template.bytes.clone(),
            thunks: Vec::new(),
            thunks_at,
            length: length.next_multiple_of(PAGE),
            writable: template.writable.clone(),
            relative: template.relative.clone(),
            copied: Vec::new(),
            variables: BTreeMap::new(),
            caller: data,
            blocks: counts.then_some(data + 8),
            entry: template.entry,
            before: template.before.clone(),
            after: template.after.clone(),
            exceptions,
        };
        linked.writable.push(data..thunks_at);
        linked.place_variables(template, data + 16)?;
        let mut inside: BTreeMap<&str, u64> = linked.variables.clone();
        for (name, function) in functions {
            let offset = thunks_at + linked.thunks.len() as u64;
            inside.insert(name, offset);
            linked.thunks.extend(thunk(function, offset - data));
        }
        if counts {
            let offset = thunks_at + linked.thunks.len() as u64;
            inside.insert(COUNTER, offset);
            linked.thunks.extend(counter(offset - (data + 8)));
        }
        for import in &template.imports {
            let place = (import.offset, import.addend);
            match inside.get(import.name.as_str()) {
                Some(offset) => {
                    let value = i64::try_from(*offset).expect("an image is short");
                    let value = value.wrapping_add(import.addend);
                    linked.relative.push((import.offset, value));
                }
                None => linked.bind(place, resolve(&import.name, import.is_weak)?)?,
            }
        }
        Ok(linked)
    }

    /// Returns true if the program counts its basic blocks.
    pub(crate) const fn counts_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// Stores the address of a shared function or variable.
    fn bind(&mut self, (offset, addend): (u64, i64), address: usize) -> Result<(), Refusal> {
        let value = (address as u64).wrapping_add_signed(addend);
        let start = index(offset);
        let place = self.bytes.get_mut(start..start + 8);
        let place = place.ok_or_else(|| {
            Refusal("damaged ELF file: an imported address is not in the file".to_owned())
        })?;
        place.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    /// Gives each variable of [`VARIABLES`] a place: that of the program's copy, or a new one.
    fn place_variables(&mut self, template: &Template, mut free: u64) -> Result<(), Refusal> {
        for copied in &template.copied {
            if let Some(name) = VARIABLES.iter().find(|name| **name == copied.name) {
                self.variables.insert(name, copied.offset);
            } else {
                let source = resolve(&copied.name, false)?;
                let length = copied.length.min(length_of_variable(source));
                self.copied.push((copied.offset, source, length));
            }
        }
        for name in VARIABLES {
            self.variables.entry(name).or_insert_with(|| {
                free += 8;
                free - 8
            });
        }
        Ok(())
    }
}

/// Returns the machine code that adds 1 to the word `data` bytes before its begin.
fn counter(data: u64) -> Vec<u8> {
    // inc qword [rip + …]
    let mut code = vec![0x48, 0xff, 0x05];
    let distance = i32::try_from(data + 7).expect("thunks are few");
    code.extend((-distance).to_le_bytes());
    // ret
    code.push(0xc3);
    code.resize(index(THUNK), 0xcc);
    code
}

/// Returns the machine code that stores the return address `data` bytes before its begin, and
/// continues in a function.
fn thunk(function: exports::LocatedFunction, data: u64) -> Vec<u8> {
    let mut code = Vec::new();
    if let Some(number) = function.number {
        // mov edi, number
        code.push(0xbf);
        code.extend(number.to_le_bytes());
    }
    // mov rax, [rsp]
    code.extend([0x48, 0x8b, 0x04, 0x24]);
    // mov [rip + …], rax
    code.extend([0x48, 0x89, 0x05]);
    let distance = i32::try_from(data + code.len() as u64 + 4).expect("thunks are few");
    code.extend((-distance).to_le_bytes());
    // jmp [rip + …]: to the address in the last 8 bytes.
    code.extend([0xff, 0x25]);
    let rest = index(THUNK) - 8 - (code.len() + 4);
    code.extend(u32::try_from(rest).expect("a thunk is short").to_le_bytes());
    code.resize(index(THUNK) - 8, 0xcc);
    code.extend((function.address as u64).to_le_bytes());
    code
}

fn load_libraries(needed: &[String]) -> Result<(), Refusal> {
    for name in needed {
        if name.starts_with("libmpi_abi.so.") {
            continue;
        }
        let is_system = |known: &&str| name.starts_with(*known) && !name.contains('/');
        if !SYSTEM_LIBRARIES.iter().any(is_system) {
            return Err(Refusal(format!(
                "the program uses the shared library {name}: not supported yet, link it statically"
            )));
        }
        let text =
            CString::new(name.as_str()).map_err(|_| Refusal("a name with a 0".to_owned()))?;
        // SAFETY: a library of the system, which runs its own constructors; the name ends with 0.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            // SAFETY: after a failed call the function returns a text that ends with 0, or null.
            let why = unsafe { libc::dlerror() };
            let why = if why.is_null() {
                String::new()
            } else {
                // SAFETY: as above; it is valid until the next call.
                unsafe { CStr::from_ptr(why) }
                    .to_string_lossy()
                    .into_owned()
            };
            return Err(Refusal(format!("cannot load {name}: {why}")));
        }
    }
    Ok(())
}

/// Returns the address of a symbol outside of the image: a function of this crate, or of a library
/// of the system. 0 for a weak symbol that nobody has.
fn resolve(name: &str, is_weak: bool) -> Result<usize, Refusal> {
    if name.starts_with("__asan_") || name.starts_with("__tsan_") {
        return Err(Refusal(
            "the program is compiled with a sanitizer: compile it without -fsanitize".to_owned(),
        ));
    }
    if let Some(address) = exports::libc_function(name) {
        return Ok(address);
    }
    let text = CString::new(name).map_err(|_| Refusal("a name with a 0".to_owned()))?;
    // SAFETY: the name ends with 0; the call only looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, text.as_ptr()) };
    if address.is_null() && !is_weak {
        return Err(Refusal(format!(
            "the program needs the symbol {name}, which no library has"
        )));
    }
    Ok(address as usize)
}

/// Returns the length in bytes of a variable of a library, as its symbol says; 0 if no symbol is
/// there.
fn length_of_variable(address: usize) -> u64 {
    /// `RTLD_DL_SYMENT`: the symbol is asked for.
    const SYMBOL: c_int = 1;

    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const object::elf::Sym64<object::LittleEndian>,
            flags: c_int,
        ) -> c_int;
    }

    let (mut info, mut symbol) = (MaybeUninit::uninit(), ptr::null());
    let (place, extra) = (address as *const c_void, &raw mut symbol);
    // SAFETY: the function fills both places if it finds the symbol, which belongs to a library
    // that stays loaded; the address is only compared.
    unsafe {
        if dladdr1(place, info.as_mut_ptr(), extra, SYMBOL) == 0 || symbol.is_null() {
            return 0;
        }
        (*symbol).st_size.get(object::LittleEndian)
    }
}

/// Memory for the ranks of a program that run on one thread.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) linked: Arc<Linked>,
    /// Dropped before the memory that it is about.
    registered: RefCell<Vec<exceptions::Registered>>,
    pub(crate) images: Pool,
    pub(crate) stacks: Pool,
    heaps: Pool,
    pub(crate) shared: SharedMemories,
}

impl Memory {
    pub(crate) fn new(linked: Arc<Linked>, stack: usize) -> Self {
        Self {
            images: Pool::new(Purpose::Image, index(linked.length)),
            stacks: Pool::new(Purpose::Stack, stack),
            heaps: Pool::new(Purpose::Heap, HEAP),
            shared: SharedMemories::default(),
            linked,
            registered: RefCell::default(),
        }
    }
}

/// The image of a rank.
#[derive(Debug)]
pub(crate) struct Image {
    base: usize,
    slot: Slot,
    memory: Rc<Memory>,
}

type Initializer = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);

impl Image {
    /// Makes the image of a rank with its initial content.
    pub(crate) fn new(memory: &Rc<Memory>, rank: usize) -> Result<Self, Refusal> {
        let slot = memory.images.take(rank)?;
        let (base, is_zero) = (slot.address, slot.is_fresh);
        let image = Self {
            base,
            slot,
            memory: Rc::clone(memory),
        };
        image.fill(is_zero);
        if let Some(exceptions) = memory.linked.exceptions.as_ref().filter(|_| is_zero) {
            let registered = exceptions.register(base);
            memory.registered.borrow_mut().extend(registered);
        }
        Ok(image)
    }

    fn at<T>(&self, offset: u64) -> *mut T {
        (self.base + index(offset)) as *mut T
    }

    fn fill(&self, is_zero: bool) {
        let linked = &*self.memory.linked;
        let bytes = &linked.bytes;
        // SAFETY: the slot has `linked.length` bytes, of which each range below is a part: the
        // reader of the file has checked segments and relocations against the length, and thunks
        // and variables behind them were counted into it. The slot belongs to this image
        // alone, and no Rust reference to it exists. Sources of copied variables are objects of
        // shared libraries that stay loaded, and are as long.
        unsafe {
            if is_zero {
                ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(0), bytes.len());
            } else {
                for range in &linked.writable {
                    let end = bytes.len().min(index(range.end));
                    let content = bytes.get(index(range.start)..end).unwrap_or_default();
                    ptr::copy_nonoverlapping(content.as_ptr(), self.at(range.start), content.len());
                    let start = range.start + content.len() as u64;
                    clear(self.at(start), index(range.end - start));
                }
            }
            // The pages before may have been cleared up to their end.
            let thunks = &linked.thunks;
            ptr::copy_nonoverlapping(thunks.as_ptr(), self.at(linked.thunks_at), thunks.len());
            for &(offset, addend) in &linked.relative {
                let value = (self.base as u64).wrapping_add_signed(addend);
                ptr::write_unaligned(self.at(offset), value);
            }
            for &(offset, source, length) in &linked.copied {
                ptr::copy_nonoverlapping(source as *const u8, self.at(offset), index(length));
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
    }

    /// Returns the place of a variable that each rank has for itself.
    pub(crate) fn variable<T>(&self, name: &str) -> *mut T {
        self.at(self.memory.linked.variables[name])
    }

    fn set_variable<T>(&self, name: &str, value: T) {
        // SAFETY: the place is in the image, as long as the variable, and only this rank uses it.
        unsafe { ptr::write_unaligned(self.variable(name), value) }
    }

    /// Returns the offset in the image to which the latest call of MPI returns.
    pub(crate) fn caller(&self) -> Option<u64> {
        // SAFETY: the word is in the image, and thunks of this rank alone write it.
        self.offset_of(unsafe { ptr::read(self.at(self.memory.linked.caller)) })
    }

    /// Returns the number of basic blocks since this was asked before.
    pub(crate) fn take_blocks(&self) -> u64 {
        // SAFETY: the word is in the image, and only code of this rank writes it.
        let blocks = |offset| unsafe { ptr::replace(self.at(offset), 0) };
        self.memory.linked.blocks.map_or(0, blocks)
    }

    /// Returns the offset of an address in the image.
    pub(crate) fn offset_of(&self, address: usize) -> Option<u64> {
        let offset = address.checked_sub(self.base)? as u64;
        (offset < self.memory.linked.length).then_some(offset)
    }

    /// Starts the program on this stack, with an initial stack as the system makes it but for the
    /// arguments, which the function that `_start` calls takes from the rank.
    pub(crate) fn enter(&self) -> ! {
        let entry: *mut c_void = self.at(self.memory.linked.entry);
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

    /// Runs the constructors of the program.
    pub(crate) fn run_constructors(&self, arguments: (c_int, *mut *mut c_char, *mut *mut c_char)) {
        let before = &self.memory.linked.before;
        let (argc, argv, envp) = arguments;
        for address in self.single(before).into_iter().chain(self.listed(before)) {
            // SAFETY: a function of the program's list of constructors, whose pointers are
            // relocated, called as the C library calls it, on the stack of this rank.
            let function: Initializer = unsafe { std::mem::transmute(address) };
            function(argc, argv, envp);
        }
    }

    /// Runs the destructors of the program, in reverse order.
    pub(crate) fn run_destructors(&self) {
        let after = &self.memory.linked.after;
        for address in self.listed(after).rev().chain(self.single(after)) {
            // SAFETY: as for constructors.
            let function: extern "C" fn() = unsafe { std::mem::transmute(address) };
            function();
        }
    }

    fn single(&self, functions: &Functions) -> Option<usize> {
        let address = self.at::<u8>(functions.single) as usize;
        (functions.single != 0).then_some(address)
    }

    fn listed(&self, functions: &Functions) -> impl DoubleEndedIterator<Item = usize> {
        let (start, count) = functions.array;
        (0..count).filter_map(move |number| {
            // SAFETY: the reader of the file has checked that the list is in a segment.
            let address: usize = unsafe { ptr::read_unaligned(self.at(start + number * 8)) };
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
unsafe fn clear(start: *mut u8, length: usize) {
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
