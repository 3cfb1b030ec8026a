//! Summarises samples as points: for each size the 10 % quantile of all samples, with the
//! uncertainty.
//!
//! Why not the mean: a few preempted samples of ten times the length change the mean by any amount.
//! Why not the minimum: the minimum is a single event, and falls with every further sample. The 10
//! % quantile is the time of a message *without* preemption; the mean is reported relative to it
//! ([`SizeSummary::noise_factor`]).
//!
//! The uncertainty comes from resampling whole blocks, with replacement: samples of one block
//! belong together. With one block, the uncertainty is the nonparametric interval of the quantile.

use std::collections::BTreeMap;

use sim_core::Stream;

use crate::point::{Point, count};
use crate::quantile::{of_sorted, quantile};
use crate::sample::Block;

/// Number of times that blocks are drawn again.
const RESAMPLES: usize = 200;
/// The first samples of a block are slower: medians of 1.35 and 1.07 times the block's were seen.
const WARM_UP: usize = 2;
/// Two-sided 95 % of the normal distribution.
const Z95: f64 = 1.96;

/// Statistic that stands for all samples of a size.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Statistic {
    /// The least.
    Min,
    /// The 10 % quantile.
    #[default]
    P10,
    /// The quartile.
    P25,
    /// The median.
    Median,
}

impl Statistic {
    /// Returns the part of the samples below the statistic.
    pub const fn quantile(self) -> f64 {
        match self {
            Self::Min => 0.0,
            Self::P10 => 0.1,
            Self::P25 => 0.25,
            Self::Median => 0.5,
        }
    }
}

/// All that is said of the samples of one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeSummary {
    /// The size, the statistic, and the relative standard error of the statistic.
    pub point: Point,
    /// Number of samples, without the dropped warm-up samples.
    pub samples: usize,
    /// Blocks.
    pub blocks: usize,
    /// Half of the 95 % interval of the statistic, relative to the statistic.
    pub half_width: f64,
    /// The mean, in seconds.
    pub mean_s: f64,
    /// The median, in seconds.
    pub median_s: f64,
}

impl SizeSummary {
    /// Returns the mean divided by the statistic: the average effect of noise.
    pub fn noise_factor(&self) -> f64 {
        self.mean_s / self.point.time_s
    }
}

/// Returns the samples of a block that count: without the first two, if there are more than five.
pub(crate) fn kept(block: &Block) -> &[f64] {
    let dropped = if block.times_s.len() > 5 { WARM_UP } else { 0 };
    &block.times_s[dropped..]
}

/// One summary per size, by size. `seed` names the stream from which blocks are drawn again.
pub fn summarise(blocks: &[&Block], statistic: Statistic, seed: u64) -> Vec<SizeSummary> {
    let mut by_size: BTreeMap<u64, Vec<&Block>> = BTreeMap::new();
    for block in blocks {
        by_size.entry(block.size).or_default().push(block);
    }
    let summary = |(size, mut blocks): (u64, Vec<&Block>)| {
        blocks.sort_by_key(|block| block.sort_key());
        of_size(size, &blocks, statistic, seed)
    };
    by_size.into_iter().filter_map(summary).collect()
}

fn of_size(size: u64, blocks: &[&Block], statistic: Statistic, seed: u64) -> Option<SizeSummary> {
    let mut samples: Vec<f64> = blocks
        .iter()
        .flat_map(|block| kept(block))
        .copied()
        .collect();
    samples.sort_by(f64::total_cmp);
    let q = statistic.quantile();
    let time_s = of_sorted(&samples, q)?;
    let (error, half_width) = if blocks.len() > 1 {
        resampled(size, blocks, q, seed)
    } else {
        let half = rank_interval(&samples, q) / 2.0;
        (half / Z95, half)
    };
    Some(SizeSummary {
        point: Point {
            size,
            time_s,
            error: error / time_s,
        },
        samples: samples.len(),
        blocks: blocks.len(),
        half_width: half_width / time_s,
        mean_s: samples.iter().sum::<f64>() / count(samples.len()),
        median_s: of_sorted(&samples, 0.5)?,
    })
}

/// Returns the standard error of the quantile and half its 95 % interval, in seconds, from
/// resampled blocks.
fn resampled(size: u64, blocks: &[&Block], q: f64, seed: u64) -> (f64, f64) {
    let mut stream = Stream::new(seed, &format!("validation/blocks of {size} B"));
    let values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let samples = draw_samples(blocks, &mut stream);
            quantile(&samples, q)
        })
        .collect();
    let mean = values.iter().sum::<f64>() / count(values.len());
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let low = quantile(&values, 0.025).unwrap_or(mean);
    let high = quantile(&values, 0.975).unwrap_or(mean);
    ((squares / count(values.len())).sqrt(), (high - low) / 2.0)
}

/// The samples of as many blocks as there are, drawn with repetition.
pub(crate) fn draw_samples(blocks: &[&Block], stream: &mut Stream) -> Vec<f64> {
    let mut samples = Vec::new();
    for _ in blocks {
        let at = usize::try_from(stream.below(blocks.len() as u64)).expect("as blocks");
        samples.extend_from_slice(kept(blocks[at]));
    }
    samples
}

/// The width of the 95 % interval of the quantile of sorted samples, by ranks ⌊nq − z √(n q (1−q))⌋
/// and ⌈nq + z √(n q (1−q))⌉ + 1.
fn rank_interval(sorted: &[f64], q: f64) -> f64 {
    let n = count(sorted.len());
    let spread = Z95 * (n * q * (1.0 - q)).sqrt();
    let rank = |place: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the number of samples"
        )]
        let rank = place.clamp(1.0, n) as usize;
        sorted[rank - 1]
    };
    rank((n * q + spread).ceil() + 1.0) - rank((n * q - spread).floor())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Kernel, Set};

    fn block(number: u32, times: &[f64]) -> Block {
        Block {
            session: 1,
            number,
            kernel: Kernel::PingPong,
            size: 8,
            set: Set::Training,
            times_s: times.to_vec(),
        }
    }

    #[test]
    fn the_quantile_of_all_samples_but_the_first_two_of_each_block() {
        let one = block(1, &[90.0, 90.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let two = block(2, &[90.0, 90.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
        let [summary] = summarise(&[&one, &two], Statistic::P10, 1)[..] else {
            panic!("one size");
        };
        assert_eq!((summary.samples, summary.blocks), (11, 2));
        assert_eq!(summary.point.time_s, 2.0);
        assert_eq!((summary.mean_s, summary.median_s), (6.0, 6.0));
        assert_eq!(summary.noise_factor(), 3.0);
        assert!(summary.point.error > 0.0 && summary.half_width > summary.point.error);
    }

    #[test]
    fn equal_samples_are_certain_and_order_means_nothing() {
        let blocks = [block(1, &[3.0; 10]), block(2, &[3.0; 10])];
        let there = summarise(&[&blocks[0], &blocks[1]], Statistic::P10, 1);
        assert_eq!((there[0].point.error, there[0].half_width), (0.0, 0.0));
        let blocks = [block(1, &[1.0, 2.0, 3.0]), block(2, &[4.0, 5.0, 6.0])];
        let there = summarise(&[&blocks[0], &blocks[1]], Statistic::P10, 1);
        let back = summarise(&[&blocks[1], &blocks[0]], Statistic::P10, 1);
        assert_eq!(there, back);
    }

    #[test]
    fn one_block_has_the_interval_of_ranks() {
        let times: Vec<f64> = (0..102).map(f64::from).collect();
        let only = block(1, &times);
        let [summary] = summarise(&[&only], Statistic::Median, 1)[..] else {
            panic!("one size");
        };
        // 100 samples 2..=101: ranks 40 and 61.
        assert_eq!(summary.point.time_s, 51.5);
        assert_eq!(summary.half_width, 10.5 / 51.5);
    }
}
