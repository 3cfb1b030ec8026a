//! Which warnings figures call for; each limit is that of the calibration's method.

use crate::cross_check::CrossCheck;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::fit::Fit;
use crate::point::Point;
use crate::quantile::median;
use crate::sampling::SizeSummary;
use crate::warning::{Code, Warning};

/// How far below the time before it a time must be, in standard errors, to be called a fall.
const FALL_SIGMAS: f64 = 3.0;

/// Falling times, and breaks whose place is not known.
pub(crate) fn of_fit(fit: &Fit, points: &[Point]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for place in fit.breaks() {
        let (low, high) = place.gap;
        if place.jump < 0.95 {
            let text = format!(
                "the time falls by {:.0} % between {low} B and {high} B: a switch of protocol, or a mistake",
                100.0 * (1.0 - place.jump)
            );
            warnings.push(Warning::new(Code::NonMonotone, text));
        }
        if place.is_uncertain() && (place.jump - 1.0).abs() > 0.05 {
            let text = format!(
                "a jump by {:+.0} % lies somewhere between {low} B and {high} B, taken to be after {} B: measure sizes in between, or name it with --break",
                100.0 * (place.jump - 1.0),
                place.above
            );
            warnings.push(Warning::new(Code::Gap, text));
        }
    }
    for two in points.windows(2) {
        let is_break = fit.segment_of(two[0].size) != fit.segment_of(two[1].size);
        let sigma = two[0].error.max(two[1].error).max(0.01);
        let fall = 1.0 - two[1].time_s / two[0].time_s;
        if !is_break && fall > FALL_SIGMAS * sigma {
            let text = format!(
                "the time falls by {:.1} % from {} B to {} B, where no break was found",
                100.0 * fall,
                two[0].size,
                two[1].size
            );
            warnings.push(Warning::new(Code::NonMonotone, text));
        }
    }
    warnings
}

/// Too few samples, and noise.
pub(crate) fn of_samples(summaries: &[SizeSummary]) -> Vec<Warning> {
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
            "{} of {} sizes have fewer than 5 blocks or a 95 % interval wider than ± 10 % ({shown}{more} B): measure longer",
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
            "a noisy machine: means are {factor:.2} times the time that was fitted, intervals ± {:.1} %: pin processes, close other work",
            100.0 * width
        );
        warnings.push(Warning::new(Code::Noise, text));
    }
    warnings
}

/// Models that predict better, and sizes outside.
pub(crate) fn of_predictions(
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
            "the segments predict sizes left out with a median error of {:.1} %, one line with {:.1} %, interpolation with {:.1} %",
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
        let text = format!(
            "predicted beyond the sizes that were fitted: {} B",
            outside.join(", ")
        );
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
        "sessions differ in speed ({}); each was divided by its factor, and times hold in another session only within ± {:.0} %",
        list.join(", "),
        100.0 * (most / least - 1.0)
    );
    vec![Warning::new(Code::Session, text)]
}
