//! Any bytes for the reader of compiled programs: `cargo +nightly fuzz run elf -- -max_len=65536
//! -timeout=10 -rss_limit_mb=2048` in `crates/cmpi/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cmpi::kind(std::path::Path::new("program"), bytes);
    let _ = cmpi::Template::read_program(bytes);
    let _ = cmpi::Template::read_library(bytes);
});
