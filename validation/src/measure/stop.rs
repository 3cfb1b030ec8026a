//! The stopping rule: a size is done when the statistic is precise enough, or at the maximum number
//! of blocks.
//!
//! The precision is the half width of a 95 % interval from resampling whole blocks; a rule from the
//! spread within few blocks stops too early.

use std::collections::BTreeMap;

use super::plan::{MeasureOptions, Task};
use crate::sample::Block;
use crate::sampling::{Statistic, summarise};

/// The part of all tasks that must be done before the whole measurement is.
const ENOUGH: f64 = 0.9;

/// Tasks that have enough samples.
#[derive(Debug, Default)]
pub(crate) struct StoppingRule {
    blocks: BTreeMap<Task, Vec<Block>>,
    /// True for tasks that are done.
    done: BTreeMap<Task, bool>,
}

impl StoppingRule {
    pub(crate) fn add_block(&mut self, task: Task, block: Block) {
        self.done.entry(task).or_insert(false);
        self.blocks.entry(task).or_default().push(block);
    }

    pub(crate) fn is_done(&self, task: &Task) -> bool {
        self.done.get(task).copied().unwrap_or(false)
    }

    /// Looks at everything that is not done yet; called after each pass.
    pub(crate) fn judge(&mut self, options: &MeasureOptions) {
        for (task, done) in self.done.iter_mut().filter(|(_, done)| !**done) {
            let blocks: Vec<&Block> = self.blocks[task].iter().collect();
            if blocks.len() < options.blocks_min as usize {
                continue;
            }
            let known = || {
                let summaries = summarise(&blocks, Statistic::P10, options.seed);
                // Samples that are all 0 are known.
                let sure = |half: f64| half <= options.target || half.is_nan();
                summaries.iter().all(|one| sure(one.half_width))
            };
            *done = blocks.len() >= options.blocks_max as usize || known();
        }
    }

    /// Returns true if nine of ten tasks are done.
    pub(crate) fn is_enough(&self) -> bool {
        crate::point::count(self.done_count()) >= ENOUGH * crate::point::count(self.done.len())
    }

    /// Returns the number of tasks that are done, and the number of all tasks.
    pub(crate) fn task_counts(&self) -> (usize, usize) {
        (self.done_count(), self.done.len())
    }

    fn done_count(&self) -> usize {
        self.done.values().filter(|done| **done).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Effort;
    use crate::sample::{Kernel, Set};

    fn add(stopping: &mut StoppingRule, size: u64, number: u32, times: &[f64]) {
        let (kernel, set) = (Kernel::PingPong, Set::Training);
        let block = Block {
            session: 1,
            number,
            kernel,
            size,
            set,
            times_s: times.to_vec(),
        };
        stopping.add_block(Task { kernel, size, set }, block);
    }

    #[test]
    fn five_equal_blocks_are_enough_and_wild_ones_have_the_most() {
        let options = MeasureOptions::from_effort(Effort::Quick);
        let options = MeasureOptions {
            blocks_max: 8,
            ..options
        };
        let mut stopping = StoppingRule::default();
        for number in 0..8 {
            add(&mut stopping, 8, number, &[1e-6; 20]);
            let wild = f64::from(number + 1) * 1e-6;
            add(&mut stopping, 16, number, &[wild; 20]);
            stopping.judge(&options);
            let expected = (usize::from(number >= 4) + usize::from(number >= 7), 2);
            assert_eq!(
                stopping.task_counts(),
                expected,
                "after {} blocks",
                number + 1
            );
            assert_eq!(stopping.is_enough(), number == 7);
        }
    }
}
