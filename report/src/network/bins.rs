//! Bytes over a link, or other sums, as a function of time: bins of equal width, which doubles
//! when the run gets longer than all of them.
//!
//! All links have the same bins. They have at most [`BINS_MAX`], and fewer where there are many
//! links, so that all bins together take at most 64 MB.

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
    /// Bytes by link and bin; a link has no bins behind its last use.
    pub(crate) rows: Vec<Vec<f64>>,
}

impl Default for Bins {
    fn default() -> Self {
        Self {
            width_s: WIDTH_S,
            count: BINS_MAX,
            rows: Vec::new(),
        }
    }
}

impl Bins {
    /// Adds what moves over a link at a rate from one time to another.
    pub(crate) fn add(&mut self, link: u32, from_s: f64, to_s: f64, rate: f64) {
        let at = link as usize;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, Vec::new());
            while self.count > BINS_MIN && self.rows.len() * self.count > CELLS_MAX {
                self.merge();
                self.count /= 2;
            }
        }
        while to_s > self.width_s * self.count as f64 {
            self.merge();
        }
        let (first, last) = (self.bin(from_s), self.bin(to_s));
        let row = &mut self.rows[at];
        if row.len() <= last {
            row.resize(last + 1, 0.0);
        }
        for (bin, bytes) in row.iter_mut().enumerate().take(last + 1).skip(first) {
            let begin_s = self.width_s * bin as f64;
            let begin_s = begin_s.max(from_s);
            let end_s = (self.width_s * (bin + 1) as f64).min(to_s);
            *bytes += rate * (end_s - begin_s).max(0.0);
        }
    }

    /// Returns the bin of a time.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are not negative, and there are few bins"
    )]
    fn bin(&self, time_s: f64) -> usize {
        ((time_s / self.width_s) as usize).min(self.count - 1)
    }

    /// Makes one bin of two.
    fn merge(&mut self) {
        self.width_s *= 2.0;
        for row in &mut self.rows {
            let pairs = row.chunks(2).map(|pair| pair.iter().sum());
            *row = pairs.collect();
        }
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
