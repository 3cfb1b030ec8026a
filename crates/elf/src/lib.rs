//! Reading of compiled programs: an ELF file becomes a template, from which the loader makes the
//! image of each rank.
//!
//! A file is untrusted: every offset, length and index is checked against the file or the image
//! before use, and unknown content is refused with a message. No code of the file is executed here.
//!
//! *Refused*: other machines than x86-64, programs that are not position-independent, static
//! programs, thread-local variables at fixed places, relocations in the text, indirect functions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf;
use object::pod::Pod;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

mod relocations;
mod symbols;

use relocations::Relocations;
pub use symbols::Export;

type Header = elf::FileHeader64<LE>;

/// Largest image of a program in bytes.
pub const IMAGE_MAX: u64 = 1 << 30;

/// Message about a longer one.
pub const TOO_LONG: &str = "the program needs more than 1024 MiB of memory when it starts";

/// Largest distance between segments that the file gives, in bytes: no linker leaves more.
const GAP_MAX: u64 = 16 << 20;

/// Largest length of the thread-local variables of a program in bytes.
const THREAD_LOCALS_MAX: u64 = 1 << 28;

/// Size of a page in bytes.
pub const PAGE: u64 = 4096;

/// Largest number of relocations, and of libraries.
const ENTRIES_MAX: u64 = 1 << 24;

/// Reason why a compiled program cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(
    /// The message.
    pub String,
);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

fn refuse_file<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(text.into()))
}

fn refuse_damaged<T>(what: &str) -> Result<T, Refusal> {
    refuse_file(format!("damaged ELF file: {what}"))
}

/// Kind of an executable file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An MPI program that is compiled against the standard ABI.
    StandardAbi,
    /// An MPI program that is compiled against the ABI of MPICH or Open MPI alone.
    OtherAbi(&'static str),
    /// Any other file.
    Other,
}

/// Names by which a file finds others.
#[derive(Debug)]
pub struct Links {
    /// Names of the libraries that the file needs.
    pub needed: Vec<String>,
    /// Folders of the libraries: searched before the folders of the user, and after them.
    pub folders: [Vec<String>; 2],
    /// True if the file needs a function of MPI.
    pub calls_mpi: bool,
}

impl Links {
    /// Reads them from the bytes of a file.
    pub fn from_file(file: &[u8]) -> Result<Self, Refusal> {
        let header = read_header(file)?;
        if header.e_machine.get(LE) != elf::EM_X86_64 {
            return refuse_file("another machine");
        }
        let image = Image::from_file(header, file)?;
        let dynamic = Dynamic::from_image(&image)?;
        Ok(Self {
            needed: dynamic.read_texts(&image, elf::DT_NEEDED)?,
            folders: dynamic.read_folders(&image)?,
            calls_mpi: symbols::calls_mpi(&image, &dynamic)?,
        })
    }

    /// Returns the kind of the file itself, without the libraries.
    pub fn find_kind(&self) -> Kind {
        let has = |prefix: &str| self.needed.iter().any(|name| name.starts_with(prefix));
        if has("libmpi_abi.so.") {
            Kind::StandardAbi
        } else if has("libmpi.so.12") || has("libmpich.so.12") {
            Kind::OtherAbi("MPICH")
        } else if has("libmpi.so.40") {
            Kind::OtherAbi("Open MPI")
        } else {
            Kind::Other
        }
    }
}

fn read_header(file: &[u8]) -> Result<&Header, Refusal> {
    if !file.starts_with(&elf::ELFMAG) {
        return refuse_file("not an ELF file: expected a compiled program");
    }
    match Header::parse(file) {
        Ok(header) if header.is_little_endian() => Ok(header),
        // The class follows the magic number.
        Err(_) if file.get(4) != Some(&elf::ELFCLASS32) => {
            refuse_damaged("its header is cut short")
        }
        _ => refuse_file("not a program for x86-64: expected 64 bits, little-endian"),
    }
}

/// A segment in memory.
#[derive(Clone, Debug)]
struct Segment {
    memory: Range<u64>,
    is_writable: bool,
}

/// The memory of a program as described in the file.
#[derive(Debug)]
struct Image {
    /// From address 0 to the last byte that the file gives.
    bytes: Vec<u8>,
    segments: Vec<Segment>,
    /// End of the last segment.
    end: u64,
    dynamic: Option<Range<u64>>,
    /// Address of the index of the frames for exceptions.
    frame_index: Option<u64>,
    thread_locals: Option<ThreadLocals>,
    has_interpreter: bool,
}

impl Image {
    fn from_file(header: &Header, file: &[u8]) -> Result<Self, Refusal> {
        let Ok(headers) = header.program_headers(LE, file) else {
            return refuse_damaged("its program headers are outside of the file");
        };
        let mut image = Self {
            bytes: Vec::new(),
            segments: Vec::new(),
            end: 0,
            dynamic: None,
            frame_index: None,
            thread_locals: None,
            has_interpreter: false,
        };
        for header in headers {
            let start = header.p_vaddr(LE);
            let range = |length: u64| {
                let end = start.checked_add(length).filter(|end| *end <= IMAGE_MAX);
                end.map(|end| start..end)
            };
            match header.p_type(LE) {
                elf::PT_LOAD => {
                    let Some(memory) = range(header.p_memsz(LE)) else {
                        return refuse_file(TOO_LONG);
                    };
                    let Ok(data) = header.data(LE, file) else {
                        return refuse_damaged("a segment is outside of the file");
                    };
                    image.place_segment(memory, data, header.p_flags(LE) & elf::PF_W != 0)?;
                }
                elf::PT_DYNAMIC => image.dynamic = range(header.p_memsz(LE)),
                elf::PT_GNU_EH_FRAME => image.frame_index = Some(start),
                elf::PT_TLS if header.p_memsz(LE) > 0 => {
                    image.thread_locals = Some(ThreadLocals {
                        initial: (start, header.p_filesz(LE)),
                        length: header.p_memsz(LE),
                        alignment: header.p_align(LE).max(1),
                    });
                }
                elf::PT_INTERP => image.has_interpreter = true,
                _ => {}
            }
        }
        Ok(image)
    }

    fn place_segment(
        &mut self,
        memory: Range<u64>,
        data: &[u8],
        writable: bool,
    ) -> Result<(), Refusal> {
        if data.len() as u64 > memory.end - memory.start {
            return refuse_damaged("a segment has more bytes in the file than in memory");
        }
        let before = self.segments.last().map_or(0, |segment| segment.memory.end);
        if memory.start < before {
            return refuse_damaged("its segments overlap or are not in order");
        }
        if !data.is_empty() {
            if memory.start - self.bytes.len() as u64 > GAP_MAX {
                return refuse_damaged("its segments are too far from each other");
            }
            self.bytes.resize(to_index(memory.start)?, 0);
            self.bytes.extend_from_slice(data);
        }
        self.end = memory.end;
        self.segments.push(Segment {
            memory,
            is_writable: writable,
        });
        Ok(())
    }

    /// Returns a value at an address, or `None` if the file does not contain the bytes.
    fn value_at<T: Pod>(&self, address: u64) -> Option<&T> {
        let bytes = self.bytes.get(usize::try_from(address).ok()?..)?;
        object::pod::from_bytes(bytes).ok().map(|(value, _)| value)
    }

    /// Returns a table at an address, or `None` if the file does not contain the bytes.
    fn table_at<T: Pod>(&self, address: u64, bytes: u64) -> Option<&[T]> {
        let all = self.bytes.get(usize::try_from(address).ok()?..)?;
        let count = bytes / size_of::<T>() as u64;
        let count = usize::try_from(count.min(ENTRIES_MAX)).ok()?;
        object::pod::slice_from_bytes(all, count)
            .ok()
            .map(|(table, _)| table)
    }

    fn string_at(&self, address: u64) -> Option<String> {
        let bytes = self.bytes.get(usize::try_from(address).ok()?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
    }

    /// Returns true if `length` bytes at an address are in a segment that the program may write.
    fn is_writable(&self, address: u64, length: u64) -> bool {
        let Some(end) = address.checked_add(length) else {
            return false;
        };
        self.segments.iter().any(|segment| {
            segment.is_writable && segment.memory.start <= address && end <= segment.memory.end
        })
    }

    /// Returns an error if the thread-local variables cannot be placed.
    fn check_thread_locals(&self) -> Result<(), Refusal> {
        let Some(variables) = &self.thread_locals else {
            return Ok(());
        };
        let (start, length) = variables.initial;
        let is_right = length <= variables.length
            && variables.length <= THREAD_LOCALS_MAX
            && variables.alignment.is_power_of_two()
            && variables.alignment <= PAGE
            && (length == 0 || self.is_writable(start, length));
        if is_right {
            return Ok(());
        }
        refuse_damaged("its thread-local variables are outside of its segments, or too long")
    }

    /// Returns true if an address is in any segment.
    fn has_address(&self, address: u64) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.memory.contains(&address))
    }
}

fn to_index(address: u64) -> Result<usize, Refusal> {
    usize::try_from(address).or_else(|_| refuse_damaged("an address is too large"))
}

/// The dynamic section.
#[derive(Debug)]
struct Dynamic<'a> {
    entries: &'a [elf::Dyn64<LE>],
}

impl<'a> Dynamic<'a> {
    fn from_image(image: &'a Image) -> Result<Self, Refusal> {
        let Some(place) = &image.dynamic else {
            return refuse_file("a static program: expected one that is linked with libmpi_abi.so");
        };
        let table = image.table_at(place.start, place.end - place.start);
        let Some(entries) = table else {
            return refuse_damaged("its dynamic section is outside of its segments");
        };
        let is_end = |entry: &elf::Dyn64<LE>| entry.d_tag.get(LE) == u64::from(elf::DT_NULL);
        let end = entries.iter().position(is_end).unwrap_or(entries.len());
        Ok(Self {
            entries: &entries[..end],
        })
    }

    fn values_of(&self, tag: u32) -> impl Iterator<Item = u64> {
        let tag = u64::from(tag);
        let entries = self.entries.iter();
        entries
            .filter(move |entry| entry.d_tag.get(LE) == tag)
            .map(|entry| entry.d_val.get(LE))
    }

    fn value_of(&self, tag: u32) -> Option<u64> {
        self.values_of(tag).next()
    }

    /// Returns true if the file was linked as an executable, in which the linker has given
    /// thread-local variables fixed distances from the thread pointer.
    fn is_executable(&self) -> bool {
        let flags = self.value_of(elf::DT_FLAGS_1).unwrap_or_default();
        flags & u64::from(elf::DF_1_PIE) != 0
    }

    /// Returns the functions that these three tags describe.
    fn read_functions(&self, image: &Image, tags: [u32; 3]) -> Result<Functions, Refusal> {
        let [single, address, length] = tags.map(|tag| self.value_of(tag).unwrap_or_default());
        let count = length / 8;
        let is_inside = count <= ENTRIES_MAX
            && (count == 0 || image.is_writable(address, count * 8))
            && (single == 0 || image.has_address(single));
        if !is_inside {
            return refuse_damaged("its lists of functions are outside of its segments");
        }
        Ok(Functions {
            single,
            array: (address, count),
        })
    }

    /// Returns the texts of the entries with a tag.
    fn read_texts(&self, image: &Image, tag: u32) -> Result<Vec<String>, Refusal> {
        let strings = self.value_of(elf::DT_STRTAB).unwrap_or_default();
        let name = |offset: u64| {
            let name = strings
                .checked_add(offset)
                .and_then(|address| image.string_at(address));
            name.map_or_else(|| refuse_damaged("the name of a library is outside"), Ok)
        };
        self.values_of(tag).map(name).collect()
    }

    /// Returns the folders in which libraries are searched: before the folders that the user names,
    /// and after them. If the second list is not empty, the first list is ignored (ld.so(8)).
    fn read_folders(&self, image: &Image) -> Result<[Vec<String>; 2], Refusal> {
        let [before, after] = [elf::DT_RPATH, elf::DT_RUNPATH].map(|tag| {
            let lists = self.read_texts(image, tag)?;
            let folders = lists.iter().flat_map(|list| list.split(':'));
            Ok(folders.map(str::to_owned).collect::<Vec<_>>())
        });
        let after = after?;
        Ok([
            if after.is_empty() {
                before?
            } else {
                Vec::new()
            },
            after,
        ])
    }
}

/// Message about thread-local variables at a fixed distance from the thread pointer.
pub const INITIAL_EXEC: &str = "the program has thread-local variables of the model \
                                       initial-exec: compile it without -ftls-model";

/// Value that a place of an image gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The address of the symbol.
    Address,
    /// The address of the block of thread-local variables that contains the symbol.
    ThreadBlock,
    /// The offset of the symbol in the block of thread-local variables.
    ThreadOffset,
    /// The distance of the symbol from the thread pointer.
    ThreadDistance,
}

/// Thread-local variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadLocals {
    /// Address and length in bytes of their initial content.
    pub initial: (u64, u64),
    /// Length of their block in bytes, zero after the initial content.
    pub length: u64,
    /// Alignment of their block in bytes.
    pub alignment: u64,
}

/// A place of an image that gets a value of a symbol: of the first file that has one of the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// Offset of the place in the image.
    pub offset: u64,
    /// The value.
    pub value: Value,
    /// Name of the symbol.
    pub name: String,
    /// Number that is added to the value.
    pub addend: i64,
    /// The file's own symbol of this name.
    pub own: Option<Export>,
    /// True if the program runs without this symbol.
    pub is_weak: bool,
}

/// A variable of a library, of which the program has a separate copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiedVariable {
    /// Offset of the copy in the image.
    pub offset: u64,
    /// Name of the variable.
    pub name: String,
    /// Length in bytes.
    pub length: u64,
}

/// Tags of the functions that run before `main`, and of the functions that run after `main`.
const BEFORE: [u32; 3] = [elf::DT_INIT, elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ];
const AFTER: [u32; 3] = [elf::DT_FINI, elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ];

/// Functions that run before `main` or after `main`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Functions {
    /// Address of one function, 0 if there is none.
    pub single: u64,
    /// Address and number of pointers to functions.
    pub array: (u64, u64),
}

/// A program as read from the file, the same for all ranks.
#[derive(Debug)]
pub struct Template {
    /// The initial bytes of an image, from address 0.
    pub bytes: Vec<u8>,
    /// Length of an image in bytes.
    pub length: u64,
    /// The pages that a program may change.
    pub writable: Vec<Range<u64>>,
    /// Address of the first instruction.
    pub entry: u64,
    /// Names of the libraries that the file needs.
    pub needed: Vec<String>,
    /// Folders of the libraries: searched before the folders of the user, and after them.
    pub folders: [Vec<String>; 2],
    /// Symbols for other files, by their names.
    pub exports: BTreeMap<String, Export>,
    /// Offsets in the image, and for each the value to store, relative to the address of the image.
    pub relative: Vec<(u64, i64)>,
    /// Places that get values of symbols.
    pub imports: Vec<Import>,
    /// Variables of libraries of which the program has copies.
    pub copied: Vec<CopiedVariable>,
    /// Thread-local variables, if there are some.
    pub thread_locals: Option<ThreadLocals>,
    /// Places that get the address of the block of the program's own thread-local variables.
    pub thread_blocks: Vec<u64>,
    /// Places, and offsets in that block that are stored there.
    pub thread_offsets: Vec<(u64, u64)>,
    /// Functions that run before `main`.
    pub before: Functions,
    /// Functions that run after `main`.
    pub after: Functions,
    /// Address of the descriptions of frames, for exceptions.
    pub frames: Option<u64>,
}

/// Purpose of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Program,
    Library,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "program",
            Self::Library => "library",
        })
    }
}

impl Template {
    /// Reads a program from the bytes of a file.
    pub fn read_program(file: &[u8]) -> Result<Self, Refusal> {
        Self::read_as(file, Role::Program)
    }

    /// Reads a shared library of a program from the bytes of a file.
    pub fn read_library(file: &[u8]) -> Result<Self, Refusal> {
        Self::read_as(file, Role::Library)
    }

    fn read_as(file: &[u8], role: Role) -> Result<Self, Refusal> {
        let header = read_header(file)?;
        if header.e_machine.get(LE) != elf::EM_X86_64 {
            return refuse_file(format!(
                "a {role} for another machine (ELF machine {}): expected x86-64",
                header.e_machine.get(LE)
            ));
        }
        let image = Image::from_file(header, file)?;
        let dynamic = Dynamic::from_image(&image)?;
        match header.e_type.get(LE) {
            elf::ET_DYN => {}
            elf::ET_EXEC => {
                return refuse_file(
                    "the program has a fixed address: compile and link it with -pie",
                );
            }
            _ => return refuse_file("not an executable: expected a linked program"),
        }
        if image.thread_locals.is_some() && dynamic.is_executable() {
            return refuse_file(
                "the program has thread-local variables at fixed places of a thread, which all \
                 ranks would share: compile and link it with simrun cc --tls, as by make \
                 CC=\"mpicc --tls\"",
            );
        }
        image.check_thread_locals()?;
        if dynamic.value_of(elf::DT_TEXTREL).is_some() {
            return refuse_file(format!(
                "the {role} has relocations in its text: compile it with -fPIC"
            ));
        }
        let entry = header.e_entry.get(LE);
        if role == Role::Program && !image.has_interpreter {
            return refuse_file("a shared library: expected a program");
        }
        if role == Role::Program && !image.has_address(entry) {
            return refuse_damaged("its entry is outside of its segments");
        }
        Self::from_image(image, entry)
    }

    fn from_image(image: Image, entry: u64) -> Result<Self, Refusal> {
        let dynamic = Dynamic::from_image(&image)?;
        let mut relocations = Relocations::new(&image, &dynamic);
        relocations.read_all(&dynamic)?;
        let Relocations {
            relative,
            imports,
            copied,
            thread_blocks,
            thread_offsets,
            ..
        } = relocations;
        Ok(Self {
            entry,
            needed: dynamic.read_texts(&image, elf::DT_NEEDED)?,
            folders: dynamic.read_folders(&image)?,
            exports: symbols::read_exports(&image, &dynamic)?,
            relative,
            imports,
            copied,
            thread_locals: image.thread_locals,
            thread_blocks,
            thread_offsets,
            before: dynamic.read_functions(&image, BEFORE)?,
            after: dynamic.read_functions(&image, AFTER)?,
            frames: read_frames(&image),
            length: image.end,
            writable: writable_pages(&image),
            bytes: image.bytes,
        })
    }
}

/// Returns the pages that a program may change, without gaps where segments share one.
fn writable_pages(image: &Image) -> Vec<Range<u64>> {
    let mut pages: Vec<Range<u64>> = Vec::new();
    for segment in image.segments.iter().filter(|segment| segment.is_writable) {
        let start = segment.memory.start / PAGE * PAGE;
        let end = segment.memory.end.next_multiple_of(PAGE);
        match pages.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => pages.push(start..end),
        }
    }
    pages
}

/// Returns the address of the descriptions of frames if they are whole.
///
/// The index begins with a version, three encodings and the address; linkers use one encoding
/// (Linux Standard Base 5.0, section 10.6.2).
fn read_frames(image: &Image) -> Option<u64> {
    /// Encoding of an address as a 32-bit distance from the place of the address.
    const RELATIVE: u8 = 0x1b;
    let index = image.frame_index?;
    let [version, encoding]: &[u8; 2] = image.value_at(index)?;
    let distance = image
        .value_at::<object::I32<LE>>(index.checked_add(4)?)?
        .get(LE);
    if *version != 1 || *encoding != RELATIVE {
        return None;
    }
    let start = index.checked_add(4)?.checked_add_signed(distance.into())?;
    let mut at = start;
    loop {
        match image.value_at::<object::U32<LE>>(at)?.get(LE) {
            0 => return Some(start),
            // Longer than any description of a frame.
            u32::MAX => return None,
            length => at = at.checked_add(4 + u64::from(length))?,
        }
    }
}
