//! Pictures of a page: shapes by their style, texts, and the data behind them. The template of the
//! page writes them as SVG, and escapes.

use std::fmt::Write;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::analysis::unit_of;
use crate::axis::{number_text, round_ticks};

/// Width of the area of data in a picture.
pub(super) const AREA: f64 = 926.0;

/// Left margin: names of rows.
pub(super) const LEFT: f64 = 170.0;

/// Letters of the name of a row at most.
const LETTERS: usize = 26;

/// Height of a line of text on a narrow page, in units of the picture (style.css).
const NARROW_LINE: f64 = 24.0;

/// Levels of a colour scale.
pub(super) const LEVELS: u8 = 16;

/// A picture.
#[derive(Debug, Default, Serialize)]
pub(super) struct Picture {
    /// Identifier on the page, and name of the data file of the picture.
    pub(super) id: String,
    pub(super) title: String,
    /// Description for readers that do not see the picture.
    pub(super) description: String,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
    pub(super) texts: Vec<Text>,
    pub(super) legend: Vec<LegendEntry>,
    /// The data as a URL, of CSV (RFC 4180).
    pub(super) data: String,
}

/// Shapes of the same style, as an SVG path.
#[derive(Debug, Default, Serialize)]
pub(super) struct Shape {
    pub(super) style: String,
    pub(super) path: String,
}

/// A text.
#[derive(Debug, Serialize)]
pub(super) struct Text {
    pub(super) x: f64,
    pub(super) y: f64,
    /// `start`, `middle` or `end`.
    pub(super) anchor: &'static str,
    pub(super) text: String,
    /// The text that was too long.
    pub(super) whole: Option<String>,
    /// True for a text that a narrow page leaves out, because there the letters are larger.
    pub(super) is_spare: bool,
}

/// An entry of a legend.
#[derive(Debug, Serialize)]
pub(super) struct LegendEntry {
    pub(super) style: String,
    pub(super) text: String,
}

impl Shape {
    pub(super) fn new(style: String) -> Self {
        Self {
            style,
            path: String::new(),
        }
    }

    /// Adds the part of a rectangle that is in the data area.
    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let width = width.min(LEFT + AREA - x);
        let (x, y) = (rounded(x), rounded(y));
        let (width, height) = (rounded(width), rounded(height));
        // Writing to a text does not fail.
        let _ = write!(self.path, "M{x} {y}h{width}v{height}h-{width}z");
    }
}

/// Returns a length with a precision of a tenth.
pub(super) fn rounded(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

impl Text {
    /// Returns a text that is not shortened.
    pub(super) fn unshortened_text((x, y): (f64, f64), anchor: &'static str, text: &str) -> Self {
        Self {
            x: rounded(x),
            y: rounded(y),
            anchor,
            text: text.to_owned(),
            whole: None,
            is_spare: false,
        }
    }
}

impl Picture {
    /// Adds a text.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: &'static str, text: &str) {
        let is_long = text.chars().count() > LETTERS;
        let shown = if is_long {
            let rest: Vec<char> = text.chars().collect();
            let rest: String = rest[rest.len() - LETTERS + 1..].iter().collect();
            format!("…{rest}")
        } else {
            text.to_owned()
        };
        self.texts.push(Text {
            whole: is_long.then(|| text.to_owned()),
            ..Text::unshortened_text((x, y), anchor, &shown)
        });
    }

    /// Adds the axis of time below the area of data, which ends at `y`.
    pub(super) fn time_axis(&mut self, y: f64, end_s: f64) {
        let (scale, unit) = unit_of(end_s);
        let mut marks = Shape::new("frame".to_owned());
        for tick in round_ticks(0.0, end_s * scale) {
            let x = LEFT + AREA * tick / (end_s * scale);
            marks.rectangle((x, y), (0.0, 4.0));
            self.text((x, y + 16.0), "middle", &format!("{tick} {unit}"));
        }
        self.shapes.push(marks);
    }

    /// Adds a frame around the area of data.
    pub(super) fn frame(&mut self, top: f64, (width, height): (f64, f64)) {
        let mut frame = Shape::new("frame".to_owned());
        frame.rectangle((LEFT, top), (width, height));
        self.shapes.insert(0, frame);
    }

    /// Adds the names of rows, as many as there is space for.
    pub(super) fn row_names(&mut self, top: f64, height: f64, names: &[String]) {
        let step = stepping(12.0, height);
        for (row, name) in names.iter().enumerate().step_by(step) {
            let y = top + height * (row as f64 + 0.5) + 4.0;
            self.text((LEFT - 6.0, y), "end", name);
            self.spare_odd(row / step, height * step as f64, NARROW_LINE);
        }
    }

    /// Marks the last text as spare if the place among texts is odd, and texts of a narrow page
    /// need more space than this.
    pub(super) fn spare_odd(&mut self, place: usize, space: f64, needed: f64) {
        if let Some(text) = self.texts.last_mut() {
            text.is_spare = place % 2 == 1 && space < needed;
        }
    }

    /// Adds cells by their levels, from 0 to [`LEVELS`] - 1; `None` is not drawn.
    pub(super) fn cells(
        &mut self,
        top: f64,
        (width, height): (f64, f64),
        rows: &[Vec<Option<u8>>],
    ) {
        let mut shapes: Vec<Shape> = (0..LEVELS)
            .map(|level| Shape::new(format!("v{level}")))
            .collect();
        for (row, cells) in rows.iter().enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(PartialEq::eq) {
                if let Some(level) = run[0] {
                    let corner = (LEFT + width * column as f64, top + height * row as f64);
                    let size = (width * run.len() as f64, height);
                    shapes[usize::from(level)].rectangle(corner, size);
                }
                column += run.len();
            }
        }
        self.shapes.extend(shapes);
        self.shapes.retain(|shape| !shape.path.is_empty());
    }

    /// Adds the data: the first row has the names of the columns.
    pub(super) fn set_data(
        &mut self,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> io::Result<()> {
        let mut table = csv::WriterBuilder::new()
            .flexible(true)
            .from_writer(Vec::new());
        for row in rows {
            table.write_record(&row)?;
        }
        let bytes = table.into_inner().map_err(|error| error.into_error())?;
        self.data = format!("data:text/csv;base64,{}", STANDARD.encode(bytes));
        Ok(())
    }
}

/// Returns the number of rows from one name to the next, so that each has this space.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both are small and positive"
)]
pub(super) fn stepping(space: f64, height: f64) -> usize {
    ((space / height).ceil() as usize).max(1)
}

/// Returns the level of a share from 0 to 1; `None` for 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is clamped"
)]
pub(super) fn level(share: f64) -> Option<u8> {
    let levels = f64::from(LEVELS);
    (share > 0.0).then(|| (share * levels).clamp(0.0, levels - 1.0) as u8)
}

/// Returns the legend of a colour scale, by the text of a share.
pub(super) fn scale(text: impl Fn(f64) -> String) -> Vec<LegendEntry> {
    [(0, 0.0), (LEVELS / 2, 0.5), (LEVELS - 1, 1.0)]
        .map(|(level, share)| LegendEntry {
            style: format!("v{level}"),
            text: text(share),
        })
        .into()
}

/// Returns the end of a colour scale for utilisations up to this one, and the legend: the end and
/// the middle are round numbers.
pub(super) fn utilisation_scale(most: f64) -> (f64, Vec<LegendEntry>) {
    if most <= 0.0 {
        return (1.0, Vec::new());
    }
    let power = libm::exp10(libm::floor(libm::log10(most)));
    let ends = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0].map(|factor| factor * power);
    // The least number above, but for errors of rounding.
    let end = ends.into_iter().find(|end| *end >= most * (1.0 - 1e-9));
    let end = end.unwrap_or(most);
    let text = |share: f64| format!("{} %", number_text(100.0 * share * end));
    (end, scale(text))
}
