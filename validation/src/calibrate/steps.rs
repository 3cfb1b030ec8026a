//! From points to a checked platform file, step by step.

use super::input::{Input, memory_bandwidth};
use super::{CalibrateError, CalibrateOptions, Calibration, MemoryBandwidth};
use crate::bands::ErrorBands;
use crate::confidence::BootstrapIntervals;
use crate::cross_check::{CrossCheck, predictions};
use crate::error_summary::Prediction;
use crate::fit::{Fit, FitOptions, Line, fit, fit_line};
use crate::loggp::LogGp;
use crate::overheads::{CallCosts, CostSplit, of_call};
use crate::platform_file::{PlatformMetadata, Preset, RendezvousCost, loggops_file, platform_file};
use crate::point::{Point, bytes};
use crate::programs::{Measured, Program};
use crate::sample::Kernel;
use crate::self_check::{Expected, worst};
use crate::sharing;
use crate::warning::{Code, Warning};
use crate::warnings;

/// By how much a simulated kernel may differ from the fit.
const SELF_CHECK_MAX: f64 = 0.01;
/// The platform's eager threshold if neither options nor measurements name another.
const DEFAULT_THRESHOLD: u64 = 65_536;

pub(super) fn finish_calibration(
    mut input: Input,
    options: &CalibrateOptions,
) -> Result<Calibration, CalibrateError> {
    let threshold = threshold(&input, options);
    force(&mut input, threshold, options);
    let (fitted, confidence) = fitted(&input, options)?;
    let line = fit_line(&input.points, &input.rules)?;
    let cross_check = CrossCheck::new(&input.points, &input.rules)?;
    let sharing = sharing::factors(&input.kernels, |size| fitted.predict(size));
    let copy = memory_bandwidth(&input.kernels, Kernel::Copy);
    let eager_end = threshold.unwrap_or(DEFAULT_THRESHOLD);
    let (calls, copy) = call_costs(
        &input,
        eager_end,
        copy.filter(|_| options.handshake == RendezvousCost::InTable),
    );
    let band = ErrorBands::new(&cross_check.piecewise, fitted.range().1);
    let metadata = PlatformMetadata {
        sources: said(&input, &band, &fitted),
        eager_threshold: threshold,
        shared: sharing::is_shared(&sharing),
        copy_bandwidth: copy.filter(|_| options.preset != Preset::LogGops),
        reduce_bandwidth: memory_bandwidth(&input.kernels, Kernel::Reduce),
        empty_s: input.empty.map(|point| point.time_s),
        ..PlatformMetadata::from_options(options)
    };
    let split = CostSplit::new(&fitted, &calls, eager_end, metadata.envelope());
    let mut written = Written::new(&input, (&fitted, &calls, &split), metadata)?;
    let self_check = written.check_simulated(&input.points, &fitted, &split, eager_end)?;
    let (bands, validation) = held_back(&input, &fitted, &cross_check, written.loggp.as_ref());
    let measured = std::mem::take(&mut input.programs);
    let programs = programs(measured, &bands, |ranks| {
        written.with_hosts(ranks.max(options.hosts), &fitted, &split)
    })?;
    let mut all = std::mem::take(&mut input.warnings);
    all.append(&mut written.warnings);
    let rules = input.rules;
    let mut calibration = Calibration {
        origin: input.origin,
        points: input.points,
        empty: input.empty,
        summaries: input.summaries,
        hidden: input.hidden,
        samples: input.samples,
        kernels: input.kernels,
        line,
        calls,
        split,
        loggp: written.loggp,
        eager_threshold: threshold,
        memory: MemoryBandwidth {
            copy,
            reduce: written.metadata.reduce_bandwidth,
        },
        sharing,
        confidence,
        cross_check,
        bands,
        validation,
        programs,
        speed: input.speed,
        self_check,
        handshake: written.metadata.handshake,
        platform: written.text,
        fit: fitted,
        warnings: Vec::new(),
    };
    all.extend(warnings::of_calibration(&calibration, &rules, options));
    all.sort();
    calibration.warnings = all;
    Ok(calibration)
}

impl PlatformMetadata {
    /// Returns metadata from the options, without any measured values.
    const fn from_options(options: &CalibrateOptions) -> Self {
        Self {
            sources: Vec::new(),
            eager_threshold: None,
            hosts: options.hosts,
            preset: options.preset,
            handshake: options.handshake,
            shared: false,
            copy_bandwidth: None,
            reduce_bandwidth: None,
            empty_s: None,
        }
    }
}

/// Returns the facts of the file about the measurements, and the values that a comparison needs:
/// the band, and the reference blocks, in microseconds.
fn said(input: &Input, bands: &ErrorBands, fitted: &Fit) -> Vec<String> {
    let mut said = input.origin.sources.clone();
    said.push(format!(
        "band_90: {:.4}",
        bands.error_at(fitted.range().1, 0.9)
    ));
    if !input.reference_times.is_empty() {
        let each = input.reference_times.iter();
        let each: Vec<String> = each
            .map(|(size, time)| format!("{size}={:.4}", 1e6 * time))
            .collect();
        said.push(format!("references: {}", each.join(" ")));
    }
    said
}

/// Makes the known thresholds breaks of the fit.
fn force(input: &mut Input, threshold: Option<u64>, options: &CalibrateOptions) {
    let sizes = input.points.iter().map(|point| point.size);
    let largest = sizes.max().unwrap_or(0);
    let mut known: Vec<u64> = threshold.iter().chain(&options.breaks).copied().collect();
    known.retain(|at| *at > 0 && *at <= largest);
    known.sort_unstable();
    known.dedup();
    input.rules.forced = known;
}

/// The error bands, and predictions of the sizes that were held back, as far as anything is
/// predicted.
fn held_back(
    input: &Input,
    fitted: &Fit,
    cross_check: &CrossCheck,
    loggp: Option<&LogGp>,
) -> (ErrorBands, Vec<Prediction>) {
    let model = |size: u64| loggp.map_or_else(|| fitted.predict(size), |model| model.predict(size));
    let largest = fitted.range().1;
    let bands = if loggp.is_some() {
        let errors: Vec<_> = predictions(&input.points, model).collect();
        ErrorBands::new(&errors, largest)
    } else {
        ErrorBands::new(&cross_check.piecewise, largest)
    };
    let hidden = input.hidden_points.iter().copied();
    let hidden: Vec<Point> = hidden.filter(|point| bands.reaches(point.size)).collect();
    (bands, predictions(&hidden, model).collect())
}

/// Returns the predictions of the platform, written for this many hosts, for the programs that were
/// measured.
fn programs(
    measured: Measured,
    bands: &ErrorBands,
    platform: impl Fn(u32) -> String,
) -> Result<Vec<Program>, CalibrateError> {
    let predict = |program| Ok(Program::predict(program, bands, &platform)?);
    measured.into_iter().map(predict).collect()
}

/// Returns the size from which messages use rendezvous, from the options or the measurements.
fn threshold(input: &Input, options: &CalibrateOptions) -> Option<u64> {
    let was_looked_for = input
        .origin
        .metadata
        .number_value("late_delay_us")
        .is_some();
    let largest = input.points.iter().map(|point| point.size).max();
    options
        .eager_threshold
        .or_else(|| input.origin.metadata.whole_value("eager_threshold"))
        // All that was measured is eager.
        .or_else(|| largest.filter(|_| was_looked_for).map(|size| size + 1))
}

/// Returns the fit with the intervals: jumps that may be chance become kinks, and distant points
/// count less if the options say so.
fn fitted(
    input: &Input,
    options: &CalibrateOptions,
) -> Result<(Fit, Option<BootstrapIntervals>), CalibrateError> {
    let mut fitted = fit(&input.points, &input.rules)?;
    let blocks: Vec<_> = input.blocks.iter().collect();
    let confidence = (!blocks.is_empty()).then(|| {
        let (points, rules) = (&input.points, &input.rules);
        BootstrapIntervals::new(
            &fitted,
            points,
            &blocks,
            options.statistic,
            rules,
            options.seed,
        )
    });
    if let Some(confidence) = &confidence {
        let chance = confidence.insignificant_jumps(&fitted);
        fitted = fitted.with_hinges(&chance, &input.points, &input.rules);
    }
    if options.robust {
        fitted = fitted.robust(&input.points, &input.rules);
    }
    Ok((fitted, confidence))
}

/// Returns the costs of calls. Also returns the copy bandwidth if the simulator adds the copy of a
/// waiting message; the copy is then subtracted from the cost of the receive.
fn call_costs(input: &Input, eager_end: u64, copy: Option<f64>) -> (CallCosts, Option<f64>) {
    let of = |kernel: Kernel| {
        let summaries = input.kernels.get(&kernel)?;
        of_call(summaries, eager_end)
    };
    let mut calls = CallCosts {
        os: of(Kernel::Send),
        ois: of(Kernel::Isend),
        or: of(Kernel::Receive),
    };
    // The simulator copies what has come before its receive; what was measured has that copy in it.
    let per_byte = copy.map_or(0.0, |copy| 1.0 / copy);
    let rest = calls.or.as_ref().map(|or| {
        or.map_lines(|line| Line {
            slope_s: line.slope_s - per_byte,
            ..line
        })
    });
    let fits = |fit: &Fit| {
        fit.segments()
            .iter()
            .all(|segment| segment.line.slope_s >= 0.0)
    };
    match rest.filter(fits) {
        Some(rest) if copy.is_some() => {
            calls.or = Some(rest);
            (calls, copy)
        }
        _ => (calls, None),
    }
}

/// The platform file that was written.
struct Written {
    text: String,
    metadata: PlatformMetadata,
    loggp: Option<LogGp>,
    warnings: Vec<Warning>,
}

impl Written {
    fn new(
        input: &Input,
        (fitted, calls, split): (&Fit, &CallCosts, &CostSplit),
        mut metadata: PlatformMetadata,
    ) -> Result<Self, CalibrateError> {
        let mut warnings = Vec::new();
        if metadata.preset == Preset::LogGops {
            let of = |number| input.kernels.get(&Kernel::Stream(number));
            let number = [16, 8, 4, 2]
                .into_iter()
                .find(|number| of(*number).is_some());
            let (Some(number), Some(single)) = (number, of(1)) else {
                return Err(CalibrateError::Needs("prtt1 and prtt16, os and or"));
            };
            let many = of(number).map_or(&[][..], Vec::as_slice);
            let threshold = metadata.eager_threshold.unwrap_or(DEFAULT_THRESHOLD);
            let model = LogGp::new(fitted, calls, single, (number, many), threshold)?;
            warnings.extend(warnings::of_loggp(&model));
            metadata.eager_threshold = Some(threshold);
            metadata.handshake = RendezvousCost::Simulated;
            return Ok(Self {
                text: loggops_file(fitted, &model, &metadata),
                metadata,
                loggp: Some(model),
                warnings,
            });
        }
        let text = platform_file(fitted, split, &metadata).unwrap_or_else(|| {
            metadata.handshake = RendezvousCost::InTable;
            let text = "rendezvous cost was put into the tables: control messages exceed the measured cost, or the threshold is unknown";
            warnings.push(Warning::new(Code::RendezvousCost, text));
            platform_file(fitted, split, &metadata).unwrap_or_default()
        });
        Ok(Self {
            text,
            metadata,
            loggp: None,
            warnings,
        })
    }

    /// The same file for another number of hosts.
    fn with_hosts(&self, hosts: u32, fitted: &Fit, split: &CostSplit) -> String {
        let metadata = PlatformMetadata {
            hosts,
            ..self.metadata.clone()
        };
        match &self.loggp {
            Some(model) => loggops_file(fitted, model, &metadata),
            None => platform_file(fitted, split, &metadata).unwrap_or_default(),
        }
    }

    /// Returns the largest difference between simulated kernels and the fit, if small enough.
    fn check_simulated(
        &self,
        points: &[Point],
        fitted: &Fit,
        split: &CostSplit,
        eager_end: u64,
    ) -> Result<f64, CalibrateError> {
        let mut expected = Vec::new();
        let sizes = points.iter().map(|point| point.size);
        for size in sizes.chain(self.metadata.empty_s.map(|_| 0)) {
            let mut add = |kernel: Kernel, time_s: f64| {
                // A call that costs nothing has no relative error.
                if time_s > 0.0 {
                    expected.push(Expected {
                        kernel,
                        size,
                        time_s,
                    });
                }
            };
            if let Some(model) = &self.loggp {
                add(Kernel::PingPong, model.predict(size));
                if size < eager_end {
                    add(Kernel::Stream(1), model.stream(1, size));
                    add(Kernel::Stream(16), model.stream(16, size));
                    add(Kernel::Send, model.send_time(size));
                    add(Kernel::Receive, model.receive_time(size));
                }
                continue;
            }
            let empty_s = self.metadata.empty_s.unwrap_or_else(|| fitted.predict(0));
            let time = if size == 0 {
                empty_s
            } else {
                fitted.predict(size)
            };
            add(Kernel::PingPong, time);
            add(Kernel::Stream(1), time + empty_s);
            // The calls of an empty message cost nothing.
            if size > 0 && size < eager_end {
                let piece = split.segment_at(size);
                let copy = self.metadata.copy_bandwidth.map_or(0.0, |copy| 1.0 / copy);
                add(Kernel::Send, piece.os.time_at(bytes(size)));
                add(Kernel::Isend, piece.ois.time_at(bytes(size)));
                add(
                    Kernel::Receive,
                    (piece.or.slope_s + copy) * bytes(size) + piece.or.intercept_s,
                );
            }
        }
        match worst(&self.text, &expected)? {
            Some((error, at)) if error > SELF_CHECK_MAX => {
                Err(CalibrateError::SelfCheck(at.kernel, at.size, error))
            }
            Some((error, _)) => Ok(error),
            None => Ok(0.0),
        }
    }
}

/// A fit without the known thresholds, to see where the times alone put them.
pub(crate) fn by_timing(points: &[Point], rules: &FitOptions) -> Option<Fit> {
    let free = FitOptions {
        forced: Vec::new(),
        ..rules.clone()
    };
    fit(points, &free).ok()
}
