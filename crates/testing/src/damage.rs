//! Damaged files for readers: each truncation of a valid file, and random mutations of the file.
//!
//! *Not judged*: the answer of the reader. A damaged file may still be valid; the reader must not
//! panic, hang or take memory far beyond the length of the file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::random::Random;

/// Random mutations of each file.
const MUTATIONS: usize = 10_000;

/// Address space in bytes of a test of damaged files: enough for the test's own libraries and
/// threads, but not for arrays of a damaged length. \[choice\]
const MEMORY_MAX: u64 = 3 << 30;

/// Texts that readers of text may misread.
const WORDS: [&str; 16] = [
    "1e308",
    "-1",
    "nan",
    "inf",
    "0",
    "18446744073709551616",
    "4294967295",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "\n",
    ",",
    "\u{e9}",
    "=",
];

/// Numbers of 8 bytes at the limits of integers and floating-point numbers.
const NUMBERS: [u64; 8] = [
    0,
    u64::MAX,
    1 << 32,
    i64::MAX as u64,
    f64::NAN.to_bits(),
    f64::INFINITY.to_bits(),
    f64::MAX.to_bits(),
    (-1.0_f64).to_bits(),
];

/// Names the damage if the reader panics.
struct DamageNote(String);

impl Drop for DamageNote {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "a test says which file has failed")]
            {
                eprintln!("the reader has panicked at {}", self.0);
            }
        }
    }
}

/// Calls `read` with a valid file, each truncation and 10 000 mutations of the file, which are the
/// same in each run. Memory of the process is limited from now on.
///
/// # Panics
/// If `read` does, with the damage on standard error.
pub fn read_damaged(valid: &[u8], read: impl FnMut(&[u8])) {
    let mut limit: Rlimit = getrlimit(Resource::As);
    limit.current = Some(
        limit
            .maximum
            .map_or(MEMORY_MAX, |most| most.min(MEMORY_MAX)),
    );
    setrlimit(Resource::As, limit).expect("a process may lower its own limit");
    read_each_damage(valid, read);
}

/// Calls `read` as [`read_damaged`] does, without a limit of memory.
///
/// # Panics
/// If `read` does, with the damage on standard error.
pub fn read_each_damage(valid: &[u8], mut read: impl FnMut(&[u8])) {
    for length in (0..=valid.len()).rev() {
        let _place = DamageNote(format!("the first {length} bytes"));
        read(&valid[..length]);
    }
    let mut random = Random(valid.len() as u64);
    for number in 0..MUTATIONS {
        let mut bytes = valid.to_vec();
        for _ in 0..=random.draw_below(3) {
            mutate(&mut bytes, &mut random);
        }
        let _place = DamageNote(format!("mutation {number}"));
        read(&bytes);
    }
}

/// Changes one place.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.draw_below(bytes.len());
    let end = (at + 1 + random.draw_below(32)).min(bytes.len());
    let mut put = |new: &[u8]| {
        let end = (at + new.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&new[..end - at]);
    };
    match random.draw_below(8) {
        0 => put(&[random.draw_below(256) as u8]),
        1 => put(&NUMBERS[random.draw_below(NUMBERS.len())].to_le_bytes()),
        // Records and numbers are aligned.
        2 => {
            let at = at & !7;
            let new = NUMBERS[random.draw_below(NUMBERS.len())].to_le_bytes();
            let end = (at + 8).min(bytes.len());
            bytes[at..end].copy_from_slice(&new[..end - at]);
        }
        3 => put(&(u32::MAX >> random.draw_below(32)).to_le_bytes()),
        4 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.draw_below(8);
            }
        }
        5 => drop(bytes.drain(at..end)),
        6 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            let word = random.one_of(&WORDS).bytes();
            bytes.splice(at..at, word);
        }
    }
}
