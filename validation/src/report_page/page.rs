//! The page itself.

use std::fmt::Write as _;

use super::STYLE;
use super::json::{predictions_as_csv, text_digest};
use crate::calibrate::Calibration;
use crate::confidence::Interval;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::sampling::SizeSummary;

pub(super) fn page(calibration: &Calibration, command: &str, svgs: &[(&str, String)]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Calibration</title>\n{STYLE}<h1>Calibration</h1>\n"
    );
    let _ = writeln!(
        page,
        "<p><strong>{}</strong></p>",
        escaped(&calibration.verdict())
    );
    page.push_str("<h2>Warnings</h2>\n<ul>\n");
    for warning in &calibration.warnings {
        let _ = writeln!(page, "<li>{}</li>", escaped(&warning.to_string()));
    }
    if calibration.warnings.is_empty() {
        page.push_str("<li>none</li>\n");
    }
    page.push_str("</ul>\n<h2>Parameters</h2>\n");
    page.push_str(&segments(calibration));
    page.push_str(&parameters(calibration));
    page.push_str("<h2>Pictures</h2>\n");
    for (_, svg) in svgs {
        let _ = writeln!(page, "<p>{svg}</p>");
    }
    page.push_str("<h2>Errors at held-out sizes</h2>\n");
    page.push_str(&comparison(calibration));
    page.push_str(&validation(calibration));
    page.push_str("<h2>Programs</h2>\n");
    page.push_str(&programs(calibration));
    page.push_str("<h2>Provenance</h2>\n<ul>\n");
    for source in &calibration.sources {
        let _ = writeln!(page, "<li>{}</li>", escaped(source));
    }
    for (key, value) in calibration.metadata.iter() {
        let _ = writeln!(page, "<li>{}: {}</li>", escaped(key), escaped(value));
    }
    for one in &calibration.states {
        let _ = writeln!(
            page,
            "<li>Session {}: {} state(s); {:.0} % of the blocks kept, whose speed scattered by {:.1} %.</li>",
            one.session,
            one.count,
            100.0 * one.kept,
            100.0 * one.scatter
        );
    }
    for (session, factor) in &calibration.sessions {
        let _ = writeln!(
            page,
            "<li>Session {session}: normalized by {factor:.4}.</li>"
        );
    }
    let _ = writeln!(
        page,
        "<li>Simulated kernels on the platform file differ from the fit by at most {:.1e} %.</li>\n\
         <li>Digests: measurements {}, predictions {}, platform file {}.</li>\n\
         <li>Reproduce with <code>{}</code></li>\n</ul>\n\
         <h2>Platform file</h2>\n<pre>{}</pre>\n</html>",
        100.0 * calibration.self_check,
        calibration.digest,
        text_digest(&predictions_as_csv(calibration)),
        text_digest(&calibration.platform),
        escaped(command),
        escaped(&calibration.platform)
    );
    page
}

fn segments(calibration: &Calibration) -> String {
    let mut table = String::from(
        "<table><tr><th>above (B)</th><th>break</th><th>bootstrap support</th><th>a (us)</th><th>95 %</th><th>b (ns/B)</th><th>95 %</th><th>GB/s</th><th>sizes</th></tr>\n",
    );
    let confidence = calibration.confidence.as_ref();
    for (at, segment) in calibration.fit.segments().iter().enumerate() {
        let place = at
            .checked_sub(1)
            .map(|before| &calibration.fit.breaks()[before]);
        let kind = place.map_or("start".to_owned(), |place| {
            if place.is_uncertain() {
                format!(
                    "{}, in ({}, {})",
                    place.kind.name(),
                    place.gap.0,
                    place.gap.1
                )
            } else {
                place.kind.name().to_owned()
            }
        });
        let back = at
            .checked_sub(1)
            .zip(confidence)
            .map_or(String::new(), |(before, all)| {
                format!("{:.0} %", 100.0 * all.breaks[before])
            });
        let interval = |which: fn(&(Interval, Interval)) -> Interval, scale: f64| {
            confidence.map_or(String::new(), |all| {
                let (low, high) = which(&all.segments[at]);
                format!("{:.4} to {:.4}", scale * low, scale * high)
            })
        };
        let _ = writeln!(
            table,
            "<tr><td>{}</td><td>{kind}</td><td>{back}</td><td>{:.4}</td><td>{}</td><td>{:.5}</td><td>{}</td><td>{:.3}</td><td>{}</td></tr>",
            place.map_or(0, |place| place.above),
            1e6 * segment.line.intercept_s,
            interval(|one| one.0, 1e6),
            1e9 * segment.line.slope_s,
            interval(|one| one.1, 1e9),
            1e-9 / segment.line.slope_s,
            segment.points
        );
    }
    table + "</table>\n"
}

fn comparison(calibration: &Calibration) -> String {
    let mut table = String::from(
        "<table><tr><th>model</th><th>predictions</th><th>median</th><th>p90</th><th>worst</th><th>at (B)</th></tr>\n",
    );
    let check = &calibration.cross_check;
    for (name, predictions) in [
        ("piecewise, held back", &calibration.validation),
        ("piecewise, cross-validation", &check.piecewise),
        ("single line, cross-validation", &check.line),
        ("interpolation, left out in turn", &check.interpolated),
    ] {
        let Some(errors) = ErrorSummary::new(predictions) else {
            continue;
        };
        let _ = writeln!(
            table,
            "<tr><td>{name}</td><td>{}</td><td>{:.1} %</td><td>{:.1} %</td><td>{:.1} %</td><td>{}</td></tr>",
            errors.count,
            100.0 * errors.median,
            100.0 * errors.p90,
            100.0 * errors.worst,
            errors.worst_at
        );
    }
    table + "</table>\n"
}

/// Single numbers: where they come from.
fn parameters(calibration: &Calibration) -> String {
    let mut table = String::from(
        "<table><tr><th>parameter</th><th>value</th><th>unit</th><th>from</th></tr>\n",
    );
    let mut row = |name: &str, value: String, unit: &str, from: &str| {
        let _ = writeln!(
            table,
            "<tr><td>{name}</td><td>{value}</td><td>{unit}</td><td>{from}</td></tr>"
        );
    };
    if let Some(threshold) = calibration.eager_threshold {
        row(
            "eager threshold",
            threshold.to_string(),
            "B",
            "kernel late, or named",
        );
    }
    if let Some(empty) = calibration.empty {
        row(
            "empty message",
            format!("{:.4}", 1e6 * empty.time_s),
            "us",
            "kernel pp",
        );
    }
    for (name, value, from) in calls(calibration) {
        row(&name, value, "us", from);
    }
    if let Some(model) = &calibration.loggp {
        for (name, value, unit) in [
            ("L", 1e6 * model.latency_s, "us"),
            ("o", 1e6 * model.overhead_s, "us"),
            ("g", 1e6 * model.gap_s, "us"),
            ("G", 1e9 * model.gap_per_byte_s, "ns/B"),
            ("O", 1e9 * model.overhead_per_byte_s, "ns/B"),
        ] {
            row(
                name,
                format!("{value:.5}"),
                unit,
                "kernels pp, os, or, prtt",
            );
        }
    }
    let (copy, reduce) = (calibration.copy_bandwidth, calibration.reduce_bandwidth);
    for (name, bandwidth) in [("copy", copy), ("reduce", reduce)] {
        if let Some(bandwidth) = bandwidth {
            let kernel = format!("kernel {name}");
            let value = format!("{:.3}", 1e-9 * bandwidth);
            row("memory bandwidth", value, "GB/s", &kernel);
        }
    }
    for one in &calibration.sharing {
        let name = format!("{} at {} B, contention factor", one.kernel, one.size);
        row(
            &name,
            format!("{:.2}", one.factor),
            "",
            "kernels incast, outcast, bidir",
        );
    }
    table + "</table>\n"
}

/// Returns the costs of calls: name, value and where it comes from.
fn calls(calibration: &Calibration) -> Vec<(String, String, &'static str)> {
    let mut rows = Vec::new();
    for (name, call, from) in [
        ("send", &calibration.calls.os, "kernel os"),
        ("nonblocking send", &calibration.calls.ois, "kernel ois"),
        ("receive", &calibration.calls.or, "kernel or"),
    ] {
        for segment in call.iter().flat_map(|fit| fit.segments()) {
            let value = format!(
                "{:.4} + {:.6} s / 1000",
                1e6 * segment.line.intercept_s,
                1e9 * segment.line.slope_s
            );
            let name = format!("{name}, {} to {} B", segment.smallest, segment.largest);
            rows.push((name, value, from));
        }
    }
    rows
}

/// Every size that was held back.
fn validation(calibration: &Calibration) -> String {
    if calibration.validation.is_empty() {
        return String::new();
    }
    let table = held_back(calibration, &calibration.validation, &calibration.hidden);
    format!("<p>Held back:</p>\n{table}")
}

/// Programs that were measured in blocks between those that were fitted.
fn programs(calibration: &Calibration) -> String {
    let mut text = String::new();
    for program in &calibration.programs {
        let table = held_back(calibration, &program.predictions, &program.summaries);
        let verdict = escaped(&program.verdict());
        let _ = write!(text, "<p>{verdict} A sample is a round.</p>\n{table}");
    }
    text + "<p>Any program: <code>simrun compare</code>, which writes a report of its own.</p>\n"
}

/// Predictions beside what was measured, and whether the difference means anything.
fn held_back(
    calibration: &Calibration,
    predictions: &[Prediction],
    summaries: &[SizeSummary],
) -> String {
    let mut table = String::from(
        "<table><tr><th>size (B)</th><th>samples</th><th>measured (us)</th><th>95 %</th><th>median</th><th>mean</th><th>predicted</th><th>error</th><th>in the band</th></tr>\n",
    );
    for one in predictions {
        let summary = summaries
            .iter()
            .find(|summary| summary.point.size == one.size);
        let Some(summary) = summary else { continue };
        let error = one.error().abs();
        let inside = if error <= calibration.bands.at(one.size, 0.9) {
            "yes"
        } else if error <= summary.half_width {
            "no (within measurement error)"
        } else {
            "no"
        };
        let _ = writeln!(
            table,
            "<tr><td>{}</td><td>{}</td><td>{:.3}</td><td>± {:.1} %</td><td>{:.3}</td><td>{:.3}</td><td>{:.3}</td><td>{:+.1} %</td><td>{inside}</td></tr>",
            one.size,
            summary.samples,
            1e6 * one.measured_s,
            100.0 * summary.half_width,
            1e6 * summary.median_s,
            1e6 * summary.mean_s,
            1e6 * one.predicted_s,
            100.0 * one.error()
        );
    }
    table + "</table>\n"
}

/// Text inside of a page.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
