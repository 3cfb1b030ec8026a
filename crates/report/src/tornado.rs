//! A tornado chart: the effects of parameters as bars from a common line, the longest on top.
//!
//! *Not drawn*: effects below a hundredth of the longest, which would be no bars.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::round_ticks;
use crate::canvas::{Drawing, PlotError, text, write};

/// Width of a picture, and of the left part with the names, in pixels.
const WIDTH: u32 = 1000;
const NAMES: i32 = 380;

/// Height of a bar with its margin, and of the parts above and below the bars.
const BAR: i32 = 28;
const HEAD: i32 = 60;
const FOOT: i32 = 40;

/// Blue and orange of the palette of Okabe and Ito, which people with defects of colour vision tell
/// apart: <https://jfly.uni-koeln.de/color/>.
const LESS: RGBColor = RGBColor(0, 114, 178);
const MORE: RGBColor = RGBColor(230, 159, 0);

/// A bar of a tornado chart.
#[derive(Clone, PartialEq, Debug)]
pub struct TornadoBar {
    /// Name of the parameter.
    pub name: String,
    /// Relative changes of the result: with the parameter divided, and multiplied.
    pub effects: [f64; 2],
}

/// A tornado chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Tornado {
    /// Text above the picture.
    pub title: String,
    /// Text that explains the two colours: divided, multiplied.
    pub legend: [String; 2],
    /// Bars, the first one on top.
    pub bars: Vec<TornadoBar>,
}

/// Draws into an SVG or PNG file.
pub fn plot_tornado(tornado: &Tornado, path: &Path) -> Result<(), PlotError> {
    let bars = u32::try_from(tornado.bars.len()).unwrap_or(u32::MAX);
    let height = bars.saturating_mul(BAR.unsigned_abs()) + (HEAD + FOOT).unsigned_abs();
    write(path, (WIDTH, height), tornado)
}

impl Drawing for Tornado {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let effects = self.bars.iter().flat_map(|bar| bar.effects);
        let (low, high) = effects.fold((0.0, 0.0), |(low, high): (f64, f64), effect| {
            (low.min(effect), high.max(effect))
        });
        if self.bars.is_empty() || low >= high {
            return Err("no parameter has an effect".to_owned());
        }
        let font = |size: i32| ("sans-serif", size).into_font();
        let write = |words: &str, size: i32, at: (i32, i32), to: HPos| {
            let style = font(size).color(&BLACK).pos(Pos::new(to, VPos::Center));
            area.draw(&Text::new(words.to_owned(), at, style))
                .map_err(text)
        };
        write(&self.title, 18, (20, 24), HPos::Left)?;
        let room = f64::from(WIDTH.cast_signed() - NAMES - 80);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the ends of the axis are within the picture"
        )]
        let x = |effect: f64| NAMES + 20 + ((effect - low) / (high - low) * room) as i32;
        for (row, bar) in (0..).zip(&self.bars) {
            let top = HEAD + row * BAR;
            let middle = top + BAR / 2;
            write(&bar.name, 14, (NAMES, middle), HPos::Right)?;
            for (effect, colour) in bar.effects.into_iter().zip([LESS, MORE]) {
                let (from, to) = (x(effect.min(0.0)), x(effect.max(0.0)));
                let corners = [(from, top + 4), (to.max(from + 1), top + BAR - 4)];
                area.draw(&Rectangle::new(corners, colour.filled()))
                    .map_err(text)?;
            }
        }
        let bottom = HEAD + i32::try_from(self.bars.len()).unwrap_or(0) * BAR;
        let line = vec![(x(0.0), HEAD - 6), (x(0.0), bottom + 4)];
        area.draw(&PathElement::new(line, BLACK)).map_err(text)?;
        for percent in round_ticks(100.0 * low, 100.0 * high) {
            let sign = if percent > 0.0 { "+" } else { "" };
            let at = x(percent / 100.0);
            let mark = vec![(at, bottom), (at, bottom + 6)];
            area.draw(&PathElement::new(mark, BLACK)).map_err(text)?;
            let words = format!("{sign}{percent} %");
            write(&words, 12, (at, bottom + 18), HPos::Center)?;
        }
        for (at, (words, colour)) in (0..).zip(self.legend.iter().zip([LESS, MORE])) {
            let left = NAMES + 20 + at * 200;
            let corners = [(left, HEAD - 22), (left + 12, HEAD - 10)];
            area.draw(&Rectangle::new(corners, colour.filled()))
                .map_err(text)?;
            write(words, 12, (left + 18, HEAD - 16), HPos::Left)?;
        }
        Ok(())
    }
}
