//! Any bytes for the reader of files of measurements: `cargo +nightly fuzz run measurements --
//! -max_len=4096 -timeout=10 -rss_limit_mb=1024` in `validation/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = validation::read("m", &String::from_utf8_lossy(bytes));
});
