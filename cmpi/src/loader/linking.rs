//! Linking: each symbol of a program is bound once, before there is a rank.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use super::exceptions::Exceptions;
use super::index;
use crate::elf::{Functions, Import, PAGE, Refusal, Template, ThreadLocals, Value};
use crate::exports;

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

/// The function that returns the address of a thread-local variable (System V ABI, TLS), given the
/// address of its block and its offset there: in an image the block of the rank is known.
const THREAD_LOCAL: &str = "__tls_get_addr";

/// `mov rax, [rdi]`, `add rax, [rdi + 8]`, `ret`.
const THREAD_LOCAL_CODE: [u8; 8] = [0x48, 0x8b, 0x07, 0x48, 0x03, 0x47, 0x08, 0xc3];

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

/// A program whose symbols are bound.
#[derive(Debug)]
pub(crate) struct Linked {
    /// The first bytes of an image, before the base is added.
    pub(super) bytes: Vec<u8>,
    /// Thunks, and the offset where they are.
    pub(super) thunks: Vec<u8>,
    pub(super) thunks_at: u64,
    /// Length of an image in bytes.
    pub(super) length: u64,
    pub(super) writable: Vec<Range<u64>>,
    pub(super) relative: Vec<(u64, i64)>,
    /// Places of variables, where their first values are, and their lengths.
    pub(super) copied: Vec<(u64, usize, u64)>,
    pub(super) variables: BTreeMap<&'static str, u64>,
    /// Blocks of thread-local variables: their places, and their initial content.
    pub(super) thread_locals: Vec<(u64, ThreadLocals)>,
    /// Thread-local variables of libraries of the system, which have them in each thread.
    thread_imports: Vec<Import>,
    /// Place of the return address of the latest call of MPI.
    pub(super) caller: u64,
    /// Place of the number of basic blocks that were executed, of a program that counts them.
    pub(super) blocks: Option<u64>,
    pub(super) entry: u64,
    pub(super) before: Functions,
    pub(super) after: Functions,
    /// For a program in C++.
    pub(crate) exceptions: Option<Exceptions>,
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
        let words = data + 8 * (2 + VARIABLES.len() as u64);
        let variables = template.thread_locals;
        let block = variables.map(|it| (words.next_multiple_of(it.alignment), it));
        let end = block.map_or(words, |(start, it)| start + it.length);
        let thunks_at = end.next_multiple_of(ALIGNMENT);
        let counts = template.imports.iter().any(|import| import.name == COUNTER);
        let length = thunks_at + (functions.len() as u64 + 2) * THUNK;
        let mut linked = Self {
            bytes: template.bytes.clone(),
            thunks: Vec::new(),
            thunks_at,
            length: length.next_multiple_of(PAGE),
            writable: template.writable.clone(),
            relative: template.relative.clone(),
            copied: Vec::new(),
            variables: BTreeMap::new(),
            thread_locals: block.into_iter().collect(),
            thread_imports: Vec::new(),
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
            let offset = linked.thunks_at + linked.thunks.len() as u64;
            inside.insert(name, offset);
            linked.thunks.extend(thunk(function, offset - data));
        }
        if counts {
            let offset = linked.thunks_at + linked.thunks.len() as u64;
            inside.insert(COUNTER, offset);
            linked.thunks.extend(counter(offset - (data + 8)));
        }
        inside.insert(THREAD_LOCAL, linked.thunks_at + linked.thunks.len() as u64);
        linked.thunks.extend(padded(THREAD_LOCAL_CODE.to_vec()));
        for import in &template.imports {
            linked.bind_import(import, &inside)?;
        }
        for &offset in &template.thread_blocks {
            let block = linked.thread_locals.first().map_or(0, |(start, _)| *start);
            linked.relative.push((offset, signed(block)?));
        }
        for &(offset, value) in &template.thread_offsets {
            linked.store(offset, value)?;
        }
        Ok(linked)
    }

    fn bind_import(
        &mut self,
        import: &Import,
        inside: &BTreeMap<&str, u64>,
    ) -> Result<(), Refusal> {
        let &Import { offset, addend, .. } = import;
        let value = match (import.value, inside.get(import.name.as_str())) {
            (Value::Address, Some(inside)) => {
                self.relative
                    .push((offset, signed(*inside)?.wrapping_add(addend)));
                return Ok(());
            }
            (Value::Address, None) => resolve(&import.name, import.is_weak)? as u64,
            // The block is taken as beginning at the variable.
            (Value::ThreadOffset, _) => 0,
            (Value::ThreadBlock | Value::ThreadDistance, _) => {
                resolve(&import.name, import.is_weak)?;
                self.thread_imports.push(import.clone());
                0
            }
        };
        self.store(offset, value.wrapping_add_signed(addend))
    }

    /// Returns true if the program counts its basic blocks.
    pub(crate) const fn counts_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// Returns places, and what images of this thread have there.
    pub(super) fn values_of_thread(&self) -> Result<Vec<(u64, u64)>, Refusal> {
        let value = |import: &Import| {
            let address = resolve(&import.name, import.is_weak)? as u64;
            let value = match import.value {
                Value::ThreadDistance => address
                    .wrapping_sub(thread_pointer())
                    .wrapping_add_signed(import.addend),
                _ => address,
            };
            Ok((import.offset, value))
        };
        self.thread_imports.iter().map(value).collect()
    }

    /// Stores a value that is the same in all images.
    fn store(&mut self, offset: u64, value: u64) -> Result<(), Refusal> {
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

fn signed(offset: u64) -> Result<i64, Refusal> {
    i64::try_from(offset).map_err(|_| Refusal("damaged ELF file: a large offset".to_owned()))
}

/// Returns machine code of the length of a thunk.
fn padded(mut code: Vec<u8>) -> Vec<u8> {
    code.resize(index(THUNK), 0xcc);
    code
}

/// Returns the machine code that adds 1 to the word `data` bytes before its begin.
fn counter(data: u64) -> Vec<u8> {
    // inc qword [rip + …]
    let mut code = vec![0x48, 0xff, 0x05];
    let distance = i32::try_from(data + 7).expect("thunks are few");
    code.extend((-distance).to_le_bytes());
    // ret
    code.push(0xc3);
    padded(code)
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

/// Returns the address of the variables of this thread.
fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word there is its own address (System V ABI, TLS).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly)) };
    pointer
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
