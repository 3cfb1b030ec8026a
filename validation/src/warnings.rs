//! Warnings that the figures of a calibration cause; each limit comes from the calibration method.

use crate::calibrate::{CalibrateOptions, Calibration, by_timing};
use crate::cross_check::{CrossCheck, predictions};
use crate::error_summary::{ErrorSummary, Prediction};
use crate::fit::{Break, Fit, FitOptions};
use crate::loggp::LogGp;
use crate::metadata::SampleMetadata;
use crate::point::{Point, bytes};
use crate::quantile::median;
use crate::sample::Kernel;
use crate::sampling::SizeSummary;
use crate::states::States;
use crate::warning::{Code, Warning};

/// A fall is a time at least this many standard errors below the time before.
const FALL_SIGMAS: f64 = 3.0;

/// Warns of falling times, and of breaks with an uncertain place.
fn of_fit(fit: &Fit, points: &[Point]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for place in fit.breaks() {
        let (low, high) = place.gap;
        if place.jump < 0.95 {
            let text = format!(
                "time decreases by {:.0} % between {low} B and {high} B: protocol switch or measurement error",
                100.0 * (1.0 - place.jump)
            );
            warnings.push(Warning::new(Code::NonMonotone, text));
        }
        if place.is_uncertain() && (place.jump - 1.0).abs() > 0.05 {
            let text = format!(
                "breakpoint ({:+.0} %) between {low} B and {high} B is uncertain, assumed after {} B: measure sizes in between or set --breakpoint",
                100.0 * (place.jump - 1.0),
                place.above
            );
            warnings.push(Warning::new(Code::Gap, text));
        }
    }
    let falls: Vec<String> = points
        .windows(2)
        .filter_map(|two| {
            let is_break = fit.segment_of(two[0].size) != fit.segment_of(two[1].size);
            let sigma = two[0].error.max(two[1].error).max(0.01);
            let fall = 1.0 - two[1].time_s / two[0].time_s;
            let (low, high) = (two[0].size, two[1].size);
            (!is_break && fall > FALL_SIGMAS * sigma)
                .then(|| format!("by {:.1} % from {low} B to {high} B", 100.0 * fall))
        })
        .collect();
    if !falls.is_empty() {
        let text = format!("time decreases within a segment: {}", shorten_list(&falls));
        warnings.push(Warning::new(Code::NonMonotone, text));
    }
    warnings
}

/// Too few samples, and noise.
fn of_samples(summaries: &[SizeSummary]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let few: Vec<String> = summaries
        .iter()
        .filter(|one| one.blocks < 5 || one.half_width > 0.10)
        .map(|one| one.point.size.to_string())
        .collect();
    if !few.is_empty() {
        let shown = few
            .iter()
            .take(8)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = if few.len() > 8 { ", ..." } else { "" };
        let text = format!(
            "{} of {} sizes have fewer than 5 blocks or a 95 % confidence interval wider than ± 10 % ({shown}{more} B): measure longer",
            few.len(),
            summaries.len()
        );
        warnings.push(Warning::new(Code::Few, text));
    }
    let widths: Vec<f64> = summaries.iter().map(|one| one.half_width).collect();
    let factors: Vec<f64> = summaries.iter().map(SizeSummary::noise_factor).collect();
    if let (Some(width), Some(factor)) = (median(&widths), median(&factors))
        && (width > 0.05 || factor > 1.5)
    {
        let text = format!(
            "noise: mean / fitted time = {factor:.2}, confidence interval ± {:.1} %: bind processes, stop other jobs",
            100.0 * width
        );
        warnings.push(Warning::new(Code::Noise, text));
    }
    warnings
}

/// Models that predict better, and sizes outside.
fn of_predictions(
    check: &CrossCheck,
    validation: &[Prediction],
    range: (u64, u64),
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let middle = |predictions: &[Prediction]| ErrorSummary::new(predictions).map(|one| one.median);
    if let (Some(ours), Some(line), Some(curve)) = (
        middle(&check.piecewise),
        middle(&check.line),
        middle(&check.interpolated),
    ) && ours > line.min(curve) + 0.02
    {
        let text = format!(
            "cross-validation median error: segments {:.1} %, single line {:.1} %, interpolation {:.1} %",
            100.0 * ours,
            100.0 * line,
            100.0 * curve
        );
        warnings.push(Warning::new(Code::Model, text));
    }
    let outside: Vec<String> = validation
        .iter()
        .filter(|one| one.size < range.0 || one.size > range.1)
        .map(|one| one.size.to_string())
        .collect();
    if !outside.is_empty() {
        let text = format!("extrapolated sizes: {} B", outside.join(", "));
        warnings.push(Warning::new(Code::Extrapolated, text));
    }
    warnings
}

/// Sessions that differ by more than 10 %.
pub(crate) fn of_sessions(factors: &[(u32, f64)]) -> Vec<Warning> {
    let values = || factors.iter().map(|one| one.1);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(0.0, f64::max),
    );
    if most <= 1.10 * least {
        return Vec::new();
    }
    let list: Vec<String> = factors
        .iter()
        .map(|(session, factor)| format!("{session}: {factor:.2}"))
        .collect();
    let text = format!(
        "session speeds differ ({}); times were normalized; expect ± {:.0} % between sessions",
        list.join(", "),
        100.0 * (most / least - 1.0)
    );
    vec![Warning::new(Code::Session, text)]
}

/// Changes of speed within a session.
pub(crate) fn of_states(states: &[States]) -> Vec<Warning> {
    let changed = |one: &&States| one.count > 1 || one.kept < 0.9 || !one.is_one_speed();
    let warning = |one: &States| {
        let levels: Vec<String> = one
            .pieces
            .iter()
            .map(|piece| {
                let kept = if piece.state == one.main {
                    "kept"
                } else {
                    "dropped"
                };
                format!(
                    "blocks {} to {} x {:.2} {kept}",
                    piece.first,
                    piece.last,
                    libm::exp(piece.level)
                )
            })
            .collect();
        let text = format!(
            "session {}: {}; {:.0} % of blocks dropped, spread of the others {:.0} %, {} ({}): bind processes, stop other jobs",
            one.session,
            if one.count == 1 {
                "one speed state".to_owned()
            } else {
                format!("{} speed states", one.count)
            },
            100.0 * (1.0 - one.kept),
            100.0 * one.scatter,
            if one.is_normalized() {
                "normalized"
            } else {
                "not normalized"
            },
            shorten_list(&levels)
        );
        Warning::new(Code::States, text)
    };
    states.iter().filter(changed).map(warning).collect()
}

/// A list that is not too long.
fn shorten_list(texts: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = texts.iter().take(SHOWN).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    if texts.len() > SHOWN {
        format!("{shown}, ...")
    } else {
        shown
    }
}

/// Returns the properties that the model cannot have.
pub(crate) fn of_loggp(model: &LogGp) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if model.gap_raised {
        let text = "measured g < o; g was set to o because the model requires g >= o";
        warnings.push(Warning::new(Code::Overlap, text));
    }
    if model.scaled > 1.1 {
        let text = format!(
            "one-byte call overheads are {:.2} times the message time; overheads were scaled and L = 0",
            model.scaled
        );
        warnings.push(Warning::new(Code::Overlap, text));
    }
    warnings
}

/// Warns if one line for all sizes, the model of `loggops`, predicts worse than segments.
fn of_one_line(calibration: &Calibration) -> Option<Warning> {
    /// By so much the median error of the model may be larger.
    const MARGIN: f64 = 0.02;
    let model = calibration.loggp?;
    let own: Vec<_> = predictions(&calibration.points, |size| model.predict(size)).collect();
    let (own, segments) = (
        ErrorSummary::new(&own)?,
        ErrorSummary::new(&calibration.cross_check.piecewise)?,
    );
    (own.median > segments.median + MARGIN).then(|| {
        let text = format!(
            "loggops has one gap per byte for all sizes, and differs from what was measured by {:.1} % (median) to {:.0} % (at {} B); segments, as --model flow and smpi have them, have a cross-validation median error of {:.1} %",
            100.0 * own.median,
            100.0 * own.worst,
            own.worst_at,
            100.0 * segments.median
        );
        Warning::new(Code::Model, text)
    })
}

/// Everything that the figures of a calibration call for.
pub(crate) fn of_calibration(
    calibration: &Calibration,
    rules: &FitOptions,
    options: &CalibrateOptions,
) -> Vec<Warning> {
    let mut warnings = of_fit(&calibration.fit, &calibration.points);
    warnings.extend(of_samples(&calibration.summaries));
    warnings.extend(of_predictions(
        &calibration.cross_check,
        &calibration.validation,
        calibration.fit.range(),
    ));
    warnings.extend(of_one_line(calibration));
    warnings.extend(of_threshold(calibration, rules, options));
    warnings.extend(of_calls(calibration));
    warnings.extend(of_sharing(calibration));
    warnings.extend(of_machine(calibration));
    warnings.extend(of_congestion_control(&calibration.origin.metadata));
    let farthest = |one: &&SizeSummary| !calibration.bands.reaches(one.point.size);
    let refused: Vec<String> = calibration
        .hidden
        .iter()
        .filter(farthest)
        .map(|one| one.point.size.to_string())
        .collect();
    if !refused.is_empty() {
        let text = format!(
            "no prediction above 4 times the largest fitted size: {} B",
            shorten_list(&refused)
        );
        warnings.push(Warning::new(Code::Extrapolated, text));
    }
    warnings
}

/// Compares the known threshold with the threshold that the times show.
fn of_threshold(
    calibration: &Calibration,
    rules: &FitOptions,
    options: &CalibrateOptions,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let differ = |one: u64, other: u64| {
        let ratio = bytes(one.max(1)) / bytes(other.max(1));
        ratio.max(1.0 / ratio) > 1.05
    };
    let measured = calibration.origin.metadata.whole_value("eager_threshold");
    if let (Some(asked), Some(measured)) = (options.eager_threshold, measured)
        && differ(asked, measured)
    {
        let text =
            format!("--eager-threshold is {asked} B, but the measured threshold is {measured} B");
        warnings.push(Warning::new(Code::Threshold, text));
    }
    let inside = |at: &u64| *at <= calibration.fit.range().1;
    let Some(threshold) = calibration.eager_threshold.filter(inside) else {
        return warnings;
    };
    let Some(free) = by_timing(&calibration.points, rules) else {
        return warnings;
    };
    let distance = |place: &Break| {
        let (low, high) = (bytes(place.gap.0.max(1)) / 1.05, 1.05 * bytes(place.gap.1));
        let at = bytes(threshold);
        (low / at).max(at / high).max(1.0)
    };
    let nearest = free
        .breaks()
        .iter()
        .min_by(|one, other| distance(one).total_cmp(&distance(other)));
    // Far away, it is another break, and the threshold shows in no time.
    if let Some(place) = nearest.filter(|place| (1.0 + 1e-9..2.0).contains(&distance(place))) {
        let text = format!(
            "eager threshold {threshold} B is outside the nearest breakpoint range {} B to {} B",
            place.gap.0, place.gap.1
        );
        warnings.push(Warning::new(Code::Threshold, text));
    }
    warnings
}

/// Calls that were scaled down, and two ways to measure a send that disagree.
fn of_calls(calibration: &Calibration) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some((size, factor)) = calibration.split.scaled.filter(|(_, factor)| *factor > 1.1) {
        let factor = if factor > 100.0 {
            "far longer than the message leaves".to_owned()
        } else {
            format!("{factor:.2} times what the message leaves")
        };
        let text = format!(
            "send and receive overheads at {size} B are {factor} (overlap with transmission); they were scaled, the total is unchanged"
        );
        warnings.push(Warning::new(Code::Overlap, text));
    }
    let of = |kernel: Kernel, size: u64| {
        let found = calibration.kernels.get(&kernel)?.iter();
        let mut found = found.filter(|one| one.point.size == size);
        found.next().map(|one| one.point.time_s)
    };
    let delayed = calibration.kernels.get(&Kernel::DelayedStream(2));
    let ratios: Vec<f64> = delayed
        .into_iter()
        .flatten()
        .filter(|one| Some(one.point.size) < calibration.eager_threshold)
        .filter_map(|one| {
            let size = one.point.size;
            let by_difference = one.point.time_s - of(Kernel::Stream(1), size)?;
            let direct = of(Kernel::Send, size).filter(|direct| *direct > 0.0)?;
            Some(by_difference / direct)
        })
        .collect();
    if let Some(ratio) = median(&ratios).filter(|ratio| !(0.75..=1.25).contains(ratio)) {
        let text = format!(
            "delayed streams give {ratio:.2} times the send overhead measured in the call: noise or asynchronous work"
        );
        warnings.push(Warning::new(Code::Overlap, text));
    }
    warnings
}

fn of_sharing(calibration: &Calibration) -> Vec<Warning> {
    let unclear = calibration.sharing.iter().filter(|one| !one.is_clear());
    let texts: Vec<String> = unclear
        .map(|one| {
            format!(
                "{} at {} B: contention factor {:.2}",
                one.kernel, one.size, one.factor
            )
        })
        .collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "{}: neither shared nor dedicated links; simulated contention has this error",
        shorten_list(&texts)
    );
    vec![Warning::new(Code::Sharing, text)]
}

/// The clock, and more processes than processors.
fn of_machine(calibration: &Calibration) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let metadata = &calibration.origin.metadata;
    let smallest = calibration.points.iter().map(|point| point.time_s);
    let smallest = smallest.fold(f64::INFINITY, f64::min);
    if let Some(cost) = metadata
        .number_value("clock_cost_us")
        .map(|cost| cost / 1e6)
        && cost > 0.01 * smallest
    {
        let text = format!(
            "reading the clock takes {:.3} us, more than 1 % of the shortest time",
            1e6 * cost
        );
        warnings.push(Warning::new(Code::Clock, text));
    }
    if metadata
        .iter()
        .any(|(_, value)| value.contains("clock is not monotonic"))
    {
        warnings.push(Warning::new(Code::Clock, "clock is not monotonic"));
    }
    // Of one host, where it is told.
    let ranks = metadata
        .whole_value("ranks_per_host")
        .or(metadata.whole_value("ranks"));
    if let (Some(ranks), Some(cores)) = (ranks, metadata.whole_value("cores"))
        && ranks > cores
        && metadata.text("wait") != Some("block")
    {
        let text = format!(
            "{ranks} polling processes on {cores} cores: times are valid only for this oversubscription"
        );
        warnings.push(Warning::new(Code::Oversubscribed, text));
    }
    warnings
}

/// Warns of sockets that pace packets, as all versions of BBR do: the time of a message depends on
/// the sockets' estimate of the network, which changes all the time.
fn of_congestion_control(metadata: &SampleMetadata) -> Option<Warning> {
    let names = metadata.text("congestion_control")?;
    let paces = names.split(' ').find(|name| name.starts_with("bbr"))?;
    let text = format!(
        "the congestion control of the sockets, {paces}, paces packets, so the time of long messages varies even without losses: use --tcp-congestion cubic if the predicted programs do not run with {paces}"
    );
    Some(Warning::new(Code::Paced, text))
}
