//! The figures of a calibration as data.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sim_core::Digest;

use crate::calibrate::Calibration;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::fit::Line;

/// Returns the predictions for the sizes that were held back, and for the others.
pub(super) fn predictions_as_csv(calibration: &Calibration) -> String {
    let mut text = String::from("set,size_bytes,predicted_us,band\n");
    for (set, sizes) in [
        (
            "train",
            calibration
                .points
                .iter()
                .map(|one| one.size)
                .collect::<Vec<_>>(),
        ),
        (
            "validate",
            calibration.validation.iter().map(|one| one.size).collect(),
        ),
    ] {
        for size in sizes {
            if let Some(time) = calibration.predict(size) {
                let band = calibration.bands.error_at(size, 0.9);
                let _ = writeln!(text, "{set},{size},{},{band}", 1e6 * time);
            }
        }
    }
    text
}

/// The fingerprint of a text.
pub fn text_digest(text: &str) -> String {
    let mut digest = Digest::default();
    digest.mix_str(text);
    format!("{:016x}", digest.value())
}

pub(super) fn errors(predictions: &[Prediction]) -> Value {
    ErrorSummary::new(predictions).map_or(Value::Null, |errors| {
        json!({
            "count": errors.count,
            "median": errors.median,
            "p90": errors.p90,
            "worst": errors.worst,
            "worst_at": errors.worst_at,
            "bias": errors.bias,
        })
    })
}

pub(super) fn line(line: Line) -> Value {
    json!({ "a_us": 1e6 * line.intercept_s, "b_ns_per_byte": 1e9 * line.slope_s })
}

/// The segments of the fit.
fn segments(calibration: &Calibration) -> Value {
    let segments = calibration.fit.segments().iter().enumerate().map(|(at, segment)| {
        let place = at.checked_sub(1).map(|before| calibration.fit.breaks()[before]);
        let sure = calibration.confidence.as_ref().map(|all| all.segments[at]);
        json!({
            "above": place.map_or(0, |place| place.above),
            "break": place.map(|place| place.kind.name()),
            "gap": place.map(|place| [place.gap.0, place.gap.1]),
            "bootstrap_support": at.checked_sub(1).and_then(|before| Some(calibration.confidence.as_ref()?.breaks[before])),
            "line": line(segment.line),
            "a_us_95": sure.map(|(a, _)| [1e6 * a.0, 1e6 * a.1]),
            "b_ns_per_byte_95": sure.map(|(_, b)| [1e9 * b.0, 1e9 * b.1]),
            "sizes": segment.points,
        })
    });
    Value::Array(segments.collect())
}

/// Returns the parts of each segment by their origin.
fn pieces(calibration: &Calibration) -> Value {
    let pieces = calibration.split.pieces.iter().map(|piece| {
        json!({
            "above": piece.above,
            "o_send": line(piece.os),
            "o_isend": line(piece.ois),
            "o_recv": line(piece.or),
            "network": line(piece.wire),
        })
    });
    Value::Array(pieces.collect())
}

/// Returns the sizes that were held back.
fn validation(calibration: &Calibration) -> Value {
    let validation = calibration.validation.iter().map(|one| {
        json!({
            "size": one.size,
            "predicted_us": 1e6 * one.predicted_s,
            "measured_us": 1e6 * one.measured_s,
            "error": one.error(),
            "inside_band": one.error().abs() <= calibration.bands.error_at(one.size, 0.9),
        })
    });
    Value::Array(validation.collect())
}

/// Returns the programs that were measured beside the fitted kernels.
fn programs(calibration: &Calibration) -> Value {
    let programs = calibration.programs.iter().map(|program| {
        let sizes = program
            .predictions
            .iter()
            .zip(&program.summaries)
            .map(|(one, summary)| {
                json!({
                    "size": one.size,
                    "predicted_us": 1e6 * one.predicted_s,
                    "measured_us": 1e6 * one.measured_s,
                    "half_width": summary.half_width,
                    "error": one.error(),
                })
            });
        json!({
            "kernel": program.kernel.to_string(),
            "verdict": program.verdict(),
            "errors": errors(&program.predictions),
            "sizes": sizes.collect::<Vec<_>>(),
        })
    });
    Value::Array(programs.collect())
}

/// The parameters of the model `loggops`, or null.
fn loggp(calibration: &Calibration) -> Value {
    let loggp = calibration.loggp.as_ref().map(|model| {
        json!({
            "L_us": 1e6 * model.latency_s,
            "o_us": 1e6 * model.overhead_s,
            "g_us": 1e6 * model.gap_s,
            "G_ns_per_byte": 1e9 * model.gap_per_byte_s,
            "O_ns_per_byte": 1e9 * model.overhead_per_byte_s,
            "S": model.threshold,
        })
    });
    loggp.unwrap_or(Value::Null)
}

/// Everything that the page tells, as JSON.
pub fn calibration_as_json(calibration: &Calibration) -> String {
    serde_json::to_string_pretty(&as_value(calibration)).unwrap_or_default() + "\n"
}

pub(super) fn as_value(calibration: &Calibration) -> Value {
    let warnings = calibration
        .warnings
        .iter()
        .map(|one| json!({ "code": one.code.name(), "text": one.text }));
    let states = calibration
        .speed
        .states
        .iter()
        .map(|one| json!({ "session": one.session, "states": one.count, "kept": one.kept, "scatter": one.scatter }));
    let sharing = calibration.sharing.iter().map(
        |one| json!({ "kernel": one.kernel.to_string(), "size": one.size, "factor": one.factor }),
    );
    let metadata: serde_json::Map<String, Value> = calibration
        .origin
        .metadata
        .iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    json!({
        "verdict": calibration.verdict(),
        "warnings": warnings.collect::<Vec<_>>(),
        "errors": errors(calibration.predictions().1),
        "errors_cross_validation": errors(&calibration.cross_check.piecewise),
        "errors_line": errors(&calibration.cross_check.line),
        "errors_log_log": errors(&calibration.cross_check.interpolated),
        "band_90": calibration.bands.error_at(calibration.fit.range().1, 0.9),
        "range": [calibration.fit.range().0, calibration.fit.range().1],
        "eager_threshold": calibration.eager_threshold,
        "copy_bandwidth": calibration.memory.copy,
        "reduce_bandwidth": calibration.memory.reduce,
        "rendezvous_cost": calibration.handshake.name(),
        "segments": segments(calibration),
        "cost_segments": pieces(calibration),
        "loggp": loggp(calibration),
        "contention": sharing.collect::<Vec<_>>(),
        "sessions": calibration.speed.sessions.iter().map(|one| json!({ "session": one.0, "factor": one.1 })).collect::<Vec<_>>(),
        "speed_states": states.collect::<Vec<_>>(),
        "self_check": calibration.self_check,
        "validation": validation(calibration),
        "programs": programs(calibration),
        "metadata": metadata,
        "digests": {
            "measurements": calibration.origin.digest,
            "predictions": text_digest(&predictions_as_csv(calibration)),
            "platform": text_digest(&calibration.platform),
        },
    })
}
