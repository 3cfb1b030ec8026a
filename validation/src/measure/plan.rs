//! The plan: the kernels, sizes and order of a measurement. The plan is a function of the seed and
//! the options only.
//!
//! Training sizes are stratified: one in each of n equal intervals of ln s over \[1, largest\],
//! uniformly placed; the plan adds the empty message, the largest size, and t − 1, t, t + 1 for
//! each known threshold t. Validation sizes are drawn the same way from another random stream, and
//! move to the next free size if training has them. Powers of two alone would put every protocol
//! switch on the grid, on an unknown side.
//!
//! A *pass* is one block of every task, in a new order per pass: all kernels and both sets mixed,
//! so that drift of the machine is noise and not slope.

use std::collections::BTreeSet;

use sim_core::Stream;

use crate::point::bytes;
use crate::sample::{Kernel, Set};

/// Of this many training sizes one is measured with the kernels other than the ping-pong.
const OTHERS: usize = 3;
/// Bytes of the two reference blocks.
pub(crate) const REFERENCE_BYTES: [u64; 2] = [64, 65_536];
/// Bytes at which sharing is measured, besides the largest.
const SHARING: u64 = 65_536;

/// Time that to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Half a minute.
    Quick,
    /// Two minutes.
    Standard,
    /// Ten minutes.
    Thorough,
}

/// Ways in which a kernel lets time pass without receiving anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleMode {
    /// The kernel polls the clock until the time is over: for real runs.
    Spin,
    /// The kernel computes: for simulations, where polling the clock takes no time.
    Compute,
}

/// Kernels that are measured besides the ping-pong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelSelection {
    /// `prttN`, `dprtt2` and `os`.
    pub streams: bool,
    /// `ois` and `or`.
    pub calls: bool,
    /// `late`: where the eager threshold is.
    pub late: bool,
    /// `incastN`, `outcastN` and `bidir`.
    pub sharing: bool,
    /// `ringN` at the sizes that are held back: never fitted, always predicted.
    pub rings: bool,
    /// `copy`.
    pub copy: bool,
    /// `reduce`.
    pub reduce: bool,
}

impl KernelSelection {
    /// All kernels.
    pub const ALL: Self = Self {
        streams: true,
        calls: true,
        late: true,
        sharing: true,
        rings: true,
        copy: true,
        reduce: true,
    };
    /// The ping-pong alone.
    pub const PING_PONG: Self = Self {
        streams: false,
        calls: false,
        late: false,
        sharing: false,
        rings: false,
        copy: false,
        reduce: false,
    };
}

/// Options of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasureOptions {
    /// The seed of sizes and order.
    pub seed: u64,
    /// The number of this session: one start of the processes. Sizes do not depend on the number,
    /// the order does.
    pub session: u32,
    /// Number of training sizes, without the fixed ones.
    pub sizes: u32,
    /// Validation sizes.
    pub held_out: u32,
    /// The largest size in bytes.
    pub size_max: u64,
    /// The fewest blocks of a size.
    pub blocks_min: u32,
    /// The most blocks of a size.
    pub blocks_max: u32,
    /// Samples of a block; if `None`, 20 for tasks longer than 100 µs, and 100 for the others.
    pub repetitions: Option<u32>,
    /// A size is done when half the 95 % interval is at most this part of the time.
    pub target: f64,
    /// The measurement ends after this many seconds.
    pub time_limit_s: f64,
    /// Kernels besides ping-pongs.
    pub kernels: KernelSelection,
    /// Known thresholds: the first sizes of their new regimes.
    pub thresholds: Vec<u64>,
    /// True if more sizes are measured in gaps in which the time jumps.
    pub refines: bool,
    /// Way in which time passes.
    pub pause: IdleMode,
}

impl MeasureOptions {
    /// The options of an effort: sizes, blocks and time.
    pub const fn from_effort(effort: Effort) -> Self {
        let (sizes, held_out, blocks_max, time_limit_s) = match effort {
            Effort::Quick => (30, 12, 5, 30.0),
            Effort::Standard => (60, 24, 10, 120.0),
            Effort::Thorough => (60, 24, 20, 600.0),
        };
        Self {
            seed: 1,
            session: 1,
            sizes,
            held_out,
            size_max: 1 << 20,
            blocks_min: 5,
            blocks_max,
            repetitions: None,
            target: 0.02,
            time_limit_s,
            kernels: KernelSelection::ALL,
            thresholds: Vec::new(),
            refines: true,
            pause: IdleMode::Spin,
        }
    }
}

/// One block to measure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Task {
    /// With which kernel.
    pub kernel: Kernel,
    /// At which size, in bytes.
    pub size: u64,
    /// Purpose.
    pub set: Set,
}

/// All tasks of a measurement, before their order is chosen.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Sizes of the fit, growing.
    pub training: Vec<u64>,
    /// Sizes that are predicted, growing; none of them is a training size.
    pub validation: Vec<u64>,
    tasks: Vec<Task>,
    seed: u64,
    session: u32,
}

impl Plan {
    /// The plan for this many ranks.
    pub fn new(options: &MeasureOptions, ranks: u32) -> Self {
        let mut training: BTreeSet<u64> = draw_sizes(
            options.seed,
            "validation/training sizes",
            options.sizes,
            options.size_max,
        )
        .collect();
        training.extend([0, options.size_max]);
        let near = |threshold: &u64| [threshold.saturating_sub(1), *threshold, threshold + 1];
        let triples = options.thresholds.iter().flat_map(near);
        training.extend(triples.filter(|size| *size <= options.size_max));
        let mut validation = BTreeSet::new();
        let name = "validation/validation sizes";
        for size in draw_sizes(options.seed, name, options.held_out, options.size_max) {
            let is_free = |size: &u64| !training.contains(size) && !validation.contains(size);
            let free = (size..=options.size_max)
                .chain((0..size).rev())
                .find(is_free);
            validation.extend(free);
        }
        let mut plan = Self {
            training: training.into_iter().collect(),
            validation: validation.into_iter().collect(),
            tasks: Vec::new(),
            seed: options.seed,
            session: options.session,
        };
        plan.tasks = plan.all_tasks(options, ranks);
        plan
    }

    fn all_tasks(&self, options: &MeasureOptions, ranks: u32) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut add = |kernel: Kernel, size: u64, set: Set| {
            tasks.push(Task { kernel, size, set });
        };
        let ping_pong = ping_pong(ranks);
        for size in &self.training {
            add(ping_pong, *size, Set::Training);
        }
        for size in &self.validation {
            add(ping_pong, *size, Set::Validation);
        }
        let kernels = options.kernels;
        if kernels.rings {
            for size in &self.validation {
                add(Kernel::Ring(ranks), *size, Set::Validation);
            }
        }
        for (at, size) in self.training.iter().enumerate() {
            if at % OTHERS != 0 && at + 1 < self.training.len() {
                continue;
            }
            if kernels.streams {
                add(Kernel::Stream(1), *size, Set::Training);
                add(Kernel::Stream(16), *size, Set::Training);
                if at % (4 * OTHERS) == 0 {
                    for number in [2, 4, 8] {
                        add(Kernel::Stream(number), *size, Set::Training);
                    }
                    add(Kernel::DelayedStream(2), *size, Set::Training);
                }
            }
            if kernels.calls {
                add(Kernel::Isend, *size, Set::Training);
                add(Kernel::Receive, *size, Set::Training);
            }
            if kernels.copy && *size > 0 {
                add(Kernel::Copy, *size, Set::Training);
            }
            if kernels.reduce && *size >= 8 {
                add(Kernel::Reduce, *size, Set::Training);
            }
        }
        if kernels.sharing {
            for size in BTreeSet::from([SHARING.min(options.size_max), options.size_max]) {
                add(Kernel::Exchange, size, Set::Training);
                if ranks > 2 {
                    for number in [1, ranks - 1] {
                        add(Kernel::Incast(number), size, Set::Training);
                        add(Kernel::Outcast(number), size, Set::Training);
                    }
                }
            }
        }
        tasks
    }

    /// All that a pass measures, in the order of the plan.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns pass `number`, from 0: one block of every task, in a separate order for each pass.
    pub fn pass(&self, number: u32) -> Vec<Task> {
        let mut tasks = self.tasks.clone();
        let name = format!(
            "validation/order of pass {number} in session {}",
            self.session
        );
        Stream::new(self.seed, &name).shuffle(&mut tasks);
        tasks
    }

    /// Measures this size with ping-pongs too, for the fit.
    pub(crate) fn add_size(&mut self, size: u64, ranks: u32) {
        if self.validation.contains(&size) || self.training.contains(&size) {
            return;
        }
        let at = self.training.partition_point(|one| *one < size);
        self.training.insert(at, size);
        self.tasks.push(Task {
            kernel: ping_pong(ranks),
            size,
            set: Set::Training,
        });
    }
}

/// The ping-pong between ranks 0 and 1: with more ranks the others poll meanwhile.
pub(crate) const fn ping_pong(ranks: u32) -> Kernel {
    if ranks > 2 {
        Kernel::PingPongOccupied
    } else {
        Kernel::PingPong
    }
}

/// One size in each of `number` equal intervals of ln s over [1, largest].
fn draw_sizes(seed: u64, name: &str, number: u32, largest: u64) -> impl Iterator<Item = u64> {
    let mut stream = Stream::new(seed, name);
    let step = libm::log(bytes(largest.max(1))) / f64::from(number.max(1));
    (0..number).map(move |at| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the largest size"
        )]
        let size = libm::exp((f64::from(at) + stream.uniform()) * step).round() as u64;
        size.clamp(1, largest.max(1))
    })
}

impl MeasureOptions {
    /// Cuts the options to the time limit, if a block of a task takes `cost` seconds: fewer blocks
    /// first, then smaller sizes, then fewer sizes. Returns the cuts as text; `None` if all fits.
    pub(crate) fn cut_to_limit(
        &mut self,
        ranks: u32,
        cost: impl Fn(&Task) -> f64,
    ) -> Option<String> {
        let before = self.clone();
        let pass = |options: &Self| -> f64 {
            let plan = Plan::new(options, ranks);
            // Reference blocks return after every ten blocks, and take about two small and large
            // ones.
            plan.tasks().iter().map(&cost).sum::<f64>() * 1.1
        };
        while f64::from(self.blocks_max) * pass(self) > self.time_limit_s {
            if self.blocks_max > self.blocks_min {
                self.blocks_max -= 1;
            } else if self.size_max > 65_536 {
                self.size_max /= 2;
            } else if self.sizes > 16 {
                self.sizes -= 4;
                self.held_out = self.held_out.saturating_sub(2).max(4).min(before.held_out);
            } else {
                break;
            }
        }
        (*self != before).then(|| {
            format!(
                "reduced to fit {} s: {} of {} blocks, maximum {} of {} B, {} of {} sizes",
                self.time_limit_s,
                self.blocks_max,
                before.blocks_max,
                self.size_max,
                before.size_max,
                self.sizes,
                before.sizes
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seed: u64) -> MeasureOptions {
        MeasureOptions {
            seed,
            thresholds: vec![16_384],
            ..MeasureOptions::from_effort(Effort::Standard)
        }
    }

    #[test]
    fn a_plan_is_a_function_of_seed_and_options() {
        for seed in 0..20 {
            let plan = Plan::new(&options(seed), 2);
            assert_eq!(plan, Plan::new(&options(seed), 2));
            assert_eq!(plan.pass(3), Plan::new(&options(seed), 2).pass(3));
            assert_ne!(plan.pass(3), plan.pass(4));
            let mut sorted = plan.pass(3);
            sorted.sort_unstable();
            let mut all = plan.tasks().to_vec();
            all.sort_unstable();
            assert_eq!(sorted, all);
            assert_ne!(plan.training, Plan::new(&options(seed + 100), 2).training);
        }
    }

    #[test]
    fn sizes_of_training_and_validation_are_apart_and_spread() {
        for seed in 0..200 {
            let plan = Plan::new(&options(seed), 2);
            let is_trained = |size: &u64| plan.training.contains(size);
            assert!(!plan.validation.iter().any(is_trained), "seed {seed}");
            assert_eq!(plan.validation.len(), 24, "seed {seed}");
            for size in [0, 16_383, 16_384, 16_385, 1 << 20] {
                assert!(is_trained(&size), "seed {seed}: {size}");
            }
            // The widest gap between neighbours is two intervals of ln s, but for the smallest
            // sizes.
            let width = 2.0 * libm::log(bytes(1 << 20)) / 60.0 + 1e-2;
            let far =
                |two: &&[u64]| two[0] > 32 && libm::log(bytes(two[1]) / bytes(two[0])) > width;
            assert_eq!(plan.training.windows(2).find(far), None, "seed {seed}");
        }
    }

    #[test]
    fn kernels_that_were_not_asked_for_are_not_there() {
        let only = MeasureOptions {
            kernels: KernelSelection::PING_PONG,
            ..options(1)
        };
        let kernel_of = |ranks| -> BTreeSet<Kernel> {
            let plan = Plan::new(&only, ranks);
            plan.tasks().iter().map(|task| task.kernel).collect()
        };
        assert_eq!(kernel_of(2), BTreeSet::from([Kernel::PingPong]));
        assert_eq!(kernel_of(4), BTreeSet::from([Kernel::PingPongOccupied]));
        let all = Plan::new(&options(1), 4);
        let has = |kernel| all.tasks().iter().any(|task| task.kernel == kernel);
        assert!(has(Kernel::Incast(3)) && has(Kernel::Outcast(1)) && has(Kernel::Exchange));
        assert!(has(Kernel::Ring(4)) && !has(Kernel::Ring(2)));
    }

    #[test]
    fn blocks_are_cut_first_then_sizes() {
        let cost = |task: &Task| 1e-3 + 1e-8 * bytes(task.size);
        let mut enough = MeasureOptions {
            time_limit_s: 1e9,
            ..options(1)
        };
        assert_eq!(enough.cut_to_limit(2, cost), None);
        let mut less = MeasureOptions {
            time_limit_s: 1.2,
            ..options(1)
        };
        let said = less.cut_to_limit(2, cost).unwrap();
        assert!(less.blocks_max < 10, "{said}");
        let mut least = MeasureOptions {
            time_limit_s: 1e-3,
            ..options(1)
        };
        least.cut_to_limit(2, cost).unwrap();
        assert_eq!((least.blocks_max, least.size_max), (5, 65_536));
        assert!(least.sizes <= 16 && least.held_out >= 4);
    }
}
