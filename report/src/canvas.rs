//! A picture on a canvas: SVG or PNG by the ending of the file, written to a temporary name and renamed.
//!
//! Texts are drawn with a font that the program brings along, so that pictures are the same on every machine.

use std::fmt;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;

/// Why there is no picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlotError {
    /// The name of the file ends with neither `.svg` nor `.png`.
    Ending(PathBuf),
    /// There are too many hosts: how many, and how many there may be.
    TooLarge(u32, u32),
    /// The file cannot be drawn or written.
    Failed(PathBuf, String),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ending(path) => write!(
                f,
                "{}: expected a name that ends with .svg or .png",
                path.display()
            ),
            Self::TooLarge(hosts, limit) => {
                write!(
                    f,
                    "too large for a picture: {hosts} hosts, expected at most {limit}"
                )
            }
            Self::Failed(path, why) => write!(f, "cannot draw {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for PlotError {}

/// A drawing that works on every canvas.
pub(crate) trait Drawing {
    /// Draws on an empty area.
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String>;
}

/// Draws into the file at `path`.
///
/// # Errors
/// [`PlotError`] if the ending is unknown, or drawing or writing fails.
pub(crate) fn write(
    path: &Path,
    size: (u32, u32),
    drawing: &impl Drawing,
) -> Result<(), PlotError> {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    load_font(path)?;
    let failed = |why: String| PlotError::Failed(path.to_owned(), why);
    let mut temporary = path.as_os_str().to_owned();
    // The canvas looks at the ending, so the temporary name has it too.
    temporary.push(".part.");
    temporary.push(&ending);
    let temporary = PathBuf::from(temporary);
    if ending == "svg" {
        let area = SVGBackend::new(&temporary, size).into_drawing_area();
        drawing.draw(&area).map_err(failed)?;
        area.present().map_err(|error| failed(error.to_string()))?;
    } else if ending == "png" {
        let area = BitMapBackend::new(&temporary, size).into_drawing_area();
        drawing.draw(&area).map_err(failed)?;
        area.present().map_err(|error| failed(error.to_string()))?;
    } else {
        return Err(PlotError::Ending(path.to_owned()));
    }
    std::fs::rename(&temporary, path).map_err(|error| failed(error.to_string()))
}

fn load_font(path: &Path) -> Result<(), PlotError> {
    let font =
        plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
    let why = || "its font cannot be read".to_owned();
    font.map_err(|_| PlotError::Failed(path.to_owned(), why()))
}

/// Draws an SVG picture, as its text.
///
/// # Errors
/// [`PlotError`] if drawing fails.
pub(crate) fn svg(size: (u32, u32), drawing: &impl Drawing) -> Result<String, PlotError> {
    let path = Path::new("the picture");
    load_font(path)?;
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, size).into_drawing_area();
    let failed = |why: String| PlotError::Failed(path.to_owned(), why);
    drawing.draw(&area).map_err(failed)?;
    area.present().map_err(|error| failed(error.to_string()))?;
    drop(area);
    Ok(picture)
}
