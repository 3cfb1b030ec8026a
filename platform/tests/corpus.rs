//! Promise: the corpus of the fuzz targets and thousands of mutations of the corpus neither panic
//! nor hang nor use much memory. The mutations are the same each time; `fuzz/fuzz_targets` searches
//! for new mutations.
//!
//! Inputs that a fuzzer finds go into `fuzz/corpus`, and so into this test.

use std::fs;
use std::path::{Path, PathBuf};

use testing::random::Random;

/// Mutations of each file.
const MUTATIONS: u64 = 300;
/// Maximum peak memory of this process, in KiB. A platform needs memory per entry of its file, not
/// per host.
const MEMORY_MAX_KIB: u64 = 400_000;

/// Pieces with a meaning in one of the formats, and numbers that are too large for some value.
const PIECES: [&str; 40] = [
    "[",
    "]",
    "[[",
    "{",
    "}",
    "\"",
    "'",
    "=",
    ",",
    ".",
    "#",
    "\n",
    "\\",
    "\0",
    "µ",
    "\u{feff}",
    "<",
    ">",
    "/>",
    "</zone>",
    "<zone id=\"z\" routing=\"Full\">",
    "<!--",
    "-->",
    "<![CDATA[",
    "<?",
    "&amp;",
    "&#x10FFFF;",
    "-",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "999999999999",
    "inf",
    "nan",
    "0-999999999999",
    "[0-67108863]",
];

/// Changes a text in one way.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.draw_below(text.len());
    match random.draw_below(9) {
        0 if !text.is_empty() => text[at] ^= 1 << random.draw_below(8),
        1 => text.truncate(at),
        2 => {
            let cut = random.draw_range(text.len());
            text.drain(cut.start..cut.end.min(cut.start + 40));
        }
        3 | 4 => {
            let piece = PIECES[random.draw_below(PIECES.len())].bytes();
            let end = (at + random.draw_below(4)).min(text.len());
            text.splice(at..end, piece);
        }
        5 => number(text, at, random),
        6 => {
            // A block again, somewhere else.
            let block = random.draw_range(text.len());
            let block = text[block.start..block.end.min(block.start + 400)].to_vec();
            text.splice(at..at, block);
        }
        7 => {
            // A line again, many times.
            let start = text[..at].iter().rposition(|byte| *byte == b'\n');
            let start = start.map_or(0, |newline| newline + 1);
            let length = text[start..].iter().position(|byte| *byte == b'\n');
            let line = text[start..start + length.map_or(0, |newline| newline + 1)].to_vec();
            text.splice(start..start, line.repeat(random.draw_below(50)));
        }
        _ => {
            // Two places of a text change their contents.
            let (one, other) = (random.draw_range(text.len()), random.draw_below(text.len()));
            let piece = text[one.start..one.end.min(one.start + 30)].to_vec();
            let end = (other + piece.len()).min(text.len());
            text.splice(other..end, piece);
        }
    }
}

/// Puts a large number in the place of the next one.
fn number(text: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = text[at..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = at + start;
    let length = text[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let end = start + length.count();
    let numbers = [
        "0",
        "1000000",
        "16777216",
        "4294967295",
        "4294967296",
        "99999999999999999999",
        "1e300",
    ];
    text.splice(
        start..end,
        numbers[random.draw_below(numbers.len())].bytes(),
    );
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
}

/// The peak memory of this process in KiB; 0 if the system does not report the peak.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}

fn replay(files: &[PathBuf], survive: fn(&str)) {
    assert!(files.len() >= 10);
    for (index, file) in files.iter().enumerate() {
        let text = fs::read(file).expect("a file");
        survive(&String::from_utf8_lossy(&text));
        let mut random = Random(index as u64);
        for _ in 0..MUTATIONS {
            let mut text = text.clone();
            for _ in 0..=random.draw_below(4) {
                mutate(&mut text, &mut random);
            }
            survive(&String::from_utf8_lossy(&text));
        }
        let peak = peak_kib();
        assert!(peak < MEMORY_MAX_KIB, "{}: {peak} KiB", file.display());
    }
}

#[test]
fn our_toml_and_mutations_of_it() {
    replay(&files("fuzz/corpus/toml"), testing::readers::toml);
}

#[test]
fn xml_of_simgrid_and_mutations_of_it() {
    let mut all = files("fuzz/corpus/xml");
    all.extend(
        files("../crates/simgrid-import/tests/simgrid")
            .into_iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "xml")),
    );
    replay(&all, testing::readers::xml);
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    for name in [
        "too-many-hosts",
        "huge-fat-tree",
        "huge-torus",
        "deep-zones",
    ] {
        let read = |folder: &str, ending: &str| {
            let path = format!(
                "{}/fuzz/corpus/{folder}/{name}.{ending}",
                env!("CARGO_MANIFEST_DIR")
            );
            fs::read_to_string(path).expect("a file of the corpus")
        };
        let toml = platform::Platform::parse(name, &read("toml", "toml"));
        assert!(toml.is_err(), "{name}");
        let xml = simgrid_import::import(name, &read("xml", "xml"));
        let loads =
            xml.is_ok_and(|imported| platform::Platform::parse(name, &imported.toml).is_ok());
        assert!(!loads, "{name}");
    }
}

/// Seconds for which this thread has been on a processor, if the system reports them. The time of
/// other threads is not included.
fn processor_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// The processor time for reading a text, if the system reports this time.
fn reading_s(text: &str) -> Option<f64> {
    let before = processor_s();
    testing::readers::toml(&format!("version = 1\n{text}"));
    Some(processor_s()? - before?)
}

/// Each of these texts took time, or memory, with the square of its length: 4 times the lines took
/// 16 times as long.
#[test]
fn a_large_file_takes_no_longer_than_its_length() {
    const MOST: f64 = 9.0;
    let lines = |count: u32, line: &dyn Fn(u32) -> String| -> String {
        let lines: Vec<String> = (0..count).map(line).collect();
        lines.concat()
    };
    let cluster = |at: u32, hosts: &str| {
        format!(
            "[clusters.c{at}]\nhosts = \"{hosts}\"\nspeed = \"1f\"\nbandwidth = \"1Bps\"\nlatency = \"1s\"\n"
        )
    };
    let singles = |count: u32, first: u32| lines(count, &|at| format!("{},", first + 2 * at));
    let texts = |part: u32| {
        let ranges = 20_000 / part;
        [
            // Mistakes of the syntax, each below a header; a line that has them all; mistakes of
            // the format.
            lines(30_000 / part, &|_| "[a]\n".to_owned()),
            "a.b=1,".repeat(30_000 / part as usize),
            lines(30_000 / part, &|at| format!("key{at} = 1\n")),
            // Equal clusters, and clusters of very many ranges.
            lines(1_500 / part, &|at| cluster(at, "n[0-9]")),
            cluster(0, &format!("n[{}1]", singles(ranges, 2)))
                + &cluster(1, &format!("n[{}0]", singles(ranges, 3))),
        ]
    };
    for (quarter, whole) in texts(4).into_iter().zip(texts(1)) {
        // Caches and pages make a single measurement longer, never shorter: the best of some says
        // what it takes.
        let ratio = (0..5).map(|_| Some(reading_s(&whole)? / reading_s(&quarter)?));
        let mut ratio = ratio.take_while(Option::is_some).flatten();
        let all: Vec<f64> = ratio.by_ref().take_while(|ratio| *ratio > MOST).collect();
        assert!(
            all.len() < 5,
            "4 times the length takes {all:.1?} times as long: {}",
            &whole[..40]
        );
    }
}
