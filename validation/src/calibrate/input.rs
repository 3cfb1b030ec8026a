//! Input of a fit, from either kind of measurements: samples of one speed, or a table.

use std::collections::BTreeMap;

use sim_core::Digest;

use super::{CalibrateError, CalibrateOptions, MachineSpeed, MeasurementOrigin, ReferenceBlock};
use crate::compare::reference_times;
use crate::fit::FitOptions;
use crate::metadata::SampleMetadata;
use crate::point::{Point, count};
use crate::programs::{Measured, Program};
use crate::quantile::median;
use crate::sample::{Block, Kernel, Measurements, Set};
use crate::sampling::{SizeSummary, Statistic, kept, summarise};
use crate::states::States;
use crate::warning::{Code, Warning};
use crate::warnings;

/// At most this many samples are kept for pictures.
const SHOWN: usize = 6000;

/// Input of a fit.
pub(super) struct Input {
    pub(super) points: Vec<Point>,
    /// The empty message, which is not fitted: a simulation has a separate parameter for that time.
    pub(super) empty: Option<Point>,
    pub(super) summaries: Vec<SizeSummary>,
    pub(super) blocks: Vec<Block>,
    pub(super) hidden: Vec<SizeSummary>,
    pub(super) hidden_points: Vec<Point>,
    pub(super) kernels: BTreeMap<Kernel, Vec<SizeSummary>>,
    pub(super) programs: Measured,
    pub(super) samples: Vec<(u64, f64)>,
    pub(super) speed: MachineSpeed,
    /// Bytes and seconds.
    pub(super) reference_times: Vec<(u64, f64)>,
    pub(super) rules: FitOptions,
    pub(super) origin: MeasurementOrigin,
    pub(super) warnings: Vec<Warning>,
}

impl Input {
    pub(super) fn new(
        file: &str,
        text: &str,
        measurements: &Measurements,
        options: &CalibrateOptions,
    ) -> Result<Self, CalibrateError> {
        let mut input = match measurements {
            Measurements::Table(table) => of_table(&table.benchmark, &table.rows),
            Measurements::Samples(blocks) => of_samples(blocks, options)?,
        };
        let mut digest = Digest::default();
        digest.mix_str(text);
        input.origin.digest = format!("{:016x}", digest.value());
        input.set_empty_apart();
        let source = format!("Measurements: {file}, digest {}.", input.origin.digest);
        input.origin.sources.insert(0, source);
        if matches!(measurements, Measurements::Samples(_)) {
            input.origin.metadata = SampleMetadata::from_text(text);
        }
        for key in [
            "backend",
            "congestion_control",
            "platform",
            "processor",
            "kernel",
            "wait",
            "plan",
        ] {
            if let Some(value) = input.origin.metadata.text(key) {
                input.origin.sources.push(format!("{key}: {value}"));
            }
        }
        Ok(input)
    }

    fn set_empty_apart(&mut self) {
        if self.points.len() > 2
            && let Some(at) = self.points.iter().position(|point| point.size == 0)
        {
            self.empty = Some(self.points.remove(at)).filter(|point| point.time_s > 0.0);
        }
        self.summaries
            .retain(|one| self.empty.is_none() || one.point.size > 0);
        self.blocks
            .retain(|one| self.empty.is_none() || one.size > 0);
    }
}

fn of_table(benchmark: &str, rows: &[(u64, f64)]) -> Input {
    let mut warnings = Vec::new();
    if !(benchmark.contains("Latency") || benchmark.contains("PingPong")) {
        let text = format!(
            "{benchmark:?} is a bandwidth test, not a ping-pong: the fitted latency is the time per message of a stream"
        );
        warnings.push(Warning::new(Code::Stream, text));
    }
    let points = rows
        .iter()
        .map(|(size, time)| Point::of_table(*size, *time));
    Input {
        points: points.collect(),
        empty: None,
        summaries: Vec::new(),
        blocks: Vec::new(),
        hidden: Vec::new(),
        hidden_points: Vec::new(),
        kernels: BTreeMap::new(),
        programs: Vec::new(),
        samples: Vec::new(),
        speed: MachineSpeed::default(),
        reference_times: Vec::new(),
        rules: FitOptions::for_tables(),
        origin: MeasurementOrigin {
            sources: vec![format!(
                "{benchmark}: {} sizes, one value each.",
                rows.len()
            )],
            ..MeasurementOrigin::default()
        },
        warnings,
    }
}

fn of_samples(all: &[Block], options: &CalibrateOptions) -> Result<Input, CalibrateError> {
    let is_training = |kernel: Kernel| {
        let wanted = move |block: &&Block| block.kernel == kernel && block.set == Set::Training;
        all.iter().any(|block| wanted(&block))
    };
    let kernel = Kernel::PING_PONGS
        .into_iter()
        .find(|kernel| is_training(*kernel))
        .ok_or_else(|| CalibrateError::NoPingPong(kernel_names(all)))?;
    let states = states(all);
    let references = references(all, kernel, &states);
    let steady: Vec<Block> = all
        .iter()
        .filter_map(|block| steady(block, &states))
        .collect();
    let speed = one_speed(&steady, kernel);
    let of = |kernel: Kernel, set: Set| -> Vec<&Block> {
        let wanted = |block: &&Block| block.kernel == kernel && block.set == set;
        speed.blocks.iter().filter(wanted).collect()
    };
    let summary =
        |kernel: Kernel, set: Set| summarise(&of(kernel, set), options.statistic, options.seed);
    let summaries = summary(kernel, Set::Training);
    let hidden = summary(kernel, Set::Validation);
    let mut others: Vec<Kernel> = speed.blocks.iter().map(|block| block.kernel).collect();
    others.retain(|other| *other != kernel && *other != Kernel::Late);
    others.sort_unstable();
    others.dedup();
    let (programs, others): (Vec<Kernel>, Vec<Kernel>) = others
        .into_iter()
        .partition(|kernel| Program::rank_count(*kernel).is_some());
    let programs = programs
        .into_iter()
        .map(|kernel| (kernel, summary(kernel, Set::Validation)));
    let kernels = others
        .into_iter()
        .map(|kernel| (kernel, summary(kernel, Set::Training)));
    let training = of(kernel, Set::Training);
    let samples: usize = summaries.iter().map(|summary| summary.samples).sum();
    let mut warnings = warnings::of_sessions(&speed.factors);
    warnings.extend(warnings::of_states(&states));
    Ok(Input {
        points: summaries.iter().map(|summary| summary.point).collect(),
        empty: None,
        hidden_points: hidden.iter().map(|summary| summary.point).collect(),
        samples: shown_samples(&training),
        origin: MeasurementOrigin {
            sources: vec![format!(
                "Kernel {kernel}: {samples} samples in {} blocks at {} sizes, {} session(s); statistic {:?}, seed {}.",
                training.len(),
                summaries.len(),
                speed.factors.len(),
                options.statistic,
                options.seed
            )],
            ..MeasurementOrigin::default()
        },
        kernels: kernels.collect(),
        programs: programs.collect(),
        blocks: training.into_iter().cloned().collect(),
        hidden,
        summaries,
        speed: MachineSpeed {
            states,
            references,
            sessions: speed.factors,
        },
        reference_times: reference_times(&speed.blocks),
        rules: FitOptions::samples(),
        warnings,
    })
}

fn kernel_names(blocks: &[Block]) -> String {
    let mut names: Vec<String> = blocks
        .iter()
        .map(|block| block.kernel.to_string())
        .collect();
    names.sort();
    names.dedup();
    names.join(", ")
}

/// Some of the samples, spread over all of them.
fn shown_samples(blocks: &[&Block]) -> Vec<(u64, f64)> {
    let all: usize = blocks.iter().map(|block| kept(block).len()).sum();
    let each = blocks
        .iter()
        .flat_map(|block| kept(block).iter().map(|time| (block.size, *time)));
    each.step_by((all / SHOWN).max(1)).collect()
}

fn states(blocks: &[Block]) -> Vec<States> {
    let mut sessions: BTreeMap<u32, Vec<&Block>> = BTreeMap::new();
    for block in blocks {
        sessions.entry(block.session).or_default().push(block);
    }
    sessions
        .iter()
        .filter_map(|(session, blocks)| States::new(*session, blocks))
        .collect()
}

/// Returns a block at the usual speed of the kept state of a session; `None` for other states.
fn steady(block: &Block, states: &[States]) -> Option<Block> {
    let mut block = block.clone();
    if let Some(ours) = states.iter().find(|one| one.session == block.session) {
        if !ours.is_kept_block(block.number) {
            return None;
        }
        let slowness = ours.slowness(block.number);
        block.times_s.iter_mut().for_each(|time| *time /= slowness);
    }
    Some(block)
}

fn references(blocks: &[Block], kernel: Kernel, states: &[States]) -> Vec<ReferenceBlock> {
    let ours = || {
        blocks.iter().filter_map(|block| {
            let wanted = block.set == Set::Reference && block.kernel == kernel;
            Some((block, median(kept(block)).filter(|_| wanted)?))
        })
    };
    let usual = |size: u64| {
        let times: Vec<f64> = ours()
            .filter(|one| one.0.size == size)
            .map(|one| one.1)
            .collect();
        median(&times).unwrap_or(1.0)
    };
    let mut middles: BTreeMap<u64, f64> = BTreeMap::new();
    for (block, _) in ours() {
        middles
            .entry(block.size)
            .or_insert_with(|| usual(block.size));
    }
    ours()
        .map(|(block, time)| {
            let of_session = states.iter().find(|one| one.session == block.session);
            ReferenceBlock {
                session: block.session,
                number: block.number,
                size: block.size,
                relative: time / middles[&block.size],
                kept: of_session.is_none_or(|one| one.is_kept_block(block.number)),
            }
        })
        .collect()
}

/// Blocks of all sessions at the speed of the first.
struct OneSpeed {
    blocks: Vec<Block>,
    /// By which each session was divided.
    factors: Vec<(u32, f64)>,
}

/// Divides each session by exp(median over sizes of ln(p10 / p10 of the first)).
fn one_speed(blocks: &[Block], kernel: Kernel) -> OneSpeed {
    let mut sessions: BTreeMap<u32, Vec<&Block>> = BTreeMap::new();
    for block in blocks {
        sessions.entry(block.session).or_default().push(block);
    }
    // Of the same kernel only: reference blocks and both sets show the speed.
    let times = |blocks: &[&Block]| -> BTreeMap<u64, f64> {
        let ours: Vec<&Block> = blocks
            .iter()
            .copied()
            .filter(|block| block.kernel == kernel)
            .collect();
        let summaries = summarise(&ours, Statistic::P10, 0);
        summaries
            .iter()
            .map(|one| (one.point.size, one.point.time_s))
            .collect()
    };
    let reference = sessions
        .values()
        .next()
        .map(|blocks| times(blocks))
        .unwrap_or_default();
    let factors: Vec<(u32, f64)> = sessions
        .iter()
        .map(|(session, blocks)| {
            let logarithms: Vec<f64> = times(blocks)
                .iter()
                .filter_map(|(size, time)| Some(libm::log(time / reference.get(size)?)))
                .collect();
            (*session, libm::exp(median(&logarithms).unwrap_or(0.0)))
        })
        .collect();
    let factor = |session: u32| {
        factors
            .iter()
            .find(|one| one.0 == session)
            .map_or(1.0, |one| one.1)
    };
    let mut blocks = blocks.to_vec();
    for block in &mut blocks {
        let factor = factor(block.session);
        block.times_s.iter_mut().for_each(|time| *time /= factor);
    }
    OneSpeed { blocks, factors }
}

/// Returns the speed of a kernel without messages (copies, reductions) at the large sizes, in
/// bytes/s, if measured.
pub(super) fn memory_bandwidth(
    kernels: &BTreeMap<Kernel, Vec<SizeSummary>>,
    kernel: Kernel,
) -> Option<f64> {
    let sizes = kernels.get(&kernel)?;
    let points: Vec<Point> = sizes.iter().map(|one| one.point).collect();
    let fitted = crate::fit::fit(&points, &FitOptions::samples()).ok()?;
    let slope_s = fitted.segments().last()?.line.slope_s;
    (slope_s > 0.0 && count(points.len()) >= 2.0).then(|| 1.0 / slope_s)
}
