//! Copying in memory, from and to places that are in no cache.
//!
//! Source and destination rotate over at least four times the last level of cache, because a copy
//! from one hot buffer measures the cache.

use std::fs;
use std::hint::black_box;

/// Bytes that a sample copies at least, so that the clock's own cost does not count.
const SAMPLE: u64 = 65_536;
/// Size of the last level of cache if unknown, and the largest pool that the copies rotate over.
const CACHE: u64 = 32 << 20;
const POOL_MAX: u64 = 256 << 20;

/// Memory that is copied from and to.
#[derive(Debug, Default)]
pub(crate) struct CopyBenchmark {
    from: Vec<u8>,
    to: Vec<u8>,
    next: usize,
}

impl CopyBenchmark {
    /// Seconds to copy `size` bytes, by the clock `now`.
    pub(crate) fn time_copy(&mut self, size: u64, now: impl Fn() -> f64) -> f64 {
        let size = usize::try_from(size.max(1)).unwrap_or(usize::MAX);
        self.allocate_pool(size);
        let times = (usize::try_from(SAMPLE).unwrap_or(usize::MAX) / size).max(1);
        let start = now();
        for _ in 0..times {
            if self.next + size > self.from.len() {
                self.next = 0;
            }
            let place = self.next..self.next + size;
            self.to[place.clone()].copy_from_slice(black_box(&self.from[place]));
            black_box(&mut self.to);
            self.next += size.next_multiple_of(64);
        }
        (now() - start) / crate::point::count(times)
    }

    fn allocate_pool(&mut self, size: usize) {
        if self.from.is_empty() {
            let pool = (4 * last_level_cache()).min(POOL_MAX);
            let pool = usize::try_from(pool).unwrap_or(usize::MAX).max(2 * size);
            // Written once, so that all pages are there.
            self.from = (0..pool).map(|at| (at % 251) as u8).collect();
            self.to = vec![1; pool];
        }
    }
}

/// Bytes of the largest cache that the system tells of.
fn last_level_cache() -> u64 {
    let size = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = fs::read_to_string(path).ok()?;
        let number: u64 = text.trim().trim_end_matches(['K', 'M']).parse().ok()?;
        Some(number << if text.contains('M') { 20 } else { 10 })
    };
    (0..5).filter_map(size).max().unwrap_or(CACHE)
}
