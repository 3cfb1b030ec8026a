//! Packs the files of `selectors/`, which every program contains, to a seventh of their length.
//!
//! A packed text is a list of repeated strings (LZ77): the number of bytes that follow, the bytes,
//! then the length and the distance of an earlier string that is repeated. Numbers are in LEB128.
//! `src/selector/built_in.rs` unpacks the text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Shortest string that is repeated: a shorter string is no longer than a length and a distance.
const REPEATED_MIN: usize = 6;

/// Number of earlier places with the same first bytes that are compared.
const COMPARED_MAX: usize = 64;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=selectors");
    let folder = env::var_os("OUT_DIR").map_or_else(PathBuf::new, PathBuf::from);
    for entry in Path::new("selectors").read_dir()? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default();
        fs::write(folder.join(name), pack(&fs::read(&path)?))?;
    }
    Ok(())
}

/// Returns the packed text.
fn pack(text: &[u8]) -> Vec<u8> {
    // The last place that begins with these bytes, and for each place the one before it.
    let mut last: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut before = vec![None; text.len()];
    let mut packed = Vec::new();
    let (mut at, mut written) = (0, 0);
    while at < text.len() {
        let (length, distance) = longest_match(text, at, &last, &before);
        let end = if length >= REPEATED_MIN {
            put_all(&mut packed, &text[written..at]);
            put_number(&mut packed, length);
            put_number(&mut packed, distance);
            written = at + length;
            written
        } else {
            at + 1
        };
        while at < end {
            if let Some(first) = text.get(at..at + REPEATED_MIN) {
                before[at] = last.insert(first, at);
            }
            at += 1;
        }
    }
    put_all(&mut packed, &text[written..]);
    packed
}

/// Returns the length and the distance of the longest earlier string that is repeated at a place.
fn longest_match(
    text: &[u8],
    at: usize,
    last: &BTreeMap<&[u8], usize>,
    before: &[Option<usize>],
) -> (usize, usize) {
    let first = text
        .get(at..at + REPEATED_MIN)
        .and_then(|first| last.get(first));
    let mut earlier = first.copied();
    let mut found = (0, 0);
    for _ in 0..COMPARED_MAX {
        let Some(place) = earlier else {
            break;
        };
        let pairs = text[at..].iter().zip(&text[place..]);
        let length = pairs.take_while(|(one, other)| one == other).count();
        if length > found.0 {
            found = (length, at - place);
        }
        earlier = before[place];
    }
    found
}

fn put_all(packed: &mut Vec<u8>, bytes: &[u8]) {
    put_number(packed, bytes.len());
    packed.extend_from_slice(bytes);
}

/// Appends a number in LEB128.
fn put_number(packed: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            packed.push(low);
            return;
        }
        packed.push(low | 0x80);
    }
}
