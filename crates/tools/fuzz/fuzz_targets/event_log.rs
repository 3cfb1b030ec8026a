//! Any bytes for the reader `event_log`, in `tools/`:
//! `cargo +nightly fuzz run event_log -- -max_len=8192 -timeout=10 -rss_limit_mb=1024`.

#![no_main]

#[path = "../../tests/readers/mod.rs"]
#[expect(dead_code, reason = "each target runs one reader")]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::event_log(bytes));
