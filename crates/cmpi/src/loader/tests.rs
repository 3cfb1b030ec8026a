//! Refused programs, and damaged files: a message, and no crash before the
//! first instruction of the program.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::libraries::Files;
use super::*;
use crate::exports::OWN_FUNCTIONS;
use crate::toolchain;
use elf::Template;

const SOURCE: &str = "
#include <mpi.h>
#include <stdio.h>
int value = 7, *pointer = &value;
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stdout, \"%d %d\\n\", rank, *pointer);
  MPI_Win_create(argv, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, 0);
  return MPI_Finalize();
}";

/// Returns a folder for the files of a test.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let name = format!("simrun-loader-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        toolchain::prepare_folder(&folder, "cc".as_ref()).unwrap();
        folder
    })
}

/// Compiles a program and returns the bytes of the compiled file.
fn compiled(name: &str, source: &str, options: &[&str]) -> Vec<u8> {
    let [input, output] = [".c", ""].map(|ending| folder().join(format!("{name}{ending}")));
    std::fs::write(&input, source).unwrap();
    let mut arguments = vec!["-o".into(), output.clone().into(), input.into()];
    arguments.extend(options.iter().map(Into::into));
    let mut command: Command = toolchain::command("cc".as_ref(), folder(), &arguments);
    assert!(command.status().unwrap().success(), "{name}");
    std::fs::read(output).unwrap()
}

/// Makes a shared library with a function `name` and with `soname` as its name in the file.
fn library(name: &str, soname: &str) {
    let source = folder().join(format!("{name}-library.c"));
    std::fs::write(&source, format!("int {name}(void) {{ return 1; }}")).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-o"]);
    command.arg(folder().join(format!("lib{name}.so")));
    command.arg(format!("-Wl,-soname,{soname}")).arg(source);
    assert!(command.status().unwrap().success(), "{name}");
}

/// Links a program, of which these are the bytes, as a file of the folder.
fn loaded(file: &[u8]) -> Result<Linked, Refusal> {
    let template = Template::read_program(file)?;
    let files = Files::collect_files(&folder().join("program"), template)?;
    Linked::new(&files, &OWN_FUNCTIONS)
}

/// Returns the message with which a file is refused; an empty text if the file is accepted.
fn refusal(file: &[u8]) -> String {
    let linked = loaded(file);
    let memory = linked.map(|linked| Rc::new(Memory::new(Arc::new(linked), 1 << 16)));
    match memory.and_then(|memory| Image::new(&memory, 0).map(drop)) {
        Ok(()) => String::new(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn a_program_is_loaded() {
    assert_eq!(refusal(&compiled("plain", SOURCE, &["-O1"])), "");
    assert_eq!(refusal(&compiled("stripped", SOURCE, &["-s"])), "");
    let packed = compiled("packed", SOURCE, &["-Wl,-z,pack-relative-relocs"]);
    assert_eq!(refusal(&packed), "");
}

#[test]
fn programs_are_refused_with_a_reason() {
    let refused = |name: &str, source: &str, options: &[&str], expected: &str| {
        let found = refusal(&compiled(name, source, options));
        assert!(found.contains(expected), "{name}: {found}");
    };
    refused(
        "fixed",
        SOURCE,
        &["-no-pie"],
        "compile and link it with -pie",
    );
    let local = SOURCE.replace("int value", "__thread int local; int value");
    let local = local.replace("return MPI", "local = rank; return MPI");
    refused("local", &local, &[], "simrun cc --tls");
    let early = local.replace(
        "__thread",
        "__attribute__((tls_model(\"initial-exec\"))) __thread",
    );
    refused("early", &early, &["--tls"], "initial-exec");
    let described = ["--tls", "-mtls-dialect=gnu2"];
    refused("described", &local, &described, "without -mtls-dialect");
    refused("shared", SOURCE, &["-shared", "-fPIC"], "a shared library");
    library("nobody", "libm.so.6");
    let nobody = SOURCE.replace(
        "return MPI",
        "extern int nobody(void); nobody(); return MPI",
    );
    let expected = "the symbol nobody, which no library has";
    refused("missing", &nobody, &["-lnobody"], expected);
    let indirect = SOURCE.replace(
        "int main",
        "static void f(void) {}\nstatic void *choose(void) { return f; }\n\
         void g(void) __attribute__((ifunc(\"choose\")));\nint main",
    );
    let indirect = indirect.replace("return MPI", "g(); return MPI");
    refused("indirect", &indirect, &[], "indirect functions");
}

#[test]
fn other_files_are_refused() {
    let plain = compiled("other", SOURCE, &[]);
    assert!(refusal(b"#!/bin/sh\n").contains("not an ELF file"));
    assert!(refusal(&plain[..40]).contains("cut short"));
    assert!(refusal(&plain[..plain.len() / 4]).starts_with("damaged ELF file"));
    let mut arm = plain.clone();
    arm[18] = 183;
    assert!(refusal(&arm).contains("another machine (ELF machine 183)"));
    let mut object = plain;
    object[16] = 1;
    assert!(refusal(&object).contains("not an executable"));
}

#[test]
fn libraries_of_the_program_are_found_or_named() {
    let program = |name: &str, options: &[&str]| {
        let call = format!("extern int {name}(void); {name}(); return MPI");
        compiled(
            &format!("{name}-user"),
            &SOURCE.replace("return MPI", &call),
            options,
        )
    };
    library("own", "libown.so");
    let user = program("own", &["-lown"]);
    assert_eq!(refusal(&user), "");
    let file = folder().join("libown.so");
    std::fs::write(&file, &std::fs::read(&file).unwrap()[..200]).unwrap();
    let found = refusal(&user);
    assert!(found.contains("libown.so: damaged ELF file"), "{found}");
    std::fs::remove_file(&file).unwrap();
    let found = refusal(&user);
    assert!(found.contains("the shared library libown.so of"), "{found}");
    library("foreign", "libmpi.so.12");
    let found = refusal(&program("foreign", &["-lforeign"]));
    assert!(
        found.contains("an MPI with its own ABI, libmpi.so.12"),
        "{found}"
    );
}

/// Returns the program of the mutations.
fn original() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| compiled("mutated", SOURCE, &["-O1", "-s"]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Bytes of the file are replaced, most of them in the headers and the dynamic section.
    #[test]
    fn a_damaged_file_gets_a_message(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4), 1..6),
        length in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut file = original().to_vec();
        // The dynamic section is in the writable data, at the end of what is loaded.
        let dynamic = file.len() * 3 / 4;
        for (index, value, part) in changes {
            let at = match part {
                0 | 1 => index.index(1024.min(file.len())),
                2 => dynamic + index.index(file.len() - dynamic),
                _ => index.index(file.len()),
            };
            file[at] = value;
        }
        if let Some(length) = length {
            file.truncate(length.index(file.len()));
        }
        refusal(&file);
    }
}

/// Returns the next number of a sequence (xorshift64, Marsaglia 2003).
fn next(state: &mut u64) -> usize {
    for shift in [13_i32, -7, 17] {
        *state ^= match shift {
            ..0 => *state >> -shift,
            _ => *state << shift,
        };
    }
    usize::try_from(*state >> 1).unwrap()
}

/// Returns a file with some words replaced by values that make sums overflow, or that are just
/// outside of a valid range.
fn mutated(file: &[u8], state: &mut u64) -> Vec<u8> {
    const WORDS: [u64; 12] = [
        0,
        1,
        u64::MAX,
        u64::MAX - 7,
        1 << 63,
        1 << 32,
        1 << 30,
        (1 << 30) - 8,
        1 << 28,
        0xfff,
        0x1000,
        0x7fff_ffff,
    ];
    let mut file = file.to_vec();
    for _ in 0..1 + next(state) % 3 {
        // Headers, tables of symbols and relocations, or the dynamic section behind the text.
        let part = [
            64..1024,
            1024..file.len() / 2,
            file.len() / 2..file.len() - 8,
        ];
        let part = part[next(state) % 3].clone();
        let at = part.start + next(state) % (part.end - part.start);
        let word = match next(state) % 3 {
            0 => WORDS[next(state) % WORDS.len()],
            // A part of another place of the file: mostly what looks right there.
            1 => u64::from_le_bytes(file[part.start & !7..][..8].try_into().unwrap()),
            _ => (next(state) % (2 * file.len())) as u64,
        };
        let at = if next(state).is_multiple_of(4) {
            at
        } else {
            at & !7
        };
        let length = [1, 4, 8][next(state) % 3];
        file[at..at + length].copy_from_slice(&word.to_le_bytes()[..length]);
    }
    file
}

/// The same files in each run of the test: programs with and without thread-local variables, and a
/// library.
#[test]
fn hostile_files_get_a_message() {
    let local = SOURCE.replace("int value", "__thread int local = 3; int value");
    let local = local.replace("return MPI", "local = rank; return MPI");
    let programs = [
        compiled("hostile", SOURCE, &["-O1", "-s"]),
        compiled("hostile-tls", &local, &["-O1", "-s", "--tls"]),
        compiled(
            "hostile-packed",
            SOURCE,
            &["-s", "-Wl,-z,pack-relative-relocs"],
        ),
    ];
    let library = compiled("hostile.so", &local, &["-O1", "-s", "-shared", "-fPIC"]);
    let mut state = 20_261_126;
    let mut refused = 0;
    for _ in 0..500 {
        for program in &programs {
            refused += usize::from(!refusal(&mutated(program, &mut state)).is_empty());
        }
        let file = mutated(&library, &mut state);
        refused += usize::from(Template::read_library(&file).is_err());
    }
    // Many of the words are not read before the program runs.
    assert!((300..1900).contains(&refused), "{refused} of 2000");
}

#[test]
fn images_share_the_text_of_the_program() {
    let file = compiled("text", SOURCE, &["-O1"]);
    let memory = Rc::new(Memory::new(Arc::new(loaded(&file).unwrap()), 1 << 16));
    let thunks = &memory.linked.thunks;
    let expected = [&**thunks, &memory.linked.parts[0].bytes].concat();
    let images = [0, 1, memory::SHARED_MAX].map(|rank| Image::new(&memory, rank).unwrap());
    let lengths = images.each_ref().map(|image| image.slot.text);
    assert!(
        lengths[0] > thunks.len() && lengths[0] == lengths[1],
        "{lengths:?}"
    );
    assert_eq!(lengths[2], 0);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for (image, is_shared) in images.iter().zip([true, true, false]) {
        // SAFETY: the beginning of an image, which is as long.
        let found =
            unsafe { std::slice::from_raw_parts(image.slot.address as *const u8, lengths[0]) };
        assert!(found == &expected[..lengths[0]], "not the text of the file");
        let start = image.slot.address;
        let line = format!("{start:x}-{:x} r-xp", start + lengths[0]);
        assert_eq!(maps.contains(&line), is_shared, "{line}");
    }
}
