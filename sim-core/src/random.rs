//! Named random streams: every consumer draws from its own stream, derived from the seed of the run
//! and a name.
//!
//! A new draw in one stream does not change the draws in another stream. The generator is `ChaCha`
//! with 8 rounds, with an output that is specified bit for bit; the name selects the 64-bit stream
//! number. The distributions are ours, part of the format of reproducible runs (version 1), and use
//! only exact arithmetic and `libm`.

use std::cell::Cell;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::Digest;

thread_local! {
    /// Number of draws from all streams of this thread.
    static DRAWS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of draws from all streams of this thread so far. A run without draws has the
/// same result with every seed.
#[must_use]
pub fn draws() -> u64 {
    DRAWS.get()
}

/// One named stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Box<ChaCha8Rng>);

impl Stream {
    /// The stream called `name` of the run with this `seed`.
    ///
    /// ```
    /// use sim_core::Stream;
    /// let mut arrivals = Stream::new(7, "arrivals");
    /// let mut again = Stream::new(7, "arrivals");
    /// assert_eq!(arrivals.below(1000), again.below(1000));
    /// ```
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut number = Digest::default();
        number.mix_str(name);
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(number.value());
        Self(Box::new(generator))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        DRAWS.set(DRAWS.get() + 1);
        self.0.next_u64()
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit the mantissa")]
        let mantissa = (self.bits() >> 11) as f64;
        mantissa * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A whole number in [0, `limit`), each equally likely (by rejection, so without bias).
    ///
    /// # Panics
    /// If `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "no number is below 0");
        if limit.is_power_of_two() {
            return self.below_power(limit);
        }
        let zone = u64::MAX - u64::MAX % limit;
        loop {
            let bits = self.bits();
            if bits < zone {
                return bits % limit;
            }
        }
    }

    /// The same draw without a division: the last `limit` numbers are rejected, as by
    /// [`below`](Self::below).
    fn below_power(&mut self, limit: u64) -> u64 {
        loop {
            let bits = self.bits();
            if bits <= u64::MAX - limit {
                return bits & (limit - 1);
            }
        }
    }

    /// An exponentially distributed number with the given mean, by inversion with `libm`'s
    /// logarithm.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// A normally distributed number with mean 0 and variance 1, by the polar method of Marsaglia
    /// and Bray (SIAM Review 6(3), 1964). The second number of the method is not kept.
    pub fn normal(&mut self) -> f64 {
        loop {
            let [x, y] = [(); 2].map(|()| 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Puts `items` into random order (Fisher and Yates).
    #[expect(clippy::missing_panics_doc, reason = "a number below a length fits")]
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).expect("an index fits"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_of_each_other() {
        let mut alone = Stream::new(1, "a");
        let expected: Vec<u64> = (0..4).map(|_| alone.bits()).collect();
        let (mut a, mut b) = (Stream::new(1, "a"), Stream::new(1, "b"));
        let mixed: Vec<u64> = (0..4)
            .map(|_| {
                b.bits();
                a.bits()
            })
            .collect();
        assert_eq!(mixed, expected);
        assert_ne!(Stream::new(1, "b").bits(), expected[0]);
        assert_ne!(Stream::new(2, "a").bits(), expected[0]);
    }

    #[test]
    fn draws_of_all_streams_are_counted() {
        let (mut a, mut b) = (Stream::new(1, "a"), Stream::new(1, "b"));
        let before = draws();
        a.bits();
        b.uniform();
        assert_eq!(draws() - before, 2);
    }

    #[test]
    fn first_draws_are_fixed_for_ever() {
        // The reproducibility promise: these figures may only change with a new version of the
        // format.
        let mut stream = Stream::new(42, "promise");
        let draws: Vec<u64> = (0..3).map(|_| stream.below(1_000_000)).collect();
        assert_eq!(draws, FIRST_DRAWS);
    }
    const FIRST_DRAWS: [u64; 3] = [189_928, 853_768, 4_237];

    #[test]
    fn distributions_have_their_means() {
        let mut stream = Stream::new(3, "means");
        let n = 20_000;
        let uniform: f64 = (0..n).map(|_| stream.uniform()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| stream.exponential(2.0)).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 0.01, "{uniform}");
        assert!((exponential - 2.0).abs() < 0.05, "{exponential}");
        let normal: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(n);
        let variance = normal.iter().map(|it| it * it).sum::<f64>() / f64::from(n);
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04,
            "{mean} {variance}"
        );
    }
}
