//! Reading of compiled programs: an ELF file becomes a template, from which the loader makes the
//! image of each rank.
//!
//! A file is untrusted: every offset, length and index is checked against the file or the image
//! before it is used, and what is not understood is refused with a message. Nothing of the file is
//! executed here.
//!
//! *Refused*: other machines than x86-64, programs that are not position-independent, static
//! programs, thread-local variables, relocations in the text, indirect functions.

use std::fmt;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf;
use object::pod::Pod;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

type Header = elf::FileHeader64<LE>;

/// Largest image of a program in bytes.
const IMAGE_MAX: u64 = 1 << 30;

/// Size of a page in bytes.
pub(crate) const PAGE: u64 = 4096;

/// Largest number of relocations, and of libraries.
const ENTRIES_MAX: u64 = 1 << 24;

/// Length and address of compact relative relocations, in the dynamic section (generic ABI).
const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// Reason why a compiled program cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(pub(crate) String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

fn refuse<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(text.into()))
}

fn damaged<T>(what: &str) -> Result<T, Refusal> {
    refuse(format!("damaged ELF file: {what}"))
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

/// Returns the kind of an executable file, of which these are the bytes.
#[must_use]
pub fn kind(file: &[u8]) -> Kind {
    let Ok(needed) = needed(file) else {
        return Kind::Other;
    };
    let has = |prefix: &str| needed.iter().any(|name| name.starts_with(prefix));
    if has("libmpi_abi.so.") {
        Kind::StandardAbi
    } else if has("libmpi.so.12") {
        Kind::OtherAbi("MPICH")
    } else if has("libmpi.so.40") {
        Kind::OtherAbi("Open MPI")
    } else {
        Kind::Other
    }
}

fn needed(file: &[u8]) -> Result<Vec<String>, Refusal> {
    let header = header(file)?;
    if header.e_machine.get(LE) != elf::EM_X86_64 {
        return refuse("another machine");
    }
    let image = Image::read(header, file)?;
    Dynamic::read(&image)?.needed(&image)
}

fn header(file: &[u8]) -> Result<&Header, Refusal> {
    if !file.starts_with(&elf::ELFMAG) {
        return refuse("not an ELF file: expected a compiled program");
    }
    match Header::parse(file) {
        Ok(header) if header.is_class_64() && header.is_little_endian() => Ok(header),
        Ok(_) => refuse("not a program for x86-64: expected 64 bits, little-endian"),
        Err(_) => damaged("its header is cut short"),
    }
}

/// A segment in memory.
#[derive(Clone, Debug)]
struct Segment {
    memory: Range<u64>,
    is_writable: bool,
}

/// The memory of a program as its file describes it.
#[derive(Debug)]
struct Image {
    /// From address 0 to the last byte that the file gives.
    bytes: Vec<u8>,
    segments: Vec<Segment>,
    /// End of the last segment, a whole number of pages.
    span: u64,
    dynamic: Option<Range<u64>>,
    has_tls: bool,
    has_interpreter: bool,
}

impl Image {
    fn read(header: &Header, file: &[u8]) -> Result<Self, Refusal> {
        let Ok(headers) = header.program_headers(LE, file) else {
            return damaged("its program headers are outside of the file");
        };
        let mut image = Self {
            bytes: Vec::new(),
            segments: Vec::new(),
            span: 0,
            dynamic: None,
            has_tls: false,
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
                        return refuse(format!(
                            "the program needs more than {} MiB of memory when it starts",
                            IMAGE_MAX >> 20
                        ));
                    };
                    let Ok(data) = header.data(LE, file) else {
                        return damaged("a segment is outside of the file");
                    };
                    image.place(memory, data, header.p_flags(LE) & elf::PF_W != 0)?;
                }
                elf::PT_DYNAMIC => image.dynamic = range(header.p_memsz(LE)),
                elf::PT_TLS => image.has_tls |= header.p_memsz(LE) > 0,
                elf::PT_INTERP => image.has_interpreter = true,
                _ => {}
            }
        }
        Ok(image)
    }

    fn place(&mut self, memory: Range<u64>, data: &[u8], writable: bool) -> Result<(), Refusal> {
        if data.len() as u64 > memory.end - memory.start {
            return damaged("a segment has more bytes in the file than in memory");
        }
        let before = self.segments.last().map_or(0, |segment| segment.memory.end);
        if memory.start < before {
            return damaged("its segments overlap or are not in order");
        }
        if !data.is_empty() {
            self.bytes.resize(index(memory.start)?, 0);
            self.bytes.extend_from_slice(data);
        }
        self.span = memory.end.next_multiple_of(PAGE);
        self.segments.push(Segment {
            memory,
            is_writable: writable,
        });
        Ok(())
    }

    /// Returns a value at an address, if the file gives its bytes.
    fn at<T: Pod>(&self, address: u64) -> Option<&T> {
        let bytes = self.bytes.get(usize::try_from(address).ok()?..)?;
        object::pod::from_bytes(bytes).ok().map(|(value, _)| value)
    }

    /// Returns a table at an address, if the file gives its bytes.
    fn table<T: Pod>(&self, address: u64, bytes: u64) -> Option<&[T]> {
        let all = self.bytes.get(usize::try_from(address).ok()?..)?;
        let count = bytes / size_of::<T>() as u64;
        let count = usize::try_from(count.min(ENTRIES_MAX)).ok()?;
        object::pod::slice_from_bytes(all, count)
            .ok()
            .map(|(table, _)| table)
    }

    fn string(&self, address: u64) -> Option<String> {
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

    /// Returns true if an address is in any segment.
    fn contains(&self, address: u64) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| segment.memory.contains(&address))
    }
}

fn index(address: u64) -> Result<usize, Refusal> {
    usize::try_from(address).or_else(|_| damaged("an address is too large"))
}

/// The dynamic section.
#[derive(Debug)]
struct Dynamic<'a> {
    entries: &'a [elf::Dyn64<LE>],
}

impl<'a> Dynamic<'a> {
    fn read(image: &'a Image) -> Result<Self, Refusal> {
        let Some(place) = &image.dynamic else {
            return refuse("a static program: expected one that is linked with libmpi_abi.so");
        };
        let table = image.table(place.start, place.end - place.start);
        let Some(entries) = table else {
            return damaged("its dynamic section is outside of its segments");
        };
        let is_end = |entry: &elf::Dyn64<LE>| entry.d_tag.get(LE) == u64::from(elf::DT_NULL);
        let end = entries.iter().position(is_end).unwrap_or(entries.len());
        Ok(Self {
            entries: &entries[..end],
        })
    }

    fn values(&self, tag: u32) -> impl Iterator<Item = u64> {
        let tag = u64::from(tag);
        let entries = self.entries.iter();
        entries
            .filter(move |entry| entry.d_tag.get(LE) == tag)
            .map(|entry| entry.d_val.get(LE))
    }

    fn value(&self, tag: u32) -> Option<u64> {
        self.values(tag).next()
    }

    fn needed(&self, image: &Image) -> Result<Vec<String>, Refusal> {
        let strings = self.value(elf::DT_STRTAB).unwrap_or_default();
        let name = |offset: u64| {
            let name = strings
                .checked_add(offset)
                .and_then(|address| image.string(address));
            name.map_or_else(|| damaged("the name of a library is outside"), Ok)
        };
        self.values(elf::DT_NEEDED).map(name).collect()
    }
}

/// A place of an image that gets the address of a symbol of another library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Import {
    pub(crate) offset: u64,
    pub(crate) name: String,
    pub(crate) addend: i64,
    /// True if the program runs without it.
    pub(crate) is_weak: bool,
}

/// A variable of a library of which the program has its own copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CopiedVariable {
    pub(crate) offset: u64,
    pub(crate) name: String,
    pub(crate) length: u64,
}

/// Functions that run before `main` or after it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Functions {
    /// Address of one function, 0 if there is none.
    pub(crate) single: u64,
    /// Address and number of pointers to functions.
    pub(crate) array: (u64, u64),
}

/// A program as read from its file, the same for all ranks.
#[derive(Debug)]
pub struct Template {
    /// The initial bytes of an image, from address 0.
    pub(crate) bytes: Vec<u8>,
    /// Length of an image in bytes, a whole number of pages.
    pub(crate) span: u64,
    /// The pages that a program may change.
    pub(crate) writable: Vec<Range<u64>>,
    pub(crate) entry: u64,
    pub(crate) needed: Vec<String>,
    /// Places, and what is stored there relative to the address of the image.
    pub(crate) relative: Vec<(u64, i64)>,
    pub(crate) imports: Vec<Import>,
    pub(crate) copied: Vec<CopiedVariable>,
    pub(crate) before: Functions,
    pub(crate) after: Functions,
}

impl Template {
    /// Reads a program from the bytes of its file.
    ///
    /// # Errors
    /// Why the program cannot be run.
    pub fn read(file: &[u8]) -> Result<Self, Refusal> {
        let header = header(file)?;
        if header.e_machine.get(LE) != elf::EM_X86_64 {
            return refuse(format!(
                "a program for another machine (ELF machine {}): expected x86-64",
                header.e_machine.get(LE)
            ));
        }
        let image = Image::read(header, file)?;
        let dynamic = Dynamic::read(&image)?;
        match header.e_type.get(LE) {
            elf::ET_DYN => {}
            elf::ET_EXEC => {
                return refuse("the program has a fixed address: compile and link it with -pie");
            }
            _ => return refuse("not an executable: expected a linked program"),
        }
        let needed = dynamic.needed(&image)?;
        if image.has_tls {
            return refuse(
                "the program has thread-local variables, which all ranks would share: not supported",
            );
        }
        if dynamic.value(elf::DT_TEXTREL).is_some() {
            return refuse("the program has relocations in its text: compile it with -fPIE");
        }
        if !image.has_interpreter {
            return refuse("a shared library: expected a program");
        }
        let entry = header.e_entry.get(LE);
        if !image.contains(entry) {
            return damaged("its entry is outside of its segments");
        }
        let mut relocations = Relocations::new(&image, &dynamic);
        relocations.read_all(&dynamic)?;
        let Relocations {
            relative,
            imports,
            copied,
            ..
        } = relocations;
        let functions = |single: u32, array: u32, length: u32| {
            let value = |tag: u32| dynamic.value(tag).unwrap_or_default();
            let (address, count) = (value(array), value(length) / 8);
            let is_inside = count <= ENTRIES_MAX
                && (count == 0 || image.is_writable(address, count * 8))
                && (value(single) == 0 || image.contains(value(single)));
            if !is_inside {
                return damaged("its lists of functions are outside of its segments");
            }
            Ok(Functions {
                single: value(single),
                array: (address, count),
            })
        };
        Ok(Self {
            entry,
            needed,
            relative,
            imports,
            copied,
            before: functions(elf::DT_INIT, elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ)?,
            after: functions(elf::DT_FINI, elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ)?,
            span: image.span,
            writable: pages(&image),
            bytes: image.bytes,
        })
    }
}

/// Returns the pages that a program may change, without gaps where segments share one.
fn pages(image: &Image) -> Vec<Range<u64>> {
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

/// The relocations of a program, sorted by what the loader does with them.
struct Relocations<'a> {
    image: &'a Image,
    symbols: u64,
    strings: u64,
    relative: Vec<(u64, i64)>,
    imports: Vec<Import>,
    copied: Vec<CopiedVariable>,
}

impl<'a> Relocations<'a> {
    fn new(image: &'a Image, dynamic: &Dynamic<'_>) -> Self {
        Self {
            image,
            symbols: dynamic.value(elf::DT_SYMTAB).unwrap_or_default(),
            strings: dynamic.value(elf::DT_STRTAB).unwrap_or_default(),
            relative: Vec::new(),
            imports: Vec::new(),
            copied: Vec::new(),
        }
    }

    fn read_all(&mut self, dynamic: &Dynamic<'_>) -> Result<(), Refusal> {
        if dynamic.value(elf::DT_REL).is_some() {
            return damaged("it has relocations without addends");
        }
        for (table, length) in [
            (elf::DT_RELA, elf::DT_RELASZ),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ),
        ] {
            let Some(address) = dynamic.value(table) else {
                continue;
            };
            let length = dynamic.value(length).unwrap_or_default();
            let Some(entries) = self.image.table::<elf::Rela64<LE>>(address, length) else {
                return damaged("its relocations are outside of its segments");
            };
            for entry in entries {
                self.read(entry)?;
            }
        }
        if let Some(address) = dynamic.value(DT_RELR) {
            let length = dynamic.value(DT_RELRSZ).unwrap_or_default();
            self.read_packed(address, length)?;
        }
        Ok(())
    }

    fn read(&mut self, entry: &elf::Rela64<LE>) -> Result<(), Refusal> {
        let kind = entry.r_type(LE, false);
        let (offset, addend) = (entry.r_offset.get(LE), entry.r_addend.get(LE));
        match kind {
            elf::R_X86_64_NONE => return Ok(()),
            elf::R_X86_64_RELATIVE => {
                self.check_place(offset, 8)?;
                self.relative.push((offset, addend));
                return Ok(());
            }
            elf::R_X86_64_64
            | elf::R_X86_64_GLOB_DAT
            | elf::R_X86_64_JUMP_SLOT
            | elf::R_X86_64_COPY => {}
            elf::R_X86_64_DTPMOD64
            | elf::R_X86_64_DTPOFF64
            | elf::R_X86_64_TPOFF64
            | elf::R_X86_64_TLSDESC => {
                return refuse(
                    "the program uses thread-local variables, which all ranks would share: \
                     not supported",
                );
            }
            elf::R_X86_64_IRELATIVE => {
                return refuse(
                    "the program has indirect functions (attribute ifunc): not supported",
                );
            }
            other => return refuse(format!("relocations of type {other}: not supported")),
        }
        let (name, symbol) = self.symbol(entry.r_sym(LE, false))?;
        if kind == elf::R_X86_64_COPY {
            let length = symbol.st_size.get(LE);
            self.check_place(offset, length)?;
            self.copied.push(CopiedVariable {
                offset,
                name,
                length,
            });
            return Ok(());
        }
        self.check_place(offset, 8)?;
        let addend = if kind == elf::R_X86_64_64 { addend } else { 0 };
        if symbol.st_shndx.get(LE) == elf::SHN_UNDEF {
            self.imports.push(Import {
                offset,
                name,
                addend,
                is_weak: symbol.st_info >> 4 == elf::STB_WEAK,
            });
            return Ok(());
        }
        if symbol.st_info & 0xf == elf::STT_GNU_IFUNC {
            return refuse("the program has indirect functions (attribute ifunc): not supported");
        }
        let value = i64::try_from(symbol.st_value.get(LE)).ok();
        let Some(value) = value.and_then(|value| value.checked_add(addend)) else {
            return damaged("the value of a symbol is too large");
        };
        self.relative.push((offset, value));
        Ok(())
    }

    /// Reads the compact form of relative relocations: addresses, each followed by bit sets of the
    /// next 63 words.
    fn read_packed(&mut self, address: u64, length: u64) -> Result<(), Refusal> {
        let Some(words) = self.image.table::<object::U64<LE>>(address, length) else {
            return damaged("its relocations are outside of its segments");
        };
        let mut next = 0_u64;
        for word in words.iter().map(|word| word.get(LE)) {
            if word & 1 == 0 {
                self.add_in_place(word)?;
                next = word.saturating_add(8);
                continue;
            }
            for bit in (1..64).filter(|bit| word >> bit & 1 == 1) {
                self.add_in_place(next.saturating_add((bit - 1) * 8))?;
            }
            next = next.saturating_add(63 * 8);
        }
        Ok(())
    }

    fn add_in_place(&mut self, offset: u64) -> Result<(), Refusal> {
        self.check_place(offset, 8)?;
        let Some(addend) = self.image.at::<object::I64<LE>>(offset) else {
            return damaged("a relocation is outside of its segments");
        };
        self.relative.push((offset, addend.get(LE)));
        Ok(())
    }

    fn check_place(&self, offset: u64, length: u64) -> Result<(), Refusal> {
        if self.image.is_writable(offset, length) {
            return Ok(());
        }
        damaged("a relocation is outside of its writable segments")
    }

    fn symbol(&self, number: u32) -> Result<(String, &elf::Sym64<LE>), Refusal> {
        let offset = u64::from(number) * size_of::<elf::Sym64<LE>>() as u64;
        let address = self.symbols.checked_add(offset);
        let symbol = address.and_then(|address| self.image.at::<elf::Sym64<LE>>(address));
        let name = symbol.and_then(|symbol| {
            let offset = u64::from(symbol.st_name.get(LE));
            self.image.string(self.strings.checked_add(offset)?)
        });
        match (name, symbol) {
            (Some(name), Some(symbol)) => Ok((name, symbol)),
            _ => damaged("a symbol is outside of its segments"),
        }
    }
}
