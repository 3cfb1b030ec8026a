//! Speed states: detects whether the machine changed speed during the measurement.
//!
//! Each block gives z = ln(block median / median of all blocks of the same kernel and size), at
//! most ±0.7. In the order of time the series is cut into pieces of constant level: the exact best
//! cut, with at least 5 blocks in a piece and a penalty of 24 σ² ln N per piece, σ from the first
//! differences. Levels closer than 0.10 are one state (each level is first replaced by the median
//! of the level and both neighbours, so that one outlier makes no state). The state with the most
//! blocks is kept; the blocks of other states are dropped and counted.
//!
//! A state may go through several levels, each less than 0.10 from the next. If the levels scatter
//! by more than 0.05 (standard deviation over the blocks), and sizes have fewer than 10 blocks, the
//! times of the state are divided by the speed of their piece. Otherwise a size would look slow
//! only because the machine was slow during its blocks. A size with more blocks was measured at all
//! speeds, and its 10 % quantile belongs to the fastest speed; levels, which are known from few
//! blocks each, would add noise. Below 0.05 the levels are noise themselves. Dropped states are not
//! divided: many concern some sizes only, as a processor without a cache does.
//!
//! *Not detected*: a state that concerns only some sizes. Pinning the processes helps, filtering
//! does not.

use std::collections::BTreeMap;

use crate::point::count;
use crate::quantile::median;
use crate::sample::{Block, Kernel};
use crate::sampling::kept;

/// Largest distance of a block from the others.
const CLIP: f64 = 0.7;
/// The fewest blocks of a piece.
const PIECE_MIN: usize = 5;
/// Cost of a further segment, times σ² ln N.
const PENALTY: f64 = 24.0;
/// Levels closer than this are one state.
const SAME: f64 = 0.10;
/// With this many blocks, a size has been measured at every frequent speed of the machine: at a
/// speed that holds for a third of the time with probability 98 %.
const MANY: f64 = 10.0;
/// Factor from the median absolute deviation of normal noise to the standard deviation.
const MAD: f64 = 1.4826;
/// The smallest σ: a series below this σ has no noise.
const SIGMA_MIN: f64 = 1e-3;

/// A piece of time at one speed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SpeedInterval {
    /// The number of the first block.
    pub first: u32,
    /// The number of the last block.
    pub last: u32,
    /// Number of blocks.
    pub blocks: usize,
    /// ln of the block times relative to the median of the session: above 0 is slower.
    pub level: f64,
    /// State of the interval, from 0; intervals with equal numbers have the same speed.
    pub state: usize,
}

/// The states of one session.
#[derive(Clone, PartialEq, Debug)]
pub struct States {
    /// Number of the session.
    pub session: u32,
    /// The pieces of the session, in the order of time.
    pub pieces: Vec<SpeedInterval>,
    /// The state that is kept.
    pub main: usize,
    /// Number of states there are.
    pub count: usize,
    /// The part of the blocks that is kept.
    pub kept: f64,
    /// The mean level of the kept state, over the blocks.
    pub usual: f64,
    /// The standard deviation of the level of the kept state, over the blocks.
    pub scatter: f64,
    /// Number of blocks a kernel has at a size: the median.
    pub blocks_each: f64,
}

impl States {
    /// Finds the states of the blocks of a session; `None` if there are too few blocks.
    pub fn new(session: u32, blocks: &[&Block]) -> Option<Self> {
        let (series, blocks_each) = series(blocks);
        if series.len() < 2 * PIECE_MIN {
            return None;
        }
        let levels = smoothed(&series);
        let mut pieces: Vec<SpeedInterval> = cut_pieces(&levels)
            .into_iter()
            .map(|(first, end)| SpeedInterval {
                first: series[first].0,
                last: series[end - 1].0,
                blocks: end - first,
                level: levels[first..end].iter().sum::<f64>() / count(end - first),
                state: 0,
            })
            .collect();
        let states = merge_states(&mut pieces);
        let of_state = |state: usize| -> usize {
            let ours = pieces.iter().filter(|piece| piece.state == state);
            ours.map(|piece| piece.blocks).sum()
        };
        // Of equals the first, which is the fastest.
        let main = (0..states).rev().max_by_key(|state| of_state(*state))?;
        let blocks = count(of_state(main));
        let mean = |value: &dyn Fn(&SpeedInterval) -> f64| {
            let ours = pieces.iter().filter(|piece| piece.state == main);
            let sum: f64 = ours.map(|piece| value(piece) * count(piece.blocks)).sum();
            sum / blocks
        };
        let usual = mean(&|piece| piece.level);
        let variance = mean(&|piece| (piece.level - usual) * (piece.level - usual));
        Some(Self {
            session,
            main,
            count: states,
            kept: blocks / count(series.len()),
            usual,
            scatter: variance.sqrt(),
            blocks_each,
            pieces,
        })
    }

    /// Returns true if a block of this number was measured in the state that is kept.
    pub fn is_kept_block(&self, number: u32) -> bool {
        self.piece_of(number)
            .is_none_or(|piece| piece.state == self.main)
    }

    /// Returns the divisor for the times of block `number`: the slowness of the machine relative to
    /// the mean of the kept state; 1 if the times are not [divided](Self::is_normalized).
    pub fn slowness(&self, number: u32) -> f64 {
        match self.piece_of(number) {
            Some(piece) if self.is_normalized() => libm::exp(piece.level - self.usual),
            _ => 1.0,
        }
    }

    /// Returns true if the levels of the kept state scatter so little that the state is one speed:
    /// a few short pieces at other levels are noise of single sizes.
    pub fn is_one_speed(&self) -> bool {
        self.scatter <= SAME / 2.0
    }

    /// Returns true if the blocks of the kept state are divided by their speed: the state has
    /// several speeds, and sizes have too few blocks for the fastest speed to be certain.
    pub fn is_normalized(&self) -> bool {
        !self.is_one_speed() && self.blocks_each < MANY
    }

    fn piece_of(&self, number: u32) -> Option<&SpeedInterval> {
        let at = self.pieces.partition_point(|piece| piece.last < number);
        self.pieces.get(at).or(self.pieces.last())
    }
}

/// Numbers of blocks and how much slower than usual they were, in the order of time; and how many
/// there are for a kernel and size.
fn series(blocks: &[&Block]) -> (Vec<(u32, f64)>, f64) {
    let mut groups: BTreeMap<(Kernel, u64), Vec<(u32, f64)>> = BTreeMap::new();
    let wanted =
        |block: &&&Block| !matches!(block.kernel, Kernel::Late | Kernel::Copy | Kernel::Reduce);
    for block in blocks.iter().filter(wanted) {
        if let Some(middle) = median(kept(block)).filter(|middle| *middle > 0.0) {
            let group = groups.entry((block.kernel, block.size)).or_default();
            group.push((block.number, middle));
        }
    }
    let mut series = Vec::new();
    for group in groups.values().filter(|group| group.len() >= 3) {
        let times: Vec<f64> = group.iter().map(|one| one.1).collect();
        let middle = median(&times).unwrap_or(1.0);
        let level = |time: f64| libm::log(time / middle).clamp(-CLIP, CLIP);
        series.extend(group.iter().map(|(number, time)| (*number, level(*time))));
    }
    series.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let counts: Vec<f64> = groups.values().map(|group| count(group.len())).collect();
    (series, median(&counts).unwrap_or(0.0))
}

/// Replaces each level by the median of the level and both neighbours: one outlier makes no state.
fn smoothed(series: &[(u32, f64)]) -> Vec<f64> {
    let near = |at: usize| &series[at.saturating_sub(1)..(at + 2).min(series.len())];
    (0..series.len())
        .map(|at| {
            let levels: Vec<f64> = near(at).iter().map(|one| one.1).collect();
            median(&levels).unwrap_or(0.0)
        })
        .collect()
}

/// The best pieces of constant level: first and end of each.
fn cut_pieces(levels: &[f64]) -> Vec<(usize, usize)> {
    let n = levels.len();
    let differences: Vec<f64> = levels.windows(2).map(|two| two[1] - two[0]).collect();
    let middle = median(&differences).unwrap_or(0.0);
    let far: Vec<f64> = differences.iter().map(|one| (one - middle).abs()).collect();
    let sigma = MAD * median(&far).unwrap_or(0.0) / 2.0_f64.sqrt();
    let sigma = sigma.max(SIGMA_MIN);
    let penalty = PENALTY * sigma * sigma * libm::log(count(n));
    let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
    for level in levels {
        sums.push(sums[sums.len() - 1] + level);
        squares.push(squares[squares.len() - 1] + level * level);
    }
    let cost = |first: usize, end: usize| {
        let sum: f64 = sums[end] - sums[first];
        let square: f64 = squares[end] - squares[first];
        (square - sum * sum / count(end - first)).max(0.0)
    };
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (0.0, 0);
    for end in PIECE_MIN..=n {
        for first in 0..=end - PIECE_MIN {
            let total = best[first].0 + cost(first, end) + penalty;
            if total < best[end].0 {
                best[end] = (total, first);
            }
        }
    }
    let mut pieces = Vec::new();
    let mut end = n;
    while end > 0 {
        let first = best[end].1;
        pieces.push((first, end));
        end = first;
    }
    pieces.reverse();
    pieces
}

/// Numbers the states of the pieces, the fastest first; how many there are.
fn merge_states(pieces: &mut [SpeedInterval]) -> usize {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|one, other| pieces[*one].level.total_cmp(&pieces[*other].level));
    let mut state = 0;
    for two in 0..order.len() {
        if two > 0 && pieces[order[two]].level - pieces[order[two - 1]].level >= SAME {
            state += 1;
        }
        pieces[order[two]].state = state;
    }
    state + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Set;
    use sim_core::Stream;

    /// Returns blocks of ten sizes in turn; `slower` gives the slowness of each block number.
    fn blocks(number: u32, slower: impl Fn(u32) -> f64) -> Vec<Block> {
        blocks_of(10, number, slower)
    }

    fn blocks_of(sizes: u32, number: u32, slower: impl Fn(u32) -> f64) -> Vec<Block> {
        let mut stream = Stream::new(3, "states");
        let block = |number: u32| {
            let size = u64::from(number % sizes) * 100;
            let time = (1e-6 + 1e-9 * crate::point::bytes(size)) * slower(number);
            Block {
                session: 1,
                number,
                kernel: Kernel::PingPong,
                size,
                set: Set::Training,
                times_s: (0..20)
                    .map(|_| time * (1.0 + 0.05 * stream.uniform()))
                    .collect(),
            }
        };
        (0..number).map(block).collect()
    }

    fn states(blocks: &[Block]) -> States {
        let blocks: Vec<&Block> = blocks.iter().collect();
        States::new(1, &blocks).expect("enough blocks")
    }

    #[test]
    fn a_steady_machine_has_one_state() {
        let found = states(&blocks(200, |_| 1.0));
        assert_eq!((found.count, found.kept), (1, 1.0), "{found:?}");
    }

    #[test]
    fn a_slower_time_is_found_and_dropped() {
        let slow = |number: u32| {
            if (120..150).contains(&number) {
                1.45
            } else {
                1.0
            }
        };
        let found = states(&blocks(300, slow));
        assert_eq!(found.count, 2, "{found:?}");
        assert!((found.kept - 0.9).abs() < 0.01);
        assert!(
            found.is_kept_block(119)
                && !found.is_kept_block(120)
                && !found.is_kept_block(149)
                && found.is_kept_block(150)
        );
    }

    /// A machine that gets slower step by step has one state, because neighbouring levels are
    /// close; divided by their speed, all blocks of a size have equal times.
    #[test]
    fn what_is_kept_is_brought_to_one_speed() {
        const LEVELS: [f64; 5] = [1.0, 1.08, 1.17, 1.26, 1.36];
        let step = |number: u32| LEVELS[number as usize / 60];
        // Nine blocks for each size.
        let all = blocks_of(100, 900, |number| step(number / 3));
        let found = states(&all);
        assert_eq!((found.count, found.kept), (1, 1.0), "{found:?}");
        assert!((found.scatter - 0.108).abs() < 0.01, "{found:?}");
        for block in &all {
            // The usual speed is the mean of the levels.
            let speed = found.slowness(block.number) / step(block.number / 3);
            assert!((speed * LEVELS[2] - 1.0).abs() < 0.02, "{speed}");
        }
        // Sizes with thirty blocks have met the fastest speed.
        let found = states(&blocks(300, step));
        assert!(!found.is_normalized() && !found.is_one_speed(), "{found:?}");
        assert!((found.slowness(299) - 1.0).abs() < 1e-9);
        // Of 300 blocks 12 in two pieces, a tenth slower: no other speed, and not worth a
        // correction.
        let few = |number: u32| {
            if number % 150 < 6 { 1.09 } else { 1.0 }
        };
        let steady = states(&blocks(300, few));
        assert!(steady.is_one_speed() && steady.count == 1, "{steady:?}");
        assert!((steady.slowness(3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn single_blocks_are_noise_and_few_blocks_tell_nothing() {
        let spikes = |number: u32| if number.is_multiple_of(17) { 3.0 } else { 1.0 };
        assert_eq!(states(&blocks(200, spikes)).count, 1);
        let few = blocks(8, |_| 1.0);
        let few: Vec<&Block> = few.iter().collect();
        assert_eq!(States::new(1, &few), None);
    }
}
