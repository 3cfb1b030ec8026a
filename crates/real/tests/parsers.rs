//! Promise: for all received bytes, no part of a real run panics, takes memory for these bytes, or
//! accepts a foreign process. The corpus of the fuzz targets is replayed, whole and damaged in
//! thousands of ways.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use real::fuzzing;

/// Calls `reader` with each file of a corpus, and with damaged ones.
fn replay(corpus: &str, reader: fn(&[u8]), damages: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(corpus);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!corpus.is_empty());
    corpus.iter().for_each(|bytes| reader(bytes));
    let mut state = 42_u64;
    // Knuth's MMIX generator: enough to damage bytes.
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    for _ in 0..damages {
        let mut bytes = corpus[random(corpus.len())].clone();
        for _ in 0..=random(5) {
            let at = random(bytes.len());
            match random(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << random(8),
                1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)],
                2 => bytes.truncate(at),
                3 => bytes.insert(at, u8::try_from(random(256)).unwrap()),
                4 => {
                    let other = &corpus[random(corpus.len())];
                    bytes.extend_from_slice(&other[random(other.len())..]);
                }
                _ => bytes.extend(vec![u8::try_from(random(256)).unwrap(); random(40)]),
            }
        }
        reader(&bytes);
    }
}

#[test]
fn frames_between_ranks() {
    replay("frames", fuzzing::frames, 50_000);
}

#[test]
fn messages_of_connections() {
    replay("messages", fuzzing::messages, 20_000);
}

#[test]
fn what_ranks_and_the_coordinator_say() {
    replay("control", fuzzing::control, 20_000);
}

#[test]
fn handshakes_of_strangers() {
    replay("handshake", fuzzing::handshake, 5_000);
}

#[test]
fn launch_information() {
    replay("launch_info", fuzzing::launch_info, 5_000);
}

#[test]
fn packets_over_adapters() {
    replay("packet", fuzzing::packet, 50_000);
}

#[cfg(feature = "verbs")]
#[test]
fn endpoints_of_queue_pairs() {
    replay("endpoint", fuzzing::endpoint, 20_000);
}
