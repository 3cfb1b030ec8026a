//! Linking: each symbol of a program is bound once, before there is a rank.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::exceptions::Exceptions;
use super::libraries::{Files, Module};
use super::memory::Text;
use super::{index, libraries};
use elf::{
    Export, Functions, IMAGE_MAX, INITIAL_EXEC, Import, PAGE, Refusal, TOO_LONG, Template, Value,
};

mod cpp_streams;

use cpp_streams::streams_of_cpp;

/// Alignment of data that are added to an image, in bytes.
const ALIGNMENT: u64 = 64;

/// Length of a thunk in bytes.
const THUNK: u64 = 32;

/// The instruction `int3`, between thunks.
const TRAP: u8 = 0xcc;

/// The function that a program calls in each basic block (`-fsanitize-coverage=trace-pc`).
pub(crate) const COUNTER: &str = "__sanitizer_cov_trace_pc";

/// The function that returns the address of a thread-local variable (System V ABI, TLS) from the
/// address of a block and the offset in the block: in an image the block of the rank is known.
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

/// A part of an image: a file, or data added behind the files.
#[derive(Debug)]
pub(super) struct ImagePart {
    pub(super) start: u64,
    /// First bytes of the part, before addresses are added; zeros follow.
    pub(super) bytes: Vec<u8>,
    /// Offsets in the image that the program may change.
    pub(super) writable: Vec<Range<u64>>,
}

/// Where the first value of a variable is.
#[derive(Clone, Copy, Debug)]
pub(super) enum InitialValue {
    /// At an address, in a library that ranks share.
    Shared(usize),
    /// At an offset in the image.
    Own(u64),
}

/// A program with bound symbols. All places are offsets in an image.
#[derive(Debug)]
pub(crate) struct Linked {
    pub(super) parts: Vec<ImagePart>,
    /// The thunks and the beginning of the program, up to the first writable byte.
    pub(super) text: Option<Arc<Text>>,
    /// Thunks, whole pages before the program.
    pub(super) thunks: Vec<u8>,
    /// Length of an image in bytes.
    pub(super) length: u64,
    pub(super) relative: Vec<(u64, i64)>,
    /// Places of variables, where their first values are, and their lengths.
    pub(super) copied: Vec<(u64, InitialValue, u64)>,
    /// Places in copies of variables, and offsets of which they have the address.
    pub(super) moved: Vec<(u64, i64)>,
    pub(super) variables: BTreeMap<&'static str, u64>,
    /// Places of blocks of thread-local variables, and place and length of their initial content.
    pub(super) thread_locals: Vec<(u64, (u64, u64))>,
    /// Thread-local variables of libraries of the system, which have them in each thread.
    thread_imports: Vec<Import>,
    /// Place of the return address of the latest call of MPI.
    pub(super) caller: u64,
    /// Place of the number of basic blocks that were executed, of a program that counts them.
    pub(super) blocks: Option<u64>,
    pub(super) entry: u64,
    /// Lists of functions that run before `main` and after it; the lists of the program are last.
    pub(super) functions: Vec<[Functions; 2]>,
    /// For a program in C++.
    pub(crate) exceptions: Option<Exceptions>,
}

/// A file of the program with its place in an image.
#[derive(Clone, Copy)]
struct Placed<'a> {
    start: u64,
    /// Place of the thread-local variables of the file.
    block: u64,
    template: &'a Template,
}

impl Placed<'_> {
    /// Returns lists of functions at their places.
    fn functions(&self) -> [Functions; 2] {
        let moved = |functions: &Functions| Functions {
            single: match functions.single {
                0 => 0,
                address => address + self.start,
            },
            array: (
                functions.array.0.wrapping_add(self.start),
                functions.array.1,
            ),
        };
        [&self.template.before, &self.template.after].map(moved)
    }

    fn image_part(&self) -> ImagePart {
        let writable = self.template.writable.iter();
        ImagePart {
            start: self.start,
            bytes: self.template.bytes.clone(),
            writable: writable
                .map(|range| range.start + self.start..range.end + self.start)
                .collect(),
        }
    }
}

/// The files of a program, in the order in which symbols are looked up.
struct Scope<'a>(Vec<Placed<'a>>);

impl<'a> Scope<'a> {
    /// Places files behind each other. Their blocks of thread-local variables have no place yet.
    fn new(modules: &'a [Module]) -> Self {
        let mut start = 0;
        let mut place = |module: &'a Module| {
            let template = &module.template;
            let placed = Placed {
                start,
                block: 0,
                template,
            };
            start += template.length.next_multiple_of(PAGE);
            placed
        };
        Self(modules.iter().map(&mut place).collect())
    }

    /// Places the blocks of thread-local variables, from an offset on. Returns their end.
    fn place_blocks(&mut self, mut free: u64) -> u64 {
        for placed in &mut self.0 {
            if let Some(variables) = placed.template.thread_locals {
                placed.block = free.next_multiple_of(variables.alignment);
                free = placed.block + variables.length;
            }
        }
        free
    }

    /// Returns the first file that has a symbol, but for the one with this start.
    fn find_symbol(&self, name: &str, but: Option<u64>) -> Option<(Placed<'a>, Export)> {
        let mut all = self.0.iter().filter(|placed| Some(placed.start) != but);
        all.find_map(|placed| Some((*placed, *placed.template.exports.get(name)?)))
    }

    /// Returns all references to symbols, with their files.
    fn imports(&self) -> impl Iterator<Item = (&Placed<'a>, &'a Import)> {
        let all = self.0.iter();
        all.flat_map(|placed| placed.template.imports.iter().map(move |it| (placed, it)))
    }
}

/// A function to which a symbol is bound through a thunk, which records the line of the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocatedFunction {
    pub(crate) address: usize,
    /// Number in the list of functions, for one that is missing.
    pub(crate) number: Option<u32>,
}

/// Functions of this crate to which programs are bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnFunctions {
    /// Makes the streams of programs, before the system libraries are loaded.
    pub(crate) prepare: fn(),
    /// Returns the function of a symbol.
    pub(crate) find: fn(&str) -> Option<LocatedFunction>,
    /// `std::terminate`.
    pub(crate) terminate: extern "C" fn(),
}

impl Linked {
    /// Loads the system libraries and binds the symbols of a program and its own libraries.
    pub(crate) fn new(files: &Files, own: &OwnFunctions) -> Result<Self, Refusal> {
        (own.prepare)();
        libraries::load_system(&files.system)?;
        let mut scope = Scope::new(&files.modules);
        let names = scope.imports().filter(|(_, import)| import.own.is_none());
        let names = names.map(|(_, import)| import.name.as_str());
        let outside: BTreeSet<&str> = names
            .filter(|name| scope.find_symbol(name, None).is_none())
            .collect();
        let functions = outside.iter();
        let functions: Vec<_> = functions
            .filter_map(|name| Some((*name, (own.find)(name)?)))
            .collect();
        // Behind the last segment, mostly in the same page.
        let last = scope.0.last();
        let end = last.map_or(0, |placed| placed.start + placed.template.length);
        let data = end.next_multiple_of(ALIGNMENT);
        let variables = data + 16;
        let streams = (variables + 8 * VARIABLES.len() as u64).next_multiple_of(ALIGNMENT);
        // This makes the streams of C++.
        let exceptions = exceptions(files, &scope, own.terminate);
        let (streams, end) = streams_of_cpp(&scope, &outside, streams)?;
        let end = scope.place_blocks(end);
        let thunks = ((functions.len() as u64 + 2) * THUNK).next_multiple_of(PAGE);
        let length = end.next_multiple_of(PAGE);
        if length > IMAGE_MAX {
            return Err(Refusal(TOO_LONG.to_owned()));
        }
        let mut parts: Vec<ImagePart> = scope.0.iter().map(Placed::image_part).collect();
        parts.push(ImagePart {
            start: data,
            bytes: Vec::new(),
            writable: std::iter::once(data..end).collect(),
        });
        let ordered = files.order.iter().filter_map(|number| scope.0.get(*number));
        let mut linked = Self {
            parts,
            text: None,
            thunks: vec![TRAP; index(thunks)],
            length,
            relative: Vec::new(),
            copied: Vec::new(),
            moved: Vec::new(),
            variables: BTreeMap::new(),
            thread_locals: Vec::new(),
            thread_imports: Vec::new(),
            caller: data,
            blocks: outside.contains(COUNTER).then_some(data + 8),
            entry: scope.0.first().map_or(0, |program| program.template.entry),
            functions: ordered.map(Placed::functions).collect(),
            exceptions,
        };
        linked.place_variables(&scope, variables)?;
        linked.place_streams(streams);
        let inside = linked.place_thunks(functions, data);
        for (placed, import) in scope.imports() {
            linked.bind(&scope, placed, import, &inside)?;
        }
        for placed in &scope.0 {
            linked.place_own(placed)?;
        }
        let program = &linked.parts[0];
        let writable = program.writable.iter().map(|range| index(range.start));
        let text = program.bytes.get(..writable.min().unwrap_or(usize::MAX));
        let text = [&linked.thunks, text.unwrap_or(&program.bytes)].concat();
        linked.text = Text::new(&text).map(Arc::new);
        Ok(linked)
    }

    /// Makes the thunks; returns the offsets of symbols that are added to the files.
    fn place_thunks<'a>(
        &mut self,
        functions: Vec<(&'a str, LocatedFunction)>,
        data: u64,
    ) -> BTreeMap<&'a str, i64> {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, offset)| (*name, offset.cast_signed()));
        let mut inside: BTreeMap<&str, i64> = variables.collect();
        let length = self.thunks.len() as u64;
        let mut places = self.thunks.chunks_exact_mut(index(THUNK)).enumerate();
        let mut add = |name: &'a str, code: &dyn Fn(u64) -> Vec<u8>| {
            let Some((number, place)) = places.next() else {
                unreachable!("the thunks were counted");
            };
            let before = length - number as u64 * THUNK;
            inside.insert(name, -before.cast_signed());
            place.copy_from_slice(&code(data + before));
        };
        for (name, function) in functions {
            add(name, &|distance| thunk(function, distance));
        }
        if self.blocks.is_some() {
            add(COUNTER, &|distance| counter(distance + 8));
        }
        add(THREAD_LOCAL, &|_| padded(THREAD_LOCAL_CODE.to_vec()));
        inside
    }

    /// Takes over the parts of a file that need no symbols of other files.
    fn place_own(&mut self, placed: &Placed<'_>) -> Result<(), Refusal> {
        let &Placed {
            start,
            block,
            template,
        } = placed;
        let base = signed(start)?;
        let relative = template.relative.iter();
        self.relative
            .extend(relative.map(|(place, addend)| (place + start, addend.wrapping_add(base))));
        let block = signed(block)?;
        let places = template.thread_blocks.iter();
        self.relative
            .extend(places.map(|place| (place + start, block)));
        for &(place, value) in &template.thread_offsets {
            self.store_word(place + start, value)?;
        }
        if let Some(variables) = template.thread_locals {
            let (source, length) = variables.initial;
            let initial = (source + start, length);
            self.thread_locals.push((placed.block, initial));
        }
        Ok(())
    }

    /// Gives a place the value of a symbol.
    fn bind(
        &mut self,
        scope: &Scope<'_>,
        placed: &Placed<'_>,
        import: &Import,
        inside: &BTreeMap<&str, i64>,
    ) -> Result<(), Refusal> {
        let (offset, name) = (import.offset + placed.start, import.name.as_str());
        let own = || Some((*placed, import.own?));
        let found = scope.find_symbol(name, None).or_else(own);
        let found = found.map(|(file, export)| match export.is_indirect {
            true => Err(Refusal(format!(
                "the program has indirect functions (attribute ifunc), {name}: not supported"
            ))),
            false => Ok((file, export)),
        });
        let value = match (import.value, found.transpose()?) {
            (Value::Address, Some((file, export))) => {
                let value = signed(export.value.wrapping_add(file.start))?;
                self.relative
                    .push((offset, value.wrapping_add(import.addend)));
                return Ok(());
            }
            (Value::ThreadBlock, Some((file, _))) => {
                self.relative.push((offset, signed(file.block)?));
                return Ok(());
            }
            (Value::ThreadOffset, Some((_, export))) => export.value,
            (Value::ThreadDistance, Some(_)) => return Err(Refusal(INITIAL_EXEC.to_owned())),
            (Value::Address, None) => {
                if let Some(inside) = inside.get(name) {
                    let value = inside.wrapping_add(import.addend);
                    self.relative.push((offset, value));
                    return Ok(());
                }
                resolve(name, import.is_weak)? as u64
            }
            // The block is taken as beginning at the variable.
            (Value::ThreadOffset, None) => 0,
            (Value::ThreadBlock | Value::ThreadDistance, None) => {
                resolve(name, import.is_weak)?;
                self.thread_imports.push(Import {
                    offset,
                    ..import.clone()
                });
                0
            }
        };
        self.store_word(offset, value.wrapping_add_signed(import.addend))
    }

    /// Returns the offsets of the files of the program.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> + Clone {
        self.parts.iter().map(|part| part.start)
    }

    /// Returns true if the program counts basic blocks.
    pub(crate) const fn counts_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    /// Returns places, and for each the value that images of this thread have there.
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
    fn store_word(&mut self, offset: u64, value: u64) -> Result<(), Refusal> {
        let part = self.parts.iter_mut().rfind(|part| part.start <= offset);
        let place = part.and_then(|part| {
            let start = index(offset - part.start);
            part.bytes.get_mut(start..start + 8)
        });
        let place = place.ok_or_else(|| {
            Refusal("damaged ELF file: an imported address is not in the file".to_owned())
        })?;
        place.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    /// Gives each variable of [`VARIABLES`] a place: the copy in the program, or a new place.
    fn place_variables(&mut self, scope: &Scope<'_>, mut free: u64) -> Result<(), Refusal> {
        let all = scope.0.iter();
        let all = all.flat_map(|placed| placed.template.copied.iter().map(move |it| (placed, it)));
        for (placed, copied) in all {
            let offset = copied.offset + placed.start;
            if let Some(name) = VARIABLES.iter().find(|name| **name == copied.name) {
                self.variables.insert(name, offset);
            } else if let Some((file, export)) = scope.find_symbol(&copied.name, Some(placed.start))
            {
                let end = export.value.checked_add(export.length);
                if end.is_none_or(|end| end > file.template.length) {
                    let text = "damaged ELF file: a variable is outside of its segments";
                    return Err(Refusal(text.to_owned()));
                }
                let source = InitialValue::Own(file.start + export.value);
                let length = copied.length.min(export.length);
                self.copied.push((offset, source, length));
            } else {
                let source = resolve(&copied.name, false)?;
                let length = copied.length.min(length_of_variable(source));
                self.copied
                    .push((offset, InitialValue::Shared(source), length));
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

/// Returns the functions of the libraries of C++, with the descriptions of frames of all files.
fn exceptions(files: &Files, scope: &Scope<'_>, terminate: extern "C" fn()) -> Option<Exceptions> {
    let is_cpp = |name: &String| name.starts_with("libstdc++.so.");
    files.system.iter().find(|name| is_cpp(name))?;
    let frames = scope.0.iter();
    let frames = frames.filter_map(|placed| Some(placed.start + placed.template.frames?));
    Some(Exceptions::new(frames.collect(), terminate))
}

fn signed(offset: u64) -> Result<i64, Refusal> {
    i64::try_from(offset).map_err(|_| Refusal("damaged ELF file: a large offset".to_owned()))
}

/// Returns machine code of the length of a thunk.
fn padded(mut code: Vec<u8>) -> Vec<u8> {
    code.resize(index(THUNK), TRAP);
    code
}

/// Returns machine code that adds 1 to the word `data` bytes after the start of the code.
fn counter(data: u64) -> Vec<u8> {
    // inc qword [rip + …]
    let mut code = vec![0x48, 0xff, 0x05];
    let distance = i32::try_from(data - 7).expect("an image is short");
    code.extend(distance.to_le_bytes());
    // ret
    code.push(0xc3);
    padded(code)
}

/// Returns machine code that stores the return address `data` bytes after the start of the code,
/// and continues in a function.
fn thunk(function: LocatedFunction, data: u64) -> Vec<u8> {
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
    let distance = i32::try_from(data - code.len() as u64 - 4).expect("an image is short");
    code.extend(distance.to_le_bytes());
    // jmp [rip + …]: to the address in the last 8 bytes.
    code.extend([0xff, 0x25]);
    let rest = index(THUNK) - 8 - (code.len() + 4);
    code.extend(u32::try_from(rest).expect("a thunk is short").to_le_bytes());
    code.resize(index(THUNK) - 8, TRAP);
    code.extend((function.address as u64).to_le_bytes());
    code
}

/// Returns the address of a symbol of a library of the system; 0 for a weak symbol that no library
/// has.
fn resolve(name: &str, is_weak: bool) -> Result<usize, Refusal> {
    if name.starts_with("__asan_") || name.starts_with("__tsan_") {
        return Err(Refusal(
            "the program is compiled with a sanitizer: compile it without -fsanitize".to_owned(),
        ));
    }
    if name.starts_with("GOACC_") {
        return Err(Refusal(format!("{name}: OpenACC is not supported")));
    }
    // The functions that are there were found before; a program asks whether a weak one is there.
    let is_of_openmp = || {
        let starts = ["GOMP_", "__kmpc_", "__tgt_"];
        starts.iter().any(|start| name.starts_with(start))
    };
    if !is_weak && is_of_openmp() {
        return Err(Refusal(format!(
            "{name}: this function of OpenMP is not supported: compile the file that needs the \
             function without -fopenmp"
        )));
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

/// Returns the length in bytes of a library variable, as given by the symbol; 0 without a symbol.
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
