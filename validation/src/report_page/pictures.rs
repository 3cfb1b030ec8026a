//! The pictures of a report.

use report::{Marker, Scatter, Series};

use crate::calibrate::{Calibration, ReferenceBlock};
use crate::error_summary::Prediction;
use crate::point::{bytes, count};

/// Number of points a curve is drawn with.
const CURVE: u32 = 400;

/// Returns the pictures with their file names; pictures without data are left out.
pub fn pictures(calibration: &Calibration) -> Vec<(&'static str, Scatter)> {
    let mut all = vec![
        ("fit", fit(calibration)),
        ("residuals", residuals(calibration)),
        ("predicted", predicted(calibration)),
    ];
    let blocks = &calibration.speed.references;
    if !blocks.is_empty() {
        all.push(("references", references(blocks)));
    }
    if !calibration.cross_check.piecewise.is_empty() {
        all.push(("errors", errors_by_rank(calibration)));
    }
    if calibration.calls.os.is_some() || calibration.calls.or.is_some() {
        all.push(("split", plot_split(calibration)));
    }
    all
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
    let breaks = calibration.fit.breaks().iter().map(|place| place.above);
    let pieces = calibration.split.pieces.iter().map(|piece| piece.above);
    for above in breaks.chain(pieces) {
        sizes.extend([above, above + 1]);
    }
    sizes.retain(|size| (smallest..=largest).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn breaks(calibration: &Calibration) -> Vec<f64> {
    let places = calibration.fit.breaks().iter();
    places.map(|place| bytes(place.above)).collect()
}

fn curve(calibration: &Calibration, model: &dyn Fn(u64) -> f64) -> Vec<(f64, f64)> {
    let sizes = sizes(calibration);
    sizes
        .iter()
        .map(|size| (bytes(*size), 1e6 * model(*size)))
        .collect()
}

fn fit(calibration: &Calibration) -> Scatter {
    let measured = calibration
        .points
        .iter()
        .map(|point| (point.x(), 1e6 * point.time_s));
    let hidden = calibration
        .validation
        .iter()
        .map(|one| (bytes(one.size), 1e6 * one.measured_s));
    let samples = calibration
        .samples
        .iter()
        .map(|(size, time)| (bytes(*size), 1e6 * time));
    let ends = calibration.summaries.iter().flat_map(|one| {
        let at = |sign: f64| 1e6 * one.point.time_s * (1.0 + sign * one.half_width);
        [(one.point.x(), at(-1.0)), (one.point.x(), at(1.0))]
    });
    let mut drawn = vec![
        Series::new("all samples", Marker::Faint, samples.collect()),
        Series::new("95 % interval", Marker::Whiskers, ends.collect()),
        Series::new(
            "one line",
            Marker::Thin,
            curve(calibration, &|size| calibration.line.predict(size)),
        ),
        Series::new(
            "piecewise fit",
            Marker::Line,
            curve(calibration, &|size| calibration.fit.predict(size)),
        ),
        Series::new("fitted", Marker::Dots, measured.collect()),
        Series::new("held back", Marker::Rings, hidden.collect()),
    ];
    if let Some(model) = &calibration.loggp {
        drawn.push(Series::new(
            "LogGP",
            Marker::Third,
            curve(calibration, &|size| model.predict(size)),
        ));
    }
    drawn.retain(|series| !series.points.is_empty());
    Scatter {
        title: "Time versus size (vertical lines: breakpoints)".to_owned(),
        x: "size (bytes)".to_owned(),
        log_x: true,
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

/// The band, above and below, in percent.
fn band(calibration: &Calibration, sign: f64) -> Vec<(f64, f64)> {
    let sizes = sizes(calibration);
    let height = |size: &u64| 100.0 * sign * calibration.bands.error_at(*size, 0.9);
    sizes
        .iter()
        .map(|size| (bytes(*size), height(size)))
        .collect()
}

fn residuals(calibration: &Calibration) -> Scatter {
    let fitted: Vec<Prediction> = calibration
        .points
        .iter()
        .filter_map(|point| {
            Some(Prediction {
                size: point.size,
                predicted_s: calibration.predict(point.size)?,
                measured_s: point.time_s,
            })
        })
        .collect();
    let (name, predictions) = calibration.predictions();
    let programs = calibration.programs.iter().map(|program| {
        let name = format!("{}, never fitted", program.kernel);
        Series::new(&name, Marker::Crosses, errors(&program.predictions))
    });
    let programs: Vec<_> = programs.collect();
    Scatter {
        title: "Error of the fit: predicted / measured - 1".to_owned(),
        x: "size (bytes)".to_owned(),
        log_x: true,
        y: "error (%)".to_owned(),
        log_y: false,
        series: [
            Series::new("90 % band", Marker::Thin, band(calibration, 1.0)),
            Series::new("", Marker::Thin, band(calibration, -1.0)),
            Series::new("fitted sizes", Marker::Dots, errors(&fitted)),
            Series::new(name, Marker::Rings, errors(predictions)),
        ]
        .into_iter()
        .chain(programs)
        .collect(),
        verticals: breaks(calibration),
    }
}

fn predicted(calibration: &Calibration) -> Scatter {
    let (name, predictions) = calibration.predictions();
    let pairs: Vec<(f64, f64)> = predictions
        .iter()
        .map(|one| (1e6 * one.measured_s, 1e6 * one.predicted_s))
        .collect();
    let line = |sign: f64| {
        let mut points: Vec<(f64, f64)> = calibration
            .points
            .iter()
            .map(|point| {
                let time = 1e6 * point.time_s;
                (
                    time,
                    time * (1.0 + sign * calibration.bands.error_at(point.size, 0.9)),
                )
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    };
    Scatter {
        title: "Predicted against measured".to_owned(),
        x: "measured (us)".to_owned(),
        log_x: true,
        y: "predicted (us)".to_owned(),
        log_y: true,
        series: vec![
            Series::new("90 % band", Marker::Thin, line(1.0)),
            Series::new("", Marker::Thin, line(-1.0)),
            Series::new("equal", Marker::Line, line(0.0)),
            Series::new(name, Marker::Rings, pairs),
        ],
        verticals: Vec::new(),
    }
}

fn references(blocks: &[ReferenceBlock]) -> Scatter {
    // Sessions one after the other.
    let last = blocks.iter().map(|one| one.number).max().unwrap_or(0);
    let first = blocks.first().map_or(0, |one| one.session);
    let of = |kept: bool| -> Vec<(f64, f64)> {
        let ours = blocks.iter().filter(|one| one.kept == kept);
        ours.map(|one| {
            let before = one.session.saturating_sub(first) * (last + 1);
            (f64::from(before + one.number), one.relative)
        })
        .collect()
    };
    Scatter {
        title: "Reference blocks over time".to_owned(),
        x: "block number".to_owned(),
        log_x: false,
        y: "time / median".to_owned(),
        log_y: false,
        series: vec![
            Series::new("at the selected speed", Marker::Dots, of(true)),
            Series::new("dropped", Marker::Rings, of(false)),
        ],
        verticals: Vec::new(),
    }
}

fn errors_by_rank(calibration: &Calibration) -> Scatter {
    let check = &calibration.cross_check;
    let curve = |predictions: &[Prediction]| -> Vec<(f64, f64)> {
        let mut errors: Vec<f64> = predictions
            .iter()
            .map(|one| 100.0 * one.error().abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        let n = count(errors.len().max(1));
        let part = |at: usize| 100.0 * count(at + 1) / n;
        errors
            .iter()
            .enumerate()
            .map(|(at, error)| (error.max(0.01), part(at)))
            .collect()
    };
    Scatter {
        title: "Cumulative distribution of the cross-validation error".to_owned(),
        x: "absolute error (%)".to_owned(),
        log_x: true,
        y: "sizes (%)".to_owned(),
        log_y: false,
        series: vec![
            Series::new("piecewise fit", Marker::Line, curve(&check.piecewise)),
            Series::new("interpolation", Marker::Second, curve(&check.interpolated)),
            Series::new("one line", Marker::Thin, curve(&check.line)),
        ],
        verticals: Vec::new(),
    }
}

fn plot_split(calibration: &Calibration) -> Scatter {
    let piece = |size: u64| calibration.split.segment_at(size);
    Scatter {
        title: "Message time: send, send + receive, total".to_owned(),
        x: "size (bytes)".to_owned(),
        log_x: true,
        y: "time (us)".to_owned(),
        log_y: true,
        series: vec![
            Series::new(
                "with the network",
                Marker::Line,
                curve(calibration, &|size| piece(size).whole.time_at(bytes(size))),
            ),
            Series::new(
                "send + receive",
                Marker::Second,
                curve(calibration, &|size| {
                    piece(size).os.time_at(bytes(size)) + piece(size).or.time_at(bytes(size))
                }),
            ),
            Series::new(
                "send",
                Marker::Third,
                curve(calibration, &|size| piece(size).os.time_at(bytes(size))),
            ),
        ],
        verticals: breaks(calibration),
    }
}
