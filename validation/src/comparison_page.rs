//! The report of a comparison: one page without external resources, with the pictures as SVG and
//! PNG files beside the page, and the same figures as JSON.
//!
//! In this order: the verdict, the notes, the table of all figures, the pictures, and the sources
//! of all figures, with the platform file.

use std::fmt::Write as _;
use std::path::Path;

use report::{Marker, PlotError, Scatter, Series, plot_scatter, svg_of_scatter};
use serde_json::json;

use crate::compare::{Comparison, Figure};
use crate::metadata::SampleMetadata;
use crate::page::{COMPARISON, render};
use crate::report_page::{text_digest, write_atomically};

impl Comparison {
    /// Describes the predictions in a sentence made of the figures.
    pub fn verdict(&self) -> String {
        let Some(errors) = self.errors(1.0) else {
            return "No values to compare.".to_owned();
        };
        let mut text = format!(
            "{} figures: median error {:.1} %, p90 {:.1} %, worst {:.1} % ({}), bias {:+.1} %.",
            errors.count,
            100.0 * errors.median,
            100.0 * errors.p90,
            100.0 * errors.worst,
            self.figure_name(errors.worst_at),
            100.0 * errors.bias
        );
        if let Some((factor, errors)) = self.factor.and_then(|one| Some((one, self.errors(one)?))) {
            let _ = write!(
                text,
                " Reference blocks took {factor:.3} times the calibration time; after rescaling: median {:.1} %, worst {:.1} %.",
                100.0 * errors.median,
                100.0 * errors.worst
            );
        }
        text
    }

    /// The signed errors over the measured times, with the band.
    pub fn picture_of_errors(&self) -> Scatter {
        let time = |figure: &Figure| 1e6 * figure.measured.point.time_s;
        let times = || self.figures.iter().map(time);
        let ends = [
            times().fold(f64::INFINITY, f64::min) / 1.5,
            times().fold(0.0, f64::max) * 1.5,
        ];
        let level = |y: f64| ends.map(|x| (x, y)).to_vec();
        let of = |factor: f64| -> Vec<(f64, f64)> {
            let error = |one: &Figure| 100.0 * ((1.0 + one.error()) * factor - 1.0);
            self.figures
                .iter()
                .map(|one| (time(one), error(one)))
                .collect()
        };
        let intervals = self.figures.iter().flat_map(|one| {
            let at = |sign: f64| {
                let measured = 1.0 + sign * one.measured.half_width;
                (time(one), 100.0 * ((1.0 + one.error()) / measured - 1.0))
            };
            [at(-1.0), at(1.0)]
        });
        let narrow = self
            .figures
            .iter()
            .all(|one| one.measured.half_width < 0.99);
        let mut drawn = vec![Series::new("no error", Marker::Line, level(0.0))];
        if let Some(band) = self.band {
            drawn.push(Series::new("90 % band", Marker::Thin, level(100.0 * band)));
            drawn.push(Series::new("", Marker::Thin, level(-100.0 * band)));
        }
        if narrow {
            drawn.push(Series::new(
                "95 % interval",
                Marker::Whiskers,
                intervals.collect(),
            ));
        }
        drawn.push(Series::new("as is", Marker::Dots, of(1.0)));
        if let Some(factor) = self.factor {
            drawn.push(Series::new("after rescaling", Marker::Rings, of(factor)));
        }
        Scatter {
            title: "A program: errors of the predictions".to_owned(),
            x: "measured (us)".to_owned(),
            log_x: true,
            y: "predicted / measured - 1 (%)".to_owned(),
            log_y: false,
            series: drawn,
            verticals: Vec::new(),
        }
    }
}

/// Writes `index.html`, `comparison.json` and the pictures into a folder, which is created if
/// missing. `platform` is the text of the platform file, `command` repeats the comparison.
pub fn write_comparison(
    comparison: &Comparison,
    platform: &str,
    command: &str,
    folder: &Path,
) -> Result<(), PlotError> {
    write_atomically(folder, "comparison.json", &(comparison.as_json() + "\n"))?;
    let mut svgs = Vec::new();
    if !comparison.figures.is_empty() {
        for (name, picture) in [
            ("predicted", comparison.picture()),
            ("errors", comparison.picture_of_errors()),
        ] {
            for ending in ["svg", "png"] {
                plot_scatter(&picture, &folder.join(format!("{name}.{ending}")))?;
            }
            svgs.push(svg_of_scatter(&picture)?);
        }
    }
    let mut values = comparison.as_value();
    values["title"] = "Comparison".into();
    values["verdict"] = comparison.verdict().into();
    values["svgs"] = svgs.into();
    values["metadata"] = SampleMetadata::from_text(platform)
        .iter()
        .map(|pair| json!(pair))
        .collect();
    values["platform_digest"] = text_digest(platform).into();
    values["platform"] = platform.into();
    values["command"] = command.into();
    write_atomically(folder, "index.html", &render(COMPARISON, &values)?)
}
