//! Any text as a platform in SimGrid's XML: `cargo +nightly fuzz run xml -- -max_len=20000
//! -timeout=10 -rss_limit_mb=1024` in `platform/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| testing::readers::xml(text));
