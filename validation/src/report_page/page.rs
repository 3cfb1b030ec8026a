//! The page itself: the figures of the JSON, and the values that only the page shows.

use report::PlotError;
use serde_json::{Value, json};

use super::json::{as_value, errors, line};
use crate::calibrate::Calibration;
use crate::error_summary::Prediction;
use crate::page::{CALIBRATION, render};
use crate::sampling::SizeSummary;

pub(super) fn page(
    calibration: &Calibration,
    command: &str,
    svgs: Vec<String>,
) -> Result<String, PlotError> {
    let warnings = calibration.warnings.iter().map(ToString::to_string);
    let breaks = calibration.fit.breaks().iter();
    // No break is before the first segment.
    let uncertain = std::iter::once(false).chain(breaks.map(|place| place.is_uncertain()));
    let held_back_rows = (!calibration.validation.is_empty())
        .then(|| held_back(calibration, &calibration.validation, &calibration.hidden));
    let programs = calibration.programs.iter().map(|program| {
        let rows = held_back(calibration, &program.predictions, &program.summaries);
        json!([program.verdict(), rows])
    });
    let mut values = as_value(calibration);
    values["title"] = "Calibration".into();
    values["warning_lines"] = warnings.collect();
    values["uncertain_breaks"] = uncertain.collect();
    values["empty_us"] = calibration.empty.map(|empty| 1e6 * empty.time_s).into();
    values["calls"] = calls_json(calibration);
    values["svgs"] = svgs.into();
    values["errors_held_back"] = errors(&calibration.validation);
    values["held_back_rows"] = held_back_rows.into();
    values["program_rows"] = programs.collect();
    values["sources"] = calibration.origin.sources.clone().into();
    values["metadata_lines"] = calibration
        .origin
        .metadata
        .iter()
        .map(|pair| json!(pair))
        .collect();
    values["self_check_percent"] = format!("{:.1e}", 100.0 * calibration.self_check).into();
    values["command"] = command.into();
    values["platform"] = calibration.platform.as_str().into();
    render(CALIBRATION, &values)
}

/// Returns the costs of calls.
fn calls_json(calibration: &Calibration) -> Value {
    let calls = [
        ("send", &calibration.calls.os, "os"),
        ("nonblocking send", &calibration.calls.ois, "ois"),
        ("receive", &calibration.calls.or, "or"),
    ];
    let rows = calls.into_iter().flat_map(|(name, call, kernel)| {
        let segments = call.iter().flat_map(|fit| fit.segments());
        segments.map(move |segment| {
            json!({
                "name": name,
                "kernel": kernel,
                "smallest": segment.smallest,
                "largest": segment.largest,
                "line": line(segment.line),
            })
        })
    });
    rows.collect()
}

/// Returns predictions beside measured times, and whether the difference is significant.
fn held_back(
    calibration: &Calibration,
    predictions: &[Prediction],
    summaries: &[SizeSummary],
) -> Value {
    let rows = predictions.iter().filter_map(|one| {
        let mut summaries = summaries.iter();
        let summary = summaries.find(|summary| summary.point.size == one.size)?;
        let error = one.error().abs();
        let inside = if error <= calibration.bands.error_at(one.size, 0.9) {
            "yes"
        } else if error <= summary.half_width {
            "no (within measurement error)"
        } else {
            "no"
        };
        Some(json!({
            "size": one.size,
            "samples": summary.samples,
            "measured_us": 1e6 * one.measured_s,
            "half_width": summary.half_width,
            "median_us": 1e6 * summary.median_s,
            "mean_us": 1e6 * summary.mean_s,
            "predicted_us": 1e6 * one.predicted_s,
            "error": one.error(),
            "inside": inside,
        }))
    });
    rows.collect()
}
