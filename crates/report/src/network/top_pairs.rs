//! The pairs of ranks with most bytes on a link, by space-saving counters.
//!
//! A pair without a counter takes over the smallest counter, with the bytes of this counter. So a
//! counter is too large by at most the bytes of the link ÷ 64, and every pair with more bytes than
//! this bound has a counter. Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation
//! of frequent and top-k elements in data streams", ICDT 2005.

use super::PairBytes;

/// Counters of a link.
pub(super) const COUNTERS: usize = 64;

/// Pairs that are reported.
const REPORTED: usize = 5;

/// The counters of a link.
#[derive(Clone, Default, Debug)]
pub(super) struct TopPairs(Vec<Counter>);

#[derive(Clone, Debug)]
struct Counter {
    pair: (u32, u32),
    bytes: f64,
    /// Bytes of others among them, at most.
    error: f64,
}

impl TopPairs {
    /// Counts bytes of a pair.
    pub(super) fn add_bytes(&mut self, pair: (u32, u32), bytes: f64) {
        if let Some(counter) = self.0.iter_mut().find(|counter| counter.pair == pair) {
            counter.bytes += bytes;
            return;
        }
        if self.0.len() < COUNTERS {
            let error = 0.0;
            return self.0.push(Counter { pair, bytes, error });
        }
        let by_bytes = |a: &&mut Counter, b: &&mut Counter| a.bytes.total_cmp(&b.bytes);
        if let Some(least) = self.0.iter_mut().min_by(by_bytes) {
            *least = Counter {
                pair,
                bytes: least.bytes + bytes,
                error: least.bytes,
            };
        }
    }

    /// Returns the pairs with most bytes, the largest first.
    pub(super) fn largest(&self) -> Vec<PairBytes> {
        let mut all = self.0.clone();
        all.sort_by(|a, b| b.bytes.total_cmp(&a.bytes).then(a.pair.cmp(&b.pair)));
        let largest = all.iter().take(REPORTED).map(|counter| PairBytes {
            source: counter.pair.0,
            destination: counter.pair.1,
            bytes: counter.bytes,
            error_bytes: counter.error,
        });
        largest.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_pair_is_found_among_many() {
        let mut pairs = TopPairs::default();
        let mut total = 0.0;
        for number in 0..10_000 {
            pairs.add_bytes((number, 0), 1.0);
            pairs.add_bytes((7, 8), 0.5);
            total += 1.5;
        }
        let first = &pairs.largest()[0];
        assert_eq!((first.source, first.destination), (7, 8));
        assert!(first.bytes >= 5000.0, "{first:?}");
        assert!(first.bytes - 5000.0 <= first.error_bytes, "{first:?}");
        assert!(first.error_bytes <= total / COUNTERS as f64, "{first:?}");
        assert_eq!(pairs.largest().len(), 5);
    }
}
