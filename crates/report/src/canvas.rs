//! A picture on a canvas: SVG or PNG by the ending of the file, which is written whole or not at
//! all.
//!
//! Texts are drawn with a font that the program brings along, so that pictures are the same on
//! every machine.

use std::fmt;
use std::path::{Path, PathBuf};

use files::OutputError;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Why there is no picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlotError {
    /// The name of the file ends with neither `.svg` nor `.png`.
    Ending(PathBuf),
    /// There are too many hosts: how many, and how many there may be.
    TooLarge(u32, u32),
    /// The file cannot be drawn.
    Failed(PathBuf, String),
    /// The file cannot be written.
    Output(OutputError),
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ending(path) => write!(
                f,
                "{}: unknown extension: expected .svg or .png",
                path.display()
            ),
            Self::TooLarge(hosts, limit) => {
                write!(
                    f,
                    "too large for a picture: {hosts} hosts, expected at most {limit}"
                )
            }
            Self::Output(error) => error.fmt(f),
            Self::Failed(path, why) => write!(f, "cannot draw {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for PlotError {}

/// Returns the text of a canvas error; each kind of canvas has its own error type.
pub(crate) fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// A drawing that works on every canvas.
pub(crate) trait Drawing {
    /// Draws on an empty area.
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String>;
}

/// Draws into the file at `path`.
pub(crate) fn write(
    path: &Path,
    size: (u32, u32),
    drawing: &impl Drawing,
) -> Result<(), PlotError> {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    load_font(path)?;
    let is_svg = ending == "svg";
    if !is_svg && ending != "png" {
        return Err(PlotError::Ending(path.to_owned()));
    }
    // The canvas looks at the ending, which the temporary name has too.
    let drawn = files::Output::new(path).and_then(|output| {
        output.draw_file(|temporary| {
            if is_svg {
                draw_on(SVGBackend::new(temporary, size), drawing)
            } else {
                draw_on(BitMapBackend::new(temporary, size), drawing)
            }
        })
    });
    drawn.map_err(PlotError::Output)
}

/// Draws on a canvas and completes the file of the canvas.
fn draw_on<D: DrawingBackend>(canvas: D, drawing: &impl Drawing) -> Result<(), String> {
    let area = canvas.into_drawing_area();
    drawing.draw(&area)?;
    area.present().map_err(|error| error.to_string())
}

fn load_font(path: &Path) -> Result<(), PlotError> {
    let font =
        plotters::style::register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
    let why = || "its font cannot be read".to_owned();
    font.map_err(|_| PlotError::Failed(path.to_owned(), why()))
}

/// Draws an SVG picture and returns the text of the picture.
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

/// The height of a label beside a curve.
const LABEL_HEIGHT: i32 = 18;

/// Returns a position for each label beside the end of a curve at one of `ends`, so that labels do
/// not overlap, in the order of the ends; labels that need more space continue below.
pub(crate) fn place_labels(ends: &[i32], (top, bottom): (i32, i32)) -> Vec<i32> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|&at| ends[at]);
    let mut places = ends.to_vec();
    // Up from the bottom, and then down from the first label.
    let mut free = bottom;
    for &at in order.iter().rev() {
        places[at] = places[at].min(free);
        free = places[at] - LABEL_HEIGHT;
    }
    let mut free = top;
    for &at in &order {
        places[at] = places[at].max(free);
        free = places[at] + LABEL_HEIGHT;
    }
    places
}

/// Returns an SVG picture for a page of HTML: ground, words and grid have the colours of the page,
/// which is dark if the reader prefers dark pages.
pub(crate) fn adopt_page_colours(picture: &str) -> String {
    const COLOURS: [(&str, &str); 9] = [
        ("#FFFFFF", "var(--back, #fff)"),
        ("#000000", "var(--front, #000)"),
        ("#CDCDCD", "var(--line, #cdcdcd)"),
        ("#F0F0F0", "var(--faint, #f0f0f0)"),
        ("#969696", "var(--line, #969696)"),
        ("#2166AC", "var(--link, #2166ac)"),
        ("#828282", "var(--soft, #828282)"),
        ("#B2182B", "var(--red, #b2182b)"),
        ("#1B7837", "var(--green, #1b7837)"),
    ];
    COLOURS.iter().fold(picture.to_owned(), |text, (from, to)| {
        text.replace(&format!("\"{from}\""), &format!("\"{to}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_apart_and_near_their_curves() {
        assert_eq!(place_labels(&[100, 40], (0, 200)), [100, 40]);
        assert_eq!(place_labels(&[100, 98], (0, 200)), [100, 82]);
        assert_eq!(place_labels(&[199, 198], (0, 200)), [199, 181]);
        assert_eq!(place_labels(&[5, 5, 5], (0, 20)), [0, 18, 36]);
    }
}
