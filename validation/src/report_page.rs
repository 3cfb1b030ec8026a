//! The report of a calibration: one page without external resources, its pictures, and the same
//! figures as JSON.
//!
//! The page has, in this order, the verdict, the warnings, the parameters with their intervals, the
//! pictures, the validation, the compared programs, and the sources of all figures. `index.html`
//! contains the pictures; the folder also has the pictures as SVG and PNG, `calibration.json` and
//! the predictions, which are written before the held-out samples are evaluated.

mod json;
mod page;
mod pictures;

use std::path::Path;

use report::{PlotError, plot_scatter, svg_of_scatter};

use crate::calibrate::Calibration;

pub use json::{calibration_as_json, text_digest};
pub use pictures::pictures;

/// Writes `index.html`, `calibration.json`, `predictions.csv` and the pictures into a folder, which
/// is created if missing. `command` is the command that repeats the calibration.
pub fn write_report(
    calibration: &Calibration,
    command: &str,
    folder: &Path,
) -> Result<(), PlotError> {
    write_atomically(
        folder,
        "predictions.csv",
        &json::predictions_as_csv(calibration),
    )?;
    write_atomically(
        folder,
        "calibration.json",
        &calibration_as_json(calibration),
    )?;
    let mut svgs = Vec::new();
    for (name, picture) in pictures(calibration) {
        for ending in ["svg", "png"] {
            plot_scatter(&picture, &folder.join(format!("{name}.{ending}")))?;
        }
        svgs.push(svg_of_scatter(&picture)?);
    }
    let page = page::page(calibration, command, svgs)?;
    write_atomically(folder, "index.html", &page)
}

/// Writes a file as a whole or not at all.
pub(crate) fn write_atomically(folder: &Path, name: &str, text: &str) -> Result<(), PlotError> {
    files::write(&folder.join(name), text).map_err(PlotError::Output)
}
