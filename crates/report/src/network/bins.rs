//! Bytes over a link, or other sums, as a function of time: bins of equal width, which doubles
//! when the run gets longer than all of them.
//!
//! All links have the same bins. They have at most [`BINS_MAX`], and fewer where there are many
//! links, so that all bins together take at most 64 MB.

use std::collections::BTreeMap;

/// Bins of a link at most.
const BINS_MAX: usize = 512;

/// Bins of a link at least.
const BINS_MIN: usize = 8;

/// Bins of all links together: 64 MB.
const CELLS_MAX: usize = 8 << 20;

/// Width of a bin at first, in seconds: 2^-30.
const WIDTH_S: f64 = 1.0 / (1 << 30) as f64;

/// The bins of all links.
#[derive(Debug)]
pub(crate) struct Bins {
    /// Width in seconds.
    pub(crate) width_s: f64,
    /// Number of bins of each link.
    pub(crate) count: usize,
    /// Bytes by link and bin; a link has no bins after its last use.
    pub(crate) rows: Vec<Vec<f64>>,
    /// Bytes by bin that a link can carry, from the first change of its bandwidth on.
    pub(crate) capacities: BTreeMap<u32, Vec<f64>>,
}

impl Default for Bins {
    fn default() -> Self {
        Self {
            width_s: WIDTH_S,
            count: BINS_MAX,
            rows: Vec::new(),
            capacities: BTreeMap::new(),
        }
    }
}

impl Bins {
    /// Adds the bytes that move over a link at a rate from one time to another.
    pub(crate) fn add(&mut self, link: u32, from_s: f64, to_s: f64, rate: f64) {
        let at = link as usize;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, Vec::new());
            self.limit_bins();
        }
        self.reach(to_s);
        spread(&mut self.rows[at], self.width_s, (from_s, to_s), rate);
    }

    /// Adds the bytes that a link of changing bandwidth can carry from one time to another.
    pub(crate) fn add_capacity(&mut self, link: u32, (from_s, to_s): (f64, f64), bandwidth: f64) {
        self.reach(to_s);
        let row = self.capacities.entry(link).or_default();
        spread(row, self.width_s, (from_s, to_s), bandwidth);
        self.limit_bins();
    }

    /// Makes bins fewer where there are too many in all.
    fn limit_bins(&mut self) {
        let rows = self.rows.len() + self.capacities.len();
        while self.count > BINS_MIN && rows * self.count > CELLS_MAX {
            self.merge_neighbours();
            self.count /= 2;
        }
    }

    /// Makes bins wider until they reach a time.
    fn reach(&mut self, to_s: f64) {
        while to_s > self.width_s * self.count as f64 {
            self.merge_neighbours();
        }
    }

    /// Makes one bin of two.
    fn merge_neighbours(&mut self) {
        self.width_s *= 2.0;
        for row in self.rows.iter_mut().chain(self.capacities.values_mut()) {
            let pairs = row.chunks(2).map(|pair| pair.iter().sum());
            *row = pairs.collect();
        }
    }
}

/// Adds the amount of a rate from one time to another to the bins of this width.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are not negative, and there are few bins"
)]
fn spread(row: &mut Vec<f64>, width_s: f64, (from_s, to_s): (f64, f64), rate: f64) {
    if to_s <= from_s {
        return;
    }
    let first = (from_s / width_s) as usize;
    // The last bin ends with the time.
    let last = ((to_s / width_s).ceil() as usize).max(first + 1);
    if row.len() < last {
        row.resize(last, 0.0);
    }
    for (bin, sum) in row.iter_mut().enumerate().take(last).skip(first) {
        let begin_s = (width_s * bin as f64).max(from_s);
        let end_s = (width_s * (bin + 1) as f64).min(to_s);
        *sum += rate * (end_s - begin_s).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_spread_over_the_bins_that_it_touches() {
        let mut bins = Bins::default();
        // 1024 s in bins of 2 s.
        bins.add(0, 0.0, 1.0, 3.0);
        bins.add(0, 1023.0, 1024.0, 5.0);
        bins.add(1, 3.0, 7.0, 10.0);
        assert_eq!(bins.width_s, 2.0);
        assert_eq!((bins.rows[0][0], bins.rows[0][511]), (3.0, 5.0));
        assert_eq!(bins.rows[0].iter().sum::<f64>(), 8.0);
        assert_eq!(bins.rows[1], [0.0, 10.0, 20.0, 10.0]);
    }

    #[test]
    fn many_links_have_fewer_bins() {
        let mut bins = Bins::default();
        bins.add(0, 0.0, 1.0, 1.0);
        bins.add(40_000, 0.0, 1.0, 1.0);
        assert_eq!(bins.count, 128);
        assert_eq!(bins.rows[0].iter().sum::<f64>(), 1.0);
        assert!(bins.rows[0].len() <= bins.count);
    }
}
