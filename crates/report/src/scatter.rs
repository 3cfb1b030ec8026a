//! Points, intervals and lines over linear or logarithmic axes: measured values beside the values
//! of a model.
//!
//! The names of the series stand at the right edge, in the colours of the series, as near to the
//! last points as there is space.
//!
//! *Not drawn*: values that are not finite, and on a logarithmic axis values that are not above 0.

use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::Axis;
use crate::canvas::{Drawing, PlotError, adopt_page_colours, place_labels, svg, text, write};

/// Width and height, in pixels.
const SIZE: (u32, u32) = (1000, 560);

/// Width and height on a page, which a narrow window makes smaller.
const SIZE_ON_PAGE: (u32, u32) = (680, 440);

/// Size of the letters of a name beside the last point.
const NAME_SIZE: i32 = 15;
/// Distance of the sign of a series from the edge of the diagram, and of the name, in pixels.
const SIGN_DISTANCE: i32 = 8;
const NAME_DISTANCE: i32 = 38;

/// Styles of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// Small grey dots: single samples.
    Faint,
    /// Blue circles: measured values.
    Dots,
    /// Orange rings: held-out values.
    Rings,
    /// Green crosses: values that were never intended for the fit.
    Crosses,
    /// A red line: the model.
    Line,
    /// A thin grey line: the reference with which the model is compared.
    Thin,
    /// A blue line.
    Second,
    /// A green line.
    Third,
    /// A blue line with dots: values that were measured one after the other.
    Curve,
    /// A red line with dots.
    SecondCurve,
    /// Intervals: points in pairs, lower and upper end, each joined by a blue line.
    Whiskers,
}

/// One series.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend; a series with an empty name is not listed.
    pub name: String,
    /// Style in the picture.
    pub mark: Marker,
    /// The points; a line joins the points in this order.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Returns a series with a name for the legend.
    pub fn new(name: &str, mark: Marker, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            mark,
            points,
        }
    }
}

/// A picture of points and lines.
#[derive(Clone, PartialEq, Debug)]
pub struct Scatter {
    /// Above the picture.
    pub title: String,
    /// Label of the x axis, with the unit.
    pub x: String,
    /// True if the axis of x is logarithmic.
    pub log_x: bool,
    /// Label of the y axis, with the unit.
    pub y: String,
    /// True if the axis of y is logarithmic too.
    pub log_y: bool,
    /// Series that are drawn, first ones below.
    pub series: Vec<Series>,
    /// Vertical lines at these x.
    pub verticals: Vec<f64>,
}

/// Draws into an SVG or PNG file.
pub fn plot_scatter(scatter: &Scatter, path: &Path) -> Result<(), PlotError> {
    write(path, SIZE, scatter)
}

/// Draws an SVG picture for a page of HTML and returns the text of the picture.
pub fn svg_of_scatter(scatter: &Scatter) -> Result<String, PlotError> {
    svg(SIZE_ON_PAGE, scatter).map(|picture| adopt_page_colours(&picture))
}

impl Scatter {
    fn drawable<'a>(&self, points: &'a [(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let (log_x, log_y) = (self.log_x, self.log_y);
        let fits = move |(x, y): &(f64, f64)| {
            x.is_finite() && y.is_finite() && (*x > 0.0 || !log_x) && (*y > 0.0 || !log_y)
        };
        points.iter().copied().filter(fits)
    }

    /// The series with a name and at least one drawable point.
    fn named_series(&self) -> impl Iterator<Item = &Series> {
        let series = self.series.iter();
        series.filter(|series| {
            !series.name.is_empty() && self.drawable(&series.points).next().is_some()
        })
    }

    /// Returns the drawable point of a series with the largest x.
    fn last_point(&self, series: &Series) -> Option<(f64, f64)> {
        let points = self.drawable(&series.points);
        points.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// Returns true if the axis of x has sizes of messages, which are powers of 2.
    fn has_sizes(&self) -> bool {
        self.log_x && self.x.contains("bytes")
    }

    /// Returns the minimum and the maximum of one coordinate over all drawable points.
    fn extent(&self, of: impl Fn((f64, f64)) -> f64) -> Option<(f64, f64)> {
        let all = self
            .series
            .iter()
            .flat_map(|series| self.drawable(&series.points));
        all.map(of).fold(None, |extent, number| {
            let (low, high) = extent.unwrap_or((number, number));
            Some((f64::min(low, number), f64::max(high, number)))
        })
    }
}

impl Ranged for Axis {
    type ValueType = f64;
    type FormatOption = NoDefaultFormatting;

    #[expect(clippy::cast_possible_truncation, reason = "within the picture")]
    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + libm::round(f64::from(to - from) * self.share(*value).unwrap_or(0.0)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks()
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.tick_text(*value)
    }
}

impl Drawing for Scatter {
    fn draw<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), String> {
        area.fill(&WHITE).map_err(text)?;
        let (Some(x), Some(y)) = (self.extent(|point| point.0), self.extent(|point| point.1))
        else {
            return Err("there are no points".to_owned());
        };
        let axis = |(low, high): (f64, f64), is_logarithmic: bool, part: f64| {
            let room = part * (high - low).max(1e-3 * high.abs()).max(1e-9);
            let (low, high) = if is_logarithmic {
                (low / 1.5, high * 1.5)
            } else {
                (low - room, high + room)
            };
            Axis {
                low,
                high,
                is_logarithmic,
                has_sizes: false,
            }
        };
        let x = Axis {
            has_sizes: self.has_sizes(),
            ..axis(x, self.log_x, 0.02)
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(self.right_margin(area)?)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(x, axis(y, self.log_y, 0.1))
            .map_err(text)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .bold_line_style(RGBColor(205, 205, 205))
            .draw()
            .map_err(text)?;
        for at in &self.verticals {
            let ends = vec![(*at, y.0), (*at, y.1)];
            let line = PathElement::new(ends, RGBColor(120, 120, 120).mix(0.6));
            chart.draw_series(std::iter::once(line)).map_err(text)?;
        }
        for series in &self.series {
            self.draw_series(&mut chart, series)?;
        }
        self.draw_names(area, &chart)
    }
}

/// A chart of this module.
type AxisChart<'a, D> = ChartContext<'a, D, Cartesian2d<Axis, Axis>>;

impl Scatter {
    /// Returns the width of the right margin, where the names stand.
    fn right_margin<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<u32, String> {
        let mut margin = 32;
        let style = ("sans-serif", NAME_SIZE).into_font().into();
        for series in self.named_series() {
            let size = area.estimate_text_size(&series.name, &style);
            margin = margin.max(size.map_err(text)?.0 + NAME_DISTANCE.unsigned_abs() + 12);
        }
        Ok(margin)
    }

    /// Draws the sign and the name of each series beside the last point; one below the other if
    /// there is no space for all names near the points.
    fn draw_names<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, Shift>,
        chart: &AxisChart<'_, D>,
    ) -> Result<(), String> {
        let ends = self
            .named_series()
            .filter_map(|series| self.last_point(series));
        let ends: Vec<i32> = ends.map(|end| chart.backend_coord(&end).1).collect();
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        let places = place_labels(&ends, (rows.start, rows.end));
        let to_right = Pos::new(HPos::Left, VPos::Center);
        for (series, y) in self.named_series().zip(places) {
            let sign = name_sign(series.mark, (columns.end + SIGN_DISTANCE, y));
            area.draw(&sign).map_err(text)?;
            let (RGBAColor(red, green, blue, _), _) = style(series.mark);
            let font = ("sans-serif", NAME_SIZE).into_font();
            let style = font.color(&RGBColor(red, green, blue)).pos(to_right);
            let name = Text::new(series.name.clone(), (columns.end + NAME_DISTANCE, y), style);
            area.draw(&name).map_err(text)?;
        }
        Ok(())
    }

    /// Draws the points of a series.
    fn draw_series<D: DrawingBackend>(
        &self,
        chart: &mut AxisChart<'_, D>,
        series: &Series,
    ) -> Result<(), String> {
        let points: Vec<(f64, f64)> = self.drawable(&series.points).collect();
        let (colour, size) = style(series.mark);
        let dots = || points.iter().copied();
        let drawn = match series.mark {
            Marker::Faint | Marker::Dots => {
                chart.draw_series(dots().map(|at| Circle::new(at, size, colour.filled())))
            }
            Marker::Rings => {
                chart.draw_series(dots().map(|at| Circle::new(at, size, colour.stroke_width(2))))
            }
            Marker::Crosses => {
                chart.draw_series(dots().map(|at| Cross::new(at, size, colour.stroke_width(2))))
            }
            Marker::Whiskers => chart.draw_series(
                points
                    .chunks(2)
                    .map(|pair| PathElement::new(pair.to_vec(), colour.stroke_width(size))),
            ),
            Marker::Curve | Marker::SecondCurve => {
                let dots = dots().map(|at| Circle::new(at, 2 * size, colour.filled()));
                chart.draw_series(dots).map_err(text)?;
                let line = PathElement::new(points, colour.stroke_width(size));
                chart.draw_series(std::iter::once(line))
            }
            Marker::Line | Marker::Thin | Marker::Second | Marker::Third => {
                let line = PathElement::new(points, colour.stroke_width(size));
                chart.draw_series(std::iter::once(line))
            }
        };
        drawn.map(|_| ()).map_err(text)
    }
}

/// Colour, and radius or width in pixels.
fn style(mark: Marker) -> (RGBAColor, u32) {
    match mark {
        Marker::Faint => (RGBColor(120, 120, 120).mix(0.25), 1),
        Marker::Dots => (RGBColor(33, 102, 172).to_rgba(), 4),
        Marker::Rings => (RGBColor(230, 140, 20).to_rgba(), 5),
        Marker::Crosses => (RGBColor(27, 120, 55).to_rgba(), 4),
        Marker::Line | Marker::SecondCurve => (RGBColor(178, 24, 43).to_rgba(), 2),
        Marker::Thin => (RGBColor(130, 130, 130).to_rgba(), 1),
        Marker::Second | Marker::Curve => (RGBColor(33, 102, 172).to_rgba(), 2),
        Marker::Third => (RGBColor(27, 120, 55).to_rgba(), 2),
        Marker::Whiskers => (RGBColor(33, 102, 172).mix(0.7), 1),
    }
}

/// The sign of a series before the name: a path, since all signs have one type.
fn name_sign(mark: Marker, (x, y): (i32, i32)) -> PathElement<(i32, i32)> {
    let (colour, _) = style(mark);
    let (offsets, width): (&[(i32, i32)], u32) = match mark {
        Marker::Dots => (&[(8, 0), (16, 0)], 8),
        Marker::Rings => (&[(8, -4), (16, -4), (16, 4), (8, 4), (8, -4)], 2),
        Marker::Crosses => (&[(8, -4), (16, 4), (12, 0), (16, -4), (8, 4)], 2),
        _ => (&[(0, 0), (24, 0)], 3),
    };
    let points: Vec<(i32, i32)> = offsets.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    PathElement::new(points, colour.stroke_width(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_all_points_and_names() {
        let mut scatter = Scatter {
            title: "times".to_owned(),
            x: "bytes".to_owned(),
            log_x: true,
            y: "error".to_owned(),
            log_y: true,
            series: vec![
                Series {
                    name: "measured".to_owned(),
                    mark: Marker::Dots,
                    points: vec![(1.0, 2.0), (1000.0, 3.0), (0.0, 1.0), (5.0, -1.0)],
                },
                Series {
                    name: "fitted".to_owned(),
                    mark: Marker::Line,
                    points: vec![(1.0, 2.0), (1000.0, 3.0)],
                },
            ],
            verticals: vec![30.0],
        };
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 2);
        for word in ["times", "bytes", "error", "measured", "fitted"] {
            assert!(
                picture.contains(&format!("\n{word}\n")),
                "{word}: {picture}"
            );
        }
        scatter.log_y = false;
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 3);
        scatter.log_x = false;
        let picture = svg_of_scatter(&scatter).unwrap();
        assert_eq!(picture.matches("<circle").count(), 4);
        scatter.series.clear();
        assert!(svg_of_scatter(&scatter).is_err());
    }
}
