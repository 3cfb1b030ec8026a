//! Any bytes for the reader of frames between ranks: `cargo +nightly fuzz run frames --
//! -max_len=4096 -timeout=10 -rss_limit_mb=1024` in `real/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| real::fuzzing::frames(bytes));
