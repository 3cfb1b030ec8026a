//! Any text as a platform in our TOML: `cargo +nightly fuzz run toml -- -max_len=20000 -timeout=10
//! -rss_limit_mb=1024` in `platform/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| testing::readers::toml(text));
