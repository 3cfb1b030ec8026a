//! Promise: for any packets of a peer and any calls of a program between them, an adapter does not
//! panic, and the packets that it sends can be read. The corpus of the fuzz target is replayed,
//! whole and damaged in thousands of ways; `fuzz/fuzz_targets` searches further.
//!
//! Findings of a fuzzer go into `fuzz/corpus`, and so into this test.

use std::fs;
use std::path::Path;

use testing::any_packets::any_packets;
use testing::random::Random;

/// Random inputs, and mutations of files of the corpus.
const INPUTS: usize = 20_000;

#[test]
fn any_packets_are_survived() {
    let random = &mut Random(42);
    for number in 0..INPUTS {
        let length = random.draw_below(400);
        let bytes: Vec<u8> = (0..length).map(|_| random.draw_below(256) as u8).collect();
        let survived = std::panic::catch_unwind(|| any_packets(&bytes));
        assert!(survived.is_ok(), "input {number}: {bytes:?}");
    }
}

#[test]
fn the_corpus_is_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/packets");
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let corpus: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    for (path, bytes) in files.iter().zip(&corpus) {
        println!("{}", path.display());
        any_packets(bytes);
    }
    let random = &mut Random(7);
    for _ in 0..INPUTS {
        let mut bytes = corpus[random.draw_below(corpus.len())].clone();
        for _ in 0..=random.draw_below(4) {
            let at = random.draw_below(bytes.len());
            match random.draw_below(3) {
                0 if !bytes.is_empty() => bytes[at] = random.draw_below(256) as u8,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, random.draw_below(256) as u8),
            }
        }
        any_packets(&bytes);
    }
}
