//! Any bytes as calls and packets for an adapter: `cargo +nightly fuzz run packets --
//! -max_len=4096 -timeout=10 -rss_limit_mb=1024` in `rdma/`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testing::any_packets::any_packets(bytes));
