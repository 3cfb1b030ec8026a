//! The report of a calibration: pictures, and one page without external resources.
//!
//! The page has, in this order, the verdict, the warnings, the parameters with their intervals, the pictures, the validation and where everything
//! comes from. `index.html` contains its pictures; they are beside it too, as SVG and PNG.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use report::{Mark, PlotError, Scatter, Series, plot_scatter, svg_of_scatter};

use crate::calibrate::Calibration;
use crate::confidence::Interval;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::point::bytes;

/// How many points a curve is drawn with.
const CURVE: u32 = 400;

/// The pictures with the names of their files.
#[must_use]
pub fn pictures(calibration: &Calibration) -> Vec<(&'static str, Scatter)> {
    vec![
        ("fit", fit(calibration)),
        ("residuals", residuals(calibration)),
        ("predicted", predicted(calibration)),
    ]
}

fn series(name: &str, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        mark,
        points,
    }
}

/// Sizes from end to end, evenly in their logarithms, and both sides of every break.
fn sizes(calibration: &Calibration) -> Vec<u64> {
    let (smallest, largest) = calibration.fit.range();
    let (low, high) = (libm::log(bytes(smallest.max(1))), libm::log(bytes(largest)));
    let mut sizes: Vec<u64> = (0..=CURVE)
        .map(|at| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between two sizes"
            )]
            let size =
                libm::exp(low + (high - low) * f64::from(at) / f64::from(CURVE)).round() as u64;
            size
        })
        .collect();
    for place in calibration.fit.breaks() {
        sizes.extend([place.above, place.above + 1]);
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn breaks(calibration: &Calibration) -> Vec<f64> {
    let places = calibration.fit.breaks().iter();
    places.map(|place| bytes(place.above)).collect()
}

fn fit(calibration: &Calibration) -> Scatter {
    let curve = |model: &dyn Fn(u64) -> f64| -> Vec<(f64, f64)> {
        let sizes = sizes(calibration);
        sizes
            .iter()
            .map(|size| (bytes(*size), 1e6 * model(*size)))
            .collect()
    };
    let measured = calibration
        .points
        .iter()
        .map(|point| (point.x(), 1e6 * point.time_s));
    let hidden = calibration
        .validation
        .iter()
        .map(|one| (bytes(one.size), 1e6 * one.measured_s));
    let mut drawn = vec![
        series(
            "one line",
            Mark::Thin,
            curve(&|size| calibration.line.predict(size)),
        ),
        series(
            "piecewise fit",
            Mark::Line,
            curve(&|size| calibration.fit.predict(size)),
        ),
        series("measured, fitted", Mark::Dots, measured.collect()),
    ];
    if !calibration.validation.is_empty() {
        drawn.push(series("measured, held back", Mark::Rings, hidden.collect()));
    }
    Scatter {
        title: "Time over size; vertical lines are breaks".to_owned(),
        x: "size (bytes)".to_owned(),
        y: "time (us)".to_owned(),
        log_y: true,
        series: drawn,
        verticals: breaks(calibration),
    }
}

/// Sizes and errors in percent.
fn errors(predictions: &[Prediction]) -> Vec<(f64, f64)> {
    let error = |one: &Prediction| (bytes(one.size), 100.0 * one.error());
    predictions.iter().map(error).collect()
}

fn residuals(calibration: &Calibration) -> Scatter {
    let band = 100.0 * calibration.cross_check.band(0.9);
    let (smallest, largest) = calibration.fit.range();
    let ends = [bytes(smallest.max(1)), bytes(largest)];
    let level = |height: f64| ends.map(|x| (x, height)).to_vec();
    let fitted: Vec<Prediction> = calibration
        .points
        .iter()
        .map(|point| Prediction {
            size: point.size,
            predicted_s: calibration.fit.predict(point.size),
            measured_s: point.time_s,
        })
        .collect();
    let mut drawn = vec![
        series("band of 90 %", Mark::Thin, level(band)),
        series("", Mark::Thin, level(-band)),
        series("of sizes that were fitted", Mark::Dots, errors(&fitted)),
    ];
    drawn.push(if calibration.validation.is_empty() {
        series(
            "of sizes left out in turn",
            Mark::Rings,
            errors(&calibration.cross_check.piecewise),
        )
    } else {
        series(
            "of sizes held back",
            Mark::Rings,
            errors(&calibration.validation),
        )
    });
    Scatter {
        title: "Error of the fit: predicted / measured - 1".to_owned(),
        x: "size (bytes)".to_owned(),
        y: "error (%)".to_owned(),
        log_y: false,
        series: drawn,
        verticals: breaks(calibration),
    }
}

fn predicted(calibration: &Calibration) -> Scatter {
    let (name, predictions) = if calibration.validation.is_empty() {
        ("left out in turn", &calibration.cross_check.piecewise)
    } else {
        ("held back", &calibration.validation)
    };
    let pairs: Vec<(f64, f64)> = predictions
        .iter()
        .map(|one| (1e6 * one.measured_s, 1e6 * one.predicted_s))
        .collect();
    let band = calibration.cross_check.band(0.9);
    let ends = [
        &calibration.points[0],
        &calibration.points[calibration.points.len() - 1],
    ];
    let times = ends.map(|point| 1e6 * point.time_s);
    let line = |factor: f64| times.map(|time| (time, factor * time)).to_vec();
    Scatter {
        title: "Predicted against measured".to_owned(),
        x: "measured (us)".to_owned(),
        y: "predicted (us)".to_owned(),
        log_y: true,
        series: vec![
            series("band of 90 %", Mark::Thin, line(1.0 + band)),
            series("", Mark::Thin, line(1.0 - band)),
            series("equal", Mark::Line, line(1.0)),
            series(name, Mark::Rings, pairs),
        ],
        verticals: Vec::new(),
    }
}

/// Writes `index.html` and the pictures into a folder, which is made if it is not there.
///
/// # Errors
/// What writing or drawing says.
pub fn write_report(calibration: &Calibration, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let drawn = |error: PlotError| io::Error::other(error.to_string());
    let mut svgs = Vec::new();
    for (name, picture) in pictures(calibration) {
        for ending in ["svg", "png"] {
            plot_scatter(&picture, &folder.join(format!("{name}.{ending}"))).map_err(drawn)?;
        }
        svgs.push(svg_of_scatter(&picture).map_err(drawn)?);
    }
    let temporary = folder.join("index.html.part");
    fs::write(&temporary, page(calibration, &svgs))?;
    fs::rename(&temporary, folder.join("index.html"))
}

fn page(calibration: &Calibration, svgs: &[String]) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Calibration</title>\n\
         <style>body{font-family:sans-serif;max-width:62em;margin:2em auto;padding:0 1em}\
         table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:right}\
         svg{max-width:100%;height:auto}li{margin:.3em 0}pre{background:#f4f4f4;padding:1em;overflow:auto}</style>\n\
         <h1>Calibration</h1>\n",
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
    page.push_str("</ul>\n<h2>Segments</h2>\n");
    page.push_str(&segments(calibration));
    page.push_str("<h2>Pictures</h2>\n");
    for svg in svgs {
        let _ = writeln!(page, "<p>{svg}</p>");
    }
    page.push_str("<h2>Errors at sizes that were not fitted</h2>\n");
    page.push_str(&comparison(calibration));
    page.push_str("<h2>Where it comes from</h2>\n<ul>\n");
    for source in &calibration.sources {
        let _ = writeln!(page, "<li>{}</li>", escaped(source));
    }
    let _ = writeln!(
        page,
        "<li>Simulated ping-pongs on the platform file differ from the fit by at most {:.1e} %.</li>\n</ul>\n\
         <h2>Platform file</h2>\n<pre>{}</pre>\n</html>",
        100.0 * calibration.self_check,
        escaped(&calibration.platform)
    );
    page
}

fn segments(calibration: &Calibration) -> String {
    let mut table = String::from(
        "<table><tr><th>above (B)</th><th>break</th><th>came back</th><th>a (us)</th><th>95 %</th><th>b (ns/B)</th><th>95 %</th><th>GB/s</th><th>sizes</th></tr>\n",
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
        ("piecewise, left out in turn", &check.piecewise),
        ("one line, left out in turn", &check.line),
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
