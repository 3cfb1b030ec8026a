//! Any bytes for the reader of the endpoint of a queue pair: `cargo +nightly fuzz run --features
//! verbs endpoint -- -max_len=4096 -timeout=10 -rss_limit_mb=1024` in `real/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| real::fuzzing::endpoint(bytes));
