//! Any bytes for the reader of messages between ranks and coordinator: `cargo +nightly fuzz run
//! control -- -max_len=4096 -timeout=10 -rss_limit_mb=1024` in `real/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| real::fuzzing::control(bytes));
