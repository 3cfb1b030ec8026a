//! The whole way from measurements to a platform file that is known to give the fit back, and what is to be said about it.
//!
//! Samples of kernel `pp` (or `ppi`, if there are no others) and set `train` are fitted; `validate` is predicted afterwards. Sessions differ
//! in speed: each is divided by its common factor to the first, which is reported. Other kernels are read and not used yet.
//!
//! *Not done*: finding changes of speed inside a session; splitting off the overheads of sender and receiver; a common point for two lines whose jump may be
//! chance (small jumps stay as they are).

use std::collections::BTreeMap;
use std::fmt;

use sim_core::Digest;

use crate::confidence::Confidence;
use crate::cross_check::{CrossCheck, predictions};
use crate::error_summary::{ErrorSummary, Prediction};
use crate::fit::{Fit, FitError, Rules, fit, fit_line};
use crate::platform_file::{PlatformFacts, platform_file};
use crate::point::{Point, count};
use crate::quantile::median;
use crate::sample::{Block, Kernel, Measurements, Set};
use crate::sampling::{SizeSummary, Statistic, summarise};
use crate::self_check::{SimulationFailed, simulated_ping_pong};
use crate::warning::{Code, Warning};
use crate::warnings;

/// By how much a simulated ping-pong may differ from the fit.
const SELF_CHECK_MAX: f64 = 0.01;

/// What can be chosen.
#[derive(Clone, PartialEq, Debug)]
pub struct CalibrateOptions {
    /// Which number stands for all samples of a size.
    pub statistic: Statistic,
    /// The seed of drawing blocks again.
    pub seed: u64,
    /// From how many bytes on messages go by rendezvous, if it is known.
    pub eager_threshold: Option<u64>,
    /// Further known thresholds: the first sizes of their new regimes.
    pub breaks: Vec<u64>,
    /// How many hosts the platform gets.
    pub hosts: u32,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            statistic: Statistic::P10,
            seed: 1,
            eager_threshold: None,
            breaks: Vec::new(),
            hosts: 2,
        }
    }
}

/// Why there is no calibration.
#[derive(Clone, PartialEq, Debug)]
pub enum CalibrateError {
    /// There are no ping-pongs to fit; the names of what there is.
    NoPingPong(String),
    /// The points cannot be fitted.
    Fit(FitError),
    /// The file that was written cannot be simulated.
    Simulation(SimulationFailed),
    /// A simulated ping-pong of this size differs from the fit by this part.
    SelfCheck(u64, f64),
}

impl fmt::Display for CalibrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPingPong(found) => write!(
                f,
                "no samples of kernel pp or ppi and set train, only {found}: expected ping-pongs to fit"
            ),
            Self::Fit(error) => error.fmt(f),
            Self::Simulation(error) => error.fmt(f),
            Self::SelfCheck(size, error) => write!(
                f,
                "W-SELF: the simulated ping-pong of {size} B differs from the fit by {:.2} %: expected at most 1 %",
                100.0 * error
            ),
        }
    }
}

impl std::error::Error for CalibrateError {}

impl From<FitError> for CalibrateError {
    fn from(error: FitError) -> Self {
        Self::Fit(error)
    }
}

/// A calibration, and all that is known about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// Where the measurements come from.
    pub sources: Vec<String>,
    /// What was fitted, by size.
    pub points: Vec<Point>,
    /// The same with what is known of the samples; empty for tables.
    pub summaries: Vec<SizeSummary>,
    /// The fit.
    pub fit: Fit,
    /// One line through the same points, for comparison.
    pub line: Fit,
    /// How sure the parameters are; nothing for tables.
    pub confidence: Option<Confidence>,
    /// Predictions of sizes left out of the fit.
    pub cross_check: CrossCheck,
    /// Predictions of the sizes of set `validate`.
    pub validation: Vec<Prediction>,
    /// The largest difference between simulated ping-pongs and the fit.
    pub self_check: f64,
    /// What to know before trusting it, the most severe first.
    pub warnings: Vec<Warning>,
    /// The text of the platform file.
    pub platform: String,
}

/// What is fitted, from either kind of measurements.
struct Input<'a> {
    points: Vec<Point>,
    summaries: Vec<SizeSummary>,
    blocks: Vec<&'a Block>,
    hidden: Vec<Point>,
    rules: Rules,
    sources: Vec<String>,
    warnings: Vec<Warning>,
}

/// Calibrates from the measurements of `file`, whose text is needed only for its digest.
///
/// # Errors
/// [`CalibrateError`] if the measurements cannot be fitted, or the result does not give the fit back.
pub fn calibrate(
    file: &str,
    text: &str,
    measurements: &Measurements,
    options: &CalibrateOptions,
) -> Result<Calibration, CalibrateError> {
    let mut digest = Digest::default();
    digest.mix_str(text);
    let source = format!("Measurements: {file}, digest {:016x}.", digest.value());
    let scaled;
    let mut input = match measurements {
        Measurements::Table(table) => of_table(&table.benchmark, &table.rows),
        Measurements::Samples(blocks) => {
            scaled = one_speed(blocks);
            of_samples(&scaled, options)?
        }
    };
    input.sources.insert(0, source);
    let known = options.eager_threshold.iter().chain(&options.breaks);
    input.rules.forced = known.copied().filter(|at| *at > 0).collect();
    finish(input, options)
}

fn finish(input: Input<'_>, options: &CalibrateOptions) -> Result<Calibration, CalibrateError> {
    let Input {
        points,
        summaries,
        blocks,
        hidden,
        rules,
        sources,
        mut warnings,
    } = input;
    let (fitted, line) = (fit(&points, &rules)?, fit_line(&points, &rules)?);
    let cross_check = CrossCheck::new(&points, &rules)?;
    let confidence = (!blocks.is_empty()).then(|| {
        Confidence::new(
            &fitted,
            &points,
            &blocks,
            options.statistic,
            &rules,
            options.seed,
        )
    });
    let validation: Vec<Prediction> = predictions(&hidden, |size| fitted.predict(size)).collect();
    let facts = PlatformFacts {
        sources: sources.clone(),
        eager_threshold: options.eager_threshold,
        hosts: options.hosts,
    };
    let platform = platform_file(&fitted, &facts);
    let self_check = check(&platform, &points, &fitted)?;
    warnings.extend(warnings::of_fit(&fitted, &points));
    warnings.extend(warnings::of_samples(&summaries));
    warnings.extend(warnings::of_predictions(
        &cross_check,
        &validation,
        fitted.range(),
    ));
    warnings.sort();
    Ok(Calibration {
        sources,
        points,
        summaries,
        fit: fitted,
        line,
        confidence,
        cross_check,
        validation,
        self_check,
        warnings,
        platform,
    })
}

/// The largest difference between the simulation and the fit, if it is small enough.
fn check(platform: &str, points: &[Point], fitted: &Fit) -> Result<f64, CalibrateError> {
    let sizes: Vec<u64> = points.iter().map(|point| point.size).collect();
    let times = simulated_ping_pong(platform, &sizes, None).map_err(CalibrateError::Simulation)?;
    let mut worst = 0.0;
    for (size, time) in sizes.iter().zip(times) {
        let error = (time / fitted.predict(*size) - 1.0).abs();
        if error > SELF_CHECK_MAX {
            return Err(CalibrateError::SelfCheck(*size, error));
        }
        worst = f64::max(worst, error);
    }
    Ok(worst)
}

fn of_table(benchmark: &str, rows: &[(u64, f64)]) -> Input<'static> {
    let mut warnings = Vec::new();
    if !(benchmark.contains("Latency") || benchmark.contains("PingPong")) {
        let text = format!(
            "{benchmark:?} is no ping-pong: the latency of the platform is what a message of a stream costs"
        );
        warnings.push(Warning::new(Code::Stream, text));
    }
    Input {
        points: rows
            .iter()
            .map(|(size, time)| Point::of_table(*size, *time))
            .collect(),
        summaries: Vec::new(),
        blocks: Vec::new(),
        hidden: Vec::new(),
        rules: Rules::table(),
        sources: vec![format!(
            "{benchmark}: {} sizes, one value each.",
            rows.len()
        )],
        warnings,
    }
}

fn of_samples<'a>(
    speed: &'a OneSpeed,
    options: &CalibrateOptions,
) -> Result<Input<'a>, CalibrateError> {
    let blocks = &speed.blocks;
    let of = |kernel: Kernel, set: Set| -> Vec<&Block> {
        let wanted = |block: &&Block| block.kernel == kernel && block.set == set;
        blocks.iter().filter(wanted).collect()
    };
    let kernel = [Kernel::PingPong, Kernel::PingPongOccupied]
        .into_iter()
        .find(|kernel| !of(*kernel, Set::Training).is_empty());
    let mut names: Vec<String> = blocks
        .iter()
        .map(|block| block.kernel.to_string())
        .collect();
    names.sort();
    names.dedup();
    let Some(kernel) = kernel else {
        return Err(CalibrateError::NoPingPong(names.join(", ")));
    };
    let training = of(kernel, Set::Training);
    let summaries = summarise(&training, options.statistic, options.seed);
    let hidden = summarise(
        &of(kernel, Set::Validation),
        options.statistic,
        options.seed,
    );
    let mut warnings = warnings::of_sessions(&speed.factors);
    let others: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != kernel.to_string())
        .collect();
    if !others.is_empty() {
        let text = format!(
            "not used: samples of {}; all of the time is the network's",
            others.join(", ")
        );
        warnings.push(Warning::new(Code::Unused, text));
    }
    let samples: usize = summaries.iter().map(|summary| summary.samples).sum();
    Ok(Input {
        points: summaries.iter().map(|summary| summary.point).collect(),
        hidden: hidden.iter().map(|summary| summary.point).collect(),
        sources: vec![format!(
            "Kernel {kernel}: {samples} samples in {} blocks at {} sizes, {} session(s); statistic {:?}, seed {}.",
            training.len(),
            summaries.len(),
            speed.factors.len(),
            options.statistic,
            options.seed
        )],
        blocks: training,
        summaries,
        rules: Rules::samples(),
        warnings,
    })
}

/// Blocks of all sessions at the speed of the first.
struct OneSpeed {
    blocks: Vec<Block>,
    /// By which each session was divided.
    factors: Vec<(u32, f64)>,
}

/// Divides each session by exp(median over sizes of ln(p10 / p10 of the first)).
fn one_speed(blocks: &[Block]) -> OneSpeed {
    let mut sessions: BTreeMap<u32, Vec<&Block>> = BTreeMap::new();
    for block in blocks {
        sessions.entry(block.session).or_default().push(block);
    }
    // Of the same kernel only: sentinels and both sets show the speed.
    let times = |blocks: &[&Block]| -> BTreeMap<u64, f64> {
        let ours: Vec<&Block> = blocks
            .iter()
            .copied()
            .filter(|block| block.kernel == Kernel::PingPong)
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

impl Calibration {
    /// One sentence made from the figures.
    #[must_use]
    pub fn verdict(&self) -> String {
        let (smallest, largest) = self.fit.range();
        let (what, predictions) = if self.validation.is_empty() {
            ("sizes left out in turn", &self.cross_check.piecewise)
        } else {
            ("unseen sizes", &self.validation)
        };
        let band = 100.0 * self.cross_check.band(0.9);
        let errors = ErrorSummary::new(predictions).map_or_else(
            || "Ping-pong: nothing could be predicted, there are too few sizes.".to_owned(),
            |errors| {
                format!(
                    "Ping-pong at {} {what}: median error {:.1} %, p90 {:.1} %, worst {:.1} % at {} B.",
                    errors.count,
                    100.0 * errors.median,
                    100.0 * errors.p90,
                    100.0 * errors.worst,
                    errors.worst_at
                )
            },
        );
        format!(
            "{errors} Valid for {smallest} B to {largest} B, this session and as many processes. 90 % band ± {band:.1} %."
        )
    }

    /// How many samples each size has on average; 0 for tables.
    #[must_use]
    pub fn samples_per_size(&self) -> f64 {
        let samples: usize = self.summaries.iter().map(|summary| summary.samples).sum();
        count(samples) / count(self.points.len().max(1))
    }
}
