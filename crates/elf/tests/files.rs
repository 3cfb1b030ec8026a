//! Promise: a file becomes a template with every address checked, or a refusal that names the
//! reason.

use elf::{Export, Functions, Import, Kind, Links, Template, Value};
use object::elf as abi;

/// Addresses, which are offsets in the file too.
const ENTRY: u64 = 0x300;
const STRINGS: u64 = 0x400;
const SYMBOLS: u64 = 0x500;
const HASH: u64 = 0x600;
const RELOCATIONS: u64 = 0x700;
const PACKED: u64 = 0x800;
const DYNAMIC: u64 = 0x1000;
const ANSWER: u64 = 0x1800;
const END: u64 = 0x2800;

const NAMES: &str = "\0libmpi_abi.so.0\0/old\0/new:/newer\0MPI_Send\0answer\0";

/// A file that is written at offsets.
struct File(Vec<u8>);

impl File {
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = usize::try_from(at).expect("an offset");
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn put_words(&mut self, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(at, &bytes);
    }

    fn put_segment(&mut self, number: u64, kind: u32, flags: u32, [at, file, memory]: [u64; 3]) {
        let head = u64::from(kind) | u64::from(flags) << 32;
        self.put_words(64 + 56 * number, &[head, at, at, at, file, memory, 1]);
    }

    fn put_relocation(&mut self, number: u64, at: u64, (symbol, kind): (u64, u32), addend: u64) {
        let info = symbol << 32 | u64::from(kind);
        self.put_words(RELOCATIONS + 24 * number, &[at, info, addend]);
    }

    fn put_tag(&mut self, number: u64, tag: u32, value: u64) {
        self.put_words(DYNAMIC + 16 * number, &[tag.into(), value]);
    }

    /// The refusal of the file as a program.
    fn refusal(&self) -> String {
        let read = Template::read_program(&self.0).map(drop);
        read.expect_err("a damaged file").to_string()
    }
}

fn name(text: &str) -> u64 {
    NAMES.find(text).expect("a name") as u64
}

/// A program that needs a library, imports `MPI_Send`, and exports the variable `answer`.
fn program() -> File {
    let mut file = File(vec![0; 0x2000]);
    file.put(0, b"\x7fELF\x02\x01\x01");
    let kind = u64::from(abi::ET_DYN) | u64::from(abi::EM_X86_64) << 16 | 1 << 32;
    file.put_words(16, &[kind, ENTRY, 64, 0, 64 << 32 | 56 << 48, 4]);
    file.put_segment(0, abi::PT_INTERP, abi::PF_R, [0x200, 0, 0]);
    file.put_segment(1, abi::PT_LOAD, abi::PF_R | abi::PF_X, [0, 0x1000, 0x1000]);
    let data = [DYNAMIC, 0x1000, END - DYNAMIC];
    file.put_segment(2, abi::PT_LOAD, abi::PF_R | abi::PF_W, data);
    file.put_segment(3, abi::PT_DYNAMIC, abi::PF_R, [DYNAMIC, 0x200, 0x200]);
    file.put(STRINGS, NAMES.as_bytes());
    let global = u64::from(abi::STB_GLOBAL << 4);
    let head = |text, kind: u8, section: u64| {
        name(text) | (global | u64::from(kind)) << 32 | section << 48
    };
    file.put_words(SYMBOLS + 24, &[head("MPI_Send", abi::STT_FUNC, 0), 0, 0]);
    let answer = [head("answer", abi::STT_OBJECT, 1), ANSWER, 4];
    file.put_words(SYMBOLS + 48, &answer);
    file.put_words(HASH, &[3 << 32]);
    file.put_relocation(0, 0x1900, (0, abi::R_X86_64_RELATIVE), 0x300);
    file.put_relocation(1, 0x1908, (1, abi::R_X86_64_GLOB_DAT), 0);
    file.put_relocation(2, 0x1910, (2, abi::R_X86_64_64), 16);
    // The words at 0x1a00, and of the next ones the first and the third.
    file.put_words(PACKED, &[0x1a00, 0b1011]);
    file.put_words(0x1a00, &[0x10, 0x20, 0, 0x30]);
    let tags = [
        (abi::DT_NEEDED, name("libmpi")),
        (abi::DT_RPATH, name("/old")),
        (abi::DT_RUNPATH, name("/new")),
        (abi::DT_STRTAB, STRINGS),
        (abi::DT_SYMTAB, SYMBOLS),
        (abi::DT_HASH, HASH),
        (abi::DT_RELA, RELOCATIONS),
        (abi::DT_RELASZ, 3 * 24),
        (36, PACKED),
        (35, 16),
        (abi::DT_INIT_ARRAY, 0x1b00),
        (abi::DT_INIT_ARRAYSZ, 16),
        (abi::DT_FINI, 0x310),
    ];
    for (number, (tag, value)) in (0..).zip(tags) {
        file.put_tag(number, tag, value);
    }
    file
}

#[test]
fn a_program_becomes_a_template() {
    let template = Template::read_program(&program().0).unwrap();
    assert_eq!((template.entry, template.length), (ENTRY, END));
    assert_eq!(template.writable, vec![DYNAMIC..0x3000]);
    assert_eq!(template.needed, ["libmpi_abi.so.0"]);
    let relative = [
        (0x1900, 0x300),
        (0x1a00, 0x10),
        (0x1a08, 0x20),
        (0x1a18, 0x30),
    ];
    assert_eq!(template.relative, relative);
    let answer = Export {
        value: ANSWER,
        length: 4,
        is_thread_local: false,
        is_indirect: false,
    };
    let exports: Vec<_> = template.exports.into_iter().collect();
    assert_eq!(exports, [("answer".to_owned(), answer)]);
    let import = |offset, name: &str, addend, own| Import {
        offset,
        value: Value::Address,
        name: name.to_owned(),
        addend,
        own,
        is_weak: false,
    };
    let imports = [
        import(0x1908, "MPI_Send", 0, None),
        import(0x1910, "answer", 16, Some(answer)),
    ];
    assert_eq!(template.imports, imports);
    let functions = |single, array| Functions { single, array };
    assert_eq!(template.before, functions(0, (0x1b00, 2)));
    assert_eq!(template.after, functions(0x310, (0, 0)));
}

#[test]
fn links_tell_the_abi_and_the_folders() {
    let mut file = program();
    let links = Links::from_file(&file.0).unwrap();
    assert_eq!(links.find_kind(), Kind::StandardAbi);
    assert!(links.calls_mpi);
    // The newer list replaces the older one.
    let newer = vec!["/new".to_owned(), "/newer".to_owned()];
    assert_eq!(links.folders, [Vec::new(), newer]);
    file.put(STRINGS + name("libmpi"), b"libmpi.so.40\0\0\0");
    file.put(STRINGS + name("MPI_Send"), b"my_");
    let links = Links::from_file(&file.0).unwrap();
    assert_eq!(links.find_kind(), Kind::OtherAbi("Open MPI"));
    assert!(!links.calls_mpi);
}

#[test]
fn refusals_name_the_reason() {
    type Damage = fn(&mut File);
    let cases: [(&str, Damage); 13] = [
        ("not an ELF file", |file| file.put(0, b"#!/bin/sh")),
        ("expected 64 bits, little-endian", |file| file.put(5, &[2])),
        ("expected 64 bits, little-endian", |file| file.put(4, &[1])),
        ("ELF machine 183", |file| file.put(18, &[183])),
        ("link it with -pie", |file| file.put(16, &[2])),
        ("its entry is outside", |file| file.put_words(24, &[END])),
        ("a static program", |file| file.put(56, &[3])),
        ("expected a program", |file| file.put(64, &[4])),
        ("overlap or are not in order", |file| {
            file.put_segment(2, abi::PT_LOAD, abi::PF_W, [0x800, 8, 8]);
        }),
        ("compile it with -fPIC", |file| {
            file.put_tag(13, abi::DT_TEXTREL, 0);
        }),
        ("attribute ifunc", |file| {
            file.put_relocation(0, 0x1900, (0, abi::R_X86_64_IRELATIVE), 0);
        }),
        ("outside of its writable segments", |file| {
            file.put_relocation(0, END - 7, (0, abi::R_X86_64_RELATIVE), 0);
        }),
        ("a symbol is outside", |file| {
            file.put_relocation(1, 0x1908, (1 << 20, abi::R_X86_64_GLOB_DAT), 0);
        }),
    ];
    for (expected, damage) in cases {
        let mut file = program();
        damage(&mut file);
        let found = file.refusal();
        assert!(found.contains(expected), "{found} instead of {expected}");
    }
    let mut library = program();
    library.put(64, &[4]);
    assert_eq!(Template::read_library(&library.0).unwrap().entry, ENTRY);
}

/// Each byte of the tables once with each of some values, and each end of the file.
#[test]
fn damaged_files_give_no_place_outside_of_the_image() {
    let whole = program().0;
    let ends = (0..whole.len()).step_by(7).map(|end| whole[..end].to_vec());
    let bytes = (4..0x900).chain(0x1000..0x1100);
    let changed = bytes.flat_map(|at| {
        [0, 1, 0x7f, 0xff].map(|byte| {
            let mut file = whole.clone();
            file[at] = byte;
            file
        })
    });
    let mut accepted = 0;
    for file in ends.chain(changed) {
        let Ok(template) = Template::read_program(&file) else {
            continue;
        };
        accepted += 1;
        let relative = template.relative.iter().map(|(offset, _)| *offset);
        for offset in relative.chain(template.imports.iter().map(|import| import.offset)) {
            let is_inside = |pages: &std::ops::Range<u64>| {
                pages.start <= offset && offset + 8 <= template.length
            };
            assert!(template.writable.iter().any(is_inside), "{offset:#x}");
        }
    }
    assert!(accepted > 1000, "{accepted} files are accepted");
}
